#include <math.h>
#include <signal.h>
#include <string.h>

#include "files.h"
#include "measuring.h"
#include "planning.h"
#include "tagging.h"
#include "tuning.h"
#include "updating.h"
#include "verbs.h"

typedef struct train_args {
    common_args common;
    reading_args reading;
    tagging_args tagging;
    const char *output, *gram, *titles, *model, *settings;
    const char *lambda;   /* NULL: not given */
    int64_t lambda_users; /* -1: not given */
    double lambda_value;  /* NAN: it is chosen */
    int kind, precision, nonnegative, updatable;
    int storage; /* -1: not given */
    size_t memory_limit, device_memory;
    const char *workdir, *backend;
    ease_tags *tag_table; /* of --tags, once they were read */
} train_args;

#define AT(member) .at = offsetof(train_args, member)

static const option model_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     .required = true,
     AT(output),
     .value = "FILE",
     .help = "the model to write; required"},
    {.name = "lambda",
     .type = OPTION_TEXT,
     AT(lambda),
     .value = "L|auto",
     .help = "the regularization, above 0, of ease and other models for which ease "
             "help models lists it. Larger values favour popular items; 100 to 1000 is "
             "typical for ease. auto, the default, chooses it by leaving users out"},
    {.name = "lambda-users",
     .type = OPTION_COUNT,
     AT(lambda_users),
     .value = "N",
     .most = INT32_MAX,
     .help = "choose lambda on a random sample of N users (default 10000; 0: on all)"},
    {.name = "model",
     .type = OPTION_TEXT,
     AT(model),
     .value = "NAME",
     .word = model_name,
     .help = "default ease; ease help models describes them"},
    {.name = "set",
     .type = OPTION_TEXT,
     AT(settings),
     .value = "NAME=VALUE,...",
     .help = "settings of a model other than ease, listed by ease help models"},
    {.name = "gram",
     .type = OPTION_PATH,
     AT(gram),
     .value = "FILE",
     .help = "train from a Gram file instead of DATA"},
    {.name = "kind",
     .type = OPTION_CHOICE,
     AT(kind),
     .value = "counts|covariance|correlation",
     .help = "which Gram matrix to use (default counts; mrf has its own)"},
    {.name = "nonnegative",
     .type = OPTION_FLAG,
     AT(nonnegative),
     .help = "EASE >= 0: weights below 0 become 0; the same as --model ease-nonneg"},
    {.name = "precision",
     .type = OPTION_CHOICE,
     AT(precision),
     .value = "f32|f64",
     .help = "precision of the solve (default f32)"},
    {.name = "storage",
     .type = OPTION_CHOICE,
     AT(storage),
     .value = "f32|f16|packed",
     .help = "form of the weights in the file (default f16): 4, 2 or about 2 bytes "
             "each"},
    {.name = "updatable",
     .type = OPTION_FLAG,
     AT(updatable),
     .help = "store the model, packed, with all that ease update and ease forget need "
             "to change it by users who come, leave or change"},
    {.name = "titles",
     .type = OPTION_PATH,
     AT(titles),
     .value = "FILE",
     .help = "a table of ids and titles, to be stored in the model"},
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
     .help =
         "if the matrix does not fit into memory, keep it in a temporary file in this "
         "directory"},
    BACKEND_OPTION(offsetof(train_args, backend)),
    DEVICE_MEMORY_OPTION(offsetof(train_args, device_memory)),
    OPTIONS_END};

typedef struct outcome {
    ease_tuning *chosen; /* NULL: lambda was given */
    double seconds;
    size_t bytes;
} outcome;

