#include <math.h>
#include <string.h>

#include "files.h"
#include "leaving.h"
#include "measuring.h"
#include "tuning.h"
#include "updating.h"
#include "verbs.h"

typedef struct eval_args {
    common_args common;
    reading_args reading;
    held_out from;
    leaving_args leaving;
    const char *metrics, *per_user;
    int unknown;
    int items, among; /* an ease_eval_items; -1: not given */
} eval_args;

#define AT(member)  .at = offsetof(eval_args, member)
#define ITEMS_VALUE "all|warm|cold"

/* Names of ease_eval_items. */
static const char *const item_kinds[] = {"all", "warm", "cold"};

static const option eval_options[] = {
    {.name = "input",
     .type = OPTION_PATH,
     AT(from.input),
     .value = "FILE",
     .help = "the histories: the items that each user has"},
    {.name = "target",
     .type = OPTION_PATH,
     AT(from.target),
     .value = "FILE",
     .help = "the items that were held out from each user"},
    {.name = "split",
     .type = OPTION_PATH,
     AT(from.split),
     .value = "DIR",
     .help = "the test part of a split, instead of --input and --target"},
    {.name = "metrics",
     .type = OPTION_TEXT,
     AT(metrics),
     .value = "NAME@K,...",
     .help = METRICS_HELP},
    {.name = "unknown",
     .type = OPTION_CHOICE,
     AT(unknown),
     .value = UNKNOWN_VALUE,
     .help = UNKNOWN_HELP},
    {.name = "items",
     .type = OPTION_CHOICE,
     AT(items),
     .value = ITEMS_VALUE,
     .help = "measure only the held-out items of this kind (default: all of them, and "
             "if some are cold both kinds apart too)"},
    {.name = "among",
     .type = OPTION_CHOICE,
     AT(among),
     .value = ITEMS_VALUE,
     .help = "the items that are ranked: all (the default), or those of the kind of "
             "--items"},
    {.name = "per-user",
     .type = OPTION_PATH,
     AT(per_user),
     .value = "FILE",
     .help = "write each user's values too, as CSV"},
    OPTIONS_END};

/* ---- warm and cold items -------------------------------------------------------- */

/* What is measured beside all targets if some of them are cold. */
static const struct {
    const char *key, *title;
    ease_eval_items targets, among;
} parts[] = {
    {"warm", "warm targets, ranked among all items", EASE_ITEMS_WARM, EASE_ITEMS_ALL},
    {"cold", "cold targets, ranked among all items", EASE_ITEMS_COLD, EASE_ITEMS_ALL},
    {"cold_among_cold", "cold targets, ranked among cold items", EASE_ITEMS_COLD,
     EASE_ITEMS_COLD}};
enum { PARTS = (int)(sizeof(parts) / sizeof(parts[0])) };

typedef struct measured {
    ease_report *all;
    ease_report *part[PARTS]; /* NULL: not measured */
} measured;

static ease_report_info info_of(const ease_report *r)
{
    ease_report_info info = {.size = sizeof(info)};

    ease_report_describe(r, &info);
    return info;
}

static ease_eval_options options_of(const eval_args *a)
{
    ease_eval_options o;

    ease_eval_options_init(&o);
    o.metrics = a->metrics;
    o.unknown = (ease_unknown)a->unknown;
    o.targets = a->items < 0 ? EASE_ITEMS_ALL : (ease_eval_items)a->items;
    o.among = a->among < 0 ? EASE_ITEMS_ALL : (ease_eval_items)a->among;
    return o;
}

/* Measures warm and cold targets apart, unless --items says what to measure or no
 * target is cold. What is left out was noted when all targets were measured. */
static int measure_parts(console *c, const eval_args *a, const ease_model *m,
                         const ease_interactions *input,
                         const ease_interactions *target, measured *to)
{
    ease_report_info info = info_of(to->all);
    ease_hooks hooks = *console_hooks(c);
    ease_error err;

    hooks.log = NULL;
    for (int i = 0; i < PARTS && a->items < 0 && info.cold_targets > 0; i++) {
        ease_eval_options o = options_of(a);

        if (parts[i].targets == EASE_ITEMS_WARM && info.warm_targets == 0)
            continue;
        o.targets = parts[i].targets;
        o.among = parts[i].among;
        o.threads = (int)a->common.threads;
        o.hooks = &hooks;
        if (ease_evaluate(m, input, target, &o, &to->part[i], &err))
            return fail_with(c, &err);
        phase_end(c, "evaluating");
        console_clear(c);
    }
    return EXIT_DONE;
}

static bool has_parts(const measured *d)
{
    for (int i = 0; i < PARTS; i++)
        if (d->part[i])
            return true;
    return false;
}

/* Prints a heading and a table for each part. Without cold items in the model there is
 * nothing to show of cold targets but zeros. */
