#include "gram/gram_tags.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* ---- lists ----------------------------------------------------------------------- */

void ease__tag_lists_free(ease__tag_lists *l)
{
    ease__free(l->item_starts);
    ease__free(l->tag_starts);
    ease__free(l->item_tags);
    ease__free(l->tag_items);
    ease__free(l->item_weights);
    ease__free(l->tag_weights);
    ease__free(l->rows);
    *l = (ease__tag_lists){0};
}

static bool reserve_lists(const ease_tags *t, ease__tag_lists *l)
{
    size_t n = (size_t)l->items, pairs = (size_t)t->starts[t->items.count];

    l->item_starts = ease__alloc_array(n + 1, sizeof(*l->item_starts));
    l->tag_starts = ease__alloc_zero((size_t)t->names.count + 2,
                                     sizeof(*l->tag_starts));
    l->item_tags = ease__alloc_array(pairs, sizeof(*l->item_tags));
    l->tag_items = ease__alloc_array(pairs, sizeof(*l->tag_items));
    if (t->weights) {
        l->item_weights = ease__alloc_array(pairs, sizeof(*l->item_weights));
        l->tag_weights = ease__alloc_array(pairs, sizeof(*l->tag_weights));
    }
    l->rows = ease__alloc_zero(ease__size_mul((size_t)l->threads, n), sizeof(*l->rows));
    return l->item_starts && l->tag_starts && l->item_tags && l->tag_items && l->rows &&
           (!t->weights || (l->item_weights && l->tag_weights));
}

/* row[i]: the item of the tags that is item i of the matrix, or -1. Returns how many
 * are known. */
static int32_t find_rows(const ease_tags *t, const ease__ids *ids, int32_t *row,
                         int32_t items)
{
    int32_t known = 0;

    for (int32_t i = 0; i < items; i++)
        row[i] = -1;
    for (int32_t i = 0; i < (int32_t)t->items.count; i++) {
        int64_t at = ease__ids_find(ids, ease__ids_at(&t->items, i),
                                    ease__ids_length(&t->items, i));

        if (at == EASE__NO_ID)
            continue;
        row[at] = i;
        known++;
    }
    return known;
}

static void list_by_item(const ease_tags *t, const int32_t *row, ease__tag_lists *l)
{
    uint64_t used = 0;

    for (int32_t i = 0; i < l->items; i++) {
        uint64_t from = row[i] < 0 ? 0 : t->starts[row[i]];
        size_t count = row[i] < 0 ? 0 : (size_t)(t->starts[row[i] + 1] - from);

        l->item_starts[i] = used;
        if (count == 0)
            continue;
        memcpy(l->item_tags + used, t->numbers + from, count * sizeof(*t->numbers));
        if (t->weights)
            memcpy(l->item_weights + used, t->weights + from,
                   count * sizeof(*t->weights));
        used += count;
    }
    l->item_starts[l->items] = used;
}

/* Items are taken in their order, so that those of a tag ascend. */
static void list_by_tag(ease__tag_lists *l, int32_t tags)
{
    uint64_t *place = l->tag_starts + 1; /* becomes the end of each tag */

    for (uint64_t at = 0; at < l->item_starts[l->items]; at++)
        place[l->item_tags[at] + 1]++;
    for (int32_t k = 0; k < tags; k++)
        place[k + 1] += place[k];
    for (int32_t i = 0; i < l->items; i++)
        for (uint64_t at = l->item_starts[i]; at < l->item_starts[i + 1]; at++) {
            uint64_t to = place[l->item_tags[at]]++;

            l->tag_items[to] = i;
            if (l->tag_weights)
                l->tag_weights[to] = l->item_weights[at];
        }
}

double ease__tags_diagonal(const ease_tags *t, double weight)
{
    double largest = 0;

    for (int32_t i = 0; i < (int32_t)t->items.count; i++) {
        double sum = 0;

        for (uint64_t at = t->starts[i]; at < t->starts[i + 1]; at++) {
            double w = t->weights ? (double)t->weights[at] : 1;

            sum += w * w;
        }
        largest = fmax(largest, sum);
    }
    return largest * weight * weight;
}

/* The same bound for float64: beyond it, sums with the diagonal might overflow. */
static const double MOST_WIDE = 0x1p900;

static ease_status check_sizes(const ease_gram *g, const ease_tags *t, double weight,
                               ease_error *err)
{
    double largest = ease__tags_diagonal(t, weight);

    if (largest <= (g->g.element == EASE__F64 ? MOST_WIDE : EASE__MOST_NARROW))
        return EASE_OK;
    return ease__fail(err, EASE_E_ACCURACY,
                      "%s: the weights of tags are too large: the largest sum of "
                      "squares is %.3g",
                      t->source, largest);
}

static ease_status no_item(const ease_tags *t, ease_error *err)
{
    return ease__fail(err, EASE_E_DATA,
                      "%s: the data has no item of the tags, such as \"%.100s\"",
                      t->source, ease__ids_at(&t->items, 0));
}

