/* The matrix on the device: the lower triangle in block columns.
 *
 * Block column j has the rows from j * block on and `block` columns, row-major. A row of
 * it therefore begins at a multiple of block elements: products whose rows are not
 * aligned run several times slower. Rows and columns from `items` to `padded` are
 * padding: zero, and one on the diagonal. */
#ifndef EASE_CUDA_LAYOUT_H
#define EASE_CUDA_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* The block is the depth of a product. The rounding error of a product in halves grows
 * with it, and the traffic of the sweep with its inverse; many items run into the limit
 * of the GPU's power, which deeper products use better (docs/design/gpu.md). */
enum { BLOCK = 1024, DEEP_BLOCK = 1536, DEEP_FROM = 65536, PADDING = 64 };

typedef struct layout {
    int32_t items, padded; /* padded: a multiple of PADDING */
    int32_t block, blocks;
} layout;

static inline layout layout_of(int32_t items)
{
    layout l = {0, 0, 0, 0};

    l.items = items;
    l.padded = (items + PADDING - 1) / PADDING * PADDING;
    l.block = items < DEEP_FROM ? BLOCK : DEEP_BLOCK;
    if (l.padded < l.block)
        l.block = l.padded;
    l.blocks = (l.padded + l.block - 1) / l.block;
    return l;
}

#ifdef __CUDACC__
#define EASE_BOTH __host__ __device__
#else
#define EASE_BOTH
#endif

/* Rows of block column j. */
EASE_BOTH static inline int32_t layout_rows(layout l, int32_t j)
{
    return l.padded - j * l.block;
}

/* Columns of block column j. */
EASE_BOTH static inline int32_t layout_width(layout l, int32_t j)
{
    return layout_rows(l, j) < l.block ? layout_rows(l, j) : l.block;
}

/* Elements from the start to row `row` of block column j, row >= j * block. */
EASE_BOTH static inline size_t layout_at(layout l, int32_t row, int32_t j)
{
    size_t b = (size_t)l.block, c = (size_t)j;
    size_t before = c * (size_t)l.padded - b * (c * (c - 1) / 2 * (c > 0));

    return before * b + ((size_t)row - c * b) * b;
}

static inline size_t layout_elements(layout l)
{
    return layout_at(l, l.padded, l.blocks - 1);
}

#endif
