/* Models of known users: lrec against the conditions of its minimum, and how such
 * models are stored, scored and refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "data/item_users.h"
#include "methods/logistic.h"
#include "model/model.h"
#include "test.h"

static ease_interactions *from_csr(int64_t users, int32_t items, const int64_t *ptr,
                                   const int32_t *cols, const float *vals)
{
    ease_interactions *x = NULL;

    if (ease_interactions_from_csr(users, items, ptr, cols, vals, &x, NULL))
        abort();
    return x;
}

static ease_interactions *some_data(int64_t users, int32_t items, bool weighted)
{
    ease_interactions *x = random_interactions(users, items, 0.2, weighted, 5);
    ease_interactions *copy = from_csr(x->users, x->items, x->row_ptr, x->cols,
                                       x->vals);

    free_interactions(x);
    return copy;
}

static ease_model *train(test *t, const ease_interactions *x, const char *settings,
                         int threads)
{
    ease_train_options o;
    ease_model *m = NULL;
    ease_error err;

    ease_train_options_init(&o);
    o.settings = settings;
    o.threads = threads;
    if (!check_status(t, train_method(x, "lrec", &o, &m, &err), EASE_OK))
        abort();
    return m;
}

/* ---- regressions -------------------------------------------------------------- */

typedef struct setting {
    ease_interactions *x;
    ease__item_users columns;
    ease__logistic l;
    ease__logistic_scratch scratch;
} setting;

static setting prepare(int64_t users, int32_t items, double l2)
{
    setting s = {.x = some_data(users, items, false)};

    if (ease__item_users_new(s.x, 1, &s.columns, NULL))
        abort();
    s.l = (ease__logistic){.users = users,
                           .items = items,
                           .row_ptr = s.x->row_ptr,
                           .row_items = (const uint32_t *)s.x->cols,
                           .col_ptr = s.columns.ptr,
                           .col_users = s.columns.users,
                           .l2 = l2,
                           .tolerance = 1e-10,
                           .iterations = 100};
    if (ease__logistic_scratch_new(&s.l, &s.scratch, NULL))
        abort();
    return s;
}

static void done(setting *s)
{
    ease__logistic_scratch_free(&s->scratch);
    ease__item_users_free(&s->columns);
    ease_interactions_free(s->x);
}

/* The gradient by its definition is 0, the user's own weight too, and the loss is that
 * of these weights. */
static void check_minimum(test *t, const setting *s, const double *dense, int64_t user,
                          int lane, double loss)
{
    size_t n = (size_t)s->l.items, users = (size_t)s->l.users;
    double sum = 0, *gradient = calloc(users + 1, sizeof(*gradient));
    const double *w = s->scratch.weights + lane;

    for (size_t i = 0; i < n; i++) {
        double z = w[users * EASE__LANES], y = dense[(size_t)user * n + i], p;

        for (size_t v = 0; v < users; v++)
            z += w[v * EASE__LANES] * dense[v * n + i];
        check_near(t, s->scratch.scores[i * EASE__LANES + (size_t)lane], z, 1e-9);
        p = 1 / (1 + exp(-z));
        sum += log(1 + exp(z)) - y * z;
        for (size_t v = 0; v < users; v++)
            gradient[v] += (p - y) * dense[v * n + i];
        gradient[users] += p - y;
    }
    for (size_t v = 0; v < users; v++) {
        double weight = w[v * EASE__LANES];

        sum += s->l.l2 / 2 * weight * weight;
        if (v == (size_t)user)
            check(t, weight == 0);
        else
            check_near(t, gradient[v] + s->l.l2 * weight, 0, 1e-7);
    }
    check_near(t, gradient[users], 0, 1e-7);
    check_near(t, loss, sum, 1e-9 * sum);
    free(gradient);
}

static void regressions_end_at_the_minimum(test *t)
{
    static const double l2[] = {0.01, 1, 50};

    for (int round = 0; round < 3; round++) {
        setting s = prepare(60, 45, l2[round]);
        double *dense = dense_interactions(s.x), losses[EASE__LANES];
        int64_t users[EASE__LANES];
        ease__logistic_ends ends;

        for (int k = 0; k < EASE__LANES; k++)
            users[k] = 7 * k;
        ends = ease__logistic_fit(&s.l, users, EASE__LANES, &s.scratch, losses);
        check_int(t, ends.spent + ends.stalled, 0);
        for (int k = 0; k < EASE__LANES; k++)
            check_minimum(t, &s, dense, users[k], k, losses[k]);
        free(dense);
        done(&s);
    }
}

