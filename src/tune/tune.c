/* Tuning: options, the order of trials, and the best one. */
#include "tune/tune.h"

#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "model/dense.h"

void ease_tune_options_defaults(ease_tune_options *o)
{
    static const ease_tune_options defaults = {.metric = "ndcg@100"};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

void ease_tuning_forget(ease_tuning *t)
{
    if (!t)
        return;
    ease_gram_free(t->gram);
    ease_model_free(t->model);
    t->gram = NULL;
    t->model = NULL;
    t->all = NULL;
}

void ease_tuning_free(ease_tuning *t)
{
    ease_tuning_forget(t);
    ease__free(t);
}

int ease_tuning_count(const ease_tuning *t)
{
    return t ? t->count : 0;
}

void ease_tuning_trial(const ease_tuning *t, int trial, ease_trial *out)
{
    ease_trial found = {.lambda = (double)NAN,
                        .mean = (double)NAN,
                        .standard_error = (double)NAN,
                        .seconds = (double)NAN};

    if (t && trial >= 0 && trial < t->count) {
        found = t->tried[trial].trial;
        found.settings = t->tried[trial].settings;
    }
    ease__info_give(out, &found, sizeof(found));
}

int ease_tuning_stopped(const ease_tuning *t)
{
    return t ? t->stopped : 0;
}

int64_t ease_tuning_unknown_targets(const ease_tuning *t)
{
    return t ? t->unknown_targets : 0;
}

/* Of two equal trials: true if the later one is the better. Few users of the training
 * data may not tell lambdas apart, and lambda then stays near its start. */
static bool prefers(const ease_tuning *t, int later, int before)
{
    double start = log(EASE__START_LAMBDA);

    if (t->on_training)
        return fabs(log(t->tried[later].trial.lambda) - start) <
               fabs(log(t->tried[before].trial.lambda) - start);
    return t->by_lambda;
}

int ease_tuning_best(const ease_tuning *t)
{
    int best = 0;

    for (int i = 1; t && i < t->count; i++) {
        double now = t->tried[i].trial.mean, before = t->tried[best].trial.mean;

        if (ease__metric_better(t->metric, now, before) ||
            (now == before && prefers(t, i, best)))
            best = i;
    }
    return best;
}

/* ---- one trial ------------------------------------------------------------------- */

void ease__tuner_keep(ease_tuning *t, ease__attempt a)
{
    int at = t->count++;

    for (; at > 0 && t->tried[at - 1].trial.lambda > a.trial.lambda; at--)
        t->tried[at] = t->tried[at - 1];
    t->tried[at] = a;
}

ease_status ease__tuner_measure(const ease__tuner *t, const ease_model *m,
                                const ease_hooks *hooks, double begin,
                                ease__attempt *out, ease_error *err)
{
    ease_eval_options e;
    ease_hooks used = {0};
    ease_report *report = NULL;
    ease_metric value = {.size = sizeof(value)};
    ease_report_info info = {.size = sizeof(info)};
    ease_status status;

    ease_eval_options_init(&e);
    e.metrics = t->o.metric;
    e.unknown = t->o.unknown;
    e.threads = t->train.threads;
    if (hooks)
        used = *hooks;
    if (t->result->unknown_targets >= 0)
        used.log = NULL; /* all trials have the same users and items */
    e.hooks = &used;
    status = ease_evaluate(m, t->input, t->target, &e, &report, err);
    if (status)
        return status;
    ease_report_metric(report, 0, &value);
    ease_report_describe(report, &info);
    t->result->unknown_targets = info.unknown_targets;
    out->trial.mean = value.mean;
    out->trial.standard_error = value.standard_error;
    out->trial.seconds = ease__seconds() - begin;
    ease_report_free(report);
    return EASE_OK;
}

bool ease__tuner_late(const ease__tuner *t)
{
    double longest = 0;

    for (int i = 0; i < t->result->count; i++)
        if (t->result->tried[i].trial.seconds > longest)
            longest = t->result->tried[i].trial.seconds;
    return t->o.seconds > 0 && t->result->count > 0 &&
           ease__seconds() - t->begin + longest > t->o.seconds;
}

/* ---- tuning ------------------------------------------------------------------- */

static ease_status check_lambdas(const ease__tuner *t, ease_error *err)
{
    const ease_tune_options *o = &t->o;

    if (o->grid && !ease__method_find(t->train.method)->family)
        return ease__fail(err, EASE_E_ARG, "%s has no settings to tune",
                          t->train.method);
    if (o->lambdas && (o->count < 1 || o->count > EASE__MOST_TRIALS))
        return ease__fail(err, EASE_E_ARG, "a grid has 1 to %d values of lambda",
                          (int)EASE__MOST_TRIALS);
    for (int i = 0; o->lambdas && i < o->count; i++)
        if (!(o->lambdas[i] > 0) || !isfinite(o->lambdas[i]))
            return ease__fail(err, EASE_E_ARG,
                              "lambda must be finite and above 0, not %g",
                              o->lambdas[i]);
    return EASE_OK;
}

/* Into `t`, of which nothing else is used. */
static ease_status take_options(const ease_tune_options *given, ease__tuner *t,
                                ease_error *err)
{
    ease__ranking_metric metric[EASE__MAX_METRICS];
    const ease_tune_options *o = &t->o;
    const ease__method *method;
    ease_status status;
    int count = 0;

    if (!given)
        return ease__fail(err, EASE_E_ARG, "options of the tuning are required");
    status = EASE__OPTIONS_TAKE(ease_tune_options, &t->o, given, err);
    if (!status)
        status = ease__train_options_take(o->train, &t->train, err);
    if (!status)
        status = ease__method_take(&t->train, &method, err);
    if (!status && !o->metric)
        status = ease__fail(err, EASE_E_ARG, "tuning needs a metric");
    if (!status)
        status = ease__unknown_check(o->unknown, err);
    if (!status)
        status = ease__metrics_parse(o->metric, metric, &count, err);
    if (!status && (count != 1 || !ease__metric_by_user(&metric[0])))
        status = ease__fail(err, EASE_E_ARG, "tuning needs one metric of users, not %s",
                            o->metric);
    if (!status)
        status = ease__method_tags(method, &t->train, err);
    if (!status && t->train.like)
        status = ease__fail(err, EASE_E_ARG,
                            "a tuned model has other settings than the model to train "
                            "like");
    if (!status && method->info.has_lambda)
        status = ease_backend_check(t->train.backend, err);
    if (!status && method->info.has_lambda)
        status = check_lambdas(t, err);
    if (!status)
        status = o->leave_one_out          ? ease__tune_leaving_check(t, err)
                 : o->hold_out             ? ease__tune_holding_check(t, err)
                 : method->family          ? ease__tune_family_check(t, err)
                 : method->info.has_lambda ? EASE_OK
                                           : ease__tune_grid_check(t, err);
    return status;
}

ease_status ease_tune_options_check(const ease_tune_options *o, ease_error *err)
{
    ease__tuner t = {0};

    return take_options(o, &t, err);
}

static ease_status run(ease__tuner *t, ease_error *err)
{
    const ease__method *m = t->result->method;
    ease_status status = t->o.leave_one_out   ? ease__tune_leaving(t, err)
                         : t->o.hold_out      ? ease__tune_holding(t, err)
                         : m->family          ? ease__tune_family(t, err)
                         : m->info.has_lambda ? ease__tune_lambda(t, err)
                                              : ease__tune_grid(t, err);

    if (!status && t->result->count == 0) {
        status = t->why.status;
        if (err)
            *err = t->why;
    }
    return status;
}

/* True if trials are measured on users of the training data. */
static bool draws_users(const ease__tuner *t)
{
    return t->o.leave_one_out || t->o.hold_out;
}

/* True if tags may have a weight above 0 in some trial. */
static bool trains_tags(const ease__tuner *t)
{
    const ease__method *method = t->result->method;

    return t->train.tags && method->info.from_gram && !draws_users(t) &&
           (method->tag_setting || t->train.tag_weight > 0);
}

/* Every trial has the items that only have tags. */
static ease_status run_extended(ease__tuner *t, ease_error *err)
{
    const ease_interactions *own = t->x;
    ease_interactions extended;
    ease_status status;

    if (!trains_tags(t))
        return run(t, err);
    status = ease__tune_check_memory(t->x, &t->train, err);
    if (!status)
        status = ease__tags_extend(t->x, t->train.tags, &extended, err);
    if (status)
        return status;
    ease__tags_tell_new(&extended.item_ids, t->x->items, t->train.hooks);
    t->x = &extended;
    status = run(t, err);
    t->x = own;
    ease__items_extended_free(&extended);
    return status;
}

/* Checks which data were given: to train on, and of validation users. */
static ease_status check_data(const ease__tuner *t, ease_error *err)
{
    if (draws_users(t) && (t->input || t->target))
        return ease__fail(err, EASE_E_ARG,
                          "leaving users out needs no input and no target: they are "
                          "drawn from the data to train on");
    if (!draws_users(t) && (!t->input || !t->target))
        return ease__fail(err, EASE_E_ARG,
                          "data to train on, an input, a target and options are "
                          "required");
    return ease__check_columns(t->x, err);
}

ease_status ease_tune(const ease_interactions *x, const ease_interactions *input,
                      const ease_interactions *target, const ease_tune_options *o,
                      ease_tuning **out, ease_error *err)
{
    ease__tuner t = {
        .x = x, .input = input, .target = target, .begin = ease__seconds()};
    ease_status status;

    if (!x || !o || !out)
        return ease__fail(err, EASE_E_ARG,
                          "data to train on, an input, a target and options are "
                          "required");
    status = take_options(o, &t, err);
    if (!status)
        status = check_data(&t, err);
    if (status)
        return status;
    t.result = ease__alloc_zero(1, sizeof(*t.result));
    if (!t.result)
        return ease__fail(err, EASE_E_NOMEM, "tuning");
    t.result->train = t.train;
    t.result->unknown_targets = -1;
    t.result->method = ease__method_find(t.train.method);
    t.result->by_lambda = t.result->method->info.has_lambda &&
                          (!t.result->method->family || draws_users(&t));
    t.result->on_training = draws_users(&t);
    t.result->metric = ease__metric_kind_of(t.o.metric);
    status = run_extended(&t, err);
    if (status) {
        ease_tuning_free(t.result);
        return status;
    }
    *out = t.result;
    return EASE_OK;
}

int ease_tuning_solves(const ease_tuning *t)
{
    return !t ? 0 : t->by_lambda ? t->count : t->solves;
}

/* Solves the best trial of a method of the family from the Gram matrix. */
static ease_status train_family(ease_tuning *t, const ease_train_options *o,
                                const ease__attempt *best, ease_model **out,
                                ease_error *err)
{
    ease__dense_order order;
    ease__dense d = {0};
    ease_gram *g = t->gram;
    ease_status status = ease__dense_order_take(o, &order, err);

    t->gram = NULL;
    if (!status && o->precision == EASE_F64)
        status = ease__gram_widen(g, o, err);
    if (status) {
        ease_gram_free(g);
        return status;
    }
    ease__dense_order_set(&order, best->values);
    status = ease__dense_solve(g, &order, &d, err);
    if (status)
        return status;
    *out = d.model;
    d.model = NULL;
    ease__dense_free(&d);
    return EASE_OK;
}

ease_status ease_tuning_train(ease_tuning *t, const ease_hooks *hooks, ease_model **out,
                              ease_error *err)
{
    const ease__attempt *best;
    ease_train_options o;

    if (!t || !(t->gram || t->model || t->all) || !out)
        return ease__fail(err, EASE_E_ARG,
                          "a tuning whose model was not taken yet is required");
    if (t->model) {
        *out = t->model;
        t->model = NULL;
        return EASE_OK;
    }
    best = &t->tried[ease_tuning_best(t)];
    o = t->train;
    o.lambda = best->trial.lambda;
    o.settings = best->settings; /* the caller's text may be gone */
    if (best->wide)
        o.precision = EASE_F64;
    o.hooks = hooks;
    if (t->all)
        return ease_train(t->all, &o, out, err);
    return t->method->family ? train_family(t, &o, best, out, err)
                             : ease_gram_solve(&t->gram, &o, out, err);
}
