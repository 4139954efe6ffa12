/* Training with tags, against loops over dense matrices. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data.h"
#include "models.h"
#include "test.h"

/* X (users x items), and tags of its items and of some more, which follow them. */
typedef struct tagged {
    ease_interactions *x;
    ease_tags *tags;
    int32_t known, items, kinds;
    double *weights; /* T: kinds x items */
} tagged;

enum { TAGS = 7 };

static void tagged_free(tagged *d)
{
    free_interactions(d->x);
    ease_tags_free(d->tags);
    free(d->weights);
}

/* Every third item has no tags; `more` items have nothing but tags. */
static tagged make_tagged(int32_t known, int32_t more, bool weighted, uint64_t seed)
{
    int64_t users = 40;
    tagged d = {.x = random_interactions(users, known, 0.2, weighted, seed),
                .known = known,
                .items = known + more};
    size_t most = (size_t)d.items * TAGS, rows = 0;
    int64_t *items = calloc(most, sizeof(*items)), *tags = calloc(most, sizeof(*tags));
    double *weights = calloc(most, sizeof(*weights));
    ease_id_column item = {.numbers = items}, tag = {.numbers = tags};
    ease__random r;

    if (ease__ids_number(&d.x->item_ids, 0, known, NULL) ||
        ease__ids_number(&d.x->user_ids, 0, users, NULL))
        abort();
    d.weights = calloc(most, sizeof(*d.weights));
    ease__random_seed(&r, seed, 5);
    /* Items behind the known ones are numbered in the order of the rows. */
    for (int32_t i = 0; i < d.items; i++)
        for (int32_t k = 0; k < TAGS; k++) {
            double w = weighted ? 0.25 * (double)(1 + ease__random_below(&r, 9)) : 1;

            if (i < known ? i % 3 == 0 || ease__random_below(&r, 3) : k != i % TAGS)
                continue;
            items[rows] = i;
            tags[rows] = k;
            weights[rows++] = w;
            d.weights[(size_t)k * (size_t)d.items + (size_t)i] = w;
        }
    if (ease_tags_from_table((int64_t)rows, &item, &tag, weighted ? weights : NULL,
                             "kind", &d.tags, NULL))
        abort();
    free(items);
    free(tags);
    free(weights);
    return d;
}

/* X with a column of zeros for each item that only has tags. */
static double *wide_data(const tagged *d)
{
    double *x = dense_interactions(d->x);
    double *wide = calloc((size_t)d->x->users * (size_t)d->items, sizeof(*wide));

    for (int64_t u = 0; u < d->x->users; u++)
        for (int32_t i = 0; i < d->known; i++)
            wide[u * d->items + i] = x[u * d->known + i];
    free(x);
    return wide;
}

/* EASE on G = C + a^2 T'T by the formulas, where C is the matrix of the kind counts or
 * covariance. */
static double *twin_weights(const tagged *d, double a, double lambda,
                            ease_gram_kind kind)
{
    size_t n = (size_t)d->items;
    double *x = wide_data(d), *p = calloc(n * n, sizeof(*p));
    double *mean = calloc(n, sizeof(*mean)), *w = calloc(n * n, sizeof(*w));
    double users = (double)d->x->users;

    for (int64_t u = 0; u < d->x->users; u++)
        for (size_t i = 0; i < n; i++)
            mean[i] += x[(size_t)u * n + i] / users;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double *at = &p[i * n + j];

            for (int64_t u = 0; u < d->x->users; u++)
                *at += x[(size_t)u * n + i] * x[(size_t)u * n + j];
            if (kind != EASE_GRAM_COUNTS)
                *at -= users * mean[i] * mean[j];
            for (size_t k = 0; k < TAGS; k++)
                *at += a * a * d->weights[k * n + i] * d->weights[k * n + j];
            if (i == j)
                *at += lambda;
        }
    dense_invert(p, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            w[i * n + j] = i == j ? 0 : -p[i * n + j] / p[j * n + j];
    free(x);
    free(p);
    free(mean);
    return w;
}

