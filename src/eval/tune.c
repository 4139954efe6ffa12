/* Lambda, chosen on validation users. */
#include <math.h>

#include "eval/metrics.h"
#include "gram/gram.h"

enum { MAX_TRIALS = 1000 };

/* The search goes by powers of ten; these are exponents. */
static const double START = 2, COARSE = 1, FINE = 0.125, LEAST = -6, MOST = 9;

struct ease_tuning {
    ease_gram *gram; /* NULL after ease_tuning_train */
    ease_train_options train;
    ease_trial trial[MAX_TRIALS];
    int count;
    int stopped;
};

typedef struct tuner {
    ease_tuning *result;
    const ease_interactions *input, *target;
    ease_tune_options o;
    double begin;
} tuner;

void ease_tune_options_init(ease_tune_options *o)
{
    *o = (ease_tune_options){.size = sizeof(*o), .metric = "ndcg@100"};
    ease_train_options_init(&o->train);
}

void ease_tuning_free(ease_tuning *t)
{
    if (!t)
        return;
    ease_gram_free(t->gram);
    ease__free(t);
}

int ease_tuning_count(const ease_tuning *t)
{
    return t->count;
}

ease_trial ease_tuning_trial(const ease_tuning *t, int trial)
{
    return t->trial[trial];
}

int ease_tuning_stopped(const ease_tuning *t)
{
    return t->stopped;
}

int ease_tuning_best(const ease_tuning *t)
{
    int best = 0;

    for (int i = 1; i < t->count; i++)
        if (t->trial[i].mean >= t->trial[best].mean)
            best = i;
    return best;
}

/* ---- one trial ------------------------------------------------------------------- */

static ease_status solve_copy(const ease_gram *g, const ease_train_options *o,
                              ease_model **out, ease_error *err)
{
    ease_gram *copy = NULL;
    ease_status status = ease__gram_copy(g, &copy, err);

    if (status)
        return status;
    status = ease_gram_solve(&copy, o, out, err);
    if (o->precision == EASE_F32 &&
        (status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF)) {
        ease_train_options wide = *o;

        ease__log(&o->hooks, 1, "float32 is not enough for lambda %g: float64",
                  o->lambda);
        wide.precision = EASE_F64;
        status = ease__gram_copy(g, &copy, err);
        if (!status)
            status = ease_gram_solve(&copy, &wide, out, err);
    }
    return status;
}

/* Trials are kept in the order of lambda. */
static void keep(ease_tuning *t, ease_trial trial)
{
    int at = t->count++;

    for (; at > 0 && t->trial[at - 1].lambda > trial.lambda; at--)
        t->trial[at] = t->trial[at - 1];
    t->trial[at] = trial;
}

static ease_status try_lambda(tuner *t, double lambda, ease_error *err)
{
    ease_train_options o = t->o.train;
    ease_eval_options e;
    ease_report *report = NULL;
    ease_model *m = NULL;
    double begin = ease__seconds();
    ease_status status;

    for (int i = 0; i < t->result->count; i++)
        if (t->result->trial[i].lambda == lambda)
            return EASE_OK;
    if (t->result->count == MAX_TRIALS)
        return ease__fail(err, EASE_E_ARG, "more than %d values of lambda",
                          (int)MAX_TRIALS);
    o.lambda = lambda;
    ease_eval_options_init(&e);
    e.metrics = t->o.metric;
    e.threads = o.threads;
    e.hooks = o.hooks;
    status = solve_copy(t->result->gram, &o, &m, err);
    if (!status)
        status = ease_evaluate(m, t->input, t->target, &e, &report, err);
    if (!status) {
        ease_metric value = ease_report_metric(report, 0);
        ease_trial trial = {lambda, value.mean, value.standard_error,
                            ease__seconds() - begin};

        keep(t->result, trial);
        ease__log(&o.hooks, 2, "lambda %-10g %s %.5f (standard error %.5f), %.1f s",
                  lambda, t->o.metric, trial.mean, trial.standard_error, trial.seconds);
    }
    ease_report_free(report);
    ease_model_free(m);
    return status;
}

/* Would another trial, as long as the longest so far, end too late? */
static bool late(const tuner *t)
{
    double longest = 0;

    for (int i = 0; i < t->result->count; i++)
        if (t->result->trial[i].seconds > longest)
            longest = t->result->trial[i].seconds;
    return t->o.seconds > 0 && t->result->count > 0 &&
           ease__seconds() - t->begin + longest > t->o.seconds;
}

