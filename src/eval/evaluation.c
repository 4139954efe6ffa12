#include "eval/evaluation.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Every batch reads all weights, so it should have many users; its lists should fit
 * into little memory. */
enum { BATCH_USERS = 1 << 15, BATCH_RECS = 1 << 22 };

static ease_status no_memory(ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "evaluating");
}

void ease__evaluation_free(ease__evaluation *e)
{
    ease__free(e->allowed);
    ease__free(e->popularity);
    ease__free(e->tags);
    ease__free(e->by_tag);
    ease__free(e->batch.wanted);
    ease__free(e->batch.held_out);
    ease__free(e->batch.recs);
    ease__free(e->batch.counts);
    ease__free(e->hits);
    ease_report_free(e->report);
}

bool ease__evaluation_is_of(const ease__evaluation *e, ease_eval_items kind,
                            int32_t item)
{
    bool cold = e->popularity[item] == 0;

    return kind == EASE_ITEMS_ALL || cold == (kind == EASE_ITEMS_COLD);
}

/* ---- beginning ------------------------------------------------------------------- */

/* True if the popularity of items can be a number of users: it is the sum of values. */
static bool counts_users(const ease__evaluation *e)
{
    for (int32_t i = 0; i < ease_model_items(e->model); i++) {
        double p = ease_model_popularity(e->model, i);

        if (!(p >= 0 && p <= e->known_users && p == floor(p)))
            return false;
    }
    return true;
}

/* Fails if the model lacks what one of the metrics needs. */
static ease_status check_needs(const ease__evaluation *e, ease_error *err)
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
static ease_status prepare_metrics(ease__evaluation *e, ease_error *err)
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

/* Collects the popularity of items, and those that are ranked. */
static ease_status choose_items(ease__evaluation *e, ease_error *err)
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
        r->info.cold_items += ease__evaluation_is_of(e, EASE_ITEMS_COLD, i);
        if (e->allowed)
            e->allowed[i] = ease__evaluation_is_of(e, e->o.among, i);
    }
    return EASE_OK;
}

ease_status ease__evaluation_begin(ease__evaluation *e, ease_error *err)
{
    ease_report *r = ease__alloc_zero(1, sizeof(*r));
    ease_status status;

    if (!r)
        return no_memory(err);
    e->report = r;
    status = ease__metrics_parse(e->o.metrics, r->metric, &r->info.metrics, err);
    r->info.unknown = e->o.unknown;
    r->info.targets = e->o.targets;
    r->info.among = e->o.among;
    for (int i = 0; i < r->info.metrics; i++)
        if (r->metric[i].k > r->k)
            r->k = r->metric[i].k;
    if (!status)
        status = prepare_metrics(e, err);
    return status ? status : choose_items(e, err);
}

ease_status ease__evaluation_add_user(ease__evaluation *e, const char *id,
                                      ease_error *err)
{
    if (ease__ids_add(&e->report->user_ids, id, strlen(id)) < 0)
        return no_memory(err);
    e->report->info.users++;
    return EASE_OK;
}

size_t ease__evaluation_user_bytes(int32_t k)
{
    return sizeof(ease_row) + sizeof(int64_t) + sizeof(int32_t) +
           (size_t)k * (sizeof(ease_rec) + sizeof(bool));
}

ease_status ease__evaluation_reserve(ease__evaluation *e, int64_t most, ease_error *err)
{
    ease_report *r = e->report;
    ease__eval_batch *b = &e->batch;
    size_t users, lists;

    e->most = BATCH_RECS / r->k;
    if (e->most > BATCH_USERS)
        e->most = BATCH_USERS;
    if (e->most > most)
        e->most = most;
    if (e->most > r->info.users)
        e->most = r->info.users;
    users = (size_t)e->most;
    lists = users * (size_t)r->k;
    r->by_user = ease__alloc_array(
        ease__size_mul((size_t)r->info.metrics, (size_t)r->info.users),
        sizeof(*r->by_user));
    b->wanted = ease__alloc_array(users, sizeof(*b->wanted));
    b->held_out = ease__alloc_array(users, sizeof(*b->held_out));
    b->recs = ease__alloc_array(lists, sizeof(*b->recs));
    b->counts = ease__alloc_array(users, sizeof(*b->counts));
    e->hits = ease__alloc_array(lists, sizeof(*e->hits));
    for (int i = 0; i <= r->info.metrics; i++) {
        if (i < r->info.metrics && ease__metric_by_user(&r->metric[i]))
            continue;
        r->times[i] = ease__alloc_zero((size_t)r->items, sizeof(*r->times[i]));
        if (!r->times[i])
            return no_memory(err);
    }
    if (!r->by_user || !b->wanted || !b->held_out || !b->recs || !b->counts || !e->hits)
        return no_memory(err);
    return EASE_OK;
}

