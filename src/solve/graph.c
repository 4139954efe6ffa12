/* The inverse of a tiled matrix in one sweep, as a graph of tasks.
 *
 * With A = L L' and W = L^-1, P = W'W. Step k of the sweep finishes column k of L and
 * row k of W, and adds the terms of that row to P, all in place:
 *
 *     A_kk <- W_kk                           factor
 *     A_ik <- A_ik W_kk' = L_ik       i > k  panel
 *     A_ij -= L_ik L_jk'       i >= j > k    trail
 *     A_ik <- -L_ik W_kk              i > k  negate
 *     A_ij += A_ik A_kj        i > k > j     update      (W_ij = W_ii * this sum)
 *     A_kj <- W_kk A_kj = W_kj        j < k  finish_row
 *     A_ij += W_ki' W_kj       k > i >= j    gather
 *     A_kj <- W_kk' W_kj              j < k  close_row   (the first term of P_kj)
 *     A_kk <- W_kk' W_kk                     close_diagonal
 *
 * Every step costs the same T^2 products of tiles, and they sum to n^3 flops. Tasks
 * that write one tile run in the order of the sweep, so that the result has the same
 * bits at any number of threads. */
#include "solve/graph.h"

#include <omp.h>

#include "compute/subnormals.h"

typedef void unary(void *a, int32_t e);
typedef void binary(void *a, const void *b, int32_t e);
typedef void ternary(void *c, const void *a, const void *b, int32_t e);

static const double REPORT_SECONDS = 0.05;

/* Called only by the caller's thread; does not report again once that has cancelled. */
static void report(ease__graph *g)
{
    double now = ease__seconds();

    if (now - g->reported < REPORT_SECONDS ||
        atomic_load_explicit(&g->cancel, memory_order_relaxed))
        return;
    g->reported = now;
    if (ease__progress(g->hooks, "solving",
                       (double)atomic_load_explicit(&g->done, memory_order_relaxed) /
                           g->whole))
        atomic_store_explicit(&g->cancel, true, memory_order_relaxed);
}

bool ease__graph_stopped(ease__graph *g)
{
    if (omp_get_thread_num() == 0)
        report(g);
    return atomic_load_explicit(&g->cancel, memory_order_relaxed) ||
           atomic_load_explicit(&g->failed, memory_order_relaxed) >= 0;
}

/* Submitting a task copies its arguments to a record of libomp's own pool; a thread
 * sanitizer sees that records are reused but not what orders it. The tasks themselves
 * are instrumented. (clang 14 crashes on a called parameter that is not named
 * firstprivate.) */
#define SUBMITS __attribute__((no_sanitize_thread)) static void

SUBMITS submit_factor(ease__graph *g, int32_t k)
{
    int32_t e = g->a->edge;
    char *a = ease__tile(g->a, k, k);

#pragma omp task depend(inout : a[0])
    if (!ease__graph_stopped(g)) {
        int32_t pivot = g->kernels->factor(a, e);

        /* Factors run one after the other: the first to fail is the lowest. */
        if (pivot > 0)
            atomic_store_explicit(&g->failed, (g->first + k) * e + pivot - 1,
                                  memory_order_relaxed);
        ease__graph_did(g, EASE__COST_FACTOR);
    }
}

SUBMITS submit1(ease__graph *g, unary *kernel, char *a, int cost)
{
    int32_t e = g->a->edge;

#pragma omp task depend(inout : a[0]) firstprivate(kernel)
    if (!ease__graph_stopped(g)) {
        kernel(a, e);
        ease__graph_did(g, cost);
    }
}

SUBMITS submit2(ease__graph *g, binary *kernel, char *a, const char *b, int cost)
{
    int32_t e = g->a->edge;

#pragma omp task depend(inout : a[0]) depend(in : b[0]) firstprivate(kernel)
    if (!ease__graph_stopped(g)) {
        kernel(a, b, e);
        ease__graph_did(g, cost);
    }
}

SUBMITS submit3(ease__graph *g, ternary *kernel, char *c, const char *a, const char *b,
                int cost)
{
    int32_t e = g->a->edge;

#pragma omp task depend(inout : c[0]) depend(in : a[0], b[0]) firstprivate(kernel)
    if (!ease__graph_stopped(g)) {
        kernel(c, a, b, e);
        ease__graph_did(g, cost);
    }
}

static void factor_column(ease__graph *g, int32_t k)
{
    const ease__tiled *a = g->a;

    submit_factor(g, k);
    for (int32_t i = k + 1; i < a->tiles; i++)
        submit2(g, g->kernels->panel, ease__tile(a, i, k), ease__tile(a, k, k),
                EASE__COST_TRIANGULAR);
}

/* Subtracts the product of column k of L from column j of the trailing matrix. */
static void trail_column(ease__graph *g, int32_t k, int32_t j)
{
    const ease__tiled *a = g->a;

    submit2(g, g->kernels->trail_diagonal, ease__tile(a, j, j), ease__tile(a, j, k),
            EASE__COST_TRIANGULAR);
    for (int32_t i = j + 1; i < a->tiles; i++)
        submit3(g, g->kernels->trail, ease__tile(a, i, j), ease__tile(a, i, k),
                ease__tile(a, j, k), EASE__COST_PRODUCT);
}