static ease_train_options options_of(const tagged *d, double a)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.lambda = 3;
    o.tags = d->tags;
    o.tag_weight = a;
    return o;
}

/* P has entries of at most 1 / lambda, and weights are stored in float32: their errors
 * are relative to the largest weight. */
static void check_weights(test *t, const ease_model *m, const double *want, double n)
{
    int32_t items = m->info.items;
    double largest = 0, tolerance = n * 8 * 0x1p-23;

    for (int32_t k = 0; k < items * items; k++)
        largest = fmax(largest, fabs(want[k]));
    for (int32_t i = 0; i < items; i++)
        for (int32_t j = 0; j < items; j++)
            if (!check_near(t, ease__model_weight(m, i, j), want[i * items + j],
                            largest * tolerance))
                return;
}

static void weights_are_those_of_cease(test *t)
{
    static const double weights[] = {0.5, 1, 3};

    for (int round = 0; round < 12; round++) {
        bool weighted = round % 2;
        ease_gram_kind kind = round % 4 < 2 ? EASE_GRAM_COUNTS : EASE_GRAM_COVARIANCE;
        tagged d = make_tagged(20 + 3 * round, round % 3 ? 5 : 0, weighted,
                               (uint64_t)round);
        double a = weights[round % 3], *want = twin_weights(&d, a, 3, kind);
        ease_train_options o = options_of(&d, a);
        ease_model *m = NULL;
        ease_error err = {0};

        o.kind = kind;
        for (int wide = 0; wide < 2; wide++) {
            o.precision = wide ? EASE_F64 : EASE_F32;
            if (!check_status(t, ease_train(d.x, &o, &m, &err), EASE_OK)) {
                printf("  %s\n", err.text);
                continue;
            }
            check_int(t, ease_model_items(m), d.items);
            check_weights(t, m, want, wide ? 1 : 20);
            check(t, ease_model_tag_weight(m) == a);
            ease_model_free(m);
        }
        free(want);
        tagged_free(&d);
    }
}

static void items_with_nothing_but_tags_are_recommended(test *t)
{
    tagged d = make_tagged(21, 6, false, 4);
    ease_train_options o = options_of(&d, 2);
    ease_model *m = NULL, *back;
    ease_scorer *s = NULL;
    ease_rec recs[27];
    int32_t count = 0, cold = 0;
    int32_t history[] = {1, 4, 5, 7};
    ease_row row = {.items = history, .count = 4};
    ease_recommend_options r;

    check_status(t, ease_train(d.x, &o, &m, NULL), EASE_OK);
    check_int(t, ease_model_items(m), 27);
    for (int32_t i = 0; i < 27; i++) {
        double users = 0;

        for (int64_t k = 0; k < d.x->nnz; k++)
            users += d.x->cols[k] == i;
        check_near(t, ease_model_popularity(m, i), users, 0);
        check_int(t, ease_model_item_tags(m, i).count > 0,
                  i >= 21 || ease_model_item_tags(m, i).count > 0);
    }
    check_text(t, ease_model_item_id(m, 26), "26");
    check_int(t, model_info(m).interactions, d.x->nnz);
    check_int(t, model_info(m).users, d.x->users);
    back = reopened(t, m, EASE_STORE_PACKED);
    check(t, ease_model_tag_weight(back) == 2);
    check_int(t, ease_model_tags(back), TAGS);
    ease_recommend_options_init(&r);
    r.k = 23;
    check_status(t, ease_scorer_new(back, &s, NULL), EASE_OK);
    check_status(t, ease_recommend(s, row, &r, recs, &count, NULL), EASE_OK);
    for (int32_t i = 0; i < count; i++)
        cold += recs[i].item >= 21 && recs[i].score != 0;
    check_int(t, cold, 6);
    ease_scorer_free(s);
    ease_model_free(back);
    ease_model_free(m);
    tagged_free(&d);
}

