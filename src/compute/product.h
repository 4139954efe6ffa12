/* Products of matrices in float32 whose bits depend on nothing but the numbers: every
 * element is one sum, in the order of the depth, each product fused with its addition.
 * How many rows are multiplied at once does not matter, nor does the processor, which
 * is what a BLAS does not promise. */
#ifndef EASE_COMPUTE_PRODUCT_H
#define EASE_COMPUTE_PRODUCT_H

#include "compute/kernels.h"

/* A matrix where it lies: element (i, j) is at[i * ld + j], or at[j * ld + i] if
 * transposed. */
typedef struct ease__operand {
    const float *at;
    size_t ld;
    bool transposed;
} ease__operand;

/* `count` rounded up to whole panels: what a row of a product must have room for. */
size_t ease__padded(int32_t count);

/* The left operand, rows x depth, is packed before it is used. Floats that this takes;
 * and the packing, column k times scale[k] (NULL: as it is). */
size_t ease__packed_count(int32_t rows, int32_t depth);
void ease__pack(ease__operand a, int32_t rows, int32_t depth, const float *scale,
                float *packed);

/* C += A B: A is rows x depth and packed, B is depth x columns, C is row-major. Its rows
 * are written to the end of the last panel. */
void ease__product(const ease__kernels *kernels, const float *packed, int32_t rows,
                   int32_t depth, ease__operand b, int32_t columns, float *c,
                   size_t ldc);

/* The same for the elements on and above the diagonal of a square C; some of those below
 * it are changed, too. */
void ease__product_upper(const ease__kernels *kernels, const float *packed,
                         int32_t rows, int32_t depth, ease__operand b, float *c,
                         size_t ldc);

#endif
