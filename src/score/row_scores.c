/* Scoring of one history by models with rows of weights: a score is the base plus a sum
 * over the history. Models without weights, whose scores are the base, use it too. */
#include <string.h>

#include "score/scoring.h"

/* Adds the rows of the history, in its order, to the base, in ranges of columns that
 * stay in the first-level cache. */
static void add_rows(const ease_model *m, ease_row history, float *scores)
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
