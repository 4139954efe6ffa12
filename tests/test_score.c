/* Scoring: one history and many, against a twin that scores everything and sorts. */
#include <float.h>
#include <pthread.h>

#include "compute/topk.h"
#include "models.h"
#include "ranked.h"

static const ease_storage storages[] = {EASE_STORE_F32, EASE_STORE_F16,
                                        EASE_STORE_PACKED};

/* A random history of up to `most` items; items and weights are freed by the caller. */
static ease_row random_history(ease__random *r, int32_t n, int32_t most, bool weighted)
{
    int32_t want = (int32_t)ease__random_below(r, (uint64_t)most + 1), left = want;
    int32_t *items = calloc((size_t)want + 1, sizeof(*items));
    float *weights = weighted ? calloc((size_t)want + 1, sizeof(*weights)) : NULL;
    int32_t count = 0;

    for (int32_t i = 0; i < n && left > 0; i++)
        if (ease__random_below(r, (uint64_t)(n - i)) < (uint64_t)left) {
            if (weights)
                weights[count] = left % 3 ? (float)(ease__random_unit(r) * 4 - 1)
                                          : 1.0f;
            items[count++] = i;
            left--;
        }
    return (ease_row){items, weights, count};
}

static void free_history(ease_row row)
{
    free((void *)(uintptr_t)row.items);
    free((void *)(uintptr_t)row.weights);
}

static bool contains(ease_row row, int32_t item)
{
    for (int32_t h = 0; h < row.count; h++)
        if (row.items[h] == item)
            return true;
    return false;
}

/* The plainest way: every score, then all sorted. */
static int32_t twin_recommend(const ease_model *m, ease_row row,
                              const ease_recommend_options *o, ease_rec *out)
{
    int32_t n = model_info(m).items, count = 0;
    ease_rec *all = calloc((size_t)n, sizeof(*all));

    for (int32_t j = 0; j < n; j++) {
        volatile float score = ease_model_base(m, j);

        for (int32_t h = 0; h < row.count; h++) {
            volatile float part = ease__model_weight(m, row.items[h], j);

            if (row.weights)
                part = part * row.weights[h];
            score = score + part;
        }
        if (row.count == 0)
            score = (float)(ease_model_popularity(m, j) / (double)model_info(m).users);
        if ((o->allowed && !o->allowed[j]) || (!o->keep_seen && contains(row, j)))
            continue;
        all[count++] = (ease_rec){j, score};
    }
    ranked_sort(m, all, count);
    if (count > o->k)
        count = o->k;
    memcpy(out, all, (size_t)count * sizeof(*out));
    free(all);
    return count;
}

static void lists_are_those_of_the_twin(test *t)
{
    int32_t sizes[] = {1, 2, 63, 64, 65, 200, 700};
    ease__random r;

    ease__random_seed(&r, 5, 0);
    for (int round = 0; round < 126; round++) {
        int32_t n = sizes[round % 7];
        ease_gram_kind kind = (ease_gram_kind)(round % 3);
        ease_model *made = random_model(n, (uint64_t)round, round % 2, kind,
                                        round % 5 == 0);
        ease_model *m = reopened(t, made, storages[round / 7 % 3]);
        ease_row row = random_history(&r, n, n < 30 ? n : 30, round % 4 == 1);
        ease_rec *got = calloc((size_t)n + 9, sizeof(*got));
        ease_rec *want = calloc((size_t)n + 9, sizeof(*want));
        uint8_t *allowed = calloc((size_t)n, 1);
        ease_recommend_options o;
        ease_scorer *s = NULL;
        int32_t count = -1, wanted;

        for (int32_t i = 0; i < n; i++)
            allowed[i] = (uint8_t)ease__random_below(&r, 2) * 7;
        ease_recommend_options_init(&o);
        o.k = round % 6 == 0 ? n + 9 : 1 + (int32_t)ease__random_below(&r, 20);
        if (o.k > n + 9)
            o.k = n + 9;
        o.keep_seen = round % 3 == 2;
        o.allowed = round % 4 == 2 ? allowed : NULL;
        check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
        check_status(t, ease_recommend(s, row, &o, got, &count, NULL), EASE_OK);
        wanted = twin_recommend(m, row, &o, want);
        check_int(t, count, wanted);
        if (!check(t, memcmp(got, want, (size_t)wanted * sizeof(*got)) == 0))
            printf("  round %d\n", round);
        ease_scorer_free(s);
        free(got);
        free(want);
        free(allowed);
        free_history(row);
        ease_model_free(m);
        ease_model_free(made);
    }
}

