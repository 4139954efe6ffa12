/* Updates of models: they equal training on the final data, keep their proof, and refuse
 * rows that are not there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "core/sha256.h"
#include "data.h"
#include "model/model.h"
#include "solve/rank_update.h"
#include "test.h"

enum { USERS = 90, ITEMS = 40, RARE = 4, MOST = USERS * ITEMS };

/* A world of users whose rows change: value[u][i] is 0 where user u lacks item i. Only
 * the first three users have the last items. */
typedef struct world {
    float value[USERS][ITEMS];
    bool weighted;
} world;

static world random_world(uint64_t seed, bool weighted)
{
    world w = {.weighted = weighted};
    ease__random r;

    ease__random_seed(&r, seed, 0);
    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++)
            if (i < ITEMS - RARE ? ease__random_below(&r, 4) == 0 : u < 3)
                w.value[u][i] = weighted
                                    ? 0.25f * (float)(1 + ease__random_below(&r, 20))
                                    : 1;
    return w;
}

/* The rows of users first .. last - 1, with the ids u100, u101, ... and 0, 1, ...; NULL:
 * they have none. */
static ease_interactions *rows_of(const world *w, int first, int last)
{
    static int64_t users[MOST], items[MOST];
    static double values[MOST];
    int64_t count = 0;
    ease_read_options o;
    ease_interactions *x = NULL;
    ease_error err = {0};

    for (int u = first; u < last; u++)
        for (int i = 0; i < ITEMS; i++)
            if (w->value[u][i] != 0) {
                users[count] = 100 + u;
                items[count] = i;
                values[count++] = (double)w->value[u][i];
            }
    if (!count)
        return NULL;
    ease_read_options_init(&o);
    o.weights = w->weighted;
    if (ease_interactions_from_table(count, &(ease_id_column){.numbers = users},
                                     &(ease_id_column){.numbers = items},
                                     w->weighted ? values : NULL, &o, &x, &err)) {
        printf("%s\n", err.text);
        abort();
    }
    return x;
}

/* A model that can be updated, and how large its leverage may be. */
typedef struct member {
    const char *method, *settings;
    ease_gram_kind kind;
    bool weighted;
} member;

static const member members[] = {
    {"ease", "", EASE_GRAM_COUNTS, false},
    {"ease", "", EASE_GRAM_COUNTS, true},
    {"ease", "", EASE_GRAM_COVARIANCE, false},
    {"ease", "", EASE_GRAM_COVARIANCE, true},
    {"ease-nonneg", "", EASE_GRAM_COUNTS, false},
    {"rlae", "relaxation=0.3", EASE_GRAM_COUNTS, false},
    {"ease-rescaled", "power=0.4", EASE_GRAM_COUNTS, false},
    {"ease-ips", "power=0.4", EASE_GRAM_COUNTS, false},
    {"ease-ips", "propensity=power,power=0.4", EASE_GRAM_COUNTS, true},
    {"edlae", "dropout=0.6", EASE_GRAM_COUNTS, false},
    {"edlae", "dropout=0.6", EASE_GRAM_COVARIANCE, false},
    {"ease-family", "user-power=0.5", EASE_GRAM_COUNTS, false},
    {"ease-family", "user-power=0.5,relaxation=0.4", EASE_GRAM_COVARIANCE, true},
    {"ease-family",
     "lambda-power=0.5,dropout=0.3,user-power=0.5,relaxation=0.4,input-power=0.2,"
     "output-power=-0.1",
     EASE_GRAM_COUNTS, false},
    {"ease-family", "lambda-power=-0.5", EASE_GRAM_COUNTS, false},
    {"dan", "dropout=0.1,user-power=0.7,item-power=0.3,relaxation=0.1",
     EASE_GRAM_COUNTS, false},
};
enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

static ease_model *train(const member *of, const ease_interactions *x, double lambda,
                         ease_precision precision)
{
    ease_train_options o;
    ease_model *m = NULL;
    ease_error err = {0};

    ease_train_options_init(&o);
    o.method = of->method;
    o.settings = of->settings;
    o.kind = of->kind;
    o.lambda = lambda;
    o.precision = precision;
    o.updatable = 1;
    o.threads = 2;
    if (ease_train(x, &o, &m, &err)) {
        printf("%s: %s\n", of->method, err.text);
        abort();
    }
    return m;
}

/* Trains with the Lambda of another model: with a user power, lambda is scaled by the
 * mean weight of the data. */
static ease_model *train_alike(const member *of, const ease_interactions *x,
                               const ease_model *like)
{
    ease_model *m = train(of, x, 1, EASE_F64);
    double scale = m->living.lambda;

    ease_model_free(m);
    return train(of, x, like->living.lambda / scale, EASE_F64);
}

/* The item of a model with the id of item i of another one. */
static int32_t same_item(const ease_model *m, const ease_model *other, int32_t i)
{
    return ease_model_find(m, ease_model_item_id(other, i));
}

/* The largest difference of weights and bases, relative to the largest weight. Items of
 * `m` that `want` lacks must have no weights. */
static double distance(test *t, const ease_model *m, const ease_model *want)
{
    double largest = 0, difference = 0;

    for (int32_t i = 0; i < want->info.items; i++)
        for (int32_t j = 0; j < want->info.items; j++) {
            int32_t a = same_item(m, want, i), b = same_item(m, want, j);
            double w = (double)ease__model_weight(want, i, j);

            largest = fmax(largest, fabs(w));
            difference = fmax(difference,
                              fabs(w - (double)ease__model_weight(m, a, b)));
        }
    for (int32_t j = 0; j < want->info.items; j++)
        difference = fmax(difference,
                          fabs((double)ease_model_base(want, j) -
                               (double)ease_model_base(m, same_item(m, want, j))));
    for (int32_t i = 0; i < m->info.items; i++)
        for (int32_t j = 0; same_item(want, m, i) < 0 && j < m->info.items; j++) {
            check(t, ease__model_weight(m, i, j) == 0);
            check(t, ease__model_weight(m, j, i) == 0);
        }
    return difference / largest;
}

