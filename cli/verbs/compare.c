#include <math.h>

#include "contest.h"
#include "measuring.h"
#include "table.h"
#include "tagging.h"
#include "verbs.h"

typedef struct compare_args {
    common_args common;
    tuning_args tuning;
    tagging_args tagging;
    const char *models, *metrics, *plot;
    text_list settings, grids;
    int untuned, markdown;
} compare_args;

#define AT(member) .at = offsetof(compare_args, member)

static const option compare_options[] = {
    {.name = "models",
     .type = OPTION_TEXT,
     .required = true,
     AT(models),
     .value = "NAME,NAME,...",
     .help = "as ease help models lists them; the others are compared with the "
             "first; required"},
    {.name = "set",
     .type = OPTION_LIST,
     AT(settings),
     .value = "MODEL:NAME=VALUE,...",
     .help = "settings of a model that are not tuned; may be repeated"},
    {.name = "grid",
     .type = OPTION_LIST,
     AT(grids),
     .value = "MODEL:NAME=A|B|...,...",
     .help = "settings of a model to try (default: the grid that ease help models "
             "shows, without the settings of --set); may be repeated"},
    {.name = "untuned",
     .type = OPTION_FLAG,
     AT(untuned),
     .help = "do not tune settings: use those of --set, and defaults for the others"},
    {.name = "metrics",
     .type = OPTION_TEXT,
     AT(metrics),
     .value = "NAME@K,...",
     .help = METRICS_HELP},
    {.name = "plot",
     .type = OPTION_PATH,
     AT(plot),
     .value = "FILE.svg",
     .help = "draw the long tail: how often each item is recommended"},
    OPTIONS_END};

static const option form_options[] = {{.name = "markdown",
                                       .type = OPTION_FLAG,
                                       AT(markdown),
                                       .help = "the tables in Markdown"},
                                      OPTIONS_END};

/* ---- output ------------------------------------------------------------------- */

static void put_measure(table *t, ease_metric m)
{
    int decimals = measure_decimals(m.mean);
    char text[64];

    if (isnan(m.standard_error))
        snprintf(text, sizeof(text), "%.*f", decimals, m.mean);
    else
        snprintf(text, sizeof(text), "%.*f (%.*f)", decimals, m.mean, decimals,
                 m.standard_error);
    table_text(t, text);
}

static bool put_means(const contest *all, table_form form)
{
    table t = table_begin(form, (size_t)all->metrics + 5);

    table_text(&t, "model");
    table_text(&t, "settings");
    for (int i = 0; i < all->metrics; i++)
        table_text(&t, metric_of(all->at[0].report, i).name);
    table_text(&t, "training, s");
    table_text(&t, "tuning, s");
    table_text(&t, "memory");
    for (int i = 0; i < all->count; i++) {
        const contender *k = &all->at[i];
        char memory[NUMBER_CHARS];

        table_text(&t, k->name);
        table_text(&t, k->chosen);
        for (int n = 0; n < all->metrics; n++)
            put_measure(&t, metric_of(k->report, n));
        table_real(&t, k->seconds, 2);
        table_real(&t, k->trials ? k->tuning_seconds : (double)NAN, 1);
        table_text(&t, isnan(k->bytes)
                           ? ""
                           : format_bytes(memory, sizeof(memory), (size_t)k->bytes));
    }
    return table_end(&t);
}

static void put_difference(table *t, const char *metric, const contender *k,
                           const ease_difference *d)
{
    int decimals = measure_decimals(d->mean);
    char text[80];

    if (isnan(d->mean))
        return;
    table_text(t, metric);
    table_text(t, k->name);
    table_real(t, d->mean, decimals);
    snprintf(text, sizeof(text), "%.*f .. %.*f", decimals, d->low, decimals, d->high);
    table_text(t, text);
    snprintf(text, sizeof(text), "%.2g", d->p);
    table_text(t, text);
    snprintf(text, sizeof(text), "%.2g", d->p_holm);
    table_text(t, text);
}

static bool put_differences(const contest *all, table_form form)
{
    table t = table_begin(form, 6);

    table_text(&t, "metric");
    table_text(&t, "model");
    table_text(&t, "difference");
    table_text(&t, "95 % interval");
    table_text(&t, "p");
    table_text(&t, "p (Holm)");
    for (int i = 0; i < all->metrics; i++)
        for (int k = 1; k < all->count; k++)
            put_difference(&t, metric_of(all->at[0].report, i).name, &all->at[k],
                           &all->at[k].against[i]);
    return table_end(&t);
}

