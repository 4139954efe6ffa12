#ifndef EASE_CUDA_SWEEP_H
#define EASE_CUDA_SWEEP_H

#include "device.h"

/* Inverts the matrix on the device in place. */
int32_t sweep(device *d);

/* Replaces a symmetric block, whose first row is that of `item`, by the inverse of its
 * Cholesky factor, in the stream of diagonal blocks. */
int32_t factor_block(device *d, char *block, int32_t size, size_t ld, int32_t item);

/* EASE_BACKEND_NOT_POSDEF if a pivot of an item failed. */
int32_t check_pivots(device *d, int32_t items);

/* A row-major operand of a product: across, if the depth of the product runs along its
 * rows, else down. */
typedef struct operand {
    const char *at;
    size_t ld;
    int32_t depth; /* numbers that are summed: for FAST the width of one part */
    bool down;
} operand;

/* C <- alpha A B + beta C in stream s; A has `rows` rows, B `columns` columns. alpha and
 * beta are on the device. */
int32_t product(device *d, int s, int32_t rows, int32_t columns, operand a, operand b,
                char *c, size_t ld, const double *alpha, const double *beta);

/* Several products with one A: of operand B the next one begins `b_apart` numbers
 * behind, of C rows * columns elements, which lie without gaps. */
int32_t products(device *d, int s, int32_t rows, int32_t columns, operand a, operand b,
                 size_t b_apart, char *c, int32_t count, const double *alpha,
                 const double *beta);

#endif
