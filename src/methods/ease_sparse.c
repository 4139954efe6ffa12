/* ease-sparse: EASE for catalogs whose n x n matrix does not fit into memory. An item
 * has weights from its support N, the items nearest to it, and they are exact within
 * it:
 *
 *     w = (C_NN + diagMat(Lambda_N))^-1 C_Nj,   C = X' diagMat(w) X
 *
 * All items are independent of each other: for each, a row of C, the choice of N, and
 * one Cholesky factorization. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "compute/topk.h"
#include "gram/gram.h"
#include "methods/methods.h"
#include "methods/pairs.h"
#include "methods/small_system.h"

enum { COSINE, REGULARIZED };
enum {
    NEIGHBOURS,
    NEARNESS,
    LAMBDA_POWER,
    DROPOUT,
    USER_POWER,
    RELAXATION,
    INPUT_POWER,
    OUTPUT_POWER
};

static const ease_setting settings[] = {
    {.name = "neighbours",
     .about = "number of items that have a weight into an item",
     .value = 100,
     .least = 1,
     .most = INT32_MAX,
     .whole = 1},
    {.name = "nearness",
     .about =
         "what the neighbours of an item are chosen by: the cosine of the users of "
         "two items, or the same with the regularized diagonal, which prefers "
         "popular items",
     .most = 1,
     .whole = 1,
     .words = "cosine|regularized"},
    {.name = "lambda-power",
     .about = "lambda is multiplied by an item's entry of the diagonal of the Gram "
              "matrix to this power",
     .least = -1,
     .most = 2},
    {.name = "dropout",
     .about = "probability that an interaction is dropped in training: p / (1 - p) "
              "times an item's count is added to lambda",
     .most = 0.99},
    {.name = "user-power",
     .about = "a user with n items counts with the weight n^-VALUE",
     .least = -1,
     .most = 2},
    {.name = "relaxation",
     .about =
         "largest weight of an item into itself in training: 0 is a zero diagonal, "
         "1 a free one",
     .most = 1},
    {.name = "input-power",
     .about =
         "weights are multiplied by the number of users of the item of the history "
         "to this power",
     .least = -2,
     .most = 2},
    {.name = "output-power",
     .about =
         "weights are multiplied by the number of users of the item that is scored "
         "to this power",
     .least = -2,
     .most = 2},
    {0}};

static const ease__axis axes[] = {
    {.setting = USER_POWER, .start = 0.4, .step = 0.2},
    {.setting = DROPOUT, .start = 0.5, .step = 1, .odds = true},
    {.setting = LAMBDA_POWER, .step = 0.25},
    {.setting = INPUT_POWER, .step = 0.1, .coupled = true},
    {.setting = OUTPUT_POWER, .step = 0.1, .coupled = true},
    {.setting = RELAXATION, .step = 0.2},
    {.step = 0}};

static void family(const double *given, ease__family *f)
{
    f->lambda_power = given[LAMBDA_POWER];
    f->dropout = given[DROPOUT];
    f->user_power = given[USER_POWER];
    f->relaxation = given[RELAXATION];
    f->input = given[INPUT_POWER];
    f->output = given[OUTPUT_POWER];
}

typedef struct job {
    const ease_interactions *x;
    ease__family family;
    int32_t neighbours;
    bool all;  /* other items are neighbours */
    bool wide; /* all systems are solved in float64 */
    ease__ranked ranked;
    ease__pairs pairs;
    double *nearness; /* by rank: the factor of entries that neighbours are chosen by */
    ease__ragged found;
    const ease__kernels *kernels;
    const ease_hooks *hooks;
    atomic_int done, widened;
    atomic_bool stop;
    ease__failure failure;
} job;

/* Scratch of one thread; k is the number of neighbours. */
typedef struct scratch {
    ease__pair_scratch row, gather;
    ease__pair_memo memo;
    ease_rec *recs; /* k: the neighbours by nearness */
    int32_t *ranks; /* k + 1, descending */
    ease__small_system system;
} scratch;

/* ---- neighbours ------------------------------------------------------------------ */

/* Chooses the nearest of the `found` partners of a row, of equal ones the more popular,
 * and clears their marks. */
