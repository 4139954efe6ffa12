/* LRec (Sedhain, Menon, Sanner, Xie and Braziunas): a logistic regression for each
 * user, on which other users have an item. A model can score only the users that it
 * was trained with. It keeps their scores, 2 bytes each, because weights would be
 * users x users. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>

#include "data/item_users.h"
#include "gram/gram.h"
#include "methods/logistic.h"
#include "methods/methods.h"

enum { L2, TOLERANCE, ITERATIONS };

static const ease_setting settings[] = {
    {.name = "l2",
     .about = "factor of half the sum of a user's squared weights",
     .value = 30,
     .least = 1e-4,
     .most = 1e12},
    {.name = "tolerance",
     .about = "length of the gradient at the end, relative to the first one",
     .value = 1e-3,
     .least = 1e-12,
     .most = 0.5},
    {.name = "iterations",
     .about = "most iterations of Newton's method for each user",
     .value = 100,
     .least = 1,
     .most = 100000,
     .whole = 1},
    {0}};

typedef struct job {
    const ease_interactions *x;
    ease__logistic logistic;
    ease_model *model;
    int64_t *order; /* users to fit, by their number of items */
    int64_t learned;
    double *losses; /* in this order */
    const ease_hooks *hooks;
    atomic_llong done;
    atomic_int spent, stalled; /* users short of the tolerance, and why */
    atomic_bool cancelled;
} job;

/* ---- users -------------------------------------------------------------------- */

static int64_t items_of(const ease_interactions *x, int64_t user)
{
    return x->row_ptr[user + 1] - x->row_ptr[user];
}

/* Scores by popularity a user who has none of the items or all, from whom nothing
 * can be learned; `scores` is scratch. */
static void put_popular(job *j, int64_t user, double *scores)
{
    const ease_interactions *x = j->x;

    for (int32_t i = 0; i < x->items; i++) {
        double count = (double)(j->logistic.col_ptr[i + 1] - j->logistic.col_ptr[i]);

        scores[i] = log((count + 0.5) / ((double)x->users - count + 0.5));
    }
    ease__known_put(&j->model->known, user, scores, x->items);
}

/* Sorts users by their number of items, so that the users of a block need about as
 * many iterations. A counting sort: equal users keep their order. `starts` is
 * scratch of items + 1. */
static void sort_users(job *j, int64_t *starts)
{
    const ease_interactions *x = j->x;

    for (int64_t u = 0; u < x->users; u++)
        if (items_of(x, u) > 0 && items_of(x, u) < x->items)
            starts[items_of(x, u)]++;
    for (int32_t i = 0; i <= x->items; i++) {
        int64_t count = starts[i];

        starts[i] = j->learned;
        j->learned += count;
    }
    for (int64_t u = 0; u < x->users; u++)
        if (items_of(x, u) > 0 && items_of(x, u) < x->items)
            j->order[starts[items_of(x, u)]++] = u;
}

static ease_status find_users(job *j, ease_error *err)
{
    const ease_interactions *x = j->x;
    int64_t *starts = ease__alloc_zero((size_t)x->items + 1, sizeof(*starts));
    double *scores = ease__alloc_array((size_t)x->items, sizeof(*scores));
    ease_status status = EASE_OK;

    j->order = ease__alloc_array((size_t)x->users + 1, sizeof(*j->order));
    j->losses = ease__alloc_zero((size_t)x->users + 1, sizeof(*j->losses));
    if (!starts || !scores || !j->order || !j->losses) {
        status = ease__fail(err, EASE_E_NOMEM, "%lld users", (long long)x->users);
    } else {
        sort_users(j, starts);
        for (int64_t u = 0; u < x->users; u++)
            if (items_of(x, u) == 0 || items_of(x, u) == x->items)
                put_popular(j, u, scores);
    }
    ease__free(starts);
    ease__free(scores);
    return status;
}

/* ---- fitting ------------------------------------------------------------------ */

/* Reports progress. Called only by the caller's thread. */
static void ask(job *j)
{
    if (ease__progress(j->hooks, "fitting",
                       (double)atomic_load(&j->done) / (double)j->learned))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
}

/* Fits the users from place `first` of the order on. */
static void fit_block(job *j, int64_t first, ease__logistic_scratch *r)
{
    int64_t left = j->learned - first;
    int count = left < EASE__LANES ? (int)left : EASE__LANES;
    int32_t n = j->x->items;
    ease__logistic_ends ends = ease__logistic_fit(&j->logistic, j->order + first, count,
                                                  r, j->losses + first);

    for (int k = 0; k < count; k++) {
        double *row = r->bent; /* no longer used */

        for (int32_t i = 0; i < n; i++)
            row[i] = r->scores[(size_t)i * EASE__LANES + (size_t)k];
        ease__known_put(&j->model->known, j->order[first + k], row, n);
    }
    atomic_fetch_add_explicit(&j->spent, ends.spent, memory_order_relaxed);
    atomic_fetch_add_explicit(&j->stalled, ends.stalled, memory_order_relaxed);
    atomic_fetch_add_explicit(&j->done, count, memory_order_relaxed);
    if (omp_get_thread_num() == 0)
        ask(j);
}

