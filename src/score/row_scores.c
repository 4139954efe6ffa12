/* Scoring of one history by models with rows of weights: a score is the base plus a sum
 * over the history. Models without weights, whose scores are the base, use it too. */
#include <string.h>

#include "score/scoring.h"

/* Adds rows of columns from .. to-1, one after the other. */
static void add_parts(const ease_model *m, ease_row history, int32_t from, int32_t to,
                      float *scores)
{
    for (int32_t h = 0; h < history.count; h++)
        ease__model_add_row(m, history.items[h],
                            history.weights ? history.weights[h] : 1.0f, from, to,
                            scores + from);
}

/* Adds the first n columns, a multiple of EASE__PANEL, of rows of floats or halves.
 * Several are read at once: the processor prefetches each of them, and sums stay in
 * registers meanwhile. */
static void add_streams(const ease_model *m, ease_row history, int32_t n, float *scores)
{
    const void *rows[EASE__STREAMS];

    for (int32_t from = 0; from < history.count; from += EASE__STREAMS) {
        ease__streams r = {.rows = rows};

        for (int32_t h = from; h < history.count && r.count < EASE__STREAMS; h++)
            rows[r.count++] = ease__row_at(m, history.items[h]);
        r.x = history.weights ? history.weights + from : NULL;
        if (m->form->store->halves)
            m->kernels->add_halves(scores, r, m->unit, (size_t)n);
        else
            m->kernels->add_floats(scores, r, (size_t)n);
    }
}

/* Adds the rows of the history, in its order, to the base. */
static void add_rows(const ease_model *m, ease_row history, float *scores)
{
    enum { STRETCH = 4096 }; /* columns that stay in the first-level cache */
    int32_t n = m->info.items, done = m->stride ? n - n % EASE__PANEL : 0;

    if (m->base)
        memcpy(scores, m->base, (size_t)n * sizeof(*scores));
    else
        memset(scores, 0, (size_t)n * sizeof(*scores));
    if (done)
        add_streams(m, history, done, scores);
    for (int32_t to; done < n; done = to) {
        to = n - done > STRETCH ? done + STRETCH : n;
        add_parts(m, history, done, to, scores);
    }
}

ease_status ease__score_rows(ease_scorer *s, ease_row history, int64_t user,
                             ease_error *err)
{
    ease_status status = ease__model_need_history(s->model, history, err);

    (void)user;
    if (status)
        return status;
    add_rows(s->model, history, s->scores);
    return ease__container_unchanged(&s->model->file, err);
}

ease_status ease__similar_rows(const ease_model *m, int32_t item, float *out,
                               ease_error *err)
{
    const float *to = ease__model_norm_to(m);
    ease_status status = ease_model_row(m, item, out, err);

    for (int32_t j = 0; !status && j < m->info.items && m->norm; j++)
        out[j] = (float)((double)out[j] * (double)to[j] / (double)m->norm[item]);
    return status;
}

ease_status ease__explain_rows(const ease_model *m, ease_row history, int32_t item,
                               ease_rec *reasons, float *score, ease_error *err)
{
    float sum = ease_model_base(m, item);

    for (int32_t h = 0; h < history.count; h++) {
        int32_t from = history.items[h];
        ease_status status = ease__model_need(
            m, (ease__window){from, from + 1, item, item + 1}, err);
        float part;

        if (status)
            return status;
        part = ease__model_weight(m, from, item);
        if (history.weights)
            part *= history.weights[h];
        reasons[h] = (ease_rec){from, part};
        sum += part;
    }
    *score = sum;
    return ease__container_unchanged(&m->file, err);
}

const ease__scoring ease__scoring_rows = {
    .score = ease__score_rows,
    .many = ease__panels_many,
    .similar = ease__similar_rows,
    .explain = ease__explain_rows,
};

/* Models without weights have no similarities. */
const ease__scoring ease__scoring_base = {
    .score = ease__score_rows,
    .many = ease__panels_many,
    .explain = ease__explain_rows,
};
