/* Systems of linear equations in float32 with the same bits on every processor. */
#ifndef EASE_COMPUTE_CHOLESKY_H
#define EASE_COMPUTE_CHOLESKY_H

#include "compute/product.h"

/* Floats of scratch that a factorization takes. */
size_t ease__cholesky_scratch(int32_t n);

/* A = U'U in place: of A, n x n and symmetric, only what is on and above the diagonal is
 * read. Rows are ld = ease__padded(n) apart; what is below the diagonal or past
 * column n becomes scratch. False where A is not positive definite. */
bool ease__cholesky(const ease__kernels *kernels, float *a, int32_t n, float *scratch);

/* b = (U'U)^-1 b. */
void ease__cholesky_solve(const ease__kernels *kernels, const float *u, int32_t n,
                          float *b);

#endif