/* ---- a batch --------------------------------------------------------------------- */

/* `by_tag` is scratch of this thread. */
static void measure_user(ease__evaluation *e, int64_t u, double *by_tag)
{
    ease_report *r = e->report;
    const ease__eval_batch *b = &e->batch;
    const ease_rec *recs = b->recs + u * r->k;
    bool *hits = e->hits + u * r->k;

    for (int32_t i = 0; i < b->counts[u]; i++)
        hits[i] = ease__evaluation_is_of(e, e->o.targets, recs[i].item) &&
                  ease__row_find(b->wanted[u], recs[i].item) >= 0;
    for (int i = 0; i < r->info.metrics; i++) {
        const ease__ranking_metric *m = &r->metric[i];
        int32_t best = b->counts[u] < m->k ? b->counts[u] : m->k;
        double *value = &r->by_user[i * r->info.users + b->first + u];

        if (m->kind->from_hits)
            *value = ease__metric_value(m, hits, b->counts[u], b->held_out[u]);
        else if (m->kind->from_items)
            *value = m->kind->from_items(
                &(ease__list){.recs = recs,
                              .count = best,
                              .popularity = e->popularity,
                              .left_out = e->left_out ? b->wanted[u] : (ease_row){0},
                              .users = e->known_users - e->left_out,
                              .tags = e->tags,
                              .by_tag = by_tag});
        else
            *value = NAN;
    }
}

static void count_items(const ease__evaluation *e, int32_t k, int64_t *times)
{
    const ease__eval_batch *b = &e->batch;

    for (int64_t u = 0; u < b->count; u++)
        for (int32_t i = 0; i < b->counts[u] && i < k; i++)
            times[b->recs[u * e->report->k + i].item]++;
}

static void measure_batch(ease__evaluation *e)
{
    size_t tags = (size_t)ease_model_tags(e->model);
    ease_report *r = e->report;

#pragma omp parallel num_threads(ease__threads(e->o.threads))
    {
        size_t thread = (size_t)omp_get_thread_num();
        double *by_tag = e->by_tag ? e->by_tag + thread * tags : NULL;

#pragma omp for schedule(dynamic, 64)
        for (int64_t u = 0; u < e->batch.count; u++)
            measure_user(e, u, by_tag);
    }
    for (int i = 0; i <= r->info.metrics; i++)
        if (r->times[i])
            count_items(e, i < r->info.metrics ? r->metric[i].k : r->k, r->times[i]);
}

/* Maps the progress of a batch to that of the evaluation. */
static int report_progress(void *user, const char *stage, double fraction)
{
    const ease__evaluation *e = user;
    double done = ((double)e->batch.first + fraction * (double)e->batch.count) /
                  (double)e->report->info.users;

    (void)stage;
    return ease__progress(e->o.hooks, "evaluating", done);
}

/* ---- all users ------------------------------------------------------------------- */

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
static int32_t keep_ranked(const ease__evaluation *e, int64_t *times)
{
    int32_t count = 0;

    for (int32_t i = 0; i < e->report->items; i++)
        if (!e->allowed || e->allowed[i])
            times[count++] = times[i];
    return count;
}

static void summarize_all(ease__evaluation *e)
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

ease_status ease__evaluation_run(ease__evaluation *e, ease__make_lists *make,
                                 void *user, ease_error *err)
{
    ease_hooks hooks = {.progress = report_progress, .user = e};
    ease__eval_batch *b = &e->batch;
    ease_status status = EASE_OK;

    for (b->first = 0; !status && b->first < e->report->info.users;
         b->first += b->count) {
        b->count = e->report->info.users - b->first;
        if (b->count > e->most)
            b->count = e->most;
        status = make(user, b, &hooks, err);
        if (!status)
            measure_batch(e);
    }
    if (!status)
        summarize_all(e);
    return status;
}
