/* Builds X'X row by row: for item i, over its users, over the other items of each. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "core/sized.h"
#include "data/item_users.h"
#include "gram/gram.h"

/* ---- the object ------------------------------------------------------------------ */

void ease_gram_describe(const ease_gram *g, ease_gram_info *info)
{
    ease_gram_info found = {0};

    if (g)
        found = (ease_gram_info){
            .users = g->users,
            .interactions = g->interactions,
            .items = g->g.n,
            .weighted = g->weighted,
            .has_sums = g->sums != NULL,
            .wide = g->g.element == EASE__F64,
        };
    ease__info_give(info, &found, sizeof(found));
}

int32_t ease_gram_items(const ease_gram *g)
{
    return g ? g->g.n : 0;
}

double ease_gram_at(const ease_gram *g, int32_t i, int32_t j)
{
    if (!g || i < 0 || j < 0 || i >= g->g.n || j >= g->g.n)
        return NAN;
    return ease__tiled_at(&g->g, i, j);
}

const char *ease_gram_item_id(const ease_gram *g, int32_t item)
{
    return !g || item < 0 || item >= g->ids.count ? NULL : ease__ids_at(&g->ids, item);
}

void ease__by_user_free(ease__by_user *b)
{
    if (b) {
        ease__free(b->counts);
        ease__free(b->weighted_sums);
        ease__proof_sums_free(&b->proof);
    }
    ease__free(b);
}

/* Allocates for n items; all numbers are 0. */
static ease__by_user *by_user_new(size_t n, bool weighted_sums)
{
    ease__by_user *b = ease__alloc_zero(1, sizeof(*b));

    if (!b)
        return NULL;
    b->counts = ease__alloc_zero(n, sizeof(*b->counts));
    if (weighted_sums)
        b->weighted_sums = ease__alloc_zero(n, sizeof(*b->weighted_sums));
    if (b->counts && (b->weighted_sums || !weighted_sums))
        return b;
    ease__by_user_free(b);
    return NULL;
}

ease__by_user *ease__by_user_copy(const ease__by_user *b, size_t n, size_t to)
{
    ease__by_user *copy = by_user_new(to, b->weighted_sums != NULL);

    if (!copy)
        return NULL;
    memcpy(copy->counts, b->counts, n * sizeof(*b->counts));
    if (b->weighted_sums)
        memcpy(copy->weighted_sums, b->weighted_sums, n * sizeof(*b->weighted_sums));
    copy->mass = b->mass;
    copy->mean_weight = b->mean_weight;
    if (ease__proof_sums_copy(&b->proof, n, to, &copy->proof))
        return copy;
    ease__by_user_free(copy);
    return NULL;
}

void ease_gram_free(ease_gram *g)
{
    if (!g)
        return;
    ease__tiled_free(&g->g);
    ease__ids_free(&g->ids);
    ease__free(g->sums);
    ease__by_user_free(g->by_user);
    ease__free(g);
}

ease_status ease_gram_copy(const ease_gram *g, ease_gram **out, ease_error *err)
{
    size_t n;
    ease_gram *copy;
    ease_status status = EASE_OK;

    if (!g || !out)
        return ease__fail(err, EASE_E_ARG, "a Gram matrix is required");
    n = (size_t)g->g.n;
    copy = ease__alloc_zero(1, sizeof(*copy));
    if (!copy)
        return ease__fail(err, EASE_E_NOMEM, "a copy of the Gram matrix");
    copy->weighted = g->weighted;
    copy->users = g->users;
    copy->interactions = g->interactions;
    if (g->sums) {
        copy->sums = ease__alloc_array(n, sizeof(*copy->sums));
        if (copy->sums)
            memcpy(copy->sums, g->sums, n * sizeof(*copy->sums));
        else
            status = ease__fail(err, EASE_E_NOMEM, "a copy of the Gram matrix");
    }
    if (!status && g->by_user) {
        copy->by_user = ease__by_user_copy(g->by_user, n, n);
        if (!copy->by_user)
            status = ease__fail(err, EASE_E_NOMEM, "a copy of the Gram matrix");
    }
    if (!status)
        status = ease__ids_copy(&copy->ids, &g->ids, err);
    if (!status)
        status = ease__tiled_new(g->g.n, g->g.element, &copy->g, err);
    if (status) {
        ease_gram_free(copy);
        return status;
    }
    memcpy(copy->g.data, g->g.data, g->g.bytes);
    *out = copy;
    return EASE_OK;
}

