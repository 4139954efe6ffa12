/* P' = P -+ Z Z', where Y = P Q', I +- Q Y = L L' and Z = Y L'^-1; in float64, except
 * P and the product Z Z'. Each step is a parallel loop over parts whose results do not
 * depend on the order of the parts. */
#include "solve/rank_update.h"
#include "solve/solve.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "compute/blas.h"
#include "compute/subnormals.h"

/* Y is computed for STRIP items at a time, so that the sums of all rows of Q fit into
 * the second-level cache; LANES columns of P are summed at a time. */
enum { STRIP = 64, LANES = EASE__TILED_GRAIN };
/* Rows of a tile that are copied at a time, right before their product. */
enum { SLAB = 128 };

/* A pivot of a removal is 1 - q P q', after the rows before. It is a sum of entries of
 * P, with terms around 1, and no better known than float32 is: to 2^-24. At 2^-20 it
 * has not one decimal digit, nor has the change of P, which is divided by it. Whether a
 * larger pivot was exact enough is for the check of the result to say. */
static const double LEAST_PIVOT = 0x1p-20;

static const double REPORT_SECONDS = 0.05;

/* The items of a row x in a row of tiles. */
typedef struct part_of_row {
    const int32_t *items;
    const float *weights; /* NULL: ones */
    int32_t count;
} part_of_row;

typedef struct job {
    const ease__tiled *from;
    ease__tiled *to;
    const ease__tiled *after; /* P' as it is checked: `to` */
    const ease__rank_change *c;
    const ease_hooks *hooks;
    int threads;
    size_t count, sources; /* rows of Q; rows that they are combined from */
    double *mean_product;  /* n: P mean; NULL without a mean row */
    double *y;             /* n x count: P Q'; in the end, the error of P' */
    float *z;              /* n with padding, x count */
    double *products;      /* sources x count: of the sources and Y */
    double *a;             /* count x count: I + S or I - S */
    double *l;             /* count x count; its upper half is undefined */
    double *norms;         /* count: of the columns of Y */
    /* Scratch of all threads. */
    double *sums, *block;
    int32_t *places;
    part_of_row *pieces;
    /* Progress: this loop of so many parts is from `begin` to `end` of the whole. */
    double begin, end, reported;
    int64_t parts;
    atomic_llong done;
    atomic_bool cancel;
} job;

/* The scratch of one thread. */
typedef struct scratch {
    double *sums;    /* sources x STRIP */
    double *block;   /* STRIP x count */
    int32_t *places; /* in each row x: the first item that is not yet added */
    part_of_row *pieces;
} scratch;

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* ---- loops ----------------------------------------------------------------------- */

/* True if the update was cancelled; called before each part. */
static bool stopped(job *j)
{
    long long done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);
    bool stop = atomic_load_explicit(&j->cancel, memory_order_relaxed);
    double now;

    if (stop || omp_get_thread_num() != 0)
        return stop;
    now = ease__seconds();
    if (now - j->reported < REPORT_SECONDS)
        return false;
    j->reported = now;
    stop = ease__progress(j->hooks, "updating",
                          j->begin +
                              (j->end - j->begin) * (double)done / (double)j->parts);
    if (stop)
        atomic_store_explicit(&j->cancel, true, memory_order_relaxed);
    return stop;
}

static scratch scratch_of(const job *j, size_t thread)
{
    return (scratch){.sums = j->sums + thread * j->sources * STRIP,
                     .block = j->block + thread * j->count * STRIP,
                     .places = j->places + thread * j->count,
                     .pieces = j->pieces + thread * j->count};
}

typedef void work(const job *j, int64_t part, const scratch *s);

/* Does the work on all parts; `end` is the progress after it. */
static ease_status run(job *j, work *do_part, int64_t parts, double end,
                       ease_error *err)
{
    j->begin = j->end;
    j->end = end;
    j->parts = parts;
    atomic_store(&j->done, 0);
#pragma omp parallel num_threads(j->threads)
    {
        unsigned mode = ease__flush_begin();
        scratch s = scratch_of(j, (size_t)omp_get_thread_num());

        omp_set_num_threads(1); /* for BLAS, as in graph.c */
#pragma omp for schedule(dynamic)
        for (int64_t part = 0; part < parts; part++)
            if (!stopped(j))
                do_part(j, part, &s);
        ease__flush_end(mode);
    }
    return atomic_load(&j->cancel) ? ease__cancelled(err) : EASE_OK;
}

