/* Adds Gram files of disjoint sets of users. */
#include <string.h>

#include "gram/gram_file.h"

/* Adds the tiles of one file to the sum. */
typedef struct adder {
    ease__tiled *to;
    const ease__gram_file *from;
    const int32_t *place; /* of the file's items in the union */
    bool same;            /* place is the identity, and the sizes are equal */
    bool overflow;        /* a count did not fit */
} adder;

static double value_of(const adder *a, const void *tile, size_t k)
{
    return a->from->params.element == EASE__U32 ? (double)((const uint32_t *)tile)[k]
                                                : ((const double *)tile)[k];
}

static void add_at(adder *a, size_t at, const void *tile, size_t k)
{
    uint32_t *counts = a->to->data;

    switch (a->to->element) {
    case EASE__U32:
        if (__builtin_add_overflow(counts[at], ((const uint32_t *)tile)[k],
                                   &counts[at]))
            a->overflow = true;
        break;
    case EASE__F32:
        ((float *)a->to->data)[at] += (float)value_of(a, tile, k);
        break;
    case EASE__F64:
        ((double *)a->to->data)[at] += value_of(a, tile, k);
        break;
    }
}

static size_t place_in(const ease__tiled *t, int32_t i, int32_t j)
{
    int32_t high = i > j ? i : j, low = i > j ? j : i;

    return ease__tile_offset(t, high / t->edge, low / t->edge) +
           (size_t)(high % t->edge) * (size_t)t->edge + (size_t)(low % t->edge);
}

static ease_status add_tile(void *user, int32_t i, int32_t j, const void *tile,
                            ease_error *err)
{
    adder *a = user;
    int32_t e = a->from->params.edge, n = a->from->params.items;

    (void)err;
    if (a->same) {
        size_t at = ease__tile_offset(a->to, i, j), count = (size_t)e * (size_t)e;

        for (size_t k = 0; k < count; k++)
            add_at(a, at + k, tile, k);
        return EASE_OK;
    }
    for (int32_t row = 0; row < e && i * e + row < n; row++)
        for (int32_t column = 0; column < e && j * e + column <= i * e + row; column++)
            add_at(a, place_in(a->to, a->place[i * e + row], a->place[j * e + column]),
                   tile, (size_t)row * (size_t)e + (size_t)column);
    return EASE_OK;
}

/* Builds the union of the items, in order of appearance, and place[] of every file's
 * items. */
static ease_status join_ids(const ease__gram_file *f, int count, ease_gram *g,
                            int32_t **place, ease_error *err)
{
    for (int k = 0; k < count; k++) {
        place[k] = ease__alloc_array((size_t)f[k].params.items, sizeof(**place));
        if (!place[k])
            return ease__fail(err, EASE_E_NOMEM, "merging %d files", count);
        for (int32_t i = 0; i < f[k].params.items; i++) {
            int64_t at = ease__ids_add(&g->ids, ease__ids_at(&f[k].ids, i),
                                       ease__ids_length(&f[k].ids, i));

            if (at < 0)
                return ease__fail(err, EASE_E_NOMEM, "merging %d files", count);
            if (at >= INT32_MAX)
                return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^31 - 1 items");
            place[k][i] = (int32_t)at;
        }
    }
    return EASE_OK;
}

static ease__element common_element(const ease__gram_file *f, int count)
{
    ease__element e = EASE__U32;

    for (int k = 0; k < count; k++)
        if (f[k].params.element > e)
            e = (ease__element)f[k].params.element;
    return e;
}

