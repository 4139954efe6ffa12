/* The inverse of a tiled matrix, its check, and the kernels below it. */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "compute/blas.h"
#include "core/random.h"
#include "data.h"
#include "kernels.h"
#include "oracle.h"
#include "test.h"

static const int32_t border_sizes[] = {1, 2, 15, 16, 17, 511, 512, 513, 1030};
enum { BORDER_SIZES = sizeof(border_sizes) / sizeof(border_sizes[0]) };

static double epsilon_of(ease__element e)
{
    return e == EASE__F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* A solve by the default backend that adds the same number to each diagonal entry. */
static ease_status solve(ease__tiled *a, double lambda, double *residual,
                         ease_error *err)
{
    double diagonal[256]; /* on the stack: some tests let allocations fail */

    for (int32_t i = 0; i < a->n; i++)
        diagonal[i] = lambda;
    return ease__solve(a, diagonal, ease__backends[0], 2, 0, NULL, residual, err);
}

/* ---- kernels: BLAS against the twins ------------------------------------------ */

static void fill_random(void *a, int32_t count, bool wide, ease__random *r)
{
    for (int32_t i = 0; i < count; i++) {
        double value = 2 * ease__random_unit(r) - 1;

        if (wide)
            ((double *)a)[i] = value;
        else
            ((float *)a)[i] = (float)value;
    }
}

/* Lower triangle only: what lies above differs by right. */
static void check_same(test *t, const void *got, const void *want, int32_t e, bool wide,
                       bool lower, double tolerance)
{
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = 0; j < (lower ? i + 1 : e); j++) {
            double a = wide ? ((const double *)got)[i * e + j]
                            : (double)((const float *)got)[i * e + j];
            double b = wide ? ((const double *)want)[i * e + j]
                            : (double)((const float *)want)[i * e + j];

            if (!check_near(t, a, b, tolerance))
                return;
        }
}

typedef struct kernel_test {
    test *t;
    int32_t e;
    bool wide;
    size_t bytes;
    double tolerance;
    void *a, *b, *w, *got, *want;
} kernel_test;

static void both_of_three(kernel_test *k,
                          void (*blas)(void *, const void *, const void *, int32_t),
                          void (*plain)(void *, const void *, const void *, int32_t))
{
    memcpy(k->got, k->w, k->bytes);
    memcpy(k->want, k->w, k->bytes);
    blas(k->got, k->a, k->b, k->e);
    plain(k->want, k->a, k->b, k->e);
    check_same(k->t, k->got, k->want, k->e, k->wide, false, k->tolerance);
}

static void both_of_two(kernel_test *k, void (*blas)(void *, const void *, int32_t),
                        void (*plain)(void *, const void *, int32_t), bool lower)
{
    memcpy(k->got, k->a, k->bytes);
    memcpy(k->want, k->a, k->bytes);
    blas(k->got, k->w, k->e);
    plain(k->want, k->w, k->e);
    check_same(k->t, k->got, k->want, k->e, k->wide, lower, k->tolerance);
}

static void compare_tables(test *t, const ease__tile_kernels *blas,
                           const ease__tile_kernels *plain, int32_t e, bool wide)
{
    kernel_test k = {.t = t, .e = e, .wide = wide};
    double largest, eps = epsilon_of(wide ? EASE__F64 : EASE__F32);
    ease__tiled definite = random_definite(e, e, wide ? EASE__F64 : EASE__F32, 5,
                                           &largest);
    ease__random r;

    k.bytes = (size_t)e * (size_t)e * (wide ? 8 : 4);
    k.a = malloc(5 * k.bytes);
    k.b = (char *)k.a + k.bytes;
    k.w = (char *)k.b + k.bytes;
    k.got = (char *)k.w + k.bytes;
    k.want = (char *)k.got + k.bytes;
    ease__random_seed(&r, 1, (uint64_t)e);
    fill_random(k.a, 3 * e * e, wide, &r);
    /* e products of at most 1 each, added in another order, twice. */
    k.tolerance = 2 * eps * e * e;
    both_of_two(&k, blas->panel, plain->panel, false);
    both_of_two(&k, blas->negate, plain->negate, false);
    both_of_two(&k, blas->finish_row, plain->finish_row, false);
    both_of_two(&k, blas->close_row, plain->close_row, false);
    both_of_two(&k, blas->trail_diagonal, plain->trail_diagonal, true);
    both_of_two(&k, blas->gather_diagonal, plain->gather_diagonal, true);
    both_of_three(&k, blas->trail, plain->trail);
    both_of_three(&k, blas->update, plain->update);
    both_of_three(&k, blas->gather, plain->gather);
    k.tolerance = eps * e * largest;
    memcpy(k.got, definite.data, k.bytes);
    memcpy(k.want, definite.data, k.bytes);
    check_int(t, blas->factor(k.got, e), 0);
    check_int(t, plain->factor(k.want, e), 0);
    check_same(t, k.got, k.want, e, wide, true, k.tolerance);
    blas->close_diagonal(k.got, e);
    plain->close_diagonal(k.want, e);
    check_same(t, k.got, k.want, e, wide, true, k.tolerance);
    free(k.a);
    ease__tiled_free(&definite);
}

