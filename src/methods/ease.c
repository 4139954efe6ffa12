/* EASE (Steck, WWW 2019): all weights at once, from the inverse of X'X + lambda I. The
 * solve itself is src/model/train.c, which also starts from Gram matrices. */
#include "methods/methods.h"

static const ease_setting settings[] = {{0}};

static ease_status fit(const ease_interactions *x, const ease_train_options *o,
                       ease_model **out, ease_error *err)
{
    return ease_train(x, o, out, err);
}

const ease__method ease__ease = {
    .name = "ease",
    .about = "item-item weights in closed form (Steck, WWW 2019)",
    .number = 0,
    .form = &ease__form_packed,
    .has_lambda = true,
    .settings = settings,
    .fit = fit,
};

const ease__method ease__ease_nonneg = {
    .name = "ease-nonneg",
    .about = "EASE >= 0: the same with weights below 0 set to 0",
    .number = 1,
    .form = &ease__form_packed,
    .has_lambda = true,
    .nonnegative = true,
    .settings = settings,
    .fit = fit,
};
