#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planning.h"
#include "renewing.h"
#include "updating.h"
#include "verbs.h"

typedef struct update_args {
    common_args common;
    reading_args reading;
    target_args target;
    renewing_args anew;
    const char *was, *now;
} update_args;

#define AT(member) .at = offsetof(update_args, member)

static const option update_options[] = {
    {.name = "was",
     .type = OPTION_PATH,
     AT(was),
     .value = "OLD",
     .help = "the interactions of users who leave, and of users who change, as they "
             "were: all interactions of each of these users"},
    {.name = "now",
     .type = OPTION_PATH,
     AT(now),
     .value = "NEW",
     .help = "the interactions of users who come, and of users who change, as they are "
             "now"},
    {.name = "data",
     .type = OPTION_PATH,
     AT(anew.data),
     .value = "DATA",
     .help = "all interactions as they are now, with the change: the change is checked "
             "against them, and the model is solved anew from them if that is faster, "
             "or if the update is not exact enough"},
    {.name = "gram",
     .type = OPTION_PATH,
     AT(anew.gram),
     .value = "FILE",
     .help = "the same as a Gram file, instead of --data"},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     AT(anew.memory_limit),
     .value = "SIZE",
     .help = "the most memory to use, as in 500M or 2GiB (default: the available "
             "memory)"},
    {.name = "workdir",
     .type = OPTION_PATH,
     AT(anew.workdir),
     .value = "DIR",
     .help = "for solving anew: if the matrix does not fit into memory, keep it in a "
             "temporary file in this directory"},
    BACKEND_OPTION(offsetof(update_args, anew.backend)),
    DEVICE_MEMORY_OPTION(offsetof(update_args, anew.device_memory)),
    OPTIONS_END};

/* An update in progress. */
typedef struct work {
    ease_model *model, *made;
    ease_interactions *was, *now;
    renewal anew;
    model_claim claim;
    double residual; /* before */
    ease_update_plan plan;
    ease_update_info info;
    bool solved;
    double seconds;
} work;

/* ---- checks that need no data ---------------------------------------------------- */

static int check_input(console *c, const update_args *a, const char *path, int *streams)
{
    if (!path)
        return EXIT_DONE;
    *streams += strcmp(path, "-") == 0;
    if (*streams > 1)
        return usage_error(c, a->common.verb, "only one file can be standard input");
    return check_differs(c, target_path(&a->common, &a->target), path);
}

static int check_inputs(console *c, const update_args *a)
{
    const char *const paths[] = {a->was, a->now, a->anew.data, a->anew.gram};
    int streams = 0, code = EXIT_DONE;

    for (size_t i = 0; !code && i < sizeof(paths) / sizeof(paths[0]); i++)
        code = check_input(c, a, paths[i], &streams);
    return code;
}

static int check(console *c, const update_args *a)
{
    const reading_args *r = &a->reading;
    const verb *v = a->common.verb;
    int code;

    if (!a->was && !a->now)
        return usage_error(c, v, "--was OLD, --now NEW or both are required");
    if (a->anew.data && a->anew.gram)
        return usage_error(c, v, "either --data DATA or --gram FILE, not both");
    if ((a->anew.workdir || a->anew.backend) && !a->anew.data && !a->anew.gram)
        return usage_error(c, v, "--%s is for solving anew, from --data or --gram",
                           a->anew.workdir ? "workdir" : "backend");
    if (r->min_user >= 0 || r->min_item >= 0 || r->one_pass || r->recipe >= 0)
        return usage_error(c, v,
                           "--min-user, --min-item, --one-pass and --recipe need whole "
                           "data sets: leave rare users and items out of OLD and NEW "
                           "beforehand");
    if (!reading_has_fixed_ages(r))
        return usage_error(c, v,
                           "--half-life needs the --until of training: ages would "
                           "count from the newest row of each file");
    code = check_target(c, &a->common, &a->target);
    if (!code)
        code = check_inputs(c, a);
    if (!code && a->anew.workdir)
        code = check_directory(c, a->anew.workdir);
    if (!code && a->anew.backend)
        code = check_backend(c, a->anew.backend);
    return code;
}

