#include <math.h>
#include <string.h>

#include "files.h"
#include "measuring.h"
#include "tuning.h"
#include "verbs.h"

typedef struct eval_args {
    common_args common;
    reading_args reading;
    held_out from;
    const char *metrics, *per_user;
    int unknown;
} eval_args;

#define AT(member) .at = offsetof(eval_args, member)

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
    {.name = "per-user",
     .type = OPTION_PATH,
     AT(per_user),
     .value = "FILE",
     .help = "write each user's values too, as CSV"},
    OPTIONS_END};

static int check_per_user(console *c, const eval_args *a)
{
    const char *const inputs[] = {a->common.operands[0], a->from.input, a->from.target};
    int code = check_output_file(c, a->per_user);

    for (size_t i = 0; !code && i < sizeof(inputs) / sizeof(inputs[0]); i++)
        code = check_differs(c, a->per_user, inputs[i]);
    if (!code && a->from.split)
        code = check_differs_split(c, a->per_user, a->from.split);
    return code ? code : check_outputs_differ(c, a->per_user, "-");
}

static int check(console *c, const eval_args *a)
{
    int code = check_metrics(c, a->metrics);

    if (!code)
        code = check_held_out(c, a->common.verb, &a->reading, &a->from);
    return code || !a->per_user ? code : check_per_user(c, a);
}

static int put(console *c, const eval_args *a, const ease_report *r, double seconds)
{
    char users[NUMBER_CHARS], took[NUMBER_CHARS];
    json j = {.to = stdout};

    note(c, "%s users measured in %s",
         format_count(users, sizeof(users), ease_report_users(r)),
         format_seconds(took, sizeof(took), seconds));
    if (!a->common.json)
        return put_report(c, format_of(&a->common), r);
    json_open(&j, NULL, '{');
    json_report(&j, r);
    json_real(&j, "seconds", seconds);
    json_close(&j, '}');
    fputc('\n', stdout);
    return EXIT_DONE;
}

static int run(console *c, void *args)
{
    const eval_args *a = args;
    ease_interactions *input = NULL, *target = NULL;
    ease_report *r = NULL;
    ease_model *m = NULL;
    double began = 0;
    ease_error err;
    int code = check(c, a);

    if (!code)
        code = open_model(c, &a->common, a->common.operands[0], NULL, &m);
    if (!code)
        code = read_held_out(c, &a->common, &a->reading, &a->from, &input, &target);
    if (!code) {
        began = seconds_now();
        code = measure(c, &a->common, m, input, target, a->metrics, a->unknown, &r);
    }
    if (!code && a->per_user && ease_report_write(r, a->per_user, &err))
        code = fail_with(c, &err);
    if (!code)
        code = put(c, a, r, seconds_now() - began);
    ease_report_free(r);
    ease_interactions_free(input);
    ease_interactions_free(target);
    ease_model_free(m);
    return code;
}

static const option_group groups[] = {
    {"Measuring", eval_options, 0},  VERIFY_GROUP,
    READING_GROUP(eval_args),        FORMAT_GROUP(output_options),
    {"General", threads_options, 0}, GROUPS_END};
static const operand operands[] = {{"MODEL", "a model file"}, {NULL, NULL}};
static const char *const usage[] = {
    "MODEL --input FILE --target FILE [--metrics NAME@K,...] [options]",
    "MODEL --split DIR [--metrics NAME@K,...] [options]", NULL};
static const char *const examples[] = {
    "model.ease --split split",
    "model.ease --input train.txt --target test.txt --metrics "
    "plain-recall@20,ndcg@20 --json",
    NULL};

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
        "Both files are read as train reads DATA, with the same options. The files "
        "test_tr.csv and test_te.csv of a split give the same result as --split: "
        "their numbers are replaced by the ids that the split lists.\n\n"
        "--json gives one object with the keys users, metrics (by name, each with "
        "mean and stderr), without_target, without_input, unknown (miss or drop), "
        "unknown_targets, unknown_inputs and seconds.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(eval_args),
    .defaults = &(const eval_args){.reading = READING_DEFAULTS,
                                   .metrics = METRICS_DEFAULT},
    .run = run,
};
