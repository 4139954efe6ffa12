/* What the sweep in memory and the one over a file share: its tasks, and how far it
 * is. */
#ifndef EASE_SOLVE_GRAPH_H
#define EASE_SOLVE_GRAPH_H

#include <stdatomic.h>

#include "solve/solve.h"

/* The atomics are relaxed: they order nothing, dependences do, and a sanitizer should
 * not take them for more. */
typedef struct ease__graph {
    const ease__tiled *a; /* what the tasks are on */
    int32_t first;        /* which of the whole matrix's tile rows its first one is */
    const ease__tile_kernels *kernels;
    const ease_hooks *hooks;
    double whole;       /* costs in all */
    double reported;    /* when; thread 0 only */
    atomic_llong done;  /* costs */
    atomic_int failed;  /* item; -1: none */
    atomic_bool cancel; /* as failed: what has not begun returns at once */
} ease__graph;

/* In thirds of edge^3 flops, 3 tiles^3 in all. */
enum {
    EASE__COST_FACTOR = 2,
    EASE__COST_CLOSE = 1,
    EASE__COST_TRIANGULAR = 3,
    EASE__COST_PRODUCT = 6
};

/* For a sweep of so many tiles a side. */
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

/* Asked at the start of each task. The caller's thread is 0. */
bool ease__graph_stopped(ease__graph *g);

/* The steps of a sweep over g->a, kind by kind, where others come between: A becomes L
 * (with W_kk on its diagonal), L becomes -L_ik W_kk, then the sums that a row of W is
 * made of, W, and P. */
typedef enum ease__graph_part {
    EASE__PART_FACTOR,
    EASE__PART_NEGATE,
    EASE__PART_UPDATE,
    EASE__PART_FINISH,
    EASE__PART_GATHER
} ease__graph_part;

void ease__graph_run(ease__graph *g, ease__graph_part part, int threads);

/* How it went; says that it is done. */
ease_status ease__graph_end(ease__graph *g, ease__element element, ease_error *err);

#endif
