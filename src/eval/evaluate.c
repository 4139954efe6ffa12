/* Evaluation on users with an input and a target, whose lists a model makes from their
 * input. */
#include <string.h>

#include "core/sized.h"
#include "data/interactions.h"
#include "eval/evaluation.h"

typedef struct evaluation {
    ease__evaluation shared;
    ease_interactions *input, *target; /* with the model's item numbers */
    int64_t *held_out;                 /* by user of the target: items to find */
    int64_t *users;                    /* user of the target at each place */
    ease_row *histories;               /* of a batch */
    int64_t *known; /* of a batch: user numbers, for a method of known users */
} evaluation;

void ease_eval_options_defaults(ease_eval_options *o)
{
    static const ease_eval_options defaults = {
        .metrics = "recall@20,recall@50,ndcg@100"};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

static ease_status check_items(const ease_eval_options *o, ease_error *err)
{
    if (o->targets != EASE_ITEMS_ALL && o->targets != EASE_ITEMS_WARM &&
        o->targets != EASE_ITEMS_COLD)
        return ease__fail(err, EASE_E_ARG, "not a value of ease_eval_items: %d",
                          (int)o->targets);
    if (o->among != EASE_ITEMS_ALL && o->among != o->targets)
        return ease__fail(err, EASE_E_ARG,
                          "the items that are ranked: all, or the same kind as the "
                          "targets");
    return EASE_OK;
}

static ease_status take_options(const ease_eval_options *given, ease_eval_options *o,
                                ease_error *err)
{
    ease__ranking_metric metrics[EASE__MAX_METRICS];
    ease_status status = EASE__OPTIONS_TAKE(ease_eval_options, o, given, err);
    int count;

    if (!status)
        status = ease__threads_check(o->threads, err);
    if (!status)
        status = ease__unknown_check(o->unknown, err);
    if (!status)
        status = check_items(o, err);
    if (!status && !o->metrics)
        status = ease__fail(err, EASE_E_ARG, "metrics are required");
    return status ? status : ease__metrics_parse(o->metrics, metrics, &count, err);
}

ease_status ease_eval_options_check(const ease_eval_options *o, ease_error *err)
{
    ease_eval_options used;

    return take_options(o, &used, err);
}

static ease_status no_memory(ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "evaluating");
}

static void evaluation_free(evaluation *e)
{
    ease__evaluation_free(&e->shared);
    ease_interactions_free(e->input);
    ease_interactions_free(e->target);
    ease__free(e->held_out);
    ease__free(e->users);
    ease__free(e->histories);
    ease__free(e->known);
}

/* ---- what is held out ------------------------------------------------------------ */

/* Counts the items that each user has to find, and those of the target by kind.
 * `target` has the unknown items too. */
static void count_held_out(evaluation *e, const ease_interactions *target)
{
    const ease__evaluation *shared = &e->shared;
    ease_report_info *info = &shared->report->info;
    bool missed = shared->o.unknown == EASE_UNKNOWN_MISS;

    for (int64_t u = 0; u < target->users; u++) {
        ease_row known = ease_interactions_row(e->target, u);
        int64_t warm = 0, cold = 0;

        for (int32_t i = 0; i < known.count; i++)
            warm += ease__evaluation_is_of(shared, EASE_ITEMS_WARM, known.items[i]);
        cold = missed ? target->row_ptr[u + 1] - target->row_ptr[u] : known.count;
        cold -= warm;
        info->warm_targets += warm;
        info->cold_targets += cold;
        e->held_out[u] = (shared->o.targets == EASE_ITEMS_COLD ? 0 : warm) +
                         (shared->o.targets == EASE_ITEMS_WARM ? 0 : cold);
    }
}

static void log_unknown(const evaluation *e, const ease_interactions *input,
                        const ease_interactions *target)
{
    const ease_report_info *info = &e->shared.report->info;
    const ease_hooks *hooks = e->shared.o.hooks;

    if (info->unknown_targets && info->targets != EASE_ITEMS_WARM)
        ease__log(
            hooks, 1, "%lld of %lld held-out items are unknown to the model: they %s",
            (long long)info->unknown_targets, (long long)target->nnz,
            info->unknown == EASE_UNKNOWN_DROP ? "are dropped" : "count as misses");
    if (info->unknown_inputs)
        ease__log(
            hooks, 1,
            "%lld of %lld interactions of the input are with items unknown to the "
            "model: they are not used",
            (long long)info->unknown_inputs, (long long)input->nnz);
}

/* Converts input and target to the model's item numbers, and counts what is held out.
 * Unknown items are counted and logged. */
static ease_status align(evaluation *e, const ease_interactions *input,
                         const ease_interactions *target, ease_error *err)
{
    const ease_eval_options *o = &e->shared.o;
    ease_report_info *info = &e->shared.report->info;
    ease_status status = ease_interactions_align(input, e->shared.model, &e->input,
                                                 &info->unknown_inputs, err);

    if (!status)
        status = ease_interactions_align(target, e->shared.model, &e->target,
                                         &info->unknown_targets, err);
    if (status)
        return status;
    if (e->target->nnz == 0)
        return ease__fail(err, EASE_E_DATA, "no user has anything held out%s",
                          target->nnz ? " that the model knows" : "");
    e->held_out = ease__alloc_array((size_t)target->users, sizeof(*e->held_out));
    if (!e->held_out)
        return no_memory(err);
    count_held_out(e, target);
    if ((o->targets == EASE_ITEMS_WARM && info->warm_targets == 0) ||
        (o->targets == EASE_ITEMS_COLD && info->cold_targets == 0))
        return ease__fail(err, EASE_E_DATA, "no user has %s item held out%s",
                          o->targets == EASE_ITEMS_WARM ? "a warm" : "a cold",
                          o->unknown == EASE_UNKNOWN_DROP ? " that the model knows"
                                                          : "");
    log_unknown(e, input, target);
    return EASE_OK;
}

