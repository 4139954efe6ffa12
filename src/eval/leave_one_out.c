/* Evaluation of a model on its own training data, each user by the model without this
 * user. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "core/sized.h"
#include "data/interactions.h"
#include "eval/evaluation.h"
#include "score/leave_out.h"

/* The share of the progress that the first pass over the inverse takes. */
static const double MEASURING = 0.2;

/* The stream that users are drawn from; those of their targets have the numbers of the
 * users. */
#define USERS_STREAM UINT64_MAX

typedef struct leaving {
    ease__evaluation shared;
    ease_leave_options o;
    const ease_interactions *x;
    ease__leave_out engine;
    int32_t *match; /* the number of the model of each item of x */
    int32_t longest;
    /* The rows of the users that are evaluated, each the input and then the target: */
    int64_t count, interactions;
    int64_t *users; /* their numbers in x */
    int32_t *items;
    float *weights; /* NULL: all ones */
    ease_row *rows;
    int32_t *inputs;
    ease__left_terms *terms;
    ease_hooks hooks;  /* of the part that runs */
    double done, step; /* which it maps to the progress */
} leaving;

static ease_status no_memory(ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "leaving users out");
}

static void leaving_free(leaving *l)
{
    ease__evaluation_free(&l->shared);
    ease__leave_out_free(&l->engine);
    ease__free(l->match);
    ease__free(l->users);
    ease__free(l->items);
    ease__free(l->weights);
    ease__free(l->rows);
    ease__free(l->inputs);
    ease__free(l->terms);
}

/* ---- options --------------------------------------------------------------------- */

