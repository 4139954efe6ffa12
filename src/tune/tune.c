/* Tuning on validation users: lambda in this file, settings in grid.c. */
#include "tune/tune.h"

#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "model/dense.h"

/* The unit of the search is an eighth of a decade: 0 is lambda 1, 8 is 10. */
enum { DECADE = 8, START = 2 * DECADE, LEAST = -6 * DECADE, MOST = 9 * DECADE };

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

int ease_tuning_best(const ease_tuning *t)
{
    int best = 0;

    for (int i = 1; t && i < t->count; i++) {
        double now = t->tried[i].trial.mean, before = t->tried[best].trial.mean;

        if (ease__metric_better(t->metric, now, before) ||
            (now == before && t->method->info.has_lambda && !t->method->family))
            best = i;
    }
    return best;
}

/* ---- one trial ------------------------------------------------------------------- */

static bool numerical(ease_status status)
{
    return status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF;
}

static ease_status solve_copy(const ease_gram *g, const ease_train_options *o,
                              ease_model **out, ease_error *err)
{
    ease_gram *copy = NULL;
    ease_status status = ease_gram_copy(g, &copy, err);

    return status ? status : ease_gram_solve(&copy, o, out, err);
}

/* Solves again in float64 after float32 failed with `first`, if memory allows. The
 * copy of the matrix exists beside the float64 one while that is made. */
static ease_status solve_wide(const ease_tuning *t, const ease_train_options *o,
                              const ease_error *first, ease_model **out,
                              ease_error *err)
{
    size_t wide = ease__tiled_bytes(t->gram->g.n, EASE__F64);
    size_t peak = ease__size_add(ease__size_add(t->held, t->gram->g.bytes), wide);
    size_t allowed = ease__memory_allowed(o->memory_limit, t->held);
    ease_train_options again = *o;

    if (ease__memory_check("", t->gram->g.n, peak, allowed, NULL))
        return ease__fail_at(err, first->status, first->where,
                             "%.300s (which takes %.2f GB: %.2f GB are available)",
                             first->text, (double)peak / 1e9, (double)allowed / 1e9);
    again.precision = EASE_F64;
    return solve_copy(t->gram, &again, out, err);
}

static ease_status solve(const ease_tuning *t, const ease_train_options *o,
                         ease_model **out, ease_error *err)
{
    ease_error first = {0};
    ease_status status = solve_copy(t->gram, o, out, &first);

    if (numerical(status) && o->precision == EASE_F32)
        return solve_wide(t, o, &first, out, err);
    if (status && err)
        *err = first;
    return status;
}

static void keep(ease_tuning *t, ease__attempt a)
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