static ease_model *updated(test *t, const ease_model *m, const ease_interactions *was,
                           const ease_interactions *now, ease_update_info *info)
{
    ease_update_options o;
    ease_update_info own = {.size = sizeof(own)};
    ease_model *made = NULL;
    ease_error err = {0};

    ease_update_options_init(&o);
    o.threads = 2;
    if (!check_status(t, ease_model_update(m, was, now, &o, &made, &own, &err),
                      EASE_OK)) {
        printf("  %s %s: %s\n", m->info.method, m->info.settings, err.text);
        abort();
    }
    if (info)
        *info = own;
    return made;
}

/* Float32 P is wrong by about FLT_EPSILON times its condition, which is below 100 with
 * lambda = 5 and at most 90 users. */
static const double TOLERANCE = 1e-5;

static void compare(test *t, const member *of, const ease_model *m, const world *w,
                    int first, int last)
{
    ease_interactions *x = rows_of(w, first, last);
    ease_model *want = train_alike(of, x, m);
    ease_error err = {0};
    double off = distance(t, m, want);

    if (!check(t, off <= TOLERANCE))
        printf("  %s %s, kind %d: %g\n", of->method, of->settings, (int)of->kind, off);
    if (!check_status(t, ease_model_check_data(m, x, &err), EASE_OK))
        printf("  %s: %s\n", of->method, err.text);
    check_int(t, m->info.users, x->users);
    check_int(t, m->info.interactions, x->nnz);
    ease_model_free(want);
    ease_interactions_free(x);
}

/* ---- what updates do ------------------------------------------------------------- */

static void users_who_come_leave_and_change_give_the_model_of_the_final_data(test *t)
{
    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        world w = random_world(31, of->weighted), then = random_world(32, of->weighted);
        ease_interactions *x = rows_of(&w, 0, 60), *was, *now;
        ease_model *m = train(of, x, 5, EASE_F32), *next;
        ease_update_info info;

        was = rows_of(&w, 20, 26); /* four change, two leave: the others stay */
        memcpy(w.value[22], then.value[22], 4 * sizeof(w.value[0]));
        now = rows_of(&w, 22, 26);
        next = updated(t, m, was, now, &info);
        check_int(t, info.left, 2);
        check_int(t, info.changed, 4);
        check_int(t, info.came, 0);
        check(t, info.residual < 1e-5);
        check(t, info.deviation < 1e-5);
        check(t, info.rank >= 10);
        ease_interactions_free(was);
        ease_interactions_free(now);
        ease_model_free(m);
        m = next;
        memcpy(w.value[20], w.value[60], 2 * sizeof(w.value[0])); /* now 60 and 61 */
        now = rows_of(&w, 60, 62);
        next = updated(t, m, NULL, now, &info);
        check_int(t, info.came, 2);
        check_int(t, next->info.updates, 2);
        for (int u = 20; u < 22; u++) /* 60 and 61 stand at 20 and 21 now */
            memcpy(w.value[u], w.value[u + 40], sizeof(w.value[0]));
        compare(t, of, next, &w, 0, 60);
        ease_interactions_free(now);
        ease_interactions_free(x);
        ease_model_free(m);
        ease_model_free(next);
    }
}

static void many_updates_keep_the_residual_and_the_weights(test *t)
{
    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        world w = random_world(5, of->weighted), then = random_world(6, of->weighted);
        ease_interactions *x = rows_of(&w, 0, USERS);
        ease_model *m = train(of, x, 5, EASE_F32);

        ease_interactions_free(x);
        for (int round = 0; round < 60; round++) {
            int u = round * 7 % (USERS - 5);
            ease_interactions *was = rows_of(&w, u, u + 5), *now;
            world *from = round % 2 ? &w : &then;
            world *to = round % 2 ? &then : &w;
            float kept[5][ITEMS];
            ease_model *next;

            memcpy(kept, w.value[u], sizeof(kept));
            memcpy(w.value[u], then.value[u], sizeof(kept));
            memcpy(then.value[u], kept, sizeof(kept));
            (void)from, (void)to;
            now = rows_of(&w, u, u + 5);
            next = updated(t, m, was, now, NULL);
            check(t, next->info.residual < 1e-5);
            ease_interactions_free(was);
            ease_interactions_free(now);
            ease_model_free(m);
            m = next;
        }
        compare(t, of, m, &w, 0, USERS);
        ease_model_free(m);
    }
}

static void users_forgotten_one_by_one_give_the_model_without_them(test *t)
{
    const member *of = &members[0];
    world w = random_world(8, false);
    ease_interactions *x = rows_of(&w, 0, USERS);
    ease_model *m = train(of, x, 5, EASE_F32);

    ease_interactions_free(x);
    for (int u = 0; u < USERS - 20; u++) {
        ease_interactions *was = rows_of(&w, u, u + 1);
        ease_removal removal = {0};
        ease_update_options o;
        ease_model *next = NULL;
        ease_error err = {0};

        ease_update_options_init(&o);
        o.removals = &removal;
        if (!check_status(t, ease_model_update(m, was, NULL, &o, &next, NULL, &err),
                          EASE_OK))
            printf("  %s\n", err.text);
        check(t, removal.leverage > 0 && removal.leverage < 1);
        check(t, removal.deviation < 1e-5);
        ease_interactions_free(was);
        ease_model_free(m);
        m = next;
        if (u % 10 == 0)
            compare(t, of, m, &w, u + 1, USERS);
    }
    ease_model_free(m);
}

