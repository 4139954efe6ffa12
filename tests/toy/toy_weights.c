/* A second method that is not in the library: few weights, and a lambda. Copied into
 * src/methods, with the line METHOD(ease__toy_weights) in src/methods/methods.h, it is
 * complete. An item recommends the `reach` items after it, with 1 / lambda each. */
#include "methods/methods.h"

enum { REACH };

static const ease_setting settings[] = {{.name = "reach",
                                         .about = "items that an item recommends",
                                         .value = 1,
                                         .least = 1,
                                         .most = 5,
                                         .whole = 1},
                                        {0}};

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    int32_t reach = (int32_t)given[REACH];
    ease__lists l;
    ease_status status;

    if (ease__progress(o->hooks, "training", 0))
        return ease__cancelled(err);
    status = ease__lists_new(x->items, reach, &l, err);
    if (status)
        return status;
    for (int32_t i = 0; i < x->items; i++)
        for (int32_t k = 0; k < reach && i + 1 + k < x->items; k++) {
            size_t at = (size_t)i * (size_t)reach + (size_t)k;

            l.columns[at] = i + 1 + k;
            l.weights[at] = (float)(1 / o->lambda);
            l.counts[i]++;
        }
    status = ease__lists_store(&l, m, err);
    ease__lists_free(&l);
    return status;
}

const ease__method ease__toy_weights = {
    .info =
        {
            .name = "toy-weights",
            .about = "items after those of the history",
            .has_lambda = 1,
        },
    .number = 1001,
    .settings = settings,
    .form = &ease__form_sparse,
    .fill = train,
};
