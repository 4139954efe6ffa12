#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "measuring.h"
#include "plotting.h"
#include "trials.h"
#include "tuning.h"
#include "verbs.h"

enum { MOST_MODELS = 8, NAME_CHARS = 200 };

typedef struct plot_args {
    common_args common;
    reading_args reading;
    const char *output;
    held_out from;
    int64_t k; /* 0: not given */
} plot_args;

#define AT(member) .at = offsetof(plot_args, member)

static const option plot_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     .required = true,
     AT(output),
     .value = "FILE.svg",
     .help = "the figure to write; - for standard output; required"},
    {.name = "input",
     .type = OPTION_PATH,
     AT(from.input),
     .value = "FILE",
     .help = "longtail: the items that each user has"},
    {.name = "target",
     .type = OPTION_PATH,
     AT(from.target),
     .value = "FILE",
     .help = "longtail: the users who get lists, as for eval"},
    {.name = "split",
     .type = OPTION_PATH,
     AT(from.split),
     .value = "DIR",
     .help = "longtail: the test part of a split, instead of --input and --target"},
    {.name = "count",
     .letter = 'k',
     .type = OPTION_COUNT,
     AT(k),
     .value = "N",
     .least = 1,
     .most = 10000,
     .help = "longtail: how many items in a list (default 100)"},
    OPTIONS_END};

/* Fails if data is given to a figure other than longtail. */
static int check_no_data(console *c, const plot_args *a)
{
    const char *figure = a->common.operands[0];

    if (strcmp(figure, "longtail") == 0 ||
        (!a->from.input && !a->from.target && !a->from.split && !a->k &&
         reading_is_default(&a->reading)))
        return EXIT_DONE;
    return usage_error(
        c, a->common.verb,
        "--input, --target, --split, -k and options for reading DATA are "
        "for longtail, not for %s",
        figure);
}

/* ---- weights ------------------------------------------------------------------ */

static void put_summary(const plot_args *a, const ease_weight_summary *w)
{
    output_format format = format_of(&a->common);
    report r;
    char negative[32], zero[32];

    if (strcmp(a->output, "-") == 0)
        return;
    r = report_begin(format);
    report_count(&r, "weights", "weights", w->count);
    if (format == OUTPUT_TEXT) {
        snprintf(negative, sizeof(negative), "%.2f %%", 100 * w->negative);
        snprintf(zero, sizeof(zero), "%.2f %%", 100 * w->zero);
        report_text(&r, "", "negative", negative);
        report_text(&r, "", "exactly 0", zero);
    } else {
        report_real(&r, "negative", "", w->negative);
        report_real(&r, "zero", "", w->zero);
    }
    report_real(&r, "smallest", "smallest", w->smallest);
    report_real(&r, "median", "median", w->quantile[EASE_WEIGHT_QUANTILES / 2]);
    report_real(&r, "mean", "mean", w->mean);
    report_real(&r, "largest", "largest", w->largest);
    report_end(&r);
}

static int plot_weights(console *c, const plot_args *a)
{
    const ease_hooks *hooks = console_hooks(c);
    ease_weight_summary summary = {.size = sizeof(summary)};
    ease_model *m = NULL;
    ease_error err;
    int code;

    if (a->common.operand_count != 2)
        return usage_error(c, a->common.verb, "plot weights takes one MODEL");
    code = check_no_data(c, a);
    if (!code)
        code = open_model(c, &a->common, a->common.operands[1], NULL, &m);
    if (!code && ease_model_set_threads(m, (int)a->common.threads, &err))
        code = fail_with(c, &err);
    if (!code && ease_plot_weights(m, a->output, &summary, hooks, &err))
        code = fail_with(c, &err);
    console_clear(c);
    if (!code)
        put_summary(a, &summary);
    ease_model_free(m);
    return code;
}

/* ---- the long tail ------------------------------------------------------------ */

typedef struct tails {
    char name[MOST_MODELS][NAME_CHARS];
    ease_report *report[MOST_MODELS];
    int32_t items;
    int count;
} tails;