static ease_train_options options_of(console *c, const train_args *a)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.method = method_named(a->model, a->nonnegative);
    o.lambda = a->lambda_value;
    if (a->lambda_users >= 0)
        o.lambda_users = (int)a->lambda_users;
    o.kind = (ease_gram_kind)a->kind;
    o.precision = (ease_precision)a->precision;
    o.threads = (int)a->common.threads;
    o.memory_limit = a->memory_limit;
    o.workdir = a->workdir;
    o.backend = a->backend;
    o.device_memory = a->device_memory;
    o.settings = a->settings;
    o.updatable = a->updatable;
    o.tags = a->tag_table;
    o.tag_weight = tag_weight_of(&a->tagging);
    o.hooks = console_hooks(c);
    return o;
}

/* An option that was given and that the method has no use for; NULL: none. */
static const char *unused_option(const train_args *a, const ease_method_info *m)
{
    if (a->lambda && !m->has_lambda)
        return "--lambda";
    if (a->lambda_users >= 0 && !m->has_lambda)
        return "--lambda-users";
    if (a->nonnegative && !m->nonnegative)
        return "--nonnegative";
    if (m->from_gram)
        return m->kind && a->kind ? "--kind" : NULL;
    return a->gram            ? "--gram"
           : a->backend       ? "--backend"
           : a->device_memory ? "--device-memory"
           : a->kind          ? "--kind"
           : a->precision     ? "--precision"
           : a->workdir       ? "--workdir"
                              : NULL;
}

/* Sets a->lambda_value. */
static int take_lambda(console *c, train_args *a)
{
    int code = lambda_parse(c, a->common.verb, a->lambda ? a->lambda : "auto",
                            &a->lambda_value);

    if (!code && a->lambda_users >= 0 && !isnan(a->lambda_value))
        code = usage_error(c, a->common.verb,
                           "--lambda-users goes with a lambda that is chosen, not with "
                           "--lambda %s",
                           a->lambda);
    return code;
}

static int check_model(console *c, const train_args *a)
{
    const ease_method_info *m = ease_method_find(a->model);
    const char *unused;
    ease_error err;
    int code = check_method(c, a->common.verb, a->model);

    if (code)
        return code;
    if (a->settings && !ease_method_setting(a->model, 0))
        return usage_error(c, a->common.verb, "%s takes no --set", a->model);
    if (ease_method_check(a->model, a->settings, &err))
        return fail_with(c, &err);
    unused = unused_option(a, m);
    if (unused)
        return usage_error(c, a->common.verb, "%s takes no %s", a->model, unused);
    code = check_tagging(c, a->common.verb, &a->tagging, m);
    if (code)
        return code;
    return m->from_gram ? check_backend(c, a->backend) : EXIT_DONE;
}

/* Checks all options together, of which the tags are one: after they were read, and
 * before the data is. */
static int check_options(console *c, const train_args *a)
{
    ease_train_options o = options_of(c, a);
    ease_error err;

    return ease_train_options_check(&o, a->gram != NULL, &err) ? fail_with(c, &err)
                                                               : EXIT_DONE;
}

/* Chooses the storage. */
static int choose_storage(console *c, train_args *a)
{
    if (a->updatable && a->storage >= 0 && a->storage != EASE_STORE_PACKED)
        return usage_error(c, a->common.verb,
                           "--updatable stores the model packed: leave out --storage; "
                           "ease export --storage makes other copies of it");
    if (a->storage < 0)
        a->storage = a->updatable ? EASE_STORE_PACKED : EASE_STORE_F16;
    return EXIT_DONE;
}

/* Checks everything that needs no data. */
static int check(console *c, train_args *a)
{
    int code = take_lambda(c, a);

    if (!code)
        code = check_model(c, a);
    if (code)
        return code;
    if (!a->gram == !a->common.operand_count)
        return usage_error(c, a->common.verb, "either DATA or --gram FILE%s",
                           a->gram ? ", not both" : " is required");
    if (a->gram && !reading_is_default(&a->reading))
        return usage_error(c, a->common.verb,
                           "options for reading DATA do not apply to a Gram file");
    code = check_output_file(c, a->output);
    if (!code)
        code = a->gram ? check_differs(c, a->output, a->gram)
                       : check_differs_all(c, a->output, &a->common);
    if (!code)
        code = check_differs(c, a->output, a->titles);
    if (!code && format_of(&a->common) != OUTPUT_TEXT)
        code = check_outputs_differ(c, a->output, "-");
    if (!code)
        code = check_differs(c, a->output, a->tagging.tags);
    if (!code && a->titles)
        code = check_readable(c, a->titles);
    if (!code && a->workdir)
        code = check_directory(c, a->workdir);
    return code;
}