/* ---- users ----------------------------------------------------------------------- */

/* Fails if a method of known users cannot score one of the users, before the work
 * begins. */
static ease_status check_known(const evaluation *e, ease_error *err)
{
    const ease_model *m = e->shared.model;
    const ease_method_info *method = ease_model_method(m);
    const ease_report *r = e->shared.report;
    const char *first = NULL;
    int64_t strangers = 0;

    for (int64_t u = 0; method->known_users && u < r->info.users; u++) {
        const char *id = ease__ids_at(&r->user_ids, u);

        if (ease_model_find_user(m, id) == EASE_NO_USER && !strangers++)
            first = id;
    }
    if (strangers == 0)
        return EASE_OK;
    return ease__fail(err, EASE_E_DATA,
                      "%s scores only the users that it was trained with, and %lld of "
                      "%lld are others, the first of them \"%.100s\": it needs a split "
                      "with the same users in all parts (weak generalization)",
                      method->name, (long long)strangers, (long long)r->info.users,
                      first);
}

/* Collects the users with held-out items. */
static ease_status choose_users(evaluation *e, ease_error *err)
{
    const ease__ids *ids = &e->target->user_ids;
    ease_report_info *info = &e->shared.report->info;
    ease_status status = EASE_OK;

    e->users = ease__alloc_array((size_t)e->target->users, sizeof(*e->users));
    if (!e->users)
        return no_memory(err);
    for (int64_t u = 0; !status && u < e->target->users; u++) {
        if (e->held_out[u] == 0) {
            info->without_target++;
            continue;
        }
        e->users[info->users] = u;
        status = ease__evaluation_add_user(&e->shared, ease__ids_at(ids, u), err);
    }
    for (int64_t u = 0; u < e->input->users; u++) {
        const char *id = ease_interactions_user_id(e->input, u);

        info->without_target += ease__ids_find(ids, id, strlen(id)) < 0;
    }
    return status;
}

static ease_status reserve(evaluation *e, ease_error *err)
{
    ease_status status = ease__evaluation_reserve(&e->shared, INT64_MAX, err);
    size_t most = (size_t)e->shared.most;

    if (status)
        return status;
    e->histories = ease__alloc_array(most, sizeof(*e->histories));
    e->known = ease__alloc_array(most, sizeof(*e->known));
    return e->histories && e->known ? EASE_OK : no_memory(err);
}

/* ---- a batch --------------------------------------------------------------------- */

/* True for an empty history, for which only popular items can be recommended; a
 * method of known users ignores the history. */
static bool is_blank(const evaluation *e, int64_t b)
{
    if (e->known[b] == EASE_NO_USER)
        return e->histories[b].count == 0;
    return ease_model_history(e->shared.model, e->known[b]).count == 0;
}

/* Finds the input and the target of the batch's users. */
static void find_rows(evaluation *e, ease__eval_batch *batch)
{
    ease_report *r = e->shared.report;

    for (int64_t b = 0; b < batch->count; b++) {
        const char *id = ease__ids_at(&r->user_ids, batch->first + b);
        int64_t user = ease__ids_find(&e->input->user_ids, id, strlen(id));
        int64_t wanted = e->users[batch->first + b];

        e->histories[b] = user < 0 ? (ease_row){0}
                                   : ease_interactions_row(e->input, user);
        e->known[b] = ease_model_find_user(e->shared.model, id);
        r->info.without_input += is_blank(e, b);
        batch->wanted[b] = ease_interactions_row(e->target, wanted);
        batch->held_out[b] = e->held_out[wanted];
    }
}

static ease_status make_lists(void *user, ease__eval_batch *batch,
                              const ease_hooks *hooks, ease_error *err)
{
    evaluation *e = user;
    ease_recommend_options o;

    ease_recommend_options_init(&o);
    o.k = e->shared.report->k;
    o.threads = e->shared.o.threads;
    o.users = e->known;
    o.allowed = e->shared.allowed;
    o.hooks = hooks;
    find_rows(e, batch);
    return ease_recommend_many(e->shared.model, e->histories, batch->count, &o,
                               batch->recs, batch->counts, err);
}

static ease_status run(evaluation *e, const ease_interactions *input,
                       const ease_interactions *target, ease_error *err)
{
    ease_status status = ease__evaluation_begin(&e->shared, err);

    if (!status)
        status = align(e, input, target, err);
    if (!status)
        status = choose_users(e, err);
    if (!status)
        status = check_known(e, err);
    if (!status)
        status = reserve(e, err);
    return status ? status : ease__evaluation_run(&e->shared, make_lists, e, err);
}

ease_status ease_evaluate(const ease_model *m, const ease_interactions *input,
                          const ease_interactions *target, const ease_eval_options *o,
                          ease_report **out, ease_error *err)
{
    evaluation e = {.shared = {.model = m}};
    ease_status status;

    if (!m || !input || !target || !out)
        return ease__fail(err, EASE_E_ARG,
                          "a model, an input and a target are required");
    status = take_options(o, &e.shared.o, err);
    if (status)
        return status;
    status = run(&e, input, target, err);
    if (!status) {
        *out = e.shared.report;
        e.shared.report = NULL;
    }
    evaluation_free(&e);
    return status;
}
