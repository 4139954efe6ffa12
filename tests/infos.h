/* Calls of the library in one expression, for tests. */
#ifndef EASE_TEST_INFOS_H
#define EASE_TEST_INFOS_H

#include "ease.h"

/* As ease_train by `method`, whatever `o` (may be NULL) says. */
static inline ease_status train_method(const ease_interactions *x, const char *method,
                                       const ease_train_options *o, ease_model **out,
                                       ease_error *err)
{
    ease_train_options used;

    ease_train_options_init(&used);
    if (o)
        used = *o;
    used.method = method;
    return ease_train(x, &used, out, err);
}

static inline const char *method_name(int index)
{
    return ease_method_at(index) ? ease_method_at(index)->name : NULL;
}

static inline const char *metric_name(int index)
{
    return ease_metric_at(index) ? ease_metric_at(index)->name : NULL;
}

#endif
