/* Many updates of a model of real data, for tests/test_real_data.py:
 *
 *     run_updates batches DATA MIN_RATING COUNT [METHOD SETTINGS KIND]
 *         random batches of users who come, leave and change, then training on what is
 *         left
 *     run_updates forget DATA MIN_RATING COUNT [METHOD SETTINGS KIND]
 *         users removed one by one, each compared with training without them
 *
 * MIN_RATING "weights" keeps all ratings, as the values of X. KIND is counts or
 * covariance. Models are trained and updated in float32; those that they are compared
 * with are trained in float64. Prints one line of JSON: the largest difference of
 * weights, relative to the largest weight, over all comparisons; the largest residual
 * and deviation; and the number of places of the best 20 items of some users at which
 * two lists differ although the scores do not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data/interactions.h"
#include "model/model.h"

enum { BATCH = 10, LISTS = 100, LENGTH = 20 };
static const double LAMBDA = 500;

static void require(ease_status status, const ease_error *err)
{
    if (status) {
        fprintf(stderr, "run_updates: %s\n", err->text);
        exit(1);
    }
}

/* The rows of users who are there; of their interactions in the data they have some. */
typedef struct world {
    const ease_interactions *x;
    const char *method, *settings;
    ease_gram_kind kind;
    double lambda;
    bool *there; /* by user */
    bool *have;  /* by interaction of x */
} world;

/* The rows of the users in `which`, with the ids of the data; NULL: no interaction. */
static ease_interactions *rows_of(const world *w, const bool *which)
{
    const ease_interactions *x = w->x;
    int64_t *users, *items, count = 0;
    double *values;
    ease_interactions *made = NULL;
    ease_read_options o;
    ease_error err = {0};

    users = malloc((size_t)x->nnz * sizeof(*users));
    items = malloc((size_t)x->nnz * sizeof(*items));
    values = malloc((size_t)x->nnz * sizeof(*values));
    for (int64_t u = 0; u < x->users; u++)
        for (int64_t k = x->row_ptr[u]; which[u] && k < x->row_ptr[u + 1]; k++)
            if (w->have[k]) {
                users[count] = u;
                items[count] = x->cols[k];
                values[count++] = x->vals ? (double)x->vals[k] : 1;
            }
    ease_read_options_init(&o);
    o.weights = x->vals != NULL;
    if (count)
        require(ease_interactions_from_table(count, &(ease_id_column){.numbers = users},
                                             &(ease_id_column){.numbers = items},
                                             values, &o, &made, &err),
                &err);
    free(users);
    free(items);
    free(values);
    return made;
}

static ease_model *train_with(const world *w, const ease_interactions *x, double lambda,
                              ease_precision precision)
{
    ease_model *m = NULL;
    ease_train_options o;
    ease_error err = {0};

    ease_train_options_init(&o);
    o.method = w->method;
    o.settings = w->settings;
    o.kind = w->kind;
    o.lambda = lambda;
    o.precision = precision;
    o.updatable = 1;
    require(ease_train(x, &o, &m, &err), &err);
    return m;
}

/* Trains on all rows that are there. */
static ease_model *train(const world *w)
{
    ease_interactions *x = rows_of(w, w->there);
    ease_model *m = train_with(w, x, w->lambda, EASE_F32);

    ease_interactions_free(x);
    return m;
}

/* Trains in float64 with the lambda of another model: with a user power, training
 * scales lambda by the mean weight of its data. */
static ease_model *train_exactly(const world *w, const ease_interactions *x,
                                 const ease_model *like)
{
    ease_model *m = train_with(w, x, w->lambda, EASE_F64);
    double lambda = w->lambda * like->living.lambda / m->living.lambda;

    if (lambda == w->lambda)
        return m;
    ease_model_free(m);
    return train_with(w, x, lambda, EASE_F64);
}

/* What the comparisons found. */
typedef struct findings {
    double weights, residual, deviation;
    int64_t places; /* where lists differ by more than a tie */
} findings;

static void update(ease_model **m, const ease_interactions *was,
                   const ease_interactions *now, findings *f)
{
    ease_update_info info = {.size = sizeof(info)};
    ease_model *next = NULL;
    ease_error err = {0};

    require(ease_model_update(*m, was, now, NULL, &next, &info, &err), &err);
    ease_model_free(*m);
    *m = next;
    f->residual = fmax(f->residual, info.residual);
    f->deviation = fmax(f->deviation, info.deviation);
}