static void regressions_do_not_touch_each_other(test *t)
{
    enum { ITEMS = 45 };
    setting s = prepare(60, ITEMS, 1);
    int64_t users[] = {3, 9, 12};
    double losses[3], scores[ITEMS], loss;

    ease__logistic_fit(&s.l, users, 3, &s.scratch, losses);
    for (int i = 0; i < ITEMS; i++)
        scores[i] = s.scratch.scores[i * EASE__LANES + 1];
    loss = losses[1];
    ease__logistic_fit(&s.l, users + 1, 1, &s.scratch, losses);
    check(t, loss == losses[0]);
    for (int i = 0; i < ITEMS; i++)
        check(t, scores[i] == s.scratch.scores[i * EASE__LANES]);
    done(&s);
}

static void few_iterations_are_counted(test *t)
{
    setting s = prepare(60, 45, 1);
    int64_t users[] = {1, 2};
    double losses[2];
    ease__logistic_ends ends;

    s.l.iterations = 1;
    ends = ease__logistic_fit(&s.l, users, 2, &s.scratch, losses);
    check_int(t, ends.spent, 2);
    check_int(t, ends.stalled, 0);
    done(&s);
}

/* Columns that are not those of the rows give directions that lead nowhere. */
static void a_search_that_stalls_is_told_apart(test *t)
{
    setting s = prepare(60, 45, 1);
    int64_t users[] = {0, 1, 2, 3, 4, 5, 6, 7};
    double losses[EASE__LANES];
    ease__logistic_ends ends;

    for (int64_t i = 0; i < s.x->nnz; i++)
        s.columns.users[i] = (s.columns.users[i] + 7) % 60;
    ends = ease__logistic_fit(&s.l, users, EASE__LANES, &s.scratch, losses);
    check(t, ends.stalled > 0);
    check_int(t, ends.spent + ends.stalled, EASE__LANES);
    done(&s);
}

/* ---- a model ------------------------------------------------------------------ */

/* What the model has of a user, within half a step of the regression's. */
static void models_have_the_scores_of_their_users(test *t)
{
    enum { ITEMS = 45 };
    setting s = prepare(60, ITEMS, 2);
    ease_model *m = train(t, s.x, "l2=2,tolerance=1e-10", 2);
    float got[ITEMS];

    for (int64_t u = 0; u < 60; u++) {
        double loss, half;

        ease__logistic_fit(&s.l, &u, 1, &s.scratch, &loss);
        ease__known_get(&m->known, u, ITEMS, got);
        half = (double)m->known.step[u] / 2;
        for (int i = 0; i < ITEMS; i++)
            check_near(t, (double)got[i], s.scratch.scores[i * EASE__LANES],
                       half * 1.01 + 1e-6);
    }
    check_text(t, model_info(m).settings, "l2=2,tolerance=1e-10,iterations=100");
    check_int(t, ease_method_find("lrec")->known_users, 1);
    check_int(t, ease_method_find("ease")->known_users, 0);
    ease_model_free(m);
    done(&s);
}

static void codes_are_within_half_a_step(test *t)
{
    static const double scores[] = {-7.25, 3.5, 0, 1e-3, -2, 3.4999, -7.2499, 1};
    ease_interactions *x = some_data(3, 8, false);
    ease__known k;
    float back[8];

    check_status(t, ease__known_new(x, &k, NULL), EASE_OK);
    ease__known_put(&k, 1, scores, 8);
    ease__known_get(&k, 1, 8, back);
    for (int i = 0; i < 8; i++)
        check_near(t, (double)back[i], scores[i], 10.75 / EASE__CODES / 2 + 1e-6);
    ease__known_put(&k, 2, (const double[]){5, 5, 5, 5, 5, 5, 5, 5}, 8);
    ease__known_get(&k, 2, 8, back);
    for (int i = 0; i < 8; i++)
        check(t, back[i] == 5);
    ease__known_free(&k, false);
    ease_interactions_free(x);
}