/* The deviation of rows that should have been removed from one inverse, in another. */
static double deviation_of(test *t, const ease__tiled *before, const ease__tiled *after,
                           ease_row row)
{
    static const double one = 1;
    ease__rank_change c = {.rows = &row, .count = 1, .factors = &one, .remove = true};
    double deviation = -1;

    check_status(t, ease__rank_deviation(before, after, &c, &deviation, 2, NULL),
                 EASE_OK);
    return deviation;
}

/* P' = P without one row, and the leverage and the deviation that the update tells. */
static ease__tiled removed(test *t, const ease__tiled *p, ease_row row, double told[2])
{
    static const double one = 1;
    ease__rank_change c = {.rows = &row, .count = 1, .factors = &one, .remove = true};
    ease__tiled made;

    check_status(t, ease__tiled_new(p->n, EASE__F32, &made, NULL), EASE_OK);
    check_status(t, ease__rank_update(p, &made, &c, told, told + 1, 2, NULL, NULL),
                 EASE_OK);
    return made;
}

/* With a stale P the deviation is the leverage; the residual of such a P is below the
 * bound for most users, so that only this check tells that somebody is still there. */
static void the_check_of_a_removal_tells_users_who_were_not_removed(test *t)
{
    world w = random_world(21, false);
    ease_interactions *x = rows_of(&w, 0, USERS);
    ease_model *m = train(&members[0], x, 5, EASE_F32);
    const ease__tiled *p = &m->inverse;

    for (int64_t u = 0; u < 20; u++) {
        ease_row row = ease_interactions_row(x, u),
                 other = ease_interactions_row(x, u + 20);
        double told[2], ignored[2], stale = deviation_of(t, p, p, row);
        ease__tiled right = removed(t, p, row, told),
                    wrong = removed(t, p, other, ignored);

        check(t, told[1] > 0 && told[1] < 1e-5);
        check(t, deviation_of(t, p, &right, row) == told[1]);
        check(t, stale > 1e-2);
        check(t, fabs(stale - told[0]) < 1e-5);
        check(t, deviation_of(t, p, &wrong, row) > 1e-2);
        ease__tiled_free(&right);
        ease__tiled_free(&wrong);
    }
    ease_model_free(m);
    ease_interactions_free(x);
}

static void new_items_join_and_items_without_users_have_no_weights(test *t)
{
    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        world w = random_world(3, of->weighted);
        ease_interactions *x = rows_of(&w, 3, 60), *now;
        ease_model *m = train(of, x, 5, EASE_F32), *more, *less;
        ease_update_info info;

        now = rows_of(&w, 0, 3); /* the only ones with the last items */
        more = updated(t, m, NULL, now, &info);
        check(t, info.new_items > 0);
        check_int(t, more->info.items, m->info.items + info.new_items);
        compare(t, of, more, &w, 0, 60);
        less = updated(t, more, now, NULL, &info);
        check(t, info.lost_items > 0);
        check_int(t, less->info.items, more->info.items);
        compare(t, of, less, &w, 3, 60);
        ease_model_free(more);
        more = updated(t, less, NULL, now, NULL); /* items that were lost come back */
        compare(t, of, more, &w, 0, 60);
        ease_model_free(m);
        ease_model_free(more);
        ease_model_free(less);
        ease_interactions_free(x);
        ease_interactions_free(now);
    }
}

/* Trains with the options of a model, and `like`. */
static ease_status train_like(const member *of, const ease_model *like,
                              const ease_interactions *x, const char *gram,
                              ease_model **out, ease_error *err)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.method = of->method;
    o.settings = of->settings;
    o.kind = of->kind;
    o.lambda = like->info.lambda;
    o.updatable = 1;
    o.like = like;
    return x ? ease_train(x, &o, out, err) : ease_train_gram_file(gram, &o, out, err);
}

/* With lost and new items, and another mean weight of users: a user power would scale
 * lambda by it. */
static void training_like_a_model_makes_the_model_of_an_update(test *t)
{
    const char *path = test_path("x.gram");

    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        world w = random_world(41, of->weighted);
        ease_interactions *x = rows_of(&w, 0, 60), *was = rows_of(&w, 0, 30), *then;
        ease_model *m = train(of, x, 5, EASE_F32), *want, *got = NULL;
        ease_gram *g = NULL;
        ease_error err = {0};

        for (int u = 30; u < 60; u += 2) /* shorter rows, and none with rare items */
            for (int i = 0; i < ITEMS / 2; i++)
                w.value[u][i] = 0;
        ease_interactions_free(x);
        x = rows_of(&w, 0, 60);
        ease_model_free(m);
        m = train(of, x, 5, EASE_F32);
        want = updated(t, m, was, NULL, NULL);
        then = rows_of(&w, 30, 60);
        if (!check_status(t, train_like(of, m, then, NULL, &got, &err), EASE_OK))
            printf("  %s: %s\n", of->method, err.text);
        check_int(t, got->info.items, want->info.items);
        check(t, got->info.lambda == want->info.lambda);
        check(t, got->living.lambda == want->living.lambda);
        check(t, distance(t, got, want) <= TOLERANCE);
        ease_model_free(got);
        if (!of->weighted && !strstr(of->settings, "user-power")) {
            check_status(t, ease_gram_build(then, NULL, &g, NULL), EASE_OK);
            check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
            ease_gram_free(g);
            check_status(t, train_like(of, m, NULL, path, &got, &err), EASE_OK);
            check_int(t, got->info.items, want->info.items);
            check(t, distance(t, got, want) <= TOLERANCE);
            ease_model_free(got);
        }
        ease_interactions_free(x);
        ease_interactions_free(was);
        ease_interactions_free(then);
        ease_model_free(want);
        ease_model_free(m);
    }
}

