/* ease_recommend, ease_similar and ease_explain: the parts that are the same for every
 * form. */
#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "score/caps.h"

void ease_recommend_options_defaults(ease_recommend_options *o)
{
    static const ease_recommend_options defaults = {.k = 10};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

/* Takes the options given, or the defaults. *out lacks the factors. */
static ease_status take_options(const ease_recommend_options *given,
                                ease_recommend_options *taken, ease__list_options *out,
                                ease_error *err)
{
    ease_status status = EASE__OPTIONS_TAKE(ease_recommend_options, taken, given, err);

    if (!status)
        status = ease__threads_check(taken->threads, err);
    if (!status && taken->k < 1)
        status = ease__fail(err, EASE_E_ARG, "k is %d, and must be at least 1",
                            (int)taken->k);
    if (!status && !ease__popularity_power_is_valid(taken->popularity_power))
        status = ease__fail(err, EASE_E_ARG,
                            "the power of popularity is %g, and must be within -10 .. "
                            "10",
                            taken->popularity_power);
    if (!status && (taken->cap_count < 0 || (taken->cap_count > 0 && !taken->caps)))
        status = ease__fail(err, EASE_E_ARG, "no caps where there should be");
    *out = (ease__list_options){.k = taken->k,
                                .keep_seen = taken->keep_seen,
                                .allowed = taken->allowed,
                                .users = taken->users,
                                .threads = taken->threads,
                                .hooks = taken->hooks,
                                .denied = taken->denied};
    return status;
}

/* A row of a call, for messages. */
typedef struct named_row {
    const char *name; /* "history", "denied row" */
    int64_t number;   /* -1: the only one */
} named_row;

static ease_status bad_row(named_row of, int32_t at, const char *what, ease_error *err)
{
    if (of.number < 0)
        return ease__fail_at(err, EASE_E_ARG, at, "%s, place %d: %s", of.name, (int)at,
                             what);
    return ease__fail_at(err, EASE_E_ARG, of.number, "%s %lld, place %d: %s", of.name,
                         (long long)of.number, (int)at, what);
}

/* Items strictly increasing and of this model, weights finite. */
static ease_status check_row(const ease_model *m, ease_row row, named_row of,
                             ease_error *err)
{
    int32_t previous = -1;

    if (row.count < 0 || (row.count > 0 && !row.items))
        return bad_row(of, 0, "no items where there should be", err);
    for (int32_t h = 0; h < row.count; h++) {
        int32_t item = row.items[h];

        if (item < 0 || item >= m->info.items)
            return bad_row(of, h, "no item of this model", err);
        if (item <= previous)
            return bad_row(of, h, "items are not strictly increasing", err);
        if (row.weights && !isfinite(row.weights[h]))
            return bad_row(of, h, "its weight is not finite", err);
        previous = item;
    }
    return EASE_OK;
}

static ease_status check_history(const ease_model *m, ease_row history, int64_t number,
                                 ease_error *err)
{
    return check_row(m, history, (named_row){"history", number}, err);
}

/* Denied rows (NULL: none) have the rules of histories, but no weights. */
static ease_status check_denied(const ease_model *m, const ease__list_options *o,
                                int64_t count, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int64_t u = 0; o->denied && !status && u < count; u++) {
        ease_row row = {.items = o->denied[u].items, .count = o->denied[u].count};

        status = check_row(m, row, (named_row){"denied row", u}, err);
    }
    return status;
}

static ease_status check_users(const ease_model *m, const ease__list_options *o,
                               int64_t count, ease_error *err)
{
    const ease__scoring *f = m->form->scoring;

    return f->check_users ? f->check_users(m, o->users, count, err) : EASE_OK;
}

/* ---- lists ----------------------------------------------------------------------- */

/* Writes the scores of all items for an empty history, their shares of users. */
static void score_popular(const ease_model *m, float *scores)
{
    for (int32_t j = 0; j < m->info.items; j++)
        scores[j] = ease__share_of_users(m, j);
}