static void the_default_is_ten_unseen_items(test *t)
{
    ease_model *m = random_model(50, 1, false, EASE_GRAM_COUNTS, false);
    int32_t items[] = {3, 7, 20}, count = 0;
    ease_row row = {items, NULL, 3};
    ease_scorer *s = NULL;
    ease_rec recs[10];

    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    check_status(t, ease_recommend(s, row, NULL, recs, &count, NULL), EASE_OK);
    check_int(t, count, 10);
    for (int32_t i = 0; i < 10; i++)
        check(t, !contains(row, recs[i].item));
    ease_scorer_free(s);
    ease_scorer_free(NULL);
    ease_model_free(m);
}

static void an_empty_history_gets_the_popular_items(test *t)
{
    ease_model *m = random_model(50, 1, false, EASE_GRAM_COVARIANCE, false);
    ease_scorer *s = NULL;
    ease_rec recs[10];
    int32_t count = 0;

    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    check_status(t, ease_recommend(s, (ease_row){0}, NULL, recs, &count, NULL),
                 EASE_OK);
    check_int(t, count, 10);
    for (int32_t i = 0; i < 10; i++) {
        check(t, recs[i].score == (float)(ease_model_popularity(m, recs[i].item) / 50));
        check(t, i == 0 || recs[i].score <= recs[i - 1].score);
    }
    m->info.users = -1;
    check_status(t, ease_recommend(s, (ease_row){0}, NULL, recs, &count, NULL),
                 EASE_OK);
    check(t, recs[0].score == (float)ease_model_popularity(m, recs[0].item));
    ease_scorer_free(s);
    ease_model_free(m);
}

static void wrong_histories_and_options_are_refused(test *t)
{
    ease_model *m = random_model(20, 1, false, EASE_GRAM_COUNTS, false);
    int32_t far[] = {1, 20}, negative[] = {-1}, twice[] = {4, 4}, falling[] = {5, 3};
    int32_t good[] = {1, 2}, count = 77;
    float nan[] = {1, NAN}, infinite[] = {1, -INFINITY};
    ease_row rows[] = {{far, NULL, 2},     {negative, NULL, 1}, {twice, NULL, 2},
                       {falling, NULL, 2}, {good, nan, 2},      {good, infinite, 2},
                       {good, NULL, -1},   {NULL, NULL, 2}};
    ease_recommend_options o;
    ease_scorer *s = NULL;
    ease_rec recs[20];
    float base = 77, score = 77;
    ease_error err;

    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ease_row two[] = {{good, NULL, 2}, rows[i]};
        int32_t counts[2];

        check_status(t, ease_recommend(s, rows[i], NULL, recs, &count, &err),
                     EASE_E_ARG);
        check_status(t, ease_explain(s, rows[i], 0, recs, &base, &score, &err),
                     EASE_E_ARG);
        check_status(t, ease_recommend_many(m, two, 2, NULL, recs, counts, &err),
                     EASE_E_ARG);
        check_int(t, err.where, 1);
    }
    ease_recommend_options_init(&o);
    o.k = 0;
    check_status(t, ease_recommend(s, rows[0], &o, recs, &count, &err), EASE_E_ARG);
    check_contains(t, err.text, "k is 0");
    memset(&o, 0, sizeof(o));
    check_status(t, ease_similar(s, 0, &o, recs, &count, &err), EASE_E_ARG);
    check_status(t, ease_similar(s, 20, NULL, recs, &count, &err), EASE_E_ARG);
    check_status(t, ease_similar(s, -1, NULL, recs, &count, &err), EASE_E_ARG);
    check_status(
        t, ease_explain(s, (ease_row){good, NULL, 2}, 20, recs, &base, &score, NULL),
        EASE_E_ARG);
    check_status(t, ease_recommend_many(m, rows, -1, NULL, recs, &count, NULL),
                 EASE_E_ARG);
    check_int(t, count, 77);
    check(t, base == 77 && score == 77);
    ease_scorer_free(s);
    ease_model_free(m);
}

/* ---- many --------------------------------------------------------------------- */

enum { MANY = 150, K = 9 };