static void training_like_a_model_needs_its_settings(test *t)
{
    static const struct {
        member of;
        double lambda;
        bool fixed;
        const char *why;
    } cases[] = {
        {{"ease-family", "user-power=0.5", EASE_GRAM_COUNTS, false},
         6,
         false,
         "lambda"},
        {{"ease-family", "user-power=0.4", EASE_GRAM_COUNTS, false},
         5,
         false,
         "settings must be those"},
        {{"ease", "", EASE_GRAM_COUNTS, false}, 5, false, "method, kind and lambda"},
        {{"ease-family", "user-power=0.5", EASE_GRAM_COVARIANCE, false},
         5,
         false,
         "kind"},
        {{"slim", "", EASE_GRAM_COUNTS, false}, 5, false, "method"},
        {{"ease-family", "user-power=0.5", EASE_GRAM_COUNTS, false},
         5,
         true,
         "updatable models alone"},
    };
    const member of = {"ease-family", "user-power=0.5", EASE_GRAM_COUNTS, false};
    world w = random_world(42, false);
    ease_interactions *x = rows_of(&w, 0, 40);
    ease_model *m = train(&of, x, 5, EASE_F32);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ease_model *made = NULL;
        ease_train_options o;
        ease_error err = {0};

        ease_train_options_init(&o);
        o.method = cases[i].of.method;
        o.settings = cases[i].of.settings[0] ? cases[i].of.settings : NULL;
        o.kind = cases[i].of.kind;
        o.lambda = cases[i].lambda;
        o.updatable = !cases[i].fixed;
        o.like = m;
        check_status(t, ease_train(x, &o, &made, &err), EASE_E_ARG);
        check_contains(t, err.text, cases[i].why);
        check(t, !made);
    }
    ease_model_free(m);
    ease_interactions_free(x);
}

static void a_change_is_described_as_the_update_does_it(test *t)
{
    world w = random_world(43, false);
    ease_interactions *x = rows_of(&w, 3, 60), *was = rows_of(&w, 10, 14),
                      *now = rows_of(&w, 0, 12);
    ease_model *m = train(&members[0], x, 5, EASE_F32), *next;
    ease_update_info told = {.size = sizeof(told)}, done;
    int64_t rank = -1;

    check_status(t, ease_model_describe_change(m, was, now, &told, NULL), EASE_OK);
    check_status(t, ease_model_update_rank(m, was, now, &rank, NULL), EASE_OK);
    next = updated(t, m, was, now, &done);
    check_int(t, told.came, 10);
    check_int(t, told.left, 2);
    check_int(t, told.same, 2);
    check_int(t, told.rank, rank);
    check(t,
          isnan(told.residual) && isnan(told.residual_before) && isnan(told.deviation));
    told.residual = done.residual;
    told.residual_before = done.residual_before;
    told.deviation = done.deviation;
    check(t, memcmp(&told, &done, sizeof(told)) == 0);
    check_status(t, ease_model_describe_change(m, NULL, NULL, &told, NULL), EASE_E_ARG);
    ease_model_free(m);
    ease_model_free(next);
    ease_interactions_free(x);
    ease_interactions_free(was);
    ease_interactions_free(now);
}

static void lost_items_come_back_together_with_new_ones(test *t)
{
    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        world w = random_world(4, of->weighted);
        ease_interactions *x, *some, *now;
        ease_model *m, *more, *less;
        ease_update_info info;

        w.value[0][ITEMS - 1] = w.value[1][ITEMS - 1] = 0;
        x = rows_of(&w, 3, 60);
        some = rows_of(&w, 0, 2); /* not with the last item */
        now = rows_of(&w, 0, 3);
        m = train(of, x, 5, EASE_F32);
        more = updated(t, m, NULL, some, NULL);
        less = updated(t, more, some, NULL, &info);
        check_int(t, info.lost_items, RARE - 1);
        ease_model_free(more);
        more = updated(t, less, NULL, now, &info);
        check_int(t, info.new_items, 1);
        compare(t, of, more, &w, 0, 60);
        ease_model_free(m);
        ease_model_free(more);
        ease_model_free(less);
        ease_interactions_free(x);
        ease_interactions_free(some);
        ease_interactions_free(now);
    }
}

static bool same_inverse(const ease_model *a, const ease_model *b)
{
    return a->inverse.bytes == b->inverse.bytes &&
           memcmp(a->inverse.data, b->inverse.data, a->inverse.bytes) == 0;
}

static void an_empty_change_changes_nothing(test *t)
{
    world w = random_world(11, false);
    ease_interactions *x = rows_of(&w, 0, 50), *some = rows_of(&w, 4, 9);
    ease_model *m = train(&members[0], x, 5, EASE_F32), *next;
    ease_update_info info;
    int64_t rank = -1;

    check_status(t, ease_model_update_rank(m, some, some, &rank, NULL), EASE_OK);
    check_int(t, rank, 0);
    next = updated(t, m, some, some, &info);
    check_int(t, info.same, 5);
    check_int(t, info.rank, 0);
    check(t, same_inverse(m, next));
    ease_model_free(m);
    ease_model_free(next);
    ease_interactions_free(x);
    ease_interactions_free(some);
}