/* ---- Y = P Q' -------------------------------------------------------------------- */

/* sums_c += sum over the items i of x_i P_ic for LANES columns c; at + i * ld is row
 * i. */
static void add_rows(const float *at, size_t ld, int32_t top, part_of_row x,
                     double *sums)
{
    double sum[LANES];

    memcpy(sum, sums, sizeof(sum));
    for (int32_t k = 0; k < x.count; k++) {
        const float *row = at + (size_t)(x.items[k] - top) * ld;
        double value = x.weights ? (double)x.weights[k] : 1;

        for (size_t lane = 0; lane < LANES; lane++)
            sum[lane] += value * (double)row[lane];
    }
    memcpy(sums, sum, sizeof(sum));
}

enum { TOGETHER = 4 };
/* The same from the transposed tile, for TOGETHER columns. */
static void add_columns(const float *at, size_t ld, int32_t top, part_of_row x,
                        double *sums)
{
    double a = sums[0], b = sums[1], c = sums[2], d = sums[3];

    for (int32_t k = 0; k < x.count; k++) {
        const float *from = at + (x.items[k] - top);
        double value = x.weights ? (double)x.weights[k] : 1;

        a += value * (double)from[0];
        b += value * (double)from[ld];
        c += value * (double)from[2 * ld];
        d += value * (double)from[3 * ld];
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

/* Adds the items of tile row t to all sums of a strip, which lies within a column of
 * tiles. */
static void add_tile(const job *j, const ease__tiled *p, int32_t t, ease__window strip,
                     const scratch *s)
{
    int32_t e = p->edge, column = strip.left / e, top = t * e;
    int32_t bottom = p->n - top < e ? p->n : top + e;
    size_t columns = (size_t)(strip.right - strip.left), ld = (size_t)e;
    part_of_row *pieces = s->pieces;

    for (size_t k = 0; k < j->count; k++) {
        const ease_row *x = &j->c->rows[k];
        int32_t from = s->places[k], to = from;

        while (to < x->count && x->items[to] < bottom)
            to++;
        s->places[k] = to;
        pieces[k] = (part_of_row){x->items + from,
                                  x->weights ? x->weights + from : NULL, to - from};
    }
    if (t >= column) {
        const float *at = (float *)ease__tile(p, t, column) + strip.left % e;
        for (size_t k = 0; k < j->count; k++)
            for (size_t c = 0; c < columns; c += LANES)
                add_rows(at + c, ld, top, pieces[k], s->sums + k * STRIP + c);
    } else {
        const float *at = (float *)ease__tile(p, column, t) +
                          (size_t)(strip.left % e) * ld;
        for (size_t c = 0; c < columns; c += TOGETHER)
            for (size_t k = 0; k < j->count; k++)
                add_columns(at + c * ld, ld, top, pieces[k], s->sums + k * STRIP + c);
    }
}

/* out = the rows of P Q' of a strip, count numbers each. */
static void multiply_strip(const job *j, const ease__tiled *p, ease__window strip,
                           const scratch *s, double *out)
{
    int count = (int)j->count, sources = (int)j->sources;
    size_t columns = (size_t)(strip.right - strip.left);

    memset(s->sums, 0, j->sources * STRIP * sizeof(*s->sums));
    memset(s->places, 0, j->count * sizeof(*s->places));
    for (int32_t t = 0; t < p->tiles; t++)
        add_tile(j, p, t, strip, s);
    if (j->c->mean)
        memcpy(s->sums + j->count * STRIP, j->mean_product + strip.left,
               columns * sizeof(*s->sums));
    if (j->c->combine) {
        ease__blas_begin();
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, (int)columns, count, sources,
                    1, s->sums, STRIP, j->c->combine, sources, 0, out, count);
        ease__blas_end();
        return;
    }
    for (size_t c = 0; c < columns; c++)
        for (size_t i = 0; i < j->count; i++)
            out[c * j->count + i] = j->c->factors[i] * s->sums[i * STRIP + c];
}

static int64_t strips_of(const ease__tiled *p)
{
    return (int64_t)p->tiles * ((p->edge + STRIP - 1) / STRIP);
}

/* Strips do not cross the borders of tiles; those of the padding are empty. */
static ease__window strip_of(const job *j, int64_t part)
{
    int32_t e = j->from->edge, each = (e + STRIP - 1) / STRIP;
    int32_t tile = (int32_t)(part / each), at = (int32_t)(part % each) * STRIP;
    int32_t left = smaller(tile * e + at, j->from->n);

    return (ease__window){
        .left = left, .right = smaller(tile * e + smaller(at + STRIP, e), j->from->n)};
}

static void make_y(const job *j, int64_t part, const scratch *s)
{
    ease__window strip = strip_of(j, part);

    multiply_strip(j, j->from, strip, s, j->y + (size_t)strip.left * j->count);
}

/* ---- S, and its factor ----------------------------------------------------------- */

/* A row of the product of the sources and Y. */
static void multiply_source(const job *j, int64_t part, const scratch *s)
{
    double *out = j->products + (size_t)part * j->count;
    bool mean = (size_t)part == j->count;
    const ease_row *x = &j->c->rows[mean ? 0 : part];
    int32_t count = mean ? j->from->n : x->count;

    (void)s;
    memset(out, 0, j->count * sizeof(*out));
    for (int32_t i = 0; i < count; i++) {
        const double *y = j->y + (size_t)(mean ? i : x->items[i]) * j->count;
        double value = mean ? j->c->mean[i] : x->weights ? (double)x->weights[i] : 1;

        for (size_t c = 0; c < j->count; c++)
            out[c] += value * y[c];
    }
}

/* Row i of S, up to the diagonal, in the place of row i of A. */
static void combine_products(const job *j, int64_t part, const scratch *s)
{
    size_t i = (size_t)part, k = j->count;
    double *out = j->a + i * k;

    (void)s;
    memset(out, 0, k * sizeof(*out));
    for (size_t source = 0; source < j->sources; source++) {
        const double *from = j->products + source * k;
        double value = j->c->combine ? j->c->combine[i * j->sources + source]
                                     : j->c->factors[i];

        if (j->c->combine ? source > i && source < k : source != i)
            continue;
        for (size_t c = 0; c <= i; c++)
            out[c] += value * from[c];
    }
}

/* Makes I + S or I - S of S, with both halves. */
static void finish_a(const job *j, double *leverage)
{
    size_t k = j->count;

    for (size_t i = 0; i < k; i++) {
        leverage[i] = j->a[i * (k + 1)];
        for (size_t c = 0; c <= i; c++) {
            double value = j->a[i * k + c];

            j->a[i * k + c] = (i == c) + (j->c->remove ? -value : value);
            j->a[c * k + i] = j->a[i * k + c];
        }
    }
}

/* A = L L', row by row. Returns the first row with a pivot that is too small, or -1. */
static int32_t factor(const double *a, double *l, size_t k)
{
    for (size_t i = 0; i < k; i++)
        for (size_t c = 0; c <= i; c++) {
            double sum = a[i * k + c];

            for (size_t at = 0; at < c; at++)
                sum -= l[i * k + at] * l[c * k + at];
            if (i == c && !(sum > LEAST_PIVOT)) /* NaN is not */
                return (int32_t)i;
            l[i * k + c] = i == c ? sqrt(sum) : sum / l[c * (k + 1)];
        }
    return -1;
}

static ease_status factor_a(const job *j, ease_error *err)
{
    int32_t failed = factor(j->a, j->l, j->count);

    if (failed < 0)
        return EASE_OK;
    return ease__fail_at(err, EASE_E_NOT_POSDEF, failed,
                         j->c->remove ? "row %d of the change is not in the data, or "
                                        "nothing but this row determines some weights"
                                      : "the inverse is not positive definite (row %d "
                                        "of the change)",
                         (int)failed);
}

/* ---- P' = P -+ Z Z' -------------------------------------------------------------- */

/* Solves Z L' = Y for the rows of a strip. */
static void make_z(const job *j, int64_t part, const scratch *s)
{
    ease__window strip = strip_of(j, part);
    size_t rows = (size_t)(strip.right - strip.left), k = j->count;
    size_t at = (size_t)strip.left * k;
    int count = (int)k;

    memcpy(s->block, j->y + at, rows * k * sizeof(*s->block));
    ease__blas_begin();
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
                (int)rows, count, 1, j->l, count, s->block, count);
    ease__blas_end();
    for (size_t i = 0; i < rows * k; i++)
        j->z[at + i] = (float)s->block[i];
}

