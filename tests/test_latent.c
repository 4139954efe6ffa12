/* Latent models: wmf and ii-svd against their definitions, and tests of all latent
 * models. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data.h"
#include "methods/als.h"
#include "model/model.h"
#include "models.h"
#include "test.h"

enum { USERS = 150, ITEMS = 60 };

static ease_interactions *some_data(bool weighted)
{
    ease_interactions *x = random_interactions(USERS, ITEMS, 0.15, weighted, 5);
    ease_interactions *copy = NULL;

    if (ease_interactions_from_csr(x->users, x->items, x->row_ptr, x->cols, x->vals,
                                   &copy, NULL))
        abort();
    free_interactions(x);
    return copy;
}

static ease_status try_train(const ease_interactions *x, const char *method,
                             const char *settings, int threads, const ease_hooks *hooks,
                             ease_model **out, ease_error *err)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.settings = settings;
    o.threads = threads;
    o.hooks = hooks;
    return train_method(x, method, &o, out, err);
}

static ease_model *train(test *t, const ease_interactions *x, const char *method,
                         const char *settings, int threads)
{
    ease_model *m = NULL;
    ease_error err = {0};

    if (!check_status(t, try_train(x, method, settings, threads, NULL, &m, &err),
                      EASE_OK)) {
        printf("  %s\n", err.text);
        abort();
    }
    return m;
}

static const char *const methods[] = {"wmf", "ii-svd"};
static const char *const small[] = {"rank=8,iterations=5", "rank=8"};

static bool same_numbers(const ease_model *a, const ease_model *b)
{
    const ease__latent *l = &a->latent, *k = &b->latent;
    size_t rank = (size_t)ease__latent_rank(&l->shape);
    size_t count = (size_t)a->info.items * rank * sizeof(float);

    return l->shape.encoder == k->shape.encoder && l->shape.alpha == k->shape.alpha &&
           l->shape.lambda == k->shape.lambda && l->shape.layers == k->shape.layers &&
           memcmp(l->shape.width, k->shape.width, sizeof(l->shape.width)) == 0 &&
           memcmp(l->dense, k->dense,
                  ease__latent_dense_count(&l->shape) * sizeof(float)) == 0 &&
           memcmp(l->decoder, k->decoder, count) == 0 &&
           !l->embedding == !k->embedding &&
           (!l->embedding || memcmp(l->embedding, k->embedding, count) == 0);
}

static ease_row row_of(const ease_interactions *x, int64_t u)
{
    int64_t from = x->row_ptr[u];

    return (ease_row){x->cols + from, x->vals ? x->vals + from : NULL,
                      (int32_t)(x->row_ptr[u + 1] - from)};
}

/* By item. */
static void all_scores(test *t, const ease_model *m, ease_row history, float *scores)
{
    ease_recommend_options o;
    ease_scorer *s = NULL;
    ease_rec recs[ITEMS];
    int32_t count = 0;

    ease_recommend_options_init(&o);
    o.k = ITEMS;
    o.keep_seen = 1;
    if (ease_scorer_new(m, &s, NULL))
        abort();
    check_status(t, ease_recommend(s, history, &o, recs, &count, NULL), EASE_OK);
    check_int(t, count, ITEMS);
    memset(scores, 0, ITEMS * sizeof(*scores));
    for (int32_t i = 0; i < count; i++)
        scores[recs[i].item] = recs[i].score;
    ease_scorer_free(s);
}

/* ---- alternating least squares ------------------------------------------------ */

/* The minimum for one row by its normal equations, in float64; how far it is down. */
static double dense_solve(const float *v, int32_t others, int32_t rank, ease_row x,
                          double alpha, double lambda, double *h)
{
    size_t r = (size_t)rank;
    double *a = calloc(r * r, sizeof(*a)), *b = calloc(r, sizeof(*b)), loss = 0;

    for (int32_t i = 0; i < others; i++)
        for (size_t k = 0; k < r; k++)
            for (size_t l = 0; l < r; l++)
                a[k * r + l] += (double)v[(size_t)i * r + k] *
                                (double)v[(size_t)i * r + l];
    for (int32_t at = 0; at < x.count; at++) {
        const float *own = v + (size_t)x.items[at] * r;
        double more = alpha * (x.weights ? (double)x.weights[at] : 1);

        for (size_t k = 0; k < r; k++) {
            b[k] += (1 + more) * (double)own[k];
            for (size_t l = 0; l < r; l++)
                a[k * r + l] += more * (double)own[k] * (double)own[l];
        }
        loss += 1 + more;
    }
    for (size_t k = 0; k < r; k++)
        a[k * r + k] += lambda;
    dense_invert(a, r);
    for (size_t k = 0; k < r; k++) {
        h[k] = 0;
        for (size_t l = 0; l < r; l++)
            h[k] += a[k * r + l] * b[l];
        loss -= h[k] * b[k];
    }
    free(a);
    free(b);
    return loss;
}