/* Makes the list of empty histories. `scores` is scratch of n. */
static int32_t list_popular(const ease_model *m, const ease__list_options *o,
                            float *scores, ease_rec *recs)
{
    score_popular(m, scores);
    return ease__best_of_scores(m, (ease_row){0}, o, scores, recs);
}

void ease__list_popular(const ease__list_job *l, int64_t u)
{
    memcpy(ease__list_at(l, u), l->popular,
           (size_t)l->popular_count * sizeof(*l->popular));
    l->counts[u] = l->popular_count;
}

/* Multiplies scores by their factors, and excludes the items of the history. */
static void finish_scores(const ease_model *m, ease_row history,
                          const ease__list_options *o, float *scores)
{
    for (int32_t j = 0; o->factors && j < m->info.items; j++)
        scores[j] *= o->factors[j];
    for (int32_t h = 0; h < history.count && !o->keep_seen; h++)
        scores[history.items[h]] = -INFINITY;
}

int32_t ease__best_of_scores(const ease_model *m, ease_row history,
                             const ease__list_options *o, float *scores, ease_rec *recs)
{
    ease__topk best = {.recs = recs, .capacity = ease__list_length(m, o)};

    finish_scores(m, history, o, scores);
    ease__choose_best(m, scores, o->allowed, &best);
    return best.count;
}

static ease_status raw_scores(ease_scorer *s, const ease__list_job *l, int64_t u,
                              ease_error *err)
{
    const ease__form *form = s->model->form;
    ease_row history = l->histories[u];

    if (l->similar)
        return form->scoring->similar(s->model, history.items[0], s->scores, err);
    if (history.count > 0 || form->known_users)
        return form->scoring->score(s, history,
                                    l->o->users ? l->o->users[u] : EASE_NO_USER, err);
    score_popular(s->model, s->scores);
    return EASE_OK;
}

ease_status ease__final_scores(ease_scorer *s, const ease__list_job *l, int64_t u,
                               ease_error *err)
{
    ease_status status = raw_scores(s, l, u, err);

    if (!status)
        finish_scores(s->model, l->histories[u], l->o, s->scores);
    return status;
}

/* ---- one history ----------------------------------------------------------------- */

ease_status ease_scorer_new(const ease_model *m, ease_scorer **out, ease_error *err)
{
    ease_scorer *s;
    ease_status status = EASE_OK;

    if (!m || !out)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    s = ease__alloc_zero(1, sizeof(*s));
    if (!s)
        goto no_memory;
    s->model = m;
    s->scores = ease__alloc_array((size_t)m->info.items, sizeof(*s->scores));
    if (!s->scores)
        goto no_memory;
    if (m->form->scoring->scratch_new)
        status = m->form->scoring->scratch_new(m, &s->scratch, err);
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
    if (s->scratch)
        s->model->form->scoring->scratch_free(s->scratch);
    ease__free(s->scores);
    ease__free(s->factors);
    ease__free(s);
}

/* Sets *out to the factors for a power, which the scorer keeps for the next call. */
static ease_status prepare_factors(ease_scorer *s, double power, const float **out,
                                   ease_error *err)
{
    ease_status status = EASE_OK;

    if (power == 0)
        return EASE_OK;
    if (s->factors && s->power != power) {
        ease__free(s->factors);
        s->factors = NULL;
    }
    if (!s->factors)
        status = ease__popularity_factors(s->model, power, &s->factors, err);
    s->power = power;
    *out = s->factors;
    return status;
}

