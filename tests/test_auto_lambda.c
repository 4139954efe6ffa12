/* Lambda that is chosen by leaving users out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/interactions.h"
#include "models.h"

/* ---- data ------------------------------------------------------------------------ */

static ease_interactions *synthetic(int64_t users, int32_t items, int64_t pairs)
{
    ease_synth_options o;
    ease_interactions *x = NULL;

    ease_synth_options_init(&o);
    o.users = users;
    o.items = items;
    o.interactions = pairs;
    o.seed = 11;
    if (ease_interactions_synth(&o, &x, NULL))
        abort();
    return x;
}

/* Users with items of their own beside some that others have too: with a small lambda
 * float32 does not suffice to leave them out. */
static ease_interactions *with_own_items(bool weighted)
{
    enum { USERS = 40, COMMON = 30, OWN = 60 };
    int64_t row_ptr[USERS + 1] = {0}, count = 0;
    int32_t *cols = calloc(USERS * (COMMON + OWN), sizeof(*cols));
    float *vals = calloc(USERS * (COMMON + OWN), sizeof(*vals));
    int32_t items = COMMON + 4 * OWN;
    ease_interactions *x = NULL;

    for (int u = 0; u < USERS; u++) {
        for (int i = 0; i < COMMON; i++)
            if ((u * 7 + i * 3) % 5 < 2)
                cols[count++] = i;
        for (int i = 0; u < 4 && i < OWN; i++)
            cols[count++] = COMMON + u * OWN + i;
        row_ptr[u + 1] = count;
    }
    for (int64_t k = 0; k < count; k++)
        vals[k] = 0.5F * (float)(1 + k % 4);
    if (ease_interactions_from_csr(USERS, items, row_ptr, cols, weighted ? vals : NULL,
                                   &x, NULL))
        abort();
    free(cols);
    free(vals);
    return x;
}

/* ---- tuning and training --------------------------------------------------------- */

typedef struct choice {
    ease_train_options train;
    ease_tune_options tune;
} choice;

static void choose_by(choice *c, const char *method, const char *settings,
                      ease_gram_kind kind)
{
    ease_train_options_init(&c->train);
    c->train.method = method;
    c->train.settings = settings;
    c->train.kind = kind;
    c->train.lambda = (double)NAN;
    c->train.lambda_users = 0;
    ease_tune_options_init(&c->tune);
    c->tune.train = &c->train;
    c->tune.leave_one_out = 1;
}

static ease_tuning *tune(test *t, const ease_interactions *x, const choice *c)
{
    ease_tuning *made = NULL;
    ease_error err = {0};

    if (!check_status(t, ease_tune(x, NULL, NULL, &c->tune, &made, &err), EASE_OK)) {
        printf("  %s\n", err.text);
        abort();
    }
    return made;
}

static ease_trial best_of(const ease_tuning *t)
{
    return tuning_trial(t, ease_tuning_best(t));
}

/* Trains with a lambda, and leaves users out. */
static ease_report *by_hand(test *t, const ease_interactions *x, const choice *c,
                            double lambda)
{
    ease_train_options o = c->train;
    ease_leave_options l;
    ease_model *m = NULL;
    ease_report *r = NULL;

    o.lambda = lambda;
    o.updatable = 1;
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    ease_leave_options_init(&l);
    l.metrics = c->tune.metric;
    l.users = c->tune.users;
    check_status(t, ease_leave_one_out(m, x, &l, &r, NULL), EASE_OK);
    ease_model_free(m);
    return r;
}

