/* The tasks of a sweep and their progress, for sweeps in memory and over a file. */
#ifndef EASE_SOLVE_GRAPH_H
#define EASE_SOLVE_GRAPH_H

#include <stdatomic.h>

#include "solve/solve.h"

/* A sweep in progress. The atomics are relaxed: dependences between tasks order the
 * work, and ThreadSanitizer should not treat the atomics as synchronization. */
typedef struct ease__graph {
    const ease__tiled *a; /* the tiles that the tasks work on */
    int32_t first;        /* number of its first tile row in the whole matrix */
    const ease__tile_kernels *kernels;
    const ease_hooks *hooks;
    double whole;       /* cost of all tasks */
    double reported;    /* time of the last report; used by thread 0 only */
    atomic_llong done;  /* cost of the tasks that are done */
    atomic_int failed;  /* item whose pivot failed; -1: none */
    atomic_bool cancel; /* with this or `failed` set, tasks return at once */
} ease__graph;

/* Costs of tasks in thirds of edge^3 flops; a whole sweep costs 3 tiles^3. */
enum {
    EASE__COST_FACTOR = 2,
    EASE__COST_CLOSE = 1,
    EASE__COST_TRIANGULAR = 3,
    EASE__COST_PRODUCT = 6
};

/* A graph for a sweep over a matrix of this many tiles a side. */
static inline ease__graph ease__graph_of(int32_t tiles,
                                         const ease__tile_kernels *kernels,
                                         const ease_hooks *hooks)
{
    double t = tiles;

    return (ease__graph){
        .kernels = kernels, .hooks = hooks, .whole = 3 * t * t * t, .failed = -1};
}

static inline void ease__graph_did(ease__graph *g, int cost)
{
    atomic_fetch_add_explicit(&g->done, cost, memory_order_relaxed);
}

/* True if no further task should begin. Called at the start of each task; on thread 0,
 * which is the caller's, it reports progress now and then. */
bool ease__graph_stopped(ease__graph *g);

/* Parts of the sweep over g->a, for a sweep over a file, which does other work between
 * them. After the parts, in this order, A is L (with W_kk on its diagonal), -L_ik W_kk,
 * the sums that the rows of W are computed from, W, and P. */
typedef enum ease__graph_part {
    EASE__PART_FACTOR,
    EASE__PART_NEGATE,
    EASE__PART_UPDATE,
    EASE__PART_FINISH,
    EASE__PART_GATHER
} ease__graph_part;

void ease__graph_run(ease__graph *g, ease__graph_part part, int threads);

/* The result of a sweep: EASE_OK after reporting that all is done, EASE_E_NOT_POSDEF or
 * EASE_E_CANCELLED. */
ease_status ease__graph_end(ease__graph *g, ease_error *err);

#endif