/* Tries it, unless time is over; *go_on says whether the search may. */
static ease_status attempt(tuner *t, double lambda, bool *go_on, ease_error *err)
{
    ease_status status;

    *go_on = false;
    if (late(t)) {
        t->result->stopped = 1;
        return EASE_OK;
    }
    status = try_lambda(t, lambda, err);
    if (status == EASE_E_CANCELLED && t->result->count > 0) {
        t->result->stopped = 1;
        return EASE_OK;
    }
    *go_on = !status;
    return status;
}

/* ---- grid and search -------------------------------------------------------------- */

static ease_status try_grid(tuner *t, ease_error *err)
{
    bool go_on = true;
    ease_status status = EASE_OK;

    for (int i = 0; i < t->o.count && go_on; i++)
        status = attempt(t, t->o.lambdas[i], &go_on, err);
    return status;
}

/* Powers of ten of round exponents only, so that a value is never tried twice. */
static double power(double exponent)
{
    return exp(exponent * log(10.0));
}

static double best_exponent(const ease_tuning *t)
{
    return log10(t->trial[ease_tuning_best(t)].lambda);
}

/* Both sides of the best so far, at this distance; moves on while a side is better. */
static ease_status climb(tuner *t, double step, bool *go_on, ease_error *err)
{
    ease_status status = EASE_OK;
    int before;

    do {
        double at = round(best_exponent(t->result) / FINE) * FINE;

        before = t->result->count;
        if (*go_on && at - step >= LEAST)
            status = attempt(t, power(at - step), go_on, err);
        if (*go_on && at + step <= MOST)
            status = attempt(t, power(at + step), go_on, err);
    } while (*go_on && t->result->count > before);
    return status;
}

static ease_status search(tuner *t, ease_error *err)
{
    bool go_on = true;
    double step = COARSE;
    ease_status status = attempt(t, power(START), &go_on, err);

    while (go_on && step >= FINE) {
        status = climb(t, step, &go_on, err);
        step /= 2;
    }
    return status;
}

/* ---- tuning ------------------------------------------------------------------------ */

static ease_status check_options(const ease_tune_options *o, ease_error *err)
{
    ease__metric metric[EASE__MAX_METRICS];
    ease_status status = EASE__CHECK_OPTIONS(o, err);
    int count = 0;

    if (!status)
        status = ease__train_options_check(&o->train, err);
    if (!status)
        status = ease__metrics_parse(o->metric, metric, &count, err);
    if (!status && (count != 1 || !ease__metric_by_user(&metric[0])))
        status = ease__fail(err, EASE_E_ARG, "tuning needs one metric of users, not %s",
                            o->metric);
    if (!status && o->lambdas && (o->count < 1 || o->count > MAX_TRIALS))
        status = ease__fail(err, EASE_E_ARG, "a grid has 1 to %d values of lambda",
                            (int)MAX_TRIALS);
    for (int i = 0; !status && o->lambdas && i < o->count; i++)
        if (!(o->lambdas[i] > 0) || !isfinite(o->lambdas[i]))
            status = ease__fail(err, EASE_E_ARG,
                                "lambda must be finite and above 0, not %g",
                                o->lambdas[i]);
    return status;
}

ease_status ease_tune(const ease_interactions *x, const ease_interactions *input,
                      const ease_interactions *target, const ease_tune_options *o,
                      ease_tuning **out, ease_error *err)
{
    tuner t = {.input = input, .target = target, .begin = ease__seconds()};
    ease_status status;

    if (!x || !input || !target || !o || !out)
        return ease__fail(err, EASE_E_ARG,
                          "data to train on, an input, a target and options are "
                          "required");
    status = check_options(o, err);
    if (status)
        return status;
    t.o = *o;
    t.result = ease__alloc_zero(1, sizeof(*t.result));
    if (!t.result)
        return ease__fail(err, EASE_E_NOMEM, "tuning");
    t.result->train = o->train;
    status = ease_gram_build(x, &o->train, &t.result->gram, err);
    if (!status)
        status = ease__memory_check(
            "tuning", x->items, ease__tiled_bytes(x->items, EASE__F32),
            ease__memory_allowed(o->train.memory_limit, 0), err);
    if (!status)
        status = o->lambdas ? try_grid(&t, err) : search(&t, err);
    if (status) {
        ease_tuning_free(t.result);
        return status;
    }
    *out = t.result;
    return EASE_OK;
}

ease_status ease_tuning_train(ease_tuning *t, const ease_hooks *hooks, ease_model **out,
                              ease_error *err)
{
    ease_train_options o;

    if (!t || !t->gram || !out)
        return ease__fail(err, EASE_E_ARG, "a tuning that was not used up is required");
    o = t->train;
    o.lambda = t->trial[ease_tuning_best(t)].lambda;
    o.hooks = hooks ? *hooks : (ease_hooks){0};
    return ease_gram_solve(&t->gram, &o, out, err);
}
