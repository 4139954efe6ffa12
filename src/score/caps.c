#include "score/caps.h"

#include <omp.h>
#include <string.h>

#include "score/tag_filter.h"

/* Of a longer list at first, and how it grows. */
enum { TIMES = 4, MORE = 16 };

/* Bytes of longer lists that are in memory at a time. */
enum { MOST_BYTES = 1 << 27 };

struct ease__caps {
    int32_t *most; /* by tag: the most items that may have it; INT32_MAX: any number */
};

/* ---- resolving caps -------------------------------------------------------------- */

void ease__caps_free(ease__caps *c)
{
    if (!c)
        return;
    ease__free(c->most);
    ease__free(c);
}

static ease_status check_cap(const ease_cap *cap, ease_error *err)
{
    if (!cap->kind || !cap->kind[0])
        return ease__fail(err, EASE_E_ARG, "a cap needs a kind of tags");
    if (cap->most < 1)
        return ease__fail(err, EASE_E_ARG,
                          "at most %d items with the same %.80s: must be at least 1",
                          (int)cap->most, cap->kind);
    return EASE_OK;
}

/* Sets the bounds of the tags of a kind; false if there are none. */
static bool set_bounds(const ease_model *m, const ease_cap *cap, int32_t *most)
{
    size_t length = strlen(cap->kind);
    bool found = false;

    for (int32_t t = 0; t < ease_model_tags(m); t++) {
        const char *tag = ease_model_tag(m, t);

        if (strncmp(tag, cap->kind, length) != 0 || tag[length] != '=')
            continue;
        found = true;
        if (cap->most < most[t])
            most[t] = cap->most;
    }
    return found;
}

static ease_status add_cap(const ease_model *m, const ease_cap *cap, int32_t *most,
                           ease_error *err)
{
    ease_status status = check_cap(cap, err);

    if (!status)
        status = ease__model_needs_tags(m, err);
    if (!status && !set_bounds(m, cap, most))
        status = ease__fail(err, EASE_E_DATA, "the model has no tags of kind \"%.80s\"",
                            cap->kind);
    return status;
}

ease_status ease__caps_new(const ease_model *m, const ease_cap *caps, int64_t count,
                           ease__caps **out, ease_error *err)
{
    size_t tags = (size_t)ease_model_tags(m);
    ease__caps *c = ease__alloc_zero(1, sizeof(*c));
    ease_status status = EASE_OK;

    if (c)
        c->most = ease__alloc_array(tags, sizeof(*c->most));
    if (!c || !c->most)
        status = ease__fail(err, EASE_E_NOMEM, "caps of %zu tags", tags);
    for (size_t t = 0; !status && t < tags; t++)
        c->most[t] = INT32_MAX;
    for (int64_t i = 0; !status && i < count; i++)
        status = add_cap(m, &caps[i], c->most, err);
    if (status)
        ease__caps_free(c);
    else
        *out = c;
    return status;
}

/* ---- one list -------------------------------------------------------------------- */

/* Scratch of one thread; between lists all are 0. */
typedef struct tally {
    int32_t *used; /* by tag: items of the list that have it */
    uint8_t *out;  /* by item: 1: it cannot be taken */
} tally;

typedef struct work {
    const ease__list_job *job;
    const ease__caps *caps;
    ease__list_maker *make;
    void *of;
    int threads;
    tally *tallies; /* by thread */
    int64_t *left;  /* the lists that are not done, ascending */
    uint8_t *again; /* by list: 1: it is not done */
    int64_t left_count;
    double done, part; /* progress, and the share of the current round */
    double begin, end; /* of the current call of `make`, within the round */
} work;

/* Longer lists of some users. */
typedef struct longer {
    int32_t length;
    ease_row *rows;
    int64_t *users; /* NULL: none were given */
    ease_rec *recs; /* length for each list */
    int32_t *counts;
} longer;

static bool is_capped(const work *w, const tally *t, int32_t item)
{
    ease_row tags = ease_model_item_tags(w->job->model, item);

    for (int32_t i = 0; i < tags.count; i++)
        if (t->used[tags.items[i]] >= w->caps->most[tags.items[i]])
            return true;
    return false;
}

