#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "files.h"
#include "gramsql.h"
#include "planning.h"
#include "verbs.h"

typedef struct gram_args {
    common_args common;
    reading_args reading;
    const char *output, *items;
    int64_t users;
    int precision;
    size_t memory_limit;
    sql_args sql;
} gram_args;

#define AT(member) .at = offsetof(gram_args, member)

static const option gram_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     AT(output),
     .value = "FILE",
     .help = "the Gram file to write; required, except for sql"},
    {.name = "items",
     .type = OPTION_PATH,
     AT(items),
     .value = "FILE",
     .help =
         "import: the list of items that the SQL writes, or ids, one per line, in the "
         "order of the matrix; required for .npy"},
    {.name = "users",
     .type = OPTION_COUNT,
     AT(users),
     .value = "U",
     .least = 1,
     .help = "import: the number of users of the matrix, if the list of items does "
             "not have it"},
    {.name = "precision",
     .type = OPTION_CHOICE,
     AT(precision),
     .value = "f32|f64",
     .help = "precision of weighted entries (default f32); counts are exact"},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     AT(memory_limit),
     .value = "SIZE",
     .help = "the most memory to use, as in 500M or 2GiB (default: the available "
             "memory)"},
    OPTIONS_END};

static int build(console *c, const gram_args *a, const ease_gram_options *o,
                 ease_gram **out)
{
    ease_interactions *x = NULL;
    ease_error err;
    int code = read_data(c, &a->common, &a->reading, a->common.operands[0],
                         a->memory_limit, &x);

    if (!code && ease_gram_build(x, o, out, &err))
        code = fail_with(c, &err);
    ease_interactions_free(x);
    return code;
}

