/* Makes histories from ids. */
#include <math.h>
#include <stdlib.h>

#include "core/core.h"

struct ease_history {
    ease_row row; /* its arrays belong to the history */
    int64_t unknown;
};

typedef struct entry {
    int32_t item;
    int64_t place; /* among the given ids */
} entry;

static int by_item_and_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Finds the known ids and sorts them; *found receives their number. */
static ease_status find_entries(const ease_model *m, const char *const *ids,
                                const float *weights, int64_t count, entry *out,
                                int64_t *found, ease_error *err)
{
    *found = 0;
    for (int64_t i = 0; i < count; i++) {
        int32_t item = ease_model_find(m, ids[i]);

        if (weights && !isfinite(weights[i]))
            return ease__fail_at(err, EASE_E_ARG, i, "weight %lld is not finite",
                                 (long long)i);
        if (item != EASE_NO_ITEM)
            out[(*found)++] = (entry){.item = item, .place = i};
    }
    if (*found)
        qsort(out, (size_t)*found, sizeof(*out), by_item_and_place);
    return EASE_OK;
}

/* Combines entries of the same item. */
static void join_entries(const entry *from, int64_t count, const float *weights,
                         int32_t *items, float *sums, ease_history *h)
{
    int32_t kept = 0;

    for (int64_t i = 0; i < count; kept++) {
        int32_t item = from[i].item;
        double sum = 0;

        for (; i < count && from[i].item == item; i++)
            sum += weights ? (double)weights[from[i].place] : 0;
        items[kept] = item;
        if (sums)
            sums[kept] = (float)sum;
    }
    h->row = (ease_row){.items = items, .weights = sums, .count = kept};
}

ease_status ease_history_new(const ease_model *m, const char *const *ids,
                             const float *weights, int64_t count, ease_history **out,
                             ease_error *err)
{
    ease_history *h;
    entry *entries;
    int32_t *items;
    float *sums = NULL;
    int64_t found = 0;
    ease_status status;

    if (!m || !out || count < 0 || (count > 0 && !ids))
        return ease__fail(err, EASE_E_ARG, "a model and ids are required");
    h = ease__alloc_zero(1, sizeof(*h));
    entries = ease__alloc_array((size_t)count, sizeof(*entries));
    items = ease__alloc_array((size_t)count, sizeof(*items));
    if (weights)
        sums = ease__alloc_array((size_t)count, sizeof(*sums));
    if (h && entries && items && (sums || !weights))
        status = find_entries(m, ids, weights, count, entries, &found, err);
    else
        status = ease__fail(err, EASE_E_NOMEM, "a history of %lld ids",
                            (long long)count);
    if (!status) {
        join_entries(entries, found, weights, items, sums, h);
        h->unknown = count - found;
        *out = h;
    } else {
        ease__free(h);
        ease__free(items);
        ease__free(sums);
    }
    ease__free(entries);
    return status;
}

ease_row ease_history_row(const ease_history *h)
{
    return h ? h->row : (ease_row){0};
}

int64_t ease_history_unknown(const ease_history *h)
{
    return h ? h->unknown : 0;
}

void ease_history_free(ease_history *h)
{
    if (!h)
        return;
    ease__free((void *)h->row.items);
    ease__free((void *)h->row.weights);
    ease__free(h);
}