/* Makes the only list of a job by its scorer. */
static ease_status make_single(const ease__list_job *l, ease_error *err)
{
    ease_scorer *s = l->scorer;
    const ease__scoring *f = s->model->form->scoring;
    ease_row history = l->histories[0];
    ease_status status;

    if (l->similar && f->list_similar && !s->model->base)
        return f->list_similar(s, history, l->o, l->recs, l->counts, err);
    if (f->list && !l->similar && history.count > 0)
        return f->list(s, history, l->o, l->recs, l->counts, err);
    status = raw_scores(s, l, 0, err);
    if (!status)
        l->counts[0] = ease__best_of_scores(s->model, history, l->o, s->scores,
                                            l->recs);
    return status;
}

/* Makes a single list with factors, caps and denied items. */
static ease_status run_single(const ease__list_job *l,
                              const ease_recommend_options *given,
                              ease__list_options *o, ease_error *err)
{
    ease__caps *caps = NULL;
    ease_status status = prepare_factors(l->scorer, given->popularity_power,
                                         &o->factors, err);

    o->threads = 1;
    o->hooks = NULL;
    if (!status && given->cap_count > 0)
        status = ease__caps_new(l->model, given->caps, given->cap_count, &caps, err);
    if (!status)
        status = caps || o->denied ? ease__chosen_lists(l, caps, make_single, err)
                                   : make_single(l, err);
    ease__caps_free(caps);
    return status;
}

ease_status ease_recommend(ease_scorer *s, ease_row history,
                           const ease_recommend_options *given, ease_rec *recs,
                           int32_t *count, ease_error *err)
{
    ease_recommend_options taken;
    ease__list_options o;
    ease__list_job l = {.histories = &history,
                        .count = 1,
                        .o = &o,
                        .recs = recs,
                        .counts = count,
                        .scorer = s};
    ease_status status;

    if (!s || !recs || !count)
        return ease__fail(err, EASE_E_ARG,
                          "a scorer and memory for a list are required");
    l.model = s->model;
    status = take_options(given, &taken, &o, err);
    if (!status)
        status = check_history(s->model, history, -1, err);
    if (!status)
        status = check_denied(s->model, &o, 1, err);
    if (!status)
        status = check_users(s->model, &o, 1, err);
    return status ? status : run_single(&l, &taken, &o, err);
}

static ease_status cannot(const ease_model *m, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_ARG, "%s needs weights, which a model of %s has not",
                      what, m->info.method);
}

ease_status ease_similar(ease_scorer *s, int32_t item,
                         const ease_recommend_options *given, ease_rec *recs,
                         int32_t *count, ease_error *err)
{
    ease_row itself = {.items = &item, .count = 1};
    ease_recommend_options taken;
    ease__list_options o;
    ease__list_job l = {.histories = &itself,
                        .count = 1,
                        .o = &o,
                        .recs = recs,
                        .counts = count,
                        .scorer = s,
                        .similar = true};
    ease_status status;

    if (!s || !recs || !count || item < 0 || item >= s->model->info.items)
        return ease__fail(err, EASE_E_ARG,
                          "a scorer, an item of its model and memory for a list are "
                          "required");
    l.model = s->model;
    status = take_options(given, &taken, &o, err);
    if (!status && !s->model->form->scoring->similar)
        status = cannot(s->model, "similarity", err);
    if (!status)
        status = check_denied(s->model, &o, 1, err);
    o.keep_seen = 0; /* never list the item itself */
    return status ? status : run_single(&l, &taken, &o, err);
}

ease_status ease_explain(ease_scorer *s, ease_row history, int32_t item,
                         ease_rec *reasons, float *base, float *score, ease_error *err)
{
    ease_status status;
    float sum = 0;

    if (!s || !base || !score || (history.count > 0 && !reasons) || item < 0 ||
        item >= s->model->info.items)
        return ease__fail(err, EASE_E_ARG,
                          "a scorer, an item of its model and memory for the reasons "
                          "are required");
    status = check_history(s->model, history, -1, err);
    if (!status)
        status = s->model->form->scoring->explain
                     ? s->model->form->scoring->explain(s->model, history, item,
                                                        reasons, &sum, err)
                     : cannot(s->model, "explaining", err);
    if (status)
        return status;
    *base = ease_model_base(s->model, item);
    *score = sum;
    return EASE_OK;
}

