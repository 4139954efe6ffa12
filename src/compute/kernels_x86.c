/* Kernels for x86-64 with AVX2, FMA and F16C, and with AVX-512. Only `tile` may use
 * FMA: the other kernels round products before they are added. */
#include "compute/kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>

#include "compute/kernels_body.h"

#define AVX2   __attribute__((target("avx2,f16c")))
#define AVX512 __attribute__((target("avx512f,avx2,f16c")))
#define FMA    __attribute__((target("avx2,fma")))

/* ---- AVX2 and F16C ------------------------------------------------------------ */

AVX2 static void add(float *s, const float *w, size_t n)
{
    add_body(s, w, n);
}

AVX2 static void add_times(float *s, const float *w, float x, size_t n)
{
    add_times_body(s, w, x, n);
}

AVX2 static void look_up(const ease__bit_block *row, const float *values,
                         const int32_t *places, float *out, size_t n)
{
    look_up_body(row, values, places, out, n);
}

AVX2 static float dot(const float *a, const float *b, size_t n)
{
    return dot_body(a, b, n);
}

/* Eight numbers of a panel of floats or of halves. */
AVX2 EASE__INLINE __m256 row_part(const void *panel, bool halves, __m256 unit,
                                  size_t at)
{
    if (!halves)
        return _mm256_load_ps((const float *)panel + at);
    return _mm256_mul_ps(
        unit, _mm256_cvtph_ps(_mm_load_si128(
                  (const __m128i *)(const void *)((const uint16_t *)panel + at))));
}

AVX2 EASE__INLINE uint32_t sum_body(const void *panel, bool halves, float unit,
                                    ease__rows r, float above, float *out)
{
    __m256 u = _mm256_set1_ps(unit), least = _mm256_set1_ps(above);
    __m256 a = _mm256_load_ps(r.start), b = _mm256_load_ps(r.start + 8);
    __m256 c = _mm256_load_ps(r.start + 16), d = _mm256_load_ps(r.start + 24);
    uint32_t bits;

    for (int32_t h = 0; h < r.count; h++) {
        size_t at = (size_t)r.items[h] * EASE__PANEL;
        __m256 p = row_part(panel, halves, u, at);
        __m256 q = row_part(panel, halves, u, at + 8);
        __m256 s = row_part(panel, halves, u, at + 16);
        __m256 t = row_part(panel, halves, u, at + 24);

        if (r.x) {
            __m256 x = _mm256_set1_ps(r.x[h]);

            p = _mm256_mul_ps(p, x);
            q = _mm256_mul_ps(q, x);
            s = _mm256_mul_ps(s, x);
            t = _mm256_mul_ps(t, x);
        }
        a = _mm256_add_ps(a, p);
        b = _mm256_add_ps(b, q);
        c = _mm256_add_ps(c, s);
        d = _mm256_add_ps(d, t);
    }
    bits = (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, least, _CMP_GT_OQ));
    bits |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(b, least, _CMP_GT_OQ)) << 8;
    bits |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(c, least, _CMP_GT_OQ)) << 16;
    bits |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(d, least, _CMP_GT_OQ)) << 24;
    if (bits) {
        _mm256_store_ps(out, a);
        _mm256_store_ps(out + 8, b);
        _mm256_store_ps(out + 16, c);
        _mm256_store_ps(out + 24, d);
    }
    return bits;
}

AVX2 static uint32_t sum_floats(const float *panel, ease__rows r, float above,
                                float *out)
{
    return sum_body(panel, false, 1.0f, r, above, out);
}

AVX2 static uint32_t sum_halves(const uint16_t *panel, float unit, ease__rows r,
                                float above, float *out)
{
    return sum_body(panel, true, unit, r, above, out);
}