static bool same_files(test *t, const ease_model *a, const ease_model *b)
{
    char *bytes[2] = {NULL, NULL};
    size_t count[2] = {0, 0};
    bool same;

    for (int i = 0; i < 2; i++) {
        const char *path = test_path(i ? "b.ease" : "a.ease");

        check_status(t, ease_model_save(i ? b : a, path, EASE_STORE_PACKED, NULL, NULL),
                     EASE_OK);
        bytes[i] = test_read(path, &count[i]);
    }
    same = count[0] == count[1] && memcmp(bytes[0], bytes[1], count[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return same;
}

/* ---- trials ---------------------------------------------------------------------- */

static const struct plan {
    const char *method, *settings;
    ease_gram_kind kind;
} plans[] = {
    {"ease", NULL, EASE_GRAM_COUNTS},
    {"ease", NULL, EASE_GRAM_COVARIANCE},
    {"rlae", "relaxation=0.3", EASE_GRAM_COUNTS},
    {"edlae", "dropout=0.2", EASE_GRAM_COUNTS},
    {"ease-family", "user-power=0.5", EASE_GRAM_COVARIANCE},
};

static void trials_are_measured_as_by_hand(test *t)
{
    ease_interactions *x = synthetic(250, 80, 3000);

    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        ease_tuning *made;
        choice c;

        choose_by(&c, plans[i].method, plans[i].settings, plans[i].kind);
        c.tune.users = 100;
        made = tune(t, x, &c);
        check(t, ease_tuning_count(made) >= 5);
        check_int(t, ease_tuning_solves(made), ease_tuning_count(made));
        for (int k = 0; k < ease_tuning_count(made); k++) {
            ease_trial trial = tuning_trial(made, k);
            ease_report *r = by_hand(t, x, &c, trial.lambda);
            ease_metric value = {.size = sizeof(value)};

            ease_report_metric(r, 0, &value);
            if (report_info(r).refused == 0) {
                check_near(t, trial.mean, value.mean, 0);
                check_near(t, trial.standard_error, value.standard_error, 0);
            }
            check_int(t, trial.solves, 1);
            check_text(t, trial.settings, plans[i].settings ? plans[i].settings : "");
            check(t, k == 0 || trial.lambda > tuning_trial(made, k - 1).lambda);
            check(t, trial.mean <= best_of(made).mean);
            ease_report_free(r);
        }
        ease_tuning_free(made);
    }
    ease_interactions_free(x);
}

/* The values of all users, a refused one's being 0. */
static void users_who_cannot_be_left_out_count_as_missed(test *t)
{
    static const double lambdas[] = {0.5, 20};

    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = with_own_items(weighted);
        ease_tuning *made;
        choice c;

        choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
        c.tune.lambdas = lambdas;
        c.tune.count = 2;
        c.tune.metric = "recall@20";
        made = tune(t, x, &c);
        for (int k = 0; k < ease_tuning_count(made); k++) {
            ease_trial trial = tuning_trial(made, k);
            ease_report *r = by_hand(t, x, &c, trial.lambda);
            ease_report_info info = report_info(r);
            double all = (double)(info.users + info.refused), sum = 0, square = 0, mean;

            check_int(t, info.users + info.refused, 40);
            check_int(t, info.refused > 0, k == 0);
            for (int64_t u = 0; u < info.users; u++)
                sum += ease_report_value(r, 0, u);
            mean = sum / all;
            for (int64_t u = 0; u < info.users; u++)
                square += pow(ease_report_value(r, 0, u) - mean, 2);
            square += (double)info.refused * mean * mean;
            /* Two sums of at most 40 numbers below 1, in another order. */
            check_near(t, trial.mean, mean, 1e-14);
            check_near(t, trial.standard_error, sqrt(square) / all, 1e-12);
            ease_report_free(r);
        }
        ease_tuning_free(made);
        ease_interactions_free(x);
    }
}

static void trials_have_the_same_bits_at_any_number_of_threads(test *t)
{
    ease_interactions *x = synthetic(300, 200, 5000);
    ease_tuning *made[2];
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    for (int i = 0; i < 2; i++) {
        c.train.threads = i ? 5 : 1;
        made[i] = tune(t, x, &c);
    }
    check_int(t, ease_tuning_count(made[0]), ease_tuning_count(made[1]));
    for (int k = 0; k < ease_tuning_count(made[0]); k++) {
        ease_trial a = tuning_trial(made[0], k), b = tuning_trial(made[1], k);

        check(t, a.lambda == b.lambda && a.mean == b.mean);
        check(t, a.standard_error == b.standard_error);
    }
    for (int i = 0; i < 2; i++)
        ease_tuning_free(made[i]);
    ease_interactions_free(x);
}

