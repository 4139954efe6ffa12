/* Renumbers the items of interactions as in a model. */
#include <stdlib.h>
#include <string.h>

#include "data/interactions.h"

typedef struct entry {
    int32_t item;
    float weight;
} entry;

static int compare_entries(const void *a, const void *b)
{
    int32_t x = ((const entry *)a)->item, y = ((const entry *)b)->item;

    return (x > y) - (x < y);
}

static int32_t *match_items(const ease_interactions *x, const ease_model *m)
{
    int32_t *match = ease__alloc_array((size_t)x->items, sizeof(*match));

    for (int32_t i = 0; match && i < x->items; i++)
        match[i] = ease_model_find(m, ease_interactions_item_id(x, i));
    return match;
}

/* Writes the known items of a row to out, by the model's numbers; returns their
 * number. */
static int32_t align_row(const ease_interactions *x, int64_t user, const int32_t *match,
                         entry *out)
{
    int32_t count = 0;

    for (int64_t at = x->row_ptr[user]; at < x->row_ptr[user + 1]; at++) {
        int32_t item = match[x->cols[at]];

        if (item != EASE_NO_ITEM)
            out[count++] = (entry){item, x->vals ? x->vals[at] : 1.0f};
    }
    qsort(out, (size_t)count, sizeof(*out), compare_entries);
    return count;
}

static void align_rows(const ease_interactions *x, const int32_t *match, entry *row,
                       ease_interactions *to)
{
    to->row_ptr[0] = 0;
    for (int64_t u = 0; u < x->users; u++) {
        int32_t count = align_row(x, u, match, row);
        int64_t at = to->row_ptr[u];

        for (int32_t i = 0; i < count; i++) {
            to->cols[at + i] = row[i].item;
            if (to->vals)
                to->vals[at + i] = row[i].weight;
        }
        to->row_ptr[u + 1] = at + count;
    }
    to->nnz = to->row_ptr[x->users];
}

static ease_status copy_ids(const ease_interactions *x, const ease_model *m,
                            ease_interactions *to, ease_error *err)
{
    for (int32_t i = 0; i < to->items; i++) {
        const char *id = ease_model_item_id(m, i);

        if (ease__ids_add(&to->item_ids, id, strlen(id)) < 0)
            return ease__fail(err, EASE_E_NOMEM, "ids of %d items", (int)to->items);
    }
    return ease__ids_copy(&to->user_ids, &x->user_ids, err);
}

ease_status ease_interactions_align(const ease_interactions *x, const ease_model *m,
                                    ease_interactions **out, int64_t *unknown,
                                    ease_error *err)
{
    ease_interactions *to;
    int32_t *match;
    entry *row;
    ease_status status = EASE_OK;

    if (!x || !m || !out)
        return ease__fail(err, EASE_E_ARG, "interactions and a model are required");
    match = match_items(x, m);
    row = ease__alloc_array((size_t)x->items, sizeof(*row));
    to = ease__alloc_zero(1, sizeof(*to));
    if (!to || !match || !row)
        goto no_memory;
    to->users = x->users;
    to->items = ease_model_items(m);
    to->counts = x->counts;
    to->row_ptr = ease__alloc_array((size_t)x->users + 1, sizeof(*to->row_ptr));
    to->cols = ease__alloc_array((size_t)x->nnz, sizeof(*to->cols));
    if (x->vals)
        to->vals = ease__alloc_array((size_t)x->nnz, sizeof(*to->vals));
    if (!to->row_ptr || !to->cols || (x->vals && !to->vals))
        goto no_memory;
    align_rows(x, match, row, to);
    status = copy_ids(x, m, to, err);
    if (status)
        goto done;
    if (unknown)
        *unknown = x->nnz - to->nnz;
    *out = to;
    to = NULL;
    goto done;

no_memory:
    status = ease__fail(err, EASE_E_NOMEM, "aligning %lld interactions",
                        (long long)x->nnz);
done:
    ease__free(match);
    ease__free(row);
    ease_interactions_free(to);
    return status;
}