ease_status ease__tag_lists_new(const ease_gram *g, const ease_tags *t, double weight,
                                int threads, ease__tag_lists *out, ease_error *err)
{
    ease__tag_lists l = {
        .items = g->g.n, .scale = weight * weight, .threads = ease__threads(threads)};
    int32_t *row;
    ease_status status = check_sizes(g, t, weight, err);

    if (status)
        return status;
    row = ease__alloc_array((size_t)g->g.n, sizeof(*row));
    if (!row || !reserve_lists(t, &l)) {
        status = ease__fail(err, EASE_E_NOMEM, "tags of %d items", (int)g->g.n);
    } else if (find_rows(t, &g->ids, row, g->g.n) == 0) {
        status = no_item(t, err);
    } else {
        list_by_item(t, row, &l);
        list_by_tag(&l, (int32_t)t->names.count);
    }
    ease__free(row);
    if (status)
        ease__tag_lists_free(&l);
    else
        *out = l;
    return status;
}

/* ---- adding ---------------------------------------------------------------------- */

/* row[j] += (T'T)_ij for j <= i: tags ascend, and so do the items of each. */
static void sum_row(const ease__tag_lists *l, int32_t i, double *row)
{
    for (uint64_t at = l->item_starts[i]; at < l->item_starts[i + 1]; at++) {
        int32_t tag = l->item_tags[at];
        double weight = l->item_weights ? (double)l->item_weights[at] : 1;
        uint64_t end = l->tag_starts[tag + 1];

        for (uint64_t k = l->tag_starts[tag]; k < end && l->tag_items[k] <= i; k++)
            row[l->tag_items[k]] += weight *
                                    (l->tag_weights ? (double)l->tag_weights[k] : 1);
    }
}

/* Adds `count` entries of a row to a row of a tile; U32 becomes F32. */
static void add_line(ease__element element, double scale, const double *row,
                     size_t count, void *line)
{
    uint32_t *counts = line;
    float *narrow = line;
    double *wide = line;

    for (size_t j = 0; j < count; j++) {
        double add = scale * row[j];

        switch (element) {
        case EASE__U32: {
            float sum = (float)((double)counts[j] + add);

            memcpy(&narrow[j], &sum, sizeof(sum));
            break;
        }
        case EASE__F32:
            narrow[j] = (float)((double)narrow[j] + add);
            break;
        case EASE__F64:
            wide[j] += add;
            break;
        }
    }
}

static void add_row(ease__tiled *g, const ease__tag_lists *l, int32_t i, double *row)
{
    size_t edge = (size_t)g->edge, left = (size_t)i + 1;
    size_t at = (size_t)(i % g->edge) * edge * ease__element_bytes(g->element);

    sum_row(l, i, row);
    for (int32_t b = 0; left > 0; b++) {
        size_t count = left < edge ? left : edge;

        add_line(g->element, l->scale, row + (size_t)b * edge, count,
                 (char *)ease__tile(g, i / g->edge, b) + at);
        left -= count;
    }
    memset(row, 0, ((size_t)i + 1) * sizeof(*row));
}

void ease__gram_add_tags(ease_gram *g, const ease__tag_lists *l)
{
    ease__tiled *t = &g->g;
    int64_t end = (int64_t)t->last * t->edge;
    int32_t from = t->first * t->edge, to = end < t->n ? (int32_t)end : t->n;

#pragma omp parallel num_threads(l->threads)
    {
        double *row = l->rows + (size_t)omp_get_thread_num() * (size_t)l->items;

#pragma omp for schedule(dynamic, 4)
        for (int32_t r = from; r < to; r++)
            add_row(t, l, to - 1 - (r - from), row);
    }
    ease__tiled_mirror_diagonal(t, l->threads);
    if (t->element == EASE__U32) {
        t->element = EASE__F32;
        g->rounded = true;
    }
}

/* ---- items that only have tags --------------------------------------------------- */

ease_status ease__tags_extend(const ease_interactions *x, const ease_tags *t,
                              ease_interactions *out, ease_error *err)
{
    ease_interactions made;
    ease_status status = ease__items_extend(x, &t->items, &made, err);

    if (status)
        return status;
    if (made.items - x->items == (int32_t)t->items.count) {
        ease__items_extended_free(&made);
        return no_item(t, err);
    }
    *out = made;
    return EASE_OK;
}

ease_status ease__tags_extend_gram(ease_gram *g, const ease_tags *t, size_t limit,
                                   ease_error *err)
{
    int32_t missing = ease__items_missing(&g->ids, &t->items);

    if (missing > 0 && missing == (int32_t)t->items.count)
        return no_item(t, err);
    return ease__items_extend_gram(g, &t->items, limit, err);
}

void ease__tags_tell_new(const ease__ids *ids, int32_t from, const ease_hooks *hooks)
{
    int64_t count = ids->count - from;

    if (count > 0)
        ease__log(hooks, 2, "%lld item%s only tags, such as \"%.100s\": %s the model",
                  (long long)count, count == 1 ? " has" : "s have",
                  ease__ids_at(ids, from), count == 1 ? "it joins" : "they join");
}