static void note_ages(console *c, const train_args *a)
{
    if (a->updatable && !reading_has_fixed_ages(&a->reading))
        note(c,
             "--half-life counts ages from the newest row: ease update needs a model "
             "that was trained with --until");
}

/* Where choosing lambda takes a part of the data once more. */
static int refuse_choice(console *c, const ease_plan *p)
{
    char items[NUMBER_CHARS], need[NUMBER_CHARS], have[NUMBER_CHARS],
        data[NUMBER_CHARS];

    return fail(c, EXIT_MEMORY,
                "choosing lambda for %s items takes %s of memory, %s are available; "
                "--lambda L takes %s less",
                format_count(items, sizeof(items), p->items),
                format_bytes(need, sizeof(need), p->least_bytes),
                format_bytes(have, sizeof(have), p->available_bytes),
                format_bytes(data, sizeof(data), p->data_bytes));
}

/* Prints the plan, and refuses it if it does not fit; x is NULL for a Gram file. */
static int accept_plan(console *c, const train_args *a, const ease_interactions *x,
                       const ease_plan *plan)
{
    ease_train_options o = options_of(c, a);
    smaller_plan smaller = {0};

    note_plan(c, plan);
    if (!plan->fits && plan->solves > 1 && !ease_method_find(o.method)->from_gram)
        return refuse_choice(c, plan);
    if (!plan->fits && x)
        smaller = find_smaller(x, plan, &o);
    if (!plan->fits)
        return refuse_plan(c, plan, a->workdir != NULL, &smaller);
    return check_space(c, a->output, plan->model_bytes);
}

/* Lets Ctrl-C end the iterations of a method that has them, not the program: the
 * model so far is used. A second one ends the program, and so does SIGTERM at any
 * time. */
static int heed_signals(console *c)
{
    if (signals_caught() == SIGTERM)
        return fail_interrupted(c);
    if (signals_caught())
        signals_forget();
    return EXIT_DONE;
}

/* Trains, with a lambda that is given or chosen. */
static int train_on(console *c, const ease_interactions *x, const ease_train_options *o,
                    outcome *did, ease_model **out)
{
    bool chosen = ease_method_find(o->method)->has_lambda && isnan(o->lambda);
    int code = chosen ? choose_lambda(c, x, o, &did->chosen) : EXIT_DONE;
    ease_error err;
    ease_status status;

    if (code)
        return code;
    status = chosen ? ease_tuning_train(did->chosen, o->hooks, out, &err)
                    : ease_train(x, o, out, &err);
    return status ? fail_with(c, &err) : EXIT_DONE;
}

static int train_data(console *c, const train_args *a, outcome *did, ease_model **out)
{
    ease_train_options o = options_of(c, a);
    ease_interactions *x = NULL;
    ease_plan plan = {.size = sizeof(plan)};
    ease_error err;
    int code = read_data(c, &a->common, &a->reading, a->common.operands[0],
                         a->memory_limit, &x);

    if (!code)
        code = check_guess(c, x);
    if (!code && ease_method_find(o.method)->planned) {
        if (ease_plan_data(x, &o, (ease_storage)a->storage, &plan, &err))
            code = fail_with(c, &err);
        else
            code = accept_plan(c, a, x, &plan);
        phase_end(c, "planning");
    }
    if (!code)
        code = train_on(c, x, &o, did, out);
    if (!code && ease_method_find(o.method)->rounds)
        code = heed_signals(c);
    ease_interactions_free(x);
    return code;
}