/* ---- training -------------------------------------------------------------------- */

static void training_uses_the_best_trial(test *t)
{
    ease_interactions *x = synthetic(250, 80, 3000);

    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
        for (int updatable = 0; updatable < 2; updatable++) {
            ease_model *chosen = NULL, *taken = NULL, *given = NULL;
            ease_model_info info = {.size = sizeof(info)};
            ease_tuning *made;
            choice c;

            choose_by(&c, plans[i].method, plans[i].settings, plans[i].kind);
            c.train.lambda_users = 120;
            c.train.updatable = updatable;
            c.tune.users = 120;
            made = tune(t, x, &c);
            check_status(t, ease_train(x, &c.train, &chosen, NULL), EASE_OK);
            check_status(t, ease_tuning_train(made, NULL, &taken, NULL), EASE_OK);
            c.train.lambda = best_of(made).lambda;
            check_status(t, ease_train(x, &c.train, &given, NULL), EASE_OK);
            ease_model_describe(chosen, &info);
            check_near(t, info.lambda, best_of(made).lambda, 0);
            check_int(t, info.updatable, updatable);
            check(t, same_files(t, chosen, given));
            check(t, same_files(t, taken, given));
            ease_model_free(chosen);
            ease_model_free(taken);
            ease_model_free(given);
            ease_tuning_free(made);
        }
    ease_interactions_free(x);
}

/* Every list has one item, which is the target. */
static void lambda_stays_where_the_search_begins_if_all_are_equal(test *t)
{
    const int64_t row_ptr[] = {0, 2, 4, 6};
    const int32_t cols[] = {0, 1, 0, 1, 0, 1};
    ease_interactions *x = NULL;
    ease_tuning *made;
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    check_status(t, ease_interactions_from_csr(3, 2, row_ptr, cols, NULL, &x, NULL),
                 EASE_OK);
    made = tune(t, x, &c);
    check_near(t, best_of(made).lambda, 100, 0);
    check_near(t, best_of(made).mean, 1, 0);
    ease_tuning_free(made);
    ease_interactions_free(x);
}

static void notes(void *user, int level, const char *text)
{
    size_t used = strlen(user);

    if (level == 2)
        snprintf((char *)user + used, 4000 - used, "%s\n", text);
}

static void the_log_says_what_was_tried_and_why_it_stopped(test *t)
{
    ease_interactions *x = synthetic(250, 80, 3000);
    char text[4000] = "", best[80];
    ease_hooks hooks = {.log = notes, .user = text};
    ease_model_info info = {.size = sizeof(info)};
    ease_model *m = NULL;
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    c.train.hooks = &hooks;
    c.train.lambda_users = 90;
    check_status(t, ease_train(x, &c.train, &m, NULL), EASE_OK);
    ease_model_describe(m, &info);
    check_contains(t, text, "lambda is measured on 90 of 250 users");
    check_contains(t, text, "\nlambda 100: ndcg@100 ");
    snprintf(best, sizeof(best), "\nlambda %g is the best of ", info.lambda);
    check_contains(t, text, best);
    check_contains(t, text, " are not better\n");
    check(t, !strstr(text, "dropout"));
    ease_model_free(m);
    text[0] = '\0';
    c.train.method = "edlae";
    check_status(t, ease_train(x, &c.train, &m, NULL), EASE_OK);
    check_contains(t, text, "with the regularizer of all (dropout)");
    ease_model_free(m);
    ease_interactions_free(x);
}

/* ---- plans ----------------------------------------------------------------------- */

