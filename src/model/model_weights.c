/* Operations on weights that are the same for every form. */
#include <math.h>

#include "model/model.h"

enum { PIECE = 1024 };

void ease__model_add_row(const ease_model *m, int32_t item, float weight, int32_t from,
                         int32_t to, float *scores)
{
    float scratch[PIECE];

    while (from < to) {
        int32_t end = to - from > PIECE ? from + PIECE : to;
        size_t count = (size_t)(end - from);
        const float *piece = scratch;

        if (m->form->store->in_place)
            piece = (const float *)ease__row_at(m, item) + from;
        else
            m->form->store->read(m, (ease__window){item, item + 1, from, end}, scratch,
                                 PIECE);
        if (weight == 1.0f)
            m->kernels->add(scores, piece, count);
        else
            m->kernels->add_times(scores, piece, weight, count);
        scores += count;
        from = end;
    }
}

float ease__model_weight(const ease_model *m, int32_t i, int32_t j)
{
    float weight;

    m->form->store->read(m, (ease__window){i, i + 1, j, j + 1}, &weight, 1);
    return weight;
}

ease_status ease__model_need(const ease_model *m, ease__window w, ease_error *err)
{
    ease_status status = ease__container_unchanged(&m->file, err);

    return status ? status : m->form->store->need(m, w, EASE__WHOLE, err);
}

ease_status ease__model_need_history(const ease_model *m, ease_row history,
                                     ease_error *err)
{
    ease_status status = ease__container_unchanged(&m->file, err);

    for (int32_t h = 0; m->stride && h < history.count; h++)
        ease__container_fetch(&m->file, ease__row_at(m, history.items[h]), m->stride);
    for (int32_t h = 0; !status && h < history.count; h++) {
        int32_t i = history.items[h];

        status = m->form->store->need(m, (ease__window){i, i + 1, 0, m->info.items},
                                      EASE__WHOLE, err);
    }
    return status;
}

ease_status ease_model_rows(const ease_model *m, const float **rows, size_t *stride,
                            ease_error *err)
{
    ease_status status;

    if (!m || !rows || !stride)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    if (!m->form->store->in_place) {
        *rows = NULL;
        return EASE_OK;
    }
    status = ease__container_need_all(&m->file, m->threads, NULL, err);
    if (!status)
        status = ease__container_unchanged(&m->file, err);
    if (status)
        return status;
    ease__container_lend(&m->file);
    *stride = m->stride;
    *rows = m->rows;
    return EASE_OK;
}

ease_status ease_model_row(const ease_model *m, int32_t item, float *out,
                           ease_error *err)
{
    int32_t n = ease_model_items(m);
    ease__window w = {.top = item, .right = n};
    ease_status status;

    if (!m || !out)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    if (item < 0 || item >= n) {
        for (int32_t j = 0; j < n; j++)
            out[j] = NAN;
        return EASE_OK;
    }
    w.bottom = item + 1;
    status = ease__model_need(m, w, err);
    if (status)
        return status;
    m->form->store->read(m, w, out, 0);
    return ease__container_unchanged(&m->file, err);
}