/* ---- comparing ------------------------------------------------------------------- */

/* The numbers in `m` of the items of `want`. */
static int32_t *match(const ease_model *m, const ease_model *want)
{
    int32_t *number = malloc((size_t)want->info.items * sizeof(*number));

    for (int32_t i = 0; i < want->info.items; i++)
        number[i] = ease_model_find(m, ease_model_item_id(want, i));
    return number;
}

/* All weights, n x n. */
static float *read_weights(const ease_model *m)
{
    int32_t n = m->info.items;
    float *all = malloc((size_t)n * (size_t)n * sizeof(*all));

    for (int32_t top = 0, bottom; top < n; top = bottom) {
        bottom = n - top > EASE__TILED_GRAIN ? top + EASE__TILED_GRAIN : n;
        m->form->store->read(m, (ease__window){top, bottom, 0, n},
                             all + (size_t)top * (size_t)n, (size_t)n);
    }
    return all;
}

static double compare_weights(const ease_model *m, const ease_model *want,
                              const int32_t *number)
{
    float *got = read_weights(m), *wanted = read_weights(want);
    double largest = 0, difference = 0;

    for (int32_t i = 0; i < want->info.items; i++) {
        const float *a = got + (size_t)number[i] * (size_t)m->info.items;
        const float *b = wanted + (size_t)i * (size_t)want->info.items;

        for (int32_t j = 0; j < want->info.items; j++) {
            largest = fmax(largest, fabs((double)b[j]));
            difference = fmax(difference, fabs((double)a[number[j]] - (double)b[j]));
        }
    }
    free(got);
    free(wanted);
    return difference / largest;
}

static int32_t recommend(const ease_model *m, ease_scorer *s,
                         const ease_interactions *x, int64_t u, ease_rec *recs)
{
    ease_row row = ease_interactions_row(x, u);
    ease_history *h = NULL;
    ease_recommend_options o;
    const char **ids = malloc((size_t)row.count * sizeof(*ids));
    ease_error err = {0};
    int32_t count = 0;

    for (int32_t i = 0; i < row.count; i++)
        ids[i] = ease_interactions_item_id(x, row.items[i]);
    ease_recommend_options_init(&o);
    o.k = LENGTH;
    require(ease_history_new(m, ids, NULL, row.count, &h, &err), &err);
    require(ease_recommend(s, ease_history_row(h), &o, recs, &count, &err), &err);
    ease_history_free(h);
    free(ids);
    return count;
}

/* Lists may differ where scores are closer than 1e-5 of the best one. */
static int64_t compare_lists(const ease_model *m, const ease_model *want,
                             const int32_t *number, const ease_interactions *x)
{
    ease_scorer *s = NULL, *t = NULL;
    ease_error err = {0};
    int64_t places = 0;

    require(ease_scorer_new(m, &s, &err), &err);
    require(ease_scorer_new(want, &t, &err), &err);
    for (int64_t u = 0; u < x->users && u < LISTS; u++) {
        ease_rec a[LENGTH], b[LENGTH];
        int32_t count = recommend(m, s, x, u, a);

        if (recommend(want, t, x, u, b) != count)
            places += LENGTH;
        for (int32_t i = 0; i < count; i++)
            places += a[i].item != number[b[i].item] &&
                      !(fabs((double)a[i].score - (double)b[i].score) <=
                        1e-5 * (double)b[0].score);
    }
    ease_scorer_free(s);
    ease_scorer_free(t);
    return places;
}

static void compare(const ease_model *m, const world *w, findings *f)
{
    ease_interactions *x = rows_of(w, w->there);
    ease_model *want = train_exactly(w, x, m);
    int32_t *number = match(m, want);
    ease_error err = {0};

    require(ease_model_check_data(m, x, &err), &err);
    f->weights = fmax(f->weights, compare_weights(m, want, number));
    f->places += compare_lists(m, want, number, x);
    free(number);
    ease_model_free(want);
    ease_interactions_free(x);
}

/* ---- the two runs ---------------------------------------------------------------- */

/* Draws what becomes of a user: one who is absent comes; one who is there leaves or gets
 * another half of the items. */