static void plans_count_the_solves_and_the_memory(test *t)
{
    ease_interactions *x = synthetic(250, 80, 3000);
    ease_plan one = {.size = sizeof(one)}, chosen = {.size = sizeof(chosen)},
              sizes = {.size = sizeof(sizes)};
    ease_tuning *made;
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    made = tune(t, x, &c);
    check_status(t, ease_plan_data(x, &c.train, EASE_STORE_F16, &chosen, NULL),
                 EASE_OK);
    check_status(t,
                 ease_plan_sizes(250, 80, 3000, &c.train, EASE_STORE_F16, &sizes, NULL),
                 EASE_OK);
    c.train.lambda = 1;
    check_status(t, ease_plan_data(x, &c.train, EASE_STORE_F16, &one, NULL), EASE_OK);
    check_int(t, one.solves, 1);
    check_near(t, (double)chosen.solves, ease_tuning_solves(made) + 1, 4);
    check_int(t, sizes.solves, chosen.solves);
    check(t, chosen.peak_bytes >= one.peak_bytes + one.matrix_bytes);
    check(t, chosen.solve_seconds > 4 * one.solve_seconds);
    check_int(t, (int64_t)chosen.traffic_bytes, 0);
    ease_tuning_free(made);
    ease_interactions_free(x);
}

/* ---- failures -------------------------------------------------------------------- */

static const struct refusal {
    const char *method, *settings, *says;
    ease_gram_kind kind;
} refusals[] = {
    {"ease-nonneg", NULL, "ease-nonneg: weights below 0", EASE_GRAM_COUNTS},
    {"dan", NULL, "dan: its weights are scaled", EASE_GRAM_COUNTS},
    {"ease-family", "lambda-power=0.5", "power of the diagonal", EASE_GRAM_COUNTS},
    {"mrf", NULL, "mrf", EASE_GRAM_COUNTS},
    {"ease", NULL, "correlation matrix", EASE_GRAM_CORRELATION},
};

static void models_whose_lambda_must_be_given_are_refused_by_name(test *t)
{
    ease_interactions *x = synthetic(250, 80, 3000);
    ease_plan plan = {.size = sizeof(plan)};

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const struct refusal *r = &refusals[i];
        ease_model *m = NULL;
        ease_tuning *made = NULL;
        ease_error err = {0};
        choice c;

        choose_by(&c, r->method, r->settings, r->kind);
        check_status(t, ease_train_options_check(&c.train, 0, &err), EASE_E_ARG);
        check_contains(t, err.text, "lambda is required, since it cannot be chosen: ");
        check_contains(t, err.text, r->says);
        check_status(t, ease_train(x, &c.train, &m, &err), EASE_E_ARG);
        check_contains(t, err.text, r->says);
        check_status(t, ease_plan_data(x, &c.train, EASE_STORE_F16, &plan, &err),
                     EASE_E_ARG);
        check_status(t, ease_tune_options_check(&c.tune, &err), EASE_E_ARG);
        check_contains(t, err.text, r->says);
        check_status(t, ease_tune(x, NULL, NULL, &c.tune, &made, &err), EASE_E_ARG);
    }
    ease_interactions_free(x);
}

static void a_gram_matrix_needs_a_given_lambda(test *t)
{
    ease_interactions *x = synthetic(100, 30, 600);
    const char *path = test_path("x.gram");
    ease_gram *g = NULL;
    ease_model *m = NULL;
    ease_error err = {0};
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_OK);
    check_status(t, ease_gram_save(g, path, NULL, NULL), EASE_OK);
    check_status(t, ease_train_gram_file(path, &c.train, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "does not tell them apart");
    check_status(t, ease_train_options_check(&c.train, 1, &err), EASE_E_ARG);
    check_contains(t, err.text, "does not tell them apart");
    check_status(t, ease_gram_solve(&g, &c.train, &m, &err), EASE_E_ARG);
    check_contains(t, err.text, "does not tell them apart");
    ease_interactions_free(x);
}