/* Adds users, interactions and sums, if every file has them. */
static ease_status join_totals(const ease__gram_file *f, int count, int32_t **place,
                               ease_gram *g, ease_error *err)
{
    bool sums = true;

    for (int k = 0; k < count; k++) {
        const ease__gram_params *p = &f[k].params;

        if (p->users < 0 || g->users < 0)
            g->users = -1;
        else if (__builtin_add_overflow(g->users, p->users, &g->users))
            return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^63 users");
        if (p->interactions < 0 || g->interactions < 0)
            g->interactions = -1;
        else if (__builtin_add_overflow(g->interactions, p->interactions,
                                        &g->interactions))
            return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^63 interactions");
        g->weighted |= p->weighted != 0;
        sums &= f[k].sums != NULL;
    }
    if (!sums)
        return EASE_OK;
    g->sums = ease__alloc_zero((size_t)g->ids.count, sizeof(*g->sums));
    if (!g->sums)
        return ease__fail(err, EASE_E_NOMEM, "merging %d files", count);
    for (int k = 0; k < count; k++)
        for (int32_t i = 0; i < f[k].params.items; i++)
            g->sums[place[k][i]] += f[k].sums[i];
    return EASE_OK;
}

static ease_status add_file(const ease__gram_file *f, const int32_t *place,
                            ease_gram *g, const ease_hooks *hooks, ease_error *err)
{
    adder a = {.to = &g->g, .from = f, .place = place};
    ease_status status;

    a.same = f->params.items == g->g.n;
    for (int32_t i = 0; a.same && i < f->params.items; i++)
        a.same = place[i] == i;
    status = ease__gram_file_tiles(f, add_tile, &a, hooks, err);
    if (!status && a.overflow)
        status = ease__fail(err, EASE_E_TOO_LARGE, "%s: a count exceeds 2^32 - 1",
                            f->file.path);
    return status;
}

static ease_status merge(ease__gram_file *f, int count, int32_t **place,
                         const ease_gram_options *o, ease_gram *g, ease_error *err)
{
    ease__element element = common_element(f, count);
    ease_status status = join_ids(f, count, g, place, err);

    if (!status)
        status = join_totals(f, count, place, g, err);
    if (!status)
        status = ease__memory_check("the Gram matrix of", (int32_t)g->ids.count,
                                    ease__tiled_bytes((int32_t)g->ids.count, element),
                                    ease__memory_allowed(o->memory_limit, 0), err);
    if (!status)
        status = ease__tiled_new((int32_t)g->ids.count, element, &g->g, err);
    for (int k = 0; !status && k < count; k++)
        status = add_file(&f[k], place[k], g, o->hooks, err);
    if (!status)
        ease__tiled_mirror_diagonal(&g->g, o->threads);
    return status;
}

ease_status ease_gram_merge(const char *const *paths, int count,
                            const ease_gram_options *given, ease_gram **out,
                            ease_error *err)
{
    ease_gram_options o;
    ease__gram_file *f = NULL;
    int32_t **place = NULL;
    ease_gram *g = NULL;
    ease_status status;
    int opened = 0;

    if (!paths || count < 1 || !out)
        return ease__fail(err, EASE_E_ARG, "at least one Gram file is required");
    status = ease__gram_options_take(given, &o, err);
    if (!status)
        status = ease__shards_check(paths, count, err);
    if (status)
        return status;
    f = ease__alloc_zero((size_t)count, sizeof(*f));
    place = ease__alloc_zero((size_t)count, sizeof(*place));
    g = ease__alloc_zero(1, sizeof(*g));
    if (!f || !place || !g) {
        status = ease__fail(err, EASE_E_NOMEM, "merging %d files", count);
        goto done;
    }
    while (!status && opened < count) {
        status = ease__gram_file_open(paths[opened], &f[opened], err);
        opened += !status;
    }
    if (!status)
        status = merge(f, count, place, &o, g, err);

done:
    for (int k = 0; k < opened; k++)
        ease__gram_file_close(&f[k]);
    for (int k = 0; place && k < count; k++)
        ease__free(place[k]);
    ease__free(place);
    ease__free(f);
    if (status) {
        ease_gram_free(g);
        return status;
    }
    *out = g;
    return EASE_OK;
}
