/* Evaluation: makes the lists of all users batch by batch, measures them, and keeps
 * one number for each user and metric. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/csv.h"
#include "core/sized.h"
#include "data/interactions.h"
#include "eval/metrics.h"

/* Limits of a batch. Every batch reads all weights, so it should have many users;
 * its lists should fit into little memory. */
enum { BATCH_USERS = 1 << 15, BATCH_RECS = 1 << 22 };

struct ease_report {
    ease_report_info info;
    ease__ranking_metric metric[EASE__MAX_METRICS];
    ease_metric value[EASE__MAX_METRICS];
    double *by_user; /* metrics x users */
    /* times[m][i]: how often item i was among the best k, for each metric of all
     * lists together; the last array is for the largest k. */
    int64_t *times[EASE__MAX_METRICS + 1];
    int32_t items, k;
    ease__ids user_ids;
};

typedef struct evaluation {
    const ease_model *model;
    ease_interactions *input, *target; /* with the model's item numbers */
    int64_t *held_out;                 /* by user of the target: items to find */
    uint8_t *allowed; /* by item: 1 if it is ranked; NULL: every item is */
    ease_eval_options o;
    ease_report *report;
    int64_t *users;      /* user of the target at each place of the report */
    double *popularity;  /* of each item of the model */
    double known_users;  /* of its training data; NaN: unknown */
    ease_row *tags;      /* of each item; NULL: not needed */
    double *by_tag;      /* threads x tags: scratch of metrics; NULL: not needed */
    int64_t most;        /* users in a batch */
    int64_t first;       /* place of the batch's first user */
    int64_t batch;       /* users in the current batch */
    ease_row *histories; /* most */
    int64_t *known;      /* most: user numbers, for a method of known users */
    ease_rec *recs;      /* most x k */
    int32_t *counts;     /* most */
    bool *hits;          /* most x k */
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
    ease_interactions_free(e->input);
    ease_interactions_free(e->target);
    ease__free(e->held_out);
    ease__free(e->allowed);
    ease__free(e->users);
    ease__free(e->popularity);
    ease__free(e->tags);
    ease__free(e->by_tag);
    ease__free(e->histories);
    ease__free(e->known);
    ease__free(e->recs);
    ease__free(e->counts);
    ease__free(e->hits);
    ease_report_free(e->report);
}

/* True if an item that the model knows is of this kind. */
static bool is_of(const evaluation *e, ease_eval_items kind, int32_t item)
{
    bool cold = e->popularity[item] == 0;

    return kind == EASE_ITEMS_ALL || cold == (kind == EASE_ITEMS_COLD);
}

/* Fails if a method of known users cannot score one of the users, before the work
 * begins. */
