/* Solves the half step for blocks of rows: the product with V'V, which all rows
 * share, is one matrix product for the whole block. */
#include "methods/als.h"

#include <cblas.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "compute/blas.h"

enum { ROWS = 64 }; /* rows of a block */

/* Scratch of one thread: ROWS x rank each, row-major. */
typedef struct scratch {
    float *h;          /* the solution so far */
    float *b;          /* right-hand side */
    float *residual;   /* b - A h */
    float *direction;  /* of the next step */
    float *product;    /* A times a vector, for each row */
    double size[ROWS]; /* squared length of the residual */
} scratch;

typedef struct job {
    const ease__half_step *h;
    scratch *scratches;
    double *losses; /* one for each block, so that their sum has a fixed order */
    int64_t blocks;
    atomic_llong done;
    atomic_bool cancelled;
} job;

/* ---- one block ---------------------------------------------------------------- */

static float weight_of(const ease__half_step *h, int64_t at)
{
    return h->alpha * (h->links.weights ? h->links.weights[at] : 1.0f);
}

/* Sets b, and h to the previous solution; rows without links get h = 0 at once. Sets
 * *confidence to the sum of c_ui over the links, which is the loss at h = 0. */
static void begin_rows(const ease__half_step *h, int64_t first, int32_t count,
                       scratch *r, double *confidence)
{
    size_t rank = (size_t)h->rank, bytes = rank * sizeof(float);
    const int64_t *starts = h->links.starts + first;

    memset(r->b, 0, (size_t)count * bytes);
    memcpy(r->h, h->from + (size_t)first * rank, (size_t)count * bytes);
    *confidence = 0;
    for (int32_t k = 0; k < count; k++) {
        float *b = r->b + (size_t)k * rank;

        if (starts[k] == starts[k + 1])
            memset(r->h + (size_t)k * rank, 0, bytes);
        for (int64_t at = starts[k]; at < starts[k + 1]; at++) {
            float c = 1 + weight_of(h, at);

            h->kernels->add_times(b, h->fixed + (size_t)h->links.others[at] * rank, c,
                                  rank);
            *confidence += (double)c;
        }
    }
}

/* product = A y, each row with its own A. */
static void multiply(const ease__half_step *h, int64_t first, int32_t count,
                     const float *y, float *product)
{
    size_t rank = (size_t)h->rank;

    ease__blas_begin();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, h->rank, h->rank, 1,
                y, h->rank, h->square, h->rank, 0, product, h->rank);
    ease__blas_end();
    for (int32_t k = 0; k < count; k++)
        for (int64_t at = h->links.starts[first + k];
             at < h->links.starts[first + k + 1]; at++) {
            const float *v = h->fixed + (size_t)h->links.others[at] * rank;
            float along = h->kernels->dot(v, y + (size_t)k * rank, rank);

            h->kernels->add_times(product + (size_t)k * rank, v,
                                  weight_of(h, at) * along, rank);
        }
}

static void begin_steps(const ease__half_step *h, int64_t first, int32_t count,
                        scratch *r)
{
    size_t rank = (size_t)h->rank, all = (size_t)count * rank;

    multiply(h, first, count, r->h, r->product);
    for (size_t i = 0; i < all; i++)
        r->direction[i] = r->residual[i] = r->b[i] - r->product[i];
    for (int32_t k = 0; k < count; k++) {
        const float *residual = r->residual + (size_t)k * rank;

        r->size[k] = (double)h->kernels->dot(residual, residual, rank);
    }
}

/* Moves a row along its direction, and computes the next direction. A row that has
 * converged is not changed: with a residual near 0 there is only rounding left. */
static void step_row(const ease__half_step *h, scratch *r, int32_t k)
{
    size_t rank = (size_t)h->rank, at = (size_t)k * rank;
    float *direction = r->direction + at, *residual = r->residual + at;
    double curve = (double)h->kernels->dot(direction, r->product + at, rank);
    double size = r->size[k], next;
    float on, beta;

    if (!(size > 1e-20) || !(curve > 0))
        return;
    on = (float)(size / curve);
    h->kernels->add_times(r->h + at, direction, on, rank);
    h->kernels->add_times(residual, r->product + at, -on, rank);
    next = (double)h->kernels->dot(residual, residual, rank);
    beta = (float)(next / size);
    for (size_t i = 0; i < rank; i++)
        direction[i] = residual[i] + beta * direction[i];
    r->size[k] = next;
}

/* The loss of a block. With the residual known it needs no product: for one row, h'A
 * h - 2 b'h = -h'(b + residual). */
static double loss_of(const ease__half_step *h, const scratch *r, int32_t count,
                      double confidence)
{
    double loss = confidence;
    size_t rank = (size_t)h->rank;

    for (size_t at = 0; at < (size_t)count * rank; at += rank)
        loss -= (double)h->kernels->dot(r->h + at, r->b + at, rank) +
                (double)h->kernels->dot(r->h + at, r->residual + at, rank);
    return loss;
}