static bool same_models(const ease_model *a, const ease_model *b)
{
    int32_t n = a->info.items;
    bool same = n == b->info.items;

    for (int32_t i = 0; same && i < n; i++) {
        same = a->popularity[i] == b->popularity[i] &&
               strcmp(ease_model_item_id(a, i), ease_model_item_id(b, i)) == 0;
        for (int32_t j = 0; same && j < n; j++) {
            float v = ease__model_weight(a, i, j), w = ease__model_weight(b, i, j);

            same = memcmp(&v, &w, sizeof(v)) == 0;
        }
    }
    return same;
}

static void a_weight_of_0_gives_the_bits_of_ease(test *t)
{
    tagged d = make_tagged(30, 4, true, 8);
    ease_train_options o = options_of(&d, 0), plain;
    ease_model *m = NULL, *want = NULL;

    plain = o;
    plain.tags = NULL;
    check_status(t, ease_train(d.x, &plain, &want, NULL), EASE_OK);
    check_status(t, ease_train(d.x, &o, &m, NULL), EASE_OK);
    check(t, same_models(m, want));
    check_int(t, ease_model_tags(want), 0);
    check_int(t, ease_model_tags(m), TAGS);
    check(t, ease_model_tag_weight(m) == 0);
    ease_model_free(m);
    ease_model_free(want);
    tagged_free(&d);
}

/* One thread and several; from data, from a Gram matrix, and from a file of it. */
static void every_source_and_number_of_threads_gives_the_same_bits(test *t)
{
    for (int round = 0; round < 4; round++) {
        int32_t known = round % 2 ? 1100 : 60;
        tagged d = make_tagged(known, round < 2 ? 0 : 9, round == 1, 11);
        ease_train_options o = options_of(&d, 1.5);
        ease_gram_options go;
        ease_gram *g = NULL;
        ease_model *m = NULL, *want = NULL;
        const char *path = test_path("tags.gram");
        ease_error err = {0};

        o.threads = 1;
        check_status(t, ease_train(d.x, &o, &want, &err), EASE_OK);
        o.threads = 3;
        check_status(t, ease_train(d.x, &o, &m, &err), EASE_OK);
        check(t, same_models(m, want));
        ease_model_free(m);
        ease_gram_options_init(&go);
        check_status(t, ease_gram_build(d.x, &go, &g, &err), EASE_OK);
        check_status(t, ease_gram_save(g, path, NULL, &err), EASE_OK);
        check_status(t, ease_gram_solve(&g, &o, &m, &err), EASE_OK);
        check(t, same_models(m, want));
        ease_model_free(m);
        m = NULL;
        check_status(t, ease_train_gram_file(path, &o, &m, &err), EASE_OK);
        check(t, m && same_models(m, want));
        ease_model_free(m);
        ease_model_free(want);
        tagged_free(&d);
    }
}

/* The numbers of users of items, which some settings need, come with the matrix. */
static void scales_of_items_know_those_without_users(test *t)
{
    tagged d = make_tagged(40, 7, false, 21);
    ease_train_options o = options_of(&d, 1.5);
    ease_gram *g = NULL;
    ease_model *m = NULL, *want = NULL;
    ease_error err = {0};

    o.method = "ease-family";
    o.settings = "input-power=0.3,output-power=-0.2,relaxation=0.2";
    check_status(t, ease_train(d.x, &o, &want, &err), EASE_OK);
    check_status(t, ease_gram_build(d.x, NULL, &g, &err), EASE_OK);
    check_status(t, ease_gram_solve(&g, &o, &m, &err), EASE_OK);
    check(t, m && want && same_models(m, want));
    ease_model_free(m);
    ease_model_free(want);
    tagged_free(&d);
}

