/* Cholesky factorization and solution of linear systems in float32, with the same bits
 * on every processor. */
#ifndef EASE_COMPUTE_CHOLESKY_H
#define EASE_COMPUTE_CHOLESKY_H

#include "compute/product.h"

/* The number of floats of scratch that a factorization needs. */
size_t ease__cholesky_scratch(int32_t n);

/* Factors A = U'U in place. A is n x n and symmetric, row-major with ld =
 * ease__padded(n); only the upper triangle is read. The contents below the diagonal and
 * past column n become undefined. False if A is not positive definite. */
bool ease__cholesky(const ease__kernels *kernels, float *a, int32_t n, float *scratch);

/* Solves U'U x = b; x replaces b, of n floats. */
void ease__cholesky_solve(const ease__kernels *kernels, const float *u, int32_t n,
                          float *b);

#endif
