/* The search for lambda, and trials on validation users. */
#include <math.h>

#include "model/dense.h"
#include "tune/tune.h"

/* The unit of the search is an eighth of a decade: 0 is lambda 1, 8 is 10, START is
 * EASE__START_LAMBDA. */
enum { DECADE = 8, START = 2 * DECADE, LEAST = -6 * DECADE, MOST = 9 * DECADE };

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
    status = t->attempt(t, lambda, &found);
    if (status == EASE_E_CANCELLED && t->result->count > 0) {
        t->result->stopped = 1;
        return EASE_OK;
    }
    if (ease__is_numerical(status)) {
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

ease_status ease__search_lambda(ease__tuner *t, ease__attempt_lambda *attempt,
                                ease_error *err)
{
    t->attempt = attempt;
    return t->o.lambdas ? try_grid(t, err) : search(t, err);
}

/* ---- trials on validation users -------------------------------------------------- */

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
    ease__log(o->hooks, 2, "lambda %g: float32 is not enough: solving again in float64",
              o->lambda);
    again.precision = EASE_F64;
    return solve_copy(t->gram, &again, out, err);
}

static ease_status solve(const ease_tuning *t, const ease_train_options *o,
                         ease_model **out, ease_error *err)
{
    ease_error first = {0};
    ease_status status = solve_copy(t->gram, o, out, &first);

    if (ease__is_numerical(status) && o->precision == EASE_F32)
        return solve_wide(t, o, &first, out, err);
    if (status && err)
        *err = first;
    return status;
}

static ease_status try_lambda(ease__tuner *t, double lambda, ease_error *err)
{
    ease_train_options o = t->train;
    ease__attempt a = {.trial = {.lambda = lambda, .solves = 1}};
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
        ease__tuner_keep(t->result, a);
        ease__log(o.hooks, 2, "lambda %g: %s %.5f, standard error %.5f, %.2g s%s",
                  lambda, t->o.metric, a.trial.mean, a.trial.standard_error,
                  a.trial.seconds,
                  a.wide && o.precision == EASE_F32 ? ", in float64" : "");
    }
    ease_model_free(m);
    return status;
}

ease_status ease__tune_check_memory(const ease_interactions *x,
                                    const ease_train_options *o, ease_error *err)
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

ease_status ease__tune_lambda(ease__tuner *t, ease_error *err)
{
    const ease_train_options *o = &t->train;
    ease_gram_options g;
    ease_status status = ease__tune_check_memory(t->x, o, err);

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
        status = ease__search_lambda(t, try_lambda, err);
    return status;
}
