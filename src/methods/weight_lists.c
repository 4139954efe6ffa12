/* Makes the rows of a sparse model from lists of weights. */
#include <math.h>
#include <string.h>

#include "methods/methods.h"

ease_status ease__lists_new(int32_t rows, int32_t capacity, ease__lists *out,
                            ease_error *err)
{
    ease__lists l = {.rows = rows, .capacity = capacity};
    size_t most = ease__size_mul((size_t)rows, (size_t)capacity);

    l.columns = ease__alloc_array(ease__size_add(most, 1), sizeof(*l.columns));
    l.weights = ease__alloc_array(ease__size_add(most, 1), sizeof(*l.weights));
    l.counts = ease__alloc_zero((size_t)rows, sizeof(*l.counts));
    if (!l.columns || !l.weights || !l.counts) {
        ease__lists_free(&l);
        return ease__fail(err, EASE_E_NOMEM, "%d weights for each of %d items",
                          (int)capacity, (int)rows);
    }
    *out = l;
    return EASE_OK;
}

void ease__lists_free(ease__lists *l)
{
    ease__free(l->columns);
    ease__free(l->weights);
    ease__free(l->counts);
    *l = (ease__lists){0};
}

/* Removes the gaps between rows. */
static void close_gaps(ease__lists *l, uint64_t *starts)
{
    uint64_t at = 0;

    for (int32_t i = 0; i < l->rows; i++) {
        size_t from = (size_t)i * (size_t)l->capacity, count = (size_t)l->counts[i];

        starts[i] = at;
        if (at < from) {
            memmove(l->columns + at, l->columns + from, count * sizeof(*l->columns));
            memmove(l->weights + at, l->weights + from, count * sizeof(*l->weights));
        }
        at += count;
    }
    starts[l->rows] = at;
}

ease_status ease__lists_store(ease__lists *l, ease_model *m, ease_error *err)
{
    uint64_t *starts = ease__alloc_array((size_t)l->rows + 1, sizeof(*starts));
    int32_t *columns;
    float *weights;
    size_t count;

    m->sparse.starts = starts;
    if (!starts)
        return ease__fail(err, EASE_E_NOMEM, "rows of weights");
    close_gaps(l, starts);
    count = (size_t)starts[l->rows] + 1;
    /* If shrinking fails, the array stays as it is. */
    columns = ease__realloc_array(l->columns, count, sizeof(*columns));
    weights = ease__realloc_array(l->weights, count, sizeof(*weights));
    m->sparse.columns = columns ? columns : l->columns;
    m->sparse.weights = weights ? weights : l->weights;
    l->columns = NULL;
    l->weights = NULL;
    return EASE_OK;
}

/* ---- columns ------------------------------------------------------------------ */

/* Allocates the rows of a model; row i begins at starts[i]. */
static ease_status allocate_rows(const uint64_t *starts, int32_t rows,
                                 int32_t **columns, float **weights, ease_model *m,
                                 ease_error *err)
{
    size_t count = (size_t)starts[rows];

    *columns = ease__alloc_array(count + 1, sizeof(**columns));
    *weights = ease__alloc_array(count + 1, sizeof(**weights));
    m->sparse.columns = *columns;
    m->sparse.weights = *weights;
    if (!*columns || !*weights)
        return ease__fail(err, EASE_E_NOMEM, "%zu weights", count);
    return EASE_OK;
}

ease_status ease__ragged_new(int32_t items, ease__ragged *out, ease_error *err)
{
    *out = (ease__ragged){
        .items = items,
        .columns = ease__alloc_zero((size_t)items, sizeof(*out->columns)),
    };
    return out->columns
               ? EASE_OK
               : ease__fail(err, EASE_E_NOMEM, "columns of %d items", (int)items);
}

ease_status ease__ragged_reserve(ease__ragged *r, size_t weights, ease_error *err)
{
    r->block_bytes = ease__size_mul(weights, sizeof(*r->block));
    r->block = ease__alloc_pages(r->block_bytes);
    return r->block ? EASE_OK : ease__fail(err, EASE_E_NOMEM, "%zu weights", weights);
}

