#include <string.h>

#include "files.h"
#include "verbs.h"

typedef struct export_args {
    common_args common;
    const char *output, *items;
    int64_t top;
} export_args;

#define AT(member) .at = offsetof(export_args, member)

static const option export_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     .required = true,
     AT(output),
     .value = "FILE",
     .help = "the file to write: .npy or .tsv by its suffix, else CSV; - for standard "
             "output; required"},
    {.name = "top",
     .type = OPTION_COUNT,
     AT(top),
     .value = "N",
     .least = 1,
     .most = INT32_MAX,
     .help = "only the N largest weights by magnitude of each row; not for .npy"},
    {.name = "items",
     .type = OPTION_PATH,
     AT(items),
     .value = "FILE",
     .help = "also write the ids of the items, one per line, in the order of the rows"},
    OPTIONS_END};

static int check(console *c, const export_args *a)
{
    const char *ending = strrchr(a->output, '.');
    int code;

    if (a->top && ending && strcmp(ending, ".npy") == 0)
        return usage_error(c, a->common.verb, "--top is not for .npy, which is whole");
    code = check_output(c, a->output);
    if (!code)
        code = check_differs(c, a->output, a->common.operands[0]);
    if (!code && a->items)
        code = check_output_file(c, a->items);
    if (!code && a->items)
        code = check_differs(c, a->items, a->common.operands[0]);
    return code ? code : check_outputs_differ(c, a->output, a->items);
}

static int run(console *c, void *args)
{
    const export_args *a = args;
    const ease_hooks *hooks = console_hooks(c);
    ease_model *m = NULL;
    char size[NUMBER_CHARS];
    ease_error err;
    int code = check(c, a);

    if (!code)
        code = open_model(c, &a->common, a->common.operands[0], NULL, &m);
    if (!code && a->items && ease_model_write_ids(m, a->items, &err))
        code = fail_with(c, &err);
    if (!code && ease_model_export(m, a->output, (int32_t)a->top, hooks, &err)) {
        code = fail_with(c, &err);
        if (a->items)
            warn_written(c, a->items);
    }
    if (!code && strcmp(a->output, "-") != 0)
        note(c, "wrote %s, %s", a->output,
             format_bytes(size, sizeof(size), file_bytes(a->output)));
    ease_model_free(m);
    return code;
}

static const option_group groups[] = {{"Exporting", export_options, 0},
                                      VERIFY_GROUP,
                                      {"General", general_options, 0},
                                      GROUPS_END};
static const operand operands[] = {{"MODEL", "a model file"}, {NULL, NULL}};
static const char *const usage[] = {"MODEL -o FILE [--top N] [--items FILE]", NULL};
static const char *const examples[] = {"model.ease -o weights.npy --items ids.txt",
                                       "model.ease -o weights.csv --top 50",
                                       "model.ease -o - --top 3", NULL};

const verb verb_export = {
    .name = "export",
    .summary = "write the weights for other programs",
    .usage = usage,
    .about = "A .npy file contains the whole matrix B in float32: rows are items of "
             "histories, columns are scored items, and scores are X B. Other files are "
             "tables with rows item,item,weight.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(export_args),
    .run = run,
};