static void mirror(float *tile, size_t e)
{
    for (size_t i = 0; i < e; i++)
        for (size_t c = i + 1; c < e; c++)
            tile[i * e + c] = tile[c * e + i];
}

/* Updates tile (i, j), the part-th in the order of the tiles. */
static void update_tile(const job *j, int64_t part, const scratch *s)
{
    int32_t row = 0, edge = j->to->edge, count = (int32_t)j->count;
    size_t e = (size_t)edge, size = e * j->count;
    float sign = j->c->remove ? 1.0f : -1.0f;
    const float *zi, *zj, *from;
    float *to;

    (void)s;
    while (ease__tile_count(row + 1) <= (size_t)part)
        row++;
    part -= (int64_t)ease__tile_count(row);
    zi = j->z + (size_t)row * size;
    zj = j->z + (size_t)part * size;
    from = ease__tile(j->from, row, (int32_t)part);
    to = ease__tile(j->to, row, (int32_t)part);
    for (int32_t top = 0; top < edge; top += SLAB) {
        int32_t rows = smaller(SLAB, edge - top);
        float *at = to + (size_t)top * e;

        if (from != to)
            memcpy(at, from + (size_t)top * e, (size_t)rows * e * sizeof(*at));
        ease__blas_begin();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, edge, count, sign,
                    zi + (size_t)top * j->count, count, zj, count, 1, at, edge);
        ease__blas_end();
    }
    if (row == part)
        mirror(to, e);
}