AVX2 EASE__INLINE __m256 stream_part(const void *row, bool halves, __m256 unit,
                                     size_t at)
{
    if (!halves)
        return _mm256_loadu_ps((const float *)row + at);
    return _mm256_mul_ps(
        unit, _mm256_cvtph_ps(_mm_loadu_si128(
                  (const __m128i *)(const void *)((const uint16_t *)row + at))));
}

AVX2 EASE__INLINE void add_streams(float *s, ease__streams r, bool halves, float unit,
                                   size_t n)
{
    __m256 u = _mm256_set1_ps(unit);

    for (size_t at = 0; at < n; at += EASE__PANEL) {
        __m256 a = _mm256_loadu_ps(s + at), b = _mm256_loadu_ps(s + at + 8);
        __m256 c = _mm256_loadu_ps(s + at + 16), d = _mm256_loadu_ps(s + at + 24);

        for (int32_t h = 0; h < r.count; h++) {
            __m256 x = _mm256_set1_ps(r.x ? r.x[h] : 1);
            __m256 p = stream_part(r.rows[h], halves, u, at);
            __m256 q = stream_part(r.rows[h], halves, u, at + 8);
            __m256 v = stream_part(r.rows[h], halves, u, at + 16);
            __m256 w = stream_part(r.rows[h], halves, u, at + 24);

            a = _mm256_add_ps(a, _mm256_mul_ps(p, x));
            b = _mm256_add_ps(b, _mm256_mul_ps(q, x));
            c = _mm256_add_ps(c, _mm256_mul_ps(v, x));
            d = _mm256_add_ps(d, _mm256_mul_ps(w, x));
        }
        _mm256_storeu_ps(s + at, a);
        _mm256_storeu_ps(s + at + 8, b);
        _mm256_storeu_ps(s + at + 16, c);
        _mm256_storeu_ps(s + at + 24, d);
    }
}

AVX2 static void add_floats(float *s, ease__streams r, size_t n)
{
    add_streams(s, r, false, 1.0f, n);
}

AVX2 static void add_halves(float *s, ease__streams r, float unit, size_t n)
{
    add_streams(s, r, true, unit, n);
}

AVX2 static void from_half(const uint16_t *half, float unit, float *out, size_t n)
{
    size_t whole = n - n % 8;

    for (size_t i = 0; i < whole; i += 8) {
        __m256 v = _mm256_cvtph_ps(
            _mm_loadu_si128((const __m128i *)(const void *)(half + i)));

        _mm256_storeu_ps(out + i, _mm256_mul_ps(v, _mm256_set1_ps(unit)));
    }
    ease__kernels_plain.from_half(half + whole, unit, out + whole, n - whole);
}