static int merge(console *c, const gram_args *a, const ease_gram_options *o,
                 ease_gram **out)
{
    ease_error err;

    if (a->common.operand_count < 3)
        return usage_error(c, a->common.verb, "merge: two Gram files or more");
    if (ease_gram_merge(a->common.operands + 1, a->common.operand_count - 1, o, out,
                        &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

static int import(console *c, const gram_args *a, const ease_gram_options *o,
                  ease_gram **out)
{
    ease_error err;

    if (a->common.operand_count < 2)
        return usage_error(c, a->common.verb, "import: a file or more");
    if (ease_gram_import(a->common.operands + 1, a->common.operand_count - 1, a->items,
                         a->users ? a->users : -1, o, out, &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

typedef int (*maker)(console *c, const gram_args *a, const ease_gram_options *o,
                     ease_gram **out);

static maker maker_of(const gram_args *a)
{
    const char *word = a->common.operands[0];

    return strcmp(word, "merge") == 0    ? merge
           : strcmp(word, "import") == 0 ? import
                                         : build;
}

static int check(console *c, const gram_args *a, maker make)
{
    const verb *v = a->common.verb;
    int code;

    if (make == build && a->common.operand_count > 1)
        return usage_error(c, v, "one argument too many: '%s'", a->common.operands[1]);
    if (make != build && !reading_is_default(&a->reading))
        return usage_error(c, v, "options for reading DATA do not apply to %s",
                           a->common.operands[0]);
    if (make != import && (a->items || a->users))
        return usage_error(c, v, "--items and --users belong to import");
    if (!sql_is_default(&a->sql))
        return usage_error(c, v, "options for SQL belong to sql");
    if (!a->output)
        return usage_error(c, v, "--output FILE is required");
    code = check_output_file(c, a->output);
    /* A merge may replace one of its inputs: all are read before. */
    for (int i = 0; !code && make != merge && i < a->common.operand_count; i++)
        code = check_differs(c, a->output, a->common.operands[i]);
    for (int i = 1; !code && make == import && i < a->common.operand_count; i++)
        code = check_differs_parts(c, a->output, a->common.operands[i]);
    if (!code && format_of(&a->common) != OUTPUT_TEXT)
        code = check_outputs_differ(c, a->output, "-");
    return code ? code : check_differs(c, a->output, a->items);
}

static int run_sql(console *c, const gram_args *a)
{
    const verb *v = a->common.verb;

    if (a->common.operand_count > 1)
        return usage_error(c, v, "one argument too many: '%s'", a->common.operands[1]);
    if (a->output || a->items || a->users || a->memory_limit || a->precision ||
        !reading_is_default(&a->reading))
        return usage_error(c, v, "sql prints to standard output, and reads no data");
    return print_sql(c, v, &a->sql);
}

static void report_gram(console *c, const gram_args *a, const ease_gram *g,
                        double seconds)
{
    ease_gram_info info = {.size = sizeof(info)};
    size_t bytes = file_bytes(a->output);
    char took[NUMBER_CHARS], size[NUMBER_CHARS];
    output_format format = format_of(&a->common);
    report r;

    ease_gram_describe(g, &info);
    note_gram(c, a->output, &info);
    note(c, "done in %s, wrote %s, %s", format_seconds(took, sizeof(took), seconds),
         a->output, format_bytes(size, sizeof(size), bytes));
    if (format == OUTPUT_TEXT)
        return; /* the notes have said it */
    r = report_begin(format);
    report_count(&r, "users", "", info.users);
    report_count(&r, "items", "", info.items);
    report_count(&r, "interactions", "", info.interactions);
    report_bool(&r, "weighted", "", info.weighted);
    report_seconds(&r, "seconds", "", seconds);
    report_bytes(&r, "bytes", "", bytes);
    report_text(&r, "path", "", a->output);
    report_end(&r);
}

static int run(console *c, void *args)
{
    const gram_args *a = args;
    maker make = maker_of(a);
    double began = seconds_now();
    ease_gram_options o;
    ease_gram *g = NULL;
    ease_error err;
    int code;

    if (strcmp(a->common.operands[0], "sql") == 0)
        return run_sql(c, a);
    code = check(c, a, make);
    if (code)
        return code;
    ease_gram_options_init(&o);
    o.precision = (ease_precision)a->precision;
    o.threads = (int)a->common.threads;
    o.memory_limit = a->memory_limit;
    o.hooks = console_hooks(c);
    code = make(c, a, &o, &g);
    if (!code && ease_gram_save(g, a->output, o.hooks, &err))
        code = fail_with(c, &err);
    phase_end(c, "writing the Gram matrix");
    if (!code)
        report_gram(c, a, g, seconds_now() - began);
    ease_gram_free(g);
    return code;
}

static const option_group groups[] = {
    {"Gram matrix", gram_options, 0}, {"SQL", sql_options, offsetof(gram_args, sql)},
    READING_GROUP(gram_args),         FORMAT_GROUP(output_options),
    {"General", threads_options, 0},  GROUPS_END};
static const operand operands[] = {
    {"DATA", "interactions, as for train; - for standard input"},
    {"A.gram B.gram ...", "Gram files of disjoint sets of users"},
    {"SHARD ...", "rows of item,item,number (either triangle or both), in a file or a "
                  "directory of part files; or one square .npy"},
    {NULL, NULL}};
static const char *const usage[] = {
    "DATA -o FILE.gram [options]", "merge A.gram B.gram ... -o FILE.gram",
    "import SHARD ... -o FILE.gram [--items FILE] [--users U]",
    "sql --engine NAME --table T --user U --item I [options]", NULL};
static const char *const examples[] = {
    "monday.csv -o monday.gram",
    "tuesday.csv -o tuesday.gram",
    "merge monday.gram tuesday.gram -o all.gram",
    "import pairs.csv -o counts.gram --items ids.txt --users 5",
    "sql --engine postgres --table shop.orders --user customer --item sku",
    NULL};

const verb verb_gram = {
    .name = "gram",
    .summary = "compute, merge and import Gram matrices; print SQL that computes one",
    .usage = usage,
    .about =
        "A Gram file contains X'X, the column sums and the number of users, which "
        "is all that training ease needs, and all other models that ease help models "
        "lists with a lambda, except for weights of users. Counts of disjoint sets "
        "of users merge exactly; merging a file with itself is refused.\n\n"
        "A database engine can compute X'X: sql prints the SQL for it. import reads "
        "the files that this SQL writes, and checks that no shard is missing or "
        "occurs twice.\n\n"
        "For a data file that is named merge, import or sql, write ./merge, "
        "./import or ./sql.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .words = "merge import sql",
    .least_operands = 1,
    .most_operands = -1,
    .size = sizeof(gram_args),
    .defaults = &(const gram_args){.reading = READING_DEFAULTS, .sql = SQL_DEFAULTS},
    .run = run,
};