/* ---- one row ------------------------------------------------------------------ */

/* Rows of X are scattered in memory. These are the numbers of users ahead for which
 * the start of a row, and its first items, are prefetched. (In a separate function,
 * gcc would remove the prefetches.) */
enum { FETCH_PLACE = 16, FETCH_ROW = 8, LINE_ITEMS = 16 };

/* row[j] += number of users who have both i and j, for j <= i. Rows of X are
 * increasing and contain i, which ends the loop. */
static void count_row(const ease_interactions *x, const ease__item_users *c, int32_t i,
                      uint32_t *row)
{
    const uint32_t *user = c->users + c->ptr[i], *end = c->users + c->ptr[i + 1];

    for (; user < end; user++) {
        const int32_t *item = x->cols + x->row_ptr[*user];
        int32_t j;

        if (end - user > FETCH_PLACE) {
            const int32_t *later = x->cols + x->row_ptr[user[FETCH_ROW]];

            __builtin_prefetch(&x->row_ptr[user[FETCH_PLACE]]);
            __builtin_prefetch(later);
            __builtin_prefetch(later + LINE_ITEMS);
        }
        do {
            j = *item++;
            row[j]++;
        } while (j != i);
    }
}

/* Weighted: row[j] += w_u x_ui x_uj, users in increasing order. */
static void weigh_row(const ease_interactions *x, const ease__item_users *c,
                      const double *w, int32_t i, double *row)
{
    for (int64_t k = c->ptr[i]; k < c->ptr[i + 1]; k++) {
        int64_t at = x->row_ptr[c->users[k]];
        double weight = (double)c->vals[k];
        int32_t j;

        if (w)
            weight *= w[c->users[k]];

        if (c->ptr[i + 1] - k > FETCH_PLACE) {
            int64_t later = x->row_ptr[c->users[k + FETCH_ROW]];

            __builtin_prefetch(&x->row_ptr[c->users[k + FETCH_PLACE]]);
            __builtin_prefetch(&x->cols[later]);
            __builtin_prefetch(&x->vals[later]);
        }
        do {
            j = x->cols[at];
            row[j] += weight * (double)x->vals[at++];
        } while (j != i);
    }
}

/* Ones with weights of users: row[j] += w_u. */
static void add_row(const ease_interactions *x, const ease__item_users *c,
                    const double *w, int32_t i, double *row)
{
    const uint32_t *user = c->users + c->ptr[i], *end = c->users + c->ptr[i + 1];

    for (; user < end; user++) {
        const int32_t *item = x->cols + x->row_ptr[*user];
        double weight = w[*user];
        int32_t j;

        if (end - user > FETCH_PLACE) {
            const int32_t *later = x->cols + x->row_ptr[user[FETCH_ROW]];

            __builtin_prefetch(&x->row_ptr[user[FETCH_PLACE]]);
            __builtin_prefetch(later);
            __builtin_prefetch(later + LINE_ITEMS);
        }
        do {
            j = *item++;
            row[j] += weight;
        } while (j != i);
    }
}

/* Adds row i of X'X to i + 1 entries: uint32 for ones without weights of users, else
 * double. */
static void add_to_row(const ease_interactions *x, const ease__item_users *c,
                       const double *w, int32_t i, void *row)
{
    if (x->vals)
        weigh_row(x, c, w, i, row);
    else if (w)
        add_row(x, c, w, i, row);
    else
        count_row(x, c, i, row);
}

void ease__gram_add_rows(const ease_interactions *x, const ease__item_users *c,
                         int32_t from, int32_t to, int threads, void *rows)
{
    size_t line = (size_t)to * (x->vals ? sizeof(double) : sizeof(uint32_t));

#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (int32_t r = from; r < to; r++) {
        int32_t i = to - 1 - (r - from); /* long rows first */

        add_to_row(x, c, NULL, i, (char *)rows + (size_t)(i - from) * line);
    }
}