static void blas_kernels_equal_their_plain_twins(test *t)
{
    const int32_t edges[] = {1, 16, 48, 112};

    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        compare_tables(t, &ease__blas_f32, &plain_f32, edges[i], false);
        compare_tables(t, &ease__blas_f64, &plain_f64, edges[i], true);
    }
}

static void factor_names_the_pivot_that_fails(test *t)
{
    const ease__tile_kernels *tables[] = {&ease__blas_f32, &plain_f32};

    for (int k = 0; k < 2; k++) {
        float a[16 * 16] = {0};

        for (int i = 0; i < 16; i++)
            a[17 * i] = i == 11 ? -1 : 1;
        check_int(t, tables[k]->factor(a, 16), 12);
    }
}

/* ---- the inverse -------------------------------------------------------------- */

/* |P - A^-1| for a backward stable inverse with errors that do not conspire: no
 * eigenvalue of A is below 1, so that its condition is at most `largest`. */
static void check_inverse(test *t, const ease__tiled *p, double *a, double largest)
{
    size_t n = (size_t)p->n;
    double tolerance = 4 * sqrt((double)n) * epsilon_of(p->element) * largest;

    oracle_invert(a, p->n);
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t j = 0; j <= i; j++)
            if (!check_near(t, ease__tiled_at(p, i, j), a[(size_t)i * n + (size_t)j],
                            tolerance))
                return;
}

static void invert_and_compare(test *t, const ease__tile_kernels *kernels, int32_t n,
                               int32_t edge, ease__element element)
{
    double largest;
    ease__tiled a = random_definite(n, edge, element, (uint64_t)n, &largest);
    double *dense = dense_matrix(&a);

    check_status(t, ease__invert_tiles(&a, kernels, 2, NULL, NULL), EASE_OK);
    check_inverse(t, &a, dense, largest);
    free(dense);
    ease__tiled_free(&a);
}

static void inverse_equals_the_oracle_around_tile_borders(test *t)
{
    for (int i = 0; i < BORDER_SIZES; i++) {
        int32_t n = border_sizes[i], edge = ease__tile_edge(n);

        invert_and_compare(t, &ease__blas_f32, n, edge, EASE__F32);
        if (n <= 513)
            invert_and_compare(t, &ease__blas_f64, n, edge, EASE__F64);
    }
}

static void inverse_equals_the_oracle_on_many_small_tiles(test *t)
{
    for (int32_t n = 90; n <= 113; n++) {
        invert_and_compare(t, &ease__blas_f32, n, 16, EASE__F32);
        invert_and_compare(t, &plain_f64, n, 16, EASE__F64);
    }
}

static void inverse_has_the_same_bits_at_any_number_of_threads(test *t)
{
    const int threads[] = {1, 2, 3, 5};
    double largest;
    ease__tiled first = random_definite(700, 96, EASE__F32, 3, &largest);

    check_status(t, ease__invert_tiles(&first, &ease__blas_f32, 4, NULL, NULL),
                 EASE_OK);
    for (size_t i = 0; i < 4; i++) {
        ease__tiled a = random_definite(700, 96, EASE__F32, 3, &largest);

        check_status(t, ease__invert_tiles(&a, &ease__blas_f32, threads[i], NULL, NULL),
                     EASE_OK);
        check(t, memcmp(a.data, first.data, a.bytes) == 0);
        ease__tiled_free(&a);
    }
    ease__tiled_free(&first);
}