static void a_work_file_gives_the_same_bits(test *t)
{
    tagged d = make_tagged(2600, 20, false, 12);
    const char *dir = test_path("work");
    ease_train_options o = options_of(&d, 1);
    ease_model *m = NULL, *want = NULL;
    ease_plan plan = {.size = sizeof(plan)};
    ease_error err = {0};

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        abort();
    check_status(t, ease_train(d.x, &o, &want, &err), EASE_OK);
    o.workdir = dir;
    check_status(t, ease_plan_data(d.x, &o, EASE_STORE_F32, &plan, &err), EASE_OK);
    check_int(t, plan.items, 2620);
    o.memory_limit = plan.least_bytes;
    check_status(t, ease_plan_data(d.x, &o, EASE_STORE_F32, &plan, &err), EASE_OK);
    check(t, plan.traffic_bytes > 0);
    if (check_status(t, ease_train(d.x, &o, &m, &err), EASE_OK))
        check(t, same_models(m, want));
    else
        printf("  %s\n", err.text);
    ease_model_free(m);
    ease_model_free(want);
    tagged_free(&d);
}

static void other_methods_keep_tags_only(test *t)
{
    tagged d = make_tagged(20, 3, false, 5);
    ease_train_options o = options_of(&d, 1);
    ease_model *m = NULL;

    o.method = "item-item";
    check_status(t, ease_train(d.x, &o, &m, NULL), EASE_OK);
    check_int(t, ease_model_items(m), 20);
    check(t, ease_model_tags(m) > 0);
    check(t, ease_model_tag_weight(m) == 0);
    ease_model_free(m);
    tagged_free(&d);
}

static void wrong_weights_and_foreign_tags_are_refused(test *t)
{
    static const double bad[] = {-1, NAN, INFINITY};
    static const int64_t number[] = {900};
    ease_id_column column = {.numbers = number};
    tagged d = make_tagged(12, 0, false, 5);
    ease_tags *foreign = NULL;
    ease_model *m = NULL;
    ease_train_options o;
    ease_error err = {0};

    for (int i = 0; i < 3; i++) {
        o = options_of(&d, bad[i]);
        check_status(t, ease_train(d.x, &o, &m, &err), EASE_E_ARG);
        check_contains(t, err.text, "weight of tags");
    }
    check_status(t,
                 ease_tags_from_table(1, &column, &column, NULL, NULL, &foreign, NULL),
                 EASE_OK);
    o = options_of(&d, 0);
    o.tags = foreign;
    check_status(t, ease_train(d.x, &o, &m, &err), EASE_E_DATA);
    check_contains(t, err.text, "\"900\"");
    o = options_of(&d, 1e200);
    check_status(t, ease_train(d.x, &o, &m, &err), EASE_E_ACCURACY);
    check_contains(t, err.text, "too large");
    o = options_of(&d, 1e16); /* beyond float32 */
    check_status(t, ease_train(d.x, &o, &m, &err), EASE_OK);
    check_int(t, model_info(m).precision, EASE_F64);
    ease_model_free(m);
    ease_tags_free(foreign);
    tagged_free(&d);
}

static void training_with_tags_survives_every_failed_allocation(test *t)
{
    tagged d = make_tagged(12, 2, true, 6);
    ease_train_options o = options_of(&d, 1);
    ease_status status = EASE_E_NOMEM;

    o.threads = 1;
    for (int n = 0; status == EASE_E_NOMEM && n < 2000; n++) {
        ease_model *m = NULL;

        alloc_fail_after(n);
        status = ease_train(d.x, &o, &m, NULL);
        alloc_fail_after(-1);
        check_int(t, m != NULL, status == EASE_OK);
        ease_model_free(m);
    }
    check_status(t, status, EASE_OK);
    tagged_free(&d);
}