static void make_histories(ease_row *rows, int32_t n, bool weighted, uint64_t seed)
{
    ease__random r;

    ease__random_seed(&r, seed, 9);
    for (int u = 0; u < MANY; u++)
        rows[u] = random_history(&r, n,
                                 u % 10 == 0 ? 0
                                 : n < 40    ? n
                                             : 40,
                                 weighted && u % 2);
}

static void many_lists_are_those_of_one_at_any_number_of_threads(test *t)
{
    int32_t sizes[] = {5, 64, 1100};

    for (int round = 0; round < 27; round++) {
        int32_t n = sizes[round % 3];
        ease_model *made = random_model(n, (uint64_t)round, round % 2,
                                        (ease_gram_kind)(round / 3 % 3), round == 4);
        ease_model *m = reopened(t, made, storages[round / 9]);
        ease_rec *recs = calloc((size_t)MANY * K, sizeof(*recs)), one[K];
        uint8_t *allowed = calloc((size_t)n, 1);
        ease_row rows[MANY];
        ease_recommend_options o;
        ease_scorer *s = NULL;

        make_histories(rows, n, round % 2 == 0, (uint64_t)round);
        for (int32_t i = 0; i < n; i++)
            allowed[i] = i % 3 != 0;
        ease_recommend_options_init(&o);
        o.k = K;
        o.keep_seen = round % 5 == 1;
        o.allowed = round % 4 == 1 ? allowed : NULL;
        check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
        for (o.threads = 1; o.threads <= 3; o.threads++) {
            int32_t counts[MANY];

            memset(recs, 0x5a, (size_t)MANY * K * sizeof(*recs));
            check_status(t, ease_recommend_many(m, rows, MANY, &o, recs, counts, NULL),
                         EASE_OK);
            for (int u = 0; u < MANY; u++) {
                int32_t count = -1;

                check_status(t, ease_recommend(s, rows[u], &o, one, &count, NULL),
                             EASE_OK);
                check_int(t, counts[u], count);
                check(t, memcmp(one, recs + (size_t)u * K,
                                (size_t)count * sizeof(*one)) == 0);
            }
        }
        for (int u = 0; u < MANY; u++)
            free_history(rows[u]);
        ease_scorer_free(s);
        free(recs);
        free(allowed);
        ease_model_free(m);
        ease_model_free(made);
    }
}

/* A list of the many, and the one of the same history alone. */
static void check_twin(test *t, const ease_model *m, ease_row row,
                       const ease_recommend_options *o, const ease_rec *got,
                       int32_t count)
{
    ease_rec *want = calloc((size_t)model_info(m).items, sizeof(*want));
    ease_rec *one = calloc((size_t)o->k, sizeof(*one));
    int32_t wanted = twin_recommend(m, row, o, want), alone = -1;
    size_t bytes = (size_t)wanted * sizeof(*want);
    ease_scorer *s = NULL;

    check_int(t, count, wanted);
    check(t, memcmp(got, want, bytes) == 0);
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    for (int again = 0; again < 2; again++) {
        check_status(t, ease_recommend(s, row, o, one, &alone, NULL), EASE_OK);
        check_int(t, alone, wanted);
        check(t, memcmp(one, want, bytes) == 0);
    }
    ease_scorer_free(s);
    free(want);
    free(one);
}

/* Lists longer than what the rows reach, shorter ones, weights of both signs. */
static void lists_of_few_weights_are_those_of_the_twin(test *t)
{
    int32_t sizes[] = {1, 2, 60, 1500}, longest[] = {1, 9, 40, 1200};

    for (int round = 0; round < 64; round++) {
        int32_t n = sizes[round % 4], counts[MANY];
        ease_model *made = random_sparse(n, (uint64_t)round, round / 4 % 2), *m;
        uint8_t *allowed = calloc((size_t)n, 1);
        float *base = calloc((size_t)n, sizeof(*base));
        ease_recommend_options o;
        ease_row rows[MANY];
        ease_rec *recs;

        for (int32_t i = 0; i < n; i++) {
            allowed[i] = i % 3 != 1;
            base[i] = 0.25f * (float)(i % 4 - 2);
        }
        if (round % 16 == 15)
            made->base = base;
        else
            free(base);
        m = reopened(t, made, EASE_STORE_SPARSE);
        make_histories(rows, n, round / 8 % 2, (uint64_t)round);
        ease_recommend_options_init(&o);
        o.k = longest[round / 16];
        o.keep_seen = round % 5 == 1;
        o.allowed = round % 3 == 1 ? allowed : NULL;
        o.threads = 1 + round % 3;
        recs = calloc((size_t)MANY * (size_t)o.k, sizeof(*recs));
        check_status(t, ease_recommend_many(m, rows, MANY, &o, recs, counts, NULL),
                     EASE_OK);
        for (int u = 0; u < MANY; u++) {
            check_twin(t, m, rows[u], &o, recs + (size_t)u * (size_t)o.k, counts[u]);
            free_history(rows[u]);
        }
        free(recs);
        free(allowed);
        ease_model_free(m);
        ease_model_free(made);
    }
}