static void half_steps_solve_their_equations(test *t)
{
    enum { RANK = 9 };
    const float lambda = 0.5f, alpha = 3;
    float v[ITEMS * RANK], square[RANK * RANK], parts[RANK * RANK * EASE__SQUARE_PARTS];
    static float one[USERS * RANK], three[USERS * RANK];
    ease__random r;

    ease__random_seed(&r, 11, 0);
    for (size_t i = 0; i < (size_t)ITEMS * RANK; i++)
        v[i] = (float)ease__random_unit(&r) - 0.5f;
    ease__square(v, ITEMS, RANK, 2, parts, square);
    for (size_t k = 0; k < RANK; k++)
        square[k * (RANK + 1)] += lambda;
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = some_data(weighted);
        ease__half_step h = {
            .links = {x->users, x->row_ptr, x->cols, x->vals},
            .rank = RANK,
            .steps = 3 * RANK,
            .alpha = alpha,
            .fixed = v,
            .square = square,
            .from = one,
            .to = one,
            .kernels = ease__kernels_best(),
            .stage = "test",
        };
        double loss = 0, again = 0, want = 0;

        memset(one, 0, sizeof(one));
        memset(three, 0, sizeof(three));
        check_status(t, ease__half_step_run(&h, 1, &loss, NULL), EASE_OK);
        h.from = h.to = three;
        check_status(t, ease__half_step_run(&h, 3, &again, NULL), EASE_OK);
        for (size_t i = 0; i < (size_t)USERS * RANK; i++)
            check(t, one[i] == three[i]);
        check(t, loss == again);
        for (int64_t u = 0; u < USERS; u++) {
            double exact[RANK];

            want += dense_solve(v, ITEMS, RANK, row_of(x, u), (double)alpha,
                                (double)lambda, exact);
            for (size_t k = 0; k < RANK; k++)
                check_near(t, one[(size_t)u * RANK + k], exact[k], 1e-4);
        }
        check_near(t, loss, want, 1e-5 * want);
        ease_interactions_free(x);
    }
}

static void rows_without_others_become_zero(test *t)
{
    const int64_t starts[] = {0, 0, 1};
    const int32_t others[] = {1};
    const float v[] = {0.5f, 1, 2, -1}, square[] = {5.25f, -1.5f, -1.5f, 3};
    float h[] = {7, 8, 9, 10};
    ease__half_step step = {.links = {2, starts, others, NULL},
                            .rank = 2,
                            .steps = 1,
                            .alpha = 1,
                            .fixed = v,
                            .square = square,
                            .from = h,
                            .to = h,
                            .kernels = ease__kernels_best(),
                            .stage = "test"};
    double loss;

    check_status(t, ease__half_step_run(&step, 1, &loss, NULL), EASE_OK);
    check(t, h[0] == 0 && h[1] == 0 && h[2] != 9);
}

/* ---- wmf ---------------------------------------------------------------------- */

typedef struct listener {
    double losses[100];
    int count;
    int stop_after; /* iterations; -1: never */
    char last[200];
} listener;

static void on_log(void *user, int level, const char *text)
{
    listener *l = user;
    const char *at = strstr(text, "loss ");

    (void)level;
    if (at && l->count < 100)
        l->losses[l->count++] = strtod(at + 5, NULL);
    snprintf(l->last, sizeof(l->last), "%s", text);
}

static int on_progress(void *user, const char *stage, double fraction)
{
    listener *l = user;

    (void)stage;
    (void)fraction;
    return l->stop_after >= 0 && l->count >= l->stop_after;
}

