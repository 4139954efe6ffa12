/* Inverts a symmetric positive definite matrix in place. */
#ifndef EASE_SOLVE_SOLVE_H
#define EASE_SOLVE_SOLVE_H

#include "matrix/tilefile.h"
#include "solve/backends.h"

/* The arithmetic on tiles (edge e, row-major) that the tasks of the graph do. There is
 * one table for float32, one for float64, and plain C twins of both in the tests. W is
 * lower triangular; only its lower half is read. */
typedef struct ease__tile_kernels {
    /* A -> W = L^-1 where A = L L' (lower half read). Returns 0, or the 1-based row
     * of the pivot that failed. */
    int32_t (*factor)(void *a, int32_t e);
    void (*panel)(void *a, const void *w, int32_t e);                 /* A <- A W' */
    void (*trail)(void *c, const void *a, const void *b, int32_t e);  /* C -= A B' */
    void (*trail_diagonal)(void *c, const void *a, int32_t e);        /* C -= A A' */
    void (*negate)(void *a, const void *w, int32_t e);                /* A <- -A W */
    void (*update)(void *c, const void *a, const void *b, int32_t e); /* C += A B */
    void (*finish_row)(void *a, const void *w, int32_t e);            /* A <- W A */
    void (*gather)(void *c, const void *a, const void *b, int32_t e); /* C += A' B */
    void (*gather_diagonal)(void *c, const void *a, int32_t e);       /* C += A' A */
    void (*close_row)(void *a, const void *w, int32_t e);             /* A <- W' A */
    void (*close_diagonal)(void *w, int32_t e);                       /* W <- W' W */
} ease__tile_kernels;

extern const ease__tile_kernels ease__blas_f32, ease__blas_f64;

/* Inverts a positive definite matrix (padding: identity) by the task graph in graph.c,
 * with any kernels. Of the diagonal tiles of the inverse, the lower half is valid.
 * Fails with EASE_E_NOT_POSDEF, err->where being the item, or EASE_E_CANCELLED. */
ease_status ease__invert_tiles(ease__tiled *a, const ease__tile_kernels *kernels,
                               int threads, const ease_hooks *hooks, ease_error *err);

/* Inverts a matrix in a file, with `memory` bytes for tiles in memory; the result has
 * the same bits for any `memory`. Fails as ease__invert_tiles does, and with
 * EASE_E_MEMORY_LIMIT if `memory` is less than ease__invert_file_least returns, or
 * EASE_E_IO. */
ease_status ease__invert_file(const ease__tilefile *f,
                              const ease__tile_kernels *kernels, size_t memory,
                              int threads, const ease_hooks *hooks, ease_error *err);
size_t ease__invert_file_least(const ease__tiled *shape, int threads);
/* The number of columns of tiles that are worked on at a time: the file is read and
 * written once for each such group. 0: memory is too small. */
int32_t ease__invert_file_columns(const ease__tiled *shape, int threads, size_t memory);

/* y = A x in float64, from the lower triangle of tiles, with the same bits at any
 * number of threads. If `a` is a band, adds its share to y: the bands of a matrix in
 * order, from the first on, give the same bits as the whole. */
void ease__tiled_times(const ease__tiled *a, const double *x, double *y, int threads);

/* The terms of one tile, for matrices whose tiles lie elsewhere; `a` gives the shape
 * alone. For y = A x, block b of y is set to 0, and gets the terms of the tiles (b, j),
 * j = 0 .. b, then those of the transposed tiles (i, b), i = b .. tiles-1. `y` is the
 * block, x the whole vector. */
void ease__times_tile(const ease__tiled *a, const void *tile, int32_t b, int32_t j,
                      const double *x, double *y);
void ease__times_transposed(const ease__tiled *a, const void *tile, int32_t b,
                            int32_t i, const double *x, double *y);

/* The vectors of the check: v, w = A v, and P w, of n numbers each. */
typedef struct ease__check {
    double *v, *w, *back;
    double size; /* ||v|| */
} ease__check;

/* Allocates the vectors and sets v, which n determines. Free c->v. */
ease_status ease__check_new(int32_t n, ease__check *c, ease_error *err);
/* Fails with EASE_E_ACCURACY unless the residual is at most 2e-4. */
ease_status ease__check_residual(const ease__check *c, const ease__tiled *a,
                                 double *residual, ease_error *err);

/* Adds diagonal_i to entry (i, i) of diagonal tile (b, b), and 1 to the diagonal of the
 * padding. */
void ease__add_to_diagonal(ease__tiled *a, int32_t b, const double *diagonal);

/* Adds diagonal_i to entry (i, i), and 1 to the diagonal of the padding, inverts in
 * place, and checks the result: with a random v and w = A v computed before,
 * *residual = ||P w - v|| / ||v||. Afterwards both halves of the diagonal tiles are
 * valid. Fails before any work as ease__backend_check does, later as the backend does,
 * and with EASE_E_ACCURACY unless the residual is at most 2e-4 (NaN is not). */
ease_status ease__solve(ease__tiled *a, const double *diagonal, const ease_backend *b,
                        int threads, size_t device_memory, const ease_hooks *hooks,
                        double *residual, ease_error *err);

/* Does the same as ease__solve in a file, with `memory` bytes for tiles in memory.
 * Fails with EASE_E_BACKEND if the backend cannot work in a file. */
ease_status ease__solve_file(const ease__tilefile *f, const double *diagonal,
                             const ease_backend *b, size_t memory, int threads,
                             const ease_hooks *hooks, double *residual,
                             ease_error *err);

#endif
