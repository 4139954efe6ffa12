/* Scoring of sparse models: the cost of a list depends on the lengths of the rows of
 * the history, not on the number of items. */
#include <math.h>
#include <omp.h>

#include "score/course.h"
#include "score/scoring.h"

/* Popular items that lists are completed from before all items are looked at. */
enum { POPULAR = 1024 };

/* Scratch of one thread. */
typedef struct sums {
    float *scores;    /* n; between lists all are `untouched` */
    int32_t *touched; /* n + 1: items with a sum, in the order of their first part */
    int32_t count;    /* of touched items */
    ease__topk
        popular;   /* the most popular of the allowed items; empty: not yet chosen */
    bool filtered; /* `popular` lacks items that are not allowed */
} sums;

/* ---- one list -------------------------------------------------------------------- */

/* The initial value of a sum, -0: x + -0 is x. No part is -0, so that no sum of parts
 * is -0, and every sum has the same bits as if it had started at 0. */
static const float untouched = -0.0f;

static inline bool is_untouched(float score)
{
    return score == 0 && signbit(score);
}

/* Adds a row. Products are rounded before they are added, as in the kernels of dense
 * rows. Whether an item is new cannot be predicted, hence the loop has no branch. */
static void add_row(const ease_model *m, int32_t item, float x, sums *s)
{
    const ease__sparse *rows = &m->sparse;
    int32_t count = s->count, n = m->info.items;

    for (uint64_t at = rows->starts[item]; at < rows->starts[item + 1]; at++) {
        int32_t column = ease__sparse_column(rows, at, n);
        float part = rows->weights[at] * x + 0.0f, sum = s->scores[column];

        s->touched[count] = column;
        count += is_untouched(sum);
        s->scores[column] = sum + part;
    }
    s->count = count;
}

/* Multiplies the sums by their factors, and excludes the items of the history. */
static void finish_sums(ease_row history, const ease__list_options *o, sums *s)
{
    for (int32_t t = 0; o->factors && t < s->count; t++)
        s->scores[s->touched[t]] *= o->factors[s->touched[t]];
    for (int32_t h = 0; h < history.count && !o->keep_seen; h++)
        s->scores[history.items[h]] = -INFINITY;
}

/* Appends the best of the positive or of the negative scores. */
static void add_touched(const sums *s, bool negative, const uint8_t *allowed,
                        ease__topk *best)
{
    ease__topk more = {.recs = best->recs + best->count,
                       .capacity = best->capacity - best->count};
    float least = negative ? -INFINITY : 0;

    for (int32_t t = 0; t < s->count; t++) {
        ease_rec rec = {s->touched[t], s->scores[s->touched[t]]};

        if (!(rec.score >= least) || rec.score == 0 || (rec.score > 0) == negative ||
            (allowed && !allowed[rec.item]))
            continue;
        ease__topk_offer_one(&more, rec);
        least = fmaxf(least, ease__topk_least(&more));
    }
    ease__topk_sort(&more);
    best->count += more.count;
}

static void choose_popular(const ease_model *m, const uint8_t *allowed, sums *s)
{
    for (int32_t j = 0; j < m->info.items; j++)
        if (!allowed || allowed[j])
            ease__topk_offer_one(&s->popular,
                                 (ease_rec){j, ease__share_of_users(m, j)});
    ease__topk_sort(&s->popular);
    s->filtered = allowed != NULL;
}

/* Appends items of score 0, the most popular first: what nothing of the history
 * reaches. */
static void add_popular(const ease_model *m, const uint8_t *allowed, sums *s,
                        ease__topk *best)
{
    int32_t before = best->count;

    if (s->popular.count == 0)
        choose_popular(m, allowed, s);
    for (int32_t i = 0; i < s->popular.count && best->count < best->capacity; i++) {
        int32_t item = s->popular.recs[i].item;

        if (s->scores[item] == 0)
            best->recs[best->count++] = (ease_rec){item, 0};
    }
    if (best->count == best->capacity || s->popular.count < s->popular.capacity)
        return;
    best->count = before;
    ease__add_zeros(m, s->scores, allowed, best);
}

static void clear(ease_row history, sums *s)
{
    for (int32_t t = 0; t < s->count; t++)
        s->scores[s->touched[t]] = untouched;
    for (int32_t h = 0; h < history.count; h++)
        s->scores[history.items[h]] = untouched;
    s->count = 0;
}

/* The list of one history, which is not empty; returns its length. */
static int32_t make_list(const ease_model *m, ease_row history,
                         const ease__list_options *o, sums *s, ease_rec *recs)
{
    ease__topk best = {.recs = recs, .capacity = ease__list_length(m, o)};

    for (int32_t h = 0; h < history.count; h++)
        add_row(m, history.items[h], history.weights ? history.weights[h] : 1, s);
    finish_sums(history, o, s);
    add_touched(s, false, o->allowed, &best);
    if (best.count < best.capacity)
        add_popular(m, o->allowed, s, &best);
    if (best.count < best.capacity)
        add_touched(s, true, o->allowed, &best);
    clear(history, s);
    return best.count;
}