ease_rec *ease__ragged_take(ease__ragged *r, int32_t count)
{
    return r->block +
           atomic_fetch_add_explicit(&r->used, (size_t)count, memory_order_relaxed);
}

void ease__ragged_free(ease__ragged *r)
{
    for (int32_t j = 0; !r->block && r->columns && j < r->items; j++)
        ease__free(r->columns[j].recs);
    ease__free_pages(r->block, r->block_bytes);
    ease__free(r->columns);
    *r = (ease__ragged){0};
}

static void count_rows(const ease__ragged *r, uint64_t *starts)
{
    for (int32_t j = 0; j < r->items; j++)
        for (int32_t k = 0; k < r->columns[j].count; k++)
            starts[r->columns[j].recs[k].item + 1]++;
    for (int32_t i = 0; i < r->items; i++)
        starts[i + 1] += starts[i];
}

/* Columns between two checks of whether to go on. */
enum { COLUMNS_A_STEP = 1 << 14 };

ease_status ease__ragged_transpose(const ease__ragged *r, const ease_hooks *hooks,
                                   ease_model *m, ease_error *err)
{
    uint64_t *starts = ease__alloc_zero((size_t)r->items + 1, sizeof(*starts));
    int32_t *columns;
    float *weights;
    ease_status status;

    m->sparse.starts = starts;
    if (!starts)
        return ease__fail(err, EASE_E_NOMEM, "rows of weights");
    count_rows(r, starts);
    status = allocate_rows(starts, r->items, &columns, &weights, m, err);
    if (status)
        return status;
    for (int32_t j = 0; j < r->items; j++) {
        if (j % COLUMNS_A_STEP == 0 &&
            ease__progress(hooks, "transposing", (double)j / (double)r->items))
            return ease__cancelled(err);
        for (int32_t k = 0; k < r->columns[j].count; k++) {
            uint64_t at = starts[r->columns[j].recs[k].item]++;

            columns[at] = j;
            weights[at] = r->columns[j].recs[k].score;
        }
    }
    /* Each start has advanced to the end of its row, which is the next start. */
    memmove(starts + 1, starts, (size_t)r->items * sizeof(*starts));
    starts[0] = 0;
    return EASE_OK;
}

/* ---- rows --------------------------------------------------------------------- */

static void multiply_rows(const ease__sparse *w, int32_t items, const float *from,
                          const double *s, const double *t, float *to)
{
    for (int32_t i = 0; i < items; i++)
        for (uint64_t at = w->starts[i]; at < w->starts[i + 1]; at++)
            to[at] = (float)((double)from[at] * (s[i] * t[w->columns[at]]));
}

ease_status ease__sparse_scale(const ease__family *f, const ease_interactions *x,
                               const float *from, ease_model *m, ease_error *err)
{
    size_t n = (size_t)x->items, count = (size_t)m->sparse.starts[n];
    double *counts = ease__alloc_zero(3 * n, sizeof(*counts));
    float *to = ease__alloc_array(count + 1, sizeof(*to));

    if (!counts || !to) {
        ease__free(counts);
        ease__free(to);
        return ease__fail(err, EASE_E_NOMEM, "%zu weights", count);
    }
    for (int64_t at = 0; at < x->nnz; at++)
        counts[x->cols[at]]++;
    ease__family_factors(f, counts, x->items, counts + n, counts + 2 * n);
    multiply_rows(&m->sparse, x->items, from, counts + n, counts + 2 * n, to);
    ease__free(counts);
    ease__free_const(m->sparse.weights);
    m->sparse.weights = to;
    return EASE_OK;
}

ease_status ease__sparse_check(const ease_model *m, ease_error *err)
{
    const ease__sparse *s = &m->sparse;

    for (uint64_t at = 0; at < s->starts[m->info.items]; at++)
        if (!isfinite(s->weights[at]))
            return ease__fail(err, EASE_E_ACCURACY,
                              "a weight is not finite: the values of the data "
                              "are too far apart");
    return EASE_OK;
}
