/* Training with a lambda that is chosen by leaving out one training user after the
 * other, or by holding some users out if the method cannot leave users out. */
#include <math.h>

#include "tune/tune.h"

static ease_status choose(const ease_interactions *x, const ease_train_options *o,
                          ease_tuning **out, ease_error *err)
{
    ease_tune_options tune;
    ease_error why = {0};
    ease_status status;

    ease_tune_options_init(&tune);
    tune.train = o;
    tune.metric = o->metric;
    if (ease__method_find(o->method)->info.from_gram)
        tune.leave_one_out = 1;
    else
        tune.hold_out = 1;
    tune.users = o->lambda_users;
    status = ease_tune(x, NULL, NULL, &tune, out, &why);
    if (status == EASE_E_DATA)
        return ease__fail(err, status, "lambda cannot be chosen: %.400s", why.text);
    if (status && err)
        *err = why;
    return status;
}

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         ease_model **out, ease_error *err)
{
    ease_tuning *t = NULL;
    ease_status status = choose(x, o, &t, err);

    if (!status && ease_tuning_stopped(t))
        status = ease__fail(err, EASE_E_CANCELLED, "cancelled while choosing lambda");
    if (!status)
        status = ease_tuning_train(t, o->hooks, out, err);
    ease_tuning_free(t);
    return status;
}

ease_status ease_train(const ease_interactions *x, const ease_train_options *given,
                       ease_model **out, ease_error *err)
{
    const ease__method *m = NULL;
    ease_train_options o;
    ease_status status = ease__train_options_take(given, &o, err);

    if (!status)
        status = ease__method_take(&o, &m, err);
    if (status)
        return status;
    if (!m->info.has_lambda || !isnan(o.lambda))
        return ease__train(x, &o, out, err);
    if (!x || !out || x->items < 1)
        return ease__fail(err, EASE_E_ARG, "interactions are required");
    status = ease__choosing_check(m, &o, err);
    return status ? status : train(x, &o, out, err);
}
