#include "methods/ranked.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gram/gram.h"

/* Doubles and ranks of an item. */
enum { ITEM_BYTES = 3 * sizeof(double) + 2 * sizeof(int32_t) };

size_t ease__ranked_bytes(int64_t users, int32_t items, int64_t interactions,
                          bool weighted, int threads)
{
    size_t value = weighted ? 2 * sizeof(int32_t) : sizeof(int32_t);
    size_t sum = ease__size_mul((size_t)interactions, 2 * value);

    sum = ease__size_add(sum, ease__size_mul((size_t)users, 2 * sizeof(double)));
    return ease__size_add(
        sum, ease__size_mul((size_t)items,
                            ITEM_BYTES + sizeof(int64_t) * ((size_t)threads + 1)));
}

void ease__ranked_free(ease__ranked *r)
{
    ease__item_users_free(&r->columns);
    ease__free(r->order);
    ease__free(r->rank);
    ease__free(r->cols);
    ease__free(r->vals);
    ease__free(r->weights);
    ease__free(r->diagonal);
    ease__free(r->counts);
    ease__free(r->penalty);
    *r = (ease__ranked){0};
}

/* Sorts the items by their number of users, most first; of equal items the smaller
 * number comes first. A counting sort: `starts` is scratch of users + 2. */
static void sort_items(ease__ranked *r, int64_t *starts)
{
    int32_t n = r->x->items;
    const int64_t *ptr = r->columns.ptr;
    int64_t users = r->x->users;

    for (int32_t i = 0; i < n; i++)
        starts[users - (ptr[i + 1] - ptr[i]) + 1]++;
    for (int64_t c = 0; c <= users; c++)
        starts[c + 1] += starts[c];
    for (int32_t i = 0; i < n; i++) {
        int32_t place = (int32_t)starts[users - (ptr[i + 1] - ptr[i])]++;

        r->order[place] = i;
        r->rank[i] = place;
    }
}

/* The first place of a column from which on users are not below `user`. */
static int64_t place_of(const ease__item_users *c, int32_t item, int64_t user)
{
    int64_t low = c->ptr[item], high = c->ptr[item + 1];

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (c->users[middle] < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Filling the rows of all users. */
typedef struct filling {
    ease__ranked *ranked;
    int64_t *next; /* by user: the place of the next item */
    const ease_hooks *hooks;
    double told;
    atomic_bool cancelled;
} filling;

static void tell_filling(filling *f, int32_t rank)
{
    if (omp_get_thread_num() == 0 && ease__is_due(rank, &f->told) &&
        ease__progress(f->hooks, "ranking", (double)rank / (double)f->ranked->x->items))
        atomic_store(&f->cancelled, true);
}

/* Writes the rows of users `from` .. `to` - 1, rank by rank, so that they are
 * sorted. */
static void fill_rows(filling *f, int64_t from, int64_t to)
{
    ease__ranked *r = f->ranked;
    const ease__item_users *c = &r->columns;
    int64_t *next = f->next;

    for (int64_t u = from; u < to; u++)
        next[u] = r->x->row_ptr[u];
    for (int32_t k = 0; k < r->x->items && !atomic_load(&f->cancelled); k++) {
        int32_t item = r->order[k];

        if (k % 1024 == 0)
            tell_filling(f, k);
        for (int64_t at = place_of(c, item, from);
             at < c->ptr[item + 1] && c->users[at] < to; at++) {
            int64_t place = next[c->users[at]]++;

            r->cols[place] = k;
            if (r->vals)
                r->vals[place] = c->vals[at];
        }
    }
}

static ease_status fill_all(ease__ranked *r, int threads, int64_t *next,
                            const ease_hooks *hooks, ease_error *err)
{
    filling f = {.ranked = r, .next = next, .hooks = hooks, .told = ease__seconds()};
    int64_t users = r->x->users;

#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++)
        fill_rows(&f, users * t / threads, users * (t + 1) / threads);
    return atomic_load(&f.cancelled) ? ease__cancelled(err) : EASE_OK;
}

static void measure(ease__ranked *r, const ease__family *f, double lambda)
{
    const ease_interactions *x = r->x;
    double squares = 0, weighted = 0, share = f->dropout / (1 - f->dropout);

    for (int64_t u = 0; r->weights && u < x->users; u++)
        r->weights[u] = ease__user_weight(x->row_ptr[u + 1] - x->row_ptr[u],
                                          f->user_power);
    for (int32_t k = 0; k < x->items; k++) {
        int64_t end = ease__ranked_to(r, k);

        r->counts[k] = (double)(end - ease__ranked_from(r, k));
        r->diagonal[k] = 0;
        for (int64_t at = ease__ranked_from(r, k); at < end; at++) {
            double value = r->columns.vals ? (double)r->columns.vals[at] : 1;

            r->diagonal[k] += ease__ranked_factor(r, at) * value;
            squares += value * value;
        }
        weighted += r->diagonal[k];
    }
    if (r->weights && squares > 0)
        lambda *= weighted / squares;
    for (int32_t k = 0; k < x->items; k++) {
        double d = r->diagonal[k];
        double power = f->lambda_power == 0 || d == 0 ? 1 : pow(d, f->lambda_power);

        r->penalty[k] = lambda * power + share * d;
    }
}

static ease_status allocate(ease__ranked *r, const ease__family *f, ease_error *err)
{
    size_t n = (size_t)r->x->items, nnz = (size_t)r->x->nnz;

    r->order = ease__alloc_array(n, sizeof(*r->order));
    r->rank = ease__alloc_array(n, sizeof(*r->rank));
    r->cols = ease__alloc_array(nnz + 1, sizeof(*r->cols));
    if (r->x->vals)
        r->vals = ease__alloc_array(nnz + 1, sizeof(*r->vals));
    if (f->user_power != 0)
        r->weights = ease__alloc_array((size_t)r->x->users, sizeof(*r->weights));
    r->diagonal = ease__alloc_array(n, sizeof(*r->diagonal));
    r->counts = ease__alloc_array(n, sizeof(*r->counts));
    r->penalty = ease__alloc_array(n, sizeof(*r->penalty));
    if (!r->order || !r->rank || !r->cols || (r->x->vals && !r->vals) ||
        (f->user_power != 0 && !r->weights) || !r->diagonal || !r->counts ||
        !r->penalty)
        return ease__fail(err, EASE_E_NOMEM, "interactions by rank, %zu of them", nnz);
    return EASE_OK;
}

ease_status ease__ranked_new(const ease_interactions *x, const ease__family *f,
                             double lambda, int threads, const ease_hooks *hooks,
                             ease__ranked *out, ease_error *err)
{
    ease__ranked r = {.x = x};
    int64_t *scratch = NULL;
    ease_status status = ease__item_users_new(x, threads, &r.columns, err);

    if (!status)
        status = allocate(&r, f, err);
    if (!status) {
        scratch = ease__alloc_zero((size_t)x->users + 2, sizeof(*scratch));
        if (!scratch)
            status = ease__fail(err, EASE_E_NOMEM, "places of users");
    }
    if (!status) {
        sort_items(&r, scratch);
        status = fill_all(&r, threads, scratch, hooks, err);
    }
    ease__free(scratch);
    if (status) {
        ease__ranked_free(&r);
        return status;
    }
    measure(&r, f, lambda);
    *out = r;
    return EASE_OK;
}
