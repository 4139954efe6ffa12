/* The cost of training on several machines by ease-cluster: docs/cluster.md. */
#ifndef EASE_CLI_SHARED_NODEPLAN_H
#define EASE_CLI_SHARED_NODEPLAN_H

#include "console.h"

typedef struct node_plan {
    int64_t nodes, rows, columns; /* the grid of processes, one on each machine */
    size_t memory_bytes;          /* of the process that needs the most, at most */
    size_t sent_bytes;            /* by all processes during the solve */
    double solve_seconds;
    double core_seconds, network_seconds,
        chain_seconds; /* the largest is the solve's */
    bool fits;
} node_plan;

/* Plans the work of `p` for this many machines like this one, each of which sends
 * `network` bytes a second; `element` is the bytes of a number. */
node_plan plan_nodes(const ease_plan *p, int64_t nodes, size_t element, double network);

#endif
