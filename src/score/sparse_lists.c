/* Scoring of sparse models: the cost of a list depends on the lengths of the rows of
 * the history, not on the number of items. */
#include <math.h>
#include <omp.h>

#include "score/course.h"
#include "score/scoring.h"

/* Scratch of one thread. */
typedef struct sums {
    float *scores;    /* n; between lists all are `untouched` */
    int32_t *touched; /* n + 1: items with a sum, in the order of their first part */
    int32_t count;    /* of touched items */
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
static void add_row(const ease__sparse *rows, int32_t item, float x, sums *s)
{
    int32_t count = s->count;

    for (uint64_t at = rows->starts[item]; at < rows->starts[item + 1]; at++) {
        int32_t column = rows->columns[at];
        float part = rows->weights[at] * x + 0.0f, sum = s->scores[column];

        s->touched[count] = column;
        count += is_untouched(sum);
        s->scores[column] = sum + part;
    }
    s->count = count;
}

static void choose_touched(const sums *s, const ease__list_options *o, ease__topk *best)
{
    const float *factors = o->factors;
    const uint8_t *allowed = o->allowed;
    float least = ease__topk_least(best);

    for (int32_t t = 0; t < s->count; t++) {
        ease_rec rec = {s->touched[t], s->scores[s->touched[t]]};

        if (factors)
            rec.score *= factors[rec.item];
        if (rec.score < least || (allowed && !allowed[rec.item]))
            continue;
        ease__topk_offer_one(best, rec);
        least = ease__topk_least(best);
    }
}

/* Offers the other items, whose score is 0 with any factor, in ascending order, until
 * one is not chosen. */
static void choose_untouched(const sums *s, int32_t n, const uint8_t *allowed,
                             ease__topk *best)
{
    if (ease__topk_least(best) > 0)
        return;
    for (int32_t j = 0; j < n; j++)
        if (is_untouched(s->scores[j]) && (!allowed || allowed[j]) &&
            !ease__topk_offer_one(best, (ease_rec){j, 0}))
            return;
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
    int32_t n = m->info.items;
    ease__topk best = {.recs = recs, .capacity = ease__list_length(m, o)};

    for (int32_t h = 0; h < history.count; h++)
        add_row(&m->sparse, history.items[h], history.weights ? history.weights[h] : 1,
                s);
    for (int32_t h = 0; h < history.count && !o->keep_seen; h++)
        s->scores[history.items[h]] = -INFINITY;
    choose_touched(s, o, &best);
    choose_untouched(s, n, o->allowed, &best);
    ease__topk_sort(&best);
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
    ease__free(s);
}

static ease_status sums_new(const ease_model *m, void **out, ease_error *err)
{
    size_t n = (size_t)m->info.items;
    sums *s = ease__alloc_zero(1, sizeof(*s));

    if (s) {
        s->scores = ease__alloc_array(n, sizeof(*s->scores));
        s->touched = ease__alloc_array(n + 1, sizeof(*s->touched));
    }
    if (!s || !s->scores || !s->touched) {
        sums_free(s);
        return ease__fail(err, EASE_E_NOMEM, "scores of %d items", (int)n);
    }
    for (size_t j = 0; j < n; j++)
        s->scores[j] = untouched;
    *out = s;
    return EASE_OK;
}

/* With a base, untouched items have different scores: such a model is scored like a
 * dense one. */
static ease_status list_one(ease_scorer *s, ease_row history,
                            const ease__list_options *o, ease_rec *recs, int32_t *count,
                            ease_error *err)
{
    const ease_model *m = s->model;
    ease_status status;

    if (m->base) {
        status = ease__score_rows(s, history, EASE_NO_USER, err);
        if (!status)
            *count = ease__best_of_scores(m, history, o, s->scores, recs);
        return status;
    }
    status = ease__model_need_history(m, history, err);
    if (status)
        return status;
    *count = make_list(m, history, o, s->scratch, recs);
    return ease__container_unchanged(&m->file, err);
}

/* ---- many ------------------------------------------------------------------------ */

enum { USERS = 16 }; /* that a thread takes at a time */

static void list_block(const ease__list_job *l, int64_t first, sums *s)
{
    int64_t end = l->count - first > USERS ? first + USERS : l->count;

    for (int64_t u = first; u < end; u++)
        if (l->histories[u].count > 0)
            l->counts[u] = make_list(l->model, l->histories[u], l->o, s,
                                     ease__list_at(l, u));
        else
            ease__list_popular(l, u);
}

static ease_status list_blocks(const ease__list_job *l, int threads, void **scratches,
                               ease_error *err)
{
    ease__course c = {.hooks = l->o->hooks, .parts = (l->count + USERS - 1) / USERS};

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t b = 0; b < c.parts; b++) {
        if (ease__course_over(&c))
            continue;
        list_block(l, b * USERS, scratches[omp_get_thread_num()]);
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
    .explain = ease__explain_rows,
};
