/* Values of any size that a float can have, against float64. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "test.h"

enum { USERS = 60, ITEMS = 12, WARNING_BYTES = 500 };

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* Quarters from 0 to 5, half of them 0, times a scale for even items and one for
 * odd. */
static double *scaled_data(double even, double odd)
{
    double *x = calloc((size_t)USERS * ITEMS, sizeof(*x));
    ease__random r;

    ease__random_seed(&r, 5, 0);
    for (int64_t u = 0; u < USERS; u++)
        for (int32_t i = 0; i < ITEMS; i++)
            x[u * ITEMS + i] =
                ease__random_below(&r, 2) == 0
                    ? 0
                    : (double)(float)(0.25 * (double)(1 + ease__random_below(&r, 20)) *
                                      (i % 2 ? odd : even));
    return x;
}

static ease_interactions *interactions_of(const double *dense, int64_t users,
                                          int32_t items)
{
    size_t all = (size_t)users * (size_t)items;
    int64_t *starts = calloc((size_t)users + 1, sizeof(*starts));
    int32_t *columns = malloc(all * sizeof(*columns));
    float *values = malloc(all * sizeof(*values));
    ease_interactions *x = NULL;
    int64_t at = 0;

    for (int64_t u = 0; u < users; u++) {
        for (int32_t i = 0; i < items; i++)
            if (dense[u * items + i] != 0) {
                columns[at] = i;
                values[at++] = (float)dense[u * items + i];
            }
        starts[u + 1] = at;
    }
    if (ease_interactions_from_csr(users, items, starts, columns, values, &x, NULL))
        abort();
    free(starts);
    free(columns);
    free(values);
    return x;
}

static ease_train_options options(double lambda, ease_gram_kind kind)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.lambda = lambda;
    o.kind = kind;
    o.threads = 2;
    return o;
}

/* Weights compare in units of sqrt(A_jj / A_ii), A being what is solved: so scaled, A
 * has ones on its diagonal and norm at most n, and its inverse at most its trace. */
static double *sizes_of(const dense_model *d, ease_gram_kind kind, double lambda,
                        double *tolerance)
{
    double *size = malloc(ITEMS * sizeof(*size)), trace = 0;

    for (int32_t i = 0; i < ITEMS; i++) {
        double entry = d->diagonal[i];

        if (kind != EASE_GRAM_COUNTS)
            entry -= d->sums[i] * d->sums[i] / USERS;
        size[i] = kind == EASE_GRAM_CORRELATION ? sqrt(entry * (1 + lambda))
                                                : sqrt(entry + lambda);
        trace += d->inverse[i * ITEMS + i] *
                 (kind == EASE_GRAM_CORRELATION ? 1 + lambda : size[i] * size[i]);
    }
    *tolerance = 8 * ITEMS * (double)FLT_EPSILON * ITEMS * trace;
    return size;
}

static bool check_weights(test *t, const ease_model *m, const dense_model *want,
                          ease_gram_kind kind, double lambda, double extra)
{
    double tolerance, *size = sizes_of(want, kind, lambda, &tolerance);
    float row[ITEMS];
    bool good = true;

    check(t, tolerance < 0.03); /* weights are some 0.1 in these units */
    for (int32_t i = 0; i < ITEMS; i++) {
        check_status(t, ease_model_row(m, i, row, NULL), EASE_OK);
        for (int32_t j = 0; j < ITEMS && good; j++) {
            double w = want->weights[i * ITEMS + j], unit = size[j] / size[i];

            if (fabs(w) < (double)FLT_MIN)
                good = check(t, fabs(row[j]) <= FLT_MIN);
            else
                good = check_near(t, (double)row[j] / unit, w / unit,
                                  tolerance + extra + (double)FLT_MIN / unit);
        }
    }
    free(size);
    return good;
}

typedef struct extreme {
    double even, odd, lambda;
    ease_gram_kind kind;
} extreme;