static int32_t choose(const job *j, int32_t found, scratch *s)
{
    ease__topk best = {.recs = s->recs, .capacity = j->neighbours};

    for (int32_t t = 0; t < found; t++) {
        int32_t rank = s->row.hits[t];
        float near = (float)(fabs(s->row.sums[rank]) * j->nearness[rank]);

        s->row.marks[rank / 64] = 0;
        if (near > 0 && near >= ease__topk_least(&best))
            ease__topk_offer_one(&best, (ease_rec){rank, near});
    }
    return best.count;
}

/* Writes the chosen ranks in descending order: marking bits is cheaper than comparing.
 * The marks are cleared again. */
static void sort_ranks(int32_t count, scratch *s)
{
    uint64_t *marks = s->row.marks;
    int32_t last = 0, sorted = 0;

    for (int32_t t = 0; t < count; t++) {
        int32_t rank = s->recs[t].item;

        marks[rank / 64] |= UINT64_C(1) << rank % 64;
        last = rank > last ? rank : last;
    }
    for (int32_t word = last / 64; word >= 0; word--)
        while (marks[word]) {
            int32_t bit = 63 - __builtin_clzll(marks[word]);

            marks[word] &= ~(UINT64_C(1) << bit);
            s->ranks[sorted++] = word * 64 + bit;
        }
}

/* The support if there are as many neighbours as other items: all that have users, so
 * that the weights are those of EASE. The sums of the others are 0. */
static int32_t take_all(const job *j, int32_t rank, int32_t found, scratch *s)
{
    int32_t count = 0;

    for (int32_t t = 0; t < found; t++)
        s->row.marks[s->row.hits[t] / 64] = 0;
    for (int32_t k = j->x->items; k-- > 0;) {
        s->ranks[count] = k;
        count += k != rank && j->ranked.counts[k] > 0;
    }
    return count;
}

static int32_t take_nearest(const job *j, int32_t found, scratch *s)
{
    int32_t count = choose(j, found, s);

    sort_ranks(count, s);
    return count;
}

/* Finds the support of a rank, s->ranks, and the right side of its system. Returns the
 * number of neighbours. */
static int32_t find_support(const job *j, int32_t rank, scratch *s)
{
    int32_t found = ease__pairs_row(&j->ranked, rank, &s->row);
    int32_t count = j->all ? take_all(j, rank, found, s) : take_nearest(j, found, s);

    for (int32_t t = 0; t < count; t++)
        s->system.right[t] = s->row.sums[s->ranks[t]];
    for (int32_t t = 0; t < found; t++)
        s->row.sums[s->row.hits[t]] = 0;
    return count;
}

/* ---- one system ------------------------------------------------------------------ */

static double diagonal_at(const job *j, int32_t rank)
{
    return j->ranked.diagonal[rank] + j->ranked.penalty[rank];
}

/* Solves in float32; false: float64 is needed. */
static bool solve_narrow(const job *j, int32_t count, scratch *s)
{
    size_t ld = ease__padded(count);

    ease__pairs_gather(&j->pairs, s->ranks, count, &s->gather, &s->memo, s->system.a,
                       ld);
    for (int32_t i = 0; i < count; i++)
        s->system.a[(size_t)i * (ld + 1)] = (float)diagonal_at(j, s->ranks[i]);
    return ease__small_system_solve(j->kernels, count, &s->system);
}

static ease_status solve_wide(job *j, int32_t rank, int32_t count, scratch *s,
                              ease_error *err)
{
    size_t n = (size_t)count;
    int32_t item = j->ranked.order[rank];
    ease_status status = ease__small_system_widen(&s->system, err);

    if (status)
        return status;
    atomic_fetch_add_explicit(&j->widened, 1, memory_order_relaxed);
    ease__pairs_gather_wide(&j->pairs, s->ranks, count, &s->gather, &s->memo,
                            s->system.wide, n);
    for (size_t i = 0; i < n; i++)
        s->system.wide[i * (n + 1)] = diagonal_at(j, s->ranks[i]);
    if (ease__small_system_solve_wide(count, &s->system))
        return EASE_OK;
    return ease__fail_at(err, EASE_E_NOT_POSDEF, item,
                         "the matrix of the neighbours of item \"%.200s\" (number %d) "
                         "is not positive definite: raise lambda",
                         ease__ids_at(&j->x->item_ids, item), (int)item);
}

/* ---- one item -------------------------------------------------------------------- */