static void count_tags(const work *w, const tally *t, int32_t item, int32_t by)
{
    ease_row tags = ease_model_item_tags(w->job->model, item);

    for (int32_t i = 0; i < tags.count; i++)
        t->used[tags.items[i]] += by;
}

/* True if an item beside those of the list could still be taken. */
static bool others_remain(const work *w, const tally *t, ease_row history,
                          const ease_rec *list, int32_t count)
{
    const ease__list_options *o = w->job->o;
    int32_t n = w->job->model->info.items, j = 0;

    for (int32_t i = 0; i < count; i++)
        t->out[list[i].item] = 1;
    for (int32_t h = 0; h < history.count && !o->keep_seen; h++)
        t->out[history.items[h]] = 1;
    while (j < n && (t->out[j] || (o->allowed && !o->allowed[j]) || is_capped(w, t, j)))
        j++;
    for (int32_t i = 0; i < count; i++)
        t->out[list[i].item] = 0;
    for (int32_t h = 0; h < history.count; h++)
        t->out[history.items[h]] = 0;
    return j < n;
}

/* Makes list u from a longer one. Items that a longer list leaves out by a cap stay
 * left out, so that only items beyond it can be missing. */
static void thin(work *w, const longer *from, int64_t at, int64_t u)
{
    const tally *t = &w->tallies[omp_get_thread_num()];
    const ease_rec *recs = from->recs + (size_t)at * (size_t)from->length;
    ease_rec *list = ease__list_at(w->job, u);
    int32_t n = w->job->model->info.items, count = 0;
    int32_t k = ease__list_length(w->job->model, w->job->o);

    for (int32_t i = 0; i < from->counts[at] && count < k; i++) {
        if (is_capped(w, t, recs[i].item))
            continue;
        count_tags(w, t, recs[i].item, 1);
        list[count++] = recs[i];
    }
    w->again[u] = count < k && from->counts[at] == from->length && from->length < n &&
                  others_remain(w, t, from->rows[at], list, count);
    for (int32_t i = 0; i < count; i++)
        count_tags(w, t, list[i].item, -1);
    w->job->counts[u] = count;
}

/* ---- rounds ---------------------------------------------------------------------- */

static void log_on(void *user, int level, const char *text)
{
    const ease_hooks *hooks = ((const work *)user)->job->o->hooks;

    if (hooks->log)
        hooks->log(hooks->user, level, text);
}

static int progress_on(void *user, const char *stage, double fraction)
{
    const work *w = user;
    double inner = w->begin + (w->end - w->begin) * fraction;

    return ease__progress(w->job->o->hooks, stage,
                          fraction < 0 ? fraction : w->done + w->part * inner);
}

/* Makes longer lists for the lists left[first .. first + count - 1], and the lists from
 * these. */
static ease_status run_some(work *w, const longer *into, int64_t first, int64_t count,
                            ease_error *err)
{
    const ease__list_job *l = w->job;
    ease_hooks hooks = {.log = log_on, .progress = progress_on, .user = w};
    ease__list_options o = *l->o;
    ease__list_job job = {.model = l->model,
                          .histories = into->rows,
                          .count = count,
                          .o = &o,
                          .recs = into->recs,
                          .counts = into->counts};
    ease_status status;

    o.k = into->length;
    o.users = into->users;
    o.hooks = l->o->hooks ? &hooks : NULL;
    for (int64_t i = 0; i < count; i++) {
        into->rows[i] = l->histories[w->left[first + i]];
        if (into->users)
            into->users[i] = l->o->users[w->left[first + i]];
    }
    w->begin = (double)first / (double)w->left_count;
    w->end = (double)(first + count) / (double)w->left_count;
    status = w->make(&job, w->of, err);
    if (status)
        return status;
#pragma omp parallel for schedule(dynamic, 16) num_threads(w->threads)
    for (int64_t i = 0; i < count; i++)
        thin(w, into, i, w->left[first + i]);
    return EASE_OK;
}

