#include <string.h>

#include "files.h"
#include "verbs.h"

typedef struct export_args {
    common_args common;
    const char *output, *items;
    int64_t top;
    int storage; /* -1: not given */
} export_args;

#define AT(member) .at = offsetof(export_args, member)

static const option export_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     .required = true,
     AT(output),
     .value = "FILE",
     .help = "the file to write: .npy, .npz or .tsv by its suffix, else CSV; - for "
             "standard output; with --storage a model; required"},
    {.name = "storage",
     .type = OPTION_CHOICE,
     AT(storage),
     .value = "f32|f16|packed",
     .help = "write a model file with weights in this form, such as f16 for serving a "
             "model that is updated; copies in f32 and f16 cannot be updated"},
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

static bool is_npy(const char *path)
{
    const char *ending = strrchr(path, '.');

    return ending && strcmp(ending, ".npy") == 0;
}

static int check(console *c, const export_args *a)
{
    bool model = a->storage >= 0;
    int code;

    if (a->top && model)
        return usage_error(c, a->common.verb,
                           "--top is not for models, which are whole");

    if (a->top && is_npy(a->output))
        return usage_error(c, a->common.verb, "--top is not for .npy, which is whole");
    code = model ? check_output_file(c, a->output) : check_output(c, a->output);
    if (!code)
        code = check_differs(c, a->output, a->common.operands[0]);
    if (!code && a->items)
        code = check_output_file(c, a->items);
    if (!code && a->items)
        code = check_differs(c, a->items, a->common.operands[0]);
    return code ? code : check_outputs_differ(c, a->output, a->items);
}

/* Checks that the model can be stored in this form. */
static int check_storage(console *c, const export_args *a, const ease_model *m)
{
    const char *path = a->common.operands[0];
    ease_model_info info = model_info_of(m);

    if (info.storage > EASE_STORE_PACKED)
        return fail(c, EXIT_USAGE,
                    "%s: models of %s have one form (%s): --storage does not apply",
                    path, info.method, ease_storage_name(info.storage));
    if (a->storage == EASE_STORE_PACKED && info.storage != EASE_STORE_PACKED)
        return fail(
            c, EXIT_USAGE,
            "%s: its weights are stored as %s, from which the inverse cannot be "
            "had: train it again with --storage packed",
            path, ease_storage_name(info.storage));
    if (info.updatable && a->storage != EASE_STORE_PACKED)
        note(c, "%s: this copy cannot be updated: keep %s", a->output, path);
    return EXIT_DONE;
}

/* Says how large the whole matrix of a sparse model is before it is written. */
static void note_size(console *c, const export_args *a, const ease_model *m)
{
    char count[NUMBER_CHARS], size[NUMBER_CHARS];
    ease_model_info info = model_info_of(m);
    size_t n = (size_t)info.items;

    if (info.storage != EASE_STORE_SPARSE || !is_npy(a->output))
        return;
    format_count(count, sizeof(count), info.items);
    note(c, "%s: all %s x %s weights, %s: .npz has the nonzero ones alone", a->output,
         count, count, format_bytes(size, sizeof(size), n * n * sizeof(float)));
}

static int put_weights(console *c, const export_args *a, const ease_model *m)
{
    const ease_hooks *hooks = console_hooks(c);
    ease_error err;
    int code = a->storage < 0 ? EXIT_DONE : check_storage(c, a, m);

    if (code)
        return code;
    if (a->storage < 0)
        note_size(c, a, m);
    if (a->storage < 0
            ? ease_model_export(m, a->output, (int32_t)a->top, hooks, &err)
            : ease_model_save(m, a->output, (ease_storage)a->storage, hooks, &err))
        return fail_with(c, &err);
    return EXIT_DONE;
}

static int run(console *c, void *args)
{
    const export_args *a = args;
    ease_model *m = NULL;
    char size[NUMBER_CHARS];
    ease_error err;
    int code = check(c, a);

    if (!code)
        code = open_model(c, &a->common, a->common.operands[0], NULL, &m);
    if (!code && a->items && ease_model_write_ids(m, a->items, &err))
        code = fail_with(c, &err);
    if (!code) {
        code = put_weights(c, a, m);
        if (code && a->items)
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
static const char *const usage[] = {"MODEL -o FILE [--top N] [--items FILE]",
                                    "MODEL -o MODEL2 --storage f32|f16|packed", NULL};
static const char *const examples[] = {
    "model.ease -o weights.npy --items ids.txt",
    "model.ease -o weights.csv --top 50",
    "model.ease -o weights.npz --top 100 --items ids.txt",
    "model.ease -o - --top 3",
    "model.ease -o lean.ease --storage f16",
    NULL};

const verb verb_export = {
    .name = "export",
    .summary = "write the weights for other programs, or a model in another form",
    .usage = usage,
    .about =
        "A .npy file contains the whole matrix B in float32: rows are items of "
        "histories, columns are scored items, and scores are X B. A .npz file "
        "contains the nonzero weights, or with --top the largest, as a sparse "
        "matrix for scipy.sparse.load_npz (CSR): for models of few weights "
        "(ease-sparse, item-item, slim, slim-free), others need --top. Other files "
        "are tables with rows item,item,weight.\n\n"
        "With --storage the file is a model again, with its titles and tags.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(export_args),
    .defaults = &(const export_args){.storage = -1},
    .run = run,
};
