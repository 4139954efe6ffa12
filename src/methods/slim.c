/* SLIM: the weights into item j minimise
 *
 *     1/2 |x_j - X w|^2 + l2/2 |w|^2 + l1 |w|_1,   w_j = 0, and w >= 0 unless free,
 *
 * by coordinate descent, for each item separately. A step reads and updates the
 * residual x_j - X w, in two passes over the users of one item, which stay in cache.
 * Updating all gradients by a row of X'X instead would take a pass over all items that
 * occur with it, many more than its users, and would need X'X. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "compute/topk.h"
#include "data/item_users.h"
#include "gram/gram.h"
#include "methods/methods.h"

enum { L1, L2, TOP, TOLERANCE, ITERATIONS };

static const ease_setting settings[] = {
    {.name = "l1",
     .about = "factor of the sum of absolute weights: larger values give fewer nonzero "
              "weights",
     .value = 1,
     .most = 1e12},
    {.name = "l2",
     .about = "factor of half the sum of squared weights, like lambda of EASE",
     .value = 300,
     .most = 1e12},
    {.name = "top",
     .about = "largest weights into an item that are kept; 0: all",
     .most = INT32_MAX,
     .whole = 1},
    {.name = "tolerance",
     .about = "largest change of a weight in the last pass",
     .value = 1e-4,
     .least = 1e-12,
     .most = 1},
    {.name = "iterations",
     .about = "most passes for each item",
     .value = 1000,
     .least = 1,
     .most = INT32_MAX,
     .whole = 1},
    {0}};

typedef struct job {
    const ease_interactions *x;
    const char *method;
    const double *settings;
    bool nonnegative; /* weights */
    bool closed; /* only items that occur together with j can have a weight into it */
    ease__item_users columns; /* of X */
    double *squares;          /* |x_i|^2 */
    ease__ragged found;
    size_t fixed, allowed; /* bytes in use beside `found`, and bytes allowed in all */
    const ease_hooks *hooks;
    atomic_llong weights; /* number of weights found */
    atomic_int done;      /* items */
    atomic_int unfinished;
    atomic_int failed; /* a status */
} job;

enum { STEPS = 5 }; /* passes for one extrapolation */

/* Scratch of one thread. */
typedef struct fit {
    double *residual, *saved;  /* users */
    double *weights;           /* items; zero between items */
    double *trail;             /* STEPS + 1 x items: nonzero weights after each pass */
    float *rounded;            /* items */
    int32_t *listed, *nonzero; /* items */
    int32_t list_count;
    int32_t passes; /* passes that are left */
} fit;

/* ---- a pass ------------------------------------------------------------------- */