/* ---- many histories -------------------------------------------------------------- */

void ease__scratches_free(const ease_model *m, int threads, void **scratches)
{
    for (int t = 0; scratches && t < threads; t++)
        m->form->scoring->scratch_free(scratches[t]);
    ease__free(scratches);
}

ease_status ease__scratches_new(const ease_model *m, int threads, void ***out,
                                ease_error *err)
{
    void **made = ease__alloc_zero((size_t)threads, sizeof(*made));
    ease_status status = made ? EASE_OK
                              : ease__fail(err, EASE_E_NOMEM, "%d threads", threads);

    for (int t = 0; !status && t < threads; t++)
        status = m->form->scoring->scratch_new(m, &made[t], err);
    if (status)
        ease__scratches_free(m, threads, made);
    else
        *out = made;
    return status;
}

static ease_status check_all(const ease__list_job *l, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int64_t u = 0; !status && u < l->count; u++)
        status = check_history(l->model, l->histories[u], u, err);
    if (!status)
        status = check_denied(l->model, l->o, l->count, err);
    return status ? status : check_users(l->model, l->o, l->count, err);
}

/* Runs `many` with the list for empty histories. */
static ease_status run_with_popular(ease__list_job *l, ease_error *err)
{
    size_t n = (size_t)l->model->info.items;
    float *scores = ease__alloc_array(n, sizeof(*scores));
    ease_rec *popular = ease__alloc_array(n, sizeof(*popular));
    ease_status status;

    if (scores && popular) {
        l->popular_count = list_popular(l->model, l->o, scores, popular);
        l->popular = popular;
        status = l->model->form->scoring->many(l, err);
    } else {
        status = ease__fail(err, EASE_E_NOMEM, "scoring %lld histories of %d items",
                            (long long)l->count, (int)n);
    }
    ease__free(scores);
    ease__free(popular);
    return status;
}

/* Makes all lists of a job. */
static ease_status make_many(const ease__list_job *l, ease_error *err)
{
    ease__list_job job = *l;

    return l->model->form->known_users ? l->model->form->scoring->many(&job, err)
                                       : run_with_popular(&job, err);
}

/* Makes all lists with factors, caps and denied items. */
static ease_status run_many(const ease_model *m, const ease_recommend_options *given,
                            ease__list_options *o, const ease__list_job *l,
                            ease_error *err)
{
    float *factors = NULL;
    ease__caps *caps = NULL;
    ease_status status = EASE_OK;

    if (given->popularity_power != 0)
        status = ease__popularity_factors(m, given->popularity_power, &factors, err);
    o->factors = factors;
    if (!status && given->cap_count > 0)
        status = ease__caps_new(m, given->caps, given->cap_count, &caps, err);
    if (!status)
        status = caps || o->denied ? ease__chosen_lists(l, caps, make_many, err)
                                   : make_many(l, err);
    ease__free(factors);
    ease__caps_free(caps);
    return status;
}

ease_status ease_recommend_many(const ease_model *m, const ease_row *histories,
                                int64_t count, const ease_recommend_options *given,
                                ease_rec *recs, int32_t *counts, ease_error *err)
{
    ease_recommend_options taken;
    ease__list_options o;
    ease__list_job l = {.model = m,
                        .histories = histories,
                        .count = count,
                        .o = &o,
                        .recs = recs,
                        .counts = counts};
    ease_status status;

    if (!m || count < 0 || (count > 0 && (!histories || !recs || !counts)))
        return ease__fail(err, EASE_E_ARG,
                          "a model, histories and memory for their lists are "
                          "required");
    status = take_options(given, &taken, &o, err);
    if (!status)
        status = check_all(&l, err);
    return status ? status : run_many(m, &taken, &o, &l, err);
}
