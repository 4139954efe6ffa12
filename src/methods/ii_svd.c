/* ii-svd (Volkovs and Yu): S are the weights of item-item, A = X S the scores of all
 * users, and V the first right singular vectors of A; a history x scores x S V V'. A
 * is never formed. Subspace iteration finds V: a random block is multiplied with C =
 * A'A = S'X'X S and made orthonormal, repeatedly; then the eigenvectors of C within
 * the block with the largest eigenvalues are V. All numbers are float64, as C has
 * the squares of A's singular values. */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "compute/blas.h"
#include "core/random.h"
#include "gram/gram.h"
#include "methods/methods.h"

enum { RANK = EASE__SHRINKAGE + 1, ITERATIONS, SEED };
enum { PANEL = 32 }; /* columns that are multiplied together */

static const ease_setting settings[] = {
    EASE__ITEM_ITEM_SETTINGS,
    {.name = "rank",
     .about = "number of singular vectors",
     .value = 500,
     .least = 1,
     .most = EASE__MOST_WIDTH,
     .whole = 1},
    {.name = "iterations",
     .about = "iterations towards these vectors",
     .value = 4,
     .least = 1,
     .most = 10000,
     .whole = 1},
    {.name = "seed", .about = "seed of the first block", .most = 1e9, .whole = 1},
    {0}};

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau,
             double *work, const int *lwork, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda,
             const double *tau, double *work, const int *lwork, int *info);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a,
             const int *lda, double *w, double *work, const int *lwork, int *iwork,
             const int *liwork, int *info, size_t jobz_length, size_t uplo_length);

typedef struct job {
    const ease_interactions *x;
    const double *settings;
    const ease_hooks *hooks;
    const ease__sparse *s;
    int threads, rank, width; /* width: columns of the block, some more than rank */
    double *block, *image;    /* items x width, by columns */
    double *scratch;          /* for each thread two panels and a row */
    double *small;            /* width x width */
    double *values;           /* width */
    double *work;
    int *counts; /* integer workspace of dsyevd */
    int work_count, counts_count;
    double begin, end; /* the part of the stage's progress that a product is */
    atomic_int done;   /* panels */
    atomic_bool cancelled;
} job;

/* ---- C times a block ---------------------------------------------------------- */

/* Adds a row of a panel, which is items x PANEL, row-major. */
static inline void add_row(double *to, const double *from, double times)
{
    for (int c = 0; c < PANEL; c++)
        to[c] += times * from[c];
}

static void clear(double *panel, int32_t rows)
{
    memset(panel, 0, (size_t)rows * PANEL * sizeof(*panel));
}

/* out = S in, or S' in. */
static void times_weights(const ease__sparse *s, int32_t n, bool transposed,
                          const double *in, double *out)
{
    clear(out, n);
    for (int32_t i = 0; i < n; i++)
        for (uint64_t at = s->starts[i]; at < s->starts[i + 1]; at++) {
            size_t own = (size_t)i * PANEL, other = (size_t)s->columns[at] * PANEL;

            add_row(out + (transposed ? other : own), in + (transposed ? own : other),
                    (double)s->weights[at]);
        }
}

/* out = X'X in, one user at a time. */
static void times_square(const ease_interactions *x, const double *in, double *out,
                         double *sum)
{
    clear(out, x->items);
    for (int64_t u = 0; u < x->users; u++) {
        clear(sum, 1);
        for (int64_t at = x->row_ptr[u]; at < x->row_ptr[u + 1]; at++)
            add_row(sum, in + (size_t)x->cols[at] * PANEL,
                    x->vals ? (double)x->vals[at] : 1);
        for (int64_t at = x->row_ptr[u]; at < x->row_ptr[u + 1]; at++)
            add_row(out + (size_t)x->cols[at] * PANEL, sum,
                    x->vals ? (double)x->vals[at] : 1);
    }
}

/* Multiplies the columns first, first + 1, ... of `from` into those of `to`. */
static void multiply_panel(const job *j, int first, const double *from, double *to,
                           double *scratch)
{
    size_t n = (size_t)j->x->items;
    double *one = scratch, *two = scratch + n * PANEL, *sum = two + n * PANEL;
    int count = j->width - first < PANEL ? j->width - first : PANEL;

    clear(one, j->x->items);
    for (int c = 0; c < count; c++)
        for (size_t i = 0; i < n; i++)
            one[i * PANEL + (size_t)c] = from[(size_t)(first + c) * n + i];
    times_weights(j->s, j->x->items, false, one, two);
    times_square(j->x, two, one, sum);
    times_weights(j->s, j->x->items, true, one, two);
    for (int c = 0; c < count; c++)
        for (size_t i = 0; i < n; i++)
            to[(size_t)(first + c) * n + i] = two[i * PANEL + (size_t)c];
}