/* More users than are scored together. */
static void lists_of_more_users_than_a_batch_are_right(test *t)
{
    enum { USERS = 140000, ITEMS = 70 };
    ease_model *m = random_model(ITEMS, 3, false, EASE_GRAM_COUNTS, false);
    ease_row *rows = calloc(USERS, sizeof(*rows));
    int32_t *items = calloc(USERS, sizeof(*items)),
            *counts = calloc(USERS, sizeof(int));
    ease_rec *recs = calloc((size_t)USERS * 3, sizeof(*recs)), one[3];
    ease_recommend_options o;
    ease_scorer *s = NULL;

    for (int32_t u = 0; u < USERS; u++) {
        items[u] = (u / 7) % ITEMS;
        rows[u] = (ease_row){items + u, NULL, 1};
    }
    ease_recommend_options_init(&o);
    o.k = 3;
    check_status(t, ease_recommend_many(m, rows, USERS, &o, recs, counts, NULL),
                 EASE_OK);
    check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
    for (int32_t u = 0; u < USERS; u += 97) {
        int32_t count = 0;

        check_status(t, ease_recommend(s, rows[u], &o, one, &count, NULL), EASE_OK);
        check_int(t, counts[u], count);
        check(t, memcmp(one, recs + (size_t)u * 3, sizeof(one)) == 0);
    }
    check_status(t, ease_recommend_many(m, NULL, 0, &o, NULL, NULL, NULL), EASE_OK);
    ease_scorer_free(s);
    free(rows);
    free(items);
    free(counts);
    free(recs);
    ease_model_free(m);
}

typedef struct watch {
    double last;
    bool backwards;
    double stop; /* at this fraction */
} watch;

static int see(void *user, const char *stage, double fraction)
{
    watch *w = user;

    w->backwards = w->backwards || fraction < w->last || strcmp(stage, "recommending");
    w->last = fraction;
    return fraction >= w->stop;
}

static void check_progress(test *t, ease_model *m)
{
    ease_rec *recs = calloc((size_t)MANY * 10, sizeof(*recs));
    watch w = {.stop = 2};
    ease_row rows[MANY];
    int32_t counts[MANY];
    ease_recommend_options o;

    make_histories(rows, 1100, false, 1);
    ease_recommend_options_init(&o);
    o.hooks = &(ease_hooks){.progress = see, .user = &w};
    check_status(t, ease_recommend_many(m, rows, MANY, &o, recs, counts, NULL),
                 EASE_OK);
    check(t, !w.backwards && w.last == 1.0);
    for (o.threads = 1; o.threads <= 3; o.threads++) {
        w = (watch){.stop = 0.5};
        check_status(t, ease_recommend_many(m, rows, MANY, &o, recs, counts, NULL),
                     EASE_E_CANCELLED);
        /* Of a sparse model's users the caller's thread may be given none to report. */
        check(t,
              w.last < 0.6 || (o.threads > 1 && m->info.storage == EASE_STORE_SPARSE));
    }
    for (int u = 0; u < MANY; u++)
        free_history(rows[u]);
    free(recs);
    ease_model_free(m);
}

/* How many blocks of the weights have been verified. */
static int verified_blocks(const ease_model *m)
{
    const ease__mapped *s = &m->file.watch->section[0];
    int count = 0;

    for (size_t i = 0; i <= ease__blocks_of(s->bytes) / 64; i++)
        count += __builtin_popcountll(atomic_load(&s->verified[i]));
    return count;
}

typedef struct verification {
    const ease_model *model;
    pthread_t caller;
    bool elsewhere; /* asked in another thread */
} verification;

static int stop_when_begun(void *user, const char *stage, double fraction)
{
    verification *v = user;

    (void)stage;
    (void)fraction;
    v->elsewhere = v->elsewhere || !pthread_equal(v->caller, pthread_self());
    return verified_blocks(v->model) > 0;
}