static int train_gram(console *c, const train_args *a, ease_model **out)
{
    ease_train_options o = options_of(c, a);
    ease_gram_info info = {.size = sizeof(info)};
    ease_plan plan = {.size = sizeof(plan)};
    ease_error err;
    int code;

    if (ease_gram_peek(a->gram, &info, &err))
        return fail_with(c, &err);
    if (info.wide) /* float64 is not converted */
        o.precision = EASE_F64;
    if (ease_plan_sizes(0, info.items, 0, &o, (ease_storage)a->storage, &plan, &err))
        return fail_with(c, &err);
    phase_end(c, "planning");
    note_gram(c, a->gram, &info);
    code = accept_plan(c, a, NULL, &plan);
    if (!code && ease_train_gram_file(a->gram, &o, out, &err))
        code = fail_with(c, &err);
    return code;
}

static int add_titles(console *c, const train_args *a, ease_model *m)
{
    char matched[NUMBER_CHARS], items[NUMBER_CHARS];
    ease_error err;
    int32_t count;

    if (!a->titles)
        return EXIT_DONE;
    if (ease_model_read_titles(m, a->titles, &count, &err))
        return fail_with(c, &err);
    note(c, "%s: titles for %s of %s items", a->titles,
         format_count(matched, sizeof(matched), count),
         format_count(items, sizeof(items), ease_model_items(m)));
    return EXIT_DONE;
}

static void report_model(console *c, const train_args *a, const ease_model *m,
                         const outcome *did)
{
    ease_model_info info = {.size = sizeof(info)};
    const ease_method_info *method = ease_model_method(m);
    char took[NUMBER_CHARS], size[NUMBER_CHARS];
    output_format format = format_of(&a->common);
    report r;

    ease_model_describe(m, &info);
    format_seconds(took, sizeof(took), did->seconds);
    format_bytes(size, sizeof(size), did->bytes);
    if (!method->from_gram)
        note(c, "trained in %s, wrote %s, %s", took, a->output, size);
    else
        note(c, "trained in %s, residual %.1g, wrote %s, %s", took, info.residual,
             a->output, size);
    if (format == OUTPUT_TEXT)
        return; /* the notes have said it */
    r = report_begin(format);
    report_text(&r, "method", "", info.method);
    report_count(&r, "users", "", info.users);
    report_count(&r, "items", "", info.items);
    report_count(&r, "interactions", "", info.interactions);
    if (method->has_lambda)
        report_real(&r, "lambda", "", info.lambda);
    if (did->chosen && format == OUTPUT_JSON)
        json_trials(&r.json, did->chosen);
    if (info.settings[0] || !method->has_lambda)
        report_text(&r, "settings", "", info.settings);
    if (method->from_gram) {
        report_text(&r, "kind", "", name_of_kind(info.kind));
        report_text(&r, "precision", "", name_of_precision(info.precision));
        report_text(&r, "storage", "", ease_storage_name((ease_storage)a->storage));
        report_real(&r, "residual", "", info.residual);
    } else {
        report_text(&r, "storage", "", ease_storage_name(info.storage));
    }
    report_seconds(&r, "seconds", "", did->seconds);
    report_phases(&r, c);
    report_bytes(&r, "bytes", "", did->bytes);
    report_text(&r, "path", "", a->output);
    report_end(&r);
}

static int run(console *c, void *args)
{
    train_args *a = args;
    const ease_hooks *hooks = console_hooks(c);
    ease_model *m = NULL;
    outcome did = {.seconds = seconds_now()};
    ease_error err;
    int code = choose_storage(c, a);

    reading_several(&a->reading, &a->common);
    if (!code)
        code = check(c, a);
    if (!code)
        code = read_tags(c, &a->tagging, a->memory_limit, &a->tag_table);
    if (!code)
        code = check_options(c, a);
    if (!code)
        note_ages(c, a);
    if (!code)
        code = a->gram ? train_gram(c, a, &m) : train_data(c, a, &did, &m);
    if (!code && a->updatable)
        code = check_solved(c, &a->common, m);
    if (!code)
        code = add_titles(c, a, m);
    if (!code && ease_model_save(m, a->output, (ease_storage)a->storage, hooks, &err))
        code = fail_with(c, &err);
    phase_end(c, "writing");
    if (!code) {
        did.seconds = seconds_now() - did.seconds;
        did.bytes = file_bytes(a->output);
        report_model(c, a, m, &did);
    }
    ease_tuning_free(did.chosen);
    ease_model_free(m);
    ease_tags_free(a->tag_table);
    return code;
}