void ease__gram_store(ease__element element, bool weighted, const void *row,
                      size_t count, void *to)
{
    const uint32_t *counts = row;
    const double *sums = row;

    if (!weighted && element == EASE__U32)
        memcpy(to, counts, count * sizeof(*counts));
    else if (weighted && element == EASE__F64)
        memcpy(to, sums, count * sizeof(*sums));
    else if (weighted)
        for (size_t j = 0; j < count; j++)
            ((float *)to)[j] = (float)sums[j];
    else
        for (size_t j = 0; j < count; j++)
            ((double *)to)[j] = counts[j];
}

/* Copies row i to the tiles, and clears it. */
static void store_row(ease__tiled *g, bool weighted, int32_t i, void *row)
{
    size_t edge = (size_t)g->edge, in_row = weighted ? sizeof(double) : 4;
    size_t line = (size_t)(i % g->edge) * edge * ease__element_bytes(g->element);
    size_t left = (size_t)i + 1;

    for (int32_t b = 0; left > 0; b++) {
        size_t count = left < edge ? left : edge;

        ease__gram_store(g->element, weighted, (char *)row + (size_t)b * edge * in_row,
                         count, (char *)ease__tile(g, i / g->edge, b) + line);
        left -= count;
    }
    memset(row, 0, ((size_t)i + 1) * in_row);
}

/* ---- all rows ----------------------------------------------------------------- */

static const double REPORT_SECONDS = 0.05;

typedef struct counting {
    const ease_interactions *x;
    const double *w; /* of users; NULL: all 1 */
    const ease_hooks *hooks;
    atomic_llong done; /* interactions */
    atomic_bool cancel;
    double reported; /* time of the last report; thread 0 only */
} counting;

/* True if the work was cancelled; called before each row. Hooks are called only by
 * thread 0, the caller's, and not again after it has cancelled. */
static bool stopped(counting *c)
{
    bool stop = atomic_load_explicit(&c->cancel, memory_order_relaxed);
    double now;

    if (stop || omp_get_thread_num() != 0)
        return stop;
    now = ease__seconds();
    if (now - c->reported < REPORT_SECONDS)
        return false;
    c->reported = now;
    stop = ease__progress(c->hooks, "counting pairs",
                          (double)atomic_load_explicit(&c->done, memory_order_relaxed) /
                              (double)(c->x->nnz + 1));
    if (stop)
        atomic_store_explicit(&c->cancel, true, memory_order_relaxed);
    return stop;
}

/* Sets what is known of item i beside its row of the matrix. */
static void sum_column(const counting *work, const ease__item_users *c, int32_t i,
                       ease_gram *g)
{
    double count = (double)(c->ptr[i + 1] - c->ptr[i]), sum = 0, weighted = 0;

    for (int64_t k = c->ptr[i]; (c->vals || work->w) && k < c->ptr[i + 1]; k++) {
        double value = c->vals ? (double)c->vals[k] : 1;

        sum += value;
        if (work->w)
            weighted += work->w[c->users[k]] * value;
    }
    g->sums[i] = c->vals ? sum : count;
    g->by_user->counts[i] = count;
    if (g->by_user->weighted_sums)
        g->by_user->weighted_sums[i] = weighted;
}

/* Fills the rows of the band of g, long rows first, so that the last ones to be
 * assigned are short. Scratch is 8 bytes for each item and thread. */
static bool fill_rows(counting *work, const ease__item_users *c, ease_gram *gram,
                      int threads, void *scratch)
{
    const ease_interactions *x = work->x;
    ease__tiled *g = &gram->g;
    size_t n = (size_t)x->items;
    int64_t end = (int64_t)g->last * g->edge;
    int32_t from = g->first * g->edge, to = end < x->items ? (int32_t)end : x->items;
    bool doubles = x->vals || work->w;

#pragma omp parallel num_threads(threads)
    {
        double *row = (double *)scratch + (size_t)omp_get_thread_num() * n;

        memset(row, 0, n * sizeof(*row));
#pragma omp for schedule(dynamic, 4)
        for (int32_t r = from; r < to; r++) {
            int32_t i = to - 1 - (r - from);

            if (stopped(work))
                continue;
            sum_column(work, c, i, gram);
            add_to_row(x, c, work->w, i, row);
            store_row(g, doubles, i, row);
            atomic_fetch_add_explicit(&work->done, c->ptr[i + 1] - c->ptr[i],
                                      memory_order_relaxed);
        }
    }
    return !atomic_load_explicit(&work->cancel, memory_order_relaxed);
}