void ease_leave_options_defaults(ease_leave_options *o)
{
    static const ease_leave_options defaults = {
        .metrics = "recall@20,recall@50,ndcg@100", .share = 0.2, .seed = 98765};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

static ease_status take_options(const ease_leave_options *given, ease_leave_options *o,
                                ease_error *err)
{
    ease_eval_options same;
    ease_status status = EASE__OPTIONS_TAKE(ease_leave_options, o, given, err);

    if (status)
        return status;
    ease_eval_options_init(&same);
    same.metrics = o->metrics;
    same.threads = o->threads;
    status = ease_eval_options_check(&same, err);
    if (!status && !(o->share > 0 && o->share < 1))
        status = ease__fail(err, EASE_E_ARG,
                            "the share of items that is held out must be between 0 and "
                            "1, not %g",
                            o->share);
    if (!status && o->users < 0)
        status = ease__fail(err, EASE_E_ARG, "a sample of %lld users",
                            (long long)o->users);
    return status;
}

ease_status ease_leave_options_check(const ease_leave_options *o, ease_error *err)
{
    ease_leave_options used;

    return take_options(o, &used, err);
}

/* ---- progress -------------------------------------------------------------------- */

static int report_progress(void *user, const char *stage, double fraction)
{
    const leaving *l = user;

    (void)stage;
    return ease__progress(l->o.hooks, "leaving users out",
                          l->done + l->step * fraction);
}

/* Sets l->hooks for a part of the work. */
static void begin_part(leaving *l, double done, double step)
{
    l->hooks = (ease_hooks){.progress = report_progress, .user = l};
    l->done = done;
    l->step = step;
}

/* ---- drawing users and targets --------------------------------------------------- */

static int32_t length_of(const leaving *l, int64_t user)
{
    return ease_interactions_row(l->x, user).count;
}

/* Draws `left` of `from` places in order, one call for each (Knuth's algorithm S). */
static bool draw_place(ease__random *r, int64_t *left, int64_t from)
{
    bool taken = ease__random_below(r, (uint64_t)from) < (uint64_t)*left;

    *left -= taken;
    return taken;
}

/* Chooses the users to evaluate: those with two items, or a sample of them. */
static ease_status choose_users(leaving *l, ease_error *err)
{
    int64_t candidates = 0, others = 0, left;
    ease__random r;

    for (int64_t u = 0; u < l->x->users; u++) {
        int32_t length = length_of(l, u);

        others += length > 0;
        candidates += length > 1;
        l->longest = length > l->longest ? length : l->longest;
    }
    l->shared.report->info.without_target = l->x->users - candidates;
    if (candidates == 0 || others < 2)
        return ease__fail(err, EASE_E_DATA,
                          "leaving users out needs two users, one of them with two "
                          "items");
    left = l->o.users && l->o.users < candidates ? l->o.users : candidates;
    l->users = ease__alloc_array((size_t)left, sizeof(*l->users));
    if (!l->users)
        return no_memory(err);
    ease__random_seed(&r, l->o.seed, USERS_STREAM);
    for (int64_t u = 0; left > 0; u++)
        if (length_of(l, u) > 1 && draw_place(&r, &left, candidates--)) {
            l->users[l->count++] = u;
            l->interactions += length_of(l, u);
        }
    return EASE_OK;
}

/* An item of a row, by the numbers of the model. */
typedef struct entry {
    int32_t item;
    float weight;
} entry;

static int compare_entries(const void *a, const void *b)
{
    int32_t x = ((const entry *)a)->item, y = ((const entry *)b)->item;

    return (x > y) - (x < y);
}

static void write_entries(const leaving *l, entry *from, int32_t count, int64_t at)
{
    qsort(from, (size_t)count, sizeof(*from), compare_entries);
    for (int32_t i = 0; i < count; i++) {
        l->items[at + i] = from[i].item;
        if (l->weights)
            l->weights[at + i] = from[i].weight;
    }
}

/* Divides the row of user number k, and writes it from place `at` on. `parts` is
 * scratch of two rows. Returns the number of items of the input. */
static int32_t divide_row(const leaving *l, int64_t k, int64_t at, entry *parts)
{
    ease_row row = ease_interactions_row(l->x, l->users[k]);
    entry *input = parts, *target = parts + l->longest;
    int64_t left = (int64_t)(l->o.share * (double)row.count);
    int32_t inputs = 0, targets = 0;
    ease__random r;

    left = left > 0 ? left : 1;
    ease__random_seed(&r, l->o.seed, (uint64_t)l->users[k]);
    for (int32_t i = 0; i < row.count; i++) {
        entry e = {l->match[row.items[i]], row.weights ? row.weights[i] : 1};

        if (draw_place(&r, &left, row.count - i))
            target[targets++] = e;
        else
            input[inputs++] = e;
    }
    write_entries(l, input, inputs, at);
    write_entries(l, target, targets, at + inputs);
    return inputs;
}

/* Divides the rows of all users. */
static ease_status divide_rows(leaving *l, ease_error *err)
{
    size_t users = (size_t)l->count, places = (size_t)l->interactions;
    entry *parts = ease__alloc_array(2 * (size_t)l->longest, sizeof(*parts));
    int64_t at = 0;

    l->items = ease__alloc_array(places, sizeof(*l->items));
    if (l->x->vals)
        l->weights = ease__alloc_array(places, sizeof(*l->weights));
    l->rows = ease__alloc_array(users, sizeof(*l->rows));
    l->inputs = ease__alloc_array(users, sizeof(*l->inputs));
    if (!parts || !l->items || (l->x->vals && !l->weights) || !l->rows || !l->inputs) {
        ease__free(parts);
        return no_memory(err);
    }
    for (int64_t k = 0; k < l->count; k++) {
        l->rows[k] = (ease_row){.items = l->items + at,
                                .weights = l->weights ? l->weights + at : NULL,
                                .count = length_of(l, l->users[k])};
        l->inputs[k] = divide_row(l, k, at, parts);
        at += l->rows[k].count;
    }
    ease__free(parts);
    return EASE_OK;
}

static ease_status match_items(leaving *l, ease_error *err)
{
    l->match = ease__alloc_array((size_t)l->x->items, sizeof(*l->match));
    if (!l->match)
        return no_memory(err);
    for (int32_t i = 0; i < l->x->items; i++)
        l->match[i] = ease_model_find(l->shared.model,
                                      ease_interactions_item_id(l->x, i));
    return EASE_OK;
}

/* ---- memory ---------------------------------------------------------------------- */

/* Checks the memory of all buffers, and sets the number of users that a batch may
 * have. */
static ease_status check_memory(const leaving *l, int64_t *most, ease_error *err)
{
    int32_t n = ease_model_items(l->shared.model), k = l->shared.report->k;
    size_t entry_bytes = sizeof(*l->items) + (l->x->vals ? sizeof(*l->weights) : 0);
    size_t user_bytes = sizeof(*l->users) + sizeof(*l->rows) + sizeof(*l->inputs) +
                        sizeof(*l->terms) + 64; /* the states of a pass, the id */
    size_t fixed = ease__size_add(
        ease__leave_out_bytes(n),
        ease__size_add(ease__size_mul((size_t)l->interactions, entry_bytes),
                       ease__size_mul((size_t)l->count, user_bytes)));
    size_t each = ease__evaluation_user_bytes(k);
    size_t allowed = ease__memory_allowed(l->o.memory_limit, 0);
    size_t least = ease__size_add(fixed, each);

    if (allowed && least > allowed)
        return ease__fail(err, EASE_E_MEMORY_LIMIT,
                          "leaving %lld users out takes %.2f GB beside the model and "
                          "the data, %.2f GB are available",
                          (long long)l->count, (double)least / 1e9,
                          (double)allowed / 1e9);
    *most = allowed ? (int64_t)((allowed - fixed) / each) : INT64_MAX;
    return EASE_OK;
}

/* ---- the terms of users ---------------------------------------------------------- */

static ease_status measure_users(leaving *l, ease_error *err)
{
    const ease_model *m = l->shared.model;
    ease__left_rows all = {l->rows, l->inputs, l->count};
    ease_status status;

    l->terms = ease__alloc_array((size_t)l->count, sizeof(*l->terms));
    if (!l->terms)
        return no_memory(err);
    begin_part(l, 0, MEASURING);
    status = ease__leave_out_new(m, l->longest, l->o.threads, &l->hooks, &l->engine,
                                 err);
    if (!status)
        status = ease__leave_out_measure(&l->engine, &all, &l->hooks, l->terms, err);
    return status;
}

/* Moves the users whose terms can be used to the front, and adds them to the report. */
static ease_status keep_usable(leaving *l, ease_error *err)
{
    ease_report_info *info = &l->shared.report->info;
    ease_status status = EASE_OK;
    int64_t all = l->count, kept = 0;

    for (int64_t k = 0; !status && k < all; k++) {
        if (!ease__left_usable(&l->terms[k]))
            continue;
        l->users[kept] = l->users[k];
        l->rows[kept] = l->rows[k];
        l->inputs[kept] = l->inputs[k];
        l->terms[kept++] = l->terms[k];
        status = ease__evaluation_add_user(
            &l->shared, ease_interactions_user_id(l->x, l->users[kept - 1]), err);
    }
    info->refused = all - kept;
    l->count = kept;
    if (status)
        return status;
    if (kept == 0)
        return ease__fail(err, EASE_E_ACCURACY,
                          "float32 is not enough to leave out any of %lld users: raise "
                          "lambda",
                          (long long)info->refused);
    if (info->refused)
        ease__log(l->o.hooks, 1,
                  "%lld of %lld users are not evaluated: without them the model "
                  "differs too much for float32 (1 - h < 0.03); a larger lambda helps",
                  (long long)info->refused, (long long)all);
    return EASE_OK;
}

/* ---- lists ----------------------------------------------------------------------- */

static ease_row input_of(const leaving *l, int64_t k)
{
    ease_row row = l->rows[k];

    row.count = l->inputs[k];
    return row;
}

static ease_row target_of(const leaving *l, int64_t k)
{
    ease_row row = l->rows[k];
    int32_t inputs = l->inputs[k];

    return (ease_row){.items = row.items + inputs,
                      .weights = row.weights ? row.weights + inputs : NULL,
                      .count = row.count - inputs};
}

/* Counts what a model without each user does not know. */
static void count_unknown(leaving *l)
{
    ease_report_info *info = &l->shared.report->info;
    const double *counts = l->shared.model->living.counts;
    int64_t targets = 0;

    for (int64_t k = 0; k < l->count; k++) {
        ease_row row = l->rows[k];

        for (int32_t i = 0; i < row.count; i++)
            if (counts[row.items[i]] <= 1)
                ++*(i < l->inputs[k] ? &info->unknown_inputs : &info->unknown_targets);
        targets += row.count - l->inputs[k];
        info->without_input += ease__left_unknown(l->shared.model, input_of(l, k));
    }
    info->cold_targets = info->unknown_targets;
    info->warm_targets = targets - info->unknown_targets;
    if (info->unknown_targets)
        ease__log(
            l->o.hooks, 2,
            "%lld of %lld held-out items have no other user: they count as misses",
            (long long)info->unknown_targets, (long long)targets);
}

static ease_status make_lists(void *user, ease__eval_batch *batch,
                              const ease_hooks *hooks, ease_error *err)
{
    leaving *l = user;
    ease__left_rows rows = {l->rows + batch->first, l->inputs + batch->first,
                            batch->count};

    for (int64_t b = 0; b < batch->count; b++) {
        batch->wanted[b] = target_of(l, batch->first + b);
        batch->held_out[b] = batch->wanted[b].count;
    }
    return ease__leave_out_lists(&l->engine, &rows, l->terms + batch->first,
                                 l->shared.report->k, hooks, batch->recs, batch->counts,
                                 err);
}

/* ---- the evaluation -------------------------------------------------------------- */

/* Draws users and their targets, and computes their terms. */
static ease_status prepare(leaving *l, int64_t *most, ease_error *err)
{
    ease_status status = choose_users(l, err);

    if (!status)
        status = check_memory(l, most, err);
    if (!status)
        status = match_items(l, err);
    if (!status)
        status = divide_rows(l, err);
    if (!status)
        status = measure_users(l, err);
    return status ? status : keep_usable(l, err);
}

static ease_status run(leaving *l, ease_error *err)
{
    ease__evaluation *e = &l->shared;
    ease_status status = ease__leave_out_check(e->model, err);
    int64_t most = 0;

    if (!status)
        status = ease_model_check_data(e->model, l->x, err);
    e->o.metrics = l->o.metrics;
    e->o.threads = l->o.threads;
    e->o.hooks = &l->hooks;
    if (!status)
        status = ease__evaluation_begin(e, err);
    if (!status)
        status = prepare(l, &most, err);
    if (!status)
        status = ease__evaluation_reserve(e, most, err);
    if (status)
        return status;
    e->report->info.approximate = l->engine.family.dropout > 0;
    count_unknown(l);
    begin_part(l, MEASURING, 1 - MEASURING);
    return ease__evaluation_run(e, make_lists, l, err);
}

ease_status ease_leave_one_out(const ease_model *m, const ease_interactions *x,
                               const ease_leave_options *o, ease_report **out,
                               ease_error *err)
{
    leaving l = {.shared = {.model = m, .left_out = true}, .x = x};
    ease_status status;

    if (!m || !x || !out)
        return ease__fail(err, EASE_E_ARG, "a model and its data are required");
    ease_eval_options_init(&l.shared.o);
    status = take_options(o, &l.o, err);
    if (!status)
        status = run(&l, err);
    if (!status) {
        *out = l.shared.report;
        l.shared.report = NULL;
    }
    leaving_free(&l);
    return status;
}