/* OpenBLAS would thread itself, did the graph not see to it. */
static void one_thread_takes_one_processor(test *t)
{
    double largest, begin, wall, cpu;
    ease__tiled a = random_definite(1536, 512, EASE__F32, 3, &largest);
    clock_t ticks;

    omp_set_num_threads(4);
    usleep(300000); /* until the threads of other tests have ceased to spin */
    begin = ease__seconds();
    ticks = clock();
    check_status(t, ease__invert_tiles(&a, &ease__blas_f32, 1, NULL, NULL), EASE_OK);
    cpu = (double)(clock() - ticks) / CLOCKS_PER_SEC;
    wall = ease__seconds() - begin;
    check(t, cpu < 1.3 * wall);
    check_int(t, omp_get_max_threads(), 4); /* the caller's setting is untouched */
    ease__tiled_free(&a);
}

static void a_failed_pivot_names_its_item(test *t)
{
    const int32_t items[] = {0, 15, 16, 70, 99};

    for (size_t k = 0; k < 5; k++) {
        double largest;
        ease__tiled a = random_definite(100, 16, EASE__F32, 1, &largest);
        ease_error err = {0};

        set_entry(&a, items[k], items[k], -1);
        /* A second one, further on, must not win. */
        set_entry(&a, 99, 99, -1);
        check_status(t, ease__invert_tiles(&a, &ease__blas_f32, 3, NULL, &err),
                     EASE_E_NOT_POSDEF);
        check_int(t, err.where, items[k]);
        check_contains(t, err.text, "not positive definite");
        ease__tiled_free(&a);
    }
}

/* ---- products and the check --------------------------------------------------- */

static void check_product(test *t, ease__element element, int32_t n, int32_t edge)
{
    double largest, *dense, *x = malloc(3 * (size_t)n * sizeof(*x));
    double *y = x + n, *again = y + n;
    ease__tiled a = random_definite(n, edge, element, 9, &largest);
    ease__random r;

    ease__random_seed(&r, 2, 0);
    for (int32_t i = 0; i < n; i++)
        x[i] = ease__random_unit(&r);
    dense = dense_matrix(&a);
    ease__tiled_times(&a, x, y, 1);
    ease__tiled_times(&a, x, again, 3);
    check(t, memcmp(y, again, (size_t)n * sizeof(*y)) == 0);
    for (int32_t i = 0; i < n; i++) {
        double sum = 0;

        for (int32_t j = 0; j < n; j++)
            sum += dense[(size_t)i * (size_t)n + (size_t)j] * x[j];
        check_near(t, y[i], sum, n * DBL_EPSILON * largest);
    }
    free(dense);
    free(x);
    ease__tiled_free(&a);
}

static void products_equal_the_dense_ones(test *t)
{
    for (int32_t n = 1; n < 60; n += 7) {
        check_product(t, EASE__F32, n, 16);
        check_product(t, EASE__F64, n, 16);
    }
}

static void solve_adds_lambda_and_reports_a_small_residual(test *t)
{
    double largest, residual = 1;
    ease__tiled a = random_definite(100, 16, EASE__F32, 4, &largest);
    double *dense;

    for (int32_t i = 100; i < a.tiles * a.edge; i++)
        set_entry(&a, i, i, 0); /* as a Gram matrix comes */
    dense = dense_matrix(&a);
    for (size_t i = 0; i < 100; i++)
        dense[i * 101] += 0.5;
    check_status(t, solve(&a, 0.5, &residual, NULL), EASE_OK);
    check(t, residual > 0 && residual < 1e-5);
    check_inverse(t, &a, dense, largest);
    /* Both halves of the diagonal tiles are valid. */
    for (int32_t i = 0; i < 16; i++)
        for (int32_t j = 0; j < i; j++)
            check(t, ((float *)a.data)[i * 16 + j] == ((float *)a.data)[j * 16 + i]);
    free(dense);
    ease__tiled_free(&a);
}

static void nan_fails_the_check(test *t)
{
    double largest, residual = 0;
    ease__tiled a = random_definite(100, 16, EASE__F32, 4, &largest);

    set_entry(&a, 60, 3, NAN);
    check_status(t, solve(&a, 1, &residual, NULL), EASE_E_ACCURACY);
    check(t, isnan(residual));
    ease__tiled_free(&a);
}