/* The name of a model: that of its file, without directory and .ease. */
static void name_model(const char *path, char *to)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base);

    if (length > 5 && strcmp(base + length - 5, ".ease") == 0)
        length -= 5;
    snprintf(to, NAME_CHARS, "%.*s", (int)length, base);
}

static int list_length(const plot_args *a)
{
    return a->k ? (int)a->k : 100;
}

static int measure_tail(console *c, const plot_args *a, const char *path,
                        const ease_interactions *input, const ease_interactions *target,
                        tails *t)
{
    char metric[32];
    ease_model *m = NULL;
    int code = open_model(c, &a->common, path, NULL, &m);

    if (code)
        return code;
    if (t->count && ease_model_items(m) != t->items)
        code = fail(c, EXIT_DATA, "%s: %d items, not %d as %s", path,
                    (int)ease_model_items(m), (int)t->items, t->name[0]);
    t->items = ease_model_items(m);
    snprintf(metric, sizeof(metric), "coverage@%d", list_length(a));
    if (!code)
        code = measure(c, &a->common, m, input, target, metric, EASE_UNKNOWN_MISS,
                       &t->report[t->count]);
    if (!code)
        name_model(path, t->name[t->count++]);
    ease_model_free(m);
    return code;
}

static int draw_tails(console *c, const plot_args *a, const tails *t)
{
    const int64_t *times[MOST_MODELS];
    const char *names[MOST_MODELS];
    ease_error err;
    int32_t k = 0;

    for (int i = 0; i < t->count; i++) {
        times[i] = ease_report_times(t->report[i], &k);
        names[i] = t->name[i];
    }
    if (ease_plot_longtail(times, names, t->count, t->items, k, a->output, &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

static int plot_longtail(console *c, const plot_args *a)
{
    ease_interactions *input = NULL, *target = NULL;
    tails t = {.count = 0};
    int models = a->common.operand_count - 1, code;

    if (models < 1 || models > MOST_MODELS)
        return usage_error(c, a->common.verb, "plot longtail takes 1 to %d models",
                           (int)MOST_MODELS);
    code = check_held_out(c, a->common.verb, &a->reading, &a->from);
    if (!code)
        code = read_held_out(c, &a->common, &a->reading, &a->from, &input, &target);
    for (int i = 0; !code && i < models; i++)
        code = measure_tail(c, a, a->common.operands[1 + i], input, target, &t);
    if (!code)
        code = draw_tails(c, a, &t);
    for (int i = 0; i < t.count; i++)
        ease_report_free(t.report[i]);
    ease_interactions_free(input);
    ease_interactions_free(target);
    return code;
}

/* ---- lambda and settings ------------------------------------------------------ */

static int draw_lambda(console *c, const plot_args *a, const trials *t)
{
    ease_error err;

    if (!trials_have_lambda(t))
        return fail(c, EXIT_DATA, "%s: trials without lambda: use plot settings",
                    a->common.operands[1]);
    if (ease_plot_lambda(t->lambda, t->mean, t->error, t->count, t->metric, a->output,
                         &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

static int draw_settings(console *c, const plot_args *a, const trials *t)
{
    const char *settings[MOST_TRIALS];

    for (int i = 0; i < t->count; i++)
        settings[i] = t->settings[i];
    return plot_settings_of(c, t->lambda, settings, t->mean, t->error, t->count,
                            trials_best(t), t->metric, a->output);
}

static int plot_trials(console *c, const plot_args *a,
                       int (*draw)(console *c, const plot_args *a, const trials *t))
{
    trials *t;
    int code;

    if (a->common.operand_count != 2)
        return usage_error(c, a->common.verb, "plot %s takes one file of trials",
                           a->common.operands[0]);
    code = check_no_data(c, a);
    if (code)
        return code;
    t = malloc(sizeof(*t));
    if (!t)
        return fail_no_memory(c);
    code = trials_read(c, a->common.operands[1], t);
    if (!code)
        code = draw(c, a, t);
    free(t);
    return code;
}

static int plot_lambda(console *c, const plot_args *a)
{
    return plot_trials(c, a, draw_lambda);
}

static int plot_settings(console *c, const plot_args *a)
{
    return plot_trials(c, a, draw_settings);
}

/* ---- the verb ----------------------------------------------------------------- */

static int check(console *c, const plot_args *a)
{
    bool prints = strcmp(a->common.operands[0], "weights") == 0 &&
                  strcmp(a->output, "-") != 0;
    int code = check_figure(c, a->output);

    if (!code)
        code = check_output(c, a->output);
    for (int i = 1; !code && i < a->common.operand_count; i++)
        code = check_differs(c, a->output, a->common.operands[i]);
    if (!code)
        code = check_differs(c, a->output, a->from.input);
    if (!code)
        code = check_differs(c, a->output, a->from.target);
    if (!code && a->from.split)
        code = check_differs_split(c, a->output, a->from.split);
    return code ? code : check_outputs_differ(c, a->output, prints ? "-" : NULL);
}

static int run(console *c, void *args)
{
    static const struct {
        const char *name;
        int (*plot)(console *c, const plot_args *a);
    } figures[] = {{"weights", plot_weights},
                   {"longtail", plot_longtail},
                   {"lambda", plot_lambda},
                   {"settings", plot_settings}};
    const plot_args *a = args;
    int code = check(c, a);

    for (size_t i = 0; !code && i < sizeof(figures) / sizeof(figures[0]); i++)
        if (strcmp(a->common.operands[0], figures[i].name) == 0) {
            code = figures[i].plot(c, a);
            if (!code && strcmp(a->output, "-") != 0)
                note(c, "wrote %s", a->output);
            return code;
        }
    return code
               ? code
               : usage_error(c, a->common.verb,
                             "expected weights, longtail, lambda or settings, not '%s'",
                             a->common.operands[0]);
}

static const option_group groups[] = {
    {"Figures", plot_options, 0},    VERIFY_GROUP,
    READING_GROUP(plot_args),        FORMAT_GROUP(output_options),
    {"General", threads_options, 0}, GROUPS_END};
static const operand operands[] = {
    {"weights|longtail|lambda|settings", "which figure"},
    {"MODEL ...", "model files; one for weights"},
    {"TRIALS", "the output of ease tune --csv or --json; - for standard input"},
    {NULL, NULL}};
static const char *const usage[] = {
    "weights MODEL -o FILE.svg",
    "longtail MODEL [MODEL ...] --split DIR [-k N] -o FILE.svg",
    "longtail MODEL [MODEL ...] --input FILE --target FILE [-k N] -o FILE.svg",
    "lambda TRIALS -o FILE.svg",
    "settings TRIALS -o FILE.svg",
    NULL};
static const char *const examples[] = {
    "weights model.ease -o weights.svg",
    "longtail ease.ease popular.ease --split split -o tail.svg",
    "lambda trials.csv -o lambda.svg", "settings trials.json -o settings.svg", NULL};

const verb verb_plot = {
    .name = "plot",
    .summary = "draw figures in SVG: weights, the long tail, lambda, settings",
    .usage = usage,
    .about =
        "weights draws the histogram of the learned weights. Their number, the "
        "shares of negative weights and of weights that are exactly 0, and more are "
        "printed too, as text, --json or --csv.\n\n"
        "longtail draws a line for each model: the number of lists of the best N "
        "that contain each item, in descending order.\n\n"
        "lambda draws a metric as a function of lambda, with standard errors.\n\n"
        "settings draws a metric as a function of each setting that the trials differ "
        "in, lambda too: a panel for each setting, up to 8, with a dot for each trial, "
        "a line through the best trials, and the standard error of the best. Trials "
        "that are far worse than most are arrows at the edge. Settings that are not "
        "numbers are not drawn.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .words = "weights longtail lambda settings",
    .least_operands = 1,
    .most_operands = -1,
    .size = sizeof(plot_args),
    .defaults = &(const plot_args){.reading = READING_DEFAULTS},
    .run = run,
};