static void sums_free(void *scratch)
{
    sums *s = scratch;

    if (!s)
        return;
    ease__free(s->scores);
    ease__free(s->touched);
    ease__free(s->popular.recs);
    ease__free(s);
}

static ease_status sums_new(const ease_model *m, void **out, ease_error *err)
{
    size_t n = (size_t)m->info.items;
    sums *s = ease__alloc_zero(1, sizeof(*s));

    if (s) {
        s->scores = ease__alloc_array(n, sizeof(*s->scores));
        s->touched = ease__alloc_array(n + 1, sizeof(*s->touched));
        s->popular.capacity = POPULAR;
        s->popular.recs = ease__alloc_array(POPULAR, sizeof(*s->popular.recs));
    }
    if (!s || !s->scores || !s->touched || !s->popular.recs) {
        sums_free(s);
        return ease__fail(err, EASE_E_NOMEM, "scores of %d items", (int)n);
    }
    for (size_t j = 0; j < n; j++)
        s->scores[j] = untouched;
    *out = s;
    return EASE_OK;
}

/* Makes a list from the rows of the history alone. The items that are allowed may be
 * others than in the call before. */
static ease_status list_rows(ease_scorer *s, ease_row history,
                             const ease__list_options *o, ease_rec *recs,
                             int32_t *count, ease_error *err)
{
    ease_status status = ease__model_need_history(s->model, history, err);
    sums *own = s->scratch;

    if (status)
        return status;
    if (o->allowed || own->filtered)
        own->popular.count = 0;
    *count = make_list(s->model, history, o, own, recs);
    return ease__container_unchanged(&s->model->file, err);
}

/* With a base, untouched items have different scores: such a model is scored like a
 * dense one. */
static ease_status list_one(ease_scorer *s, ease_row history,
                            const ease__list_options *o, ease_rec *recs, int32_t *count,
                            ease_error *err)
{
    ease_status status;

    if (!s->model->base)
        return list_rows(s, history, o, recs, count, err);
    status = ease__score_rows(s, history, EASE_NO_USER, err);
    if (!status)
        *count = ease__best_of_scores(s->model, history, o, s->scores, recs);
    return status;
}

/* The similarities of an item are its weights, the scores of a history of it alone. */
static ease_status list_similar(ease_scorer *s, ease_row history,
                                const ease__list_options *o, ease_rec *recs,
                                int32_t *count, ease_error *err)
{
    return list_rows(s, history, o, recs, count, err);
}

/* ---- many ------------------------------------------------------------------------ */

enum { USERS = 16 }; /* that a thread takes at a time */

/* Verifies the rows of a history; whether the file has changed is asked in the end. */
static ease_status need_rows(const ease_model *m, ease_row history, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int32_t h = 0; !status && h < history.count; h++) {
        ease__window row = {history.items[h], history.items[h] + 1, 0, m->info.items};

        status = m->form->store->need(m, row, EASE__WHOLE, err);
    }
    return status;
}

static ease_status list_block(const ease__list_job *l, int64_t first, sums *s,
                              ease_error *err)
{
    int64_t end = l->count - first > USERS ? first + USERS : l->count;
    ease_status status = EASE_OK;

    for (int64_t u = first; !status && u < end; u++) {
        if (l->histories[u].count == 0) {
            ease__list_popular(l, u);
            continue;
        }
        status = need_rows(l->model, l->histories[u], err);
        if (!status)
            l->counts[u] = make_list(l->model, l->histories[u], l->o, s,
                                     ease__list_at(l, u));
    }
    return status;
}

static ease_status list_blocks(const ease__list_job *l, int threads, void **scratches,
                               ease_error *err)
{
    ease__course c = {.hooks = l->o->hooks, .parts = (l->count + USERS - 1) / USERS};

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t b = 0; b < c.parts; b++) {
        ease_error own = {0};
        ease_status status;

        if (ease__course_over(&c))
            continue;
        status = list_block(l, b * USERS, scratches[omp_get_thread_num()], &own);
        if (status)
            ease__course_fail(&c, status, &own);
        else
            ease__course_advance(&c);
    }
    return ease__course_end(&c, &l->model->file, err);
}

static ease_status list_many(const ease__list_job *l, ease_error *err)
{
    int threads = ease__threads(l->o->threads);
    void **scratches = NULL;
    ease_status status;

    if (l->model->base)
        return ease__panels_many(l, err);
    status = ease__container_unchanged(&l->model->file, err);
    if (!status)
        status = ease__scratches_new(l->model, threads, &scratches, err);
    if (!status)
        status = list_blocks(l, threads, scratches, err);
    ease__scratches_free(l->model, threads, scratches);
    return status;
}

const ease__scoring ease__scoring_sparse = {
    .scratch_new = sums_new,
    .scratch_free = sums_free,
    .score = ease__score_rows,
    .list = list_one,
    .many = list_many,
    .similar = ease__similar_rows,
    .list_similar = list_similar,
    .popular_zeros = true,
    .explain = ease__explain_rows,
};
