/* The kernels for x86-64 with AVX2 and F16C. FMA is left out on purpose: a fused
 * product rounds differently. */
#include "model/kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include "model/kernels_body.h"

#define NEWER __attribute__((target("avx2,f16c")))

NEWER static void add(float *s, const float *w, size_t n)
{
    add_body(s, w, n);
}

NEWER static void add_times(float *s, const float *w, float x, size_t n)
{
    add_times_body(s, w, x, n);
}

NEWER static float dot(const float *a, const float *b, size_t n)
{
    return dot_body(a, b, n);
}

NEWER static void sum_panel(const float *panel, const int32_t *items, const float *x,
                            int32_t count, const float *start, float *out)
{
    sum_panel_body(panel, items, x, count, start, out);
}

NEWER static void from_half(const uint16_t *half, float unit, float *out, size_t n)
{
    size_t whole = n - n % 8;

    for (size_t i = 0; i < whole; i += 8) {
        __m256 v = _mm256_cvtph_ps(
            _mm_loadu_si128((const __m128i *)(const void *)(half + i)));

        _mm256_storeu_ps(out + i, _mm256_mul_ps(v, _mm256_set1_ps(unit)));
    }
    ease__kernels_plain.from_half(half + whole, unit, out + whole, n - whole);
}

NEWER static void to_half(const float *in, float factor, uint16_t *half, size_t n)
{
    size_t whole = n - n % 8;

    for (size_t i = 0; i < whole; i += 8) {
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(in + i), _mm256_set1_ps(factor));

        _mm_storeu_si128((__m128i *)(void *)(half + i),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    ease__kernels_plain.to_half(in + whole, factor, half + whole, n - whole);
}

static const ease__kernels newer = {
    .add = add,
    .add_times = add_times,
    .dot = dot,
    .sum_panel = sum_panel,
    .from_half = from_half,
    .to_half = to_half,
};

/* The first question covers the operating system as well: it must keep the wide
 * registers. */
const ease__kernels *ease__kernels_x86(void)
{
    unsigned a, b, c, d;

    if (!__builtin_cpu_supports("avx2") || !__get_cpuid(1, &a, &b, &c, &d) ||
        !(c & bit_F16C))
        return NULL;
    return &newer;
}

#else

const ease__kernels *ease__kernels_x86(void)
{
    return NULL;
}

#endif
