/* Lists of weights become rows of a model. */
#include <string.h>

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

/* Shell's sort: lists are short, and the library's sort calls a function to compare. */
void ease__lists_sort(ease__lists *l, int32_t row)
{
    static const int32_t gaps[] = {29524, 9841, 3280, 1093, 364, 121, 40, 13, 4, 1};
    ease_rec *recs = l->recs + (size_t)row * (size_t)l->room;

    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++)
        for (int32_t k = gaps[g]; k < l->counts[row]; k++) {
            ease_rec r = recs[k];
            int32_t at = k;

            for (; at >= gaps[g] && recs[at - gaps[g]].item > r.item; at -= gaps[g])
                recs[at] = recs[at - gaps[g]];
            recs[at] = r;
        }
}

static uint64_t count_nonzero(const ease_rec *recs, int32_t count)
{
    uint64_t sum = 0;

    for (int32_t k = 0; k < count; k++)
        sum += recs[k].score != 0;
    return sum;
}

/* Room for rows that are `starts` apart, in the model. */
static ease_status make_room(const uint64_t *starts, int32_t rows, int32_t **columns,
                             float **weights, ease_model *m, ease_error *err)
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

ease_status ease__lists_store(const ease__lists *l, ease_model *m, ease_error *err)
{
    uint64_t *starts = ease__alloc_array((size_t)l->rows + 1, sizeof(*starts)), at = 0;
    int32_t *columns;
    float *weights;
    ease_status status;

    m->sparse.starts = starts;
    if (!starts)
        return ease__fail(err, EASE_E_NOMEM, "rows of weights");
    for (int32_t i = 0; i < l->rows; i++) {
        starts[i] = at;
        at += count_nonzero(l->recs + (size_t)i * (size_t)l->room, l->counts[i]);
    }
    starts[l->rows] = at;
    status = make_room(starts, l->rows, &columns, &weights, m, err);
    if (status)
        return status;
    for (int32_t i = 0; i < l->rows; i++) {
        const ease_rec *row = l->recs + (size_t)i * (size_t)l->room;

        at = starts[i];
        for (int32_t k = 0; k < l->counts[i]; k++)
            if (row[k].score != 0) {
                columns[at] = row[k].item;
                weights[at++] = row[k].score;
            }
    }
    return EASE_OK;
}

/* ---- columns ------------------------------------------------------------------------ */

ease_status ease__ragged_new(int32_t items, ease__ragged *out, ease_error *err)
{
    ease__ragged r = {.items = items};

    r.columns = ease__alloc_zero((size_t)items, sizeof(*r.columns));
    if (!r.columns)
        return ease__fail(err, EASE_E_NOMEM, "columns of %d items", (int)items);
    *out = r;
    return EASE_OK;
}

void ease__ragged_free(ease__ragged *r)
{
    for (int32_t j = 0; r->columns && j < r->items; j++)
        ease__free(r->columns[j].recs);
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

ease_status ease__ragged_turn(const ease__ragged *r, ease_model *m, ease_error *err)
{
    uint64_t *starts = ease__alloc_zero((size_t)r->items + 1, sizeof(*starts));
    int32_t *columns;
    float *weights;
    ease_status status;

    m->sparse.starts = starts;
    if (!starts)
        return ease__fail(err, EASE_E_NOMEM, "rows of weights");
    count_rows(r, starts);
    status = make_room(starts, r->items, &columns, &weights, m, err);
    if (status)
        return status;
    for (int32_t j = 0; j < r->items; j++)
        for (int32_t k = 0; k < r->columns[j].count; k++) {
            uint64_t at = starts[r->columns[j].recs[k].item]++;

            columns[at] = j;
            weights[at] = r->columns[j].recs[k].score;
        }
    /* Each start is now where its row ends, and the next one begins. */
    memmove(starts + 1, starts, (size_t)r->items * sizeof(*starts));
    starts[0] = 0;
    return EASE_OK;
}