static void redraw(world *w, int64_t u, ease__random *r)
{
    const ease_interactions *x = w->x;
    int64_t from = x->row_ptr[u], end = x->row_ptr[u + 1];

    w->there[u] = !w->there[u] || ease__random_below(r, 2);
    for (int64_t k = from; k < end; k++)
        w->have[k] = k == from || ease__random_below(r, 2);
}

static void batches(world *w, int count, findings *f)
{
    bool *chosen = calloc((size_t)w->x->users, 1);
    ease_model *m;
    ease__random r;

    ease__random_seed(&r, 7, 0);
    for (int64_t u = 0; u < w->x->users; u++)
        w->there[u] = ease__random_below(&r, 4) > 0;
    m = train(w);
    for (int i = 0; i < count; i++) {
        int64_t users[BATCH];
        ease_interactions *was, *now;

        memset(chosen, 0, (size_t)w->x->users);
        for (int k = 0; k < BATCH; k++) {
            users[k] = (int64_t)ease__random_below(&r, (uint64_t)w->x->users);
            chosen[users[k]] = w->there[users[k]];
        }
        was = rows_of(w, chosen);
        for (int k = 0; k < BATCH; k++) {
            redraw(w, users[k], &r);
            chosen[users[k]] = w->there[users[k]];
        }
        now = rows_of(w, chosen);
        if (was || now)
            update(&m, was, now, f);
        ease_interactions_free(was);
        ease_interactions_free(now);
    }
    compare(m, w, f);
    ease_model_free(m);
    free(chosen);
}

static void forget(world *w, int count, findings *f)
{
    bool *chosen = calloc((size_t)w->x->users, 1);
    ease_model *m = train(w);
    ease__random r;

    ease__random_seed(&r, 8, 0);
    for (int removed = 0; removed < count;) {
        int64_t user = (int64_t)ease__random_below(&r, (uint64_t)w->x->users);
        ease_interactions *was;

        if (!w->there[user])
            continue;
        removed++;
        memset(chosen, 0, (size_t)w->x->users);
        chosen[user] = true;
        was = rows_of(w, chosen);
        w->there[user] = false;
        update(&m, was, NULL, f);
        compare(m, w, f);
        ease_interactions_free(was);
    }
    ease_model_free(m);
    free(chosen);
}

/* LAMBDA, as if the squares of the values had a mean of 1. */
static double scaled_lambda(const ease_interactions *x)
{
    double sum = 0;

    for (int64_t k = 0; x->vals && k < x->nnz; k++)
        sum += (double)x->vals[k] * (double)x->vals[k];
    return x->vals ? LAMBDA * sum / (double)x->nnz : LAMBDA;
}

int main(int argc, char **argv)
{
    ease_interactions *x = NULL;
    ease_read_options o;
    ease_error err = {0};
    findings f = {0};
    world w;

    if (argc != 5 && argc != 8) {
        fprintf(stderr, "usage: run_updates batches|forget DATA MIN_RATING COUNT "
                        "[METHOD SETTINGS KIND]\n");
        return 2;
    }
    ease_read_options_init(&o);
    o.weights = strcmp(argv[3], "weights") == 0;
    if (!o.weights)
        o.min_rating = atof(argv[3]);
    require(ease_interactions_read(argv[2], &o, &x, &err), &err);
    w = (world){.x = x,
                .method = argc > 5 ? argv[5] : "ease",
                .settings = argc > 5 ? argv[6] : "",
                .kind = argc > 5 && strcmp(argv[7], "covariance") == 0
                            ? EASE_GRAM_COVARIANCE
                            : EASE_GRAM_COUNTS,
                .lambda = scaled_lambda(x),
                .there = malloc((size_t)x->users),
                .have = malloc((size_t)x->nnz)};
    memset(w.there, 1, (size_t)x->users);
    memset(w.have, 1, (size_t)x->nnz);
    (strcmp(argv[1], "forget") == 0 ? forget : batches)(&w, atoi(argv[4]), &f);
    printf("{\"weights\": %.3g, \"residual\": %.3g, \"deviation\": %.3g, "
           "\"places\": %lld}\n",
           f.weights, f.residual, f.deviation, (long long)f.places);
    free(w.there);
    free(w.have);
    ease_interactions_free(x);
    return 0;
}
