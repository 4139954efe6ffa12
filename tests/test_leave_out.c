/* Leaving users out, against models that are trained without them. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "models.h"
#include "score/leave_out.h"

/* ---- data ------------------------------------------------------------------------ */

enum { USERS = 60, ITEMS = 70 };

/* Items that not every user without them, or every other user, knows. */
enum { ALL_HAVE_IT = 1, NOBODY_HAS_IT, ONE_HAS_IT, ALL_BUT_ONE, ALL_THE_SAME_BUT_ONE };
enum { THE_ONE = 5, WITHOUT_IT = 7, THE_OTHER = 9 };

typedef struct matrix {
    int64_t users;
    int32_t items;
    double *x; /* users x items, row-major */
} matrix;

static double *at(const matrix *x, int64_t user, int32_t item)
{
    return x->x + user * x->items + item;
}

static matrix new_matrix(int64_t users, int32_t items)
{
    return (matrix){users, items,
                    calloc((size_t)users * (size_t)items, sizeof(double))};
}

/* A quarter of ones, or of values from 1/4 to 5. */
static matrix random_matrix(int64_t users, int32_t items, bool weighted, uint64_t seed)
{
    matrix x = new_matrix(users, items);
    ease__random r;

    ease__random_seed(&r, seed, 7);
    for (int64_t u = 0; u < users; u++)
        for (int32_t i = 0; i < items; i++)
            if (ease__random_unit(&r) < 0.25)
                *at(&x, u,
                    i) = weighted ? 0.25 * (1 + (double)ease__random_below(&r, 20)) : 1;
    return x;
}

static matrix special_matrix(bool weighted, uint64_t seed)
{
    matrix x = random_matrix(USERS, ITEMS, weighted, seed);

    for (int64_t u = 0; u < USERS; u++) {
        *at(&x, u, ALL_HAVE_IT) = 1;
        *at(&x, u, NOBODY_HAS_IT) = 0;
        *at(&x, u, ONE_HAS_IT) = u == THE_ONE;
        *at(&x, u, ALL_BUT_ONE) = u != WITHOUT_IT;
        *at(&x, u, ALL_THE_SAME_BUT_ONE) = weighted && u == THE_OTHER ? 2 : 1;
    }
    return x;
}

static ease_interactions *interactions_of(const matrix *x)
{
    size_t most = (size_t)x->users * (size_t)x->items;
    int64_t *row_ptr = calloc((size_t)x->users + 1, sizeof(*row_ptr));
    int32_t *cols = calloc(most + 1, sizeof(*cols));
    float *vals = calloc(most + 1, sizeof(*vals));
    bool weighted = false;
    ease_interactions *made = NULL;
    int64_t count = 0;

    for (int64_t u = 0; u < x->users; u++) {
        for (int32_t i = 0; i < x->items; i++)
            if (*at(x, u, i) != 0) {
                weighted = weighted || *at(x, u, i) != 1;
                vals[count] = (float)*at(x, u, i);
                cols[count++] = i;
            }
        row_ptr[u + 1] = count;
    }
    if (ease_interactions_from_csr(x->users, x->items, row_ptr, cols,
                                   weighted ? vals : NULL, &made, NULL))
        abort();
    free(row_ptr);
    free(cols);
    free(vals);
    return made;
}

static ease_model *train(test *t, const ease_interactions *x, const char *method,
                         const char *settings, ease_gram_kind kind, double lambda)
{
    ease_train_options o;
    ease_model *m = NULL;
    ease_error err = {0};

    ease_train_options_init(&o);
    o.method = method;
    o.settings = settings;
    o.kind = kind;
    o.lambda = lambda;
    o.precision = EASE_F64;
    o.updatable = 1;
    if (!check_status(t, ease_train(x, &o, &m, &err), EASE_OK)) {
        printf("  %s: %s\n", method, err.text);
        abort();
    }
    return m;
}

/* ---- the oracle ------------------------------------------------------------------ */

/* How the oracle trains: Lambda is that of the model with all users. */
typedef struct recipe {
    const matrix *x;
    ease_gram_kind kind;
    double power; /* of the weights of users */
    double relaxation;
    const double *ridge;
    bool fractions; /* in X'WX: what is constant is found by float32 */
} recipe;

static double weight_of(const recipe *r, int64_t user)
{
    int count = 0;

    for (int32_t i = 0; i < r->x->items; i++)
        count += *at(r->x, user, i) != 0;
    return r->power == 0 ? 1 : count ? pow(count, -r->power) : 0;
}