/* ---- building ----------------------------------------------------------------- */

/* Fills the matrix band by band, or all at once. */
static ease_status fill_bands(counting *work, const ease__item_users *c, ease_gram *g,
                              const ease__bands *bands, int threads, void *scratch,
                              ease_error *err)
{
    ease__element element = g->g.element;
    ease_status status = EASE_OK;

    while (!status && (!bands || ease__tiled_next_band(&g->g))) {
        g->g.element = element;
        if (g->g.first > 0) /* clears the band before */
            memset(g->g.data, 0, g->g.bytes);
        if (!fill_rows(work, c, g, threads, scratch))
            return ease__cancelled(err);
        ease__tiled_mirror_diagonal(&g->g, threads);
        if (!bands)
            break;
        status = bands->take(bands->user, g, err);
    }
    if (!status && ease__progress(work->hooks, "counting pairs", 1))
        status = ease__cancelled(err);
    return status;
}

double ease__user_weight(int64_t items, double power)
{
    if (power == 0)
        return 1;
    return items ? pow((double)items, -power) : 0;
}

/* Sets w_u = (items of user u)^-power, and the sums over users. */
static void weigh_users(const ease_interactions *x, double power, double *w,
                        ease__by_user *b)
{
    double squares = 0, weighted = 0;

    for (int64_t u = 0; u < x->users; u++) {
        int64_t count = x->row_ptr[u + 1] - x->row_ptr[u];
        double own = x->vals ? 0 : (double)count;

        for (int64_t k = x->row_ptr[u]; x->vals && k < x->row_ptr[u + 1]; k++)
            own += (double)x->vals[k] * (double)x->vals[k];
        w[u] = ease__user_weight(count, power);
        b->mass += w[u];
        squares += own;
        weighted += w[u] * own;
    }
    b->mean_weight = squares > 0 ? weighted / squares : 1;
}

static ease_status build_rows(const ease_interactions *x, double user_power,
                              const ease__bands *bands, int threads,
                              const ease_hooks *hooks, ease_gram *g, ease_error *err)
{
    size_t n = (size_t)x->items;
    double *w = NULL;
    counting work = {.x = x, .hooks = hooks};
    ease__item_users c = {0};
    ease_status status = ease__item_users_new(x, threads, &c, err);
    void *scratch = NULL;

    if (!status) {
        scratch = ease__alloc_array(ease__size_mul((size_t)threads, n), 8);
        if (!scratch)
            status = ease__fail(err, EASE_E_NOMEM, "rows of %zu items", n);
    }
    if (!status && user_power != 0) {
        work.w = w = ease__alloc_array((size_t)x->users, sizeof(*w));
        if (w)
            weigh_users(x, user_power, w, g->by_user);
        else
            status = ease__fail(err, EASE_E_NOMEM, "weights of %lld users",
                                (long long)x->users);
    }
    if (!status && g->weighted)
        status = ease__proof_sums_new(x, w, &g->by_user->proof, err);
    if (!status)
        status = fill_bands(&work, &c, g, bands, threads, scratch, err);
    ease__item_users_free(&c);
    ease__free(scratch);
    ease__free(w);
    return status;
}

ease_status ease__gram_tiles_new(ease_gram *g, int32_t items, ease__element element,
                                 const ease__bands *bands, ease_error *err)
{
    ease__tiled shape = ease__tiled_shape(items, ease__tile_edge(items), element);

    return bands ? ease__tiled_new_band(&shape, bands->bytes, &g->g, err)
                 : ease__tiled_new(items, element, &g->g, err);
}

