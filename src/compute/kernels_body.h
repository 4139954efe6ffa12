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

EASE__INLINE void look_up_body(const ease__bit_block *restrict row,
                               const float *restrict values,
                               const int32_t *restrict places, float *restrict out,
                               size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ease__bit_block block = row[(uint32_t)places[i] / 32];
        uint32_t bit = UINT32_C(1) << (uint32_t)places[i] % 32;
        uint32_t at = block.before +
                      (uint32_t)__builtin_popcount(block.bits & (bit - 1));
        float value = values[at];

        out[i] = block.bits & bit ? value : 0;
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

/* The body of a tile kernel: calls `body` with the number of rows as a constant. The
 * compiler keeps sums in registers only if their number is one. */
#define EASE__CASE_OF_ROWS(rows, body)   \
    case rows:                           \
        body(a, b, depth, rows, c, ldc); \
        break
#define EASE__BY_ROWS(body)          \
    switch (rows) {                  \
        EASE__CASE_OF_ROWS(1, body); \
        EASE__CASE_OF_ROWS(2, body); \
        EASE__CASE_OF_ROWS(3, body); \
        EASE__CASE_OF_ROWS(4, body); \
        EASE__CASE_OF_ROWS(5, body); \
        EASE__CASE_OF_ROWS(6, body); \
    }

#endif