static void verifying_can_be_cancelled(test *t)
{
    static int32_t items[3000];
    ease_row row = {.items = items, .count = 3000};
    ease_model *made = random_model(3000, 3, false, EASE_GRAM_COUNTS, false);

    for (int32_t i = 0; i < 3000; i++)
        items[i] = i;
    for (size_t i = 0; i < 3; i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            ease_model *m = reopened(t, made, storages[i]);
            verification v = {.model = m, .caller = pthread_self()};
            int blocks = (int)ease__blocks_of(m->file.watch->section[0].bytes);
            ease_recommend_options o;
            ease_rec recs[10];
            int32_t count;

            ease_recommend_options_init(&o);
            o.threads = threads;
            o.hooks = &(ease_hooks){.progress = stop_when_begun, .user = &v};
            check_status(t, ease_recommend_many(m, &row, 1, &o, recs, &count, NULL),
                         EASE_E_CANCELLED);
            check(t, !v.elsewhere);
            if (threads == 1 && !check(t, verified_blocks(m) < blocks))
                printf("  %d of %d blocks\n", verified_blocks(m), blocks);
            ease_model_free(m);
        }
    ease_model_free(made);
}

static void many_report_progress_and_can_be_cancelled(test *t)
{
    check_progress(t, random_model(1100, 3, false, EASE_GRAM_COUNTS, false));
    check_progress(t, random_sparse(1100, 3, false));
}

/* ---- reasons and likeness ----------------------------------------------------- */

static void reasons_add_up_to_the_score_bit_for_bit(test *t)
{
    ease__random r;

    ease__random_seed(&r, 6, 0);
    for (int round = 0; round < 12; round++) {
        ease_model *made = random_model(600, (uint64_t)round, false,
                                        (ease_gram_kind)(round % 3), false);
        ease_model *m = reopened(t, made, storages[round / 3 % 3]);
        ease_row row = random_history(&r, 600, 40, round % 2);
        ease_rec recs[20], *reasons = calloc(41, sizeof(*reasons));
        ease_recommend_options o;
        ease_scorer *s = NULL;
        int32_t count = 0;

        ease_recommend_options_init(&o);
        o.k = 20;
        check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
        check_status(t, ease_recommend(s, row, &o, recs, &count, NULL), EASE_OK);
        for (int32_t i = 0; row.count > 0 && i < count; i++) {
            float base = 9, score = 9;
            volatile float sum;

            check_status(
                t, ease_explain(s, row, recs[i].item, reasons, &base, &score, NULL),
                EASE_OK);
            sum = base;
            for (int32_t h = 0; h < row.count; h++) {
                check_int(t, reasons[h].item, row.items[h]);
                sum = sum + reasons[h].score;
            }
            check(t, sum == score && score == recs[i].score);
            check(t, base == ease_model_base(m, recs[i].item));
        }
        ease_scorer_free(s);
        free(reasons);
        free_history(row);
        ease_model_free(m);
        ease_model_free(made);
    }
}

/* -P_ij / sqrt(P_ii P_jj), the same from both sides. */
static void likeness_is_the_partial_correlation(test *t)
{
    enum { USERS = 60, ITEMS = 12 };

    for (int round = 0; round < 9; round++) {
        ease_gram_kind kind = (ease_gram_kind)(round % 3);
        double *x = random_data(USERS, ITEMS, (uint64_t)round);
        dense_model d = dense_train(x, USERS, ITEMS, kind, 2.5, false);
        ease_model *made = model_of(&d, USERS, kind, false, EASE__F32);
        ease_model *m = reopened(t, made, storages[round / 3]);
        double half = storages[round / 3] == EASE_STORE_F16 ? 0x1p-11 : 0;
        ease_recommend_options o;
        ease_scorer *s = NULL;

        ease_recommend_options_init(&o);
        o.k = ITEMS;
        o.keep_seen = round % 2;
        check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
        for (int32_t i = 0; i < ITEMS; i++) {
            ease_rec recs[ITEMS];
            int32_t count = 0;

            check_status(t, ease_similar(s, i, &o, recs, &count, NULL), EASE_OK);
            check_int(t, count, ITEMS - 1);
            for (int32_t k = 0; k < count; k++) {
                int32_t j = recs[k].item;
                double want = -d.inverse[i * ITEMS + j] /
                              sqrt(d.inverse[i * ITEMS + i] * d.inverse[j * ITEMS + j]);

                check(t, j != i);
                check(t, k == 0 || recs[k].score <= recs[k - 1].score);
                check_near(t, recs[k].score, want,
                           fabs(want) * (half + 6 * FLT_EPSILON) + half * 1e-6);
            }
        }
        ease_scorer_free(s);
        ease_model_free(m);
        ease_model_free(made);
        dense_free(&d);
        free(x);
    }
}

