/* One history: recommend, explain, similar. */
#include "score/score.h"

#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "score/known_lists.h"
#include "score/latent_scores.h"
#include "score/sparse_many.h"

struct ease_scorer {
    const ease_model *model; /* borrowed */
    float *scores;           /* n */
    ease__encode_room room;  /* for latent models */
    ease__sparse_room sums;  /* for sparse ones */
};

void ease_recommend_options_defaults(ease_recommend_options *o)
{
    static const ease_recommend_options defaults = {.k = 10};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

ease_status ease__recommend_options_take(const ease_recommend_options *given,
                                         ease_recommend_options *out, ease_error *err)
{
    ease_status status = EASE__OPTIONS_TAKE(ease_recommend_options, out, given, err);

    if (!status)
        status = ease__threads_check(out->threads, err);
    if (!status && out->k < 1)
        status = ease__fail(err, EASE_E_ARG, "k is %d, and must be at least 1",
                            (int)out->k);
    return status;
}

static ease_status bad_history(int64_t number, int32_t at, const char *what,
                               ease_error *err)
{
    if (number < 0)
        return ease__fail_at(err, EASE_E_ARG, at, "history, place %d: %s", (int)at,
                             what);
    return ease__fail_at(err, EASE_E_ARG, number, "history %lld, place %d: %s",
                         (long long)number, (int)at, what);
}

ease_status ease__history_check(const ease_model *m, ease_row history, int64_t number,
                                ease_error *err)
{
    int32_t previous = -1;

    if (history.count < 0 || (history.count > 0 && !history.items))
        return bad_history(number, 0, "no items where there should be", err);
    for (int32_t h = 0; h < history.count; h++) {
        int32_t item = history.items[h];

        if (item < 0 || item >= m->info.items)
            return bad_history(number, h, "no item of this model", err);
        if (item <= previous)
            return bad_history(number, h, "items are not strictly increasing", err);
        if (history.weights && !isfinite(history.weights[h]))
            return bad_history(number, h, "its weight is not finite", err);
        previous = item;
    }
    return EASE_OK;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

int32_t ease__popular(const ease_model *m, const ease_recommend_options *o,
                      float *scores, ease_rec *recs)
{
    int32_t n = m->info.items;
    double users = m->info.users > 0 ? (double)m->info.users : 1.0;
    ease__topk best = {.recs = recs, .capacity = smaller(o->k, n)};

    for (int32_t j = 0; j < n; j++)
        scores[j] = (float)(m->popularity[j] / users);
    ease__topk_offer(&best, scores, 0, n, o->allowed);
    ease__topk_sort(&best);
    return best.count;
}

ease_status ease_scorer_new(const ease_model *m, ease_scorer **out, ease_error *err)
{
    ease_scorer *s;
    ease_status status;

    if (!m || !out)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    s = ease__alloc_zero(1, sizeof(*s));
    if (!s)
        goto no_memory;
    s->model = m;
    s->scores = ease__alloc_array((size_t)m->info.items, sizeof(*s->scores));
    if (!s->scores)
        goto no_memory;
    status = ease__is_latent(m)   ? ease__encode_room_new(m, &s->room, err)
             : ease__is_sparse(m) ? ease__sparse_room_new(m, &s->sums, err)
                                  : EASE_OK;
    if (status)
        ease_scorer_free(s);
    else
        *out = s;
    return status;

no_memory:
    ease_scorer_free(s);
    return ease__fail(err, EASE_E_NOMEM, "scorer for %d items", (int)m->info.items);
}

void ease_scorer_free(ease_scorer *s)
{
    if (!s)
        return;
    ease__free(s->scores);
    ease__encode_room_free(&s->room);
    ease__sparse_room_free(&s->sums);
    ease__free(s);
}

static void score_latent(ease_scorer *s, ease_row history)
{
    int32_t n = s->model->info.items;

    ease__encode(s->model, &history, 1, &s->room);
    for (int32_t left = 0, step; left < n; left += step) {
        step = ease__decode(s->model, &s->room, left);
        memcpy(s->scores + left, ease__decoded(&s->room, 0),
               (size_t)step * sizeof(*s->scores));
    }
}

/* base + the history's rows in its order, in stretches that stay in the first cache. */
static void score_all(const ease_model *m, ease_row history, float *scores)
{
    enum { STRETCH = 4096 };
    int32_t n = m->info.items;

    for (int32_t from = 0, to; from < n; from = to) {
        float *part = scores + from;

        to = n - from > STRETCH ? from + STRETCH : n;
        if (m->base)
            memcpy(part, m->base + from, (size_t)(to - from) * sizeof(*part));
        else
            memset(part, 0, (size_t)(to - from) * sizeof(*part));
        for (int32_t h = 0; h < history.count; h++)
            ease__model_add_row(m, history.items[h],
                                history.weights ? history.weights[h] : 1.0f, from, to,
                                part);
    }
}

/* Scores all items. Fails if the model's file is damaged. */
static ease_status score(ease_scorer *s, ease_row history, ease_error *err)
{
    const ease_model *m = s->model;
    bool latent = ease__is_latent(m);
    ease_status status = latent ? ease__encode_need(m, history, err)
                                : ease__model_need_history(m, history, err);

    if (status)
        return status;
    if (latent)
        score_latent(s, history);
    else
        score_all(m, history, s->scores);
    return ease__container_unchanged(&m->file, err);
}

static ease_status recommend_sparse(ease_scorer *s, ease_row history,
                                    const ease_recommend_options *o, ease_rec *recs,
                                    int32_t *count, ease_error *err)
{
    ease_status status = ease__model_need_history(s->model, history, err);

    if (status)
        return status;
    *count = ease__recommend_row(s->model, history, o, &s->sums, recs);
    return ease__container_unchanged(&s->model->file, err);
}

ease_status ease_recommend(ease_scorer *s, ease_row history,
                           const ease_recommend_options *given, ease_rec *recs,
                           int32_t *count, ease_error *err)
{
    ease_recommend_options o;
    ease__topk best = {.recs = recs};
    ease_status status;

    if (!s || !recs || !count)
        return ease__fail(err, EASE_E_ARG, "a scorer and room for a list are required");
    status = ease__recommend_options_take(given, &o, err);
    if (!status)
        status = ease__history_check(s->model, history, -1, err);
    if (!status && ease__is_known(s->model))
        status = ease__known_check(s->model, o.users, 1, err);
    if (status)
        return status;
    if (ease__is_known(s->model)) {
        o.threads = 1;
        o.hooks = NULL;
        return ease__recommend_known(s->model, &history, 1, &o, recs, count, err);
    }
    if (history.count == 0) {
        *count = ease__popular(s->model, &o, s->scores, recs);
        return EASE_OK;
    }
    if (ease__is_sparse(s->model))
        return recommend_sparse(s, history, &o, recs, count, err);
    status = score(s, history, err);
    if (status)
        return status;
    if (!o.keep_seen)
        for (int32_t h = 0; h < history.count; h++)
            s->scores[history.items[h]] = -INFINITY;
    best.capacity = smaller(o.k, s->model->info.items);
    ease__topk_offer(&best, s->scores, 0, s->model->info.items, o.allowed);
    ease__topk_sort(&best);
    *count = best.count;
    return EASE_OK;
}

/* The cosine of the items' numbers. */
static void like_latent(const ease_model *m, int32_t item, float *out)
{
    size_t rank = (size_t)ease__latent_rank(&m->latent.shape);
    const float *own = m->latent.decoder + (size_t)item * rank;

    for (int32_t j = 0; j < m->info.items; j++) {
        const float *v = m->latent.decoder + (size_t)j * rank;
        double dot = 0, left = 0, right = 0, size;

        for (size_t k = 0; k < rank; k++) {
            dot += (double)own[k] * (double)v[k];
            left += (double)own[k] * (double)own[k];
            right += (double)v[k] * (double)v[k];
        }
        size = sqrt(left) * sqrt(right);
        out[j] = size > 0 ? (float)(dot / size) : 0;
    }
}

static ease_status like(const ease_model *m, int32_t item, float *out, ease_error *err)
{
    ease_status status;

    if (ease__is_latent(m)) {
        status = ease__encode_need(m, (ease_row){0}, err);
        if (status)
            return status;
        like_latent(m, item, out);
        return ease__container_unchanged(&m->file, err);
    }
    status = ease_model_row(m, item, out, err);
    if (status)
        return status;
    for (int32_t j = 0; j < m->info.items && m->norm; j++)
        out[j] = (float)((double)out[j] * (double)m->norm[j] / (double)m->norm[item]);
    return EASE_OK;
}

ease_status ease_similar(ease_scorer *s, int32_t item,
                         const ease_recommend_options *given, ease_rec *recs,
                         int32_t *count, ease_error *err)
{
    ease_recommend_options o;
    ease__topk best = {.recs = recs};
    ease_status status;

    if (!s || !recs || !count || item < 0 || item >= s->model->info.items)
        return ease__fail(err, EASE_E_ARG,
                          "a scorer, an item of its model and room for "
                          "a list are required");
    status = ease__recommend_options_take(given, &o, err);
    if (!status && !ease__is_latent(s->model))
        status = ease__model_needs_weights(s->model, "similarity", err);
    if (!status)
        status = like(s->model, item, s->scores, err);
    if (status)
        return status;
    s->scores[item] = -INFINITY; /* like itself it is, but that is no news */
    best.capacity = smaller(o.k, s->model->info.items);
    ease__topk_offer(&best, s->scores, 0, s->model->info.items, o.allowed);
    ease__topk_sort(&best);
    *count = best.count;
    return EASE_OK;
}

ease_status ease_explain(ease_scorer *s, ease_row history, int32_t item,
                         ease_rec *reasons, float *base, float *score, ease_error *err)
{
    float sum;
    ease_status status;

    if (!s || !base || !score || (history.count > 0 && !reasons) || item < 0 ||
        item >= s->model->info.items)
        return ease__fail(err, EASE_E_ARG,
                          "a scorer, an item of its model and room for "
                          "the reasons are required");
    status = ease__history_check(s->model, history, -1, err);
    if (!status && (ease__is_latent(s->model) || ease__is_known(s->model)))
        status = ease__model_needs_weights(s->model, "explaining", err);
    if (status)
        return status;
    sum = ease_model_base(s->model, item);
    for (int32_t h = 0; h < history.count; h++) {
        int32_t from = history.items[h];
        float part;

        status = ease__model_need(s->model,
                                  (ease__window){from, from + 1, item, item + 1}, err);
        if (status)
            return status;
        part = ease__model_weight(s->model, from, item);
        if (history.weights)
            part *= history.weights[h];
        reasons[h] = (ease_rec){history.items[h], part};
        sum += part;
    }
    status = ease__container_unchanged(&s->model->file, err);
    if (status)
        return status;
    *base = ease_model_base(s->model, item);
    *score = sum;
    return EASE_OK;
}