static int put_parts(console *c, const measured *d)
{
    bool none = info_of(d->all).cold_items == 0;
    char users[NUMBER_CHARS];
    int code = EXIT_DONE;

    for (int i = 0; !code && i < PARTS; i++) {
        if (!d->part[i] || (none && parts[i].targets == EASE_ITEMS_COLD))
            continue;
        printf("\n%s: %s users\n", parts[i].title,
               format_count(users, sizeof(users), ease_report_users(d->part[i])));
        code = put_report(c, OUTPUT_TEXT, d->part[i]);
    }
    if (!code && none && has_parts(d))
        printf("\ncold targets: the model knows none of these items\n");
    return code;
}

static void add_rows(table *t, const ease_report *r)
{
    ease_report_info info = info_of(r);

    for (int i = 0; i < info.metrics; i++) {
        table_metric(t, metric_of(r, i));
        table_text(t, item_kinds[info.targets]);
        table_text(t, item_kinds[info.among]);
        table_value(t, (double)info.users);
    }
}

/* The columns of a report, and three that tell its parts apart. */
static int put_csv_parts(console *c, const measured *d)
{
    static const char *const heads[] = {"metric",  "mean",  "stderr",
                                        "targets", "among", "users"};
    size_t columns = sizeof(heads) / sizeof(heads[0]);
    table t = table_begin(TABLE_CSV, columns);

    for (size_t i = 0; i < columns; i++)
        table_text(&t, heads[i]);
    add_rows(&t, d->all);
    for (int i = 0; i < PARTS; i++)
        if (d->part[i])
            add_rows(&t, d->part[i]);
    return table_end(&t) ? EXIT_DONE : fail_no_memory(c);
}

static void json_parts(json *j, const eval_args *a, const measured *d)
{
    ease_report_info info = info_of(d->all);

    if (a->items >= 0) {
        json_text(j, "items", item_kinds[info.targets]);
        json_text(j, "among", item_kinds[info.among]);
    }
    if (a->items >= 0 || has_parts(d)) {
        json_count(j, "warm_targets", info.warm_targets);
        json_count(j, "cold_targets", info.cold_targets);
        json_count(j, "cold_items", info.cold_items);
    }
    for (int i = 0; i < PARTS; i++) {
        if (!d->part[i])
            continue;
        json_open(j, parts[i].key, '{');
        json_count(j, "users", ease_report_users(d->part[i]));
        json_metrics(j, d->part[i]);
        json_close(j, '}');
    }
}

static void measured_free(measured *d)
{
    ease_report_free(d->all);
    for (int i = 0; i < PARTS; i++)
        ease_report_free(d->part[i]);
}

/* ---- the verb ------------------------------------------------------------------- */

static int check_per_user(console *c, const eval_args *a)
{
    const char *const inputs[] = {a->common.operands[0], a->from.input, a->from.target,
                                  a->leaving.data};
    int code = check_output_file(c, a->per_user);

    for (size_t i = 0; !code && i < sizeof(inputs) / sizeof(inputs[0]); i++)
        code = check_differs(c, a->per_user, inputs[i]);
    if (!code && a->from.split)
        code = check_differs_split(c, a->per_user, a->from.split);
    return code ? code : check_outputs_differ(c, a->per_user, "-");
}

/* Users are left out instead of being held out. */
static int check_left(console *c, const eval_args *a)
{
    const held_out *from = &a->from;
    const char *other = from->input     ? "--input"
                        : from->target  ? "--target"
                        : from->split   ? "--split"
                        : a->unknown    ? "--unknown drop"
                        : a->items >= 0 ? "--items"
                        : a->among >= 0 ? "--among"
                                        : NULL;

    return other ? usage_error(c, a->common.verb,
                               "--leave-one-out and %s exclude each other", other)
                 : EXIT_DONE;
}

static int check(console *c, const eval_args *a)
{
    int code = check_metrics(c, a->metrics);

    if (!code)
        code = check_leaving(c, a->common.verb, &a->leaving, a->metrics);
    if (!code && a->leaving.data) {
        code = check_left(c, a);
        return code || !a->per_user ? code : check_per_user(c, a);
    }
    if (!code && a->among > 0 && a->among != a->items)
        code = usage_error(c, a->common.verb, "--among %s requires --items %s",
                           item_kinds[a->among], item_kinds[a->among]);
    if (!code)
        code = check_held_out(c, a->common.verb, &a->reading, &a->from);
    return code || !a->per_user ? code : check_per_user(c, a);
}

static int put(console *c, const eval_args *a, const measured *d, double seconds)
{
    output_format format = format_of(&a->common);
    char users[NUMBER_CHARS], took[NUMBER_CHARS];
    json j = {.to = stdout};
    int code;

    note(c, "%s users measured in %s",
         format_count(users, sizeof(users), ease_report_users(d->all)),
         format_seconds(took, sizeof(took), seconds));
    if (format == OUTPUT_CSV && has_parts(d))
        return put_csv_parts(c, d);
    if (format != OUTPUT_JSON) {
        code = put_report(c, format, d->all);
        return code ? code : put_parts(c, d);
    }
    json_open(&j, NULL, '{');
    json_report(&j, d->all);
    json_parts(&j, a, d);
    if (a->leaving.data)
        json_leaving(&j, d->all);
    json_real(&j, "seconds", seconds);
    json_close(&j, '}');
    fputc('\n', stdout);
    return EXIT_DONE;
}