/* Scores that lie further apart than halves can move them. */
static void every_storage_ranks_separated_scores_alike(test *t)
{
    enum { N = 90 };
    ease_model *made = random_model(N, 2, false, EASE_GRAM_COUNTS, false);
    int32_t order[3][N - 1], item = 0;

    for (size_t i = 0; i < made->inverse.bytes / sizeof(float); i++)
        ((float *)made->inverse.data)[i] = 1;
    for (int32_t j = 0; j < N;
         j++) /* W_ij: steps of 1/64 up to 2.4, in a mixed order */
        ((float *)(uintptr_t)made->col_scale)[j] = 1.0f + (float)(j * 37 % N) / 64;
    for (size_t k = 0; k < 3; k++) {
        ease_model *m = reopened(t, made, storages[k]);
        ease_recommend_options o;
        ease_scorer *s = NULL;
        ease_rec recs[N];
        int32_t count = 0;

        ease_recommend_options_init(&o);
        o.k = N;
        check_status(t, ease_scorer_new(m, &s, NULL), EASE_OK);
        check_status(
            t, ease_recommend(s, (ease_row){&item, NULL, 1}, &o, recs, &count, NULL),
            EASE_OK);
        check_int(t, count, N - 1);
        for (int32_t i = 0; i < N - 1; i++)
            order[k][i] = recs[i].item;
        check(t, memcmp(order[k], order[0], sizeof(order[0])) == 0);
        ease_scorer_free(s);
        ease_model_free(m);
    }
    ease_model_free(made);
}

/* ---- what can go wrong -------------------------------------------------------- */

static void numbers_that_are_none_are_never_recommended(test *t)
{
    float scores[] = {1, NAN, -INFINITY, INFINITY, 0.5f, NAN, 2, -NAN};
    ease_rec recs[8];
    ease__topk best = {.recs = recs, .capacity = 8};

    ease__topk_offer(&best, scores, 0, 8, NULL);
    ease__topk_sort(&best);
    check_int(t, best.count, 4);
    check_int(t, recs[0].item, 3);
    check_int(t, recs[1].item, 6);
    check_int(t, recs[2].item, 0);
    check_int(t, recs[3].item, 4);
}

static void check_failed_allocations(test *t, ease_model *m)
{
    int32_t items[] = {3, 4}, counts[1];
    ease_row row = {items, NULL, 2};
    ease_recommend_options o;
    ease_rec recs[10];
    ease_status status;
    int n = 0;

    ease_recommend_options_init(&o);
    o.threads = 1;
    do {
        ease_scorer *s = NULL;

        alloc_fail_after(n++);
        status = ease_scorer_new(m, &s, NULL);
        alloc_fail_after(-1);
        check_int(t, s != NULL, status == EASE_OK);
        ease_scorer_free(s);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    n = 0;
    do {
        alloc_fail_after(n++);
        status = ease_recommend_many(m, &row, 1, &o, recs, counts, NULL);
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 4);
    ease_model_free(m);
}

static void recommending_survives_every_failed_allocation(test *t)
{
    check_failed_allocations(t, random_model(30, 1, false, EASE_GRAM_COUNTS, false));
    check_failed_allocations(t, random_sparse(30, 1, false));
}

static const test_case cases[] = {
    TEST(lists_are_those_of_the_twin),
    TEST(the_default_is_ten_unseen_items),
    TEST(an_empty_history_gets_the_popular_items),
    TEST(wrong_histories_and_options_are_refused),
    TEST(many_lists_are_those_of_one_at_any_number_of_threads),
    TEST(lists_of_few_weights_are_those_of_the_twin),
    TEST(lists_of_more_users_than_a_batch_are_right),
    TEST(many_report_progress_and_can_be_cancelled),
    TEST(verifying_can_be_cancelled),
    TEST(reasons_add_up_to_the_score_bit_for_bit),
    TEST(likeness_is_the_partial_correlation),
    TEST(every_storage_ranks_separated_scores_alike),
    TEST(numbers_that_are_none_are_never_recommended),
    TEST(recommending_survives_every_failed_allocation),
};

TEST_MAIN(cases)