/* The factor of the weights into an item that a relaxed diagonal makes: m_j P_jj. */
static double relax(const job *j, int32_t rank, int32_t count, const scratch *s)
{
    double xi = j->family.relaxation, penalty = j->ranked.penalty[rank];
    double pivot = j->ranked.diagonal[rank] + penalty;

    if (xi == 0)
        return 1;
    for (int32_t i = 0; i < count; i++)
        pivot -= s->system.right[i] * (double)s->system.w[i];
    return 1 - penalty / pivot > xi ? 1 - xi : penalty / pivot;
}

static void keep(job *j, int32_t rank, int32_t count, const scratch *s)
{
    int32_t item = j->ranked.order[rank], kept = 0;
    double factor = relax(j, rank, count, s);
    ease_rec *recs = ease__ragged_take(&j->found, count);

    for (int32_t i = 0; i < count; i++) {
        int32_t from = j->ranked.order[s->ranks[i]];

        recs[kept] = (ease_rec){from, (float)((double)s->system.w[i] * factor)};
        kept += recs[kept].score != 0;
    }
    j->found.columns[item].recs = recs;
    j->found.columns[item].count = kept;
}

static ease_status fit_item(job *j, int32_t rank, scratch *s, ease_error *err)
{
    int32_t count = find_support(j, rank, s);
    ease_status status = EASE_OK;

    if (j->wide || !solve_narrow(j, count, s))
        status = solve_wide(j, rank, count, s, err);
    if (!status)
        keep(j, rank, count, s);
    return status;
}

/* ---- all items ------------------------------------------------------------------- */

static void scratches_free(scratch *scratches, int threads)
{
    for (int t = 0; scratches && t < threads; t++) {
        scratch *s = &scratches[t];

        ease__pair_scratch_free(&s->row);
        ease__pair_scratch_free(&s->gather);
        ease__pair_memo_free(&s->memo);
        ease__free(s->recs);
        ease__free(s->ranks);
        ease__small_system_free(&s->system);
    }
    ease__free(scratches);
}

static ease_status scratch_make(const job *j, scratch *s, ease_error *err)
{
    size_t k = (size_t)j->neighbours;
    ease_status status = ease__pair_scratch_new(j->x->items, &s->row, err);

    if (!status)
        status = ease__pair_scratch_new(j->x->items, &s->gather, err);
    if (!status)
        status = ease__pair_memo_new(j->x->users, j->neighbours, &s->memo, err);
    if (!status)
        status = ease__small_system_new(j->neighbours, &s->system, err);
    if (status)
        return status;
    s->recs = ease__alloc_array(k, sizeof(*s->recs));
    s->ranks = ease__alloc_array(k + 1, sizeof(*s->ranks));
    if (s->recs && s->ranks)
        return EASE_OK;
    return ease__fail(err, EASE_E_NOMEM, "a support of %zu items", k);
}

static void fit_all(job *j, int threads, scratch *scratches)
{
    int32_t n = j->x->items;
    double told = ease__seconds();

#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int32_t rank = 0; rank < n; rank++) {
        ease_error err = {0};
        ease_status status;
        int done;

        if (atomic_load_explicit(&j->stop, memory_order_relaxed))
            continue;
        status = fit_item(j, rank, &scratches[omp_get_thread_num()], &err);
        done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);
        if (!status && omp_get_thread_num() == 0 && ease__is_due(done, &told) &&
            ease__progress(j->hooks, "solving", (double)done / (double)n))
            status = ease__cancelled(&err);
        if (status) {
            ease__failure_note(&j->failure, status, &err);
            atomic_store(&j->stop, true);
        }
    }
}

static ease_status fit(job *j, int threads, ease_error *err)
{
    scratch *scratches = ease__alloc_zero((size_t)threads, sizeof(*scratches));
    ease_status status = EASE_OK;

    if (!scratches)
        return ease__fail(err, EASE_E_NOMEM, "systems of %d threads", threads);
    for (int t = 0; !status && t < threads; t++)
        status = scratch_make(j, &scratches[t], err);
    /* Thread 0, which reports the progress, may get no item. */
    if (!status && ease__progress(j->hooks, "solving", 0))
        status = ease__cancelled(err);
    if (!status) {
        fit_all(j, threads, scratches);
        status = ease__failure_take(&j->failure, err);
    }
    scratches_free(scratches, threads);
    return status;
}

/* ---- memory ---------------------------------------------------------------------- */