/* Measures on held-out data; *began is when these were read. */
static int measure_held_out(console *c, const eval_args *a, const ease_model *m,
                            measured *did, double *began)
{
    ease_interactions *input = NULL, *target = NULL;
    ease_eval_options o = options_of(a);
    int code = read_held_out(c, &a->common, &a->reading, &a->from, &input, &target);

    *began = seconds_now();
    if (!code)
        code = measure_with(c, &a->common, m, input, target, &o, &did->all);
    if (!code)
        code = measure_parts(c, a, m, input, target, did);
    ease_interactions_free(input);
    ease_interactions_free(target);
    return code;
}

static int run(console *c, void *args)
{
    const eval_args *a = args;
    measured did = {0};
    ease_model *m = NULL;
    double began = seconds_now();
    ease_error err;
    int code = check(c, a);

    if (!code)
        code = a->leaving.data
                   ? open_updatable(c, &a->common, &m)
                   : open_model(c, &a->common, a->common.operands[0], NULL, &m);
    if (!code)
        code = a->leaving.data ? measure_leaving(c, &a->common, &a->reading,
                                                 &a->leaving, m, a->metrics, &did.all)
                               : measure_held_out(c, a, m, &did, &began);
    if (!code && a->per_user && ease_report_write(did.all, a->per_user, &err))
        code = fail_with(c, &err);
    if (!code)
        code = put(c, a, &did, seconds_now() - began);
    measured_free(&did);
    ease_model_free(m);
    return code;
}

static const option_group groups[] = {{"Measuring", eval_options, 0},
                                      LEAVING_GROUP(eval_args),
                                      VERIFY_GROUP,
                                      READING_GROUP(eval_args),
                                      FORMAT_GROUP(output_options),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {{"MODEL", "a model file"}, {NULL, NULL}};
static const char *const usage[] = {
    "MODEL --input FILE --target FILE [--metrics NAME@K,...] [options]",
    "MODEL --split DIR [--metrics NAME@K,...] [options]",
    "MODEL --leave-one-out DATA [--metrics NAME@K,...] [--share S] [options]", NULL};
static const char *const examples[] = {
    "model.ease --split split",
    "model.ease --input train.txt --target test.txt --metrics mrr@20,ndcg@20 --json",
    "tagged.ease --split new --items cold --among cold",
    "living.ease --leave-one-out ratings.csv --sample 10000", NULL};

const verb verb_eval = {
    .name = "eval",
    .summary = "measure how well a model finds held-out items",
    .usage = usage,
    .about =
        "For every user of the target, the model ranks all items except those of "
        "the user's history in the input, and the metrics measure the ranks of the "
        "user's held-out items in the target. Means are over users, with the "
        "standard error std / sqrt(users); metrics of all lists together have no "
        "standard error. Held-out items that the model does not know count as "
        "misses, or are excluded by --unknown drop; users without held-out items "
        "are excluded. The numbers of such items and users are printed.\n\n"
        "Cold items are those that nobody has in the model's training data: items that "
        "training added from their tags, and items that the model does not know. If "
        "some held-out items are cold, three measurements follow that of all held-out "
        "items: the warm ones alone, the cold ones alone, and the cold ones when only "
        "cold items are ranked; each is over the users who have such items held out. "
        "--items measures one kind alone, or with `all` only all of them together; "
        "--per-user writes the values of the first measurement.\n\n"
        "Both files are read as train reads DATA, with the same options. The files "
        "test_tr.csv and test_te.csv of a split give the same result as --split: "
        "their numbers are replaced by the ids that the split lists.\n\n"
        "With --leave-one-out no data need to be held out from training: each user of "
        "the training data is measured by the model as it would be without this user, "
        "which is computed exactly from the inverse. A random share of the user's "
        "items "
        "is the target, the rest the input. Held-out items that nobody else has count "
        "as misses, and users with fewer than two items are excluded. The model must "
        "have been trained with --updatable. Users without whom the model differs too "
        "much for float32 are refused: their number is printed.\n\n"
        "--json gives one object with the keys users, metrics (by name, each with "
        "mean and stderr), without_target, without_input, unknown (miss or drop), "
        "unknown_targets, unknown_inputs and seconds. If some held-out items are cold "
        "there are also warm_targets, cold_targets (their numbers), cold_items (of the "
        "model), warm, cold and cold_among_cold (each with users and metrics); --csv "
        "then has the further columns targets, among and users. With --items there are "
        "also items, among and the three numbers; with --leave-one-out refused (users) "
        "and approximate (dropout).",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .surplus =
        "held-out data go to --input and --target, or as a split to --split; the "
        "training data of an updatable model to --leave-one-out",
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(eval_args),
    .defaults = &(const eval_args){.reading = READING_DEFAULTS,
                                   .leaving = LEAVING_DEFAULTS,
                                   .metrics = METRICS_DEFAULT,
                                   .items = -1,
                                   .among = -1},
    .run = run,
};
