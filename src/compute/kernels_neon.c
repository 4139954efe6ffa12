/* Kernels for aarch64, whose processors all have NEON, fused multiply-adds and halves.
 * Only `tile` may fuse: the other kernels round products before they are added. */
#include "compute/kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <stdbool.h>

#include "compute/kernels_body.h"

static void add(float *s, const float *w, size_t n)
{
    add_body(s, w, n);
}

static void add_times(float *s, const float *w, float x, size_t n)
{
    add_times_body(s, w, x, n);
}

static void look_up(const ease__bit_block *row, const float *values,
                    const int32_t *places, float *out, size_t n)
{
    look_up_body(row, values, places, out, n);
}

static float dot(const float *a, const float *b, size_t n)
{
    return dot_body(a, b, n);
}

/* Four halves as floats. */
static inline float32x4_t floats_of(const uint16_t *half)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(half)));
}

enum { LANES = 4, VECTORS = EASE__PANEL / LANES };

EASE__INLINE uint32_t sum_body(const void *panel, bool halves, float unit, ease__rows r,
                               float above, float *out)
{
    static const uint32_t places[] = {1, 2, 4, 8};
    uint32x4_t place = vld1q_u32(places);
    float32x4_t sum[VECTORS];
    uint32_t bits = 0;

#pragma GCC unroll 8
    for (size_t v = 0; v < VECTORS; v++)
        sum[v] = vld1q_f32(r.start + v * LANES);
    for (int32_t h = 0; h < r.count; h++) {
        size_t at = (size_t)r.items[h] * EASE__PANEL;
        float x = r.x ? r.x[h] : 1;

#pragma GCC unroll 8
        for (size_t v = 0; v < VECTORS; v++) {
            float32x4_t p = halves ? vmulq_n_f32(floats_of((const uint16_t *)panel +
                                                           at + v * LANES),
                                                 unit)
                                   : vld1q_f32((const float *)panel + at + v * LANES);

            if (r.x)
                p = vmulq_n_f32(p, x);
            sum[v] = vaddq_f32(sum[v], p);
        }
    }
#pragma GCC unroll 8
    for (size_t v = 0; v < VECTORS; v++) {
        uint32x4_t larger = vcgtq_f32(sum[v], vdupq_n_f32(above));

        bits |= vaddvq_u32(vandq_u32(larger, place)) << v * LANES;
    }
    if (bits) {
#pragma GCC unroll 8
        for (size_t v = 0; v < VECTORS; v++)
            vst1q_f32(out + v * LANES, sum[v]);
    }
    return bits;
}

static uint32_t sum_floats(const float *panel, ease__rows r, float above, float *out)
{
    return sum_body(panel, false, 1.0f, r, above, out);
}

static uint32_t sum_halves(const uint16_t *panel, float unit, ease__rows r, float above,
                           float *out)
{
    return sum_body(panel, true, unit, r, above, out);
}

EASE__INLINE void add_streams(float *s, ease__streams r, bool halves, float unit,
                              size_t n)
{
    for (size_t at = 0; at < n; at += EASE__PANEL) {
        float32x4_t sum[VECTORS];

#pragma GCC unroll 8
        for (size_t v = 0; v < VECTORS; v++)
            sum[v] = vld1q_f32(s + at + v * LANES);
        for (int32_t h = 0; h < r.count; h++) {
            float x = r.x ? r.x[h] : 1;

#pragma GCC unroll 8
            for (size_t v = 0; v < VECTORS; v++) {
                size_t i = at + v * LANES;
                float32x4_t p =
                    halves
                        ? vmulq_n_f32(floats_of((const uint16_t *)r.rows[h] + i), unit)
                        : vld1q_f32((const float *)r.rows[h] + i);

                sum[v] = vaddq_f32(sum[v], vmulq_n_f32(p, x));
            }
        }
#pragma GCC unroll 8
        for (size_t v = 0; v < VECTORS; v++)
            vst1q_f32(s + at + v * LANES, sum[v]);
    }
}

static void add_floats(float *s, ease__streams r, size_t n)
{
    add_streams(s, r, false, 1.0f, n);
}

static void add_halves(float *s, ease__streams r, float unit, size_t n)
{
    add_streams(s, r, true, unit, n);
}

static void from_half(const uint16_t *half, float unit, float *out, size_t n)
{
    size_t whole = n - n % LANES;

    for (size_t i = 0; i < whole; i += LANES)
        vst1q_f32(out + i, vmulq_n_f32(floats_of(half + i), unit));
    ease__kernels_plain.from_half(half + whole, unit, out + whole, n - whole);
}

