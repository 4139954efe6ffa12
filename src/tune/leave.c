/* Trials of lambda on the training data: each user by the model without this user. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tune/solve_trial.h"

/* What trials have in common. */
typedef struct ease__leaver {
    ease__dense_order order;
    char settings[EASE__SETTINGS_CHARS]; /* those that were given */
    size_t buffers;                      /* bytes for leaving users out; 0: any */
} ease__leaver;

/* ---- options --------------------------------------------------------------------- */

static ease_status take_order(const ease__tuner *t, ease__leaver *l, ease_error *err)
{
    const ease__method *m = ease__method_find(t->train.method);
    double values[EASE__MOST_SETTINGS];
    bool fixed[EASE__MOST_SETTINGS];
    ease_train_options o = t->train;
    ease_status status = ease__settings_parse(m->settings, m->info.name, o.settings,
                                              values, fixed, err);

    o.lambda = 1; /* any: each trial has its own */
    o.updatable = 1;
    if (!status)
        status = ease__dense_order_take(&o, &l->order, err);
    if (!status)
        ease__settings_print(m->settings, values, fixed, l->settings);
    return status;
}

/* A user who cannot be left out counts as one whose targets are all missed: the metric
 * must have a value for this. */
static ease_status check_metric(const ease__tuner *t, ease_error *err)
{
    if (ease__metric_kind_of(t->o.metric)->from_hits)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "lambda is chosen by a metric that measures hits, not by %s",
                      t->o.metric);
}

ease_status ease__tune_leaving_check(const ease__tuner *t, ease_error *err)
{
    const ease__method *m = ease__method_find(t->train.method);
    ease__leaver l;
    ease_status status;

    if (!m->info.has_lambda)
        return ease__fail(err, EASE_E_ARG,
                          "leaving users out tunes lambda, which %s does not have",
                          m->info.name);
    if (t->o.grid)
        return ease__fail(err, EASE_E_ARG,
                          "leaving users out tunes lambda alone: settings are fixed, "
                          "and have no grid");
    if (t->o.unknown != EASE_UNKNOWN_MISS)
        return ease__fail(err, EASE_E_ARG,
                          "held-out items that nobody else has always count as misses "
                          "when users are left out");
    if (t->o.users < 0)
        return ease__fail(err, EASE_E_ARG, "a sample of %lld users",
                          (long long)t->o.users);
    status = check_metric(t, err);
    if (!status)
        status = ease__leaving_options(m, &t->train, err);
    return status ? status : take_order(t, &l, err);
}

/* ---- one trial ------------------------------------------------------------------- */

/* Counts refused users as missed: all trials then have the same users, and a lambda
 * gains nothing from losing some. */
static void count_refused(const ease_metric *of_others, const ease_report_info *info,
                          ease__attempt *out)
{
    double others = (double)info->users, all = others + (double)info->refused;
    double mean = of_others->mean, error = of_others->standard_error, square;

    if (info->refused > 0) {
        square = (error * error * others + mean * mean) * others / all;
        mean *= others / all;
        error = sqrt(fmax(square - mean * mean, 0) / all);
    }
    out->trial.mean = mean;
    out->trial.standard_error = error;
}

static ease_status measure(const ease__tuner *t, const ease_model *m, int64_t *refused,
                           ease__attempt *out, ease_error *err)
{
    ease_hooks hooks = {0};
    ease_metric value = {.size = sizeof(value)};
    ease_report_info info = {.size = sizeof(info)};
    ease_leave_options o;
    ease_report *report = NULL;
    ease_status status;

    ease_leave_options_init(&o);
    o.metrics = t->o.metric;
    o.users = t->o.users;
    o.threads = t->train.threads;
    o.memory_limit = t->leaver->buffers;
    if (t->train.hooks)
        hooks = *t->train.hooks;
    hooks.log = NULL;
    o.hooks = &hooks;
    status = ease_leave_one_out(m, t->x, &o, &report, err);
    if (status)
        return status;
    ease_report_metric(report, 0, &value);
    ease_report_describe(report, &info);
    ease_report_free(report);
    if (t->result->unknown_targets < 0)
        t->result->unknown_targets = info.unknown_targets;
    *refused = info.refused;
    count_refused(&value, &info, out);
    return EASE_OK;
}