static void updates_have_the_same_bits_at_any_number_of_threads(test *t)
{
    world w = random_world(12, false);
    ease_interactions *x = rows_of(&w, 0, 50), *was = rows_of(&w, 4, 9),
                      *now = rows_of(&w, 50, 70);

    for (int k = 0; k < 3; k += 2) {
        ease_model *m = train(&members[k], x, 5, EASE_F32), *first = NULL;

        for (int threads = 1; threads <= 3; threads++) {
            ease_update_options o;
            ease_model *next = NULL;

            ease_update_options_init(&o);
            o.threads = threads;
            check_status(t, ease_model_update(m, was, now, &o, &next, NULL, NULL),
                         EASE_OK);
            check(t, !first || same_inverse(first, next));
            if (first)
                ease_model_free(next);
            else
                first = next;
        }
        ease_model_free(first);
        ease_model_free(m);
    }
    ease_interactions_free(x);
    ease_interactions_free(was);
    ease_interactions_free(now);
}

static void a_model_from_a_file_is_updated_with_its_titles_and_tags(test *t)
{
    const char *path = test_path("model.ease");
    world w = random_world(13, false);
    ease_interactions *x = rows_of(&w, 3, 50), *now = rows_of(&w, 0, 3);
    ease_model *m = train(&members[2], x, 5, EASE_F32), *open = NULL, *next, *other;
    const char *titles[ITEMS];

    for (int i = 0; i < m->info.items; i++)
        titles[i] = i % 2 ? "odd" : "";
    check_status(t, ease_model_set_titles(m, titles, NULL), EASE_OK);
    give_some_tags(m, true);
    check_status(t, ease_model_save(m, path, EASE_STORE_PACKED, NULL, NULL), EASE_OK);
    check_status(t, ease_model_open(path, NULL, &open, NULL), EASE_OK);
    check_int(t, open->info.updatable, 1);
    next = updated(t, open, NULL, now, NULL);
    other = updated(t, m, NULL, now, NULL);
    check(t, same_inverse(next, other));
    check_text(t, ease_model_title(next, 1), "odd");
    check(t, !ease_model_title(next, next->info.items - 1));
    check_int(t, ease_model_item_tags(next, 3).count, ease_model_item_tags(m, 3).count);
    check_int(t, ease_model_item_tags(next, next->info.items - 1).count, 0);
    ease_model_free(open);
    check_status(t, ease_model_save(next, path, EASE_STORE_PACKED, NULL, NULL),
                 EASE_OK);
    check_status(t, ease_model_open(path, NULL, &open, NULL), EASE_OK);
    check_int(t, open->info.updates, 1);
    check(t, same_inverse(next, open));
    compare(t, &members[2], open, &w, 0, 50);
    ease_model_free(open);
    ease_model_free(other);
    ease_model_free(next);
    ease_model_free(m);
    ease_interactions_free(x);
    ease_interactions_free(now);
}

/* ---- what is refused ------------------------------------------------------------- */

static void refused(test *t, const ease_model *m, const ease_interactions *was,
                    const ease_interactions *now, ease_status want, const char *why)
{
    ease_model *made = NULL;
    ease_error err = {0};

    check_status(t, ease_model_update(m, was, now, NULL, &made, NULL, &err), want);
    check_contains(t, err.text, why);
    check(t, !made);
}

static void rows_that_are_not_there_cannot_be_removed(test *t)
{
    world w = random_world(14, false), full = {.weighted = false};
    ease_interactions *x = rows_of(&w, 3, 30), *unknown = rows_of(&w, 0, 3), *many,
                      *few, *all = rows_of(&w, 3, 30);
    ease_model *m = train(&members[0], x, 0.01, EASE_F32);

    refused(t, m, unknown, NULL, EASE_E_DATA, "unknown to the model");
    for (int u = 0; u < USERS; u++)
        full.value[u][1] = full.value[u][2] = 1;
    many = rows_of(&full, 0, 30); /* more users than the item has */
    refused(t, m, many, NULL, EASE_E_DATA, "has only");
    for (int i = 0; i < ITEMS - RARE; i++)
        full.value[0][i] = 1;
    few = rows_of(&full, 0, 1); /* one user, with all items at once */
    refused(t, m, few, NULL, EASE_E_DATA, "not a part of the model's data");
    refused(t, m, all, NULL, EASE_E_DATA, "no user would remain");
    ease_model_free(m);
    ease_interactions_free(x);
    ease_interactions_free(unknown);
    ease_interactions_free(many);
    ease_interactions_free(few);
    ease_interactions_free(all);
}

static void an_empty_column_of_a_matrix_is_no_unknown_item(test *t)
{
    world w = random_world(15, false);
    ease_interactions *x = rows_of(&w, 3, 30), *plain = rows_of(&w, 5, 6), *wide = NULL;
    ease_model *m = train(&members[0], x, 5, EASE_F32), *by_wide, *by_plain;
    int32_t cols[ITEMS];
    int64_t ends[2] = {0, 0};

    for (int i = 0; i < ITEMS; i++)
        if (w.value[5][i] != 0)
            cols[ends[1]++] = i;
    check_status(
        t, ease_interactions_from_csr(1, ITEMS + 3, ends, cols, NULL, &wide, NULL),
        EASE_OK);
    by_wide = updated(t, m, wide, NULL, NULL);
    by_plain = updated(t, m, plain, NULL, NULL);
    check(t, same_inverse(by_wide, by_plain));
    ease_model_free(m);
    ease_model_free(by_wide);
    ease_model_free(by_plain);
    ease_interactions_free(x);
    ease_interactions_free(plain);
    ease_interactions_free(wide);
}

