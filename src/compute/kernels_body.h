/* Kernels in plain C, to be compiled once for any processor and once for newer ones. */
#ifndef EASE_COMPUTE_KERNELS_BODY_H
#define EASE_COMPUTE_KERNELS_BODY_H

#include "compute/kernels.h"

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
typedef float ease__any_float8 __attribute__((vector_size(32), may_alias, aligned(4)));

/* The elements that do not fill a vector are summed first. */
EASE__INLINE float dot_body(const float *a, const float *b, size_t n)
{
    enum { LANES = 8, SUMS = 4, STRIDE = LANES * SUMS };
    ease__float8 sum[SUMS] = {{0}};
    float total = 0;
    size_t i = 0;

    for (; i + STRIDE <= n; i += STRIDE)
        for (size_t s = 0; s < SUMS; s++) {
            ease__float8 product = *(const ease__any_float8 *)(a + i + s * LANES) *
                                   *(const ease__any_float8 *)(b + i + s * LANES);

            sum[s] += product;
        }
    for (; i + LANES <= n; i += LANES) {
        ease__float8 product = *(const ease__any_float8 *)(a + i) *
                               *(const ease__any_float8 *)(b + i);

        sum[0] += product;
    }
    sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (; i < n; i++) {
        float product = a[i] * b[i];

        total += product;
    }
    for (size_t lane = 0; lane < LANES; lane++)
        total += sum[0][lane];
    return total;
}

#endif
