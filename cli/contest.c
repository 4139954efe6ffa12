#include "contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measuring.h"

void contest_free(contest *all)
{
    for (int i = 0; i < all->count; i++) {
        ease_report_free(all->at[i].report);
        free(all->at[i].against);
    }
}

int contest_parse(console *c, const verb *v, const char *models, contest *all)
{
    for (const char *at = models;; at++) {
        contender *k = &all->at[all->count];
        size_t length = strcspn(at, ",");
        int code;

        if (all->count == MOST_MODELS)
            return usage_error(c, v, "--models: at most %d", (int)MOST_MODELS);
        snprintf(k->name, sizeof(k->name), "%.*s", (int)length, at);
        code = check_method(c, v, k->name);
        if (code)
            return code;
        k->lambda = NAN;
        all->count++;
        at += length;
        if (!*at)
            return EXIT_DONE;
    }
}

/* ---- training and measuring --------------------------------------------------------- */

static int choose_lambda(console *c, const common_args *common,
                         const tuning_args *tuning, const lambdas *l,
                         const ease_split_parts *parts, contender *k)
{
    ease_tuning *t = NULL;
    int code;

    if (!ease_method_has_lambda(k->name))
        return EXIT_DONE;
    if (l->count == 1) {
        k->lambda = l->at[0];
        return EXIT_DONE;
    }
    note(c, "tuning %s", k->name);
    code = tune_lambda(c, common, tuning, l, k->name, parts, &t);
    if (!code && signals_caught())
        code = fail_interrupted(c);
    if (!code)
        k->lambda = ease_tuning_trial(t, ease_tuning_best(t)).lambda;
    ease_tuning_free(t);
    return code;
}

static int train_and_measure(console *c, const common_args *common,
                             const tuning_args *tuning, const char *metrics,
                             const ease_split_parts *parts, contender *k)
{
    ease_train_options o = train_options_of(c, common, tuning);
    ease_model *m = NULL;
    double began = seconds_now();
    ease_error err;
    int code = EXIT_DONE;

    o.lambda = k->lambda;
    if (ease_train_method(parts->train, k->name, &o, &m, &err))
        code = fail_with(c, &err);
    k->seconds = seconds_now() - began;
    if (!code)
        code = measure(c, common, m, parts->test_input, parts->test_target, metrics,
                       &k->report);
    ease_model_free(m);
    return code;
}

/* The differences on one metric; those of all lists together have none. */
static int test_metric(console *c, contest *all, int metric)
{
    const ease_report *reports[MOST_MODELS];
    ease_difference d[MOST_MODELS];
    ease_error err;

    for (int i = 0; i < all->count; i++) {
        reports[i] = all->at[i].report;
        d[i] = (ease_difference){NAN, NAN, NAN, NAN, NAN, NAN};
    }
    if (!isnan(ease_report_metric(reports[0], metric).standard_error) &&
        ease_compare(reports, all->count, metric, d, &err))
        return fail_with(c, &err);
    for (int i = 1; i < all->count; i++)
        all->at[i].against[metric] = d[i - 1];
    return EXIT_DONE;
}

static int test_all(console *c, contest *all)
{
    int code = EXIT_DONE;

    all->metrics = ease_report_describe(all->at[0].report).metrics;
    if (all->count < 2 || ease_report_describe(all->at[0].report).users < 2)
        return EXIT_DONE;
    for (int i = 1; i < all->count; i++) {
        all->at[i].against = calloc((size_t)all->metrics, sizeof(ease_difference));
        if (!all->at[i].against)
            return fail_no_memory(c);
    }
    for (int i = 0; !code && i < all->metrics; i++)
        code = test_metric(c, all, i);
    return code;
}

int contest_run(console *c, const common_args *common, const tuning_args *tuning,
                const lambdas *l, const char *metrics, const char *dir,
                const ease_split_parts *parts, contest *all)
{
    int code = EXIT_DONE;

    if (!parts->test_input || !parts->test_target)
        return fail(c, EXIT_DATA, "%s: no test users", dir);
    for (int i = 0; !code && i < all->count; i++) {
        code = choose_lambda(c, common, tuning, l, parts, &all->at[i]);
        if (!code)
            code = train_and_measure(c, common, tuning, metrics, parts, &all->at[i]);
    }
    return code ? code : test_all(c, all);
}