static void models_that_cannot_be_updated_say_so(test *t)
{
    static const struct {
        const char *method, *settings, *why;
        ease_gram_kind kind;
    } cases[] = {
        {"ease", NULL, "correlation matrix cannot be updatable", EASE_GRAM_CORRELATION},
        {"mrf", NULL, "mrf cannot be updatable", EASE_GRAM_COUNTS},
        {"ease-family", "lambda-power=0.5", "variances", EASE_GRAM_COVARIANCE},
        {"slim", NULL, "slim cannot be updatable", EASE_GRAM_COUNTS},
        {"popularity", NULL, "popularity cannot be updatable", EASE_GRAM_COUNTS},
    };
    world w = random_world(15, false);
    ease_interactions *x = rows_of(&w, 0, 30);
    ease_train_options o;
    ease_model *m = NULL;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ease_error err = {0};

        ease_train_options_init(&o);
        o.method = cases[i].method;
        o.settings = cases[i].settings;
        o.kind = cases[i].kind;
        o.lambda = 5;
        o.updatable = 1;
        check_status(t, ease_train_options_check(&o, 0, &err), EASE_E_ARG);
        check_contains(t, err.text, cases[i].why);
        check_status(t, ease_train(x, &o, &m, &err), EASE_E_ARG);
        check_contains(t, err.text, cases[i].why);
    }
    ease_train_options_init(&o);
    o.lambda = 5;
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    refused(t, m, x, NULL, EASE_E_ARG, "not updatable");
    check_status(t, ease_model_check_data(m, x, NULL), EASE_E_ARG);
    check_status(t, ease_model_residual(m, 0, &(double){0}, NULL), EASE_E_ARG);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void a_proof_tells_the_data_after_a_change_from_others(test *t)
{
    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        world w = random_world(18, of->weighted);
        ease_interactions *x = rows_of(&w, 0, 60), *then = rows_of(&w, 3, 66),
                          *was = rows_of(&w, 0, 3), *now = rows_of(&w, 60, 66);
        ease_model *m = train(of, x, 5, EASE_F32);

        check_status(t, ease_model_check_change(m, was, now, then, NULL), EASE_OK);
        check_status(t, ease_model_check_change(m, was, NULL, then, NULL), EASE_E_DATA);
        check_status(t, ease_model_check_change(m, NULL, now, then, NULL), EASE_E_DATA);
        check_status(t, ease_model_check_change(m, was, now, x, NULL), EASE_E_DATA);
        check_status(t, ease_model_check_change(m, now, was, x, NULL), EASE_E_DATA);
        check_status(t, ease_model_check_change(m, was, now, NULL, NULL), EASE_E_ARG);
        ease_interactions_free(x);
        ease_interactions_free(then);
        ease_interactions_free(was);
        ease_interactions_free(now);
        ease_model_free(m);
    }
}

static void a_proof_tells_the_data_of_the_model_from_others(test *t)
{
    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        world w = random_world(16, of->weighted);
        ease_interactions *x = rows_of(&w, 0, 60), *other = rows_of(&w, 1, 61);
        ease_model *m = train(of, x, 5, EASE_F32);
        double residual = 1;
        int a = 0, b = 0;

        check_status(t, ease_model_check_data(m, x, NULL), EASE_OK);
        check_status(t, ease_model_check_data(m, other, NULL), EASE_E_DATA);
        check_status(t, ease_model_residual(m, 2, &residual, NULL), EASE_OK);
        check(t, residual < 1e-5);
        ease_interactions_free(other);
        /* Two users swap an item each, so that the counts of items stay. */
        while (w.value[5][a] == 0 || w.value[6][a] != 0)
            a++;
        while (w.value[6][b] == 0 || w.value[5][b] != 0)
            b++;
        w.value[6][a] = w.value[5][a];
        w.value[5][b] = w.value[6][b];
        w.value[5][a] = w.value[6][b] = 0;
        other = rows_of(&w, 0, 60);
        check_status(t, ease_model_check_data(m, other, NULL), EASE_E_DATA);
        ease_interactions_free(other);
        ease_interactions_free(x);
        ease_model_free(m);
    }
}

/* A row and its negative have the same products of entries, but other sums. */
static void a_proof_of_a_covariance_tells_rows_of_another_sign(test *t)
{
    for (int k = 0; k < MEMBERS; k++) {
        const member *of = &members[k];
        bool centred = of->kind == EASE_GRAM_COVARIANCE;
        world w = random_world(19, true);
        ease_interactions *x = rows_of(&w, 0, 60), *other, *was, *then;
        ease_model *m = train(of, x, 5, EASE_F32);

        check_status(t, ease_model_check_data(m, x, NULL), EASE_OK);
        for (int u = 10; u < 30; u += 3)
            for (int i = 0; i < ITEMS; i++)
                w.value[u][i] = -w.value[u][i];
        other = rows_of(&w, 0, 60);
        was = rows_of(&w, 0, 10);
        then = rows_of(&w, 10, 60);
        check_status(t, ease_model_check_data(m, other, NULL),
                     centred ? EASE_E_DATA : EASE_OK);
        check_status(t, ease_model_check_change(m, was, NULL, then, NULL),
                     centred ? EASE_E_DATA : EASE_OK);
        ease_interactions_free(x);
        ease_interactions_free(other);
        ease_interactions_free(was);
        ease_interactions_free(then);
        ease_model_free(m);
    }
}

/* The first `users` rows of a matrix whose last ones are empty. */
static ease_interactions *rows_with_empty_ones(int users)
{
    static const int64_t ends[] = {0, 2, 3, 6, 8, 8, 8};
    static const int32_t cols[] = {0, 1, 2, 0, 2, 3, 1, 3};
    ease_interactions *x = NULL;

    if (ease_interactions_from_csr(users, 4, ends, cols, NULL, &x, NULL))
        abort();
    return x;
}