/* ---- planning -------------------------------------------------------------------- */

static int read_change(console *c, const update_args *a, work *w)
{
    const struct {
        const char *path;
        ease_interactions **out;
    } sides[] = {{a->was, &w->was}, {a->now, &w->now}};
    int code = EXIT_DONE;

    for (int i = 0; !code && i < 2; i++) {
        if (!sides[i].path)
            continue;
        code = read_data_or_none(c, &a->common, &a->reading, sides[i].path,
                                 a->anew.memory_limit, sides[i].out);
        if (!code && *sides[i].out)
            code = check_weights(c, &a->reading, sides[i].path, w->model);
    }
    return code;
}

/* The number of items after the change. */
static int32_t items_after(const work *w)
{
    return ease_model_items(w->model) + w->info.new_items;
}

static int plan(console *c, const update_args *a, work *w)
{
    ease_error err;

    if (ease_model_describe_change(w->model, w->was, w->now, &w->info, &err))
        return fail_with(c, &err);
    return plan_update(c, &a->common, items_after(w), w->info.rank,
                       a->anew.memory_limit, &w->plan);
}

/* A change that has nothing to add or remove. */
static bool is_empty(const work *w)
{
    return (!w->was && !w->now) || w->info.rank == 0;
}

/* ---- data with the change -------------------------------------------------------- */

/* The number of users after the change; -1: the model does not know it. */
static int64_t users_after(const work *w)
{
    int64_t users = model_info_of(w->model).users;

    if (users < 0)
        return -1;
    for (int64_t u = 0; u < ease_interactions_users(w->was); u++)
        users -= ease_interactions_find_user(
                     w->now, ease_interactions_user_id(w->was, u)) == EASE_NO_USER;
    for (int64_t u = 0; u < ease_interactions_users(w->now); u++)
        users += ease_interactions_find_user(
                     w->was, ease_interactions_user_id(w->now, u)) == EASE_NO_USER;
    return users;
}

/* Fails unless the data, or as much as a Gram file tells of them, are those that the
 * change leads to. */
static int check_source(console *c, const update_args *a, const work *w)
{
    ease_error err;

    if (a->anew.gram) {
        int64_t users = users_after(w), there = w->anew.gram.users;

        if (users < 0 || there < 0 || users == there)
            return EXIT_DONE;
        return fail(c, EXIT_DATA,
                    "%s: it has %lld users, the model after this change %lld: count "
                    "the data with the change again, or leave out --gram",
                    a->anew.gram, (long long)there, (long long)users);
    }
    if (!a->anew.data ||
        !ease_model_check_change(w->model, w->was, w->now, w->anew.data, &err)) {
        phase_end(c, "checking the data");
        return EXIT_DONE;
    }
    if (err.status != EASE_E_DATA)
        return fail_with(c, &err);
    return fail(
        c, EXIT_DATA,
        "%s: %s; give all data with the change, leave out --data, or train anew",
        a->anew.data, err.text);
}

/* ---- the choice ------------------------------------------------------------------ */

/* Seconds that are worth a word about a faster way. */
#define WORTH_SECONDS 1.0

static void note_choice(console *c, const update_args *a, const work *w)
{
    const char *source = a->anew.data ? a->anew.data : a->anew.gram;
    double anew = w->anew.possible ? renewal_seconds(&w->anew) : w->plan.solve_seconds;
    bool hint = anew + WORTH_SECONDS < w->plan.update_seconds;
    char update[NUMBER_CHARS], solve[NUMBER_CHARS], rank[NUMBER_CHARS],
        memory[NUMBER_CHARS];

    format_seconds(update, sizeof(update), w->plan.update_seconds);
    format_seconds(solve, sizeof(solve), anew);
    format_count(rank, sizeof(rank), w->info.rank);
    format_bytes(memory, sizeof(memory), w->plan.peak_bytes);
    if (!w->anew.possible)
        note(c, "plan: update by rank %s, about %s, %s of memory%s%s%s", rank, update,
             memory, hint ? "; training anew would be faster: " : "",
             hint ? renewal_sources(&w->anew) : "", hint ? " allows it" : "");
    else if (!residual_allowed(w->residual))
        note(c, "plan: solve anew from %s, since the model's residual is %.1g", source,
             w->residual);
    else if (!update_fits(&w->plan))
        note(c, "plan: solve anew from %s, since an update needs %s of memory", source,
             memory);
    else if (w->solved)
        note(c, "plan: solve anew from %s, about %s; an update by rank %s takes %s",
             source, solve, rank, update);
    else
        note(c, "plan: update by rank %s, about %s, %s of memory; solving takes %s",
             rank, update, memory, solve);
}