/* x_i . r, as four independent sums. */
static double times_column(const ease__item_users *c, int32_t i, const double *r)
{
    enum { SUMS = 4 };
    const uint32_t *users = c->users + c->ptr[i];
    const float *vals = c->vals ? c->vals + c->ptr[i] : NULL;
    int64_t count = c->ptr[i + 1] - c->ptr[i], k = 0;
    double sum[SUMS] = {0};

    for (; k + SUMS <= count; k += SUMS)
        for (int s = 0; s < SUMS; s++)
            sum[s] += vals ? (double)vals[k + s] * r[users[k + s]] : r[users[k + s]];
    for (; k < count; k++)
        sum[0] += vals ? (double)vals[k] * r[users[k]] : r[users[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* r -= change x_i */
static void subtract_column(const ease__item_users *c, int32_t i, double change,
                            double *r)
{
    for (int64_t k = c->ptr[i]; k < c->ptr[i + 1]; k++)
        r[c->users[k]] -= c->vals ? change * (double)c->vals[k] : change;
}

/* The best weight of item i if the others do not change. */
static double best_weight(const job *j, int32_t i, const fit *f)
{
    double l1 = j->settings[L1];
    double pull = times_column(&j->columns, i, f->residual) +
                  j->squares[i] * f->weights[i];

    if (pull > l1)
        return (pull - l1) / (j->squares[i] + j->settings[L2]);
    if (pull < -l1 && !j->nonnegative)
        return (pull + l1) / (j->squares[i] + j->settings[L2]);
    return 0;
}

/* One pass over the items of a list. Returns the largest change of a weight. */
static double pass(const job *j, const int32_t *list, int32_t count, fit *f)
{
    double largest = 0;

    for (int32_t k = 0; k < count; k++) {
        double weight = best_weight(j, list[k], f);
        double change = weight - f->weights[list[k]];

        if (change == 0)
            continue;
        f->weights[list[k]] = weight;
        subtract_column(&j->columns, list[k], change, f->residual);
        largest = fmax(largest, fabs(change));
    }
    f->passes--;
    return largest;
}

/* ---- extrapolation ------------------------------------------------------------ */

static double *trail_at(const job *j, const fit *f, int step)
{
    return f->trail + (size_t)step * (size_t)j->x->items;
}

static void remember(const job *j, fit *f, int step, int32_t count)
{
    double *to = trail_at(j, f, step);

    for (int32_t k = 0; k < count; k++)
        to[k] = f->weights[f->nonzero[k]];
}

/* The loss; all weights beside `nonzero` are 0. */
static double loss(const job *j, const fit *f, int32_t count)
{
    double errors = 0, squares = 0, sizes = 0;

    for (int64_t u = 0; u < j->x->users; u++)
        errors += f->residual[u] * f->residual[u];
    for (int32_t k = 0; k < count; k++) {
        double weight = f->weights[f->nonzero[k]];

        squares += weight * weight;
        sizes += fabs(weight);
    }
    return errors / 2 + j->settings[L2] * squares / 2 + j->settings[L1] * sizes;
}

/* The Gram matrix of the steps along the trail, with a slightly larger diagonal:
 * near the end the steps are nearly parallel. */
static void multiply_steps(const job *j, const fit *f, int32_t count,
                           double a[STEPS][STEPS])
{
    double trace = 0;

    for (int r = 0; r < STEPS; r++) {
        const double *w = trail_at(j, f, r), *next = trail_at(j, f, r + 1);

        for (int s = 0; s <= r; s++) {
            const double *v = trail_at(j, f, s), *then = trail_at(j, f, s + 1);
            double sum = 0;

            for (int32_t k = 0; k < count; k++)
                sum += (next[k] - w[k]) * (then[k] - v[k]);
            a[r][s] = a[s][r] = sum;
        }
        trace += a[r][r];
    }
    for (int r = 0; r < STEPS; r++)
        a[r][r] += 1e-10 * trace;
}

/* The c with sum 1 that minimizes c'Ac, A definite: the solution of A c = 1, scaled. */
static void shares_of_steps(double a[STEPS][STEPS], double c[STEPS])
{
    double sum = 0;

    for (int r = 0; r < STEPS; r++)
        c[r] = 1;
    for (int p = 0; p < STEPS; p++)
        for (int r = p + 1; r < STEPS; r++) {
            double factor = a[r][p] / a[p][p];

            for (int s = p; s < STEPS; s++)
                a[r][s] -= factor * a[p][s];
            c[r] -= factor * c[p];
        }
    for (int r = STEPS - 1; r >= 0; r--) {
        for (int s = r + 1; s < STEPS; s++)
            c[r] -= a[r][s] * c[s];
        c[r] /= a[r][r];
        sum += c[r];
    }
    for (int r = 0; r < STEPS; r++)
        c[r] /= sum;
}

/* Anderson extrapolation: near the minimum a pass is nearly linear in the weights,
 * so that a few passes predict where it converges. Accepted if the loss is lower;
 * NaN is not. */
static void extrapolate(const job *j, int32_t count, fit *f)
{
    double a[STEPS][STEPS], c[STEPS], before = loss(j, f, count);
    const double *last = trail_at(j, f, STEPS);

    multiply_steps(j, f, count, a);
    shares_of_steps(a, c);
    memcpy(f->saved, f->residual, (size_t)j->x->users * sizeof(*f->saved));
    for (int32_t k = 0; k < count; k++) {
        double weight = 0;

        for (int s = 0; s < STEPS; s++)
            weight += c[s] * trail_at(j, f, s + 1)[k];
        if (weight < 0 && j->nonnegative)
            weight = 0;
        f->weights[f->nonzero[k]] = weight;
        subtract_column(&j->columns, f->nonzero[k], weight - last[k], f->residual);
    }
    if (loss(j, f, count) < before)
        return;
    memcpy(f->residual, f->saved, (size_t)j->x->users * sizeof(*f->saved));
    for (int32_t k = 0; k < count; k++)
        f->weights[f->nonzero[k]] = last[k];
}

/* ---- coordinate descent ------------------------------------------------------- */

/* Passes over the nonzero weights until they converge. */
static void settle(const job *j, int32_t count, fit *f)
{
    int step = 0;

    remember(j, f, 0, count);
    while (f->passes > 0 && pass(j, f->nonzero, count, f) > j->settings[TOLERANCE]) {
        remember(j, f, ++step, count);
        if (step == STEPS) {
            extrapolate(j, count, f);
            remember(j, f, 0, count);
            step = 0;
        }
    }
}

/* Coordinate descent: a pass over the list, then, as most weights are 0 and stay so,
 * passes over the nonzero ones until they converge; repeated until a pass over the
 * list changes nothing. */
static void descend(const job *j, fit *f)
{
    while (f->passes > 0 &&
           pass(j, f->listed, f->list_count, f) > j->settings[TOLERANCE]) {
        int32_t count = 0;

        for (int32_t k = 0; k < f->list_count; k++)
            if (f->weights[f->listed[k]] != 0)
                f->nonzero[count++] = f->listed[k];
        settle(j, count, f);
    }
}

/* Lists the items whose weight becomes nonzero if all others are 0. If neither
 * weights nor interactions are negative, x_i . r can only fall as weights grow, so
 * that no other item can have a weight. */
static void list_drawn(const job *j, int32_t item, fit *f)
{
    const ease_interactions *x = j->x;
    double *products = f->weights;

    for (int64_t k = j->columns.ptr[item]; k < j->columns.ptr[item + 1]; k++) {
        uint32_t user = j->columns.users[k];
        double value = j->columns.vals ? (double)j->columns.vals[k] : 1;

        f->residual[user] = value;
        for (int64_t at = x->row_ptr[user]; at < x->row_ptr[user + 1]; at++)
            products[x->cols[at]] += x->vals ? value * (double)x->vals[at] : value;
    }
    f->list_count = 0;
    for (int32_t i = 0; i < x->items; i++) {
        if (fabs(products[i]) > j->settings[L1] && i != item)
            f->listed[f->list_count++] = i;
        products[i] = 0;
    }
}

static void list_all(const job *j, int32_t item, fit *f)
{
    f->list_count = 0;
    for (int32_t i = 0; i < j->x->items; i++)
        if (j->squares[i] > 0 && i != item)
            f->listed[f->list_count++] = i;
}

/* ---- storing weights ---------------------------------------------------------- */

static void choose(const fit *f, int32_t items, int32_t capacity, ease_rec *recs)
{
    ease__topk best = {.recs = recs, .capacity = capacity};

    for (int32_t i = 0; i < items; i++)
        f->rounded[i] = f->rounded[i] != 0 ? fabsf(f->rounded[i]) : -INFINITY;
    ease__topk_offer(&best, f->rounded, 0, items, NULL);
    for (int32_t k = 0; k < best.count; k++)
        recs[k].score = (float)f->weights[recs[k].item];
}

static void keep_all(const fit *f, int32_t items, ease_rec *recs)
{
    for (int32_t i = 0; i < items; i++)
        if (f->rounded[i] != 0)
            *recs++ = (ease_rec){i, f->rounded[i]};
}

static size_t bytes_in_use(const job *j)
{
    long long weights = atomic_load_explicit(&j->weights, memory_order_relaxed);

    /* weights as columns and as rows */
    return ease__size_add(j->fixed, ease__size_mul((size_t)weights, 16));
}

static ease_status keep(job *j, int32_t item, fit *f)
{
    int32_t items = j->x->items, count = 0, capacity;
    double top = j->settings[TOP];
    ease_rec *recs;

    for (int32_t i = 0; i < items; i++) {
        f->rounded[i] = (float)f->weights[i];
        count += f->rounded[i] != 0;
        if (!isfinite(f->rounded[i]))
            return EASE_E_DATA;
    }
    capacity = top > 0 && top < count ? (int32_t)top : count;
    if (capacity == 0)
        return EASE_OK;
    atomic_fetch_add_explicit(&j->weights, capacity, memory_order_relaxed);
    if (j->allowed && bytes_in_use(j) > j->allowed)
        return EASE_E_MEMORY_LIMIT;
    recs = ease__alloc_array((size_t)capacity, sizeof(*recs));
    if (!recs)
        return EASE_E_NOMEM;
    if (capacity < count)
        choose(f, items, capacity, recs);
    else
        keep_all(f, items, recs);
    j->found.columns[item].recs = recs;
    j->found.columns[item].count = capacity;
    return EASE_OK;
}

/* ---- all items ---------------------------------------------------------------- */

static ease_status fit_item(job *j, int32_t item, fit *f)
{
    ease_status status;

    if (j->columns.ptr[item] == j->columns.ptr[item + 1])
        return EASE_OK; /* an item without users has no weights */
    memset(f->residual, 0, (size_t)j->x->users * sizeof(*f->residual));
    list_drawn(j, item, f);
    f->passes = (int32_t)j->settings[ITERATIONS];
    descend(j, f);
    if (!j->closed) {
        list_all(j, item, f);
        descend(j, f);
    }
    if (f->passes == 0)
        atomic_fetch_add_explicit(&j->unfinished, 1, memory_order_relaxed);
    status = keep(j, item, f);
    memset(f->weights, 0, (size_t)j->x->items * sizeof(*f->weights));
    return status;
}

static ease_status report(job *j)
{
    int done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);

    return omp_get_thread_num() == 0 &&
                   ease__progress(j->hooks, "fitting", (double)done / j->x->items)
               ? EASE_E_CANCELLED
               : EASE_OK;
}

static void fit_all(job *j, int threads, fit *fits)
{
    if (ease__progress(j->hooks, "fitting", 0)) /* it may get no item */
        atomic_store(&j->failed, EASE_E_CANCELLED);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int32_t item = 0; item < j->x->items; item++) {
        ease_status status;
        int none = EASE_OK;

        if (atomic_load_explicit(&j->failed, memory_order_relaxed))
            continue;
        status = fit_item(j, item, &fits[omp_get_thread_num()]);
        if (!status)
            status = report(j);
        if (status)
            atomic_compare_exchange_strong(&j->failed, &none, (int)status);
    }
}

static ease_status tell_failure(const job *j, ease_error *err)
{
    ease_status status = (ease_status)atomic_load(&j->failed);

    switch (status) {
    case EASE_OK:
        return EASE_OK;
    case EASE_E_CANCELLED:
        return ease__cancelled(err);
    case EASE_E_MEMORY_LIMIT:
        return ease__memory_check(j->method, j->x->items, bytes_in_use(j), j->allowed,
                                  err);
    case EASE_E_NOMEM:
        return ease__fail(err, status, "%lld weights",
                          (long long)atomic_load(&j->weights));
    default:
        return ease__fail(err, status,
                          "a weight is beyond the range of float: the "
                          "interactions' values differ too much");
    }
}

/* ---- training ----------------------------------------------------------------- */

static void fits_free(fit *fits, int threads)
{
    for (int t = 0; fits && t < threads; t++) {
        ease__free(fits[t].residual);
        ease__free(fits[t].saved);
        ease__free(fits[t].weights);
        ease__free(fits[t].trail);
        ease__free(fits[t].rounded);
        ease__free(fits[t].listed);
        ease__free(fits[t].nonzero);
    }
    ease__free(fits);
}

static fit *fits_new(const ease_interactions *x, int threads)
{
    size_t n = (size_t)x->items;
    fit *fits = ease__alloc_zero((size_t)threads, sizeof(*fits));

    for (int t = 0; fits && t < threads; t++) {
        fit *f = &fits[t];

        f->residual = ease__alloc_array((size_t)x->users, sizeof(*f->residual));
        f->saved = ease__alloc_array((size_t)x->users, sizeof(*f->saved));
        f->weights = ease__alloc_zero(n, sizeof(*f->weights));
        f->trail = ease__alloc_array((STEPS + 1) * n, sizeof(*f->trail));
        f->rounded = ease__alloc_array(n, sizeof(*f->rounded));
        f->listed = ease__alloc_array(n, sizeof(*f->listed));
        f->nonzero = ease__alloc_array(n, sizeof(*f->nonzero));
        if (!f->residual || !f->saved || !f->weights || !f->trail || !f->rounded ||
            !f->listed || !f->nonzero) {
            fits_free(fits, threads);
            return NULL;
        }
    }
    return fits;
}

static size_t fixed_bytes(const ease_interactions *x, int threads)
{
    size_t n = (size_t)x->items, a_fit, sum;

    a_fit = ease__size_add(ease__size_mul((size_t)x->users, 2 * sizeof(double)),
                           n * ((STEPS + 2) * sizeof(double) + 3 * sizeof(float)));
    sum = ease__size_add(ease__interactions_bytes(x),
                         ease__size_mul((size_t)threads, a_fit));
    sum = ease__size_add(sum, n * 32); /* squares, columns found, starts of rows */
    return ease__size_add(
        sum, ease__gram_scratch_bytes(x->nnz, x->items, x->vals != NULL, threads));
}

static ease_status prepare(job *j, int threads, ease_error *err)
{
    int32_t n = j->x->items;
    ease_status status = ease__item_users_new(j->x, threads, &j->columns, err);

    if (!status)
        status = ease__ragged_new(n, &j->found, err);
    if (status)
        return status;
    j->squares = ease__alloc_array((size_t)n, sizeof(*j->squares));
    if (!j->squares)
        return ease__fail(err, EASE_E_NOMEM, "squares of %d items", (int)n);
    j->closed = j->nonnegative;
    for (int32_t i = 0; i < n; i++) {
        double sum = 0;

        for (int64_t k = j->columns.ptr[i]; k < j->columns.ptr[i + 1]; k++) {
            double value = j->columns.vals ? (double)j->columns.vals[k] : 1;

            sum += value * value;
            if (value < 0)
                j->closed = false;
        }
        j->squares[i] = sum;
    }
    return EASE_OK;
}

static ease_status fit_into(job *j, int threads, ease_model *m, ease_error *err)
{
    fit *fits = fits_new(j->x, threads);
    int unfinished;
    ease_status status;

    if (!fits)
        return ease__fail(err, EASE_E_NOMEM, "residuals of %d threads", threads);
    fit_all(j, threads, fits);
    fits_free(fits, threads);
    status = tell_failure(j, err);
    unfinished = atomic_load(&j->unfinished);
    if (!status && unfinished > 0)
        ease__log(j->hooks, 1,
                  "%d of %d items: weights still changed by more than %g after %g "
                  "passes",
                  unfinished, (int)j->x->items, j->settings[TOLERANCE],
                  j->settings[ITERATIONS]);
    return status ? status : ease__ragged_transpose(&j->found, j->hooks, m, err);
}

static ease_status check(const double *given, ease_error *err)
{
    if (given[L1] > 0 || given[L2] > 0)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "l1 or l2 must be above 0: without them the weights are not "
                      "determined");
}