static ease_status try_lambda(ease__tuner *t, double lambda, ease_error *err)
{
    ease_train_options o = t->train;
    ease__attempt a = {.trial = {.lambda = lambda}};
    ease_model_info info = {.size = sizeof(info)};
    ease_model *m = NULL;
    double begin = ease__seconds();
    ease_status status;

    o.lambda = lambda;
    status = solve(t->result, &o, &m, err);
    if (!status)
        status = ease__tuner_measure(t, m, o.hooks, begin, &a, err);
    if (!status) {
        ease_model_describe(m, &info);
        a.wide = info.precision == EASE_F64;
        keep(t->result, a);
        ease__log(o.hooks, 2, "lambda %g: %s %.5f, standard error %.5f, %.2g s%s",
                  lambda, t->o.metric, a.trial.mean, a.trial.standard_error,
                  a.trial.seconds,
                  a.wide && o.precision == EASE_F32 ? ", in float64" : "");
    }
    ease_model_free(m);
    return status;
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

/* True if lambda was tried, or is not larger than one that could not be solved with. */
static bool known(const ease__tuner *t, double lambda)
{
    for (int i = 0; i < t->result->count; i++)
        if (t->result->tried[i].trial.lambda == lambda)
            return true;
    return lambda <= t->unsolvable;
}

/* Tries lambda unless it is known or the time is over; *go_on says whether to try
 * more. */
static ease_status consider(ease__tuner *t, double lambda, bool *go_on, ease_error *err)
{
    ease_error found = {0};
    ease_status status;

    if (known(t, lambda))
        return EASE_OK;
    *go_on = false;
    if (ease__tuner_late(t)) {
        t->result->stopped = 1;
        return EASE_OK;
    }
    status = try_lambda(t, lambda, &found);
    if (status == EASE_E_CANCELLED && t->result->count > 0) {
        t->result->stopped = 1;
        return EASE_OK;
    }
    if (numerical(status)) {
        ease__log(t->train.hooks, 1, "lambda %g is left out: %s", lambda, found.text);
        t->unsolvable = lambda;
        t->why = found;
        status = EASE_OK;
    }
    if (status && err)
        *err = found;
    *go_on = !status;
    return status;
}

/* ---- grid and search ---------------------------------------------------------- */

static ease_status try_grid(ease__tuner *t, ease_error *err)
{
    bool go_on = true;
    ease_status status = EASE_OK;

    for (int i = 0; i < t->o.count && go_on; i++)
        status = consider(t, t->o.lambdas[i], &go_on, err);
    return status;
}

/* Lambda with three significant digits, so that the value shown is exact. */
static double lambda_at(int eighth)
{
    static const double digits[DECADE] = {100, 133, 178, 237, 316, 422, 562, 750};
    int decade = (eighth - LEAST) / DECADE + LEAST / DECADE;
    double d = digits[eighth - decade * DECADE];

    return decade >= 2 ? d * pow(10, decade - 2) : d / pow(10, 2 - decade);
}

static int best_eighth(const ease_tuning *t)
{
    return (int)lround(DECADE * log10(t->tried[ease_tuning_best(t)].trial.lambda));
}

/* Tries both sides of the best lambda at this distance; repeats while a side is
 * better. */
static ease_status climb(ease__tuner *t, int step, bool *go_on, ease_error *err)
{
    ease_status status = EASE_OK;
    int before;

    do {
        int at = best_eighth(t->result);

        before = t->result->count;
        if (at - step >= LEAST)
            status = consider(t, lambda_at(at - step), go_on, err);
        if (*go_on && at + step <= MOST)
            status = consider(t, lambda_at(at + step), go_on, err);
    } while (*go_on && t->result->count > before);
    return status;
}

static ease_status search(ease__tuner *t, ease_error *err)
{
    bool go_on = true;
    ease_status status = EASE_OK;

    for (int at = START; go_on && t->result->count == 0 && at <= MOST; at += DECADE)
        status = consider(t, lambda_at(at), &go_on, err);
    for (int step = DECADE; go_on && t->result->count > 0 && step > 0; step /= 2)
        status = climb(t, step, &go_on, err);
    return status;
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
    if (!status && method->info.has_lambda)
        status = ease_backend_check(t->train.backend, err);
    if (!status)
        status = method->info.has_lambda ? check_lambdas(t, err)
                                         : ease__tune_grid_check(t, err);
    if (!status && method->family)
        status = ease__tune_family_check(t, err);
    return status;
}

ease_status ease_tune_options_check(const ease_tune_options *o, ease_error *err)
{
    ease__tuner t = {0};

    return take_options(o, &t, err);
}

/* Checks the memory: the Gram matrix, a copy that is solved in place, and for
 * float64 another copy if the matrix is not float64. */
static ease_status check_memory(const ease_interactions *x, const ease_train_options *o,
                                ease_error *err)
{
    ease__element element;
    size_t matrix, held = ease__interactions_bytes(x), peak;
    ease_status status = ease__gram_element(x, o->precision, &element, err);

    if (status)
        return status;
    matrix = ease__tiled_bytes(x->items, element);
    peak = ease__size_add(ease__size_add(matrix, matrix), held);
    if (o->precision == EASE_F64 && element != EASE__F64)
        peak = ease__size_add(peak, ease__tiled_bytes(x->items, EASE__F64));
    return ease__memory_check("tuning", x->items, peak,
                              ease__memory_allowed(o->memory_limit, held), err);
}

static ease_status tune_lambda(ease__tuner *t, ease_error *err)
{
    const ease_train_options *o = &t->train;
    ease_gram_options g;
    ease_status status = check_memory(t->x, o, err);

    ease_gram_options_init(&g);
    g.memory_limit = o->memory_limit;
    g.precision = o->precision;
    g.threads = o->threads;
    g.hooks = o->hooks;
    if (!status)
        status = ease_gram_build(t->x, &g, &t->result->gram, err);
    if (!status)
        t->result->held = ease__size_add(ease__interactions_bytes(t->x),
                                         t->result->gram->g.bytes);
    if (!status)
        status = t->o.lambdas ? try_grid(t, err) : search(t, err);
    return status;
}

static ease_status run(ease__tuner *t, ease_error *err)
{
    const ease__method *m = t->result->method;
    ease_status status = m->family            ? ease__tune_family(t, err)
                         : m->info.has_lambda ? tune_lambda(t, err)
                                              : ease__tune_grid(t, err);

    if (!status && t->result->count == 0) {
        status = t->why.status;
        if (err)
            *err = t->why;
    }
    return status;
}

/* True if tags may have a weight above 0 in some trial. */
static bool trains_tags(const ease__tuner *t)
{
    const ease__method *method = t->result->method;

    return t->train.tags && method->info.from_gram &&
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
    status = check_memory(t->x, &t->train, err);
    if (!status)
        status = ease__tags_extend(t->x, t->train.tags, &extended, err);
    if (status)
        return status;
    ease__tags_tell_new(&extended.item_ids, t->x->items, t->train.hooks);
    t->x = &extended;
    status = run(t, err);
    t->x = own;
    ease__tags_extended_free(&extended);
    return status;
}

ease_status ease_tune(const ease_interactions *x, const ease_interactions *input,
                      const ease_interactions *target, const ease_tune_options *o,
                      ease_tuning **out, ease_error *err)
{
    ease__tuner t = {
        .x = x, .input = input, .target = target, .begin = ease__seconds()};
    ease_status status;

    if (!x || !input || !target || !o || !out)
        return ease__fail(err, EASE_E_ARG,
                          "data to train on, an input, a target and options are "
                          "required");
    status = take_options(o, &t, err);
    if (!status)
        status = ease__check_columns(x, err);
    if (status)
        return status;
    t.result = ease__alloc_zero(1, sizeof(*t.result));
    if (!t.result)
        return ease__fail(err, EASE_E_NOMEM, "tuning");
    t.result->train = t.train;
    t.result->unknown_targets = -1;
    t.result->method = ease__method_find(t.train.method);
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
    return !t                                                 ? 0
           : t->method->info.has_lambda && !t->method->family ? t->count
                                                              : t->solves;
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

    if (!t || !(t->gram || t->model) || !out)
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
    return t->method->family ? train_family(t, &o, best, out, err)
                             : ease_gram_solve(&t->gram, &o, out, err);
}