static bool put_tables(const contest *all, table_form form)
{
    char users[NUMBER_CHARS];

    if (!put_means(all, form))
        return false;
    printf("\nMeans over %s test users; in brackets their standard errors. Memory is "
           "what training took beside the data.\n",
           format_count(users, sizeof(users), ease_report_users(all->at[0].report)));
    put_unknown(all->at[0].report);
    if (all->count < 2 || !all->at[1].against)
        return true;
    printf("\nAgainst %s, by a paired t test over the users; p corrected for %d "
           "model%s (Holm):\n\n",
           all->at[0].name, all->count - 1, all->count > 2 ? "s" : "");
    return put_differences(all, form);
}

/* Prints a row for each metric of each model. */
static bool put_csv(const contest *all)
{
    static const char *const heads[] = {"model",   "lambda", "settings", "trials",
                                        "metric",  "mean",   "stderr",   "users",
                                        "seconds", "tuning", "bytes",    "difference",
                                        "low",     "high",   "p",        "p_holm"};
    size_t columns = sizeof(heads) / sizeof(heads[0]);
    table t = table_begin(TABLE_CSV, columns);

    for (size_t i = 0; i < columns; i++)
        table_text(&t, heads[i]);
    for (int n = 0; n < all->count * all->metrics; n++) {
        const contender *k = &all->at[n / all->metrics];
        int i = n % all->metrics;
        ease_metric m = metric_of(k->report, i);
        ease_difference none = {NAN, NAN, NAN, NAN, NAN, NAN};
        const ease_difference *d = k->against ? &k->against[i] : &none;

        table_text(&t, k->name);
        table_value(&t, k->lambda);
        table_text(&t, k->chosen);
        table_value(&t, k->trials);
        table_text(&t, m.name);
        table_value(&t, m.mean);
        table_value(&t, m.standard_error);
        table_value(&t, (double)ease_report_users(k->report));
        table_value(&t, k->seconds);
        table_value(&t, k->tuning_seconds);
        table_value(&t, k->bytes);
        table_value(&t, d->mean);
        table_value(&t, d->low);
        table_value(&t, d->high);
        table_value(&t, d->p);
        table_value(&t, d->p_holm);
    }
    return table_end(&t);
}

