/* Slow twins of the library's fast code, as plain as possible. */
#ifndef EASE_ORACLE_H
#define EASE_ORACLE_H

#include "ease.h"

/* The weights of the paper's Eq. 8 in float64: b is items x items, row-major. A
 * handful of items only. */
void oracle_ease(const double *gram, int32_t items, double lambda, double *b);

/* a (n x n) becomes its inverse by Gauss-Jordan elimination; positive definite, so that
 * no pivoting is needed. */
void oracle_invert(double *a, int32_t n);

/* C += A B, each element one sum in the order of the depth, its products fused: A is
 * rows x depth, B depth x columns, all row-major. */
void oracle_product(const float *a, const float *b, int32_t rows, int32_t depth,
                    int32_t columns, float *c);

/* X'X of dense X (users x items, row-major). */
void oracle_gram(const double *x, int64_t users, int32_t items, double *gram);

#endif
