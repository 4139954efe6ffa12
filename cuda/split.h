/* The arithmetic of FAST, apart from the conversion to halves: how numbers are scaled
 * before they are split. Plain C, also for the twin in tests/test_split_products.c. */
#ifndef EASE_CUDA_SPLIT_H
#define EASE_CUDA_SPLIT_H

#include <stdint.h>

#ifdef __CUDACC__
#define EASE_SPLIT __host__ __device__ static inline
#else
#define EASE_SPLIT static inline
#endif

/* A number x of an operand whose largest magnitude has the float32 bits `largest` is
 * multiplied by 2^exponent, which brings the largest into [2^14, 2^15), and split into
 * two halves, each rounded to nearest:
 *
 *     h = half(x 2^exponent),   l = half(x 2^exponent - h)
 *
 * h + l has 22 bits. Numbers below 2^-18 of the largest lose some of them, as l becomes
 * subnormal: their error is at most 2^-25, 2^-39 of the largest. A product of two
 * operands is the sum of l_a h_b, h_a l_b and h_a h_b; l_a l_b is below 2^-22 of it. Sums
 * of 3 x 1,536 terms stay below 2^43. */
EASE_SPLIT int split_exponent(uint32_t largest)
{
    int exponent = (int)(largest >> 23) - 127;

    if (largest == 0 || exponent > 127) /* nothing but zeros, or not a number */
        return 0;
    exponent = 14 - exponent;
    return exponent > 126 ? 126 : exponent;
}

#endif
