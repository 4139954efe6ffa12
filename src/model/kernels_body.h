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

#endif