/* Checks the disk for the updated model: without new items it is as large as the old
 * one. */
static int check_update_space(console *c, const update_args *a, const work *w)
{
    size_t bytes = file_bytes(a->common.operands[0]);
    ease_plan packed = {.size = sizeof(packed)};
    ease_train_options o;
    ease_error err;

    ease_train_options_init(&o);
    o.lambda = 1; /* any: the size does not depend on it */
    if (w->info.new_items &&
        ease_plan_sizes(0, items_after(w), 0, &o, EASE_STORE_PACKED, &packed, &err))
        return fail_with(c, &err);
    return check_space(c, target_path(&a->common, &a->target),
                       packed.model_bytes > bytes ? packed.model_bytes : bytes);
}

/* Chooses the way that is faster, of those that are possible. */
static int choose(console *c, const update_args *a, work *w)
{
    bool exact = residual_allowed(w->residual);
    char advice[80];

    if (!w->anew.possible && !exact)
        return fail(c, EXIT_NUMERICAL,
                    "%s: the residual of the model is %.1g, at most %.0g is allowed: "
                    "train it again, or give %s",
                    a->common.operands[0], w->residual, RESIDUAL_ALLOWED,
                    renewal_sources(&w->anew));
    snprintf(advice, sizeof(advice), "%s with --workdir DIR needs less",
             renewal_sources(&w->anew));
    if (!w->anew.possible && !update_fits(&w->plan))
        return refuse_update(c, &w->plan, advice);
    if (w->anew.possible)
        w->solved = !exact || !update_fits(&w->plan) ||
                    (w->anew.plan.fits &&
                     renewal_seconds(&w->anew) < w->plan.update_seconds);
    note_choice(c, a, w);
    return w->solved ? check_space(c, target_path(&a->common, &a->target),
                                   w->anew.plan.model_bytes)
                     : check_update_space(c, a, w);
}

/* ---- both ways ------------------------------------------------------------------- */

/* True if the data show that the change is right, so that only rounding can make the
 * update fail. */
static bool is_rounding(const update_args *a, const ease_error *err)
{
    return err->status == EASE_E_ACCURACY ||
           (a->anew.data && err->status == EASE_E_DATA);
}

static int update(console *c, const update_args *a, work *w)
{
    ease_update_options o;
    ease_error err;

    ease_update_options_init(&o);
    o.memory_limit = a->anew.memory_limit;
    o.threads = (int)a->common.threads;
    o.hooks = console_hooks(c);
    if (!ease_model_update(w->model, w->was, w->now, &o, &w->made, &w->info, &err)) {
        phase_end(c, "updating");
        return EXIT_DONE;
    }
    if (!w->anew.possible || !is_rounding(a, &err))
        return fail_with(c, &err);
    warn(c, "%s: solving anew", err.text);
    w->solved = true;
    return EXIT_DONE;
}

static int make(console *c, const update_args *a, work *w)
{
    int code = w->solved ? EXIT_DONE : update(c, a, w);

    if (!code && w->solved)
        code = renewal_solve(c, &a->common, &a->anew, w->model, &w->anew, &w->made);
    if (!code)
        code = save_target(c, &a->common, &a->target, &w->claim, w->made);
    return code;
}

/* ---- reports --------------------------------------------------------------------- */

