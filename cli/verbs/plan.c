#include <math.h>

#include "files.h"
#include "nodeplan.h"
#include "planning.h"
#include "tagging.h"
#include "updating.h"
#include "verbs.h"

typedef struct plan_args {
    common_args common;
    reading_args reading;
    tagging_args tagging;
    int64_t items, users, interactions, update, nodes;
    int precision, storage;
    size_t memory_limit, device_memory, network;
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
    {.name = "update",
     .type = OPTION_COUNT,
     AT(update),
     .value = "K",
     .least = 1,
     .most = INT32_MAX,
     .help = "also plan an update of the model by K users who come or leave (one who "
             "changes counts twice), and say whether solving anew is faster"},
    {.name = "nodes",
     .type = OPTION_COUNT,
     AT(nodes),
     .value = "P",
     .least = 1,
     .most = 100000,
     .help = "also plan ease-cluster on P machines like this one, with one process on "
             "each: the memory of a machine, the bytes that all of them send"},
    {.name = "network",
     .type = OPTION_SIZE,
     AT(network),
     .value = "SIZE",
     .help = "with --nodes: the bytes that a machine sends in a second (default 1.25G, "
             "which is 10 Gbit/s)"},
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
    DEVICE_MEMORY_OPTION(offsetof(plan_args, device_memory)),
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
    if (a->network && !a->nodes)
        return usage_error(c, v, "--network goes with --nodes");
    if (a->nodes && (a->update || a->workdir || a->backend))
        return usage_error(c, v, "--nodes does not go with --%s",
                           a->update    ? "update"
                           : a->workdir ? "workdir"
                                        : "backend");
    if (a->items && !reading_is_default(&a->reading))
        return usage_error(c, v, "options for reading do not go with --items");
    if (a->items && a->tagging.tags)
        return usage_error(c, v, "--tags does not go with --items");
    return check_tagging(c, v, &a->tagging, NULL);
}

/* The sizes of the data that a model was trained on. */
static int find_model(console *c, const plan_args *a, subject *s)
{
    const char *path = a->common.operands[0];
    ease_model *m = NULL;
    ease_model_info info;
    int code;

    if (!a->update)
        return usage_error(c, a->common.verb, "%s: a model is planned with --update K",
                           path);
    if (a->tagging.tags)
        return usage_error(c, a->common.verb, "--tags does not go with a model");
    code = open_model(c, &a->common, path, NULL, &m);
    info = model_info_of(m);
    if (!code && !info.updatable)
        code = refuse_fixed(c, path, m);
    s->items = info.items;
    s->users = info.users > 0 ? info.users : 0;
    s->interactions = info.interactions > 0 ? info.interactions : 0;
    ease_model_free(m);
    return code;
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
    if (kind == EASE_FILE_OTHER) {
        code = read_data(c, &a->common, &a->reading, a->common.operands[0],
                         a->memory_limit, &s->data);
        return code ? code : check_guess(c, s->data);
    }
    if (a->reading.more)
        return usage_error(c, a->common.verb, "one argument too many: '%s'",
                           a->reading.more[0]);
    if (!reading_is_default(&a->reading))
        return usage_error(c, a->common.verb,
                           "options for reading do not apply to a %s",
                           kind == EASE_FILE_MODEL ? "model" : "Gram file");
    if (kind == EASE_FILE_MODEL)
        return find_model(c, a, s);
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

/* The way that ease update would choose if it had the data. */
static const char *choice_of(const ease_plan *p, const ease_update_plan *u)
{
    bool faster = p->gram_seconds + p->solve_seconds < u->update_seconds;

    if (update_fits(u) && p->fits)
        return faster ? "solve" : "update";
    return update_fits(u) ? "update" : p->fits ? "solve" : "none";
}

static void put_update(report *r, const plan_args *a, const ease_plan *p,
                       const ease_update_plan *u)
{
    report_count(r, "update_users", "update by", a->update);
    report_seconds(r, "update_seconds", "  updating", u->update_seconds);
    report_bytes(r, "update_peak_bytes", "  peak memory", u->peak_bytes);
    report_bool(r, "update_fits", "  fits", update_fits(u));
    report_seconds(r, "solve_anew_seconds", "  solving anew",
                   p->gram_seconds + p->solve_seconds);
    report_text(r, "choice", "  choice", choice_of(p, u));
}

/* Plans for a lambda that train chooses. False for a Gram file and tags, which need a
 * given one. */
static bool plan_chosen(const subject *s, const ease_train_options *given,
                        ease_storage storage, ease_plan *out)
{
    ease_train_options o = *given;

    o.lambda = (double)NAN;
    out->size = sizeof(*out);
    if (!s->data && s->users == 0)
        return false;
    return s->data ? ease_plan_data(s->data, &o, storage, out, NULL) == EASE_OK
                   : ease_plan_sizes(s->users, s->items, s->interactions, &o, storage,
                                     out, NULL) == EASE_OK;
}

static void put_chosen(report *r, const ease_plan *p)
{
    report_count(r, "auto_solves", "auto, solves", p->solves);
    report_seconds(r, "auto_solve_seconds", "  solving", p->solve_seconds);
    report_bytes(r, "auto_peak_bytes", "  peak memory", p->peak_bytes);
}

/* The model for many items; with few it may need more. */
static void put_smaller(report *r, const smaller_plan *s)
{
    const ease_plan *p = &s->plan;

    if (!s->method)
        return;
    report_text(r, "smaller_model", "other model", s->method);
    report_bytes(r, "smaller_peak_bytes", "  peak memory", p->peak_bytes);
    report_bytes(r, "smaller_least_bytes", "  least memory", p->least_bytes);
    report_bytes(r, "smaller_model_bytes", "  model file", p->model_bytes);
    report_seconds(r, "smaller_seconds", "  training",
                   p->gram_seconds + p->solve_seconds);
    report_bool(r, "smaller_fits", "  fits", p->fits != 0);
}

static node_plan nodes_of(const plan_args *a, const ease_plan *p)
{
    double network = a->network ? (double)a->network : 1.25e9;

    return plan_nodes(p, a->nodes, a->precision == EASE_F64 ? 8 : 4, network);
}

static void put_nodes(report *r, const plan_args *a, const ease_plan *p)
{
    node_plan n = nodes_of(a, p);

    report_count(r, "nodes", "nodes", n.nodes);
    report_count(r, "tile_edge", "  tile edge", p->tile_edge);
    report_bytes(r, "node_peak_bytes", "  peak memory", n.memory_bytes);
    report_bool(r, "node_fits", "  fits", n.fits);
    report_bytes(r, "network_bytes", "  sent by all", n.sent_bytes);
    report_seconds(r, "node_solve_seconds", "  solving", n.solve_seconds);
    report_seconds(r, "node_compute_seconds", "    computing", n.core_seconds);
    report_seconds(r, "node_network_seconds", "    network", n.network_seconds);
    report_seconds(r, "node_chain_seconds", "    chain", n.chain_seconds);
}

/* Prints a plan. `by_storage` has one for each storage form; `p` is that of the
 * chosen form; `chosen` is for a lambda that train chooses, or NULL. */
static void put_plan(const plan_args *a, const ease_plan *p,
                     const ease_plan *by_storage, const ease_plan *chosen,
                     const smaller_plan *smaller, const ease_update_plan *u)
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
    if (chosen)
        put_chosen(&r, chosen);
    put_smaller(&r, smaller);
    if (a->update)
        put_update(&r, a, p, u);
    if (a->nodes)
        put_nodes(&r, a, p);
    report_end(&r);
}

