#include "model/kernels.h"

#include <string.h>

#include "model/kernels_body.h"

static void add(float *s, const float *w, size_t n)
{
    add_body(s, w, n);
}

static void add_times(float *s, const float *w, float x, size_t n)
{
    add_times_body(s, w, x, n);
}

static float dot(const float *a, const float *b, size_t n)
{
    return dot_body(a, b, n);
}

static void sum_panel(const float *panel, const int32_t *items, const float *x,
                      int32_t count, const float *start, float *out)
{
    sum_panel_body(panel, items, x, count, start, out);
}

static float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* Exponent and fraction are moved into place, and the multiplication makes up for the
 * difference of 127 and 15 in the exponents' bias; it also makes subnormals right. */
static float half_value(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
    uint32_t finite = bits_of(float_of(rest) * 0x1p112f);
    uint32_t special = rest | 0x7f800000 | (rest & 0x007fffff ? 0x00400000 : 0);

    return float_of(sign | (rest >= 0x0f800000 ? special : finite));
}

static void from_half(const uint16_t *half, float unit, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = half_value(half[i]) * unit;
}

static uint16_t half_of(float f)
{
    uint32_t bits = bits_of(f), sign = (bits >> 16) & 0x8000;
    uint32_t rest = bits & 0x7fffffff;

    if (rest > 0x7f800000) /* NaN, made quiet */
        return (uint16_t)(sign | 0x7e00 | ((rest >> 13) & 0x1ff));
    if (rest >= 0x47800000) /* 2^16 and above */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) {
        /* Subnormal as half: adding 0.5 leaves units of 2^-24 in the lowest bits of
         * the sum, rounded to even by the addition itself. */
        uint32_t sum = bits_of(float_of(rest) + 0.5f);

        return (uint16_t)(sign | (sum - 0x3f000000));
    }
    rest += 0x0fff + ((rest >> 13) & 1); /* may carry into the exponent: still right */
    return (uint16_t)(sign | ((rest - 0x38000000) >> 13));
}

static void to_half(const float *in, float factor, uint16_t *half, size_t n)
{
    for (size_t i = 0; i < n; i++)
        half[i] = half_of(in[i] * factor);
}

const ease__kernels ease__kernels_plain = {
    .add = add,
    .add_times = add_times,
    .dot = dot,
    .sum_panel = sum_panel,
    .from_half = from_half,
    .to_half = to_half,
};

const ease__kernels *ease__kernels_best(void)
{
    const ease__kernels *x86 = ease__kernels_x86();

    return x86 ? x86 : &ease__kernels_plain;
}
