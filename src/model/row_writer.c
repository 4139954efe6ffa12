/* Writes rows of weights to a file with several threads. A thread computes some blocks
 * of the section at a time, whether or not rows begin at block boundaries, and writes
 * them at their offset while the disk is busy with earlier blocks. Each thread needs a
 * few MiB of memory. */
#include "model/row_writer.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    UNIT = 4 * EASE__BLOCK,      /* bytes that a thread computes at a time */
    ROWS = EASE__TRANSPOSE_EDGE, /* of a window: whole cache lines of packed tiles */
    COLUMNS = 256 /* of a window, which fits into the first-level cache */
};

typedef struct pass pass;

struct pass {
    const ease__rows_job *job;
    int64_t units, rows_a_unit;
    int threads;
    void (*make)(pass *p, int64_t unit, char *scratch);
    ease_status (*put)(pass *p, int64_t unit, const char *scratch, ease_error *err);
    char *scratch; /* scratch_bytes for each thread, zero at first */
    size_t scratch_bytes;
    int64_t done;       /* units */
    omp_lock_t lock;    /* protects the members below */
    int32_t largest;    /* the bits of |weight| */
    ease_status status; /* of the first failure */
    ease_error error;   /* of the first failure */
};

static int32_t items_of(const pass *p)
{
    return p->job->model->info.items;
}

static void note_failure(pass *p, ease_status status, const ease_error *err)
{
    omp_set_lock(&p->lock);
    if (!p->status) {
        p->status = status;
        p->error = *err;
    }
    omp_unset_lock(&p->lock);
}

static bool has_failed(pass *p)
{
    bool failed;

    omp_set_lock(&p->lock);
    failed = p->status != EASE_OK;
    omp_unset_lock(&p->lock);
    return failed;
}

/* Of a matrix in a file, only one tile row and its transpose stay in memory. */
static void forget(const pass *p, int64_t done)
{
    const ease_model *m = p->job->model;

    if (m->work && done * p->rows_a_unit % m->inverse.edge < p->rows_a_unit)
        ease__model_forget(m);
}

/* The thread that called the library reports the progress of all threads. */
static ease_status report(pass *p, ease_error *err)
{
    const ease__rows_job *j = p->job;
    int64_t done;

#pragma omp atomic capture
    done = ++p->done;
    forget(p, done);
    if (omp_get_thread_num() != 0 ||
        !ease__progress(j->hooks, "writing",
                        j->from + (j->to - j->from) * (double)done / (double)p->units))
        return EASE_OK;
    return ease__cancelled(err);
}

static void do_unit(pass *p, int64_t unit)
{
    char *scratch = p->scratch + (size_t)omp_get_thread_num() * p->scratch_bytes;
    ease_error err = {0};
    ease_status status;

    if (has_failed(p))
        return;
    p->make(p, unit, scratch);
    status = p->put(p, unit, scratch, &err);
    if (!status)
        status = report(p, &err);
    if (status)
        note_failure(p, status, &err);
}

static ease_status run(pass *p, ease_error *err)
{
    p->threads = ease__threads(p->job->model->threads);
    if (p->threads > p->units)
        p->threads = (int)p->units;
    p->scratch = ease__alloc_zero((size_t)p->threads, p->scratch_bytes);
    if (!p->scratch)
        return ease__fail(err, EASE_E_NOMEM, "rows to write");
    omp_init_lock(&p->lock);
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
    for (int64_t unit = 0; unit < p->units; unit++)
        do_unit(p, unit);
    omp_destroy_lock(&p->lock);
    ease__free(p->scratch);
    if (p->status && err)
        *err = p->error;
    if (p->status)
        return p->status;
    /* The thread that reports progress may have had no unit. */
    return ease__progress(p->job->hooks, "writing", p->job->to) ? ease__cancelled(err)
                                                                : EASE_OK;
}

/* ---- the largest ----------------------------------------------------------------- */

/* Floats above 0 are ordered as their bits are; what is not finite comes after all
 * others, and is left out. */
static int32_t largest_read(const ease_model *m, ease__window w, char *scratch)
{
    int32_t n = m->info.items, largest = 0, bits[COLUMNS];

    for (w.left = 0; w.left < n; w.left = w.right) {
        w.right = n - w.left > COLUMNS ? w.left + COLUMNS : n;
        m->form->store->read(m, w, (float *)(void *)scratch, COLUMNS);
        for (int32_t i = 0; i < w.bottom - w.top; i++) {
            memcpy(bits, scratch + (size_t)i * sizeof(bits), sizeof(bits));
            for (int32_t j = 0; j < w.right - w.left; j++) {
                int32_t size = bits[j] & 0x7fffffff;

                size = size < 0x7f800000 ? size : 0;
                largest = size > largest ? size : largest;
            }
        }
    }
    return largest;
}

/* A unit is ROWS rows, its scratch a window. */
static void find_largest(pass *p, int64_t unit, char *scratch)
{
    const ease_model *m = p->job->model;
    int32_t n = items_of(p), top = (int32_t)unit * ROWS, largest;
    ease__window w = {.top = top, .bottom = n - top > ROWS ? top + ROWS : n};

    largest = m->form->store->largest ? m->form->store->largest(m, w.top, w.bottom)
                                      : largest_read(m, w, scratch);
    omp_set_lock(&p->lock);
    if (largest > p->largest)
        p->largest = largest;
    omp_unset_lock(&p->lock);
}