static ease_status train(job *j, const ease_train_options *o, ease_model *m,
                         ease_error *err)
{
    int threads = ease__threads(o->threads);
    ease_status status;

    j->hooks = o->hooks;
    j->fixed = fixed_bytes(j->x, threads);
    j->allowed = ease__memory_allowed(o->memory_limit, ease__interactions_bytes(j->x));
    status = ease__memory_check(j->method, j->x->items, j->fixed, j->allowed, err);
    if (!status)
        status = prepare(j, threads, err);
    if (!status)
        status = fit_into(j, threads, m, err);
    ease__item_users_free(&j->columns);
    ease__ragged_free(&j->found);
    ease__free(j->squares);
    return status;
}

static ease_status train_slim(const ease_interactions *x, const ease_train_options *o,
                              const double *given, ease_model *m, ease_error *err)
{
    job j = {.x = x, .method = "slim for", .settings = given, .nonnegative = true};

    return train(&j, o, m, err);
}

static ease_status train_free(const ease_interactions *x, const ease_train_options *o,
                              const double *given, ease_model *m, ease_error *err)
{
    job j = {.x = x, .method = "slim-free for", .settings = given};

    return train(&j, o, m, err);
}

const ease__method ease__slim = {
    .info =
        {
            .name = "slim",
            .about = "sparse weights of 0 or more by an elastic net (Ning and Karypis, "
                     "ICDM 2011)",
            .grid = "l1=0.1|1|5,l2=10|30|100|300|1000",
        },
    .number = 4,
    .settings = settings,
    .form = &ease__form_sparse,
    .check = check,
    .fill = train_slim,
};
/* Without the constraint a smaller l1 leaves many nonzero weights and takes long. */
const ease__method ease__slim_free = {
    .info =
        {
            .name = "slim-free",
            .about = "SLIM with weights of either sign",
            .grid = "l1=1|2|5,l2=30|100|300|1000",
        },
    .number = 5,
    .settings = settings,
    .form = &ease__form_sparse,
    .check = check,
    .fill = train_free,
};