static size_t scratch_count(int32_t items)
{
    return ((size_t)items * 2 + 1) * PANEL;
}

static bool told_to_stop(job *j, double part)
{
    if (ease__progress(j->hooks, "finding singular vectors",
                       j->begin + part * (j->end - j->begin)))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
    return atomic_load_explicit(&j->cancelled, memory_order_relaxed);
}

/* to = C from; both may be the same array. Returns false if cancelled. */
static bool multiply(job *j, const double *from, double *to)
{
    int panels = (j->width + PANEL - 1) / PANEL;

    atomic_store(&j->done, 0);
    if (told_to_stop(j, 0)) /* the caller's thread may get no panel */
        return false;
#pragma omp parallel for schedule(dynamic) num_threads(j->threads)
    for (int p = 0; p < panels; p++) {
        int done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);

        if (omp_get_thread_num() == 0 && told_to_stop(j, (double)done / panels))
            continue;
        if (!atomic_load_explicit(&j->cancelled, memory_order_relaxed))
            multiply_panel(j, p * PANEL, from, to,
                           j->scratch + (size_t)omp_get_thread_num() *
                                            scratch_count(j->x->items));
    }
    return !atomic_load(&j->cancelled);
}

/* ---- dense steps, by one thread: the same bits at any number of threads ------- */

/* Replaces the block by an orthonormal basis of its span. */
static void make_orthonormal(job *j)
{
    int n = j->x->items, info = 0;

#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1); /* for BLAS, as in graph.c */
        ease__blas_begin();
        dgeqrf_(&n, &j->width, j->block, &n, j->values, j->work, &j->work_count, &info);
        dorgqr_(&n, &j->width, &j->width, j->block, &n, j->values, j->work,
                &j->work_count, &info);
        ease__blas_end();
    }
}

/* Computes the eigenvectors of Q'C Q with the largest eigenvalues, times Q, into
 * `image`, which was C Q. */
static bool take_largest(job *j)
{
    int n = j->x->items, l = j->width, info = 0;
    const double *last = j->small + (size_t)(l - j->rank) * (size_t)l;

#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1); /* for BLAS, as in graph.c */
        ease__blas_begin();
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, l, l, n, 1, j->block, n,
                    j->image, n, 0, j->small, l);
        dsyevd_("V", "L", &l, j->small, &l, j->values, j->work, &j->work_count,
                j->counts, &j->counts_count, &info, 1, 1);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, j->rank, l, 1,
                    j->block, n, last, l, 0, j->image, n);
        ease__blas_end();
    }
    return info == 0;
}

/* ---- training ----------------------------------------------------------------- */

static void draw_block(job *j)
{
    size_t count = (size_t)j->x->items * (size_t)j->width;
    ease__random r;

    ease__random_seed(&r, (uint64_t)j->settings[SEED], 0);
    for (size_t i = 0; i < count; i++)
        j->block[i] = ease__random_unit(&r) - 0.5;
}

static ease_status iterate(job *j, ease_error *err)
{
    int all = (int)j->settings[ITERATIONS];
    bool found = true;

    draw_block(j);
    make_orthonormal(j);
    for (int i = 0; i < all; i++) {
        j->begin = (double)i / (all + 1);
        j->end = (i + 1.0) / (all + 1);
        if (!multiply(j, j->block, j->block))
            return ease__cancelled(err);
        make_orthonormal(j);
    }
    j->begin = j->end;
    j->end = 1;
    if (!multiply(j, j->block, j->image))
        return ease__cancelled(err);
    found = take_largest(j);
    for (size_t i = 0; found && i < (size_t)j->x->items * (size_t)j->rank; i++)
        found = isfinite(j->image[i]);
    return found ? EASE_OK
                 : ease__fail(err, EASE_E_ACCURACY, "ii-svd: no singular vectors");
}

/* Stores the decoder V and the encoder S V in the model. */
static ease_status give(const job *j, ease_model *m, ease_error *err)
{
    size_t n = (size_t)j->x->items, rank = (size_t)j->rank;
    size_t count = ease__size_mul(n, rank);
    float *v = ease__alloc_array(count, sizeof(*v));
    float *embedding = ease__alloc_zero(count, sizeof(*embedding));
    float *bias = ease__alloc_zero(rank, sizeof(*bias));

    m->latent = (ease__latent){
        .shape = {.encoder = EASE__NETWORK, .layers = 1, .width = {j->rank}},
        .embedding = embedding,
        .dense = bias,
        .decoder = v,
    };
    if (!v || !embedding || !bias)
        return ease__fail(err, EASE_E_NOMEM, "vectors of rank %d", j->rank);
    for (size_t c = 0; c < rank; c++)
        for (size_t i = 0; i < n; i++)
            v[i * rank + c] = (float)j->image[c * n + i];
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (size_t i = 0; i < n; i++)
        for (uint64_t at = j->s->starts[i]; at < j->s->starts[i + 1]; at++)
            m->kernels->add_times(embedding + i * rank,
                                  v + (size_t)j->s->columns[at] * rank,
                                  j->s->weights[at], rank);
    return EASE_OK;
}