static const extreme extremes[] = {
    /* lambda nothing beside the data */
    {1e19, 1e19, 1, EASE_GRAM_COUNTS},
    {1e30, 1e30, 1, EASE_GRAM_COUNTS},
    {5e37, 5e37, 1, EASE_GRAM_COUNTS},
    {1e19, 1e19, 1, EASE_GRAM_COVARIANCE},
    {1e30, 1e30, 1, EASE_GRAM_COVARIANCE},
    /* lambda as large as the data */
    {1e9, 1e9, 1e19, EASE_GRAM_COUNTS},
    {1e15, 1e15, 1e31, EASE_GRAM_COUNTS},
    {1e19, 1e19, 1e39, EASE_GRAM_COUNTS},
    {1e30, 1e30, 1e61, EASE_GRAM_COUNTS},
    {1e30, 1e30, 1e61, EASE_GRAM_COVARIANCE},
    {1e-9, 1e-9, 1e-17, EASE_GRAM_COUNTS},
    {1e-19, 1e-19, 1e-37, EASE_GRAM_COUNTS},
    {1e-30, 1e-30, 1e-59, EASE_GRAM_COUNTS},
    {1e-30, 1e-30, 1e-59, EASE_GRAM_COVARIANCE},
    /* correlation does not depend on the scale of an item */
    {1e-10, 1e-10, 1, EASE_GRAM_CORRELATION},
    {1e-25, 1e-25, 1, EASE_GRAM_CORRELATION},
    {1e-30, 1e-30, 1, EASE_GRAM_CORRELATION},
    {1e19, 1e19, 1, EASE_GRAM_CORRELATION},
    {1e30, 1e30, 1, EASE_GRAM_CORRELATION},
    {1e-15, 1e15, 1, EASE_GRAM_CORRELATION},
    /* items of different scales */
    {1e-9, 1e9, 1, EASE_GRAM_COUNTS},
    {1e-15, 1e15, 1, EASE_GRAM_COUNTS},
    {1, 1e30, 1, EASE_GRAM_COUNTS},
    {1e-15, 1e15, 1e-29, EASE_GRAM_COUNTS},
    {1, 1e30, 1, EASE_GRAM_COVARIANCE},
    {1, 1, 1, EASE_GRAM_COUNTS},
};

static void name_case(const extreme *e)
{
    printf("  even %g, odd %g, lambda %g, kind %d\n", e->even, e->odd, e->lambda,
           (int)e->kind);
}

static ease_status by_training(const ease_interactions *x, const ease_train_options *o,
                               ease_model **out, ease_error *err)
{
    return ease_train(x, o, out, err);
}

static ease_status in_float64(const ease_interactions *x, const ease_train_options *o,
                              ease_model **out, ease_error *err)
{
    ease_train_options wide = *o;

    wide.precision = EASE_F64;
    return ease_train(x, &wide, out, err);
}

static ease_status by_a_gram_file(const ease_interactions *x,
                                  const ease_train_options *o, ease_model **out,
                                  ease_error *err)
{
    const char *path = test_path("g.gram");
    ease_gram_options build;
    ease_gram *g = NULL;
    ease_status status;

    ease_gram_options_init(&build);
    build.precision = o->precision;
    build.threads = o->threads;
    build.memory_limit = o->memory_limit;
    status = ease_gram_build(x, &build, &g, err);
    if (!status)
        status = ease_gram_save(g, path, NULL, err);
    ease_gram_free(g);
    return status ? status : ease_train_gram_file(path, o, out, err);
}

static ease_status by_tuning(const ease_interactions *x, const ease_train_options *o,
                             ease_model **out, ease_error *err)
{
    ease_tune_options tune;
    ease_tuning *tuning = NULL;
    ease_status status;

    ease_tune_options_init(&tune);
    tune.train = o;
    tune.lambdas = &o->lambda;
    tune.count = 1;
    status = ease_tune(x, x, x, &tune, &tuning, err);
    if (!status)
        status = ease_tuning_train(tuning, NULL, out, err);
    ease_tuning_free(tuning);
    return status;
}

typedef ease_status way(const ease_interactions *x, const ease_train_options *o,
                        ease_model **out, ease_error *err);

static void check_extreme(test *t, const extreme *e, way *train)
{
    double *dense = scaled_data(e->even, e->odd);
    ease_interactions *x = interactions_of(dense, USERS, ITEMS);
    dense_model want = dense_train(dense, USERS, ITEMS, e->kind, e->lambda, false);
    ease_train_options o = options(e->lambda, e->kind);
    ease_model *m = NULL;
    ease_error err = {0};

    if (!check_status(t, train(x, &o, &m, &err), EASE_OK))
        printf("  %s\n", err.text);
    if (!m || !check_weights(t, m, &want, e->kind, e->lambda, 0))
        name_case(e);
    ease_model_free(m);
    dense_free(&want);
    ease_interactions_free(x);
    free(dense);
}

static void weights_of_any_scale_equal_float64(test *t)
{
    static way *const ways[] = {by_training, in_float64, by_a_gram_file};

    for (int w = 0; w < COUNT(ways); w++)
        for (int i = 0; i < COUNT(extremes); i++)
            check_extreme(t, &extremes[i], ways[w]);
}

