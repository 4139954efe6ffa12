/* Functions that return descriptions by value, and training by the name of a method. */
#ifndef EASE_TEST_INFOS_H
#define EASE_TEST_INFOS_H

#include "ease.h"

/* Calls ease_train with o->method replaced by `method`; `o` may be NULL. */
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

/* The descriptions of objects. */
static inline ease_model_info model_info(const ease_model *m)
{
    ease_model_info info = {.size = sizeof(info)};

    ease_model_describe(m, &info);
    return info;
}

static inline ease_interactions_info interactions_info(const ease_interactions *x)
{
    ease_interactions_info info = {.size = sizeof(info)};

    ease_interactions_describe(x, &info);
    return info;
}

static inline ease_gram_info gram_info(const ease_gram *g)
{
    ease_gram_info info = {.size = sizeof(info)};

    ease_gram_describe(g, &info);
    return info;
}

static inline ease_report_info report_info(const ease_report *r)
{
    ease_report_info info = {.size = sizeof(info)};

    ease_report_describe(r, &info);
    return info;
}

static inline ease_metric report_metric(const ease_report *r, int metric)
{
    ease_metric info = {.size = sizeof(info)};

    ease_report_metric(r, metric, &info);
    return info;
}

static inline ease_trial tuning_trial(const ease_tuning *t, int trial)
{
    ease_trial info = {.size = sizeof(info)};

    ease_tuning_trial(t, trial, &info);
    return info;
}

#endif
