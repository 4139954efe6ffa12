/* Inverts a matrix by a backend, and checks the result. */
#include "solve/solve.h"

#include <math.h>

#include "core/random.h"

/* ---- y = A x --------------------------------------------------------------------- */

static inline double entry(const void *tile, ease__element element, size_t at)
{
    switch (element) {
    case EASE__U32:
        return (double)((const uint32_t *)tile)[at];
    case EASE__F32:
        return (double)((const float *)tile)[at];
    case EASE__F64:
        break;
    }
    return ((const double *)tile)[at];
}

/* In eight sums, for the vector units, always added up in the same order. */
static double dot(const void *tile, ease__element element, size_t from, size_t count,
                  const double *x)
{
    enum { LANES = 8 };
    double sums[LANES] = {0}, total = 0;
    size_t c = 0;

    for (; c + LANES <= count; c += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += entry(tile, element, from + c + lane) * x[c + lane];
    for (; c < count; c++)
        total += entry(tile, element, from + c) * x[c];
    for (size_t lane = 0; lane < LANES; lane++)
        total += sums[lane];
    return total;
}

static int32_t rows_of(const ease__tiled *a, int32_t block)
{
    int32_t left = a->n - block * a->edge;

    return left < a->edge ? left : a->edge;
}

void ease__times_tile(const ease__tiled *a, const void *tile, int32_t b, int32_t j,
                      const double *x, double *y)
{
    ease__element element = a->element;
    int32_t rows = rows_of(a, b), columns = rows_of(a, j);

    x += (size_t)j * (size_t)a->edge;
    for (int32_t r = 0; r < rows; r++) {
        size_t from = (size_t)r * (size_t)a->edge;
        int32_t count = b == j ? r : columns;

        y[r] += dot(tile, element, from, (size_t)count, x);
    }
}

void ease__times_transposed(const ease__tiled *a, const void *tile, int32_t b,
                            int32_t i, const double *x, double *y)
{
    ease__element element = a->element;
    int32_t rows = rows_of(a, i), columns = rows_of(a, b);

    x += (size_t)i * (size_t)a->edge;
    for (int32_t r = 0; r < rows; r++) {
        size_t from = (size_t)r * (size_t)a->edge;
        int32_t to = b == i ? r + 1 : columns;
        double factor = x[r];

        for (int32_t c = 0; c < to; c++)
            y[c] += entry(tile, element, from + (size_t)c) * factor;
    }
}

void ease__tiled_times(const ease__tiled *a, const double *x, double *y, int threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (int32_t b = 0; b < a->last; b++) {
        double *sums = y + (size_t)b * (size_t)a->edge;

        if (b >= a->first) {
            for (int32_t r = 0; r < rows_of(a, b); r++)
                sums[r] = 0;
            for (int32_t j = 0; j <= b; j++)
                ease__times_tile(a, ease__tile(a, b, j), b, j, x, sums);
        }
        for (int32_t i = b > a->first ? b : a->first; i < a->last; i++)
            ease__times_transposed(a, ease__tile(a, i, b), b, i, x, sums);
    }
}

/* ---- solving --------------------------------------------------------------------- */

static const double ALLOWED_RESIDUAL = 2e-4;

void ease__add_to_diagonal(ease__tiled *a, int32_t b, const double *diagonal)
{
    void *tile = ease__tile(a, b, b);

    for (int32_t r = 0; r < a->edge; r++) {
        int64_t i = (int64_t)b * a->edge + r;
        size_t at = (size_t)r * ((size_t)a->edge + 1);
        double add = i < a->n ? diagonal[i] : 1;

        if (a->element == EASE__F64)
            ((double *)tile)[at] += add;
        else
            ((float *)tile)[at] = (float)((double)((float *)tile)[at] + add);
    }
}

static void add_to_diagonals(ease__tiled *a, const double *diagonal)
{
    for (int32_t b = a->first; b < a->last; b++)
        ease__add_to_diagonal(a, b, diagonal);
}

static double distance(const double *a, const double *b, int32_t n)
{
    double sum = 0;

    for (int32_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

ease_status ease__check_new(int32_t n, ease__check *c, ease_error *err)
{
    ease__random random;
    double size = 0;

    c->v = ease__alloc_array(3 * (size_t)n, sizeof(*c->v));
    if (!c->v)
        return ease__fail(err, EASE_E_NOMEM, "vectors of %d items", (int)n);
    c->w = c->v + n;
    c->back = c->w + n;
    ease__random_seed(&random, 1, 0);
    for (int32_t i = 0; i < n; i++) {
        c->v[i] = 2 * ease__random_unit(&random) - 1;
        size += c->v[i] * c->v[i];
    }
    c->size = sqrt(size);
    return EASE_OK;
}

ease_status ease__check_residual(const ease__check *c, const ease__tiled *a,
                                 double *residual, ease_error *err)
{
    *residual = distance(c->back, c->v, a->n) / c->size;
    if (!(*residual <= ALLOWED_RESIDUAL)) /* NaN is not */
        return ease__fail(
            err, EASE_E_ACCURACY,
            "the solution fails its check (residual %.1e, at most %.0e is "
            "allowed): raise lambda%s",
            *residual, ALLOWED_RESIDUAL,
            a->element == EASE__F32 ? " or use float64" : "");
    return EASE_OK;
}

ease_status ease__solve(ease__tiled *a, const double *diagonal, const ease_backend *b,
                        int threads, size_t device_memory, const ease_hooks *hooks,
                        double *residual, ease_error *err)
{
    ease__check c = {0};
    ease_status status = ease__backend_check(b, a, threads, device_memory, err);

    if (!status)
        status = ease__check_new(a->n, &c, err);
    if (status)
        return status;
    add_to_diagonals(a, diagonal);
    ease__tiled_times(a, c.v, c.w, threads);
    status = ease__progress(hooks, "checking", 0)
                 ? ease__cancelled(err)
                 : ease__backend_invert(b, a, threads, device_memory, hooks, err);
    if (!status) {
        ease__tiled_times(a, c.w, c.back, threads);
        status = ease__progress(hooks, "checking", 1)
                     ? ease__cancelled(err)
                     : ease__check_residual(&c, a, residual, err);
    }
    ease__free(c.v);
    if (!status)
        ease__tiled_mirror_diagonal(a, threads);
    return status;
}

/* ---- in a file ------------------------------------------------------------------- */

/* Work on one band of rows after the other, whose diagonal tiles it may change. */
typedef void band_work(ease__tiled *band, ease__check *c, const double *diagonal,
                       int threads);

static void multiply_matrix(ease__tiled *band, ease__check *c, const double *diagonal,
                            int threads)
{
    add_to_diagonals(band, diagonal);
    ease__tiled_times(band, c->v, c->w, threads);
}

static void multiply_inverse(ease__tiled *band, ease__check *c, const double *diagonal,
                             int threads)
{
    (void)diagonal;
    ease__tiled_times(band, c->w, c->back, threads);
    ease__tiled_mirror_diagonal(band, threads);
}

static ease_status for_bands(const ease__tilefile *f, band_work *work, ease__check *c,
                             const double *diagonal, size_t memory, int threads,
                             const ease_hooks *hooks, ease_error *err)
{
    ease__tiled band;
    ease_status status = ease__tiled_new_band(&f->shape, memory, &band, err);

    if (status)
        return status;
    while (!status && ease__tiled_next_band(&band)) {
        if (ease__progress(hooks, "checking", (double)band.first / band.tiles))
            status = ease__cancelled(err);
        if (!status)
            status = ease__tilefile_read_band(f, &band, threads, err);
        if (!status) {
            work(&band, c, diagonal, threads);
            status = ease__tilefile_write_diagonal(f, &band, err);
        }
    }
    ease__tiled_free(&band);
    return status;
}

ease_status ease__solve_file(const ease__tilefile *f, const double *diagonal,
                             const ease_backend *b, size_t memory, int threads,
                             const ease_hooks *hooks, double *residual, ease_error *err)
{
    ease__check c = {0};
    ease_status status = ease__backend_check_file(b, err);

    if (!status)
        status = ease__backend_check(b, &f->shape, threads, 0, err);
    if (!status)
        status = ease__check_new(f->shape.n, &c, err);
    if (!status)
        status = for_bands(f, multiply_matrix, &c, diagonal, memory, threads, hooks,
                           err);
    if (!status)
        status = ease__backend_invert_file(b, f, memory, threads, hooks, err);
    if (!status)
        status = for_bands(f, multiply_inverse, &c, diagonal, memory, threads, hooks,
                           err);
    if (!status)
        status = ease__check_residual(&c, &f->shape, residual, err);
    ease__free(c.v);
    return status;
}