static void to_half(const float *in, float factor, uint16_t *half, size_t n)
{
    size_t whole = n - n % LANES;

    for (size_t i = 0; i < whole; i += LANES) {
        float16x4_t h = vcvt_f16_f32(vmulq_n_f32(vld1q_f32(in + i), factor));

        vst1_u16(half + i, vreinterpret_u16_f16(h));
    }
    ease__kernels_plain.to_half(in + whole, factor, half + whole, n - whole);
}

/* Transposes 4 x 4 floats: exchanges elements of pairs of rows, then pairs. */
EASE__INLINE void transpose_4(const float *in, size_t in_ld, float *out, size_t out_ld)
{
    float32x4_t a = vld1q_f32(in), b = vld1q_f32(in + in_ld);
    float32x4_t c = vld1q_f32(in + 2 * in_ld), d = vld1q_f32(in + 3 * in_ld);
    float64x2_t ab0 = vreinterpretq_f64_f32(vtrn1q_f32(a, b));
    float64x2_t ab1 = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
    float64x2_t cd0 = vreinterpretq_f64_f32(vtrn1q_f32(c, d));
    float64x2_t cd1 = vreinterpretq_f64_f32(vtrn2q_f32(c, d));

    vst1q_f32(out, vreinterpretq_f32_f64(vtrn1q_f64(ab0, cd0)));
    vst1q_f32(out + out_ld, vreinterpretq_f32_f64(vtrn1q_f64(ab1, cd1)));
    vst1q_f32(out + 2 * out_ld, vreinterpretq_f32_f64(vtrn2q_f64(ab0, cd0)));
    vst1q_f32(out + 3 * out_ld, vreinterpretq_f32_f64(vtrn2q_f64(ab1, cd1)));
}

static void transpose(const float *in, size_t in_ld, float *out, size_t out_ld)
{
    for (size_t i = 0; i < EASE__TRANSPOSE_EDGE; i += LANES)
        for (size_t j = 0; j < EASE__TRANSPOSE_EDGE; j += LANES)
            transpose_4(in + i * in_ld + j, in_ld, out + j * out_ld + i, out_ld);
}

enum { HALF = VECTORS / 2 };

/* Computes half of a panel's columns: 24 sums, four vectors of b and one of a are 29
 * registers of 32. */
EASE__INLINE void half_tile(const float *a, const float *b, size_t depth, int rows,
                            float *c, size_t ldc)
{
    float32x4_t sum[EASE__TILE_ROWS][HALF];

#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < HALF; v++)
            sum[i][v] = vld1q_f32(c + (size_t)i * ldc + v * LANES);
    for (size_t k = 0; k < depth; k++) {
        float32x4_t p[HALF];

#pragma GCC unroll 4
        for (size_t v = 0; v < HALF; v++)
            p[v] = vld1q_f32(b + k * EASE__PANEL + v * LANES);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            float x = a[k * EASE__TILE_ROWS + (size_t)i];

#pragma GCC unroll 4
            for (size_t v = 0; v < HALF; v++)
                sum[i][v] = vfmaq_n_f32(sum[i][v], p[v], x);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < HALF; v++)
            vst1q_f32(c + (size_t)i * ldc + v * LANES, sum[i][v]);
}

EASE__INLINE void tile_rows(const float *a, const float *b, size_t depth, int rows,
                            float *c, size_t ldc)
{
    half_tile(a, b, depth, rows, c, ldc);
    half_tile(a, b + EASE__PANEL / 2, depth, rows, c + EASE__PANEL / 2, ldc);
}

static void tile(const float *a, const float *b, size_t depth, int rows, float *c,
                 size_t ldc)
{
    EASE__BY_ROWS(tile_rows)
}

static const ease__kernels neon = {
    .name = "neon",
    .add = add,
    .add_times = add_times,
    .look_up = look_up,
    .dot = dot,
    .sum_floats = sum_floats,
    .sum_halves = sum_halves,
    .add_floats = add_floats,
    .add_halves = add_halves,
    .from_half = from_half,
    .to_half = to_half,
    .transpose = transpose,
    .tile = tile,
};

const ease__kernels *ease__kernels_neon(void)
{
    return &neon;
}

#else

const ease__kernels *ease__kernels_neon(void)
{
    return NULL;
}

#endif
