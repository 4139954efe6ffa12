#include "data/item_users.h"

#include <string.h>

void ease__item_users_free(ease__item_users *c)
{
    ease__free(c->ptr);
    ease__free(c->users);
    ease__free(c->vals);
}

int64_t ease__part_begin(const ease_interactions *x, int part, int parts)
{
    int64_t want = x->nnz / parts * part, low = 0, high = x->users;

    if (part == parts)
        return x->users;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (x->row_ptr[middle] < want)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Replaces the counts in `next` (parts x items) by the place where each part of the
 * users writes its first user of each item. */
static void assign_places(int32_t items, int parts, int64_t *next, int64_t *ptr)
{
    int64_t at = 0;

    for (int32_t i = 0; i < items; i++) {
        ptr[i] = at;
        for (int p = 0; p < parts; p++) {
            int64_t *slot = &next[(size_t)p * (size_t)items + (size_t)i];
            int64_t count = *slot;

            *slot = at;
            at += count;
        }
    }
    ptr[items] = at;
}

static void scatter(const ease_interactions *x, int64_t from, int64_t to, int64_t *next,
                    ease__item_users *c)
{
    for (int64_t u = from; u < to; u++)
        for (int64_t k = x->row_ptr[u]; k < x->row_ptr[u + 1]; k++) {
            int64_t at = next[x->cols[k]]++;

            c->users[at] = (uint32_t)u;
            if (c->vals)
                c->vals[at] = x->vals[k];
        }
}

/* next is scratch, threads x items. */
static void transpose(const ease_interactions *x, int threads, int64_t *next,
                      ease__item_users *c)
{
    size_t n = (size_t)x->items;

#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int p = 0; p < threads; p++) {
        int64_t *count = next + (size_t)p * n;
        int64_t from = x->row_ptr[ease__part_begin(x, p, threads)];
        int64_t to = x->row_ptr[ease__part_begin(x, p + 1, threads)];

        memset(count, 0, n * sizeof(*count));
        for (int64_t k = from; k < to; k++)
            count[x->cols[k]]++;
    }
    assign_places(x->items, threads, next, c->ptr);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int p = 0; p < threads; p++)
        scatter(x, ease__part_begin(x, p, threads), ease__part_begin(x, p + 1, threads),
                next + (size_t)p * n, c);
}

ease_status ease__item_users_new(const ease_interactions *x, int threads,
                                 ease__item_users *out, ease_error *err)
{
    size_t n = (size_t)x->items, nnz = (size_t)x->nnz;
    int64_t *next;
    ease__item_users c = {0};

    if (x->users > (int64_t)UINT32_MAX)
        return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^32 users");
    next = ease__alloc_array(ease__size_mul((size_t)threads, n), sizeof(*next));
    c.ptr = ease__alloc_array(n + 1, sizeof(*c.ptr));
    c.users = ease__alloc_array(nnz, sizeof(*c.users));
    if (x->vals)
        c.vals = ease__alloc_array(nnz, sizeof(*c.vals));
    if (!next || !c.ptr || !c.users || (x->vals && !c.vals)) {
        ease__item_users_free(&c);
        ease__free(next);
        return ease__fail(err, EASE_E_NOMEM, "the transpose of %lld interactions",
                          (long long)x->nnz);
    }
    transpose(x, threads, next, &c);
    ease__free(next);
    *out = c;
    return EASE_OK;
}