ease_status ease__gram_build_bands(const ease_interactions *x, ease__element element,
                                   double user_power, const ease__bands *bands,
                                   int threads, const ease_hooks *hooks,
                                   ease_gram **out, ease_error *err)
{
    ease_gram *g = NULL;
    ease_status status;

    if (x->items < 1)
        return ease__fail(err, EASE_E_DATA, "no items");
    g = ease__alloc_zero(1, sizeof(*g));
    if (g) {
        g->sums = ease__alloc_zero((size_t)x->items, sizeof(*g->sums));
        g->by_user = by_user_new((size_t)x->items, user_power != 0);
    }
    if (!g || !g->sums || !g->by_user) {
        status = ease__fail(err, EASE_E_NOMEM, "sums of %d items", (int)x->items);
        goto done;
    }
    g->weighted = x->vals || user_power != 0;
    g->users = x->users;
    g->interactions = x->nnz;
    if (user_power == 0) {
        g->by_user->mass = (double)x->users;
        g->by_user->mean_weight = 1;
    }
    status = x->item_ids.count ? ease__ids_copy(&g->ids, &x->item_ids, err)
                               : ease__ids_number(&g->ids, 0, x->items, err);
    if (!status)
        status = ease__gram_tiles_new(g, x->items, element, bands, err);
    if (!status)
        status = build_rows(x, user_power, bands, ease__threads(threads), hooks, g,
                            err);
    if (bands)
        ease__tiled_free(&g->g);

done:
    if (status)
        ease_gram_free(g);
    else
        *out = g;
    return status;
}

ease_status ease__gram_build(const ease_interactions *x, ease__element element,
                             int threads, const ease_hooks *hooks, ease_gram **out,
                             ease_error *err)
{
    return ease__gram_build_bands(x, element, 0, NULL, threads, hooks, out, err);
}

/* ---- public functions, which check the memory first --------------------------- */

size_t ease__interactions_bytes(const ease_interactions *x)
{
    return ((size_t)x->users + 1) * sizeof(*x->row_ptr) +
           (size_t)x->nnz * (x->vals ? 8 : 4) + ease__ids_held(&x->user_ids) +
           ease__ids_held(&x->item_ids);
}

size_t ease__gram_scratch_bytes(int64_t interactions, int32_t items, bool weighted,
                                int threads)
{
    size_t n = (size_t)items;

    return (size_t)interactions * (weighted ? 8 : 4) + (n + 1) * 8 +
           ease__size_mul((size_t)threads, n * 8);
}

ease_status ease__gram_element(const ease_interactions *x, ease_precision precision,
                               ease__element *out, ease_error *err)
{
    bool wide = precision == EASE_F64;
    double *diagonal;

    if (!x->vals || wide) {
        *out = !x->vals ? EASE__U32 : EASE__F64;
        return EASE_OK;
    }
    diagonal = ease__alloc_zero((size_t)x->items, sizeof(*diagonal));
    if (!diagonal)
        return ease__fail(err, EASE_E_NOMEM, "the diagonal of %d items", (int)x->items);
    for (int64_t k = 0; k < x->nnz; k++)
        diagonal[x->cols[k]] += (double)x->vals[k] * (double)x->vals[k];
    for (int32_t i = 0; i < x->items && !wide; i++)
        wide = ease__beyond_float(diagonal[i]);
    ease__free(diagonal);
    *out = wide ? EASE__F64 : EASE__F32;
    return EASE_OK;
}

ease_status ease_gram_build(const ease_interactions *x, const ease_gram_options *given,
                            ease_gram **out, ease_error *err)
{
    ease_gram_options o;
    ease__element element;
    ease_status status;
    size_t held, peak;

    if (!x || !out)
        return ease__fail(err, EASE_E_ARG, "interactions are required");
    status = ease__gram_options_take(given, &o, err);
    if (!status)
        status = ease__check_columns(x, err);
    if (!status)
        status = ease__gram_element(x, o.precision, &element, err);
    if (status)
        return status;
    held = ease__interactions_bytes(x);
    peak = ease__size_add(ease__tiled_bytes(x->items, element), held);
    peak = ease__size_add(peak, ease__gram_scratch_bytes(x->nnz, x->items, x->vals,
                                                         ease__threads(o.threads)));
    status = ease__memory_check("the Gram matrix of", x->items, peak,
                                ease__memory_allowed(o.memory_limit, held), err);
    if (status)
        return status;
    return ease__gram_build(x, element, o.threads, o.hooks, out, err);
}