/* A model knows sums over its users, and not who they are. */
static void note_unverified(console *c, const update_args *a, const work *w)
{
    if (a->anew.data)
        return;
    if (w->info.came)
        note(c, "not verified: that the model does not have the users who come; --data "
                "verifies it");
    if (w->info.left + w->info.changed)
        note(c, "not verified: that the model has these rows of the users who leave or "
                "change; --data verifies it");
}

static void note_result(console *c, const update_args *a, const work *w)
{
    const char *path = target_path(&a->common, &a->target);
    ease_model_info info = model_info_of(w->made);
    char came[NUMBER_CHARS], left[NUMBER_CHARS], changed[NUMBER_CHARS],
        took[NUMBER_CHARS], size[NUMBER_CHARS];

    if (!is_empty(w))
        note(c, "%s users came, %s left, %s changed; %d items are new, %d lost",
             format_count(came, sizeof(came), w->info.came),
             format_count(left, sizeof(left), w->info.left),
             format_count(changed, sizeof(changed), w->info.changed),
             (int)w->info.new_items, (int)w->info.lost_items);
    note(c, "%s in %s, residual %.1g, before %.1g, wrote %s, %s",
         w->solved ? "solved anew" : "updated",
         format_seconds(took, sizeof(took), w->seconds), info.residual, w->residual,
         path, format_bytes(size, sizeof(size), file_bytes(path)));
}

/* `m` is the model that the update leads to. */
static void put_result(console *c, const update_args *a, const work *w,
                       const ease_model *m, const char *path)
{
    ease_model_info info = model_info_of(m);
    bool empty = m == w->model;
    report r = report_begin(format_of(&a->common));

    report_text(&r, "way", "", empty ? "none" : w->solved ? "solve" : "update");
    report_count(&r, "came", "", w->info.came);
    report_count(&r, "left", "", w->info.left);
    report_count(&r, "changed", "", w->info.changed);
    report_count(&r, "same", "", w->info.same);
    report_count(&r, "added", "", w->info.added);
    report_count(&r, "removed", "", w->info.removed);
    report_count(&r, "new_items", "", w->info.new_items);
    report_count(&r, "lost_items", "", w->info.lost_items);
    report_count(&r, "rank", "", w->info.rank);
    report_count(&r, "users", "", info.users);
    report_count(&r, "items", "", info.items);
    report_count(&r, "interactions", "", info.interactions);
    report_real(&r, "lambda", "", info.lambda);
    report_count(&r, "updates", "", info.updates);
    report_real(&r, "residual_before", "", w->residual);
    report_real(&r, "residual", "", info.residual);
    if (!empty && !w->solved)
        report_real(&r, "deviation", "", w->info.deviation);
    report_bool(&r, "data_checked", "", a->anew.data != NULL);
    report_seconds(&r, "predicted_update_seconds", "", w->plan.update_seconds);
    report_seconds(&r, "predicted_solve_seconds", "",
                   w->anew.possible ? renewal_seconds(&w->anew)
                                    : w->plan.solve_seconds);
    report_seconds(&r, "seconds", "", w->seconds);
    report_phases(&r, c);
    report_bytes(&r, "bytes", "", path ? file_bytes(path) : 0);
    report_text(&r, "path", "", path ? path : "");
    report_end(&r);
}

/* Nothing changes: with --output the model is copied. */
static int finish_empty(console *c, const update_args *a, work *w)
{
    bool copied = a->target.output != NULL;
    int code = EXIT_DONE;

    if (copied)
        code = save_target(c, &a->common, &a->target, &w->claim, w->model);
    if (code)
        return code;
    if (copied)
        note(c, "the change is empty: %s is a copy of %s", a->target.output,
             a->common.operands[0]);
    else
        note(c, "the change is empty: %s stays as it is", a->common.operands[0]);
    w->seconds = seconds_now() - w->seconds;
    if (format_of(&a->common) != OUTPUT_TEXT)
        put_result(c, a, w, w->model, copied ? a->target.output : NULL);
    return EXIT_DONE;
}