/* The most bytes of kept rows of X'X. They grow with the items, so that the time does
 * not grow faster: the rows that are not kept take most of it. */
static size_t most_kept(int32_t items)
{
    size_t least = (size_t)1 << 29, bytes = (size_t)items * 4096;

    return bytes > least ? bytes : least;
}

/* Bytes for the sizes of data. */
typedef struct needs {
    size_t fitting; /* without kept rows and weights */
    size_t weights; /* by columns, or by rows: at the end both are in memory */
} needs;

static needs needs_of(const ease_gram_info *sizes, int32_t neighbours, int threads)
{
    size_t n = (size_t)sizes->items, k = (size_t)neighbours;
    size_t a_thread = ease__size_add(
        2 * ease__pair_scratch_bytes(sizes->items) +
            ease__pair_memo_bytes(sizes->users, neighbours),
        ease__small_system_bytes(neighbours));
    needs d = {
        .fitting = ease__ranked_bytes(sizes->users, sizes->items, sizes->interactions,
                                      sizes->weighted != 0, threads),
        .weights = ease__size_add(
            ease__size_mul(ease__size_mul(n, k), sizeof(ease_rec)),
            n * 4 * sizeof(void *)),
    };

    d.fitting = ease__size_add(d.fitting, n * (sizeof(ease__pair_row) + 24));
    d.fitting = ease__size_add(d.fitting, ease__size_mul((size_t)threads, a_thread));
    return d;
}

/* While items are fitted, without kept rows. */
static size_t with_fitting(const needs *d)
{
    return ease__size_add(d->weights, d->fitting);
}

/* The least memory: at the end the weights are in memory twice. */
static size_t least_of(const needs *d)
{
    return ease__size_add(d->weights,
                          d->fitting > d->weights ? d->fitting : d->weights);
}

/* The bytes that kept rows may have beside `others`; `allowed` 0 is no limit. */
static size_t kept_within(int32_t items, size_t allowed, size_t others)
{
    size_t most = most_kept(items), left = allowed > others ? allowed - others : 0;

    return allowed > 0 && left < most ? left : most;
}

static int32_t neighbours_of(const double *given, int32_t items)
{
    double most = items > 1 ? items - 1 : 1;

    return (int32_t)fmin(given[NEIGHBOURS], most);
}

/* Checks the memory, and sets the part of it that kept rows may have. */
static ease_status check_memory(const job *j, const ease_train_options *o, int threads,
                                size_t *budget, ease_error *err)
{
    const ease_interactions *x = j->x;
    ease_gram_info sizes = {.users = x->users,
                            .interactions = x->nnz,
                            .items = x->items,
                            .weighted = x->vals != NULL};
    needs d = needs_of(&sizes, j->neighbours, threads);
    size_t held = ease__interactions_bytes(x);
    size_t peak = ease__size_add(held, least_of(&d));
    size_t allowed = ease__memory_allowed(o->memory_limit, held);
    ease_status status = ease__memory_check("ease-sparse for", x->items, peak, allowed,
                                            err);

    if (!status)
        *budget = kept_within(x->items, allowed,
                              ease__size_add(held, with_fitting(&d)));
    return status;
}

/* Measured on one core: a pair of a history that is counted or chosen from, a kept
 * entry that is passed over, an entry of a small system, and the rate of
 * factorizing. */
static const double SECONDS_A_PAIR = 10e-9, SECONDS_A_SCANNED_ENTRY = 0.9e-9,
                    SECONDS_AN_ENTRY = 5e-9, FACTOR_FLOPS_A_SECOND = 100e9;

/* With a share s of the pairs kept, passing over entries takes 1 - 1.1 log(s) times as
 * long: measured with 22 and 5 % of them. Popular rows are kept first, so that even a
 * small share saves most of the counting. */
static const double LONGER_UNKEPT = 1.1, LEAST_SHARE = 0.01;

static double slower_by(double kept, double all)
{
    double share = all > 0 ? fmax(kept / all, LEAST_SHARE) : 1;

    return 1 - LONGER_UNKEPT * log(fmin(share, 1));
}

/* Bytes of a kept pair, if none is repeated. */
enum { PAIR_BYTES = 6 };

