/* EASE (Steck, WWW 2019): all weights at once, from the inverse of X'X + lambda I. The
 * solve itself is src/model/train.c, which also starts from Gram matrices. */
#include "methods/methods.h"

static const ease_setting settings[] = {{0}};

static ease_status fit(const ease_interactions *x, const ease_train_options *o,
                       ease_model **out, ease_error *err)
{
    return ease__train_dense(x, o, out, err);
}

const ease__method ease__ease = {
    .info =
        {
            .name = "ease",
            .about = "item-item weights in closed form (Steck, WWW 2019)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
            .nonnegative = "ease-nonneg",
        },
    .number = 0,
    .settings = settings,
    .form = &ease__form_packed,
    .fit = fit,
};

const ease__method ease__ease_nonneg = {
    .info =
        {
            .name = "ease-nonneg",
            .about = "EASE >= 0: the same with weights below 0 set to 0",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
            .nonnegative = "ease-nonneg",
        },
    .number = 1,
    .settings = settings,
    .form = &ease__form_packed,
    .nonnegative = true,
    .fit = fit,
};
