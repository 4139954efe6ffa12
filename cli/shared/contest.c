#include "contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "benching.h"
#include "measuring.h"
#include "planning.h"

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
        k->bytes = NAN;
        all->count++;
        at += length;
        if (!*at)
            return EXIT_DONE;
    }
}

static contender *find_contender(contest *all, const char *name, size_t length)
{
    for (int i = 0; i < all->count; i++)
        if (strlen(all->at[i].name) == length &&
            strncmp(all->at[i].name, name, length) == 0)
            return &all->at[i];
    return NULL;
}

int contest_assign(console *c, const verb *v, const text_list *given, bool grid,
                   contest *all)
{
    for (size_t i = 0; i < given->count; i++) {
        const char *text = given->at[i], *what = grid ? "grid" : "set";
        size_t length = strcspn(text, ":");
        contender *k = find_contender(all, text, length);
        const char **to;

        if (!text[length])
            return usage_error(c, v, "--%s: expected MODEL:NAME=VALUE,..., not '%s'",
                               what, text);
        if (!k)
            return usage_error(c, v, "--%s: '%.*s' is none of --models", what,
                               (int)length, text);
        to = grid ? &k->grid : &k->settings;
        if (*to)
            return usage_error(c, v, "--%s: %s is given twice", what, k->name);
        *to = text + length + 1;
    }
    return EXIT_DONE;
}

/* ---- training and measuring --------------------------------------------------- */

/* True if the model is tuned: over lambda unless one value is given, other methods
 * over their grid. */
static bool is_tuned(const contest *all, const contender *k, const lambdas *l)
{
    const ease_method_info *method = ease_method_find(k->name);
    const char *grid = k->grid ? k->grid : method->grid;

    if (method->has_lambda)
        return l->count != 1 || k->grid;
    return !all->untuned && grid[0];
}

static lambdas lambdas_for(const contender *k, const lambdas *l)
{
    return ease_method_find(k->name)->has_lambda ? *l : (lambdas){0};
}

/* Before the first model: the one that solves may be the last. */
static int check_solver(console *c, const common_args *common, const char *backend,
                        const contest *all)
{
    for (int i = 0; i < all->count; i++)
        if (ease_method_find(all->at[i].name)->from_gram)
            return check_backend(c, backend);
    return backend ? usage_error(c, common->verb, "none of --models takes --backend")
                   : EXIT_DONE;
}

/* Checks the options of a model that is trained as given. */
static int check_untuned(console *c, const common_args *common,
                         const tuning_args *tuning, const lambdas *l,
                         const contender *k)
{
    const ease_method_info *method = ease_method_find(k->name);
    ease_train_options o = train_options_of(c, common, tuning);
    ease_error err;

    o.method = k->name;
    o.settings = k->settings;
    o.lambda = method->has_lambda ? l->at[0] : 0;
    if (!method->from_gram) /* is for the other models */
        o.backend = NULL;
    return ease_train_options_check(&o, 0, &err) ? fail_with(c, &err) : EXIT_DONE;
}

/* Models that learn from tags know items that the others do not. */
static int check_tags(console *c, const common_args *common, const tuning_args *tuning,
                      const contest *all)
{
    int learning = 0;

    for (int i = 0; i < all->count; i++) {
        const ease_method_info *method = ease_method_find(all->at[i].name);

        learning += method->needs_tags ||
                    (method->from_gram && tuning->tag_weight != 0);
    }
    if (tuning->tags && tuning->unknown == EASE_UNKNOWN_DROP && learning &&
        learning < all->count)
        return usage_error(c, common->verb,
                           "--unknown drop: some of --models know items that only have "
                           "tags, and others do not, so that their users would differ");
    return EXIT_DONE;
}

int contest_check(console *c, const common_args *common, const tuning_args *tuning,
                  const lambdas *l, const contest *all)
{
    int code = check_solver(c, common, tuning->backend, all);

    for (int i = 0; !code && i < all->count; i++) {
        const contender *k = &all->at[i];
        lambdas own = lambdas_for(k, l);
        tuned what = {k->name, k->settings, k->grid};

        if (ease_method_find(k->name)->needs_tags && !tuning->tags)
            code = usage_error(c, common->verb, "%s needs --tags FILE", k->name);
        else if (is_tuned(all, k, l) || k->grid)
            code = check_tuning(c, common, tuning, &own, &what);
        else
            code = check_untuned(c, common, tuning, l, k);
    }
    return code ? code : check_tags(c, common, tuning, all);
}

