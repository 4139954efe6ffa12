#include "gram/extend.h"

#include <string.h>

int32_t ease__items_missing(const ease__ids *ids, const ease__ids *more)
{
    int32_t count = 0;

    for (int64_t i = 0; i < more->count; i++)
        count += ease__ids_find(ids, ease__ids_at(more, i),
                                ease__ids_length(more, i)) == EASE__NO_ID;
    return count;
}

/* A copy of the ids, with those of `more` that it lacks behind it. */
static ease_status extend_ids(const ease__ids *from, const ease__ids *more,
                              ease__ids *out, ease_error *err)
{
    const ease__ids *parts[] = {from, more};
    ease__ids ids = {0};

    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < parts[k]->count; i++)
            if (ease__ids_add(&ids, ease__ids_at(parts[k], i),
                              ease__ids_length(parts[k], i)) == EASE__NO_ID) {
                ease__ids_free(&ids);
                return ease__fail(err, EASE_E_NOMEM, "ids of %lld items",
                                  (long long)(from->count + more->count));
            }
    if (ids.count > INT32_MAX - 1) {
        ease__ids_free(&ids);
        return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^31 - 2 items");
    }
    *out = ids;
    return EASE_OK;
}

ease_status ease__items_extend(const ease_interactions *x, const ease__ids *more,
                               ease_interactions *out, ease_error *err)
{
    ease_interactions made = *x;
    ease__ids numbered = {0};
    ease_status status = EASE_OK;

    made.item_ids = (ease__ids){0};
    made.borrowed = true;
    if (!x->item_ids.count)
        status = ease__ids_number(&numbered, 0, x->items, err);
    if (!status)
        status = extend_ids(x->item_ids.count ? &x->item_ids : &numbered, more,
                            &made.item_ids, err);
    ease__ids_free(&numbered);
    if (status)
        return status;
    made.items = (int32_t)made.item_ids.count;
    *out = made;
    return EASE_OK;
}

void ease__items_extended_free(ease_interactions *x)
{
    ease__ids_free(&x->item_ids);
    *x = (ease_interactions){0};
}

static void copy_entries(const ease__tiled *from, ease__tiled *to)
{
    size_t size = ease__element_bytes(from->element);

    for (int32_t i = 0; i < from->n; i++)
        for (int32_t j = 0; j <= i;) {
            /* As far as the next edge of a tile of either matrix. */
            int32_t a = from->edge - j % from->edge, b = to->edge - j % to->edge;
            int32_t count = a < b ? a : b;
            size_t in = (size_t)(i % from->edge) * (size_t)from->edge +
                        (size_t)(j % from->edge);
            size_t out = (size_t)(i % to->edge) * (size_t)to->edge +
                         (size_t)(j % to->edge);

            count = count < i + 1 - j ? count : i + 1 - j;
            memcpy((char *)ease__tile(to, i / to->edge, j / to->edge) + out * size,
                   (const char *)ease__tile(from, i / from->edge, j / from->edge) +
                       in * size,
                   (size_t)count * size);
            j += count;
        }
}

/* The parts of a Gram matrix that have entries for its items. */
typedef struct parts {
    ease__ids ids;
    ease__tiled matrix;
    double *sums;
    ease__by_user *by_user;
} parts;

static void parts_free(parts *p)
{
    ease__ids_free(&p->ids);
    ease__tiled_free(&p->matrix);
    ease__free(p->sums);
    ease__by_user_free(p->by_user);
}

/* Allocates the parts of the matrix with more items, and copies all but the matrix. */
static ease_status make_parts(const ease_gram *g, const ease__ids *more, size_t limit,
                              parts *p, ease_error *err)
{
    size_t n = (size_t)g->g.n, count, peak;
    ease_status status = extend_ids(&g->ids, more, &p->ids, err);

    if (status)
        return status;
    count = (size_t)p->ids.count;
    peak = ease__size_add(g->g.bytes, ease__tiled_bytes((int32_t)count, g->g.element));
    status = ease__memory_check("adding items that the data lack to", g->g.n, peak,
                                ease__memory_allowed(limit, g->g.bytes), err);
    if (!status)
        status = ease__tiled_new((int32_t)count, g->g.element, &p->matrix, err);
    if (status)
        return status;
    p->sums = g->sums ? ease__alloc_zero(count, sizeof(*p->sums)) : NULL;
    p->by_user = g->by_user ? ease__by_user_copy(g->by_user, n, count) : NULL;
    if ((g->sums && !p->sums) || (g->by_user && !p->by_user))
        return ease__fail(err, EASE_E_NOMEM, "sums of %zu items", count);
    if (p->sums)
        memcpy(p->sums, g->sums, n * sizeof(*p->sums));
    return EASE_OK;
}

ease_status ease__items_extend_gram(ease_gram *g, const ease__ids *more, size_t limit,
                                    ease_error *err)
{
    parts made = {0}, old;
    ease_status status;

    if (ease__items_missing(&g->ids, more) == 0)
        return EASE_OK;
    status = make_parts(g, more, limit, &made, err);
    if (status) {
        parts_free(&made);
        return status;
    }
    copy_entries(&g->g, &made.matrix);
    ease__tiled_mirror_diagonal(&made.matrix, 1);
    old = (parts){
        .ids = g->ids, .matrix = g->g, .sums = g->sums, .by_user = g->by_user};
    g->ids = made.ids;
    g->g = made.matrix;
    g->sums = made.sums;
    g->by_user = made.by_user;
    parts_free(&old);
    return EASE_OK;
}