static void tuning_finds_models_with_tags(test *t)
{
    static const double lambdas[] = {2, 30};
    tagged d = make_tagged(25, 4, false, 7);
    ease_train_options train = options_of(&d, 1);
    ease_tune_options o;
    ease_tuning *tuning = NULL;
    ease_model *m = NULL, *want = NULL;
    ease_trial trial = {.size = sizeof(trial)};
    ease_error err = {0};

    ease_tune_options_init(&o);
    o.train = &train;
    o.lambdas = lambdas;
    o.count = 2;
    o.metric = "ndcg@5";
    if (!check_status(t, ease_tune(d.x, d.x, d.x, &o, &tuning, &err), EASE_OK)) {
        printf("  %s\n", err.text);
        tagged_free(&d);
        return;
    }
    ease_tuning_trial(tuning, ease_tuning_best(tuning), &trial);
    check_status(t, ease_tuning_train(tuning, NULL, &m, &err), EASE_OK);
    check_int(t, ease_model_items(m), 29);
    train.lambda = trial.lambda;
    check_status(t, ease_train(d.x, &train, &want, &err), EASE_OK);
    check(t, same_models(m, want));
    ease_model_free(m);
    ease_model_free(want);
    ease_tuning_free(tuning);
    tagged_free(&d);
}

/* ---- add-ease -------------------------------------------------------------------- */

static void add_ease_blends_two_models(test *t)
{
    static const double blends[] = {0.25, 1};

    for (int round = 0; round < 6; round++) {
        tagged d = make_tagged(round < 2 ? 700 : 30, 3, round % 2, (uint64_t)round);
        tagged only = d; /* no interactions: X is 0 */
        size_t n = (size_t)d.items;
        double *x = twin_weights(&d, 0, 3, EASE_GRAM_COUNTS), *tags;
        ease_interactions nothing = *d.x;
        double blend = blends[round / 2 % 2];
        ease_train_options o = options_of(&d, 1);
        ease_model *m = NULL, *back;
        ease_error err = {0};
        char text[64];

        nothing.nnz = 0;
        nothing.row_ptr = calloc((size_t)d.x->users + 1, sizeof(*nothing.row_ptr));
        only.x = &nothing;
        tags = twin_weights(&only, 1, 7, EASE_GRAM_COUNTS);
        for (size_t k = 0; k < n * n; k++)
            x[k] = (1 - blend) * x[k] + blend * tags[k];
        snprintf(text, sizeof(text), "blend=%g,tag-lambda=7", blend);
        o.method = "add-ease";
        o.settings = text;
        o.precision = n > 100 ? EASE_F64 : EASE_F32;
        if (check_status(t, ease_train(d.x, &o, &m, &err), EASE_OK)) {
            check_int(t, ease_model_items(m), d.items);
            check_weights(t, m, x, 20);
            check_text(t, model_info(m).settings, text);
            check(t, ease_model_tag_weight(m) == blend);
            back = reopened(t, m, EASE_STORE_F32);
            check(t, same_models(m, back));
            check_text(t, model_info(back).settings, text);
            ease_model_free(back);
            back = reopened(t, m, EASE_STORE_F16);
            check_int(t, model_info(back).storage, EASE_STORE_F16);
            ease_model_free(back);
            check_status(
                t,
                ease_model_save(m, test_path("p.ease"), EASE_STORE_PACKED, NULL, &err),
                EASE_E_ARG);
            check_contains(t, err.text, "save it as f16 or f32");
        } else {
            printf("  %s\n", err.text);
        }
        ease_model_free(m);
        free(nothing.row_ptr);
        free(x);
        free(tags);
        tagged_free(&d);
    }
}

static void a_blend_of_0_gives_the_bits_of_ease(test *t)
{
    tagged d = make_tagged(40, 4, true, 8);
    ease_train_options o = options_of(&d, 1), plain;
    ease_model *m = NULL, *want = NULL;

    plain = o;
    plain.tags = NULL;
    o.method = "add-ease";
    o.settings = "blend=0";
    check_status(t, ease_train(d.x, &plain, &want, NULL), EASE_OK);
    check_status(t, ease_train(d.x, &o, &m, NULL), EASE_OK);
    check(t, same_models(m, want));
    for (int32_t i = 0; i < 40; i++)
        check(t, m->norm[i] == want->norm[i]);
    ease_model_free(m);
    ease_model_free(want);
    tagged_free(&d);
}