static const option_group groups[] = {
    {"Training", model_options, 0},  TAGGING_GROUP(train_args),
    READING_GROUP(train_args),       FORMAT_GROUP(output_options),
    {"General", threads_options, 0}, GROUPS_END};
static const operand operands[] = {
    {"DATA", "interactions, in a format of ease help formats, plain or compressed by "
             "gzip, zstd or zip; a directory with MovieLens' ratings.csv or "
             "ratings.dat, train_triplets.txt, training_set or combined_data_1.txt to "
             "_4.txt; - for standard input. Several files, a directory of parts, or a "
             "pattern such as 'part-*.csv.gz' are read as one"},
    {NULL, NULL}};
static const char *const usage[] = {"DATA... -o MODEL [--lambda L|auto] [options]",
                                    "--gram FILE.gram -o MODEL --lambda L [options]",
                                    NULL};
static const char *const examples[] = {
    "ratings.csv -o model.ease",
    "ratings.csv -o model.ease --lambda 500",
    "events.jsonl -o model.ease --columns user.id,item.sku,,ts --half-life 90",
    "'events/part-*.csv.gz' -o model.ease --since 2024-01-01",
    "ratings.csv -o model.ease --lambda 300 --min-rating 4 --titles items.csv",
    "--gram all.gram -o model.ease --lambda 500 --kind correlation",
    "ratings.csv -o model.ease --lambda 500 --workdir /var/tmp",
    "ratings.csv -o living.ease --lambda 500 --updatable",
    "ratings.csv -o model.ease --lambda 500 --tags movies.csv --tag-split '|'",
    "ratings.csv -o model.ease --model edlae --lambda 200 --set dropout=0.3",
    "ratings.csv -o popular.ease --model popularity",
    "ratings.csv -o near.ease --model item-item --set neighbours=50,shrinkage=10",
    "ratings.csv -o factors.ease --model wmf --set rank=8,alpha=3",
    NULL};

const verb verb_train = {
    .name = "train",
    .summary = "learn a model from interactions or from a Gram file",
    .usage = usage,
    .about =
        "Reads interactions of users with items, reports the memory, time and "
        "disk that training needs, and writes the model to one file. An existing "
        "file is replaced only by a complete one.\n\n"
        "Without --lambda it is chosen: for each lambda of a search, users are left "
        "out one after the other, and the metric ndcg@100 says how well the model "
        "without a user ranks a fifth of this user's items from the rest of them. "
        "Each lambda is one solve, and about ten are tried. This takes the "
        "interactions, so that --gram needs --lambda, and so do models that depend "
        "on a user in other ways: ease-nonneg, relatives of ease that scale "
        "weights by the popularity of items, --kind correlation, and --tags. For "
        "ease-sparse, whose models cannot leave users out, a tenth of the users is "
        "held out, and for each lambda a model is trained on the others.\n\n"
        "With --tags the model also learns which items have tags in common, and "
        "knows items that only have tags. Of a pair of an item and a tag that "
        "occurs several times the weights are added. A tag written as "
        "KIND=VALUE, such as author=Ann, sets its own kind.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = -1,
    .size = sizeof(train_args),
    .defaults = &(const train_args){.reading = READING_DEFAULTS,
                                    .lambda_users = -1,
                                    .tagging = TAGGING_DEFAULTS,
                                    .storage = -1,
                                    .model = "ease"},
    .run = run,
};
