#include "score/caps.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "score/course.h"
#include "score/tag_filter.h"

/* The length of a longer list, for the number of items that are to be found. */
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

/* Scratch of one thread. */
typedef struct scratch {
    int32_t *used;       /* by tag: items of the list that have it; 0 between lists */
    ease_scorer *scorer; /* NULL until it is needed */
    ease_rec *recs;      /* of the length of longer lists; NULL until needed */
} scratch;

typedef struct work {
    const ease__list_job *job;
    const ease__caps *caps; /* NULL: none */
    ease__list_maker *make;
    int threads;
    scratch *scratches; /* by thread */
    /* Longer lists of some users: */
    int32_t length;
    int64_t size;   /* users at a time */
    ease_rec *recs; /* size x length */
    int32_t *counts;
    double done, part; /* progress, and the share of the current step */
} work;

/* A list that grows. */
typedef struct growing {
    ease_rec *list;
    int32_t count, most;
    ease_row denied; /* items that it must not have */
} growing;

static int32_t longer_length(int32_t wanted, int32_t n)
{
    int64_t length = TIMES * (int64_t)wanted + MORE;

    return length < n ? (int32_t)length : n;
}

static int compare_items(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static bool is_denied(ease_row denied, int32_t item)
{
    return denied.count > 0 && bsearch(&item, denied.items, (size_t)denied.count,
                                       sizeof(item), compare_items);
}

static bool is_capped(const work *w, const scratch *s, int32_t item)
{
    ease_row tags = {0};

    if (w->caps)
        tags = ease_model_item_tags(w->job->model, item);
    for (int32_t i = 0; i < tags.count; i++)
        if (s->used[tags.items[i]] >= w->caps->most[tags.items[i]])
            return true;
    return false;
}

static void count_tags(const work *w, const scratch *s, int32_t item, int32_t by)
{
    ease_row tags = {0};

    if (w->caps)
        tags = ease_model_item_tags(w->job->model, item);
    for (int32_t i = 0; i < tags.count; i++)
        s->used[tags.items[i]] += by;
}

/* Takes sorted items as far as the caps and the denied items allow. */
static void take_items(const work *w, const scratch *s, const ease_rec *recs,
                       int32_t count, growing *g)
{
    for (int32_t i = 0; i < count && g->count < g->most; i++) {
        if (is_denied(g->denied, recs[i].item) || is_capped(w, s, recs[i].item))
            continue;
        count_tags(w, s, recs[i].item, 1);
        g->list[g->count++] = recs[i];
    }
}

/* Completes a list from the scores of all items, which are changed: those of items that
 * cannot be taken become minus infinity. An item that a cap excludes stays excluded, as
 * the list only grows. */
static void take_best(const work *w, const scratch *s, float *scores, growing *g)
{
    const uint8_t *allowed = w->job->o->allowed;
    int32_t n = w->job->model->info.items;
    ease__topk best;

    for (int32_t i = 0; i < g->count; i++)
        scores[g->list[i].item] = -INFINITY;
    for (int32_t i = 0; i < g->denied.count; i++)
        scores[g->denied.items[i]] = -INFINITY;
    do {
        best = (ease__topk){
            .recs = s->recs,
            .capacity = longer_length(g->most - g->count, n),
        };
        for (int32_t j = 0; w->caps && j < n; j++)
            if (scores[j] > -INFINITY && is_capped(w, s, j))
                scores[j] = -INFINITY;
        ease__choose_best(w->job->model, scores, allowed, &best);
        take_items(w, s, best.recs, best.count, g);
        for (int32_t i = 0; i < best.count; i++)
            scores[best.recs[i].item] = -INFINITY;
    } while (g->count < g->most && best.count == best.capacity);
}

static ease_status complete(const work *w, scratch *s, int64_t u, growing *g,
                            ease_error *err)
{
    ease_scorer *scorer = w->job->scorer;
    ease_status status = EASE_OK;

    if (!scorer && !s->scorer)
        status = ease_scorer_new(w->job->model, &s->scorer, err);
    if (!status && !s->recs) {
        s->recs = ease__alloc_array((size_t)w->length, sizeof(*s->recs));
        if (!s->recs)
            status = ease__fail(err, EASE_E_NOMEM, "%d items", (int)w->length);
    }
    scorer = scorer ? scorer : s->scorer;
    if (!status)
        status = ease__final_scores(scorer, w->job, u, err);
    if (!status)
        take_best(w, s, scorer->scores, g);
    return status;
}

/* Makes list u from a longer one. */
static void make_list(const work *w, int64_t u, const ease_rec *recs, int32_t count,
                      ease__course *c)
{
    const ease__list_job *l = w->job;
    scratch *s = &w->scratches[omp_get_thread_num()];
    growing g = {.list = ease__list_at(l, u),
                 .most = ease__list_length(l->model, l->o)};
    ease_status status = EASE_OK;
    ease_error err = {0};

    if (l->o->denied)
        g.denied = l->o->denied[u];
    take_items(w, s, recs, count, &g);
    if (g.count < g.most && count == w->length && count < l->model->info.items)
        status = complete(w, s, u, &g, &err);
    for (int32_t i = 0; i < g.count; i++)
        count_tags(w, s, g.list[i].item, -1);
    l->counts[u] = g.count;
    if (status)
        ease__course_fail(c, status, &err);
    else
        ease__course_advance(c);
}

/* ---- many lists ------------------------------------------------------------------ */

static void log_on(void *user, int level, const char *text)
{
    const ease_hooks *hooks = ((const work *)user)->job->o->hooks;

    if (hooks->log)
        hooks->log(hooks->user, level, text);
}

static int progress_on(void *user, const char *stage, double fraction)
{
    const work *w = user;

    return ease__progress(w->job->o->hooks, stage,
                          fraction < 0 ? fraction : w->done + w->part * fraction);
}

/* Makes the lists of users first .. first + count - 1. */
static ease_status run_some(work *w, int64_t first, int64_t count, ease_error *err)
{
    enum { USERS = 16 }; /* that a thread takes at a time */
    const ease__list_job *l = w->job;
    double share = (double)count / (double)l->count;
    ease_hooks hooks = {.log = log_on, .progress = progress_on, .user = w};
    ease__list_options o = *l->o;
    ease__list_job job = *l;
    ease__course c = {.hooks = l->o->hooks ? &hooks : NULL, .parts = count};
    ease_status status;

    o.k = w->length;
    o.users = l->o->users ? l->o->users + first : NULL;
    o.hooks = c.hooks;
    o.denied = NULL; /* left out below */
    job.o = &o;
    job.histories = l->histories + first;
    job.count = count;
    job.recs = w->recs;
    job.counts = w->counts;
    w->part = 0.8 * share;
    status = w->make(&job, err);
    if (status)
        return status;
    w->done += w->part;
    w->part = 0.2 * share;
#pragma omp parallel for schedule(dynamic, USERS) num_threads(w->threads)
    for (int64_t i = 0; i < count; i++)
        if (!ease__course_over(&c))
            make_list(w, first + i, w->recs + (size_t)i * (size_t)w->length,
                      w->counts[i], &c);
    status = ease__course_end(&c, &l->model->file, err);
    w->done += w->part;
    return status;
}

static bool allocate(work *w)
{
    size_t size = (size_t)w->size;
    size_t tags = w->caps ? (size_t)ease_model_tags(w->job->model) : 1;

    w->scratches = ease__alloc_zero((size_t)w->threads, sizeof(*w->scratches));
    w->recs = ease__alloc_array(ease__size_mul(size, (size_t)w->length),
                                sizeof(*w->recs));
    w->counts = ease__alloc_array(size, sizeof(*w->counts));
    if (!w->scratches || !w->recs || !w->counts)
        return false;
    for (int t = 0; t < w->threads; t++) {
        w->scratches[t].used = ease__alloc_zero(tags, sizeof(int32_t));
        if (!w->scratches[t].used)
            return false;
    }
    return true;
}

static void release(work *w)
{
    for (int t = 0; w->scratches && t < w->threads; t++) {
        ease__free(w->scratches[t].used);
        ease__free(w->scratches[t].recs);
        ease_scorer_free(w->scratches[t].scorer);
    }
    ease__free(w->scratches);
    ease__free(w->recs);
    ease__free(w->counts);
}

ease_status ease__chosen_lists(const ease__list_job *l, const ease__caps *caps,
                               ease__list_maker *make, ease_error *err)
{
    int32_t n = l->model->info.items;
    work w = {.job = l,
              .caps = caps,
              .make = make,
              .threads = ease__threads(l->o->threads),
              .length = longer_length(ease__list_length(l->model, l->o), n)};
    ease_status status = EASE_OK;

    w.size = MOST_BYTES / ((int64_t)w.length * (int64_t)sizeof(*w.recs));
    w.size = w.size < 1 ? 1 : w.size < l->count ? w.size : l->count;
    if (!allocate(&w))
        status = ease__fail(err, EASE_E_NOMEM, "%lld lists with caps or denied items",
                            (long long)l->count);
    for (int64_t first = 0, step; !status && first < l->count; first += step) {
        step = l->count - first < w.size ? l->count - first : w.size;
        status = run_some(&w, first, step, err);
    }
    release(&w);
    return status;
}
