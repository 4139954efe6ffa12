/* Matrix products in float32 with the same bits on every processor and for any
 * number of rows: an element is one chain of fused multiply-adds over the depth, in
 * ascending order. BLAS guarantees neither. */
#ifndef EASE_COMPUTE_PRODUCT_H
#define EASE_COMPUTE_PRODUCT_H

#include "compute/kernels.h"

/* A matrix operand: element (i, j) is at[i * ld + j], or at[j * ld + i] if
 * transposed. */
typedef struct ease__operand {
    const float *at;
    size_t ld;
    bool transposed;
} ease__operand;

/* `count` rounded up to whole panels: the length of a row of a product, with
 * padding. */
size_t ease__padded(int32_t count);

/* The number of floats of a packed left operand, rows x depth. */
size_t ease__packed_count(int32_t rows, int32_t depth);
/* Packs the left operand of a product, rows x depth, as ease__product needs it; column
 * k is multiplied by scale[k] (NULL: not scaled). */
void ease__pack(ease__operand a, int32_t rows, int32_t depth, const float *scale,
                float *packed);

/* C += A B: A is rows x depth and packed, B is depth x columns, C is row-major. Rows of
 * C are written up to ease__padded(columns). */
void ease__product(const ease__kernels *kernels, const float *packed, int32_t rows,
                   int32_t depth, ease__operand b, int32_t columns, float *c,
                   size_t ldc);

/* Computes only the upper triangle of a square C += A B, including the diagonal.
 * Elements below the diagonal become undefined. */
void ease__product_upper(const ease__kernels *kernels, const float *packed,
                         int32_t rows, int32_t depth, ease__operand b, float *c,
                         size_t ldc);

#endif