static void threads_do_not_change_a_bit(test *t)
{
    ease_interactions *x = some_data(100, 40, false);
    ease_model *one = train(t, x, NULL, 1);

    for (int threads = 2; threads <= 5; threads += 3) {
        ease_model *many = train(t, x, NULL, threads);

        check(t, memcmp(one->known.codes, many->known.codes,
                        100 * 40 * sizeof(*one->known.codes)) == 0);
        check(t, memcmp(one->known.low, many->known.low, 100 * sizeof(float)) == 0);
        ease_model_free(many);
    }
    ease_model_free(one);
    ease_interactions_free(x);
}

static void values_are_not_looked_at(test *t)
{
    ease_interactions *ones = some_data(40, 30, false), *x;
    float *vals = malloc((size_t)ones->nnz * sizeof(*vals));
    ease_model *m = train(t, ones, NULL, 1), *weighted;

    for (int64_t i = 0; i < ones->nnz; i++)
        vals[i] = (float)(i % 5) + 0.5F;
    x = from_csr(40, 30, ones->row_ptr, ones->cols, vals);
    weighted = train(t, x, NULL, 1);
    check(t, memcmp(m->known.codes, weighted->known.codes,
                    40 * 30 * sizeof(*m->known.codes)) == 0);
    free(vals);
    ease_model_free(m);
    ease_model_free(weighted);
    ease_interactions_free(ones);
    ease_interactions_free(x);
}

/* One without anything gets popular items, and one with everything nothing. */
static void users_without_a_choice_are_no_exception(test *t)
{
    static const int64_t ptr[] = {0, 0, 4, 5, 7, 8};
    static const int32_t cols[] = {0, 1, 2, 3, 2, 1, 2, 2};
    ease_interactions *x = from_csr(5, 4, ptr, cols, NULL);
    ease_model *m = train(t, x, NULL, 1);
    ease_recommend_options o;
    ease_rec recs[4];
    int32_t count = -1;

    ease_recommend_options_init(&o);
    o.k = 4;
    for (int64_t user = 0; user < 5; user++) {
        ease_row row = ease_model_history(m, user);

        o.users = &user;
        check_status(t, ease_recommend_many(m, &row, 1, &o, recs, &count, NULL),
                     EASE_OK);
        check_int(t, count, 4 - row.count);
        for (int i = 0; i < count; i++)
            check(t, isfinite(recs[i].score));
        if (user == 0) {
            check_int(t, recs[0].item, 2);
            check_int(t, recs[1].item, 1);
        }
    }
    ease_model_free(m);
    ease_interactions_free(x);
}

static void the_smallest_data_can_be_trained_on(test *t)
{
    static const int64_t ptr[] = {0, 1, 1};
    static const int32_t cols[] = {0};

    for (int64_t users = 1; users <= 2; users++)
        for (int32_t items = 1; items <= 2; items++) {
            ease_interactions *x = from_csr(users, items, ptr, cols, NULL);
            ease_model *m = train(t, x, "l2=0.0001", 2), *back = NULL;
            const char *path = test_path("small.ease");

            check(t, isfinite(m->known.low[0]));
            check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL),
                         EASE_OK);
            check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK);
            ease_model_free(back);
            ease_model_free(m);
            ease_interactions_free(x);
        }
}

static void models_come_back_from_files(test *t)
{
    ease_interactions *x = some_data(50, 30, false);
    ease_model *m = train(t, x, NULL, 1), *back = NULL;
    const char *path = test_path("known.ease");

    check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), EASE_OK);
    check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK);
    if (!check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK))
        abort();
    check_int(t, model_info(back).storage, EASE_STORE_KNOWN);
    check_text(t, model_info(back).method, "lrec");
    check(t, memcmp(m->known.codes, back->known.codes,
                    50 * 30 * sizeof(*m->known.codes)) == 0);
    for (int64_t u = 0; u < 50; u++) {
        ease_row row = ease_model_history(back, u), want = ease_interactions_row(x, u);

        check_int(t, row.count, want.count);
        check(t, memcmp(row.items, want.items,
                        (size_t)row.count * sizeof(*row.items)) == 0);
        check_int(t, ease_model_find_user(back, ease_interactions_user_id(x, u)), u);
    }
    check_int(t, ease_model_find_user(back, "nobody"), EASE_NO_USER);
    check_int(t, ease_model_find_user(back, NULL), EASE_NO_USER);
    check_int(t, ease_model_history(back, 50).count, 0);
    check_int(t, ease_model_history(back, -1).count, 0);
    ease_model_free(back);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- asking ------------------------------------------------------------------- */