/* They change the means that a covariance is centred by, unless their weight is 0. */
static void a_proof_counts_users_without_items_where_they_matter(test *t)
{
    static const member kinds[] = {
        {"ease", "", EASE_GRAM_COUNTS, false},
        {"ease", "", EASE_GRAM_COVARIANCE, false},
        {"ease-family", "user-power=0.5", EASE_GRAM_COVARIANCE, false}};
    static const bool matter[] = {false, true, false};
    ease_interactions *all = rows_with_empty_ones(6), *full = rows_with_empty_ones(4);

    for (int k = 0; k < 3; k++) {
        ease_model *m = train(&kinds[k], all, 2, EASE_F32),
                   *less = train(&kinds[k], full, 2, EASE_F32);
        ease_error err = {0};
        ease_status want = matter[k] ? EASE_E_DATA : EASE_OK;

        check_status(t, ease_model_check_data(m, all, NULL), EASE_OK);
        check_status(t, ease_model_check_data(m, full, &err), want);
        if (matter[k])
            check_contains(t, err.text, "they have 4 users, not 6");
        check_status(t, ease_model_check_data(less, full, NULL), EASE_OK);
        check_status(t, ease_model_check_data(less, all, NULL), want);
        ease_model_free(m);
        ease_model_free(less);
    }
    ease_interactions_free(all);
    ease_interactions_free(full);
}

/* Removing a user whose values are far larger than all others leaves the rounding errors
 * of the large sums, which must not make the right data look wrong. */
static void a_proof_stays_right_after_a_heavy_user_is_removed(test *t)
{
    static const float heavy[] = {3e3f, 3e6f};

    for (int k = 0; k < 2 * MEMBERS; k++) {
        const member *of = &members[k / 2];
        world w = random_world(20, true);
        ease_interactions *x, *was, *rest, *other;
        ease_model *m, *less, *open;
        const char *path = test_path("heavy.ease");
        int item = 0;

        if (!of->weighted)
            continue;
        for (int i = 0; i < ITEMS; i++)
            w.value[0][i] = heavy[k % 2] * (1 + 0.01f * (float)i);
        x = rows_of(&w, 0, 60);
        was = rows_of(&w, 0, 1);
        rest = rows_of(&w, 1, 60);
        m = train(of, x, 100 * ITEMS * (double)(heavy[k % 2] * heavy[k % 2]), EASE_F32);
        less = updated(t, m, was, NULL, NULL);
        check_status(t, ease_model_save(less, path, EASE_STORE_PACKED, NULL, NULL),
                     EASE_OK);
        check_status(t, ease_model_open(path, NULL, &open, NULL), EASE_OK);
        while (w.value[7][item] == 0)
            item++;
        w.value[7][item] += 0.5f;
        other = rows_of(&w, 1, 60);
        check_status(t, ease_model_check_data(m, x, NULL), EASE_OK);
        check_status(t, ease_model_check_data(less, rest, NULL), EASE_OK);
        check_status(t, ease_model_check_data(open, rest, NULL), EASE_OK);
        check_status(t, ease_model_check_change(m, was, NULL, rest, NULL), EASE_OK);
        check_status(t, ease_model_check_data(open, other, NULL), EASE_E_DATA);
        check_status(t, ease_model_check_change(m, was, NULL, other, NULL),
                     EASE_E_DATA);
        ease_interactions_free(x);
        ease_interactions_free(was);
        ease_interactions_free(rest);
        ease_interactions_free(other);
        ease_model_free(m);
        ease_model_free(less);
        ease_model_free(open);
    }
}

/* Both come from a file, so that the residual is that of the numbers in it. */
static void the_residual_shows_a_changed_inverse(test *t)
{
    world w = random_world(17, false);
    ease_interactions *x = rows_of(&w, 0, 60);
    ease_model *m = train(&members[0], x, 5, EASE_F32);
    double residual = 0;

    ((float *)m->inverse.data)[0] *= 1.01f;
    check_status(t, ease_model_residual(m, 1, &residual, NULL), EASE_OK);
    check(t, residual > 1e-4);
    ease_model_free(m);
    ease_interactions_free(x);
}

static void an_update_survives_every_failed_allocation(test *t)
{
    world w = random_world(18, false);
    ease_interactions *x = rows_of(&w, 3, 20), *was = rows_of(&w, 4, 6),
                      *now = rows_of(&w, 0, 3);
    static const int some[] = {0, 2, 6};

    for (size_t k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
        ease_model *m = train(&members[some[k]], x, 5, EASE_F32);
        ease_update_options o;
        ease_status status;
        int n = 0;

        give_some_tags(m, true);
        ease_update_options_init(&o);
        o.threads = 1;
        o.memory_limit = SIZE_MAX;
        do {
            ease_model *next = NULL;

            alloc_fail_after(n++);
            status = ease_model_update(m, was, now, &o, &next, NULL, NULL);
            alloc_fail_after(-1);
            check_int(t, next != NULL, status == EASE_OK);
            ease_model_free(next);
        } while (status == EASE_E_NOMEM);
        check_status(t, status, EASE_OK);
        check(t, n > 10);
        ease_model_free(m);
    }
    ease_interactions_free(x);
    ease_interactions_free(was);
    ease_interactions_free(now);
}

static int cancel(void *user, const char *stage, double fraction)
{
    int *calls = user;

    (void)stage, (void)fraction;
    return (*calls)-- == 0;
}

static void an_update_can_be_cancelled(test *t)
{
    world w = random_world(19, false);
    ease_interactions *x = rows_of(&w, 3, 20), *was = rows_of(&w, 4, 6);
    ease_model *m = train(&members[0], x, 5, EASE_F32), *next = NULL;
    int calls = 0;
    ease_hooks hooks = {.progress = cancel, .user = &calls};
    ease_update_options o;

    ease_update_options_init(&o);
    o.hooks = &hooks;
    check_status(t, ease_model_update(m, was, NULL, &o, &next, NULL, NULL),
                 EASE_E_CANCELLED);
    ease_model_free(m);
    ease_interactions_free(x);
    ease_interactions_free(was);
}