AVX2 static void to_half(const float *in, float factor, uint16_t *half, size_t n)
{
    size_t whole = n - n % 8;

    for (size_t i = 0; i < whole; i += 8) {
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(in + i), _mm256_set1_ps(factor));

        _mm_storeu_si128((__m128i *)(void *)(half + i),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    ease__kernels_plain.to_half(in + whole, factor, half + whole, n - whole);
}

/* Transposes 8 x 8 floats: exchanges pairs, then groups of four, then halves of
 * registers. */
AVX2 EASE__INLINE void transpose_8(const float *in, size_t in_ld, float *out,
                                   size_t out_ld)
{
    __m256 r[8], s[8];

    for (size_t i = 0; i < 8; i++)
        r[i] = _mm256_loadu_ps(in + i * in_ld);
    for (size_t i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (size_t i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
    }
    for (size_t i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + i * out_ld,
                         _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * out_ld,
                         _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

AVX2 static void transpose(const float *in, size_t in_ld, float *out, size_t out_ld)
{
    for (size_t i = 0; i < EASE__TRANSPOSE_EDGE; i += 8)
        for (size_t j = 0; j < EASE__TRANSPOSE_EDGE; j += 8)
            transpose_8(in + i * in_ld + j, in_ld, out + j * out_ld + i, out_ld);
}

/* Computes half of a panel's columns: 12 sums, two vectors of b and one of a are 15
 * registers. */
FMA EASE__INLINE void half_tile(const float *a, const float *b, size_t depth, int rows,
                                float *c, size_t ldc)
{
    __m256 left[EASE__TILE_ROWS], right[EASE__TILE_ROWS];

#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        left[i] = _mm256_loadu_ps(c + (size_t)i * ldc);
        right[i] = _mm256_loadu_ps(c + (size_t)i * ldc + 8);
    }
    for (size_t k = 0; k < depth; k++) {
        __m256 p = _mm256_load_ps(b + k * EASE__PANEL);
        __m256 q = _mm256_load_ps(b + k * EASE__PANEL + 8);

#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            __m256 x = _mm256_set1_ps(a[k * EASE__TILE_ROWS + (size_t)i]);

            left[i] = _mm256_fmadd_ps(x, p, left[i]);
            right[i] = _mm256_fmadd_ps(x, q, right[i]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        _mm256_storeu_ps(c + (size_t)i * ldc, left[i]);
        _mm256_storeu_ps(c + (size_t)i * ldc + 8, right[i]);
    }
}

FMA EASE__INLINE void tile_rows(const float *a, const float *b, size_t depth, int rows,
                                float *c, size_t ldc)
{
    half_tile(a, b, depth, rows, c, ldc);
    half_tile(a, b + EASE__PANEL / 2, depth, rows, c + EASE__PANEL / 2, ldc);
}

FMA static void tile(const float *a, const float *b, size_t depth, int rows, float *c,
                     size_t ldc)
{
    EASE__BY_ROWS(tile_rows)
}

static const ease__kernels avx2 = {
    .name = "avx2",
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

/* __builtin_cpu_supports also checks that the operating system saves the wide
 * registers. */
const ease__kernels *ease__kernels_avx2(void)
{
    unsigned a, b, c, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);

    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? &avx2
               : NULL;
}

/* ---- AVX-512 ------------------------------------------------------------------ */

AVX512 EASE__INLINE __m512 wide_part(const void *panel, bool halves, __m512 unit,
                                     size_t at)
{
    if (!halves)
        return _mm512_load_ps((const float *)panel + at);
    return _mm512_mul_ps(
        unit, _mm512_cvtph_ps(_mm256_load_si256(
                  (const __m256i *)(const void *)((const uint16_t *)panel + at))));
}

AVX512 EASE__INLINE __m512 wide_stream(const void *row, bool halves, __m512 unit,
                                       size_t at)
{
    if (!halves)
        return _mm512_loadu_ps((const float *)row + at);
    return _mm512_mul_ps(
        unit, _mm512_cvtph_ps(_mm256_loadu_si256(
                  (const __m256i *)(const void *)((const uint16_t *)row + at))));
}

AVX512 EASE__INLINE void wide_streams(float *s, ease__streams r, bool halves,
                                      float unit, size_t n)
{
    __m512 u = _mm512_set1_ps(unit);

    for (size_t at = 0; at < n; at += EASE__PANEL) {
        __m512 a = _mm512_loadu_ps(s + at), b = _mm512_loadu_ps(s + at + 16);

        for (int32_t h = 0; h < r.count; h++) {
            __m512 x = _mm512_set1_ps(r.x ? r.x[h] : 1);
            __m512 p = wide_stream(r.rows[h], halves, u, at);
            __m512 q = wide_stream(r.rows[h], halves, u, at + 16);

            a = _mm512_add_ps(a, _mm512_mul_ps(p, x));
            b = _mm512_add_ps(b, _mm512_mul_ps(q, x));
        }
        _mm512_storeu_ps(s + at, a);
        _mm512_storeu_ps(s + at + 16, b);
    }
}

AVX512 static void wide_add_floats(float *s, ease__streams r, size_t n)
{
    wide_streams(s, r, false, 1.0f, n);
}

AVX512 static void wide_add_halves(float *s, ease__streams r, float unit, size_t n)
{
    wide_streams(s, r, true, unit, n);
}

AVX512 EASE__INLINE uint32_t wide_sum(const void *panel, bool halves, float unit,
                                      ease__rows r, float above, float *out)
{
    __m512 u = _mm512_set1_ps(unit), least = _mm512_set1_ps(above);
    __m512 a = _mm512_load_ps(r.start), b = _mm512_load_ps(r.start + 16);
    uint32_t bits;

    for (int32_t h = 0; h < r.count; h++) {
        size_t at = (size_t)r.items[h] * EASE__PANEL;
        __m512 p = wide_part(panel, halves, u, at);
        __m512 q = wide_part(panel, halves, u, at + 16);

        if (r.x) {
            __m512 x = _mm512_set1_ps(r.x[h]);

            p = _mm512_mul_ps(p, x);
            q = _mm512_mul_ps(q, x);
        }
        a = _mm512_add_ps(a, p);
        b = _mm512_add_ps(b, q);
    }
    bits = (uint32_t)_mm512_cmp_ps_mask(a, least, _CMP_GT_OQ);
    bits |= (uint32_t)_mm512_cmp_ps_mask(b, least, _CMP_GT_OQ) << 16;
    if (bits) {
        _mm512_store_ps(out, a);
        _mm512_store_ps(out + 16, b);
    }
    return bits;
}

AVX512 static uint32_t wide_sum_floats(const float *panel, ease__rows r, float above,
                                       float *out)
{
    return wide_sum(panel, false, 1.0f, r, above, out);
}

AVX512 static uint32_t wide_sum_halves(const uint16_t *panel, float unit, ease__rows r,
                                       float above, float *out)
{
    return wide_sum(panel, true, unit, r, above, out);
}

AVX512 EASE__INLINE void wide_tile_rows(const float *a, const float *b, size_t depth,
                                        int rows, float *c, size_t ldc)
{
    __m512 left[EASE__TILE_ROWS], right[EASE__TILE_ROWS];

#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        left[i] = _mm512_loadu_ps(c + (size_t)i * ldc);
        right[i] = _mm512_loadu_ps(c + (size_t)i * ldc + 16);
    }
    for (size_t k = 0; k < depth; k++) {
        __m512 p = _mm512_load_ps(b + k * EASE__PANEL);
        __m512 q = _mm512_load_ps(b + k * EASE__PANEL + 16);

#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            __m512 x = _mm512_set1_ps(a[k * EASE__TILE_ROWS + (size_t)i]);

            left[i] = _mm512_fmadd_ps(x, p, left[i]);
            right[i] = _mm512_fmadd_ps(x, q, right[i]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        _mm512_storeu_ps(c + (size_t)i * ldc, left[i]);
        _mm512_storeu_ps(c + (size_t)i * ldc + 16, right[i]);
    }
}

AVX512 static void wide_tile(const float *a, const float *b, size_t depth, int rows,
                             float *c, size_t ldc)
{
    EASE__BY_ROWS(wide_tile_rows)
}

static const ease__kernels avx512 = {
    .name = "avx512",
    .add = add,
    .add_times = add_times,
    .look_up = look_up,
    .dot = dot,
    .sum_floats = wide_sum_floats,
    .sum_halves = wide_sum_halves,
    .add_floats = wide_add_floats,
    .add_halves = wide_add_halves,
    .from_half = from_half,
    .to_half = to_half,
    .transpose = transpose,
    .tile = wide_tile,
};

const ease__kernels *ease__kernels_avx512(void)
{
    return ease__kernels_avx2() && __builtin_cpu_supports("avx512f") ? &avx512 : NULL;
}

#else

const ease__kernels *ease__kernels_avx2(void)
{
    return NULL;
}

const ease__kernels *ease__kernels_avx512(void)
{
    return NULL;
}

#endif
