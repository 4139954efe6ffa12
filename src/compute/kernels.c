#include "compute/kernels.h"

#include <math.h>
#include <string.h>

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

/* Converts a half: moves exponent and fraction into place, and multiplies to correct
 * the exponent's bias (127 instead of 15), which also handles subnormals. */
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

/* A bit for each column whose sum is above `above`. */
static uint32_t compare(const float *sums, float above)
{
    uint32_t bits = 0;

    for (int j = 0; j < EASE__PANEL; j++)
        bits |= (uint32_t)(sums[j] > above) << j;
    return bits;
}

static void add_row(const float *row, const ease__rows *r, int32_t h, float *sums)
{
    if (r->x)
        add_times(sums, row, r->x[h], EASE__PANEL);
    else
        add(sums, row, EASE__PANEL);
}

static uint32_t sum_floats(const float *panel, ease__rows r, float above, float *out)
{
    memcpy(out, r.start, EASE__PANEL * sizeof(*out));
    for (int32_t h = 0; h < r.count; h++)
        add_row(panel + (size_t)r.items[h] * EASE__PANEL, &r, h, out);
    return compare(out, above);
}

static uint32_t sum_halves(const uint16_t *panel, float unit, ease__rows r, float above,
                           float *out)
{
    float row[EASE__PANEL];

    memcpy(out, r.start, EASE__PANEL * sizeof(*out));
    for (int32_t h = 0; h < r.count; h++) {
        from_half(panel + (size_t)r.items[h] * EASE__PANEL, unit, row, EASE__PANEL);
        add_row(row, &r, h, out);
    }
    return compare(out, above);
}

static void add_streamed(const float *row, const ease__streams *r, int32_t h, float *s)
{
    if (r->x)
        add_times(s, row, r->x[h], EASE__PANEL);
    else
        add(s, row, EASE__PANEL);
}

static void add_floats(float *s, ease__streams r, size_t n)
{
    for (size_t at = 0; at < n; at += EASE__PANEL)
        for (int32_t h = 0; h < r.count; h++)
            add_streamed((const float *)r.rows[h] + at, &r, h, s + at);
}

static void add_halves(float *s, ease__streams r, float unit, size_t n)
{
    float row[EASE__PANEL];

    for (size_t at = 0; at < n; at += EASE__PANEL)
        for (int32_t h = 0; h < r.count; h++) {
            from_half((const uint16_t *)r.rows[h] + at, unit, row, EASE__PANEL);
            add_streamed(row, &r, h, s + at);
        }
}

static void transpose(const float *in, size_t in_ld, float *out, size_t out_ld)
{
    for (size_t i = 0; i < EASE__TRANSPOSE_EDGE; i++)
        for (size_t j = 0; j < EASE__TRANSPOSE_EDGE; j++)
            out[j * out_ld + i] = in[i * in_ld + j];
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
    rest += 0x0fff + ((rest >> 13) & 1); /* a carry into the exponent is right */
    return (uint16_t)(sign | ((rest - 0x38000000) >> 13));
}

static void to_half(const float *in, float factor, uint16_t *half, size_t n)
{
    for (size_t i = 0; i < n; i++)
        half[i] = half_of(in[i] * factor);
}

/* a * b + c, rounded once. */
#ifdef __FP_FAST_FMAF

static float fused(float a, float b, float c)
{
    return fmaf(a, b, c);
}

#else

/* Without an FMA instruction: the product of two floats is exact in a double. Its
 * sum with c is rounded to odd (if the sum is not a double, of its two neighbours
 * the one whose last bit is 1), so that rounding it again, to a float, gives the
 * right result. */
static float fused(float a, float b, float c)
{
    double product = (double)a * (double)b, sum = product + (double)c;
    double from_c = sum - product;
    double error = (product - (sum - from_c)) + ((double)c - from_c);
    uint64_t bits;

    memcpy(&bits, &sum, sizeof(bits));
    if (error > 0 || error < 0) /* false for infinities and NaN */
        if ((bits & 1) == 0)
            bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
    memcpy(&sum, &bits, sizeof(sum));
    return (float)sum;
}

#endif

static void tile(const float *a, const float *b, size_t depth, int rows, float *c,
                 size_t ldc)
{
    for (int i = 0; i < rows; i++) {
        float *sums = c + (size_t)i * ldc;

        for (size_t k = 0; k < depth; k++)
            for (size_t j = 0; j < EASE__PANEL; j++)
                sums[j] = fused(a[k * EASE__TILE_ROWS + (size_t)i],
                                b[k * EASE__PANEL + j], sums[j]);
    }
}

const ease__kernels ease__kernels_plain = {
    .name = "plain",
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

static const ease__kernels *forced;

const ease__kernels *ease__kernels_best(void)
{
    const ease__kernels *best = forced ? forced : ease__kernels_avx512();

    if (!best)
        best = ease__kernels_avx2();
    if (!best)
        best = ease__kernels_neon();
    return best ? best : &ease__kernels_plain;
}

bool ease__kernels_force(const char *name)
{
    const ease__kernels *all[] = {&ease__kernels_plain, ease__kernels_avx2(),
                                  ease__kernels_avx512(), ease__kernels_neon()};

    forced = NULL;
    for (size_t i = 0; name && i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] && strcmp(all[i]->name, name) == 0)
            forced = all[i];
    return !name || forced;
}