static void wmf_goes_down_to_its_loss(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = some_data(weighted);
        listener l = {.stop_after = -1};
        ease_hooks hooks = {on_log, on_progress, &l};
        ease_model *m = NULL;
        double loss = 0;

        check_status(t,
                     try_train(x, "wmf", "rank=6,iterations=60,alpha=2,lambda=3", 2,
                               &hooks, &m, NULL),
                     EASE_OK);
        check_int(t, l.count, 60);
        for (int i = 1; i < l.count; i++)
            check(t, l.losses[i] <= l.losses[i - 1] * (1 + 1e-6));
        for (int64_t u = 0; m && u < USERS; u++) {
            double h[6];

            loss += dense_solve(m->latent.decoder, ITEMS, 6, row_of(x, u), 2, 3, h);
        }
        for (size_t i = 0; m && i < (size_t)ITEMS * 6; i++)
            loss += 3 * (double)m->latent.decoder[i] * (double)m->latent.decoder[i];
        /* Users are one half step behind in the log. */
        check_near(t, loss, l.losses[59], 1e-3 * loss);
        ease_model_free(m);
        ease_interactions_free(x);
    }
}

static void wmf_folds_in_as_it_trains(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = some_data(weighted);
        ease_model *m = train(t, x, "wmf", "rank=6,alpha=2,lambda=3", 1);

        for (int64_t u = 0; u < USERS; u += 7) {
            float scores[ITEMS];
            double h[6];

            if (row_of(x, u).count == 0)
                continue;
            dense_solve(m->latent.decoder, ITEMS, 6, row_of(x, u), 2, 3, h);
            all_scores(t, m, row_of(x, u), scores);
            for (int32_t i = 0; i < ITEMS; i++) {
                double want = 0;

                for (size_t k = 0; k < 6; k++)
                    want += h[k] * (double)m->latent.decoder[(size_t)i * 6 + k];
                check_near(t, scores[i], want, 1e-4);
            }
        }
        ease_model_free(m);
        ease_interactions_free(x);
    }
}

/* Everything alike: with alpha 0 nobody's items count more than the others. */
static void wmf_takes_any_alpha_but_some_lambda(test *t)
{
    ease_interactions *x = some_data(false);
    ease_error err = {0};
    ease_model *m = train(t, x, "wmf", "rank=60,alpha=0", 1);

    check(t, isfinite(m->latent.decoder[0]));
    ease_model_free(m);
    m = NULL;
    check_status(t, try_train(x, "wmf", "lambda=0", 1, NULL, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "lambda: a number from 1e-06");
    check_status(t, try_train(x, "wmf", "alpha=nan", 1, NULL, &m, &err), EASE_E_ARG);
    check_status(t, try_train(x, "wmf", "alpha=-1", 1, NULL, &m, &err), EASE_E_ARG);
    check(t, m == NULL);
    ease_interactions_free(x);
}

static void wmf_refuses_what_is_no_confidence(test *t)
{
    ease_interactions *x = some_data(true);
    ease_error err = {0};
    ease_model *m = NULL;

    x->vals[3] = -0.5f;
    check_status(t, try_train(x, "wmf", "rank=4", 1, NULL, &m, &err), EASE_E_DATA);
    check_contains(t, err.text, "below 0");
    x->vals[3] = 3e38f;
    check_status(t, try_train(x, "wmf", "rank=4", 1, NULL, &m, &err), EASE_E_ACCURACY);
    check_contains(t, err.text, "not finite after iteration 1");
    check(t, m == NULL);
    ease_interactions_free(x);
}

static void wmf_keeps_what_it_has_when_stopped(test *t)
{
    ease_interactions *x = some_data(false);
    listener l = {.stop_after = 2};
    ease_hooks hooks = {on_log, on_progress, &l};
    ease_model *whole = train(t, x, "wmf", "rank=6,iterations=2", 2), *m = NULL;

    check_status(t, try_train(x, "wmf", "rank=6,iterations=9", 2, &hooks, &m, NULL),
                 EASE_OK);
    check(t, m && same_numbers(m, whole));
    check_text(t, l.last, "stopped after 2 of 9 iterations: the last is kept");
    ease_model_free(m);
    m = NULL;
    l = (listener){.stop_after = 0};
    for (int i = 0; i < 20; i++) /* whether or not the caller's thread has a block */
        check_status(t, try_train(x, "wmf", "rank=6,iterations=9", 8, &hooks, &m, NULL),
                     EASE_E_CANCELLED);
    check_status(t, try_train(x, "ii-svd", "rank=6", 2, &hooks, &m, NULL),
                 EASE_E_CANCELLED);
    check(t, m == NULL);
    ease_model_free(whole);
    ease_interactions_free(x);
}

/* ---- ii-svd ------------------------------------------------------------------- */

/* With all vectors V V' is the identity. */
static void ii_svd_of_full_rank_is_item_item(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = some_data(weighted);
        ease_model *m = train(t, x, "ii-svd", "rank=60,neighbours=20,shrinkage=2", 2);
        ease_model *near = train(t, x, "item-item", "neighbours=20,shrinkage=2", 1);

        for (int64_t u = 0; u < USERS; u += 11) {
            float got[ITEMS], want[ITEMS];

            if (row_of(x, u).count == 0)
                continue;
            all_scores(t, m, row_of(x, u), got);
            all_scores(t, near, row_of(x, u), want);
            for (int32_t i = 0; i < ITEMS; i++)
                check_near(t, got[i], want[i], 1e-5 * (1 + fabs((double)want[i])));
        }
        ease_model_free(m);
        ease_model_free(near);
        ease_interactions_free(x);
    }
}