/* ---- the check ------------------------------------------------------------------- */

/* Replaces the rows of Y in a strip by those of P' Q' A - Y. */
static void check_strip(const job *j, int64_t part, const scratch *s)
{
    ease__window strip = strip_of(j, part);
    int rows = strip.right - strip.left, count = (int)j->count;

    multiply_strip(j, j->after, strip, s, s->block);
    ease__blas_begin();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, count, count, 1,
                s->block, count, j->a, count, -1, j->y + (size_t)strip.left * j->count,
                count);
    ease__blas_end();
}

static void column_norms(const double *y, size_t n, size_t k, double *norms)
{
    memset(norms, 0, k * sizeof(*norms));
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < k; c++)
            norms[c] += y[i * k + c] * y[i * k + c];
    for (size_t c = 0; c < k; c++)
        norms[c] = sqrt(norms[c]);
}

static ease_status check_rows(job *j, double *deviation, ease_error *err)
{
    size_t n = (size_t)j->from->n;
    ease_status status;

    column_norms(j->y, n, j->count, j->norms);
    if (j->c->mean)
        ease__tiled_times(j->after, j->c->mean, j->mean_product, j->threads);
    status = run(j, check_strip, strips_of(j->from), 1, err);
    if (status)
        return status;
    column_norms(j->y, n, j->count, deviation);
    for (size_t i = 0; i < j->count; i++)
        if (j->norms[i] > 0)
            deviation[i] /= j->norms[i];
    return EASE_OK;
}

/* ---- the whole ------------------------------------------------------------------- */

static size_t z_count(const ease__tiled *t, size_t count)
{
    return ease__size_mul((size_t)t->tiles * (size_t)t->edge, count);
}

/* Bytes of Y and Z, which are by far the largest. */
static size_t y_bytes(const ease__tiled *t, size_t count)
{
    return ease__size_mul(ease__size_mul((size_t)t->n, count), sizeof(double));
}

static size_t z_bytes(const ease__tiled *t, size_t count)
{
    return ease__size_mul(z_count(t, count), sizeof(float));
}

size_t ease__rank_update_bytes(int32_t n, int32_t count, int threads)
{
    ease__tiled shape = ease__tiled_shape(n, ease__tile_edge(n), EASE__F32);
    size_t k = (size_t)count;
    size_t each = (2 * k + 1) * STRIP * sizeof(double) +
                  k * (sizeof(int32_t) + sizeof(part_of_row));
    size_t sum = ease__size_add(y_bytes(&shape, k), z_bytes(&shape, k));

    sum = ease__size_add(sum, (3 * k + 2) * k * sizeof(double));
    sum = ease__size_add(sum, ease__size_mul((size_t)n, sizeof(double)));
    return ease__size_add(sum, ease__size_mul((size_t)ease__threads(threads), each));
}