/* ---- the verb -------------------------------------------------------------------- */

static int prepare(console *c, const update_args *a, work *w)
{
    int code = check(c, a);

    if (!code)
        code = claim_model(c, &a->common, &a->target, &w->claim);
    if (!code)
        code = open_updatable(c, &a->common, &w->model);
    if (!code)
        code = read_change(c, a, w);
    if (!code && (w->was || w->now))
        code = plan(c, a, w);
    return code;
}

static int finish(console *c, const update_args *a, work *w)
{
    int code = measure_residual(c, &a->common, w->model, &w->residual);

    if (!code)
        code = renewal_plan(c, &a->common, &a->reading, &a->anew, w->model, &w->anew);
    if (!code)
        code = check_source(c, a, w);
    if (!code && is_empty(w) && residual_allowed(w->residual))
        return finish_empty(c, a, w);
    if (!code)
        code = choose(c, a, w);
    if (!code)
        code = make(c, a, w);
    if (code)
        return code;
    w->seconds = seconds_now() - w->seconds;
    note_unverified(c, a, w);
    note_result(c, a, w);
    if (format_of(&a->common) != OUTPUT_TEXT)
        put_result(c, a, w, w->made, target_path(&a->common, &a->target));
    return EXIT_DONE;
}

static int run(console *c, void *args)
{
    const update_args *a = args;
    work w = {.claim = CLAIM_NONE,
              .info = {.size = sizeof(w.info)},
              .seconds = seconds_now()};
    int code = prepare(c, a, &w);

    if (!code)
        code = finish(c, a, &w);
    ease_model_free(w.made);
    ease_model_free(w.model);
    ease_interactions_free(w.was);
    ease_interactions_free(w.now);
    renewal_free(&w.anew);
    claim_release(&w.claim);
    return code;
}

static const option_group groups[] = {
    {"Updating", update_options, 0}, TARGET_GROUP(update_args),
    READING_GROUP(update_args),      FORMAT_GROUP(output_options),
    {"General", threads_options, 0}, GROUPS_END};
static const operand operands[] = {
    {"MODEL", "a model that was trained with --updatable"}, {NULL, NULL}};
static const char *const usage[] = {
    "MODEL [--was OLD] [--now NEW] (-o MODEL2 | --in-place) [options]", NULL};
static const char *const examples[] = {
    "living.ease --now came.csv -o next.ease",
    "living.ease --was before.csv --now after.csv --data all.csv -o next.ease",
    "living.ease --was before.csv --now after.csv --in-place", NULL};

#define KEPT "an update keeps the settings of the model: for other ones train it again"
static const refusal refusals[] = {{"lambda", KEPT},
                                   {"model", KEPT},
                                   {"set", KEPT},
                                   {"kind", KEPT},
                                   {"tags", KEPT},
                                   {"nonnegative", KEPT},
                                   {"precision", KEPT},
                                   {"storage",
                                    "updatable models are packed; ease export "
                                    "--storage writes other copies"},
                                   {NULL, NULL}};

const verb verb_update = {
    .name = "update",
    .summary = "change a model by users who come, leave or change",
    .usage = usage,
    .about =
        "Makes the model that training on the changed data would make, without "
        "another inversion of the matrix. Users of OLD alone leave, users of NEW alone "
        "come, and users of both change. Users and items are matched by id; new items "
        "join the model, and items that lose their last user stay, with weights of 0. "
        "OLD, NEW and DATA are read with the same options, which should be those of "
        "training. With --half-life, training and updates need the same --until, later "
        "than all rows: ages count from it.\n\n"
        "The result is checked. If its residual, or the removal of a user, is not "
        "exact enough, the model is solved anew from --data or --gram; without these "
        "the exit code is 5, and nothing is written. A solve is also used if it is "
        "faster than the update, as for a change of many users; both ways make the "
        "same model.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .least_operands = 1,
    .most_operands = 1,
    .size = sizeof(update_args),
    .defaults = &(const update_args){.reading = READING_DEFAULTS},
    .refusals = refusals,
    .run = run,
};