/* Scores must be finite there. */
static void tuning_takes_any_scale(test *t)
{
    for (int i = 0; i < COUNT(extremes); i++)
        if (extremes[i].even == extremes[i].odd && extremes[i].odd < 1e36)
            check_extreme(t, &extremes[i], by_tuning);
}

static void every_storage_holds_weights_of_any_scale(test *t)
{
    static const ease_storage storages[] = {EASE_STORE_F32, EASE_STORE_F16,
                                            EASE_STORE_PACKED};

    for (int i = 0; i < COUNT(extremes); i++) {
        const extreme *e = &extremes[i];
        double *dense = scaled_data(e->even, e->odd);
        ease_interactions *x = interactions_of(dense, USERS, ITEMS);
        dense_model want = dense_train(dense, USERS, ITEMS, e->kind, e->lambda, false);
        ease_train_options o = options(e->lambda, e->kind);
        ease_model *m = NULL;

        check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
        for (int s = 0; m && s < COUNT(storages); s++) {
            ease_model *back;
            bool half = storages[s] == EASE_STORE_F16;

            if (half && e->even != e->odd)
                continue; /* halves have one power of two in common */
            back = reopened(t, m, storages[s]);
            if (!check_weights(t, back, &want, e->kind, e->lambda, half ? 1e-3 : 0))
                name_case(e);
            ease_model_free(back);
        }
        ease_model_free(m);
        dense_free(&want);
        ease_interactions_free(x);
        free(dense);
    }
}

static void keep_warning(void *text, int level, const char *message)
{
    if (level == 1)
        snprintf(text, WARNING_BYTES, "%s", message);
}

/* Of sizes 10^16 apart, only weights from small items to large ones are kept; of sizes
 * 10^8 apart, those from large items to small ones are lost. */
static void weights_lost_in_halves_are_told(test *t)
{
    static const struct {
        double even, odd;
        const char *text;
    } sizes[] = {
        {1e-8, 1e8, "73 % of the weights become 0 in float16: storage f32 keeps them"},
        {1e-4, 1e4, "27 % of the weights become 0 in float16: storage f32 keeps them"},
        {1e-2, 1e2, ""},
        {1, 1, ""}};
    static const ease_storage storages[] = {EASE_STORE_F16, EASE_STORE_F32,
                                            EASE_STORE_PACKED};

    for (int i = 0; i < COUNT(sizes); i++) {
        double *dense = scaled_data(sizes[i].even, sizes[i].odd);
        ease_interactions *x = interactions_of(dense, USERS, ITEMS);
        ease_train_options o = options(1e-16, EASE_GRAM_COUNTS);
        ease_model *m = NULL;

        check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
        for (int s = 0; m && s < COUNT(storages); s++) {
            char text[WARNING_BYTES] = "";
            ease_hooks hooks = {.log = keep_warning, .user = text};

            check_status(
                t,
                ease_model_save(m, test_path("halves.ease"), storages[s], &hooks, NULL),
                EASE_OK);
            if (sizes[i].text[0] && storages[s] == EASE_STORE_F16)
                check_contains(t, text, sizes[i].text);
            else
                check_text(t, text, "");
        }
        ease_model_free(m);
        ease_interactions_free(x);
        free(dense);
    }
}

static void similarity_does_not_depend_on_scale(test *t)
{
    static const double scales[] = {1, 1e-20, 1e20};
    ease_rec first[5], recs[5];

    for (int i = 0; i < COUNT(scales); i++) {
        double s = scales[i], *dense = scaled_data(s, s);
        ease_interactions *x = interactions_of(dense, USERS, ITEMS);
        ease_train_options o = options(10 * s * s, EASE_GRAM_COUNTS);
        ease_recommend_options r;
        ease_model *m = NULL;
        ease_scorer *scorer = NULL;
        int32_t count = 0;

        ease_recommend_options_init(&r);
        r.k = 5;
        check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
        check_status(t, ease_scorer_new(m, &scorer, NULL), EASE_OK);
        check_status(t, ease_similar(scorer, 3, &r, recs, &count, NULL), EASE_OK);
        check_int(t, count, 5);
        for (int k = 0; i > 0 && k < 5; k++) {
            check_int(t, recs[k].item, first[k].item);
            check_near(t, (double)recs[k].score, (double)first[k].score, 1e-4);
        }
        if (i == 0)
            memcpy(first, recs, sizeof(first));
        ease_scorer_free(scorer);
        ease_model_free(m);
        ease_interactions_free(x);
        free(dense);
    }
}