static void plan(const ease_gram_info *sizes, double pairs, const ease_train_options *o,
                 const double *given, ease_plan *out)
{
    int32_t neighbours = neighbours_of(given, sizes->items);
    needs d = needs_of(sizes, neighbours, out->threads);
    double k = neighbours, n = sizes->items, all = pairs * PAIR_BYTES;
    size_t kept = kept_within(sizes->items, out->available_bytes,
                              ease__size_add(out->data_bytes, with_fitting(&d)));

    (void)o;
    out->matrix_bytes = all < (double)kept ? (size_t)all : kept;
    out->least_bytes = ease__size_add(out->data_bytes, least_of(&d));
    out->peak_bytes = ease__size_add(ease__size_add(out->data_bytes, with_fitting(&d)),
                                     out->matrix_bytes);
    if (out->peak_bytes < out->least_bytes)
        out->peak_bytes = out->least_bytes;
    out->model_bytes = d.weights;
    out->flops = n * k * k * k / 3;
    out->gram_seconds = pairs * SECONDS_A_PAIR / out->threads;
    out->solve_seconds = (pairs * k * SECONDS_A_SCANNED_ENTRY *
                              slower_by((double)out->matrix_bytes, all) +
                          n * k * k * SECONDS_AN_ENTRY +
                          out->flops / FACTOR_FLOPS_A_SECOND) /
                         out->threads;
}

/* ---- training -------------------------------------------------------------------- */

/* Sets the factors by which entries of the row of an item are compared. */
static ease_status prepare_nearness(job *j, bool regularized, ease_error *err)
{
    size_t n = (size_t)j->x->items;

    j->nearness = ease__alloc_array(n, sizeof(*j->nearness));
    if (!j->nearness)
        return ease__fail(err, EASE_E_NOMEM, "factors of %zu items", n);
    for (size_t k = 0; k < n; k++) {
        double d = j->ranked.diagonal[k], entry = d + j->ranked.penalty[k];

        j->nearness[k] = d > 0 ? 1 / sqrt(regularized ? entry : d) : 0;
        if (d > 0 && ease__beyond_float(entry))
            j->wide = true;
    }
    return EASE_OK;
}

static ease_status find_weights(job *j, const ease_train_options *o, bool regularized,
                                ease_error *err)
{
    int threads = ease__threads(o->threads);
    size_t budget = 0;
    ease_status status = check_memory(j, o, threads, &budget, err);

    if (!status)
        status = ease__ranked_new(j->x, &j->family, o->lambda, threads, o->hooks,
                                  &j->ranked, err);
    if (!status)
        status = ease__ragged_new(j->x->items, &j->found, err);
    if (!status)
        status = ease__ragged_reserve(&j->found,
                                      (size_t)j->x->items * (size_t)j->neighbours, err);
    if (!status)
        status = prepare_nearness(j, regularized, err);
    if (!status)
        status = ease__pairs_new(&j->ranked, j->wide ? 0 : budget, threads, o->hooks,
                                 &j->pairs, err);
    return status ? status : fit(j, threads, err);
}

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    job j = {.x = x,
             .neighbours = neighbours_of(given, x->items),
             .all = given[NEIGHBOURS] >= x->items - 1,
             .wide = o->precision == EASE_F64,
             .kernels = ease__kernels_best(),
             .hooks = o->hooks};
    ease_status status;

    family(given, &j.family);
    status = find_weights(&j, o, given[NEARNESS] == REGULARIZED, err);
    if (!status && !j.wide && atomic_load(&j.widened) > 0)
        ease__log(o->hooks, 2, "float32 was not enough for %d of %d items",
                  atomic_load(&j.widened), (int)x->items);
    ease__pairs_free(&j.pairs);
    ease__ranked_free(&j.ranked);
    ease__free(j.nearness);
    if (!status)
        status = ease__ragged_transpose(&j.found, o->hooks, m, err);
    ease__ragged_free(&j.found);
    if (!status && ease__family_scales(&j.family))
        status = ease__sparse_scale(&j.family, x, m->sparse.weights, m, err);
    return status;
}

const ease__method ease__ease_sparse = {
    .info =
        {
            .name = "ease-sparse",
            .about = "EASE with a few neighbours of each item, for millions of items",
            .has_lambda = 1,
            .planned = 1,
        },
    .number = 21,
    .settings = settings,
    .form = &ease__form_sparse,
    .family = family,
    .axes = axes,
    .plan = plan,
    .fill = train,
};
