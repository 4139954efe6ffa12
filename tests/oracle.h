/* Slow twins of the library's fast code, as plain as possible. */
#ifndef EASE_ORACLE_H
#define EASE_ORACLE_H

#include "ease.h"

/* Computes the weights of the paper's Eq. 8 in float64, for few items: b is items x
 * items, row-major. */
void oracle_ease(const double *gram, int32_t items, double lambda, double *b);

/* Inverts a (n x n) in place by Gauss-Jordan elimination. a is positive definite, so
 * that no pivoting is needed. */
void oracle_invert(double *a, int32_t n);

/* Computes C += A B; each element is one sum of fused multiply-adds over the depth. A
 * is rows x depth, B depth x columns, all row-major. */
void oracle_product(const float *a, const float *b, int32_t rows, int32_t depth,
                    int32_t columns, float *c);

/* Computes X'X of a dense X (users x items, row-major). */
void oracle_gram(const double *x, int64_t users, int32_t items, double *gram);

#endif