static ease_status check_known(const evaluation *e, ease_error *err)
{
    const ease_method_info *method = ease_model_method(e->model);
    const ease_report *r = e->report;
    const char *first = NULL;
    int64_t strangers = 0;

    for (int64_t u = 0; method->known_users && u < r->info.users; u++) {
        const char *id = ease__ids_at(&r->user_ids, u);

        if (ease_model_find_user(e->model, id) == EASE_NO_USER && !strangers++)
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

/* Collects the users with held-out items, and their ids. */
static ease_status choose_users(evaluation *e, ease_error *err)
{
    const ease__ids *ids = &e->target->user_ids;
    ease_report *r = e->report;

    e->users = ease__alloc_array((size_t)e->target->users, sizeof(*e->users));
    if (!e->users)
        return no_memory(err);
    for (int64_t u = 0; u < e->target->users; u++) {
        const char *id = ease__ids_at(ids, u);

        if (e->held_out[u] == 0) {
            r->info.without_target++;
            continue;
        }
        if (ease__ids_add(&r->user_ids, id, strlen(id)) < 0)
            return no_memory(err);
        e->users[r->info.users++] = u;
    }
    for (int64_t u = 0; u < e->input->users; u++) {
        const char *id = ease_interactions_user_id(e->input, u);

        r->info.without_target += ease__ids_find(ids, id, strlen(id)) < 0;
    }
    return EASE_OK;
}

/* True if the popularity of items can be a number of users: it is the sum of values. */
static bool counts_users(const evaluation *e)
{
    for (int32_t i = 0; i < ease_model_items(e->model); i++) {
        double p = ease_model_popularity(e->model, i);

        if (!(p >= 0 && p <= e->known_users && p == floor(p)))
            return false;
    }
    return true;
}

/* Fails if the model lacks what one of the metrics needs. */
static ease_status check_needs(const evaluation *e, ease_error *err)
{
    const ease_report *r = e->report;

    for (int i = 0; i < r->info.metrics; i++) {
        const ease__ranking_metric *m = &r->metric[i];

        if (m->kind->needs_tags && ease_model_tags(e->model) == 0)
            return ease__fail(err, EASE_E_DATA,
                              "%s needs tags of items, which the model does not have: "
                              "train it with tags (--tags)",
                              m->name);
        if (m->kind->needs_users && isnan(e->known_users))
            return ease__fail(err, EASE_E_DATA,
                              "%s needs the number of users of the training data, "
                              "which the model does not know",
                              m->name);
        if (m->kind->needs_users && !counts_users(e))
            return ease__fail(err, EASE_E_DATA,
                              "%s needs the number of users of each item: the model "
                              "learned from values (--weights), whose sums it has",
                              m->name);
    }
    return EASE_OK;
}

/* Checks that the model has what the metrics need, and allocates their scratch. */
static ease_status prepare_metrics(evaluation *e, ease_error *err)
{
    const ease_report *r = e->report;
    ease_model_info info = {.size = sizeof(info)};
    ease_status status;
    bool tagged = false;

    ease_model_describe(e->model, &info);
    e->known_users = info.users > 0 ? (double)info.users : (double)NAN;
    status = check_needs(e, err);
    for (int i = 0; i < r->info.metrics; i++)
        tagged = tagged || r->metric[i].kind->needs_tags;
    if (status || !tagged)
        return status;
    e->by_tag = ease__alloc_zero(ease__size_mul((size_t)ease__threads(e->o.threads),
                                                (size_t)ease_model_tags(e->model)),
                                 sizeof(*e->by_tag));
    e->tags = ease__alloc_array((size_t)info.items, sizeof(*e->tags));
    if (!e->by_tag || !e->tags)
        return no_memory(err);
    for (int32_t i = 0; i < info.items; i++)
        e->tags[i] = ease_model_item_tags(e->model, i);
    return EASE_OK;
}

static ease_status prepare(evaluation *e, ease_error *err)
{
    ease_report *r = e->report;
    size_t lists;

    for (int i = 0; i < r->info.metrics; i++)
        if (r->metric[i].k > r->k)
            r->k = r->metric[i].k;
    e->most = BATCH_RECS / r->k;
    if (e->most > BATCH_USERS)
        e->most = BATCH_USERS;
    if (e->most > r->info.users)
        e->most = r->info.users;
    lists = (size_t)e->most * (size_t)r->k;
    r->by_user = ease__alloc_array(
        ease__size_mul((size_t)r->info.metrics, (size_t)r->info.users),
        sizeof(*r->by_user));
    e->histories = ease__alloc_array((size_t)e->most, sizeof(*e->histories));
    e->known = ease__alloc_array((size_t)e->most, sizeof(*e->known));
    e->recs = ease__alloc_array(lists, sizeof(*e->recs));
    e->counts = ease__alloc_array((size_t)e->most, sizeof(*e->counts));
    e->hits = ease__alloc_array(lists, sizeof(*e->hits));
    for (int i = 0; i <= r->info.metrics; i++) {
        if (i < r->info.metrics && ease__metric_by_user(&r->metric[i]))
            continue;
        r->times[i] = ease__alloc_zero((size_t)r->items, sizeof(*r->times[i]));
        if (!r->times[i])
            return no_memory(err);
    }
    if (!r->by_user || !e->histories || !e->known || !e->recs || !e->counts || !e->hits)
        return no_memory(err);
    return EASE_OK;
}

/* ---- a batch ------------------------------------------------------------------ */

/* True for an empty history, for which only popular items can be recommended; a
 * method of known users ignores the history. */
static bool is_blank(const evaluation *e, int64_t b)
{
    if (e->known[b] == EASE_NO_USER)
        return e->histories[b].count == 0;
    return ease_model_history(e->model, e->known[b]).count == 0;
}

static void find_histories(evaluation *e)
{
    for (int64_t b = 0; b < e->batch; b++) {
        const char *id = ease__ids_at(&e->report->user_ids, e->first + b);
        int64_t user = ease__ids_find(&e->input->user_ids, id, strlen(id));

        e->histories[b] = user < 0 ? (ease_row){0}
                                   : ease_interactions_row(e->input, user);
        e->known[b] = ease_model_find_user(e->model, id);
        e->report->info.without_input += is_blank(e, b);
    }
}

static bool contains(ease_row row, int32_t item)
{
    int32_t low = 0, high = row.count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (row.items[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row.count && row.items[low] == item;
}

/* `by_tag` is scratch of this thread. */
static void measure_user(evaluation *e, int64_t b, double *by_tag)
{
    ease_report *r = e->report;
    int64_t place = e->first + b, user = e->users[place];
    ease_row wanted = ease_interactions_row(e->target, user);
    const ease_rec *recs = e->recs + b * r->k;
    bool *hits = e->hits + b * r->k;

    for (int32_t i = 0; i < e->counts[b]; i++)
        hits[i] = is_of(e, e->o.targets, recs[i].item) &&
                  contains(wanted, recs[i].item);
    for (int i = 0; i < r->info.metrics; i++) {
        const ease__ranking_metric *m = &r->metric[i];
        int32_t best = e->counts[b] < m->k ? e->counts[b] : m->k;
        double *value = &r->by_user[i * r->info.users + place];

        if (m->kind->from_hits)
            *value = ease__metric_value(m, hits, e->counts[b], e->held_out[user]);
        else if (m->kind->from_items)
            *value = m->kind->from_items(&(ease__list){.recs = recs,
                                                       .count = best,
                                                       .popularity = e->popularity,
                                                       .users = e->known_users,
                                                       .tags = e->tags,
                                                       .by_tag = by_tag});
        else
            *value = NAN;
    }
}

static void count_items(const evaluation *e, int32_t k, int64_t *times)
{
    for (int64_t b = 0; b < e->batch; b++)
        for (int32_t i = 0; i < e->counts[b] && i < k; i++)
            times[e->recs[b * e->report->k + i].item]++;
}

/* Maps the progress of a batch to that of the evaluation. */
static int report_progress(void *user, const char *stage, double fraction)
{
    const evaluation *e = user;
    double done = ((double)e->first + fraction * (double)e->batch) /
                  (double)e->report->info.users;

    (void)stage;
    return ease__progress(e->o.hooks, "evaluating", done);
}

static ease_status run_batch(evaluation *e, ease_error *err)
{
    size_t tags = (size_t)ease_model_tags(e->model);
    ease_report *r = e->report;
    ease_hooks hooks = {.progress = report_progress, .user = e};
    ease_recommend_options o;
    ease_status status;

    ease_recommend_options_init(&o);
    o.k = r->k;
    o.threads = e->o.threads;
    o.users = e->known;
    o.allowed = e->allowed;
    o.hooks = &hooks;
    find_histories(e);
    status = ease_recommend_many(e->model, e->histories, e->batch, &o, e->recs,
                                 e->counts, err);
    if (status)
        return status;
#pragma omp parallel num_threads(ease__threads(e->o.threads))
    {
        size_t thread = (size_t)omp_get_thread_num();
        double *by_tag = e->by_tag ? e->by_tag + thread * tags : NULL;

#pragma omp for schedule(dynamic, 64)
        for (int64_t b = 0; b < e->batch; b++)
            measure_user(e, b, by_tag);
    }
    for (int i = 0; i <= r->info.metrics; i++)
        if (r->times[i])
            count_items(e, i < r->info.metrics ? r->metric[i].k : r->k, r->times[i]);
    return EASE_OK;
}

/* ---- all users ---------------------------------------------------------------- */

static ease_metric summarize(const char *name, const double *value, int64_t count)
{
    double mean = 0, square = 0;

    for (int64_t u = 0; u < count; u++)
        mean += value[u];
    mean /= (double)count;
    for (int64_t u = 0; u < count; u++)
        square += (value[u] - mean) * (value[u] - mean);
    return (ease_metric){
        .name = name,
        .mean = mean,
        .standard_error = sqrt(square / (double)count / (double)count)};
}

/* Moves the counts of ranked items to the front, and returns their number. */
static int32_t keep_ranked(const evaluation *e, int64_t *times)
{
    int32_t count = 0;

    for (int32_t i = 0; i < e->report->items; i++)
        if (!e->allowed || e->allowed[i])
            times[count++] = times[i];
    return count;
}

static void summarize_all(evaluation *e)
{
    ease_report *r = e->report;

    for (int i = 0; i < r->info.metrics; i++) {
        const ease__ranking_metric *m = &r->metric[i];

        if (ease__metric_by_user(m))
            r->value[i] = summarize(m->name, r->by_user + i * r->info.users,
                                    r->info.users);
        else
            r->value[i] = (ease_metric){
                .name = m->name,
                .mean = m->kind->from_times(r->times[i], keep_ranked(e, r->times[i])),
                .standard_error = (double)NAN};
    }
}

/* Counts the items that each user has to find, and those of the target by kind.
 * `target` has the unknown items too. */
static void count_held_out(evaluation *e, const ease_interactions *target)
{
    ease_report_info *info = &e->report->info;
    bool missed = e->o.unknown == EASE_UNKNOWN_MISS;

    for (int64_t u = 0; u < target->users; u++) {
        ease_row known = ease_interactions_row(e->target, u);
        int64_t warm = 0, cold = 0;

        for (int32_t i = 0; i < known.count; i++)
            warm += is_of(e, EASE_ITEMS_WARM, known.items[i]);
        cold = missed ? target->row_ptr[u + 1] - target->row_ptr[u] : known.count;
        cold -= warm;
        info->warm_targets += warm;
        info->cold_targets += cold;
        e->held_out[u] = (e->o.targets == EASE_ITEMS_COLD ? 0 : warm) +
                         (e->o.targets == EASE_ITEMS_WARM ? 0 : cold);
    }
}

static void log_unknown(const evaluation *e, const ease_interactions *input,
                        const ease_interactions *target)
{
    const ease_report_info *info = &e->report->info;

    if (info->unknown_targets && info->targets != EASE_ITEMS_WARM)
        ease__log(e->o.hooks, 1,
                  "%lld of %lld held-out items are unknown to the model: they %s",
                  (long long)info->unknown_targets, (long long)target->nnz,
                  info->unknown == EASE_UNKNOWN_DROP ? "are dropped"
                                                     : "count as misses");
    if (info->unknown_inputs)
        ease__log(
            e->o.hooks, 1,
            "%lld of %lld interactions of the input are with items unknown to the "
            "model: they are not used",
            (long long)info->unknown_inputs, (long long)input->nnz);
}

/* Collects the popularity of items, and those that are ranked. */
static ease_status choose_items(evaluation *e, ease_error *err)
{
    ease_report *r = e->report;

    r->items = ease_model_items(e->model);
    e->popularity = ease__alloc_array((size_t)r->items, sizeof(*e->popularity));
    if (e->o.among != EASE_ITEMS_ALL)
        e->allowed = ease__alloc_array((size_t)r->items, sizeof(*e->allowed));
    if (!e->popularity || (e->o.among != EASE_ITEMS_ALL && !e->allowed))
        return no_memory(err);
    for (int32_t i = 0; i < r->items; i++) {
        e->popularity[i] = ease_model_popularity(e->model, i);
        r->info.cold_items += is_of(e, EASE_ITEMS_COLD, i);
        if (e->allowed)
            e->allowed[i] = is_of(e, e->o.among, i);
    }
    return EASE_OK;
}

/* Converts input and target to the model's item numbers, and counts what is held out.
 * Unknown items are counted and logged. */
static ease_status align(evaluation *e, const ease_interactions *input,
                         const ease_interactions *target, ease_error *err)
{
    ease_report_info *info = &e->report->info;
    ease_status status = ease_interactions_align(input, e->model, &e->input,
                                                 &info->unknown_inputs, err);

    if (!status)
        status = ease_interactions_align(target, e->model, &e->target,
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
    if ((e->o.targets == EASE_ITEMS_WARM && info->warm_targets == 0) ||
        (e->o.targets == EASE_ITEMS_COLD && info->cold_targets == 0))
        return ease__fail(err, EASE_E_DATA, "no user has %s item held out%s",
                          e->o.targets == EASE_ITEMS_WARM ? "a warm" : "a cold",
                          e->o.unknown == EASE_UNKNOWN_DROP ? " that the model knows"
                                                            : "");
    log_unknown(e, input, target);
    return EASE_OK;
}

static ease_status run(evaluation *e, const ease_interactions *input,
                       const ease_interactions *target, ease_error *err)
{
    ease_report *r = e->report;
    ease_status status = ease__metrics_parse(e->o.metrics, r->metric, &r->info.metrics,
                                             err);

    r->info.unknown = e->o.unknown;
    r->info.targets = e->o.targets;
    r->info.among = e->o.among;
    if (!status)
        status = prepare_metrics(e, err);
    if (!status)
        status = choose_items(e, err);
    if (!status)
        status = align(e, input, target, err);
    if (!status)
        status = choose_users(e, err);
    if (!status)
        status = check_known(e, err);
    if (!status)
        status = prepare(e, err);
    for (; !status && e->first < r->info.users; e->first += e->batch) {
        e->batch = r->info.users - e->first;
        if (e->batch > e->most)
            e->batch = e->most;
        status = run_batch(e, err);
    }
    if (!status)
        summarize_all(e);
    return status;
}

ease_status ease_evaluate(const ease_model *m, const ease_interactions *input,
                          const ease_interactions *target, const ease_eval_options *o,
                          ease_report **out, ease_error *err)
{
    evaluation e = {.model = m};
    ease_status status;

    if (!m || !input || !target || !out)
        return ease__fail(err, EASE_E_ARG,
                          "a model, an input and a target are required");
    status = take_options(o, &e.o, err);
    if (status)
        return status;
    e.report = ease__alloc_zero(1, sizeof(*e.report));
    status = e.report ? run(&e, input, target, err) : no_memory(err);
    if (!status) {
        *out = e.report;
        e.report = NULL;
    }
    evaluation_free(&e);
    return status;
}

/* ---- the report --------------------------------------------------------------- */

void ease_report_describe(const ease_report *r, ease_report_info *info)
{
    static const ease_report_info nothing = {0};

    ease__info_give(info, r ? &r->info : &nothing, sizeof(nothing));
}

int64_t ease_report_users(const ease_report *r)
{
    return r ? r->info.users : 0;
}

int ease_report_metrics(const ease_report *r)
{
    return r ? r->info.metrics : 0;
}

void ease_report_metric(const ease_report *r, int metric, ease_metric *out)
{
    static const ease_metric nothing = {.mean = (double)NAN,
                                        .standard_error = (double)NAN};
    bool there = r && metric >= 0 && metric < r->info.metrics;

    ease__info_give(out, there ? &r->value[metric] : &nothing, sizeof(nothing));
}

double ease_report_value(const ease_report *r, int metric, int64_t user)
{
    if (!r || metric < 0 || metric >= r->info.metrics || user < 0 ||
        user >= r->info.users)
        return NAN;
    return r->by_user[metric * r->info.users + user];
}

const char *ease_report_user_id(const ease_report *r, int64_t user)
{
    return !r || user < 0 || user >= r->info.users ? NULL
                                                   : ease__ids_at(&r->user_ids, user);
}

const int64_t *ease_report_times(const ease_report *r, int32_t *k)
{
    if (k)
        *k = r ? r->k : 0;
    return r ? r->times[r->info.metrics] : NULL;
}

static void write_head(const ease_report *r, ease__csv *w)
{
    ease__csv_text(w, "user");
    for (int i = 0; i < r->info.metrics; i++)
        if (ease__metric_by_user(&r->metric[i]))
            ease__csv_text(w, r->metric[i].name);
    ease__csv_end_row(w);
}

static void write_user(const ease_report *r, int64_t user, ease__csv *w)
{
    ease__csv_text(w, ease_report_user_id(r, user));
    for (int i = 0; i < r->info.metrics; i++)
        if (ease__metric_by_user(&r->metric[i]))
            ease__csv_real(w, ease_report_value(r, i, user));
    ease__csv_end_row(w);
}

ease_status ease_report_write(const ease_report *r, const char *path, ease_error *err)
{
    ease__csv w;

    if (!r || !path)
        return ease__fail(err, EASE_E_ARG, "a report and a path are required");
    ease__csv_open(&w, path, err);
    write_head(r, &w);
    for (int64_t u = 0; !w.status && u < r->info.users; u++)
        write_user(r, u, &w);
    return ease__csv_close(&w);
}

void ease_report_free(ease_report *r)
{
    if (!r)
        return;
    for (int i = 0; i <= EASE__MAX_METRICS; i++)
        ease__free(r->times[i]);
    ease__free(r->by_user);
    ease__ids_free(&r->user_ids);
    ease__free(r);
}