static void add_ease_needs_tags_and_counts_both_inverses(test *t)
{
    tagged d = make_tagged(300, 0, false, 9);
    ease_train_options o = options_of(&d, 1);
    ease_plan one = {.size = sizeof(one)}, two = {.size = sizeof(two)};
    ease_model *m = NULL;
    ease_error err = {0};

    check_status(t, ease_plan_data(d.x, &o, EASE_STORE_F32, &one, NULL), EASE_OK);
    o.method = "add-ease";
    check_status(t, ease_plan_data(d.x, &o, EASE_STORE_F32, &two, NULL), EASE_OK);
    check_int(t, two.peak_bytes, one.peak_bytes + one.matrix_bytes);
    check_status(t, ease_plan_data(d.x, &o, EASE_STORE_PACKED, &two, &err), EASE_E_ARG);
    check_contains(t, err.text, "f16 or f32");
    o.tags = NULL;
    check_status(t, ease_plan_data(d.x, &o, EASE_STORE_F32, &two, &err), EASE_E_ARG);
    check_status(t, ease_train(d.x, &o, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "add-ease needs tags of items");
    o = options_of(&d, 1);
    o.method = "add-ease";
    o.kind = EASE_GRAM_COVARIANCE;
    check_status(t, ease_train(d.x, &o, &m, &err), EASE_E_ARG);
    check(t, m == NULL);
    tagged_free(&d);
}

/* ---- the family ------------------------------------------------------------------ */

static void every_method_with_a_gram_matrix_learns_from_tags(test *t)
{
    tagged d = make_tagged(40, 5, false, 3);

    for (int i = 0; ease_method_at(i); i++) {
        const ease_method_info *method = ease_method_at(i);
        ease_train_options o = options_of(&d, 1);
        ease_model *m = NULL, *other = NULL;
        float row[45], cold = 0;
        ease_error err = {0};

        if (!method->from_gram)
            continue;
        o.method = method->name;
        if (!check_status(t, ease_train(d.x, &o, &m, &err), EASE_OK)) {
            printf("  %s: %s\n", method->name, err.text);
            continue;
        }
        check_int(t, ease_model_items(m), 45);
        check_status(t, ease_model_row(m, 44, row, NULL), EASE_OK);
        for (int j = 0; j < 45; j++) {
            check(t, isfinite(row[j]));
            cold = fmaxf(cold, fabsf(row[j]));
        }
        if (!check(t, cold > 0))
            printf("  %s\n", method->name);
        if (!method->needs_tags) {
            o.tag_weight = 0;
            check_status(t, ease_train(d.x, &o, &other, NULL), EASE_OK);
            o.tags = NULL;
            ease_model_free(m);
            check_status(t, ease_train(d.x, &o, &m, NULL), EASE_OK);
            check(t, same_models(m, other));
            ease_model_free(other);
        }
        ease_model_free(m);
    }
    tagged_free(&d);
}

static const test_case cases[] = {
    TEST(weights_are_those_of_cease),
    TEST(items_with_nothing_but_tags_are_recommended),
    TEST(a_weight_of_0_gives_the_bits_of_ease),
    TEST(every_source_and_number_of_threads_gives_the_same_bits),
    TEST(scales_of_items_know_those_without_users),
    TEST(a_work_file_gives_the_same_bits),
    TEST(other_methods_keep_tags_only),
    TEST(wrong_weights_and_foreign_tags_are_refused),
    TEST(training_with_tags_survives_every_failed_allocation),
    TEST(tuning_finds_models_with_tags),
    TEST(add_ease_blends_two_models),
    TEST(a_blend_of_0_gives_the_bits_of_ease),
    TEST(add_ease_needs_tags_and_counts_both_inverses),
    TEST(every_method_with_a_gram_matrix_learns_from_tags),
};
TEST_MAIN(cases)