static void an_update_has_a_memory_limit_and_a_plan(test *t)
{
    world w = random_world(20, false);
    ease_interactions *x = rows_of(&w, 3, 20), *was = rows_of(&w, 4, 6);
    ease_model *m = train(&members[0], x, 5, EASE_F32), *next = NULL;
    ease_update_options o;
    ease_update_plan p = {.size = sizeof(p)};

    ease_update_options_init(&o);
    o.memory_limit = 1000;
    check_status(t, ease_model_update(m, was, NULL, &o, &next, NULL, NULL),
                 EASE_E_MEMORY_LIMIT);
    check_status(t, ease_update_plan_sizes(20108, 100, NULL, &p, NULL), EASE_OK);
    check(t, p.update_seconds > 0 && p.update_seconds < p.solve_seconds);
    check(t, p.peak_bytes > 800000000 && p.peak_bytes < 2000000000);
    check_status(t, ease_update_plan_sizes(1000, 100000, NULL, &p, NULL), EASE_OK);
    check(t, p.update_seconds > p.solve_seconds);
    check_status(t, ease_update_plan_sizes(0, 1, NULL, &p, NULL), EASE_E_ARG);
    ease_model_free(m);
    ease_interactions_free(x);
    ease_interactions_free(was);
}

/* The vectors of FIPS 180-4, and a length that needs a second block of padding. */
static void the_digest_of_a_file_is_its_sha256(test *t)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    const char *path = test_path("text");
    char digest[65];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_write_text(path, cases[i].text);
        check_status(t, ease_file_digest(path, digest, NULL), EASE_OK);
        check_text(t, digest, cases[i].digest);
    }
    check_status(t, ease_file_digest(test_path("missing"), digest, NULL), EASE_E_IO);
}

/* Of files around the borders of blocks and of the chunks that are read. */
static void digests_are_those_of_sha256sum(test *t)
{
    static const size_t sizes[] = {1,
                                   55,
                                   56,
                                   63,
                                   64,
                                   65,
                                   119,
                                   120,
                                   127,
                                   128,
                                   129,
                                   1000,
                                   4097,
                                   (1 << 20) - 1,
                                   (1 << 20) + 64,
                                   3000001};
    const char *path = test_path("bytes");
    char command[600], digest[65], want[65];
    ease__random r;

    ease__random_seed(&r, 30, 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        FILE *f = fopen(path, "wb"), *sum;

        for (size_t k = 0; k < sizes[i]; k++)
            fputc((int)ease__random_below(&r, 256), f);
        fclose(f);
        snprintf(command, sizeof(command), "sha256sum '%s'", path);
        sum = popen(command, "r"); /* NOLINT(cert-env33-c): a file of this test */
        if (!check(t, sum && fread(want, 1, 64, sum) == 64))
            abort();
        want[64] = 0;
        pclose(sum);
        check_status(t, ease_file_digest(path, digest, NULL), EASE_OK);
        check_text(t, digest, want);
    }
}

static void every_processor_computes_the_same_sha256(test *t)
{
    static unsigned char data[40 * EASE__SHA256_BLOCK + 1];
    ease__sha256_add *fast = ease__sha256_x86();
    ease__random r;

    if (!fast) {
        test_skip(t, "no SHA extensions");
        return;
    }
    ease__random_seed(&r, 31, 0);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)ease__random_below(&r, 256);
    for (size_t blocks = 0; blocks <= 40; blocks++)
        for (size_t shift = 0; shift < 2; shift++) { /* unaligned too */
            uint32_t a[EASE__SHA256_WORDS], b[EASE__SHA256_WORDS];

            for (int i = 0; i < EASE__SHA256_WORDS; i++)
                a[i] = b[i] = (uint32_t)ease__random_below(&r, UINT64_C(1) << 32);
            ease__sha256_plain(a, data + shift, blocks);
            fast(b, data + shift, blocks);
            check(t, memcmp(a, b, sizeof(a)) == 0);
        }
}

static const test_case cases[] = {
    TEST(users_who_come_leave_and_change_give_the_model_of_the_final_data),
    TEST(many_updates_keep_the_residual_and_the_weights),
    TEST(users_forgotten_one_by_one_give_the_model_without_them),
    TEST(the_check_of_a_removal_tells_users_who_were_not_removed),
    TEST(new_items_join_and_items_without_users_have_no_weights),
    TEST(training_like_a_model_makes_the_model_of_an_update),
    TEST(training_like_a_model_needs_its_settings),
    TEST(a_change_is_described_as_the_update_does_it),
    TEST(lost_items_come_back_together_with_new_ones),
    TEST(an_empty_change_changes_nothing),
    TEST(updates_have_the_same_bits_at_any_number_of_threads),
    TEST(a_model_from_a_file_is_updated_with_its_titles_and_tags),
    TEST(rows_that_are_not_there_cannot_be_removed),
    TEST(an_empty_column_of_a_matrix_is_no_unknown_item),
    TEST(models_that_cannot_be_updated_say_so),
    TEST(a_proof_tells_the_data_after_a_change_from_others),
    TEST(a_proof_tells_the_data_of_the_model_from_others),
    TEST(a_proof_of_a_covariance_tells_rows_of_another_sign),
    TEST(a_proof_counts_users_without_items_where_they_matter),
    TEST(a_proof_stays_right_after_a_heavy_user_is_removed),
    TEST(the_residual_shows_a_changed_inverse),
    TEST(an_update_survives_every_failed_allocation),
    TEST(an_update_can_be_cancelled),
    TEST(an_update_has_a_memory_limit_and_a_plan),
    TEST(the_digest_of_a_file_is_its_sha256),
    TEST(digests_are_those_of_sha256sum),
    TEST(every_processor_computes_the_same_sha256),
};

TEST_MAIN(cases)