static void wrong_combinations_are_refused(test *t)
{
    ease_interactions *x = synthetic(100, 30, 600);
    ease_tuning *made = NULL;
    ease_error err = {0};
    ease_model *m = NULL;
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    check_status(t, ease_tune(x, x, x, &c.tune, &made, &err), EASE_E_ARG);
    check_contains(t, err.text, "no input and no target");
    check_status(t, ease_tune(x, NULL, x, &c.tune, &made, &err), EASE_E_ARG);
    c.tune.leave_one_out = 0;
    check_status(t, ease_tune(x, NULL, NULL, &c.tune, &made, &err), EASE_E_ARG);
    choose_by(&c, "popularity", NULL, EASE_GRAM_COUNTS);
    check_status(t, ease_tune_options_check(&c.tune, &err), EASE_E_ARG);
    check_contains(t, err.text, "does not have");
    choose_by(&c, "rlae", NULL, EASE_GRAM_COUNTS);
    c.tune.grid = "relaxation=0.1|0.2";
    check_status(t, ease_tune_options_check(&c.tune, &err), EASE_E_ARG);
    check_contains(t, err.text, "lambda alone");
    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    c.tune.metric = "novelty@10";
    check_status(t, ease_tune_options_check(&c.tune, &err), EASE_E_ARG);
    check_contains(t, err.text, "measures hits, not");
    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    c.tune.unknown = EASE_UNKNOWN_DROP;
    check_status(t, ease_tune_options_check(&c.tune, &err), EASE_E_ARG);
    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    c.tune.users = -1;
    check_status(t, ease_tune_options_check(&c.tune, &err), EASE_E_ARG);
    c.train.lambda_users = -1;
    check_status(t, ease_train(x, &c.train, &m, &err), EASE_E_ARG);
    check_status(t, ease_train(NULL, &c.train, &m, &err), EASE_E_ARG);
    check(t, !made && !m);
    ease_interactions_free(x);
}

static void data_without_two_users_say_that_lambda_is_required(test *t)
{
    const int64_t row_ptr[] = {0, 3};
    const int32_t cols[] = {0, 1, 2};
    ease_interactions *x = NULL;
    ease_model *m = NULL;
    ease_error err = {0};
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    check_status(t, ease_interactions_from_csr(1, 3, row_ptr, cols, NULL, &x, NULL),
                 EASE_OK);
    check_status(t, ease_train(x, &c.train, &m, &err), EASE_E_DATA);
    check_contains(t, err.text, "lambda cannot be chosen: ");
    check_contains(t, err.text, "two users");
    ease_interactions_free(x);
}

