#include "model/row_reader.h"

#include <math.h>
#include <string.h>

#include "compute/topk.h"

enum { ROWS = 16 }; /* of packed weights, ROWS rows cost no more than one */

ease_status ease__row_reader_new(const ease_model *m, int32_t top,
                                 ease__row_reader *out, ease_error *err)
{
    size_t n = (size_t)m->info.items;
    bool dense = !m->form->store->nonzeros;

    *out = (ease__row_reader){.model = m, .top = top};
    if (dense)
        out->rows = ease__alloc_array(ease__size_mul(n, ROWS), sizeof(*out->rows));
    out->recs = ease__alloc_array(n, sizeof(*out->recs));
    if (top > 0)
        out->best = ease__alloc_array(n, sizeof(*out->best));
    if ((dense && !out->rows) || !out->recs || (top > 0 && !out->best))
        return ease__fail(err, EASE_E_NOMEM, "rows of %zu items", n);
    return EASE_OK;
}

void ease__row_reader_free(ease__row_reader *r)
{
    ease__free(r->rows);
    ease__free(r->recs);
    ease__free(r->best);
    *r = (ease__row_reader){0};
}

static ease_status read_dense(ease__row_reader *r, int32_t row, ease_error *err)
{
    const ease_model *m = r->model;
    int32_t n = m->info.items;
    ease__window w = {row, n - row > ROWS ? row + ROWS : n, 0, n};
    const float *weights = r->rows + (size_t)(row % ROWS) * (size_t)n;
    ease_status status = EASE_OK;

    if (row % ROWS == 0) {
        status = ease__model_need(m, w, err);
        if (!status)
            m->form->store->read(m, w, r->rows, (size_t)n);
    }
    r->count = 0;
    for (int32_t j = 0; !status && j < n; j++) {
        r->recs[r->count] = (ease_rec){j, weights[j]};
        r->count += weights[j] != 0;
    }
    return status;
}

static ease_status read_sparse(ease__row_reader *r, int32_t row, ease_error *err)
{
    const ease_model *m = r->model;
    ease_status status = ease__model_need(
        m, (ease__window){row, row + 1, 0, m->info.items}, err);

    if (!status)
        r->count = m->form->store->nonzeros(m, row, r->recs);
    return status;
}

static void keep_top(ease__row_reader *r)
{
    ease__topk best = {.recs = r->best, .capacity = r->top};

    for (int32_t k = 0; k < r->count; k++)
        ease__topk_offer_one(&best, (ease_rec){k, fabsf(r->recs[k].score)});
    ease__topk_sort(&best);
    for (int32_t k = 0; k < best.count; k++)
        best.recs[k] = r->recs[best.recs[k].item];
    r->count = best.count;
    memcpy(r->recs, best.recs, (size_t)best.count * sizeof(*best.recs));
}

ease_status ease__row_reader_read(ease__row_reader *r, int32_t row, ease_error *err)
{
    ease_status status = r->rows ? read_dense(r, row, err) : read_sparse(r, row, err);

    if (!status)
        status = ease__container_unchanged(&r->model->file, err);
    if (!status && r->top > 0)
        keep_top(r);
    return status;
}