/* The matrix, and its means; a constant column has mean -1 in `constant`. */
static void gram_without(const recipe *r, int64_t user, double *c, double *mean,
                         bool *constant)
{
    size_t n = (size_t)r->x->items;
    double mass = 0, share = r->fractions ? 4 * (double)FLT_EPSILON : 1e-12;

    memset(c, 0, n * n * sizeof(*c));
    memset(mean, 0, n * sizeof(*mean));
    for (int64_t u = 0; u < r->x->users; u++) {
        const double *row = at(r->x, u, 0);
        double w = weight_of(r, u);

        if (u == user)
            continue;
        mass += w;
        for (size_t i = 0; i < n; i++) {
            mean[i] += w * row[i];
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += w * row[i] * row[j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        double variance = c[i * n + i] - mean[i] * mean[i] / mass;

        constant[i] = r->kind == EASE_GRAM_COVARIANCE &&
                      !(variance > share * c[i * n + i]);
        mean[i] /= mass;
    }
    for (size_t i = 0; r->kind == EASE_GRAM_COVARIANCE && i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (constant[i] || constant[j])
                c[i * n + j] = 0;
            else
                c[i * n + j] -= mass * mean[i] * mean[j];
}

/* Scores all items for the input z by the model without the user. */
static void oracle_scores(const recipe *r, int64_t user, const double *z,
                          double *scores)
{
    size_t n = (size_t)r->x->items;
    double *p = calloc(n * n, sizeof(*p)), *mean = calloc(n, sizeof(*mean));
    bool *constant = calloc(n, sizeof(*constant));

    gram_without(r, user, p, mean, constant);
    for (size_t i = 0; i < n; i++)
        p[i * n + i] += r->ridge[i];
    dense_invert(p, n);
    for (size_t j = 0; j < n; j++) {
        double d = p[j * n + j], m = 1 / d;

        if (r->relaxation > 0)
            m = 1 - r->ridge[j] * d > r->relaxation ? (1 - r->relaxation) / d
                                                    : r->ridge[j];
        scores[j] = r->kind == EASE_GRAM_COVARIANCE ? mean[j] : 0;
        for (size_t i = 0; i < n; i++) {
            double from = z[i] - (r->kind == EASE_GRAM_COVARIANCE ? mean[i] : 0);

            if (i != j && !constant[i] && !constant[j])
                scores[j] -= from * p[i * n + j] * m;
        }
    }
    free(p);
    free(mean);
    free(constant);
}

/* ---- the rows of users ----------------------------------------------------------- */

/* Every third item of a row is its target, beginning with the second one. */
typedef struct divided {
    int32_t *items;
    float *weights;
    ease_row *rows;
    int32_t *inputs;
    ease__left_rows all;
} divided;

static divided divide(const ease_interactions *x)
{
    divided d = {.items = calloc((size_t)x->nnz + 1, sizeof(*d.items)),
                 .weights = calloc((size_t)x->nnz + 1, sizeof(*d.weights)),
                 .rows = calloc((size_t)x->users, sizeof(*d.rows)),
                 .inputs = calloc((size_t)x->users, sizeof(*d.inputs))};
    int64_t place = 0;

    for (int64_t u = 0; u < x->users; u++) {
        ease_row row = ease_interactions_row(x, u);

        d.rows[u] = (ease_row){d.items + place, x->vals ? d.weights + place : NULL,
                               row.count};
        for (int part = 0; part < 2; part++)
            for (int32_t i = 0; i < row.count; i++)
                if ((i % 3 == 1) == (part == 1)) {
                    d.inputs[u] += part == 0;
                    d.items[place] = row.items[i];
                    d.weights[place++] = row.weights ? row.weights[i] : 1;
                }
    }
    d.all = (ease__left_rows){d.rows, d.inputs, x->users};
    return d;
}

static void divided_free(divided *d)
{
    free(d->items);
    free(d->weights);
    free(d->rows);
    free(d->inputs);
}

static int32_t longest_row(const ease_interactions *x)
{
    int32_t longest = 0;

    for (int64_t u = 0; u < x->users; u++) {
        int32_t count = ease_interactions_row(x, u).count;

        longest = count > longest ? count : longest;
    }
    return longest;
}

typedef struct lists {
    ease_rec *recs; /* users x k */
    int32_t *counts;
    ease__left_terms *terms;
    int64_t users;
    int32_t k;
} lists;

static lists make_lists(test *t, const ease_model *m, const ease_interactions *x,
                        const divided *d, int32_t k, int threads)
{
    size_t users = (size_t)x->users;
    lists l = {.recs = calloc(users * (size_t)k, sizeof(*l.recs)),
               .counts = calloc(users, sizeof(*l.counts)),
               .terms = calloc(users, sizeof(*l.terms)),
               .users = x->users,
               .k = k};
    ease__leave_out e;
    ease_error err = {0};

    if (!check_status(t,
                      ease__leave_out_new(m, longest_row(x), threads, NULL, &e, &err),
                      EASE_OK) ||
        !check_status(t, ease__leave_out_measure(&e, &d->all, NULL, l.terms, &err),
                      EASE_OK) ||
        !check_status(t,
                      ease__leave_out_lists(&e, &d->all, l.terms, k, NULL, l.recs,
                                            l.counts, &err),
                      EASE_OK))
        printf("  %s\n", err.text);
    ease__leave_out_free(&e);
    return l;
}

static void lists_free(lists *l)
{
    free(l->recs);
    free(l->counts);
    free(l->terms);
}

static bool same_lists(const lists *a, const lists *b)
{
    for (int64_t u = 0; u < a->users; u++)
        if (a->counts[u] != b->counts[u] ||
            memcmp(a->recs + u * a->k, b->recs + u * b->k,
                   (size_t)a->counts[u] * sizeof(*a->recs)) != 0)
            return false;
    for (int64_t u = 0; u < a->users; u++) /* they may be NaN, and end with padding */
        if (memcmp(&a->terms[u], &b->terms[u],
                   offsetof(ease__left_terms, bend) + sizeof(a->terms[u].bend)) != 0)
            return false;
    return true;
}

/* ---- scores ---------------------------------------------------------------------- */

static int users_of(const matrix *x, int32_t item)
{
    int count = 0;

    for (int64_t u = 0; u < x->users; u++)
        count += *at(x, u, item) != 0;
    return count;
}

/* Compares a whole list, of all items, with scores in float64. */
static void check_list(test *t, const matrix *x, int64_t user, ease_row input,
                       const ease_rec *recs, int32_t count, const double *scores,
                       double tolerance)
{
    bool seen[ITEMS] = {false}, listed[ITEMS] = {false};
    double largest = 0;

    for (int32_t i = 0; i < input.count; i++)
        seen[input.items[i]] = true;
    for (int32_t j = 0; j < x->items; j++)
        if (!seen[j])
            largest = fmax(largest, fabs(scores[j]));
    for (int32_t i = 0; i < count; i++) {
        listed[recs[i].item] = true;
        check_near(t, (double)recs[i].score, scores[recs[i].item], tolerance * largest);
        if (i > 0)
            check(t, recs[i - 1].score > recs[i].score ||
                         (recs[i - 1].score == recs[i].score &&
                          recs[i - 1].item < recs[i].item));
    }
    for (int32_t j = 0; j < x->items; j++) {
        bool own = *at(x, user, j) != 0 && users_of(x, j) == 1;

        if (!check_int(t, listed[j], !seen[j] && !own))
            printf("  user %d, item %d\n", (int)user, (int)j);
    }
}

/* P is in float32, as are sums over its rows: some 20 terms have errors of FLT_EPSILON /
 * 2 each, which a division by 1 - h >= 0.1 makes 10 times larger. Where 1 - h is smaller
 * sums are in float64, and the errors of P, of either sign, are divided by 0.03. */
static const double TOLERANCE = 1e-5;

/* Checks all users who can be left out. Returns how many of them need float64. */
static int check_users(test *t, const char *method, const char *settings,
                       ease_gram_kind kind, bool weighted, double lambda)
{
    matrix x = special_matrix(weighted, weighted ? 4 : 3);
    ease_interactions *data = interactions_of(&x);
    ease_model *m = train(t, data, method, settings, kind, lambda);
    ease__family f = ease__model_family(m);
    double ridge[ITEMS], scores[ITEMS], z[ITEMS];
    recipe r = {.x = &x,
                .kind = kind,
                .power = f.user_power,
                .relaxation = f.relaxation,
                .ridge = ridge,
                .fractions = weighted || f.user_power != 0};
    divided d = divide(data);
    lists l = make_lists(t, m, data, &d, ITEMS, 2);
    int narrow = 0;

    ease__living_penalty(&m->living, &f, ITEMS, ridge);
    for (int64_t u = 0; u < USERS; u++) {
        ease_row input = d.rows[u];

        if (!ease__left_usable(&l.terms[u]))
            continue;
        narrow += ease__left_narrow(&l.terms[u]);
        input.count = d.inputs[u];
        memset(z, 0, sizeof(z));
        for (int32_t i = 0; i < input.count; i++)
            z[input.items[i]] = input.weights ? (double)input.weights[i] : 1;
        oracle_scores(&r, u, z, scores);
        check_list(t, &x, u, input, l.recs + u * ITEMS, l.counts[u], scores, TOLERANCE);
        check(t, l.terms[u].leverage > 0);
    }
    lists_free(&l);
    divided_free(&d);
    ease_model_free(m);
    ease_interactions_free(data);
    free(x.x);
    return narrow;
}

static void check_model(test *t, const char *method, const char *settings,
                        ease_gram_kind kind, bool weighted)
{
    check_int(t, check_users(t, method, settings, kind, weighted, 8), 0);
}

static void scores_are_those_of_a_model_without_the_user(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        check_model(t, "ease", NULL, EASE_GRAM_COUNTS, weighted);
        check_model(t, "ease", NULL, EASE_GRAM_COVARIANCE, weighted);
    }
}

/* Without weights, which multiply the errors of P. */
static void users_who_nearly_determine_their_weights_are_left_out(test *t)
{
    for (int kind = 0; kind < 2; kind++) {
        ease_gram_kind of = kind ? EASE_GRAM_COVARIANCE : EASE_GRAM_COUNTS;

        check(t, check_users(t, "ease", NULL, of, false, 0.2) > 5);
        check(t, check_users(t, "rlae", "relaxation=0.3", of, false, 0.2) > 5);
    }
}

static void users_with_weights_are_left_out(test *t)
{
    static const char *const settings[] = {"user-power=0.5", "user-power=-0.3",
                                           "user-power=1,relaxation=0.3"};

    for (size_t i = 0; i < 3; i++)
        for (int weighted = 0; weighted < 2; weighted++) {
            check_model(t, "ease-family", settings[i], EASE_GRAM_COUNTS, weighted);
            check_model(t, "ease-family", settings[i], EASE_GRAM_COVARIANCE, weighted);
        }
    check_model(t, "dan", "item-power=0", EASE_GRAM_COUNTS, false);
}

static void a_relaxed_diagonal_follows_the_inverse(test *t)
{
    static const char *const settings[] = {"relaxation=0.1", "relaxation=0.5",
                                           "relaxation=0.9"};

    for (size_t i = 0; i < 3; i++)
        for (int weighted = 0; weighted < 2; weighted++) {
            check_model(t, "rlae", settings[i], EASE_GRAM_COUNTS, weighted);
            check_model(t, "rlae", settings[i], EASE_GRAM_COVARIANCE, weighted);
        }
}

/* The oracle has the regularizer of all users too. */
static void dropout_keeps_the_regularizer(test *t)
{
    check_model(t, "edlae", "dropout=0.4", EASE_GRAM_COUNTS, false);
    check_model(t, "rdlae", "dropout=0.4,relaxation=0.2", EASE_GRAM_COVARIANCE, true);
}

/* ---- the same bits --------------------------------------------------------------- */

/* More users than a thread takes at once. */
static ease_interactions *synthetic(int64_t users, int32_t items, int64_t pairs)
{
    ease_synth_options o;
    ease_interactions *x = NULL;

    ease_synth_options_init(&o);
    o.users = users;
    o.items = items;
    o.interactions = pairs;
    o.seed = 5;
    if (ease_interactions_synth(&o, &x, NULL))
        abort();
    return x;
}

static void lists_do_not_depend_on_threads(test *t)
{
    ease_interactions *x = synthetic(700, 300, 9000);
    divided d = divide(x);

    for (int kind = 0; kind < 2; kind++) {
        ease_model *m = train(t, x, "rlae", NULL,
                              kind ? EASE_GRAM_COVARIANCE : EASE_GRAM_COUNTS, 20);
        lists one = make_lists(t, m, x, &d, 20, 1);

        for (int threads = 2; threads <= 5; threads += 3) {
            lists many = make_lists(t, m, x, &d, 20, threads);

            check(t, same_lists(&one, &many));
            lists_free(&many);
        }
        lists_free(&one);
        ease_model_free(m);
    }
    divided_free(&d);
    ease_interactions_free(x);
}

static void short_lists_begin_long_ones(test *t)
{
    ease_interactions *x = synthetic(200, 150, 3000);
    ease_model *m = train(t, x, "ease", NULL, EASE_GRAM_COUNTS, 20);
    divided d = divide(x);
    lists all = make_lists(t, m, x, &d, 150, 2), best = make_lists(t, m, x, &d, 7, 2);

    for (int64_t u = 0; u < x->users; u++) {
        check_int(t, best.counts[u], 7);
        check(t, memcmp(best.recs + u * 7, all.recs + u * 150,
                        7 * sizeof(*best.recs)) == 0);
    }
    lists_free(&all);
    lists_free(&best);
    divided_free(&d);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- the evaluation -------------------------------------------------------------- */

static ease_report *leave(test *t, const ease_model *m, const ease_interactions *x,
                          const ease_leave_options *o)
{
    ease_report *r = NULL;
    ease_error err = {0};

    if (!check_status(t, ease_leave_one_out(m, x, o, &r, &err), EASE_OK))
        printf("  %s\n", err.text);
    return r;
}

/* Draws `left` of `from` places: true for a place that is taken. */
static bool taken(ease__random *r, int32_t *left, int32_t from)
{
    bool yes = ease__random_below(r, (uint64_t)from) < (uint64_t)*left;

    *left -= yes;
    return yes;
}

/* Splits the row of a user as docs/design/updating.md says. */
static void draw_target(const matrix *x, int64_t user, double share, uint32_t seed,
                        matrix *input, matrix *target)
{
    int32_t count = 0, left, from;
    ease__random r;

    for (int32_t i = 0; i < x->items; i++)
        count += *at(x, user, i) != 0;
    left = (int32_t)(share * count) > 1 ? (int32_t)(share * count) : 1;
    from = count;
    ease__random_seed(&r, seed, (uint64_t)user);
    for (int32_t i = 0; i < x->items; i++)
        if (*at(x, user, i) != 0)
            *at(taken(&r, &left, from--) ? target : input, 0, i) = *at(x, user, i);
}

static matrix without_user(const matrix *x, int64_t user)
{
    matrix rest = new_matrix(x->users - 1, x->items);

    for (int64_t u = 0, k = 0; u < x->users; u++)
        if (u != user)
            memcpy(at(&rest, k++, 0), at(x, u, 0), (size_t)x->items * sizeof(double));
    return rest;
}

/* The values of the metrics of a user, by a model that is trained without the user. */
static void evaluate_without(test *t, const matrix *x, int64_t user,
                             ease_gram_kind kind, double lambda,
                             const ease_leave_options *o, double *values)
{
    matrix parts[3] = {without_user(x, user), new_matrix(1, x->items),
                       new_matrix(1, x->items)};
    ease_interactions *data[3];
    ease_eval_options e;
    ease_report *r = NULL;
    ease_model *m;

    draw_target(x, user, o->share, o->seed, &parts[1], &parts[2]);
    for (int i = 0; i < 3; i++)
        data[i] = interactions_of(&parts[i]);
    m = train(t, data[0], "ease", NULL, kind, lambda);
    ease_eval_options_init(&e);
    e.metrics = o->metrics;
    check_status(t, ease_evaluate(m, data[1], data[2], &e, &r, NULL), EASE_OK);
    for (int i = 0; i < ease_report_metrics(r); i++)
        values[i] = ease_report_value(r, i, 0);
    ease_report_free(r);
    ease_model_free(m);
    for (int i = 0; i < 3; i++) {
        ease_interactions_free(data[i]);
        free(parts[i].x);
    }
}

/* Every item has users enough for no item to lose its last one. The seed is one for
 * which no two scores are so near that float32 exchanges them. */
static void metrics_are_those_of_models_without_the_user(test *t)
{
    matrix x = random_matrix(40, 50, false, 12);
    ease_interactions *data = interactions_of(&x);
    ease_leave_options o;

    ease_leave_options_init(&o);
    o.metrics = "recall@5,ndcg@20,map@10,popularity@10,novelty@10";
    o.share = 0.3;
    for (int kind = 0; kind < 2; kind++) {
        ease_gram_kind of = kind ? EASE_GRAM_COVARIANCE : EASE_GRAM_COUNTS;
        ease_model *m = train(t, data, "ease", NULL, of, 8);
        ease_report *r = leave(t, m, data, &o);

        check_int(t, ease_report_users(r), 40);
        for (int64_t u = 0; u < 40; u++) {
            double values[5];

            evaluate_without(t, &x, u, of, 8, &o, values);
            for (int i = 0; i < 5; i++)
                check_near(t, ease_report_value(r, i, u), values[i], 0);
        }
        ease_report_free(r);
        ease_model_free(m);
    }
    ease_interactions_free(data);
    free(x.x);
}

/* User 0 has one item, user 1 none; user 2 has item 5 alone, and user 3 only items that
 * nobody else has; all others have some of the items 0 .. 4. */
static matrix odd_users(void)
{
    matrix x = new_matrix(30, 8);
    ease__random r;

    ease__random_seed(&r, 3, 0);
    for (int64_t u = 4; u < x.users; u++)
        for (int32_t i = 0; i < 5; i++)
            *at(&x, u, i) = i == u % 5 || i == (u + 1) % 5 ||
                            ease__random_below(&r, 3) == 0;
    *at(&x, 0, 1) = 1;
    *at(&x, 2, 0) = *at(&x, 2, 5) = 1;
    *at(&x, 3, 6) = *at(&x, 3, 7) = 1;
    return x;
}

static void users_without_a_split_are_counted(test *t)
{
    matrix x = odd_users();
    ease_interactions *data = interactions_of(&x);
    ease_model *m = train(t, data, "ease", NULL, EASE_GRAM_COUNTS, 5);
    ease_leave_options o;
    ease_report *r;
    ease_report_info info;

    ease_leave_options_init(&o);
    o.metrics = "recall@7,hit@1";
    r = leave(t, m, data, &o);
    info = report_info(r);
    check_int(t, info.users, 28);
    check_int(t, info.without_target, 2);
    check_int(t, info.refused, 0);
    check_int(t, info.approximate, 0);
    check_text(t, ease_report_user_id(r, 0), "2");
    check_text(t, ease_report_user_id(r, 27), "29");
    /* The target of user 3 is unknown without the user, and that of user 2 may be. */
    check_near(t, ease_report_value(r, 0, 1), 0, 0);
    check(t, info.unknown_targets == 1 || info.unknown_targets == 2);
    check_int(t, info.cold_targets, info.unknown_targets);
    check(t, info.warm_targets >= 26);
    check(t, info.without_input == 1 || info.without_input == 2);
    ease_report_free(r);
    ease_model_free(m);
    ease_interactions_free(data);
    free(x.x);
}

/* Of the two items of user 2, the one that others have is found from an input that is
 * unknown without the user: by popularity. */
static void an_unknown_input_gets_popular_items(test *t)
{
    matrix x = odd_users();
    ease_interactions *data = interactions_of(&x);
    ease_model *m = train(t, data, "ease", NULL, EASE_GRAM_COUNTS, 5);
    const int32_t items[] = {5, 0};
    const int32_t inputs = 1;
    ease_row row = {.items = items, .count = 2};
    ease__left_rows all = {&row, &inputs, 1};
    ease__left_terms terms;
    ease__leave_out e;
    ease_rec recs[8];
    int32_t count = 0;

    check_status(t, ease__leave_out_new(m, 5, 1, NULL, &e, NULL), EASE_OK);
    check_status(t, ease__leave_out_measure(&e, &all, NULL, &terms, NULL), EASE_OK);
    check_status(t,
                 ease__leave_out_lists(&e, &all, &terms, 8, NULL, recs, &count, NULL),
                 EASE_OK);
    check_int(t, count, 7);
    for (int32_t i = 0; i < count; i++) {
        int own = recs[i].item == 0;

        check(t, recs[i].item != 5);
        check(t, i == 0 || recs[i - 1].score >= recs[i].score);
        check_near(t, (double)recs[i].score, (users_of(&x, recs[i].item) - own) / 29.0,
                   (double)FLT_EPSILON);
    }
    ease__leave_out_free(&e);
    ease_model_free(m);
    ease_interactions_free(data);
    free(x.x);
}

static void samples_are_drawn_by_the_seed(test *t)
{
    ease_interactions *x = synthetic(200, 150, 3000);
    ease_model *m = train(t, x, "ease", NULL, EASE_GRAM_COUNTS, 20);
    ease_leave_options o;
    ease_report *all, *some, *again, *others, *more;
    int64_t place = -1;
    int same = 0;

    ease_leave_options_init(&o);
    all = leave(t, m, x, &o);
    o.users = 30;
    some = leave(t, m, x, &o);
    again = leave(t, m, x, &o);
    o.users = 1000;
    more = leave(t, m, x, &o);
    o.users = 30;
    o.seed = 1;
    others = leave(t, m, x, &o);
    check_int(t, ease_report_users(some), 30);
    check_int(t, ease_report_users(more), ease_report_users(all));
    for (int64_t u = 0; u < 30; u++) {
        const char *id = ease_report_user_id(some, u);

        check_text(t, ease_report_user_id(again, u), id);
        do /* users have the order of the data, and their own targets */
            place++;
        while (place < ease_report_users(all) &&
               strcmp(ease_report_user_id(all, place), id) != 0);
        check_near(t, ease_report_value(some, 2, u), ease_report_value(all, 2, place),
                   0);
        same += strcmp(ease_report_user_id(others, u), id) == 0;
    }
    check(t, same < 10);
    ease_report_free(all);
    ease_report_free(some);
    ease_report_free(again);
    ease_report_free(others);
    ease_report_free(more);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* Data and a model of which each has other numbers for the items than the other, and the
 * model's file. The seed is one for which no two scores are so near that float32
 * exchanges them. */
static void numbers_of_items_and_the_file_do_not_matter(test *t)
{
    ease_interactions *x = synthetic(200, 150, 3000), *other = NULL;
    ease_model *m = train(t, x, "ease", NULL, EASE_GRAM_COVARIANCE, 20), *same, *back;
    const char *csv = test_path("other.csv");
    ease_report *reports[3];

    check_status(t, ease_interactions_write(x, csv, NULL, NULL), EASE_OK);
    check_status(t, ease_interactions_read(csv, NULL, &other, NULL), EASE_OK);
    check(t, strcmp(ease_interactions_item_id(x, 0),
                    ease_interactions_item_id(other, 0)) != 0);
    same = train(t, other, "ease", NULL, EASE_GRAM_COVARIANCE, 20);
    back = reopened(t, m, EASE_STORE_PACKED);
    reports[0] = leave(t, m, other, NULL);
    reports[1] = leave(t, back, other, NULL);
    reports[2] = leave(t, same, other, NULL);
    for (int64_t u = 0; u < ease_report_users(reports[0]); u++)
        for (int i = 1; i < 3; i++)
            check(t, ease_report_value(reports[0], 2, u) ==
                         ease_report_value(reports[i], 2, u));
    for (int i = 0; i < 3; i++)
        ease_report_free(reports[i]);
    ease_model_free(back);
    ease_model_free(same);
    ease_model_free(m);
    ease_interactions_free(other);
    ease_interactions_free(x);
}

/* ---- limits ---------------------------------------------------------------------- */

static void logged(void *user, int level, const char *text)
{
    if (level == 1)
        snprintf(user, 200, "%s", text);
}

/* With a tiny lambda, users with an item of their own have h = 1 nearly. */
static void users_that_float32_cannot_leave_out_are_refused(test *t)
{
    matrix x = special_matrix(false, 3);
    ease_interactions *data = interactions_of(&x);
    ease_model *m = train(t, data, "ease", NULL, EASE_GRAM_COUNTS, 0.5),
               *worse = train(t, data, "ease", NULL, EASE_GRAM_COUNTS, 1e-4);
    char text[200] = "";
    ease_hooks hooks = {.log = logged, .user = text};
    ease_leave_options o;
    ease_report *r = NULL;
    ease_error err = {0};

    ease_leave_options_init(&o);
    o.hooks = &hooks;
    check_status(t, ease_leave_one_out(worse, data, &o, &r, &err), EASE_E_ACCURACY);
    check_contains(t, err.text, "raise lambda");
    r = leave(t, m, data, &o);
    check_int(t, report_info(r).users + report_info(r).refused, USERS);
    ease_report_free(r);
    ease_model_free(worse);
    ease_model_free(m);
    ease_interactions_free(data);
    free(x.x);
}

static const struct refusal {
    const char *method, *settings, *says;
} refusals[] = {
    {"ease-nonneg", NULL, "ease-nonneg: weights below 0"},
    {"dan", NULL, "dan: its weights are scaled"},
    {"ease-rescaled", NULL, "ease-rescaled: its weights are scaled"},
    {"ease-ips", NULL, "ease-ips: its weights are scaled"},
    {"ease-family", "lambda-power=0.5", "a power of the diagonal"},
};

static void models_that_need_the_user_are_refused_by_name(test *t)
{
    ease_interactions *x = synthetic(200, 50, 2000);
    ease_error err = {0};
    ease_report *r = NULL;

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        ease_model *m = train(t, x, refusals[i].method, refusals[i].settings,
                              EASE_GRAM_COUNTS, 20);

        check_status(t, ease_leave_one_out(m, x, NULL, &r, &err), EASE_E_ARG);
        check_contains(t, err.text, refusals[i].says);
        ease_model_free(m);
    }
    ease_interactions_free(x);
}

static void wrong_arguments_are_refused(test *t)
{
    ease_interactions *x = synthetic(200, 50, 2000), *y = synthetic(200, 50, 2001);
    ease_model *m = train(t, x, "ease", NULL, EASE_GRAM_COUNTS, 20), *plain = NULL;
    ease_train_options train_options;
    ease_leave_options o;
    ease_report *r = NULL;
    ease_error err = {0};

    ease_train_options_init(&train_options);
    train_options.lambda = 20;
    check_status(t, ease_train(x, &train_options, &plain, NULL), EASE_OK);
    check_status(t, ease_leave_one_out(NULL, x, NULL, &r, &err), EASE_E_ARG);
    check_status(t, ease_leave_one_out(plain, x, NULL, &r, &err), EASE_E_ARG);
    check_contains(t, err.text, "updatable");
    check_status(t, ease_leave_one_out(m, y, NULL, &r, &err), EASE_E_DATA);
    ease_leave_options_init(&o);
    o.share = 1;
    check_status(t, ease_leave_options_check(&o, &err), EASE_E_ARG);
    check_contains(t, err.text, "between 0 and 1");
    o.share = NAN;
    check_status(t, ease_leave_one_out(m, x, &o, &r, &err), EASE_E_ARG);
    ease_leave_options_init(&o);
    o.metrics = "recal@20";
    check_status(t, ease_leave_options_check(&o, &err), EASE_E_ARG);
    ease_leave_options_init(&o);
    o.users = -1;
    check_status(t, ease_leave_options_check(&o, &err), EASE_E_ARG);
    ease_leave_options_init(&o);
    o.threads = 5000;
    check_status(t, ease_leave_options_check(&o, &err), EASE_E_ARG);
    ease_leave_options_init(&o);
    o.memory_limit = 1000;
    check_status(t, ease_leave_one_out(m, x, &o, &r, &err), EASE_E_MEMORY_LIMIT);
    check_status(t, ease_leave_options_check(NULL, NULL), EASE_OK);
    check(t, r == NULL);
    ease_model_free(plain);
    ease_model_free(m);
    ease_interactions_free(x);
    ease_interactions_free(y);
}

/* Nobody remains without the only user; and users with one item have no split. */
static void data_without_a_split_fail(test *t)
{
    for (int users = 1; users <= 3; users += 2) {
        matrix x = new_matrix(users, 6);
        ease_interactions *data;
        ease_report *r = NULL;
        ease_model *m;
        ease_error err = {0};

        for (int u = 0; u < users; u++)
            *at(&x, u, u) = *at(&x, u, users == 1 ? 5 : u) = 1;
        data = interactions_of(&x);
        m = train(t, data, "ease", NULL, EASE_GRAM_COUNTS, 5);
        check_status(t, ease_leave_one_out(m, data, NULL, &r, &err), EASE_E_DATA);
        check_contains(t, err.text, "two users");
        ease_model_free(m);
        ease_interactions_free(data);
        free(x.x);
    }
}

static void a_memory_limit_only_makes_batches_smaller(test *t)
{
    ease_interactions *x = synthetic(300, 100, 4000);
    ease_model *m = train(t, x, "ease", NULL, EASE_GRAM_COUNTS, 20);
    ease_leave_options o;
    ease_report *free_one, *tight = NULL;
    ease_status status;

    ease_leave_options_init(&o);
    free_one = leave(t, m, x, &o);
    o.memory_limit = 100000;
    while ((status = ease_leave_one_out(m, x, &o, &tight, NULL)) == EASE_E_MEMORY_LIMIT)
        o.memory_limit += 1000;
    check_status(t, status, EASE_OK);
    for (int64_t u = 0; u < ease_report_users(free_one); u++)
        check(t, ease_report_value(free_one, 2, u) == ease_report_value(tight, 2, u));
    ease_report_free(free_one);
    ease_report_free(tight);
    ease_model_free(m);
    ease_interactions_free(x);
}

static int cancel_later(void *user, const char *stage, double fraction)
{
    int *left = user;

    (void)stage;
    (void)fraction;
    return (*left)-- <= 0;
}

static void leaving_out_can_be_cancelled_at_any_time(test *t)
{
    ease_interactions *x = synthetic(300, 400, 5000);
    ease_model *m = train(t, x, "ease", NULL, EASE_GRAM_COUNTS, 20);
    ease_leave_options o;
    ease_status status;
    int calls = 0;

    ease_leave_options_init(&o);
    do {
        int left = calls++;
        ease_hooks hooks = {.progress = cancel_later, .user = &left};
        ease_report *r = NULL;

        o.hooks = &hooks;
        status = ease_leave_one_out(m, x, &o, &r, NULL);
        check_int(t, r != NULL, status == EASE_OK);
        ease_report_free(r);
    } while (status == EASE_E_CANCELLED);
    check_status(t, status, EASE_OK);
    check(t, calls > 4);
    ease_model_free(m);
    ease_interactions_free(x);
}

static int watch(void *user, const char *stage, double fraction)
{
    double *last = user;

    (void)stage;
    *last = fraction >= *last ? fraction : INFINITY;
    return 0;
}

static void progress_grows_to_the_end(test *t)
{
    ease_interactions *x = synthetic(300, 400, 5000);
    ease_model *m = train(t, x, "ease", NULL, EASE_GRAM_COVARIANCE, 20);
    double last = 0;
    ease_hooks hooks = {.progress = watch, .user = &last};
    ease_leave_options o;

    ease_leave_options_init(&o);
    o.hooks = &hooks;
    ease_report_free(leave(t, m, x, &o));
    check_near(t, last, 0.9, 0.1);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void leaving_out_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = synthetic(60, 40, 500);
    ease_model *m = train(t, x, "rlae", NULL, EASE_GRAM_COVARIANCE, 20);
    ease_leave_options o;
    ease_status status;
    int n = 0;

    ease_leave_options_init(&o);
    o.metrics = "recall@20,coverage@10,ndcg@100";
    do {
        ease_report *r = NULL;

        alloc_fail_after(n++);
        status = ease_leave_one_out(m, x, &o, &r, NULL);
        alloc_fail_after(-1);
        check_int(t, r != NULL, status == EASE_OK);
        ease_report_free(r);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 20);
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- real data ------------------------------------------------------------------- */

/* MovieLens 100K, if it is there: some users by models that are trained without them. */
static void movies_of_real_users_are_found_as_without_them(test *t)
{
    enum { SAMPLE = 6 };
    ease_interactions *x = NULL;
    ease_leave_options o;
    ease_report *r;
    ease_model *m;

    if (ease_interactions_read("../shared/data/ml-100k/u.data", NULL, &x, NULL)) {
        test_skip(t, "no MovieLens 100K");
        return;
    }
    m = train(t, x, "ease", NULL, EASE_GRAM_COUNTS, 200);
    ease_leave_options_init(&o);
    o.users = SAMPLE;
    o.metrics = "recall@20,ndcg@100";
    r = leave(t, m, x, &o);
    for (int64_t k = 0; k < SAMPLE; k++) {
        int64_t user = ease_interactions_find_user(x, ease_report_user_id(r, k));
        matrix whole = {x->users, x->items, dense_interactions(x)};
        double values[2];

        evaluate_without(t, &whole, user, EASE_GRAM_COUNTS, 200, &o, values);
        /* Scores that float32 does not tell apart may exchange their ranks. */
        for (int i = 0; i < 2; i++)
            check_near(t, ease_report_value(r, i, k), values[i], 1e-3);
        free(whole.x);
    }
    ease_report_free(r);
    ease_model_free(m);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(scores_are_those_of_a_model_without_the_user),
    TEST(users_who_nearly_determine_their_weights_are_left_out),
    TEST(users_with_weights_are_left_out),
    TEST(a_relaxed_diagonal_follows_the_inverse),
    TEST(dropout_keeps_the_regularizer),
    TEST(lists_do_not_depend_on_threads),
    TEST(short_lists_begin_long_ones),
    TEST(metrics_are_those_of_models_without_the_user),
    TEST(users_without_a_split_are_counted),
    TEST(an_unknown_input_gets_popular_items),
    TEST(samples_are_drawn_by_the_seed),
    TEST(numbers_of_items_and_the_file_do_not_matter),
    TEST(users_that_float32_cannot_leave_out_are_refused),
    TEST(models_that_need_the_user_are_refused_by_name),
    TEST(wrong_arguments_are_refused),
    TEST(data_without_a_split_fail),
    TEST(a_memory_limit_only_makes_batches_smaller),
    TEST(leaving_out_can_be_cancelled_at_any_time),
    TEST(progress_grows_to_the_end),
    TEST(leaving_out_survives_every_failed_allocation),
    TEST(movies_of_real_users_are_found_as_without_them),
};

TEST_MAIN(cases)
