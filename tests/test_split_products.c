/* The plain twin of the products in halves that the backend cuda computes: a number is
 * scaled and split as in cuda/split.h, and a product is the sum of l h, h l and h h in
 * float32, in this order. The GPU is not needed for any of this; that it computes the
 * same is what its conformance suite and the residual of each solve show. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/random.h"
#include "cuda/layout.h"
#include "cuda/split.h"
#include "test.h"

/* ---- halves ---------------------------------------------------------------------- */

static const float LARGEST_HALF = 65504;

/* The nearest half, ties to even; too large a number becomes infinite. */
static float half_of(float x)
{
    float unit;
    int exponent;

    if (!isfinite(x) || x == 0)
        return x;
    frexpf(x, &exponent); /* x in [2^(exponent-1), 2^exponent) */
    unit = ldexpf(1, (exponent < -13 ? -13 : exponent) - 11);
    x = unit * (float)rint((double)x / (double)unit);
    return fabsf(x) > LARGEST_HALF ? copysignf(INFINITY, x) : x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

typedef struct parts {
    float high, low;
} parts;

static parts split(float x, int exponent)
{
    float scaled = ldexpf(x, exponent);
    parts p = {.high = half_of(scaled)};

    p.low = half_of(scaled - p.high);
    return p;
}

static uint32_t largest_of(const float *x, int count)
{
    uint32_t largest = 0;

    for (int i = 0; i < count; i++)
        if (bits_of(fabsf(x[i])) > largest)
            largest = bits_of(fabsf(x[i]));
    return largest;
}

static void halves_are_the_nearest(test *t)
{
    static const struct {
        float x, half;
    } known[] = {{1, 1},
                 {1 + 0x1p-11f, 1},           /* a tie, to even */
                 {1 + 0x3p-11f, 1 + 0x1p-9f}, /* the other one */
                 {1 + 0x1.2p-11f, 1 + 0x1p-10f},
                 {65504, 65504},
                 {65519, 65504},
                 {65520, INFINITY},
                 {0x1p-24f, 0x1p-24f}, /* the smallest subnormal */
                 {0x1p-25f, 0},        /* a tie, to even */
                 {0x1.8p-25f, 0x1p-24f},
                 {0x1.ff8p-15f, 0x1.ff8p-15f}, /* the largest subnormal */
                 {-0x1.004p0f, -0x1.004p0f}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        check(t, half_of(known[i].x) == known[i].half);
}

/* ---- splitting ------------------------------------------------------------------- */

/* Any sign, and any exponent of the range below 2^top. */
static float draw(ease__random *r, int top, int range)
{
    double x = 0.5 + 0.5 * ease__random_unit(r);

    x = ldexp(x, top - (int)(ease__random_unit(r) * range));
    return (float)(ease__random_unit(r) < 0.5 ? -x : x);
}

static void parts_have_22_bits_or_39_of_the_largest(test *t)
{
    ease__random r;

    ease__random_seed(&r, 11, 0);
    for (int n = 0; n < 200000; n++) {
        int top = (int)(ease__random_unit(&r) * 200) - 100;
        float largest = draw(&r, top, 1), x = draw(&r, top - 1, 60);
        int e = split_exponent(bits_of(fabsf(largest)));
        parts p = split(x, e);
        double off = fabs(ldexp((double)x, e) - ((double)p.high + (double)p.low));
        double of_x = 0x1p-22 * fabs(ldexp((double)x, e));

        if (!isfinite(p.high) || off > fmax(of_x, 0x1p-25)) {
            printf("largest %a, x %a: %a + %a, off %a\n", (double)largest, (double)x,
                   (double)p.high, (double)p.low, off);
            check(t, false);
            return;
        }
    }
}

static void the_largest_is_scaled_next_to_the_limit(test *t)
{
    static const float largest[] = {1,          0x1.fffffep0f, 3e-5f,  0x1p-100f,
                                    0x1.8p100f, FLT_MIN,       FLT_MAX};

    for (size_t i = 0; i < sizeof(largest) / sizeof(largest[0]); i++) {
        float scaled = ldexpf(largest[i], split_exponent(bits_of(largest[i])));

        check(t, scaled >= 0x1p14f || largest[i] == FLT_MIN);
        check(t, half_of(scaled) < LARGEST_HALF);
    }
}

static void zeros_subnormals_and_no_numbers_have_a_scale(test *t)
{
    check_int(t, split_exponent(0), 0);
    check_int(t, split_exponent(bits_of(INFINITY)), 0);
    check_int(t, split_exponent(bits_of(NAN)), 0);
    check_int(t, split_exponent(1), 126); /* the smallest float: as far as floats go */
    check(t, isnan(split(NAN, 0).high));
}

/* ---- products -------------------------------------------------------------------- */

typedef struct sums {
    double exact, size; /* sum of a b, of |a b| */
    float split, plain; /* the twin, and float32 by itself */
} sums;

static float product_of_parts(const parts *a, const parts *b, int depth)
{
    float sum = 0;

    for (int i = 0; i < depth; i++)
        sum += a[i].high * b[i].low;
    for (int i = 0; i < depth; i++)
        sum += a[i].low * b[i].high;
    for (int i = 0; i < depth; i++)
        sum += a[i].high * b[i].high;
    return sum;
}

static sums multiply(const float *a, const float *b, int depth)
{
    static parts pa[DEEP_BLOCK], pb[DEEP_BLOCK];
    int ea = split_exponent(largest_of(a, depth));
    int eb = split_exponent(largest_of(b, depth));
    sums s = {0};

    for (int i = 0; i < depth; i++) {
        double product = (double)a[i] * (double)b[i];

        pa[i] = split(a[i], ea);
        pb[i] = split(b[i], eb);
        s.exact += product;
        s.size += fabs(product);
        s.plain += a[i] * b[i];
    }
    s.split = ldexpf(product_of_parts(pa, pb, depth), -ea - eb);
    return s;
}

/* Rounded sums of d terms are off by at most d 2^-24 of the sum of magnitudes, 3 d here;
 * the parts by 3 2^-22 of each product, or 2^-38 of the largest one. */
static void check_products(test *t, int depth, int range, bool positive)
{
    float a[DEEP_BLOCK], b[DEEP_BLOCK];
    ease__random r;
    sums s;

    ease__random_seed(&r, 12, (uint64_t)depth + (uint64_t)range);
    for (int n = 0; n < 50; n++) {
        float la = 0, lb = 0;

        for (int i = 0; i < depth; i++) {
            a[i] = draw(&r, 3, range);
            b[i] = draw(&r, -5, range);
            if (positive) {
                a[i] = fabsf(a[i]);
                b[i] = fabsf(b[i]);
            }
            la = fmaxf(la, fabsf(a[i]));
            lb = fmaxf(lb, fabsf(b[i]));
        }
        s = multiply(a, b, depth);
        check_near(t, (double)s.split, s.exact,
                   (3 * depth * 0x1p-24 + 3 * 0x1p-22) * s.size +
                       depth * 0x1p-38 * (double)la * (double)lb);
    }
}

static void products_are_as_exact_as_float32(test *t)
{
    static const int depths[] = {1, 16, 128, BLOCK, DEEP_BLOCK};

    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        check_products(t, depths[i], 1, false);
        check_products(t, depths[i], 1, true);
        check_products(t, depths[i], 30, false); /* parts become subnormal */
    }
}

static void sums_stay_far_from_overflow(test *t)
{
    float a[DEEP_BLOCK];
    sums s;

    for (int i = 0; i < DEEP_BLOCK; i++)
        a[i] = 0x1.fffffep0f;
    s = multiply(a, a, DEEP_BLOCK);
    check_near(t, (double)s.split, s.exact, 1e-4 * s.exact);
    /* Before it is scaled back: depth times the square of a half below 2^15. */
    check(t, DEEP_BLOCK * 0x1p30 < 0x1p43);
}

/* ---- the layout ------------------------------------------------------------------ */

static void block_columns_follow_each_other(test *t)
{
    static const int32_t sizes[] = {1,    64,    1000,  1024,  1025,
                                    5000, 41140, 91599, 300000};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        layout l = layout_of(sizes[i]);

        check(t, l.padded >= l.items && l.padded - l.items < PADDING);
        check_int(t, layout_at(l, 0, 0), 0);
        for (int32_t j = 1; j < l.blocks; j++) {
            size_t before = (size_t)layout_rows(l, j - 1) * (size_t)l.block;

            if (layout_at(l, j * l.block, j) !=
                layout_at(l, (j - 1) * l.block, j - 1) + before)
                check(t, false);
        }
        check_int(t, layout_rows(l, l.blocks - 1), layout_width(l, l.blocks - 1));
    }
}

static const test_case cases[] = {
    TEST(halves_are_the_nearest),
    TEST(parts_have_22_bits_or_39_of_the_largest),
    TEST(the_largest_is_scaled_next_to_the_limit),
    TEST(zeros_subnormals_and_no_numbers_have_a_scale),
    TEST(products_are_as_exact_as_float32),
    TEST(sums_stay_far_from_overflow),
    TEST(block_columns_follow_each_other),
};

TEST_MAIN(cases)