static int tune(console *c, const common_args *common, const tuning_args *tuning,
                const lambdas *l, const ease_split_parts *parts, contender *k)
{
    double began = seconds_now();
    lambdas own = lambdas_for(k, l);
    tuned what = {k->name, k->settings, k->grid};
    ease_tuning *t = NULL;
    int code;

    note(c, "tuning %s", k->name);
    code = tune_method(c, common, tuning, &own, &what, parts, &t);
    if (!code && signals_caught())
        code = fail_interrupted(c);
    if (!code) {
        ease_trial best = {.size = sizeof(best)};
        char text[SETTINGS_CHARS];

        ease_tuning_trial(t, ease_tuning_best(t), &best);
        k->lambda = best.lambda > 0 ? best.lambda : (double)NAN;
        snprintf(k->chosen, sizeof(k->chosen), "%s", name_of_trial(text, &best));
        snprintf(k->trained, sizeof(k->trained), "%s", best.settings);
        k->trials = ease_tuning_count(t);
        k->tuning_seconds = seconds_now() - began;
    }
    ease_tuning_free(t);
    return code;
}

static int choose(console *c, const common_args *common, const tuning_args *tuning,
                  const lambdas *l, const ease_split_parts *parts, const contest *all,
                  contender *k)
{
    ease_trial as_given = {.settings = k->settings ? k->settings : ""};
    char text[SETTINGS_CHARS];

    if (is_tuned(all, k, l))
        return tune(c, common, tuning, l, parts, k);
    if (ease_method_find(k->name)->has_lambda)
        k->lambda = as_given.lambda = l->at[0];
    snprintf(k->chosen, sizeof(k->chosen), "%s", name_of_trial(text, &as_given));
    snprintf(k->trained, sizeof(k->trained), "%s", as_given.settings);
    return EXIT_DONE;
}

static int train(console *c, const common_args *common, const tuning_args *tuning,
                 const ease_split_parts *parts, contender *k, ease_model **out)
{
    ease_train_options o = train_options_of(c, common, tuning);
    double before, began;
    ease_error err;
    bool counted;

    o.method = k->name;
    o.lambda = k->lambda;
    o.settings = k->trained;
    counted = bench_forget_peak();
    before = bench_memory("VmRSS:");
    began = seconds_now();
    if (ease_train(parts->train, &o, out, &err))
        return fail_with(c, &err);
    k->seconds = seconds_now() - began;
    k->bytes = counted ? bench_memory("VmHWM:") - before : (double)NAN;
    /* A model of a method that was interrupted must not be compared. */
    return signals_caught() ? fail_interrupted(c) : EXIT_DONE;
}

static int train_and_measure(console *c, const common_args *common,
                             const tuning_args *tuning, const char *metrics,
                             const ease_split_parts *parts, contender *k)
{
    ease_model *m = NULL;
    int code = train(c, common, tuning, parts, k, &m);

    if (!code)
        code = measure(c, common, m, parts->test_input, parts->test_target, metrics,
                       tuning->unknown, &k->report);
    ease_model_free(m);
    return code;
}

/* Tests the differences on one metric; metrics of all lists together have none. */
static int test_metric(console *c, contest *all, int metric)
{
    const ease_report *reports[MOST_MODELS];
    ease_difference d[MOST_MODELS];
    ease_error err;

    for (int i = 0; i < all->count; i++) {
        reports[i] = all->at[i].report;
        d[i] = (ease_difference){NAN, NAN, NAN, NAN, NAN, NAN};
    }
    if (!isnan(metric_of(reports[0], metric).standard_error) &&
        ease_compare(reports, all->count, metric, d, &err))
        return fail_with(c, &err);
    for (int i = 1; i < all->count; i++)
        all->at[i].against[metric] = d[i - 1];
    return EXIT_DONE;
}

static int test_all(console *c, contest *all)
{
    int code = EXIT_DONE;

    all->metrics = ease_report_metrics(all->at[0].report);
    if (all->count < 2 || ease_report_users(all->at[0].report) < 2)
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

/* Checks before the work that the models can score the users of the split, which
 * evaluation would report only after training. */
static int check_known_users(console *c, const contest *all, const char *dir,
                             const ease_split_parts *parts)
{
    int64_t users = ease_interactions_users(parts->test_input);
    const char *first = users ? ease_interactions_user_id(parts->test_input, 0) : NULL;

    for (int i = 0; first && i < all->count; i++)
        if (ease_method_find(all->at[i].name)->known_users &&
            ease_interactions_find_user(parts->train, first) < 0)
            return fail(
                c, EXIT_DATA,
                "%s: %s scores only the users that it was trained with, and the "
                "test users are others: it needs a split with the same users "
                "in all parts (weak generalization)",
                dir, all->at[i].name);
    return EXIT_DONE;
}

int contest_run(console *c, const common_args *common, const tuning_args *tuning,
                const lambdas *l, const char *metrics, const char *dir,
                const ease_split_parts *parts, contest *all)
{
    int code = EXIT_DONE;

    if (!parts->test_input || !parts->test_target)
        return fail(c, EXIT_DATA, "%s: no test users", dir);
    code = check_known_users(c, all, dir, parts);
    for (int i = 0; !code && i < all->count; i++) {
        code = choose(c, common, tuning, l, parts, all, &all->at[i]);
        if (!code)
            code = train_and_measure(c, common, tuning, metrics, parts, &all->at[i]);
    }
    return code ? code : test_all(c, all);
}