static void ranks_above_the_data_are_refused(test *t)
{
    ease_interactions *x = some_data(false), *few = NULL;
    ease_error err = {0};
    ease_model *m = NULL;

    check_status(t, try_train(x, "wmf", "rank=61", 1, NULL, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "61 is above the number of items, 60");
    check_status(t, try_train(x, "ii-svd", NULL, 1, NULL, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "500 is above the number of items, 60");
    if (ease_interactions_from_csr(20, ITEMS, x->row_ptr, x->cols, NULL, &few, NULL))
        abort();
    check_status(t, try_train(few, "ii-svd", "rank=21", 1, NULL, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "21 is above the number of users, 20");
    check(t, m == NULL);
    ease_model_free(train(t, few, "ii-svd", "rank=20", 2));
    ease_model_free(train(t, few, "ii-svd", "rank=2,neighbours=1", 2)); /* S is 0 */
    ease_interactions_free(few);
    ease_interactions_free(x);
}

static void nobody_is_data_too(test *t)
{
    const int64_t none[] = {0};
    ease_interactions *x = NULL;
    ease_model *m = NULL;
    ease_error err = {0};

    if (!check_status(t, ease_interactions_from_csr(0, 5, none, NULL, NULL, &x, NULL),
                      EASE_OK))
        return;
    m = train(t, x, "wmf", "rank=2", 2);
    for (size_t i = 0; i < 10; i++)
        check(t, m->latent.decoder[i] == 0);
    ease_model_free(m);
    m = NULL;
    check_status(t, try_train(x, "ii-svd", "rank=1", 1, NULL, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "above the number of users, 0");
    ease_interactions_free(x);
}

/* ---- both --------------------------------------------------------------------- */

static void training_repeats_at_any_number_of_threads(test *t)
{
    ease_interactions *x = some_data(true);
    static const char *const other[] = {"rank=8,iterations=5,seed=2",
                                        "rank=8,iterations=1,seed=2"};

    for (int i = 0; i < 2; i++) {
        ease_model *one = train(t, x, methods[i], small[i], 1);
        ease_model *two = train(t, x, methods[i], small[i], 2);
        ease_model *five = train(t, x, methods[i], small[i], 5);
        ease_model *seed = train(t, x, methods[i], other[i], 1);

        check(t, same_numbers(one, two));
        check(t, same_numbers(one, five));
        check(t, !same_numbers(one, seed));
        ease_model_free(one);
        ease_model_free(two);
        ease_model_free(five);
        ease_model_free(seed);
    }
    ease_interactions_free(x);
}

static void latent_models_come_back_from_files(test *t)
{
    static const char *const says[] = {
        "rank=8,alpha=3,lambda=30,iterations=5,steps=3,seed=0",
        "similarity=cosine,neighbours=100,shrinkage=0,rank=8,iterations=4,seed=0"};
    ease_interactions *x = some_data(true);

    for (int i = 0; i < 2; i++) {
        ease_model *m = train(t, x, methods[i], small[i], 1);
        ease_model *back = reopened(t, m, EASE_STORE_F16);
        ease_model_info info = model_info(back);

        check_text(t, info.method, methods[i]);
        check_text(t, info.settings, says[i]);
        check_int(t, info.storage, EASE_STORE_LATENT);
        check(t, same_numbers(m, back));
        ease_model_free(back);
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

/* The file is whole, but what it says cannot be. */
static void check_refused(test *t, const ease_model *m, ease__latent_shape shape,
                          ease_status want)
{
    ease_model changed = *m;
    const char *path = test_path("shape.ease");
    ease_model *back = NULL;

    changed.latent.shape = shape;
    check_status(t, ease_model_save(&changed, path, EASE_STORE_F32, NULL, NULL),
                 EASE_OK);
    check_status(t, ease_model_open(path, NULL, &back, NULL), want);
    ease_model_free(back);
}

static void damaged_latent_files_are_refused(test *t)
{
    ease_interactions *x = some_data(false);

    for (int i = 0; i < 2; i++) {
        ease_model *m = train(t, x, methods[i], small[i], 1);
        ease__latent_shape good = m->latent.shape, bad = good;

        if (i == 0) { /* the matrices of a network would be too few for fold-in */
            bad.encoder = EASE__NETWORK;
            check_refused(t, m, bad, EASE_E_FORMAT);
        }
        bad.encoder = EASE__FOLD_IN + 1; /* a later version may have it */
        check_refused(t, m, bad, EASE_E_VERSION);
        bad = good;
        bad.lambda = i == 0 ? 0 : 1;
        check_refused(t, m, bad, EASE_E_FORMAT);
        bad = good;
        bad.alpha = NAN;
        check_refused(t, m, bad, EASE_E_FORMAT);
        bad = good;
        bad.normalize = 2;
        check_refused(t, m, bad, EASE_E_FORMAT);
        bad = good;
        bad.activation[0] = EASE__TANH + 1;
        check_refused(t, m, bad, EASE_E_VERSION);
        bad = good;
        bad.activation[0] = -1;
        check_refused(t, m, bad, EASE_E_FORMAT);
        bad = good;
        bad.activation[3] = EASE__TANH;
        check_refused(t, m, bad, EASE_E_FORMAT);
        bad = good;
        bad.width[3] = 5; /* past the layers */
        check_refused(t, m, bad, EASE_E_FORMAT);
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

static void latent_parts_are_those_of_the_encoder(test *t)
{
    ease_interactions *x = some_data(false);
    ease_model *m = train(t, x, "wmf", "rank=8,iterations=1", 1);
    ease_model changed = *m;
    float embedding[ITEMS * 8] = {0};

    changed.latent.embedding = embedding; /* fold-in has none */
    check_refused(t, &changed, m->latent.shape, EASE_E_FORMAT);
    for (int32_t width = 0; width < 3; width++) {
        static const int32_t widths[] = {0, -1, EASE__MOST_WIDTH + 1};
        ease__latent_shape shape = m->latent.shape;

        shape.width[0] = widths[width];
        check(t, !ease__latent_shape_valid(&shape));
    }
    ease_model_free(m);
    ease_interactions_free(x);
}

static void check_lists(test *t, const ease_model *m, const ease_interactions *x,
                        int threads, int64_t many)
{
    enum { K = 12 };
    static ease_rec all[USERS * K];
    static int32_t counts[USERS];
    ease_row rows[USERS];
    ease_recommend_options o;
    ease_scorer *s = NULL;

    ease_recommend_options_init(&o);
    o.k = K;
    o.threads = threads;
    for (int64_t u = 0; u < many; u++)
        rows[u] = u == 3 ? (ease_row){0} : row_of(x, u);
    check_status(t, ease_recommend_many(m, rows, many, &o, all, counts, NULL), EASE_OK);
    if (ease_scorer_new(m, &s, NULL))
        abort();
    for (int64_t u = 0; u < many; u++) {
        ease_rec own[K];
        int32_t count = 0;

        check_status(t, ease_recommend(s, rows[u], &o, own, &count, NULL), EASE_OK);
        check_int(t, counts[u], count);
        check(t, memcmp(own, all + u * K, (size_t)count * sizeof(*own)) == 0);
        for (int32_t k = 1; u == 3 && k < count; k++)
            check(t, ease_model_popularity(m, own[k - 1].item) >=
                         ease_model_popularity(m, own[k].item));
    }
    ease_scorer_free(s);
}

static void one_list_and_many_have_the_same_bits(test *t)
{
    static const char *const wider[] = {"rank=37,iterations=2", "rank=37"};
    ease_interactions *x = some_data(true);

    for (int i = 0; i < 4; i++) {
        ease_model *m = train(t, x, methods[i % 2], (i < 2 ? small : wider)[i % 2], 1);

        check_lists(t, m, x, 1, USERS);
        check_lists(t, m, x, 3, USERS);
        check_lists(t, m, x, 2, 65);
        check_lists(t, m, x, 1, 5);
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

static void scores_have_the_same_bits_on_every_processor(test *t)
{
    const ease__kernels *newer[] = {ease__kernels_avx2(), ease__kernels_avx512(),
                                    ease__kernels_neon()};
    ease_interactions *x = some_data(true);

    for (int i = 0; i < 2; i++) {
        ease_model *m = train(t, x, methods[i], "rank=37", 1);

        for (int64_t u = 0; u < USERS; u += 7) {
            float plain[ITEMS], wide[ITEMS];

            m->kernels = &ease__kernels_plain;
            all_scores(t, m, row_of(x, u), plain);
            for (int k = 0; k < 3; k++) {
                if (!newer[k])
                    continue;
                m->kernels = newer[k];
                all_scores(t, m, row_of(x, u), wide);
                check(t, memcmp(plain, wide, sizeof(plain)) == 0);
            }
        }
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

static void items_are_alike_but_give_no_reasons(test *t)
{
    ease_interactions *x = some_data(false);

    for (int i = 0; i < 2; i++) {
        ease_model *m = train(t, x, methods[i], small[i], 1);
        ease_scorer *s = NULL;
        ease_rec recs[10];
        ease_error err = {0};
        float base, score;
        int32_t count = 0;

        if (ease_scorer_new(m, &s, NULL))
            abort();
        check_status(t, ease_similar(s, 5, NULL, recs, &count, &err), EASE_OK);
        check_int(t, count, 10);
        for (int32_t k = 0; k < count; k++)
            check(t, recs[k].item != 5 && recs[k].score <= 1.0001f);
        check_status(
            t,
            ease_explain(s, (ease_row){x->cols, NULL, 1}, 5, recs, &base, &score, &err),
            EASE_E_ARG);
        check_contains(t, err.text, "explaining needs weights");
        check_contains(t, err.text, methods[i]);
        ease_scorer_free(s);
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

static void training_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = some_data(true);

    for (int i = 0; i < 2; i++) {
        ease_status status;
        int n = 0;

        ease_model_free(
            train(t, x, methods[i], small[i], 1)); /* BLAS has its buffers */
        do {
            ease_model *m = NULL;

            alloc_fail_after(n++);
            status = try_train(x, methods[i], small[i], 1, NULL, &m, NULL);
            alloc_fail_after(-1);
            check_int(t, m != NULL, status == EASE_OK);
            ease_model_free(m);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
    }
    ease_interactions_free(x);
}

static void memory_limits_are_kept(test *t)
{
    ease_interactions *x = some_data(false);

    for (int i = 0; i < 2; i++) {
        ease_train_options o;
        ease_model *m = NULL;
        ease_error err = {0};

        ease_train_options_init(&o);
        o.settings = small[i];
        o.memory_limit = 30000;
        check_status(t, train_method(x, methods[i], &o, &m, &err), EASE_E_MEMORY_LIMIT);
        check(t, m == NULL);
    }
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(half_steps_solve_their_equations),
    TEST(rows_without_others_become_zero),
    TEST(wmf_goes_down_to_its_loss),
    TEST(wmf_folds_in_as_it_trains),
    TEST(wmf_takes_any_alpha_but_some_lambda),
    TEST(wmf_refuses_what_is_no_confidence),
    TEST(wmf_keeps_what_it_has_when_stopped),
    TEST(ii_svd_of_full_rank_is_item_item),
    TEST(ranks_above_the_data_are_refused),
    TEST(nobody_is_data_too),
    TEST(training_repeats_at_any_number_of_threads),
    TEST(latent_models_come_back_from_files),
    TEST(damaged_latent_files_are_refused),
    TEST(latent_parts_are_those_of_the_encoder),
    TEST(one_list_and_many_have_the_same_bits),
    TEST(scores_have_the_same_bits_on_every_processor),
    TEST(items_are_alike_but_give_no_reasons),
    TEST(training_survives_every_failed_allocation),
    TEST(memory_limits_are_kept),
};

TEST_MAIN(cases)