/* Fits all users, in rounds of about a tenth, so that the loss can be logged after
 * each. */
static void fit_all(job *j, int threads, ease__logistic_scratch *scratches)
{
    int64_t blocks = (j->learned + EASE__LANES - 1) / EASE__LANES;
    int64_t round = blocks / 10 > 64 ? blocks / 10 : 64;
    double loss = 0;

    for (int64_t first = 0; first < blocks; first += round) {
        int64_t end = blocks - first < round ? blocks : first + round, fitted;

        ask(j); /* the caller's thread may get no block */
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t b = first; b < end; b++)
            if (!atomic_load_explicit(&j->cancelled, memory_order_relaxed))
                fit_block(j, b * EASE__LANES, &scratches[omp_get_thread_num()]);
        if (atomic_load(&j->cancelled))
            return;
        fitted = end == blocks ? j->learned : end * EASE__LANES;
        for (int64_t u = first * EASE__LANES; u < fitted; u++)
            loss += j->losses[u];
        ease__log(j->hooks, 2, "%lld of %lld users: loss %.7g, %.7g each",
                  (long long)fitted, (long long)j->learned, loss,
                  loss / (double)fitted);
    }
}

static void tell_ends(job *j)
{
    int spent = atomic_load(&j->spent), stalled = atomic_load(&j->stalled);

    if (spent > 0)
        ease__log(j->hooks, 1,
                  "%d of %lld users: not within the tolerance after %d iterations",
                  spent, (long long)j->learned, (int)j->logistic.iterations);
    if (stalled > 0)
        ease__log(j->hooks, 1,
                  "%d of %lld users: short of the tolerance, where no step lowers the "
                  "loss any more",
                  stalled, (long long)j->learned);
}

static ease_status fit(job *j, int threads, ease_error *err)
{
    ease__logistic_scratch *scratches = ease__alloc_zero((size_t)threads,
                                                         sizeof(*scratches));
    ease_status status = scratches
                             ? EASE_OK
                             : ease__fail(err, EASE_E_NOMEM, "%d threads", threads);

    for (int t = 0; !status && t < threads; t++)
        status = ease__logistic_scratch_new(&j->logistic, &scratches[t], err);
    if (!status) {
        fit_all(j, threads, scratches);
        if (atomic_load(&j->cancelled))
            status = ease__cancelled(err);
    }
    for (int t = 0; scratches && t < threads; t++)
        ease__logistic_scratch_free(&scratches[t]);
    ease__free(scratches);
    if (!status)
        tell_ends(j);
    return status;
}

/* ---- training ----------------------------------------------------------------- */

static ease_status check_memory(const job *j, size_t limit, int threads,
                                ease_error *err)
{
    const ease_interactions *x = j->x;
    size_t held = ease__interactions_bytes(x);
    size_t peak = ease__size_add(held, ease__known_bytes(x));

    peak = ease__size_add(peak,
                          ease__gram_scratch_bytes(x->nnz, x->items, false, threads));
    peak = ease__size_add(
        peak,
        ease__size_mul((size_t)threads, ease__logistic_scratch_bytes(&j->logistic)));
    peak = ease__size_add(peak, ease__size_mul((size_t)x->users, 16));
    return ease__memory_check("lrec for", x->items, peak,
                              ease__memory_allowed(limit, held), err);
}

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    int threads = ease__threads(o->threads);
    ease__item_users columns = {0};
    job j = {.x = x,
             .logistic = {.users = x->users,
                          .items = x->items,
                          .row_ptr = x->row_ptr,
                          .row_items = (const uint32_t *)x->cols,
                          .l2 = given[L2],
                          .tolerance = given[TOLERANCE],
                          .iterations = (int32_t)given[ITERATIONS]},
             .model = m,
             .hooks = o->hooks};
    ease_status status = check_memory(&j, o->memory_limit, threads, err);

    if (!status && x->vals)
        ease__log(o->hooks, 1, "lrec looks at who has what, not at the values");
    if (!status)
        status = ease__item_users_new(x, threads, &columns, err);
    if (!status)
        status = ease__known_new(x, &m->known, err);
    j.logistic.col_ptr = columns.ptr;
    j.logistic.col_users = columns.users;
    if (!status)
        status = find_users(&j, err);
    if (!status)
        status = fit(&j, threads, err);
    ease__item_users_free(&columns);
    ease__free(j.order);
    ease__free(j.losses);
    return status;
}

const ease__method ease__lrec = {
    .info =
        {
            .name = "lrec",
            .about = "a logistic regression for each user (Sedhain et al., AAAI 2016)",
            .known_users = 1,
            .grid = "l2=1|3|10|30|100|300",
        },
    .number = 11,
    .settings = settings,
    .form = &ease__form_known,
    .fill = train,
};
