/* Lists of weights become rows of a model. */
#include <stdlib.h>

#include "rivals/rivals.h"

ease_status ease__lists_new(int32_t rows, int32_t room, ease__lists *out,
                            ease_error *err)
{
    ease__lists l = {.rows = rows, .room = room};

    l.recs = ease__alloc_array(ease__size_mul((size_t)rows, (size_t)room),
                               sizeof(*l.recs));
    l.counts = ease__alloc_zero((size_t)rows, sizeof(*l.counts));
    if (!l.recs || !l.counts) {
        ease__lists_free(&l);
        return ease__fail(err, EASE_E_NOMEM, "%d weights for each of %d items",
                          (int)room, (int)rows);
    }
    *out = l;
    return EASE_OK;
}

void ease__lists_free(ease__lists *l)
{
    ease__free(l->recs);
    ease__free(l->counts);
    *l = (ease__lists){0};
}

static int by_item(const void *left, const void *right)
{
    const ease_rec *a = left, *b = right;

    return (a->item > b->item) - (a->item < b->item);
}

static uint64_t count_nonzero(const ease_rec *recs, int32_t count)
{
    uint64_t sum = 0;

    for (int32_t k = 0; k < count; k++)
        sum += recs[k].score != 0;
    return sum;
}

ease_status ease__lists_store(const ease__lists *l, ease_model *m, ease_error *err)
{
    uint64_t *starts = ease__alloc_array((size_t)l->rows + 1, sizeof(*starts)), at = 0;
    int32_t *columns;
    float *weights;

    m->sparse.starts = starts;
    if (!starts)
        return ease__fail(err, EASE_E_NOMEM, "rows of weights");
    for (int32_t i = 0; i < l->rows; i++) {
        starts[i] = at;
        at += count_nonzero(l->recs + (size_t)i * (size_t)l->room, l->counts[i]);
    }
    starts[l->rows] = at;
    columns = ease__alloc_array((size_t)at + 1, sizeof(*columns));
    weights = ease__alloc_array((size_t)at + 1, sizeof(*weights));
    m->sparse.columns = columns;
    m->sparse.weights = weights;
    if (!columns || !weights)
        return ease__fail(err, EASE_E_NOMEM, "%llu weights", (unsigned long long)at);
    for (int32_t i = 0; i < l->rows; i++) {
        ease_rec *row = l->recs + (size_t)i * (size_t)l->room;

        qsort(row, (size_t)l->counts[i], sizeof(*row), by_item);
        at = starts[i];
        for (int32_t k = 0; k < l->counts[i]; k++)
            if (row[k].score != 0) {
                columns[at] = row[k].item;
                weights[at++] = row[k].score;
            }
    }
    return EASE_OK;
}