static void job_free(job *j)
{
    ease__free(j->block);
    ease__free(j->image);
    ease__free(j->scratch);
    ease__free(j->small);
    ease__free(j->values);
    ease__free(j->work);
    ease__free(j->counts);
}

/* The number of columns of the random block: some more than the rank, as the last
 * columns converge most slowly. */
static int width_for(const ease_interactions *x, int rank)
{
    int64_t most = x->users < x->items ? x->users : x->items;
    int64_t width = (int64_t)rank + rank / 5 + 10;

    return (int)(width < most ? width : most);
}

/* The workspace that LAPACK documents for these calls, with blocks of 64 columns. */
static void set_work_sizes(job *j)
{
    int l = j->width;
    int blocks = 64 * l, vectors = 1 + 6 * l + 2 * l * l;

    j->work_count = blocks > vectors ? blocks : vectors;
    j->counts_count = 3 + 5 * l;
}

static ease_status check_size(job *j, size_t limit, ease_error *err)
{
    const ease_interactions *x = j->x;
    size_t n = (size_t)x->items, l = (size_t)j->width, held, peak;

    held = ease__size_add(ease__interactions_bytes(x),
                          (size_t)j->s->starts[n] * (sizeof(int32_t) + sizeof(float)));
    peak = ease__size_add(ease__size_mul(2 * n, l),
                          ease__size_mul((size_t)j->threads, scratch_count(x->items)));
    peak = ease__size_add(peak, l * l + l + (size_t)j->work_count);
    peak = ease__size_mul(peak, sizeof(double));
    peak = ease__size_add(peak, 2 * n * (size_t)j->rank * sizeof(float));
    return ease__memory_check("ii-svd for", x->items, ease__size_add(peak, held),
                              ease__memory_allowed(limit, held), err);
}

static ease_status allocate(job *j, ease_error *err)
{
    size_t n = (size_t)j->x->items, l = (size_t)j->width;

    j->block = ease__alloc_array(ease__size_mul(n, l), sizeof(*j->block));
    j->image = ease__alloc_array(ease__size_mul(n, l), sizeof(*j->image));
    j->scratch = ease__alloc_array(
        ease__size_mul((size_t)j->threads, scratch_count(j->x->items)),
        sizeof(*j->scratch));
    j->small = ease__alloc_array(l * l, sizeof(*j->small));
    j->values = ease__alloc_array(l, sizeof(*j->values));
    j->work = ease__alloc_array((size_t)j->work_count, sizeof(*j->work));
    j->counts = ease__alloc_array((size_t)j->counts_count, sizeof(*j->counts));
    if (!j->block || !j->image || !j->scratch || !j->small || !j->values || !j->work ||
        !j->counts)
        return ease__fail(err, EASE_E_NOMEM, "blocks of %d vectors", j->width);
    return EASE_OK;
}

static ease_status factor(const ease_train_options *o, job *j, ease_model *m,
                          ease_error *err)
{
    ease_status status;

    set_work_sizes(j);
    status = check_size(j, o->memory_limit, err);
    if (!status)
        status = ease__blas_check_memory(1, err);
    if (!status)
        status = allocate(j, err);
    if (!status)
        status = iterate(j, err);
    if (!status)
        status = give(j, m, err);
    job_free(j);
    return status;
}

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    int64_t most = x->users < x->items ? x->users : x->items;
    ease_model *near = NULL;
    job j = {.x = x,
             .settings = given,
             .hooks = o->hooks,
             .threads = ease__threads(o->threads),
             .rank = (int)given[RANK],
             .width = width_for(x, (int)given[RANK])};
    ease_status status;

    if (j.rank > most)
        return ease__fail(
            err, EASE_E_ARG, "ii-svd: a rank of %d is above the number of %s, %lld",
            j.rank, x->users < x->items ? "users" : "items", (long long)most);
    status = ease__model_new(&ease__item_item, x, NULL, &near, err);
    if (!status)
        status = ease__item_item.fill(x, o, given, near, err);
    if (!status) {
        j.s = &near->sparse;
        status = factor(o, &j, m, err);
    }
    ease_model_free(near);
    return status;
}

const ease__method ease__ii_svd = {
    .info =
        {
            .name = "ii-svd",
            .about =
                "singular vectors of item-item scores (Volkovs and Yu, SIGIR 2015)",
            .grid = "similarity=cosine|jaccard,neighbours=10|20|50|100,shrinkage=0|10,"
                    "rank=200|500",
        },
    .number = 7,
    .settings = settings,
    .form = &ease__form_latent,
    .fill = train,
};
