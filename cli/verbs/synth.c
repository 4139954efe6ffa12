#include <string.h>

#include "files.h"
#include "verbs.h"

typedef struct synth_args {
    common_args common;
    const char *output;
    int64_t users, items, interactions, seed;
} synth_args;

#define AT(member) .at = offsetof(synth_args, member)

static const option synth_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     .required = true,
     AT(output),
     .value = "FILE",
     .help = "the CSV to write; - for standard output; required"},
    {.name = "users",
     .type = OPTION_COUNT,
     .required = true,
     AT(users),
     .value = "U",
     .least = 1,
     .help = "number of users; required"},
    {.name = "items",
     .type = OPTION_COUNT,
     .required = true,
     AT(items),
     .value = "N",
     .least = 1,
     .most = INT32_MAX,
     .help = "number of items; required"},
    {.name = "interactions",
     .type = OPTION_COUNT,
     .required = true,
     AT(interactions),
     .value = "M",
     .least = 1,
     .help = "number of distinct pairs; required"},
    {.name = "seed",
     .type = OPTION_COUNT,
     AT(seed),
     .value = "S",
     .help = "the same seed gives the same file (default 1)"},
    OPTIONS_END};

static void report_file(console *c, const synth_args *a, double seconds)
{
    char pairs[NUMBER_CHARS], size[NUMBER_CHARS], took[NUMBER_CHARS];
    size_t bytes = file_bytes(a->output);
    output_format format = format_of(&a->common);
    report r;

    if (strcmp(a->output, "-") == 0)
        return;
    note(c, "wrote %s, %s interactions, %s, in %s", a->output,
         format_count(pairs, sizeof(pairs), a->interactions),
         format_bytes(size, sizeof(size), bytes),
         format_seconds(took, sizeof(took), seconds));
    if (format == OUTPUT_TEXT)
        return; /* the notes have said it */
    r = report_begin(format);
    report_count(&r, "users", "", a->users);
    report_count(&r, "items", "", a->items);
    report_count(&r, "interactions", "", a->interactions);
    report_count(&r, "seed", "", a->seed);
    report_seconds(&r, "seconds", "", seconds);
    report_bytes(&r, "bytes", "", bytes);
    report_text(&r, "path", "", a->output);
    report_end(&r);
}

static int run(console *c, void *args)
{
    const synth_args *a = args;
    double began = seconds_now();
    ease_interactions *x = NULL;
    ease_synth_options o;
    ease_error err;
    int code = check_output(c, a->output);

    if (code)
        return code;
    if (format_of(&a->common) != OUTPUT_TEXT && strcmp(a->output, "-") == 0)
        return usage_error(c, a->common.verb, "%s and -o - exclude each other",
                           a->common.json ? "--json" : "--csv");
    if (format_of(&a->common) != OUTPUT_TEXT)
        code = check_outputs_differ(c, a->output, "-");
    if (code)
        return code;
    ease_synth_options_init(&o);
    o.users = a->users;
    o.items = (int32_t)a->items;
    o.interactions = a->interactions;
    o.seed = (uint64_t)a->seed;
    o.threads = (int)a->common.threads;
    o.hooks = console_hooks(c);
    if (ease_interactions_synth(&o, &x, &err) ||
        ease_interactions_write(x, a->output, o.hooks, &err))
        code = fail_with(c, &err);
    else
        report_file(c, a, seconds_now() - began);
    ease_interactions_free(x);
    return code;
}

static const option_group groups[] = {{"Data", synth_options, 0},
                                      FORMAT_GROUP(output_options),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const char *const usage[] = {
    "-o FILE --users U --items N --interactions M [--seed S]", NULL};
static const char *const examples[] = {
    "-o made.csv --users 1000 --items 200 --interactions 20000 --seed 7", NULL};

const verb verb_synth = {
    .name = "synth",
    .summary = "make synthetic interactions, for trying out and measuring",
    .usage = usage,
    .about =
        "Writes exactly M distinct pairs, in which every user and every item occurs "
        "at least once. Both have long-tailed distributions, and users have tastes "
        "that a model can learn.",
    .groups = groups,
    .examples = examples,
    .size = sizeof(synth_args),
    .defaults = &(const synth_args){.seed = 1},
    .run = run,
};