static void lists_are_the_best_of_the_scores(test *t)
{
    enum { ITEMS = 30 };
    ease_interactions *x = some_data(50, ITEMS, false);
    ease_model *m = train(t, x, NULL, 1);
    ease_scorer *s = NULL;
    ease_recommend_options o;

    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    ease_recommend_options_init(&o);
    o.k = 5;
    for (int64_t u = 0; u < 50; u++) {
        ease_row row = u % 2 ? (ease_row){0} : ease_model_history(m, u);
        ease_rec one[5], many[5];
        int32_t count = 0, counts = 0;
        float scores[ITEMS];

        o.users = &u;
        check_status(t, ease_recommend(s, row, &o, one, &count, NULL), EASE_OK);
        check_status(t, ease_recommend_many(m, &row, 1, &o, many, &counts, NULL),
                     EASE_OK);
        check_int(t, count, 5);
        check(t, memcmp(one, many, sizeof(one)) == 0);
        ease__known_get(&m->known, u, ITEMS, scores);
        for (int32_t h = 0; h < row.count; h++)
            scores[row.items[h]] = -INFINITY;
        for (int k = 0; k < 5; k++) {
            int best = 0;

            for (int i = 1; i < ITEMS; i++)
                if (scores[i] > scores[best])
                    best = i;
            check_int(t, one[k].item, best);
            check(t, one[k].score == scores[best]);
            scores[best] = -INFINITY;
        }
    }
    ease_scorer_free(s);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void strangers_are_refused(test *t)
{
    static const int32_t has[] = {1, 4};
    ease_interactions *x = some_data(20, 30, false);
    ease_interactions *more = some_data(21, 30, false);
    ease_model *m = train(t, x, NULL, 1);
    ease_row row = {has, NULL, 2};
    ease_recommend_options o;
    ease_report *r = NULL;
    ease_scorer *s = NULL;
    ease_rec recs[10];
    int32_t count = 0;
    int64_t user = 20;
    float base, score;
    ease_error err;

    ease_recommend_options_init(&o);
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    check_status(t, ease_recommend(s, row, &o, recs, &count, &err), EASE_E_ARG);
    check_contains(t, err.text, "lrec scores only the users that it was trained with");
    check_status(t, ease_recommend_many(m, &row, 1, &o, recs, &count, &err),
                 EASE_E_ARG);
    o.users = &user;
    check_status(t, ease_recommend(s, row, &o, recs, &count, &err), EASE_E_DATA);
    user = -1;
    check_status(t, ease_recommend_many(m, &row, 1, &o, recs, &count, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "not one of them");
    check_status(t, ease_explain(s, row, 2, recs, &base, &score, &err), EASE_E_ARG);
    check_status(t, ease_similar(s, 2, NULL, recs, &count, &err), EASE_E_ARG);
    check_status(t, ease_model_export(m, test_path("w.npy"), 0, NULL, &err),
                 EASE_E_ARG);
    check_status(t, ease_evaluate(m, more, more, NULL, &r, &err), EASE_E_DATA);
    check_contains(t, err.text, "1 of 21 are others, the first of them \"20\"");
    check_contains(t, err.text, "weak generalization");
    check_status(t, ease_evaluate(m, x, x, NULL, &r, &err), EASE_OK);
    ease_report_free(r);
    ease_scorer_free(s);
    ease_model_free(m);
    ease_interactions_free(x);
    ease_interactions_free(more);
}

/* ---- failing ------------------------------------------------------------------ */

static ease_status try_training(const ease_interactions *x, const ease_train_options *o,
                                ease_error *err)
{
    ease_model *m = NULL;
    ease_status status = train_method(x, "lrec", o, &m, err);

    ease_model_free(m);
    return status;
}

static int cancel(void *user, const char *stage, double fraction)
{
    (void)fraction;
    return strcmp(stage, user) == 0;
}

/* Of ten users, the first had nothing in training and the last three no input. */
static void only_users_without_training_get_popular_items(test *t)
{
    enum { USERS = 10, ITEMS = 8 };
    int64_t ptr[USERS + 1] = {0}, in[USERS + 1] = {0}, out[USERS + 1] = {0};
    int32_t cols[2 * USERS], inputs[USERS], targets[USERS];
    ease_interactions *x, *input, *target;
    ease_report *r = NULL;
    ease_model *m;

    for (int u = 0; u < USERS; u++) {
        ptr[u + 1] = ptr[u];
        if (u > 0) {
            cols[ptr[u + 1]++] = u % 4;
            cols[ptr[u + 1]++] = 4 + u % 3;
        }
        in[u + 1] = in[u];
        if (u < USERS - 3)
            inputs[in[u + 1]++] = u % 4;
        targets[u] = ITEMS - 1;
        out[u + 1] = u + 1;
    }
    x = from_csr(USERS, ITEMS, ptr, cols, NULL);
    input = from_csr(USERS, ITEMS, in, inputs, NULL);
    target = from_csr(USERS, ITEMS, out, targets, NULL);
    m = train(t, x, NULL, 1);
    check_status(t, ease_evaluate(m, input, target, NULL, &r, NULL), EASE_OK);
    check_int(t, report_info(r).users, USERS);
    check_int(t, report_info(r).without_input, 1);
    ease_report_free(r);
    ease_model_free(m);
    ease_interactions_free(target);
    ease_interactions_free(input);
    ease_interactions_free(x);
}

static void training_can_be_cancelled(test *t)
{
    ease_interactions *x = some_data(60, 40, false);
    char stage[] = "fitting";
    ease_train_options o;

    ease_train_options_init(&o);
    o.threads = 8; /* whether or not the caller's one has users */
    o.hooks = &(ease_hooks){.progress = cancel, .user = stage};
    check_status(t, try_training(x, &o, NULL), EASE_E_CANCELLED);
    ease_interactions_free(x);
}

static void what_cannot_be_trained_is_refused(test *t)
{
    static const struct {
        const char *settings, *says;
    } cases[] = {{"l2=0", "l2: a number from 0.0001"},
                 {"l2=nan", "l2: a number"},
                 {"tolerance=1", "tolerance: a number"},
                 {"iterations=1.5", "iterations: a whole number"},
                 {"lambda=3", "lrec has no setting 'lambda'"}};
    ease_interactions *x = some_data(60, 40, false);
    ease_train_options o;
    ease_error err;

    ease_train_options_init(&o);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        o.settings = cases[i].settings;
        check_status(t, try_training(x, &o, &err), EASE_E_ARG);
        check_contains(t, err.text, cases[i].says);
    }
    o.settings = NULL;
    o.memory_limit = 1 << 14;
    check_status(t, try_training(x, &o, &err), EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "lrec for 40 items");
    ease_interactions_free(x);
}

static void every_failed_allocation_is_survived(test *t)
{
    ease_interactions *x = some_data(20, 12, false);
    const char *path = test_path("failing.ease");
    ease_train_options o;
    ease_status status;
    int n = 0;

    ease_train_options_init(&o);
    o.threads = 1;
    do {
        ease_model *m = NULL, *back = NULL;

        alloc_fail_after(n++);
        status = train_method(x, "lrec", &o, &m, NULL);
        check_int(t, m != NULL, status == EASE_OK);
        if (!status)
            status = ease_model_save(m, path, EASE_STORE_F32, NULL, NULL);
        if (!status)
            status = ease_model_open(path, NULL, &back, NULL);
        alloc_fail_after(-1);
        ease_model_free(m);
        ease_model_free(back);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 20);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(regressions_end_at_the_minimum),
    TEST(regressions_do_not_touch_each_other),
    TEST(few_iterations_are_counted),
    TEST(a_search_that_stalls_is_told_apart),
    TEST(models_have_the_scores_of_their_users),
    TEST(codes_are_within_half_a_step),
    TEST(threads_do_not_change_a_bit),
    TEST(values_are_not_looked_at),
    TEST(users_without_a_choice_are_no_exception),
    TEST(the_smallest_data_can_be_trained_on),
    TEST(models_come_back_from_files),
    TEST(lists_are_the_best_of_the_scores),
    TEST(strangers_are_refused),
    TEST(only_users_without_training_get_popular_items),
    TEST(training_can_be_cancelled),
    TEST(what_cannot_be_trained_is_refused),
    TEST(every_failed_allocation_is_survived),
};

TEST_MAIN(cases)