static void too_little_memory_is_refused_before_the_search(test *t)
{
    ease_interactions *x = synthetic(250, 80, 3000);
    ease_plan plan = {.size = sizeof(plan)};
    ease_model *m = NULL;
    ease_status status;
    choice c;

    choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
    c.train.memory_limit = 1000;
    check_status(t, ease_train(x, &c.train, &m, NULL), EASE_E_MEMORY_LIMIT);
    check_status(t, ease_plan_data(x, &c.train, EASE_STORE_F16, &plan, NULL), EASE_OK);
    check_int(t, plan.fits, 0);
    c.train.memory_limit = plan.peak_bytes;
    status = ease_train(x, &c.train, &m, NULL);
    check_status(t, status, EASE_OK);
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

static void choosing_can_be_cancelled_at_any_time(test *t)
{
    ease_interactions *x = synthetic(60, 40, 500);
    ease_status status;
    int calls = 0, stopped = 0;

    do {
        int left = calls, again = calls;
        ease_hooks hooks = {.progress = cancel_later, .user = &left};
        ease_tuning *made = NULL;
        ease_model *m = NULL;
        choice c;

        choose_by(&c, NULL, NULL, EASE_GRAM_COUNTS);
        c.train.hooks = &hooks;
        status = ease_train(x, &c.train, &m, NULL);
        check_int(t, m != NULL, status == EASE_OK);
        check(t, status == EASE_OK || status == EASE_E_CANCELLED);
        left = again;
        if (ease_tune(x, NULL, NULL, &c.tune, &made, NULL) == EASE_OK)
            stopped += ease_tuning_stopped(made);
        ease_tuning_free(made);
        ease_model_free(m);
        calls += 7;
    } while (status == EASE_E_CANCELLED);
    check_status(t, status, EASE_OK);
    check(t, calls > 20 && stopped > 3);
    ease_interactions_free(x);
}

static void choosing_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = synthetic(30, 20, 200);
    static const double lambdas[] = {20};
    ease_status status;
    int n = 0;

    do {
        ease_tuning *made = NULL;
        ease_model *m = NULL;
        choice c;

        choose_by(&c, "rlae", "relaxation=0.2", EASE_GRAM_COVARIANCE);
        c.tune.lambdas = lambdas;
        c.tune.count = 1;
        alloc_fail_after(n++);
        status = ease_tune(x, NULL, NULL, &c.tune, &made, NULL);
        if (!status)
            status = ease_tuning_train(made, NULL, &m, NULL);
        alloc_fail_after(-1);
        check_int(t, m != NULL, status == EASE_OK);
        ease_model_free(m);
        ease_tuning_free(made);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 60);
    ease_interactions_free(x);
}

/* Options that hold users out. */
static void choose_by_holding(choice *c)
{
    choose_by(c, "ease-sparse", "neighbours=5", EASE_GRAM_COUNTS);
    c->tune.leave_one_out = 0;
    c->tune.hold_out = 1;
}

/* Users with five items each that nobody else has: a model that has not seen a user
 * does not rank these items before the 120 first ones, of users who have too few items
 * to be held out. */
static ease_interactions *strangers(void)
{
    enum { OTHERS = 30, USERS = 70, ITEMS = OTHERS * 4 + (USERS - OTHERS) * 5 };
    int64_t row_ptr[USERS + 1] = {0};
    int32_t cols[ITEMS];
    ease_interactions *x = NULL;

    for (int k = 0; k < ITEMS; k++)
        cols[k] = k;
    for (int u = 0; u < USERS; u++)
        row_ptr[u + 1] = row_ptr[u] + (u < OTHERS ? 4 : 5);
    if (ease_interactions_from_csr(USERS, ITEMS, row_ptr, cols, NULL, &x, NULL))
        abort();
    return x;
}

static void held_out_users_are_not_trained_on(test *t)
{
    ease_interactions *x = strangers();
    ease_model *m = NULL;
    ease_tuning *made;
    choice c;

    choose_by_holding(&c);
    made = tune(t, x, &c);
    check(t, best_of(made).mean == 0);
    check_status(t, ease_tuning_train(made, NULL, &m, NULL), EASE_OK);
    check_int(t, model_info(m).interactions, interactions_info(x).interactions);
    ease_model_free(m);
    ease_tuning_free(made);
    ease_interactions_free(x);
}

static void warnings(void *user, int level, const char *text)
{
    if (level == 1)
        snprintf(user, 400, "%s", text);
}

static void held_out_users_who_are_all_missed_leave_lambda_where_it_begins(test *t)
{
    ease_interactions *x = strangers();
    char text[400] = "";
    ease_hooks hooks = {.log = warnings, .user = text};
    ease_model *m = NULL;
    choice c;

    choose_by_holding(&c);
    c.train.hooks = &hooks;
    check_status(t, ease_train(x, &c.train, &m, NULL), EASE_OK);
    check_near(t, model_info(m).lambda, 100, 0);
    check_contains(t, text, "these users do not tell lambdas apart: 100 is where");
    ease_model_free(m);
    ease_interactions_free(x);
}