static double solve_block(const ease__half_step *h, int64_t first, scratch *r)
{
    int64_t left = h->links.rows - first;
    int32_t count = left < ROWS ? (int32_t)left : ROWS;
    double confidence;

    begin_rows(h, first, count, r, &confidence);
    begin_steps(h, first, count, r);
    for (int32_t s = 0; s < h->steps; s++) {
        multiply(h, first, count, r->direction, r->product);
        for (int32_t k = 0; k < count; k++)
            step_row(h, r, k);
    }
    memcpy(h->to + (size_t)first * (size_t)h->rank, r->h,
           (size_t)count * (size_t)h->rank * sizeof(float));
    return loss_of(h, r, count, confidence);
}

/* ---- all blocks --------------------------------------------------------------- */

static void report(job *j)
{
    const ease__half_step *h = j->h;
    long long done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);
    double part = (double)done / (double)j->blocks;

    if (omp_get_thread_num() == 0 &&
        ease__progress(h->hooks, h->stage, h->begin + part * (h->end - h->begin)))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
}

static void solve_all(job *j, int threads)
{
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1); /* for BLAS, as in graph.c */
#pragma omp for schedule(dynamic)
        for (int64_t b = 0; b < j->blocks; b++) {
            report(j);
            if (!atomic_load_explicit(&j->cancelled, memory_order_relaxed))
                j->losses[b] = solve_block(j->h, b * ROWS,
                                           &j->scratches[omp_get_thread_num()]);
        }
    }
}

static int64_t blocks_of(int64_t rows)
{
    return (rows + ROWS - 1) / ROWS;
}

enum { ARRAYS = 5 }; /* arrays of a scratch */

size_t ease__half_step_bytes(int64_t rows, int32_t rank, int threads)
{
    size_t each = ease__size_mul((size_t)ARRAYS * ROWS * sizeof(float), (size_t)rank);

    return ease__size_add(ease__size_mul((size_t)threads, each),
                          (size_t)blocks_of(rows) * sizeof(double));
}

ease_status ease__half_step_run(const ease__half_step *h, int threads, double *loss,
                                ease_error *err)
{
    size_t one = ease__size_mul(ROWS, (size_t)h->rank);
    job j = {.h = h, .blocks = blocks_of(h->links.rows)};
    float *arrays = ease__alloc_array(
        ease__size_mul(ease__size_mul((size_t)threads, ARRAYS), one), sizeof(*arrays));
    ease_status status = EASE_OK;
    double sum = 0;

    j.scratches = ease__alloc_array((size_t)threads, sizeof(*j.scratches));
    j.losses = ease__alloc_array((size_t)j.blocks, sizeof(*j.losses));
    if (!arrays || !j.scratches || !j.losses) {
        status = ease__fail(err, EASE_E_NOMEM, "blocks of rank %d", (int)h->rank);
    } else {
        for (int t = 0; t < threads; t++) {
            float *at = arrays + (size_t)t * ARRAYS * one;

            j.scratches[t] = (scratch){at,           at + one,     at + 2 * one,
                                       at + 3 * one, at + 4 * one, {0}};
        }
        /* Called here too, because the caller's thread may get no block at all. */
        atomic_store(&j.cancelled, ease__progress(h->hooks, h->stage, h->begin));
        solve_all(&j, threads);
        if (atomic_load(&j.cancelled))
            status = ease__cancelled(err);
    }
    for (int64_t b = 0; !status && b < j.blocks; b++)
        sum += j.losses[b];
    ease__free(j.losses);
    ease__free(j.scratches);
    ease__free(arrays);
    if (!status)
        *loss = sum;
    return status;
}

/* ---- V'V ---------------------------------------------------------------------- */

static void mirror(float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i];
}

void ease__square(const float *v, int64_t rows, int32_t rank, int threads, float *parts,
                  float *out)
{
    size_t each = (size_t)rank * (size_t)rank;

#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1); /* for BLAS, as in graph.c */
#pragma omp for schedule(dynamic)
        for (int p = 0; p < EASE__SQUARE_PARTS; p++) {
            int64_t from = rows * p / EASE__SQUARE_PARTS;
            int64_t to = rows * (p + 1) / EASE__SQUARE_PARTS;

            ease__blas_begin();
            cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, rank, (int)(to - from),
                        1, v + (size_t)from * (size_t)rank, rank, 0,
                        parts + (size_t)p * each, rank);
            ease__blas_end();
        }
    }
    memcpy(out, parts, each * sizeof(*out));
    for (int p = 1; p < EASE__SQUARE_PARTS; p++)
        for (size_t i = 0; i < each; i++)
            out[i] += parts[(size_t)p * each + i];
    mirror(out, (size_t)rank);
}