/* Ones everywhere and a tiny lambda: as singular as float32 can tell. */
static void an_inaccurate_solution_is_refused(test *t)
{
    double residual;

    for (int wide = 0; wide < 2; wide++) {
        ease__tiled a;
        ease_error err = {0};
        ease_status status;

        check_status(t, ease__tiled_new(200, wide ? EASE__F64 : EASE__F32, &a, &err),
                     EASE_OK);
        for (int32_t i = 0; i < 200; i++)
            for (int32_t j = 0; j <= i; j++)
                set_entry(&a, i, j, 1000);
        ease__tiled_mirror_diagonal(&a, 2);
        status = solve(&a, 1e-3, &residual, &err);
        if (wide)
            check_status(t, status, EASE_OK);
        else if (check(t, status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF))
            check_contains(t, err.text, "use float64");
        ease__tiled_free(&a);
    }
}

static void solve_survives_every_failed_allocation(test *t)
{
    ease_status status;
    int n = 0;

    do {
        double largest, residual;
        ease__tiled a = random_definite(50, 16, EASE__F32, 4, &largest);

        alloc_fail_after(n++);
        status = solve(&a, 1, &residual, NULL);
        alloc_fail_after(-1);
        ease__tiled_free(&a);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 1);
}

/* OpenBLAS would try to map its buffers for ever. */
static void a_limit_on_addresses_is_an_error(test *t)
{
#ifdef SANITIZED
    test_skip(t, "a sanitizer takes addresses of its own");
#else
    double largest, residual;
    ease__tiled a = random_definite(50, 16, EASE__F32, 4, &largest);
    struct rlimit before, limit;
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    ease_status status;

    check(t, f && fscanf(f, "%lu", &pages) == 1);
    if (f)
        fclose(f);
    check_int(t, getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + 50000000;
    check_int(t, setrlimit(RLIMIT_AS, &limit), 0);
    status = solve(&a, 1, &residual, NULL);
    setrlimit(RLIMIT_AS, &before);
    check_status(t, status, EASE_E_NOMEM);
    ease__tiled_free(&a);
#endif
}

/* ---- hooks ------------------------------------------------------------------- */

typedef struct calls {
    int count, cancel_at;
    double last;
    bool falls;
} calls;

static int on_progress(void *user, const char *stage, double fraction)
{
    calls *c = user;

    c->falls |= strcmp(stage, "solving") != 0 || fraction < c->last || fraction > 1;
    c->last = fraction;
    return ++c->count == c->cancel_at;
}

/* The first report comes at once, the last at the end. */
static void progress_rises_and_can_cancel(test *t)
{
    for (int cancel_at = 0; cancel_at <= 2; cancel_at++) {
        double largest;
        calls c = {.cancel_at = cancel_at};
        ease_hooks hooks = {.progress = on_progress, .user = &c};
        ease__tiled a = random_definite(640, 32, EASE__F32, 4, &largest);
        ease_status status = ease__invert_tiles(&a, &plain_f32, 2, &hooks, NULL);

        check_status(t, status, cancel_at ? EASE_E_CANCELLED : EASE_OK);
        check_int(t, c.falls, false);
        if (cancel_at)
            check_int(t, c.count, cancel_at);
        else
            check_near(t, c.last, 1, 0);
        ease__tiled_free(&a);
    }
}

/* A chain: item i has to do with i - 1 and i + 1 alone, and the inverse falls by a
 * factor of 10,000 from item to item. */
static void what_is_nearly_zero_becomes_zero(test *t)
{
    float small = 1e-20f;
    volatile float product;
    ease__tiled a = {0};
    int exact = 0;

    check_status(t, ease__tiled_new(600, EASE__F32, &a, NULL), EASE_OK);
    for (int32_t i = 0; i < a.n; i++) {
        float *tile = ease__tile(&a, i / a.edge, i / a.edge);
        int32_t r = i % a.edge;

        tile[r * a.edge + r] = 1e4f;
        if (r > 0)
            tile[r * a.edge + r - 1] = 1;
    }
    for (int32_t i = a.n; i < a.tiles * a.edge; i++) {
        float *tile = ease__tile(&a, i / a.edge, i / a.edge);

        tile[(i % a.edge) * (a.edge + 1)] = 1;
    }
    check_status(t, ease__invert_tiles(&a, &ease__blas_f32, 2, NULL, NULL), EASE_OK);
    for (int32_t i = 0; i < a.n; i++)
        for (int32_t j = 0; j <= i; j++) {
            float value = (float)ease__tiled_at(&a, i, j);

            check(t, value == 0 || isnormal(value));
            exact += value == 0;
        }
    check(t, exact > 0);
    product = small * small; /* the caller's own arithmetic is as it was */
    check_int(t, fpclassify(product), FP_SUBNORMAL);
    ease__tiled_free(&a);
}

static void kernels_older_than_the_processor_are_known(test *t)
{
    ease_blas_info blas = {.size = sizeof(blas)};

    ease_blas_describe(&blas);
    check_text(t, ease__better_core("Prescott", true, true), "SkylakeX");
    check_text(t, ease__better_core("Nehalem", true, false), "Haswell");
    check_int(t, ease__better_core("Prescott", false, false) == NULL, true);
    check_int(t, ease__better_core("Haswell", true, true) == NULL, true);
    check_int(t, ease__better_core("Cooperlake", true, true) == NULL, true);
    check_contains(t, blas.name, "OpenBLAS");
    check(t, blas.core[0] != '\0');
    check(t, blas.better == NULL || blas.better[0] != '\0');
}

static void limits_are_measured_on_any_number_of_threads(test *t)
{
    for (int threads = 0; threads <= 3; threads++) {
        double narrow = 0, wide = 0, copied = 0;

        check_status(t, ease_measure_product(64, EASE_F32, threads, 0, &narrow, NULL),
                     EASE_OK);
        check_status(t, ease_measure_product(64, EASE_F64, threads, 0, &wide, NULL),
                     EASE_OK);
        check_status(t, ease_measure_copy(1001, threads, 1e-3, &copied, NULL), EASE_OK);
        check(t, narrow > 0 && wide > 0 && copied > 0);
    }
}

static void limits_of_nothing_are_refused(test *t)
{
    double rate = -1;

    check_status(t, ease_measure_product(0, EASE_F32, 1, 0, &rate, NULL), EASE_E_ARG);
    check_status(t, ease_measure_product(8, EASE_F32, 1, NAN, &rate, NULL), EASE_E_ARG);
    check_status(t, ease_measure_product(8, EASE_F32, -1, 0, &rate, NULL), EASE_E_ARG);
    check_status(t, ease_measure_product(8, EASE_F32, 1, 0, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_measure_copy(0, 1, 0, &rate, NULL), EASE_E_ARG);
    check_near(t, rate, -1, 0);
}

static void limits_survive_every_failed_allocation(test *t)
{
    ease_status status;
    double rate;
    int n = 0;

    do {
        alloc_fail_after(n++);
        status = ease_measure_product(16, EASE_F32, 1, 0, &rate, NULL);
        if (!status)
            status = ease_measure_copy(4096, 1, 0, &rate, NULL);
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 2);
}

static const test_case cases[] = {
    TEST(blas_kernels_equal_their_plain_twins),
    TEST(factor_names_the_pivot_that_fails),
    TEST(inverse_equals_the_oracle_around_tile_borders),
    TEST(inverse_equals_the_oracle_on_many_small_tiles),
    TEST(inverse_has_the_same_bits_at_any_number_of_threads),
    TEST(one_thread_takes_one_processor),
    TEST(a_failed_pivot_names_its_item),
    TEST(products_equal_the_dense_ones),
    TEST(solve_adds_lambda_and_reports_a_small_residual),
    TEST(nan_fails_the_check),
    TEST(an_inaccurate_solution_is_refused),
    TEST(solve_survives_every_failed_allocation),
    TEST(a_limit_on_addresses_is_an_error),
    TEST(progress_rises_and_can_cancel),
    TEST(what_is_nearly_zero_becomes_zero),
    TEST(kernels_older_than_the_processor_are_known),
    TEST(limits_are_measured_on_any_number_of_threads),
    TEST(limits_of_nothing_are_refused),
    TEST(limits_survive_every_failed_allocation),
};

TEST_MAIN(cases)
