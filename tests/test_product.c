/* Matrix products and Cholesky factors, by which latent models are scored: the same
 * bits with the kernels of every processor. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cholesky.h"
#include "core/random.h"
#include "oracle.h"
#include "test.h"

enum { KERNELS = 4 };

/* Those that this processor has; how many. */
static int all_kernels(const ease__kernels **out)
{
    const ease__kernels *all[KERNELS] = {&ease__kernels_plain, ease__kernels_avx2(),
                                         ease__kernels_avx512(), ease__kernels_neon()};
    int count = 0;

    for (int k = 0; k < KERNELS; k++)
        if (all[k])
            out[count++] = all[k];
    return count;
}

static void fill(ease__random *r, float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(ease__random_unit(r) - 0.5);
}

/* NaN as the only number that differs from itself: its bits say nothing. */
static bool same(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(a + i, b + i, sizeof(*a)) != 0 && (a[i] == a[i] || b[i] == b[i]))
            return false;
    return true;
}

/* ---- tiles -------------------------------------------------------------------- */

/* Any float there is. */
static float any_float(ease__random *r)
{
    uint32_t bits = (uint32_t)ease__random_next(r);
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* a b is half a unit in the last place of c, but for a share of 2^-46: rounded to a
 * double first, the sum would be a tie. */
static void draw_near_ties(ease__random *r, float *a, float *b, float *c)
{
    *a = 0x1p-12f * (1 + FLT_EPSILON);
    for (int j = 0; j < EASE__PANEL; j++) {
        b[j] = (j & 1 ? 0x1p-12f : -0x1p-12f) * (1 - FLT_EPSILON);
        c[j] = 1 + (float)ease__random_below(r, 1 << 23) * FLT_EPSILON;
    }
}

static void a_tile_rounds_each_product_with_its_sum(test *t)
{
    static _Alignas(64) float b[EASE__PANEL];
    static float a[EASE__TILE_ROWS], first[EASE__PANEL], c[EASE__PANEL];
    const ease__kernels *kernels[KERNELS];
    int count = all_kernels(kernels);
    ease__random r;

    ease__random_seed(&r, 21, 0);
    for (int round = 0; round < 20000; round++) {
        float want[EASE__PANEL];

        a[0] = any_float(&r);
        for (int j = 0; j < EASE__PANEL; j++) {
            b[j] = any_float(&r);
            first[j] = any_float(&r);
        }
        if (round % 2)
            draw_near_ties(&r, a, b, first);
        for (int j = 0; j < EASE__PANEL; j++)
            want[j] = fmaf(a[0], b[j], first[j]);
        for (int k = 0; k < count; k++) {
            memcpy(c, first, sizeof(c));
            kernels[k]->tile(a, b, 1, 1, c, EASE__PANEL);
            if (!check(t, same(c, want, EASE__PANEL)))
                printf("  kernels: %s\n", kernels[k]->name);
        }
    }
}

static void tiles_leave_other_rows_alone(test *t)
{
    enum { DEPTH = 19, LD = EASE__PANEL + 3 };
    static _Alignas(64) float b[DEPTH * EASE__PANEL];
    static float a[DEPTH * EASE__TILE_ROWS], first[EASE__TILE_ROWS * LD],
        c[EASE__TILE_ROWS * LD];
    const ease__kernels *kernels[KERNELS];
    int count = all_kernels(kernels);
    ease__random r;

    ease__random_seed(&r, 22, 0);
    fill(&r, a, DEPTH * EASE__TILE_ROWS);
    fill(&r, b, DEPTH * EASE__PANEL);
    fill(&r, first, EASE__TILE_ROWS * LD);
    for (int k = 0; k < count; k++)
        for (int rows = 1; rows <= EASE__TILE_ROWS; rows++) {
            memcpy(c, first, sizeof(c));
            kernels[k]->tile(a, b, DEPTH, rows, c, LD);
            for (int i = 0; i < EASE__TILE_ROWS; i++)
                for (int j = 0; j < LD; j++) {
                    float want = first[i * LD + j];

                    for (int d = 0; i < rows && j < EASE__PANEL && d < DEPTH; d++)
                        want = fmaf(a[d * EASE__TILE_ROWS + i], b[d * EASE__PANEL + j],
                                    want);
                    check(t, c[i * LD + j] == want);
                }
        }
}

/* ---- products ----------------------------------------------------------------- */

typedef struct product {
    int32_t rows, depth, columns;
    float *a, *b, *c;         /* row-major */
    float *a_across, *b_down; /* transposed */
    float *want;              /* c + a b */
    float *packed, *got;      /* got: rows of whole panels */
} product;

static float *transposed(const float *a, int32_t rows, int32_t columns)
{
    float *out = calloc((size_t)rows * (size_t)columns, sizeof(*out));

    for (int32_t i = 0; i < rows; i++)
        for (int32_t j = 0; j < columns; j++)
            out[j * rows + i] = a[i * columns + j];
    return out;
}

static product new_product(ease__random *r, int32_t rows, int32_t depth,
                           int32_t columns)
{
    size_t m = (size_t)rows, k = (size_t)depth, n = (size_t)columns;
    product p = {rows, depth, columns, .a = calloc(m * k, sizeof(float))};

    p.b = calloc(k * n, sizeof(float));
    p.c = calloc(m * n, sizeof(float));
    p.want = calloc(m * n, sizeof(float));
    p.packed = calloc(ease__packed_count(rows, depth), sizeof(float));
    p.got = calloc(m * ease__padded(columns), sizeof(float));
    fill(r, p.a, m * k);
    fill(r, p.b, k * n);
    fill(r, p.c, m * n);
    p.a_across = transposed(p.a, rows, depth);
    p.b_down = transposed(p.b, depth, columns);
    memcpy(p.want, p.c, m * n * sizeof(float));
    oracle_product(p.a, p.b, rows, depth, columns, p.want);
    return p;
}

static void free_product(product *p)
{
    float *all[] = {p->a,      p->b,    p->c,      p->a_across,
                    p->b_down, p->want, p->packed, p->got};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

/* `upper`: only what is on and above the diagonal. */
static void check_product(test *t, const ease__kernels *kernels, product *p,
                          bool a_across, bool b_down, bool upper)
{
    size_t n = (size_t)p->columns, ld = ease__padded(p->columns);
    ease__operand a = {p->a, (size_t)p->depth, false};
    ease__operand b = {p->b, n, false};

    if (a_across)
        a = (ease__operand){p->a_across, (size_t)p->rows, true};
    if (b_down)
        b = (ease__operand){p->b_down, (size_t)p->depth, true};
    for (size_t i = 0; i < (size_t)p->rows; i++)
        memcpy(p->got + i * ld, p->c + i * n, n * sizeof(float));
    ease__pack(a, p->rows, p->depth, NULL, p->packed);
    if (upper)
        ease__product_upper(kernels, p->packed, p->rows, p->depth, b, p->got, ld);
    else
        ease__product(kernels, p->packed, p->rows, p->depth, b, p->columns, p->got, ld);
    for (size_t i = 0; i < (size_t)p->rows; i++) {
        size_t from = upper ? i : 0;

        check(t, same(p->got + i * ld + from, p->want + i * n + from, n - from));
    }
}

static void products_are_sums_in_the_order_of_their_depth(test *t)
{
    static const int32_t rows[] = {1, 5, 6, 7, 64}, depths[] = {1, 15, 32, 129, 300};
    static const int32_t columns[] = {1, 31, 32, 33, 80};
    const ease__kernels *kernels[KERNELS];
    int count = all_kernels(kernels);
    ease__random r;

    ease__random_seed(&r, 23, 0);
    for (int shape = 0; shape < 125; shape++) {
        product p = new_product(&r, rows[shape % 5], depths[shape / 5 % 5],
                                columns[shape / 25]);

        for (int form = 0; form < 4 * count; form++)
            check_product(t, kernels[form / 4], &p, form & 1, form & 2, false);
        free_product(&p);
    }
}

static void the_upper_half_of_a_product_is_right(test *t)
{
    const ease__kernels *kernels[KERNELS];
    int count = all_kernels(kernels);
    ease__random r;

    ease__random_seed(&r, 24, 0);
    for (int32_t n = 1; n < 100; n += 7) {
        product p = new_product(&r, n, 40, n);

        for (int k = 0; k < count; k++)
            check_product(t, kernels[k], &p, true, false, true);
        free_product(&p);
    }
}

static void packing_scales_the_depth(test *t)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, scale[] = {10, 1, -1};
    float packed[3 * EASE__TILE_ROWS] = {0};

    ease__pack((ease__operand){a, 3, false}, 2, 3, scale, packed);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            check(t, packed[k * EASE__TILE_ROWS + i] == a[i * 3 + k] * scale[k]);
}

/* ---- equations ---------------------------------------------------------------- */

/* V'V + I for random V: float64 and the upper half in float32, with NaN below it. */
static void make_definite(ease__random *r, int32_t n, double *exact, float *a)
{
    size_t size = (size_t)n, ld = ease__padded(n);
    double *v = calloc(size * size, sizeof(*v));

    for (size_t i = 0; i < size * size; i++)
        v[i] = ease__random_unit(r) - 0.5;
    oracle_gram(v, n, n, exact);
    for (size_t i = 0; i < size; i++) {
        exact[i * (size + 1)] += 1;
        for (size_t j = 0; j < size; j++) {
            a[i * ld + j] = j < i ? NAN : (float)exact[i * size + j];
            exact[i * size + j] = (double)(float)exact[i * size + j];
        }
    }
    free(v);
}

static void equations_are_solved_with_the_same_bits(test *t)
{
    static const int32_t sizes[] = {1, 2, 31, 32, 33, 64, 70, 200};
    const ease__kernels *kernels[KERNELS];
    int count = all_kernels(kernels);
    ease__random r;

    ease__random_seed(&r, 25, 0);
    for (int s = 0; s < 8; s++) {
        int32_t n = sizes[s];
        size_t size = (size_t)n, ld = ease__padded(n);
        double *exact = calloc(size * size, sizeof(*exact));
        float *a = calloc(size * ld, sizeof(*a)), *u = calloc(size * ld, sizeof(*u));
        float *scratch = calloc(ease__cholesky_scratch(n), sizeof(*scratch));
        float *b = calloc(size, sizeof(*b)), *x = calloc(size * KERNELS, sizeof(*x));

        make_definite(&r, n, exact, a);
        fill(&r, b, size);
        for (int k = 0; k < count; k++) {
            float *got = x + (size_t)k * size;

            memcpy(u, a, size * ld * sizeof(*u));
            memcpy(got, b, size * sizeof(*b));
            check(t, ease__cholesky(kernels[k], u, n, scratch));
            ease__cholesky_solve(kernels[k], u, n, got);
            check(t, same(got, x, size));
        }
        /* The condition is at most 1 + n / 4, the largest that V'V can be. */
        for (size_t i = 0; i < size; i++) {
            double sum = 0;

            for (size_t j = 0; j < size; j++)
                sum += exact[i * size + j] * (double)x[j];
            check_near(t, sum, (double)b[i],
                       8 * n * (1 + n / 4.0) * (double)FLT_EPSILON);
        }
        free(exact);
        free(a);
        free(u);
        free(scratch);
        free(b);
        free(x);
    }
}

static void what_is_not_definite_is_refused(test *t)
{
    enum { N = 40 };
    size_t ld = ease__padded(N);
    float *a = calloc(N * ld, sizeof(*a));
    float *scratch = calloc(ease__cholesky_scratch(N), sizeof(*scratch));
    const float bad[] = {0, -1, NAN};

    for (int at = 5; at < N; at += 30)
        for (int k = 0; k < 3; k++) {
            memset(a, 0, N * ld * sizeof(*a));
            for (size_t i = 0; i < N; i++)
                a[i * (ld + 1)] = i == (size_t)at ? bad[k] : 1;
            check(t, !ease__cholesky(ease__kernels_best(), a, N, scratch));
        }
    free(a);
    free(scratch);
}

static void kernels_can_be_forced(test *t)
{
    const ease__kernels *before = ease__kernels_best();

    check(t, ease__kernels_force("plain"));
    check_text(t, ease__kernels_best()->name, "plain");
    check(t, !ease__kernels_force("abacus"));
    check(t, ease__kernels_force(NULL));
    check(t, ease__kernels_best() == ease__kernels_avx512() || !ease__kernels_avx512());
    check(t, ease__kernels_force(before->name));
    check(t, ease__kernels_best() == before);
}

static const test_case cases[] = {
    TEST(a_tile_rounds_each_product_with_its_sum),
    TEST(tiles_leave_other_rows_alone),
    TEST(products_are_sums_in_the_order_of_their_depth),
    TEST(the_upper_half_of_a_product_is_right),
    TEST(packing_scales_the_depth),
    TEST(equations_are_solved_with_the_same_bits),
    TEST(what_is_not_definite_is_refused),
    TEST(kernels_can_be_forced),
};

TEST_MAIN(cases)
