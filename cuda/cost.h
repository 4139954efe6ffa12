/* What an inversion costs: flops of its products, and flops per second of GPUs. Plain
 * arithmetic on the host, tested by tests/test_gpu_cost.c without a GPU. */
#ifndef EASE_CUDA_COST_H
#define EASE_CUDA_COST_H

#include "layout.h"

/* Flops of a product: 2 rows x columns x depth. */
static inline double cost_product(double rows, double columns, double depth)
{
    return 2 * rows * columns * depth;
}

/* Flops that step k of the sweep on blocks (sweep.cu) submits: more than
 * 3 padded^2 width, since diagonal blocks are computed as squares. */
static inline double cost_step(layout l, int32_t k)
{
    double width = layout_width(l, k), above = (double)k * l.block;
    double below = l.padded - above - width;
    double sum = cost_product(width, width, width);

    if (below > 0)
        sum += 2 * cost_product(below, width, width);
    for (int32_t j = k + 1; j < l.blocks; j++)
        sum += cost_product(layout_rows(l, j), layout_width(l, j), width);
    if (k > 0 && below > 0)
        sum += cost_product(below, above, width);
    if (k > 0)
        sum += 2 * cost_product(width, above, width);
    for (int32_t j = 0; j < k; j++)
        sum += cost_product(above - (double)j * l.block, l.block, width);
    return sum;
}

/* All flops that the sweep on the device submits. */
static inline double cost_sweep(layout l)
{
    double sum = 0;

    for (int32_t k = 0; k < l.blocks; k++)
        sum += cost_step(l, k);
    return sum;
}

/* Flops of the tiles on and below the diagonal of a square of `count` tiles a side. */
static inline double cost_triangle(double count, double edge, double depth)
{
    return count * (count + 1) / 2 * cost_product(edge, edge, depth);
}

/* All flops that the sweep with the matrix on the host (outofcore.cu) submits: tiles of
 * `edge` rows, `tiles` a side, with `columns` tile columns a step. */
static inline double cost_outofcore(int32_t tiles, int32_t edge, int32_t columns)
{
    double sum = 0, e = edge;

    for (int32_t from = 0, to; from < tiles; from = to) {
        double width, below, above;

        to = tiles - from < columns ? tiles : from + columns;
        width = (to - from) * e;
        above = from * e;
        below = (tiles - to) * e;
        sum += cost_product(width, width, width) +
               2 * cost_product(below + above, width, width) +
               cost_triangle(tiles - to, e, width) + cost_product(below, above, width) +
               cost_triangle(from, e, width);
    }
    return sum;
}

/* ---- GPUs ------------------------------------------------------------------------ */

/* Dense flops per clock and multiprocessor, from the peak rates of NVIDIA's data sheets
 * and architecture white papers, divided by clock and multiprocessors. Tensor cores:
 * halves with sums in float32. Of the capabilities 7.5, 8.6, 8.9 and 12.0 there are
 * GeForce cards, which have half the rate of the professional ones with such sums: the
 * lower one stands here, so that a prediction promises too little, not too much. */
typedef struct cost_rates {
    int capability; /* 10 x major + minor */
    double halves, single, wide;
} cost_rates;

/* The rates of this capability; for one that is not in the table, the lowest of those
 * that are. */
static inline cost_rates cost_rates_of(int capability)
{
    static const cost_rates known[] = {
        {75, 512, 128, 4},     /* RTX 20, T4 */
        {80, 2048, 128, 128},  /* A100 */
        {86, 512, 256, 4},     /* RTX 30, A10, A40 */
        {89, 512, 256, 4},     /* RTX 40, L4, L40 */
        {90, 4096, 256, 256},  /* H100, H200 */
        {100, 8192, 256, 128}, /* B100, B200 */
        {103, 8192, 256, 4},   /* B300 */
        {120, 512, 256, 4},    /* RTX 50, RTX PRO */
    };
    static const cost_rates other = {0, 512, 128, 4};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].capability == capability)
            return known[i];
    return other;
}

#endif