static int refuse_nodes(console *c, const plan_args *a, const ease_plan *p)
{
    char need[NUMBER_CHARS], have[NUMBER_CHARS];

    format_bytes(need, sizeof(need), nodes_of(a, p).memory_bytes);
    format_bytes(have, sizeof(have), p->available_bytes);
    return fail(c, EXIT_MEMORY,
                "training %lld items on %lld machines needs %s on each: %s are "
                "available: use more machines",
                (long long)p->items, (long long)a->nodes, need, have);
}

static int run(console *c, void *args)
{
    plan_args *a = args;
    ease_train_options o;
    ease_plan by_storage[3], chosen;
    const ease_plan *p = &by_storage[a->storage];
    ease_update_plan update = {.size = sizeof(update)};
    subject s = {0};
    ease_tags *tags = NULL;
    int code = check(c, a);

    reading_several(&a->reading, &a->common);
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
    o.device_memory = a->device_memory;
    o.hooks = console_hooks(c);
    if (!code)
        code = read_tags(c, &a->tagging, a->memory_limit, &tags);
    o.tags = tags;
    o.tag_weight = tag_weight_of(&a->tagging);
    if (!code)
        code = find_subject(c, a, &s);
    for (int i = 0; !code && i < 3; i++)
        code = plan_for(c, &s, &o, (ease_storage)i, &by_storage[i]);
    if (!code && a->update)
        code = plan_update(c, &a->common, p->items, a->update, a->memory_limit,
                           &update);
    console_clear(c);
    if (!code) {
        smaller_plan smaller = find_smaller(s.data, p, &o);
        bool can_choose = !a->update &&
                          plan_chosen(&s, &o, (ease_storage)a->storage, &chosen);

        put_plan(a, p, by_storage, can_choose ? &chosen : NULL, &smaller, &update);
        if (a->nodes)
            code = nodes_of(a, p).fits ? EXIT_DONE : refuse_nodes(c, a, p);
        else if (!p->fits && !(a->update && update_fits(&update)))
            code = refuse_plan(c, p, a->workdir != NULL, &smaller);
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
    {"DATA", "interactions, as for train, or a Gram file; with --update also a model"},
    {NULL, NULL}};
static const char *const usage[] = {
    "DATA... [options]", "--items N [--users U --interactions M] [options]", NULL};
static const char *const examples[] = {
    "ratings.csv",
    "--items 40981 --users 29858 --interactions 1027370",
    "--items 200000 --workdir /var/tmp --memory-limit 8GiB",
    "--items 20108 --users 136677 --interactions 9990030 --update 100",
    "living.ease --update 100",
    "--items 500000 --nodes 32",
    NULL};

const verb verb_plan = {
    .name = "plan",
    .summary = "estimate the memory, time and disk that training needs",
    .usage = usage,
    .about =
        "Measures a small matrix product and estimates the rest from it; nothing "
        "large is allocated. The lines under 'auto, solves' are for a train that "
        "chooses lambda, with several solves; those under 'other model' are for "
        "ease-sparse; all others are for a lambda that is given. The exit code is 4 "
        "if training with a given lambda does not fit into memory; with --update, if "
        "an update does not fit either; with --nodes, if it does not fit into the "
        "memory of machines that have what is available here.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = -1,
    .size = sizeof(plan_args),
    .defaults = &(const plan_args){.reading = READING_DEFAULTS,
                                   .tagging = TAGGING_DEFAULTS,
                                   .storage = EASE_STORE_F16},
    .run = run,
};
