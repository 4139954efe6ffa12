/* Kernels in plain C, to be compiled once for any processor and once for newer ones. */
#ifndef EASE_KERNELS_BODY_H
#define EASE_KERNELS_BODY_H

#include "model/kernels.h"

#define EASE__INLINE static inline __attribute__((always_inline))

EASE__INLINE void add_body(float *restrict s, const float *restrict w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s[i] += w[i];
}

/* Product and sum are separate statements: a compiler may fuse them only within one
 * expression, and fused they would round differently. */
EASE__INLINE void add_times_body(float *restrict s, const float *restrict w, float x,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float product = x * w[i];

        s[i] += product;
    }
}

typedef float ease__float8 __attribute__((vector_size(32), may_alias));
enum { EASE__VECTORS = EASE__PANEL / 8 };

EASE__INLINE void sum_panel_body(const float *panel, const int32_t *items,
                                 const float *x, int32_t count, const float *start,
                                 float *out)
{
    ease__float8 sum[EASE__VECTORS];

    for (int v = 0; v < EASE__VECTORS; v++)
        sum[v] = ((const ease__float8 *)start)[v];
    for (int32_t h = 0; h < count; h++) {
        const ease__float8 *row = (const ease__float8 *)(panel + (size_t)items[h] *
                                                                     EASE__PANEL);

        if (!x) {
            for (int v = 0; v < EASE__VECTORS; v++)
                sum[v] += row[v];
        } else {
            for (int v = 0; v < EASE__VECTORS; v++) {
                ease__float8 product = row[v] * x[h];

                sum[v] += product;
            }
        }
    }
    for (int v = 0; v < EASE__VECTORS; v++)
        ((ease__float8 *)out)[v] = sum[v];
}

#endif