static void tell_trial(const ease__tuner *t, const ease__attempt *a, int64_t refused)
{
    char text[100] = "";

    if (refused)
        snprintf(text, sizeof(text),
                 ", %lld user%s count as missed: float32 does not suffice to leave %s "
                 "out",
                 (long long)refused, refused == 1 ? "" : "s",
                 refused == 1 ? "this one" : "these");
    ease__log(t->train.hooks, 2, "lambda %g: %s %.5f, standard error %.5f, %.2g s%s%s",
              a->trial.lambda, t->o.metric, a->trial.mean, a->trial.standard_error,
              a->trial.seconds,
              a->wide && t->train.precision == EASE_F32 ? ", in float64" : "", text);
}

static ease_status try_lambda(ease__tuner *t, double lambda, ease_error *err)
{
    ease__attempt a = {.trial = {.lambda = lambda, .solves = 1}};
    ease__dense_order order = t->leaver->order;
    double begin = ease__seconds();
    ease__dense d = {0};
    int64_t refused = 0;
    ease_status status;

    order.o.lambda = lambda;
    status = ease__trial_solve(t->result->gram, &order, &a.wide, &d, err);
    if (status)
        return status;
    status = measure(t, d.model, &refused, &a, err);
    ease__dense_free(&d);
    if (status)
        return status;
    a.trial.seconds = ease__seconds() - begin;
    memcpy(a.settings, t->leaver->settings, sizeof(a.settings));
    memcpy(a.values, order.values, sizeof(a.values));
    ease__tuner_keep(t->result, a);
    tell_trial(t, &a, refused);
    return EASE_OK;
}

/* ---- the search ------------------------------------------------------------------ */

/* Says which users the trials are measured on. */
static void tell_users(const ease__tuner *t)
{
    bool approximate = t->leaver->order.family.dropout > 0;
    int64_t candidates = 0, sample = t->o.users;

    for (int64_t u = 0; u < t->x->users; u++)
        candidates += t->x->row_ptr[u + 1] - t->x->row_ptr[u] > 1;
    if (sample == 0 || sample > candidates)
        sample = candidates;
    ease__log(
        t->train.hooks, 2,
        "lambda is measured on %lld of %lld users, each by the model without this "
        "user%s",
        (long long)sample, (long long)t->x->users,
        approximate ? ", but with the regularizer of all (dropout)" : "");
}

/* True if all trials are equally good. */
static bool all_equal(const ease_tuning *r)
{
    for (int i = 1; i < r->count; i++)
        if (r->tried[i].trial.mean != r->tried[0].trial.mean)
            return false;
    return true;
}

void ease__tell_search_end(const ease__tuner *t)
{
    const ease_tuning *r = t->result;
    int best = ease_tuning_best(r);
    bool least = best == 0, most = best == r->count - 1;

    if (t->o.lambdas || r->stopped || r->count < 2)
        return;
    if (all_equal(r))
        ease__log(t->train.hooks, 1,
                  "these users do not tell lambdas apart: %g is where the search "
                  "begins",
                  r->tried[best].trial.lambda);
    else if (least || most)
        ease__log(t->train.hooks, 2,
                  "lambda %g is the best of %d: %g is not better, %s",
                  r->tried[best].trial.lambda, r->count,
                  r->tried[least ? best + 1 : best - 1].trial.lambda,
                  least ? "and smaller ones cannot be used"
                        : "and larger ones are not tried");
    else
        ease__log(
            t->train.hooks, 2,
            "lambda %g is the best of %d: its neighbours %g and %g are not better",
            r->tried[best].trial.lambda, r->count, r->tried[best - 1].trial.lambda,
            r->tried[best + 1].trial.lambda);
}

/* Sets the memory that is left beside the data and two matrices. */
static ease_status plan_memory(const ease__tuner *t, ease__leaver *l, ease_error *err)
{
    size_t limit = t->train.memory_limit, held;
    ease_status status = ease__tune_check_memory(t->x, &t->train, err);

    if (status || !limit || limit == SIZE_MAX)
        return status;
    held = ease__size_add(ease__interactions_bytes(t->x), 2 * t->result->gram->g.bytes);
    l->buffers = limit > held ? limit - held : 1;
    return EASE_OK;
}

ease_status ease__tune_leaving(ease__tuner *t, ease_error *err)
{
    ease__leaver l = {.buffers = 0};
    ease_status status = take_order(t, &l, err);

    t->leaver = &l;
    if (!status)
        status = ease__tune_check_memory(t->x, &t->train, err);
    if (!status)
        status = ease__trial_load(t->x, &l.order, &t->result->gram, err);
    if (!status)
        status = plan_memory(t, &l, err);
    if (!status) {
        tell_users(t);
        status = ease__search_lambda(t, try_lambda, err);
    }
    if (!status && t->result->count > 0)
        ease__tell_search_end(t);
    t->leaver = NULL;
    return status;
}
