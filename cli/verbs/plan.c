#include <math.h>

#include "files.h"
#include "planning.h"
#include "tagging.h"
#include "verbs.h"

typedef struct plan_args {
    common_args common;
    reading_args reading;
    tagging_args tagging;
    int64_t items, users, interactions;
    int precision, storage;
    size_t memory_limit;
    const char *workdir, *backend;
} plan_args;

#define AT(member) .at = offsetof(plan_args, member)

static const option plan_options[] = {
    {.name = "items",
     .type = OPTION_COUNT,
     AT(items),
     .value = "N",
     .least = 1,
     .most = INT32_MAX,
     .help = "instead of DATA: the number of items"},
    {.name = "users",
     .type = OPTION_COUNT,
     AT(users),
     .value = "U",
     .help = "with --items: the number of users"},
    {.name = "interactions",
     .type = OPTION_COUNT,
     AT(interactions),
     .value = "M",
     .help = "with --items: the number of interactions"},
    {.name = "precision",
     .type = OPTION_CHOICE,
     AT(precision),
     .value = "f32|f64",
     .help = "precision of the solve (default f32)"},
    {.name = "storage",
     .type = OPTION_CHOICE,
     AT(storage),
     .value = "f32|f16|packed",
     .help = "form of the weights in the file (default f16), for the time of writing"},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     AT(memory_limit),
     .value = "SIZE",
     .help = "the most memory to use, as in 500M or 2GiB (default: the available "
             "memory)"},
    {.name = "workdir",
     .type = OPTION_PATH,
     AT(workdir),
     .value = "DIR",
     .help = "as for train: if the matrix does not fit into memory, plan with a "
             "temporary file in this directory"},
    BACKEND_OPTION(offsetof(plan_args, backend)),
    OPTIONS_END};

/* The data to plan for, by its sizes or as a file. */
typedef struct subject {
    ease_interactions *data;
    int64_t users, interactions;
    int32_t items;
} subject;

static int check(console *c, const plan_args *a)
{
    const verb *v = a->common.verb;

    if (!a->items == !a->common.operand_count)
        return usage_error(c, v, "either DATA or --items N%s",
                           a->items ? ", not both" : " is required");
    if (!a->items && (a->users || a->interactions))
        return usage_error(c, v, "--users and --interactions go with --items");
    if (a->items && !reading_is_default(&a->reading))
        return usage_error(c, v, "options for reading do not go with --items");
    if (a->items && a->tagging.tags)
        return usage_error(c, v, "--tags does not go with --items");
    return check_tagging(c, v, &a->tagging, NULL);
}

static int find_subject(console *c, const plan_args *a, subject *s)
{
    ease_file_kind kind;
    ease_gram_info info = {.size = sizeof(info)};
    ease_error err;
    int code;

    if (a->items) {
        s->items = (int32_t)a->items;
        s->users = a->users;
        s->interactions = a->interactions;
        return EXIT_DONE;
    }
    code = recognize_file(c, a->common.operands[0], &kind);
    if (code)
        return code;
    if (kind != EASE_FILE_GRAM) {
        code = read_data(c, &a->common, &a->reading, a->common.operands[0],
                         a->memory_limit, &s->data);
        return code ? code : check_guess(c, s->data);
    }
    if (!reading_is_default(&a->reading))
        return usage_error(c, a->common.verb,
                           "options for reading do not apply to a Gram file");
    if (ease_gram_peek(a->common.operands[0], &info, &err))
        return fail_with(c, &err);
    s->items = info.items;
    return EXIT_DONE;
}

static int plan_for(console *c, const subject *s, const ease_train_options *o,
                    ease_storage storage, ease_plan *out)
{
    ease_error err;
    ease_status st;

    out->size = sizeof(*out);
    st = s->data ? ease_plan_data(s->data, o, storage, out, &err)
                 : ease_plan_sizes(s->users, s->items, s->interactions, o, storage, out,
                                   &err);
    return st ? fail_with(c, &err) : EXIT_DONE;
}

/* Prints a plan. `by_storage` has one for each storage form; `p` is that of the
 * chosen form. */