/* Many tiles, so that bands are smaller than the matrix. */
static void a_work_file_gives_the_same_bits_at_any_scale(test *t)
{
    enum { WIDE = 2600, FEW = 40 };
    double *dense = calloc((size_t)FEW * WIDE, sizeof(*dense));
    float *a = malloc(WIDE * sizeof(*a)), *b = malloc(WIDE * sizeof(*b));
    ease_interactions *x;
    ease_train_options o = options(1e36, EASE_GRAM_COUNTS);
    ease_model *inside = NULL, *outside = NULL;
    ease_plan plan = {.size = sizeof(plan)};
    ease__random r;
    ease_error err = {0};

    ease__random_seed(&r, 9, 0);
    for (size_t k = 0; k < (size_t)FEW * WIDE; k++)
        if (ease__random_below(&r, 10) == 0)
            dense[k] = k % 3 ? 1e15 : 1e18;
    x = interactions_of(dense, FEW, WIDE);
    check_status(t, ease_train(x, &o, &inside, &err), EASE_OK);
    o.workdir = test_path("");
    check_status(t, ease_plan_data(x, &o, EASE_STORE_PACKED, &plan, &err), EASE_OK);
    o.memory_limit = (plan.least_bytes + plan.peak_bytes) / 2;
    check_status(t, ease_plan_data(x, &o, EASE_STORE_PACKED, &plan, &err), EASE_OK);
    check(t, plan.traffic_bytes > 0);
    if (check_status(t, ease_train(x, &o, &outside, &err), EASE_OK))
        for (int32_t i = 0; i < WIDE; i++) {
            check_status(t, ease_model_row(inside, i, a, NULL), EASE_OK);
            check_status(t, ease_model_row(outside, i, b, NULL), EASE_OK);
            if (!check(t, memcmp(a, b, WIDE * sizeof(*a)) == 0))
                break;
        }
    else
        printf("  %s\n", err.text);
    ease_model_free(inside);
    ease_model_free(outside);
    ease_interactions_free(x);
    free(dense);
    free(a);
    free(b);
}

static void what_no_float_can_hold_is_refused(test *t)
{
    static const struct {
        extreme of;
        const char *text;
    } cases[] = {
        {{1e-25, 1e-25, 1, EASE_GRAM_COUNTS}, "every weight would be 0: lower lambda"},
        {{1e-25, 1e-25, 1, EASE_GRAM_COVARIANCE}, "every weight would be 0"},
        {{1, 1, 1e300, EASE_GRAM_CORRELATION}, "every weight would be 0"},
        {{1e-30, 1e30, 1, EASE_GRAM_CORRELATION}, "sizes too far apart"},
    };

    for (int i = 0; i < COUNT(cases); i++) {
        const extreme *e = &cases[i].of;
        double *dense = scaled_data(e->even, e->odd);
        ease_interactions *x = interactions_of(dense, USERS, ITEMS);
        ease_train_options o = options(e->lambda, e->kind);
        ease_model *m = NULL;
        ease_error err = {0};

        check_status(t, ease_train(x, &o, &m, &err), EASE_E_ACCURACY);
        check_contains(t, err.text, cases[i].text);
        check_status(t, by_a_gram_file(x, &o, &m, &err), EASE_E_ACCURACY);
        check_contains(t, err.text, cases[i].text);
        ease_interactions_free(x);
        free(dense);
    }
}

/* The base of item 1 contains the mean of item 0 times its weight: 1e30 times 1e9. */
static void a_base_that_no_float_can_hold_is_refused(test *t)
{
    double dense[8][2];
    ease_interactions *x;
    ease_train_options o = options(1e40, EASE_GRAM_COVARIANCE);
    ease_model *m = NULL;
    ease_error err = {0};

    for (int u = 0; u < 8; u++) {
        dense[u][0] = u % 4 >= 2 ? 1.1e30 : 1e30;
        dense[u][1] = u % 4 >= 1 ? 3e38 : 1e37;
    }
    x = interactions_of(dense[0], 8, 2);
    check_status(t, ease_train(x, &o, &m, &err), EASE_E_ACCURACY);
    check_contains(t, err.text, "is too large for float32");
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(weights_of_any_scale_equal_float64),
    TEST(tuning_takes_any_scale),
    TEST(every_storage_holds_weights_of_any_scale),
    TEST(weights_lost_in_halves_are_told),
    TEST(similarity_does_not_depend_on_scale),
    TEST(a_work_file_gives_the_same_bits_at_any_scale),
    TEST(what_no_float_can_hold_is_refused),
    TEST(a_base_that_no_float_can_hold_is_refused),
};

TEST_MAIN(cases)
