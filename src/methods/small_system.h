/* Symmetric positive definite systems A w = b of some hundred unknowns, each solved by
 * one thread: in float32, with the same bits on every processor, and in float64 if that
 * is not enough. */
#ifndef EASE_METHODS_SMALL_SYSTEM_H
#define EASE_METHODS_SMALL_SYSTEM_H

#include "compute/cholesky.h"
#include "core/core.h"

typedef struct ease__small_system {
    int32_t most;   /* largest n */
    double *right;  /* b, n */
    float *a;       /* n x ease__padded(n): the upper triangle is read */
    float *w;       /* the solution, n */
    float *factor;  /* of a */
    float *rest;    /* b - A w, n */
    float *scratch; /* of the factorization */
    double *wide;   /* n x n; allocated when it is needed first */
    double *wide_w; /* n */
} ease__small_system;

/* Allocates a system of up to `most` unknowns. Fails with EASE_E_NOMEM. */
ease_status ease__small_system_new(int32_t most, ease__small_system *out,
                                   ease_error *err);
void ease__small_system_free(ease__small_system *s);
/* Bytes of it, with the float64 matrix. */
size_t ease__small_system_bytes(int32_t most);

/* Solves s->a for s->right. False if float32 is not enough: A is not definite, a pivot
 * is no more than rounding, or the solution leaves more than rounding of b. */
bool ease__small_system_solve(const ease__kernels *kernels, int32_t n,
                              ease__small_system *s);

/* Allocates s->wide, unless it was. Fails with EASE_E_NOMEM. */
ease_status ease__small_system_widen(ease__small_system *s, ease_error *err);
/* Solves s->wide, n x n without padding, for s->right. False if A is not definite. */
bool ease__small_system_solve_wide(int32_t n, ease__small_system *s);

#endif