static ease_status allocate(job *j, ease_error *err)
{
    size_t k = j->count, threads = (size_t)j->threads;

    if (j->c->mean)
        j->mean_product = ease__alloc_array((size_t)j->from->n,
                                            sizeof(*j->mean_product));
    j->y = ease__alloc_pages(y_bytes(j->from, k));
    j->z = ease__alloc_pages(z_bytes(j->from, k));
    j->products = ease__alloc_array(j->sources * k, sizeof(*j->products));
    j->a = ease__alloc_array(k * k, sizeof(*j->a));
    j->l = ease__alloc_array(k * k, sizeof(*j->l));
    j->norms = ease__alloc_array(k, sizeof(*j->norms));
    j->sums = ease__alloc_array(threads * j->sources * STRIP, sizeof(*j->sums));
    j->block = ease__alloc_array(threads * k * STRIP, sizeof(*j->block));
    j->places = ease__alloc_array(threads * k, sizeof(*j->places));
    j->pieces = ease__alloc_array(threads * k, sizeof(*j->pieces));
    if ((j->mean_product || !j->c->mean) && j->y && j->z && j->products && j->a &&
        j->l && j->norms && j->sums && j->block && j->places && j->pieces)
        return EASE_OK;
    return ease__fail(err, EASE_E_NOMEM, "an update of %d items by %zu rows",
                      (int)j->from->n, k);
}

static void job_free(job *j)
{
    ease__free(j->mean_product);
    ease__free_pages(j->y, y_bytes(j->from, j->count));
    ease__free_pages(j->z, z_bytes(j->from, j->count));
    ease__free(j->products);
    ease__free(j->a);
    ease__free(j->l);
    ease__free(j->norms);
    ease__free(j->sums);
    ease__free(j->block);
    ease__free(j->places);
    ease__free(j->pieces);
}

/* Makes Y, and A with the leverages. */
static ease_status make_a(job *j, double *leverage, ease_error *err)
{
    ease_status status;

    if (j->c->mean)
        ease__tiled_times(j->from, j->c->mean, j->mean_product, j->threads);
    status = run(j, make_y, strips_of(j->from), 0.3, err);
    if (!status)
        status = run(j, multiply_source, (int64_t)j->sources, 0.3, err);
    if (!status)
        status = run(j, combine_products, (int64_t)j->count, 0.3, err);
    if (!status)
        finish_a(j, leverage);
    return status;
}

static ease_status update(job *j, double *leverage, double *deviation, ease_error *err)
{
    int64_t tiles = (int64_t)ease__tile_count(j->to->tiles);
    ease_status status = allocate(j, err);

    if (!status && ease__progress(j->hooks, "updating", 0))
        status = ease__cancelled(err);
    if (!status)
        status = make_a(j, leverage, err);
    if (!status)
        status = factor_a(j, err);
    if (!status)
        status = run(j, make_z, strips_of(j->from), 0.4, err);
    if (!status)
        status = run(j, update_tile, tiles, deviation ? 0.7 : 1, err);
    if (!status && deviation)
        status = check_rows(j, deviation, err);
    if (!status && ease__progress(j->hooks, "updating", 1))
        status = ease__cancelled(err);
    return status;
}

static job job_of(const ease__tiled *from, const ease__rank_change *c, int threads,
                  const ease_hooks *hooks)
{
    return (job){.from = from,
                 .c = c,
                 .hooks = hooks,
                 .threads = ease__blas_threads(threads, hooks),
                 .count = (size_t)c->count,
                 .sources = (size_t)c->count + (c->mean != NULL)};
}

ease_status ease__rank_update(const ease__tiled *from, ease__tiled *to,
                              const ease__rank_change *c, double *leverage,
                              double *deviation, int threads, const ease_hooks *hooks,
                              ease_error *err)
{
    job j = job_of(from, c, threads, hooks);
    ease_status status = ease__blas_check_memory(j.threads, err);

    j.to = to;
    j.after = to;
    if (!status)
        status = update(&j, leverage, deviation, err);
    job_free(&j);
    return status;
}

ease_status ease__rank_deviation(const ease__tiled *before, const ease__tiled *after,
                                 const ease__rank_change *c, double *deviation,
                                 int threads, ease_error *err)
{
    job j = job_of(before, c, threads, NULL);
    ease_status status = ease__blas_check_memory(j.threads, err);

    j.after = after;
    if (!status)
        status = allocate(&j, err);
    if (!status)
        status = make_a(&j, deviation, err);
    if (!status)
        status = check_rows(&j, deviation, err);
    job_free(&j);
    return status;
}