static void put_plan(const plan_args *a, const ease_plan *p,
                     const ease_plan *by_storage)
{
    report r = report_begin(format_of(&a->common));

    report_count(&r, "items", "items", p->items);
    report_count(&r, "users", "users", p->users > 0 ? p->users : -1);
    report_count(&r, "interactions", "interactions",
                 p->interactions > 0 ? p->interactions : -1);
    report_bytes(&r, "matrix_bytes", "matrix", p->matrix_bytes);
    report_bytes(&r, "data_bytes", "data", p->data_bytes);
    report_bytes(&r, "peak_bytes", "peak memory", p->peak_bytes);
    if (p->available_bytes)
        report_bytes(&r, "available_bytes", "available", p->available_bytes);
    report_bool(&r, "fits", "fits", p->fits != 0);
    if (a->workdir) {
        report_bytes(&r, "least_bytes", "least memory", p->least_bytes);
        report_bytes(&r, "work_bytes", "work file",
                     p->traffic_bytes ? p->work_bytes : 0);
        report_bytes(&r, "traffic_bytes", "disk traffic", p->traffic_bytes);
    }
    if (p->device_bytes)
        report_bytes(&r, "device_bytes", "device memory", p->device_bytes);
    if (p->device_available_bytes)
        report_bytes(&r, "device_available_bytes", "available there",
                     p->device_available_bytes);
    report_bytes(&r, "model_bytes_f32", "model file, f32",
                 by_storage[EASE_STORE_F32].model_bytes);
    report_bytes(&r, "model_bytes_f16", "            f16",
                 by_storage[EASE_STORE_F16].model_bytes);
    report_bytes(&r, "model_bytes_packed", "         packed",
                 by_storage[EASE_STORE_PACKED].model_bytes);
    report_seconds(&r, "gram_seconds", "counting", p->gram_seconds);
    report_seconds(&r, "solve_seconds", "solving", p->solve_seconds);
    report_seconds(&r, "write_seconds", "writing", p->write_seconds);
    report_real(&r, "gflops", "GFLOP/s", p->flops_a_second / 1e9);
    report_count(&r, "threads", "threads", p->threads);
    report_end(&r);
}

static int run(console *c, void *args)
{
    const plan_args *a = args;
    ease_train_options o;
    ease_plan by_storage[3];
    const ease_plan *p = &by_storage[a->storage];
    subject s = {0};
    ease_tags *tags = NULL;
    int code = check(c, a);

    if (!code)
        code = check_backend(c, a->backend);
    if (!code && a->workdir)
        code = check_directory(c, a->workdir);
    ease_train_options_init(&o);
    o.lambda = 1.0; /* any value: sizes do not depend on it */
    o.precision = (ease_precision)a->precision;
    o.threads = (int)a->common.threads;
    o.memory_limit = a->memory_limit;
    o.workdir = a->workdir;
    o.backend = a->backend;
    o.hooks = console_hooks(c);
    if (!code)
        code = read_tags(c, &a->tagging, a->memory_limit, &tags);
    o.tags = tags;
    o.tag_weight = tag_weight_of(&a->tagging);
    if (!code)
        code = find_subject(c, a, &s);
    for (int i = 0; !code && i < 3; i++)
        code = plan_for(c, &s, &o, (ease_storage)i, &by_storage[i]);
    console_clear(c);
    if (!code) {
        put_plan(a, p, by_storage);
        if (!p->fits)
            code = refuse_plan(c, p, a->workdir != NULL);
    }
    ease_interactions_free(s.data);
    ease_tags_free(tags);
    return code;
}

static const option_group groups[] = {
    {"Planning", plan_options, 0},   READING_GROUP(plan_args),
    TAGGING_GROUP(plan_args),        FORMAT_GROUP(output_options),
    {"General", threads_options, 0}, GROUPS_END};
static const operand operands[] = {
    {"DATA", "interactions, as for train, or a Gram file"}, {NULL, NULL}};
static const char *const usage[] = {
    "DATA [options]", "--items N [--users U --interactions M] [options]", NULL};
static const char *const examples[] = {
    "ratings.csv", "--items 40981 --users 29858 --interactions 1027370",
    "--items 200000 --workdir /var/tmp --memory-limit 8GiB", NULL};

const verb verb_plan = {
    .name = "plan",
    .summary = "estimate the memory, time and disk that training needs",
    .usage = usage,
    .about = "Measures a small matrix product and estimates the rest from it; nothing "
             "large is allocated. The exit code is 4 if training does not fit into "
             "memory.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = 1,
    .size = sizeof(plan_args),
    .defaults = &(const plan_args){.reading = READING_DEFAULTS,
                                   .tagging = TAGGING_DEFAULTS,
                                   .storage = EASE_STORE_F16},
    .run = run,
};