static ease_status put_nothing(pass *p, int64_t unit, const char *scratch,
                               ease_error *err)
{
    (void)p, (void)unit, (void)scratch, (void)err;
    return EASE_OK;
}

ease_status ease__rows_largest(const ease__rows_job *j, float *largest, ease_error *err)
{
    pass p = {.job = j,
              .units = ((int64_t)j->model->info.items + ROWS - 1) / ROWS,
              .rows_a_unit = ROWS,
              .make = find_largest,
              .put = put_nothing,
              .scratch_bytes = sizeof(float[ROWS][COLUMNS])};
    ease_status status = run(&p, err);

    memcpy(largest, &p.largest, sizeof(*largest));
    return status;
}

/* ---- writing --------------------------------------------------------------------- */

/* The bytes of the section that a unit consists of, and the rows that overlap them. */
typedef struct extent {
    size_t from, to;
    int32_t top, bottom;
} extent;

static extent extent_of(const pass *p, int64_t unit)
{
    size_t stride = p->job->stride, all = (size_t)items_of(p) * stride;
    extent e = {.from = (size_t)unit * UNIT};

    e.to = all - e.from > UNIT ? e.from + UNIT : all;
    e.top = (int32_t)(e.from / stride);
    e.bottom = (int32_t)((e.to + stride - 1) / stride);
    return e;
}

static void make_floats(pass *p, ease__window w, char *out)
{
    const ease_model *m = p->job->model;

    m->form->store->read(m, w, (float *)(void *)out + w.left,
                         p->job->stride / sizeof(float));
}

/* Half of the smallest float16: numbers up to this become 0. */
static float vanishing(float unit)
{
    return unit * 0x1p-25f;
}

bool ease__rows_may_lose(const ease_model *m, float unit)
{
    const float *to = ease__model_norm_to(m);
    float least = INFINITY, most = 0;

    for (int32_t i = 0; i < m->info.items; i++) {
        least = m->norm[i] < least ? m->norm[i] : least;
        most = to[i] > most ? to[i] : most;
    }
    return vanishing(unit) * (most / least) > EASE__NO_SIMILARITY;
}

/* Counts the window's rows from `first` on: rows before it belong to another unit. */
static void count_loss(pass *p, ease__window w, const float *window, int32_t first)
{
    const float *q = p->job->model->norm, *to = ease__model_norm_to(p->job->model);
    float bound = vanishing(p->job->unit);
    int64_t weights = 0, lost = 0;

    for (int32_t i = first > w.top ? first : w.top; i < w.bottom; i++)
        for (int32_t j = w.left; j < w.right; j++) {
            float size = fabsf(window[(i - w.top) * COLUMNS + j - w.left]);

            weights += size > 0;
            lost += size > 0 && size <= bound &&
                    size * (to[j] / q[i]) > EASE__NO_SIMILARITY;
        }
    omp_set_lock(&p->lock);
    p->job->loss->weights += weights;
    p->job->loss->lost += lost;
    omp_unset_lock(&p->lock);
}

static void make_halves(pass *p, ease__window w, int32_t first, char *out)
{
    const ease_model *m = p->job->model;
    float window[ROWS * COLUMNS];

    m->form->store->read(m, w, window, COLUMNS);
    if (p->job->loss)
        count_loss(p, w, window, first);
    for (int32_t i = 0; i < w.bottom - w.top; i++)
        m->kernels->to_half(window + (size_t)i * COLUMNS, 1.0f / p->job->unit,
                            (uint16_t *)(void *)(out + (size_t)i * p->job->stride) +
                                w.left,
                            (size_t)(w.right - w.left));
}

/* Computes the rows of a unit; the padding between rows is zero, and stays zero. */
static void make_rows(pass *p, int64_t unit, char *scratch)
{
    extent e = extent_of(p, unit);
    int32_t n = items_of(p);
    int32_t first = (int32_t)((e.from + p->job->stride - 1) / p->job->stride);
    ease__window w;

    for (w.top = e.top; w.top < e.bottom; w.top = w.bottom) {
        char *out = scratch + (size_t)(w.top - e.top) * p->job->stride;

        w.bottom = w.top - w.top % ROWS;
        w.bottom = e.bottom - w.bottom > ROWS ? w.bottom + ROWS : e.bottom;
        for (w.left = 0; w.left < n; w.left = w.right) {
            w.right = n - w.left > COLUMNS ? w.left + COLUMNS : n;
            if (p->job->halves)
                make_halves(p, w, first, out);
            else
                make_floats(p, w, out);
        }
    }
}

static ease_status put_rows(pass *p, int64_t unit, const char *scratch, ease_error *err)
{
    extent e = extent_of(p, unit);
    size_t before = e.from - (size_t)e.top * p->job->stride;

    return ease__writer_put_blocks(p->job->writer, scratch + before, e.to - e.from,
                                   e.from, err);
}

ease_status ease__rows_write(const ease__rows_job *j, ease_error *err)
{
    size_t all = (size_t)j->model->info.items * j->stride;
    pass p = {.job = j,
              .units = (int64_t)((all + UNIT - 1) / UNIT),
              .rows_a_unit = (int64_t)(UNIT / j->stride + 1),
              .make = make_rows,
              .put = put_rows,
              .scratch_bytes = (UNIT / j->stride + 2) * j->stride};
    ease_status status = ease__writer_begin_blocks(j->writer, "weights", all, err);

    return status ? status : run(&p, err);
}