static void update_row(ease__graph *g, int32_t k, int32_t i)
{
    const ease__tiled *a = g->a;

    submit2(g, g->kernels->negate, ease__tile(a, i, k), ease__tile(a, k, k),
            EASE__COST_TRIANGULAR);
    for (int32_t j = 0; j < k; j++)
        submit3(g, g->kernels->update, ease__tile(a, i, j), ease__tile(a, i, k),
                ease__tile(a, k, j), EASE__COST_PRODUCT);
}

static void finish_row(ease__graph *g, int32_t k)
{
    const ease__tiled *a = g->a;

    for (int32_t j = 0; j < k; j++)
        submit2(g, g->kernels->finish_row, ease__tile(a, k, j), ease__tile(a, k, k),
                EASE__COST_TRIANGULAR);
}

/* Row k of W is complete: adds its terms to P. */
static void gather_row(ease__graph *g, int32_t k)
{
    const ease__tiled *a = g->a;
    char *w = ease__tile(a, k, k);

    for (int32_t i = 0; i < k; i++) {
        for (int32_t j = 0; j < i; j++)
            submit3(g, g->kernels->gather, ease__tile(a, i, j), ease__tile(a, k, i),
                    ease__tile(a, k, j), EASE__COST_PRODUCT);
        submit2(g, g->kernels->gather_diagonal, ease__tile(a, i, i),
                ease__tile(a, k, i), EASE__COST_TRIANGULAR);
    }
    for (int32_t j = 0; j < k; j++)
        submit2(g, g->kernels->close_row, ease__tile(a, k, j), w,
                EASE__COST_TRIANGULAR);
    submit1(g, g->kernels->close_diagonal, w, EASE__COST_CLOSE);
}

/* The next column is factored before the rest of a step is submitted: the tasks that
 * all others wait for are then never last in the queue. */
static void sweep(ease__graph *g)
{
    int32_t tiles = g->a->tiles;

    factor_column(g, 0);
    for (int32_t k = 0; k < tiles && !ease__graph_stopped(g); k++) {
        if (k + 1 < tiles) {
            trail_column(g, k, k + 1);
            factor_column(g, k + 1);
        }
        for (int32_t j = k + 2; j < tiles; j++)
            trail_column(g, k, j);
        for (int32_t i = k + 1; i < tiles; i++)
            update_row(g, k, i);
        finish_row(g, k);
        gather_row(g, k);
    }
}

/* ---- the sweep in parts ---------------------------------------------------------- */

static void factor_all(ease__graph *g)
{
    for (int32_t k = 0; k < g->a->tiles; k++) {
        factor_column(g, k);
        for (int32_t j = k + 1; j < g->a->tiles; j++)
            trail_column(g, k, j);
    }
}

static void negate_all(ease__graph *g)
{
    const ease__tiled *a = g->a;

    for (int32_t k = 0; k < a->tiles; k++)
        for (int32_t i = k + 1; i < a->tiles; i++)
            submit2(g, g->kernels->negate, ease__tile(a, i, k), ease__tile(a, k, k),
                    EASE__COST_TRIANGULAR);
}

static void update_all(ease__graph *g)
{
    const ease__tiled *a = g->a;

    for (int32_t k = 0; k < a->tiles; k++)
        for (int32_t i = k + 1; i < a->tiles; i++)
            for (int32_t j = 0; j < k; j++)
                submit3(g, g->kernels->update, ease__tile(a, i, j), ease__tile(a, i, k),
                        ease__tile(a, k, j), EASE__COST_PRODUCT);
}

static void finish_all(ease__graph *g)
{
    for (int32_t k = 0; k < g->a->tiles; k++)
        finish_row(g, k);
}

static void gather_all(ease__graph *g)
{
    for (int32_t k = 0; k < g->a->tiles; k++)
        gather_row(g, k);
}

/* ---- running --------------------------------------------------------------------- */

static void run(ease__graph *g, void (*submit)(ease__graph *g), int threads)
{
#pragma omp parallel num_threads(ease__threads(threads))
    {
        unsigned mode = ease__flush_begin();

        /* Inherited by the tasks. A region of one thread is not "in parallel", and
         * OpenBLAS would thread itself there. */
        omp_set_num_threads(1);
#pragma omp master
        submit(g);
#pragma omp barrier /* waits for all tasks */
        ease__flush_end(mode);
    }
}

void ease__graph_run(ease__graph *g, ease__graph_part part, int threads)
{
    static void (*const parts[])(ease__graph *) = {
        [EASE__PART_FACTOR] = factor_all, [EASE__PART_NEGATE] = negate_all,
        [EASE__PART_UPDATE] = update_all, [EASE__PART_FINISH] = finish_all,
        [EASE__PART_GATHER] = gather_all,
    };

    run(g, parts[part], threads);
}

ease_status ease__graph_end(ease__graph *g, ease_error *err)
{
    int failed = atomic_load_explicit(&g->failed, memory_order_relaxed);

    if (failed >= 0)
        return ease__fail_at(err, EASE_E_NOT_POSDEF, failed,
                             "the matrix is not positive definite at item %d", failed);
    if (atomic_load_explicit(&g->cancel, memory_order_relaxed) ||
        ease__progress(g->hooks, "solving", 1))
        return ease__cancelled(err);
    return EASE_OK;
}

ease_status ease__invert_tiles(ease__tiled *a, const ease__tile_kernels *kernels,
                               int threads, const ease_hooks *hooks, ease_error *err)
{
    ease__graph g = ease__graph_of(a->tiles, kernels, hooks);

    g.a = a;
    run(&g, sweep, threads);
    return ease__graph_end(&g, err);
}