static void training_on_held_out_users_uses_the_best_trial(test *t)
{
    ease_interactions *x = synthetic(100, 40, 1200);
    ease_model *m = NULL, *given = NULL;
    ease_tuning *made;
    choice c;

    choose_by_holding(&c);
    made = tune(t, x, &c);
    check(t, ease_tuning_count(made) > 5);
    check(t, best_of(made).mean > 0);
    check_status(t, ease_train(x, &c.train, &m, NULL), EASE_OK);
    c.train.lambda = best_of(made).lambda;
    check_status(t, ease_train(x, &c.train, &given, NULL), EASE_OK);
    check(t, same_files(t, m, given));
    ease_model_free(given);
    ease_model_free(m);
    ease_tuning_free(made);
    ease_interactions_free(x);
}

static void holding_users_out_refuses_what_it_cannot_do(test *t)
{
    ease_interactions *x = synthetic(100, 40, 1200);
    ease_interactions *few = synthetic(10, 10, 60);
    ease_tuning *made = NULL;
    ease_error err;
    choice c;

    choose_by_holding(&c);
    check_status(t, ease_tune(x, x, x, &c.tune, &made, &err), EASE_E_ARG);
    check_status(t, ease_tune(few, NULL, NULL, &c.tune, &made, &err), EASE_E_DATA);
    check_contains(t, err.text, "who are held out, and only ");
    c.tune.users = -1;
    check_status(t, ease_tune(x, NULL, NULL, &c.tune, &made, &err), EASE_E_ARG);
    c.tune.users = 0;
    c.tune.grid = "dropout=0|0.5";
    check_status(t, ease_tune(x, NULL, NULL, &c.tune, &made, &err), EASE_E_ARG);
    c.tune.grid = NULL;
    c.train.method = "popularity";
    c.train.settings = NULL;
    check_status(t, ease_tune(x, NULL, NULL, &c.tune, &made, &err), EASE_E_ARG);
    check(t, made == NULL);
    ease_interactions_free(few);
    ease_interactions_free(x);
}

static void holding_users_out_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = synthetic(40, 20, 500);
    static const double lambdas[] = {20};
    ease_status status;
    int n = 0;

    do {
        ease_tuning *made = NULL;
        ease_model *m = NULL;
        choice c;

        choose_by_holding(&c);
        c.tune.lambdas = lambdas;
        c.tune.count = 1;
        alloc_fail_after(n++);
        status = ease_tune(x, NULL, NULL, &c.tune, &made, NULL);
        if (!status)
            status = ease_tuning_train(made, NULL, &m, NULL);
        alloc_fail_after(-1);
        check_int(t, m != NULL, status == EASE_OK);
        ease_model_free(m);
        ease_tuning_free(made);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 60);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(held_out_users_are_not_trained_on),
    TEST(held_out_users_who_are_all_missed_leave_lambda_where_it_begins),
    TEST(training_on_held_out_users_uses_the_best_trial),
    TEST(holding_users_out_refuses_what_it_cannot_do),
    TEST(holding_users_out_survives_every_failed_allocation),
    TEST(trials_are_measured_as_by_hand),
    TEST(users_who_cannot_be_left_out_count_as_missed),
    TEST(trials_have_the_same_bits_at_any_number_of_threads),
    TEST(training_uses_the_best_trial),
    TEST(lambda_stays_where_the_search_begins_if_all_are_equal),
    TEST(the_log_says_what_was_tried_and_why_it_stopped),
    TEST(plans_count_the_solves_and_the_memory),
    TEST(models_whose_lambda_must_be_given_are_refused_by_name),
    TEST(a_gram_matrix_needs_a_given_lambda),
    TEST(wrong_combinations_are_refused),
    TEST(data_without_two_users_say_that_lambda_is_required),
    TEST(too_little_memory_is_refused_before_the_search),
    TEST(choosing_can_be_cancelled_at_any_time),
    TEST(choosing_survives_every_failed_allocation),
};

TEST_MAIN(cases)