static void json_differences(json *j, const contender *k, int metrics)
{
    json_open(j, "against_first", '{');
    for (int i = 0; i < metrics; i++) {
        const ease_difference *d = &k->against[i];

        if (isnan(d->mean))
            continue;
        json_open(j, metric_of(k->report, i).name, '{');
        json_real(j, "difference", d->mean);
        json_real(j, "stderr", d->standard_error);
        json_real(j, "low", d->low);
        json_real(j, "high", d->high);
        json_real(j, "p", d->p);
        json_real(j, "p_holm", d->p_holm);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_contender(json *j, const contender *k, int metrics)
{
    json_open(j, NULL, '{');
    json_text(j, "model", k->name);
    json_real(j, "lambda", k->lambda);
    json_text(j, "settings", k->chosen);
    json_count(j, "trials", k->trials);
    json_metrics(j, k->report);
    json_real(j, "seconds", k->seconds);
    json_real(j, "tuning_seconds", k->tuning_seconds);
    json_real(j, "bytes", k->bytes);
    if (k->against)
        json_differences(j, k, metrics);
    json_close(j, '}');
}

static void put_json(const contest *all)
{
    ease_report_info info = {.size = sizeof(info)};
    json j = {.to = stdout};

    ease_report_describe(all->at[0].report, &info);
    json_open(&j, NULL, '{');
    json_count(&j, "users", info.users);
    json_unknown(&j, info.unknown, info.unknown_targets);
    json_open(&j, "models", '[');
    for (int i = 0; i < all->count; i++)
        json_contender(&j, &all->at[i], all->metrics);
    json_close(&j, ']');
    json_close(&j, '}');
    fputc('\n', stdout);
}

static int put_all(console *c, const compare_args *a, const contest *all)
{
    bool put = true;

    if (a->common.json)
        put_json(all);
    else if (a->common.csv)
        put = put_csv(all);
    else
        put = put_tables(all, a->markdown ? TABLE_MARKDOWN : TABLE_TEXT);
    return put ? EXIT_DONE : fail_no_memory(c);
}

static int plot_tail(console *c, const compare_args *a, const contest *all,
                     int32_t items)
{
    enum { MOST_LINES = 8 }; /* lines that a figure can distinguish */
    int lines = all->count < MOST_LINES ? all->count : MOST_LINES;
    const int64_t *times[MOST_LINES];
    const char *names[MOST_LINES];
    ease_error err;
    int32_t k = 0;

    if (lines < all->count)
        note(c, "%s: the first %d models", a->plot, lines);
    for (int i = 0; i < lines; i++) {
        times[i] = ease_report_times(all->at[i].report, &k);
        names[i] = all->at[i].name;
    }
    if (ease_plot_longtail(times, names, lines, items, k, a->plot, &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

/* ---- the verb ----------------------------------------------------------------- */

static int check_plot(console *c, const compare_args *a)
{
    int code = check_figure(c, a->plot);

    if (!code)
        code = check_output_file(c, a->plot);
    if (!code)
        code = check_differs_split(c, a->plot, a->common.operands[0]);
    return code ? code : check_outputs_differ(c, a->plot, "-");
}

/* --tag-weight is for models that learn from tags as from users. */
static bool takes_tag_weight(const contest *all)
{
    for (int i = 0; i < all->count; i++) {
        const ease_method_info *m = ease_method_find(all->at[i].name);

        if (m->from_gram && !m->needs_tags)
            return true;
    }
    return false;
}

static int check(console *c, const compare_args *a, contest *all, lambdas *l)
{
    int code = contest_parse(c, a->common.verb, a->models, all);

    all->untuned = a->untuned != 0;
    if (!code)
        code = contest_assign(c, a->common.verb, &a->settings, false, all);
    if (!code)
        code = contest_assign(c, a->common.verb, &a->grids, true, all);
    if (!code && a->untuned && a->grids.count)
        code = usage_error(c, a->common.verb,
                           "--untuned and --grid exclude each other");
    if (!code && !isnan(a->tagging.weight) && !takes_tag_weight(all))
        code = usage_error(c, a->common.verb, "none of --models takes --tag-weight");
    if (!code && a->markdown && (a->common.json || a->common.csv))
        code = usage_error(c, a->common.verb,
                           "--markdown, --json and --csv exclude each other");
    if (!code)
        code = lambdas_parse(c, a->common.verb, a->tuning.lambda, l);
    if (!code)
        code = check_metrics(c, a->metrics);
    if (!code)
        code = check_metrics(c, a->tuning.metric);
    if (!code)
        code = contest_check(c, &a->common, &a->tuning, l, all);
    return code || !a->plot ? code : check_plot(c, a);
}

static int run(console *c, void *args)
{
    compare_args *a = args;
    ease_split_parts parts = {.size = sizeof(parts)};
    contest all = {.count = 0};
    lambdas l = {0};
    ease_tags *tags = NULL;
    int code = check_tagging(c, a->common.verb, &a->tagging, NULL);

    if (!code)
        code = read_tags(c, &a->tagging, a->tuning.memory_limit, &tags);
    a->tuning.tags = tags;
    a->tuning.tag_weight = tag_weight_of(&a->tagging);
    if (!code)
        code = check(c, a, &all, &l);

    if (!code)
        code = open_split(c, a->common.operands[0], &parts);
    if (!code)
        code = contest_run(c, &a->common, &a->tuning, &l, a->metrics,
                           a->common.operands[0], &parts, &all);
    if (!code)
        code = put_all(c, a, &all);
    if (!code && a->plot)
        code = plot_tail(c, a, &all, ease_interactions_items(parts.train));
    contest_free(&all);
    ease_split_close(&parts);
    ease_tags_free(tags);
    lambdas_free(&l);
    return code;
}

static const option_group groups[] = {{"Comparing", compare_options, 0},
                                      TUNING_GROUP(compare_args),
                                      TAGGING_GROUP(compare_args),
                                      FORMAT_GROUP(output_options),
                                      {"Markdown", form_options, 0},
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {{"DIR", "a split, as ease split writes it"},
                                   {NULL, NULL}};
static const char *const usage[] = {
    "DIR --models NAME,NAME,... [--lambda L | --lambda auto] [options]", NULL};
static const char *const examples[] = {
    "split --models ease,ease-nonneg,popularity",
    "split --models ease,popularity --lambda 500 --metrics ndcg@10 --json",
    "split --models ease,wmf --set wmf:rank=8 --grid 'wmf:alpha=1|3|10' --markdown",
    NULL};

const verb verb_compare = {
    .name = "compare",
    .summary = "compare several models on one split",
    .usage = usage,
    .about =
        "Trains each model on the train part of a split and measures it on the test "
        "users. A single value of --lambda is used as it is; of several values, and "
        "with auto, the best on the validation users is chosen for each model that "
        "has a lambda. The settings of the other models are chosen likewise, over a "
        "grid that ease help models shows, unless --untuned is given. All models are "
        "compared with the first by a paired t test on the users' differences, "
        "corrected for their number (Holm).\n\n"
        "--json gives one object with the keys users, unknown (miss or drop), "
        "unknown_targets and models (model, lambda, settings as chosen, trials, "
        "metrics, seconds of training, tuning_seconds, bytes of memory, and "
        "against_first: by metric difference, stderr, low, high, p, p_holm); --csv "
        "has a row for each metric of each model.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(compare_args),
    .defaults = &(const compare_args){.tuning = TUNING_DEFAULTS,
                                      .tagging = TAGGING_DEFAULTS,
                                      .metrics = METRICS_DEFAULT},
    .run = run,
};