/* A round: all lists that are not done, from longer ones of this length. */
static ease_status run_round(work *w, int32_t length, ease_error *err)
{
    int64_t most = MOST_BYTES / ((int64_t)length * (int64_t)sizeof(ease_rec));
    int64_t count = most < 1 ? 1 : most, kept = 0;
    longer into = {.length = length};
    ease_status status = EASE_OK;

    if (count > w->left_count)
        count = w->left_count;
    into.rows = ease__alloc_array((size_t)count, sizeof(*into.rows));
    into.counts = ease__alloc_array((size_t)count, sizeof(*into.counts));
    into.recs = ease__alloc_array(ease__size_mul((size_t)count, (size_t)length),
                                  sizeof(*into.recs));
    if (w->job->o->users)
        into.users = ease__alloc_array((size_t)count, sizeof(*into.users));
    if (!into.rows || !into.counts || !into.recs || (w->job->o->users && !into.users))
        status = ease__fail(err, EASE_E_NOMEM, "%lld lists of %d items",
                            (long long)count, (int)length);
    for (int64_t first = 0, step; !status && first < w->left_count; first += step) {
        step = w->left_count - first < count ? w->left_count - first : count;
        status = run_some(w, &into, first, step, err);
    }
    ease__free(into.rows);
    ease__free(into.counts);
    ease__free(into.recs);
    ease__free(into.users);
    for (int64_t i = 0; !status && i < w->left_count; i++)
        if (w->again[w->left[i]])
            w->left[kept++] = w->left[i];
    w->left_count = kept;
    return status;
}

static int32_t least_of(int64_t length, int32_t n)
{
    return length < n ? (int32_t)length : n;
}

/* Most lists are done after the first round, which is most of the progress. */
static ease_status run_rounds(work *w, ease_error *err)
{
    int32_t n = w->job->model->info.items;
    int64_t k = ease__list_length(w->job->model, w->job->o);
    ease_status status = EASE_OK;

    for (int32_t length = least_of(TIMES * k + MORE, n); !status && w->left_count > 0;
         length = least_of(TIMES * (int64_t)length, n)) {
        w->part = 0.9 * (1 - w->done);
        status = run_round(w, length, err);
        w->done += w->part;
    }
    if (!status && ease__progress(w->job->o->hooks, "recommending", 1))
        status = ease__cancelled(err);
    return status;
}

static void work_free(work *w)
{
    for (int t = 0; w->tallies && t < w->threads; t++) {
        ease__free(w->tallies[t].used);
        ease__free(w->tallies[t].out);
    }
    ease__free(w->tallies);
    ease__free(w->left);
    ease__free(w->again);
}

static bool work_allocate(work *w)
{
    size_t n = (size_t)w->job->model->info.items;
    size_t tags = (size_t)ease_model_tags(w->job->model);

    w->tallies = ease__alloc_zero((size_t)w->threads, sizeof(*w->tallies));
    w->left = ease__alloc_array((size_t)w->job->count, sizeof(*w->left));
    w->again = ease__alloc_zero((size_t)w->job->count, sizeof(*w->again));
    if (!w->tallies || !w->left || !w->again)
        return false;
    for (int t = 0; t < w->threads; t++) {
        w->tallies[t].used = ease__alloc_zero(tags, sizeof(int32_t));
        w->tallies[t].out = ease__alloc_zero(n, 1);
        if (!w->tallies[t].used || !w->tallies[t].out)
            return false;
    }
    return true;
}

ease_status ease__capped_lists(const ease__list_job *l, const ease__caps *caps,
                               ease__list_maker *make, void *of, ease_error *err)
{
    work w = {.job = l,
              .caps = caps,
              .make = make,
              .of = of,
              .threads = ease__threads(l->o->threads),
              .left_count = l->count};
    ease_status status;

    if (work_allocate(&w)) {
        for (int64_t u = 0; u < l->count; u++)
            w.left[u] = u;
        status = run_rounds(&w, err);
    } else {
        status = ease__fail(err, EASE_E_NOMEM, "%lld lists with caps",
                            (long long)l->count);
    }
    work_free(&w);
    return status;
}
