/* From a symmetric positive definite matrix to its inverse, in place. */
#ifndef EASE_SOLVE_SOLVE_H
#define EASE_SOLVE_SOLVE_H

#include "matrix/tilefile.h"

/* The arithmetic on tiles (edge e, row-major) that the task graph is made of. One
 * table for float32, one for float64, and plain C twins of both in the tests. W is
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

/* A backend: a table in a file of its own. */
typedef struct ease__solver {
    const char *name;
    ease_status (*probe)(ease_error *why); /* cheap */
    /* In place: positive definite in (padding: identity), its inverse out, lower
     * half of diagonal tiles valid. On EASE_E_NOT_POSDEF err->where is the item. */
    ease_status (*invert)(ease__tiled *a, int threads, const ease_hooks *hooks,
                          ease_error *err);
    /* The same in a file, with so many bytes of memory for its tiles. */
    ease_status (*invert_file)(const ease__tilefile *f, size_t memory, int threads,
                               const ease_hooks *hooks, ease_error *err);
} ease__solver;

/* NULL or "cpu". EASE_E_BACKEND for an unknown name or a failed probe. */
ease_status ease__solver_find(const char *name, const ease__solver **out,
                              ease_error *err);

/* The task graph itself, on any kernels. */
ease_status ease__invert_tiles(ease__tiled *a, const ease__tile_kernels *kernels,
                               int threads, const ease_hooks *hooks, ease_error *err);

/* The same for a matrix in a file, with so many bytes for the tiles in memory: the same
 * bits as there, whatever they are. EASE_E_MEMORY_LIMIT where they are fewer than
 * ease__invert_file_least says. */
ease_status ease__invert_file(const ease__tilefile *f,
                              const ease__tile_kernels *kernels, size_t memory,
                              int threads, const ease_hooks *hooks, ease_error *err);
size_t ease__invert_file_least(const ease__tiled *shape, int threads);
/* Columns of tiles that are taken at a time: the file is read and written once for each
 * such group. 0: memory is too small. */
int32_t ease__invert_file_columns(const ease__tiled *shape, int threads, size_t memory);

/* y = A x in float64, from the lower triangle of tiles; the same bits at any number
 * of threads. Bands, one after the other from the first on, sum up to the same. */
void ease__tiled_times(const ease__tiled *a, const double *x, double *y, int threads);

/* Adds lambda ridge_i to the diagonal (ridge NULL: lambda) and 1 to that of the
 * padding, inverts, and checks the result: with a random v and w = A v computed before,
 * *residual = ||P w - v|| / ||v||. Fails with EASE_E_ACCURACY unless the residual is at
 * most 2e-4 (NaN is not). */
ease_status ease__solve(ease__tiled *a, double lambda, const double *ridge,
                        const ease__solver *solver, int threads,
                        const ease_hooks *hooks, double *residual, ease_error *err);

/* The same in a file. Diagonal tiles are whole afterwards, as in memory. */
ease_status ease__solve_file(const ease__tilefile *f, double lambda,
                             const double *ridge, const ease__solver *solver,
                             size_t memory, int threads, const ease_hooks *hooks,
                             double *residual, ease_error *err);

#endif
