/* Solving with a check, and the table of backends. */
#include "solve/solve.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "compute/blas.h"
#include "core/random.h"

/* ---- y = A x ------------------------------------------------------------------ */

static inline double entry(const void *tile, bool wide, size_t at)
{
    return wide ? ((const double *)tile)[at] : (double)((const float *)tile)[at];
}

/* In eight sums, for the vector units, always added up in the same order. */
static double dot(const void *tile, bool wide, size_t from, size_t count,
                  const double *x)
{
    enum { LANES = 8 };
    double sums[LANES] = {0}, total = 0;
    size_t c = 0;

    for (; c + LANES <= count; c += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += entry(tile, wide, from + c + lane) * x[c + lane];
    for (; c < count; c++)
        total += entry(tile, wide, from + c) * x[c];
    for (size_t lane = 0; lane < LANES; lane++)
        total += sums[lane];
    return total;
}

static int32_t rows_of(const ease__tiled *a, int32_t block)
{
    int32_t left = a->n - block * a->edge;

    return left < a->edge ? left : a->edge;
}

/* y_b += A_bj x_j; of a diagonal tile, the lower half without the diagonal. */
static void add_tile(const ease__tiled *a, int32_t b, int32_t j, const double *x,
                     double *y)
{
    const void *tile = ease__tile(a, b, j);
    bool wide = a->element == EASE__F64;
    int32_t rows = rows_of(a, b), columns = rows_of(a, j);

    x += (size_t)j * (size_t)a->edge;
    y += (size_t)b * (size_t)a->edge;
    for (int32_t r = 0; r < rows; r++) {
        size_t from = (size_t)r * (size_t)a->edge;
        int32_t count = b == j ? r : columns;

        y[r] += dot(tile, wide, from, (size_t)count, x);
    }
}

/* y_b += A_ib' x_i; of a diagonal tile, the lower half with the diagonal. */
static void add_transposed(const ease__tiled *a, int32_t b, int32_t i, const double *x,
                           double *y)
{
    const void *tile = ease__tile(a, i, b);
    bool wide = a->element == EASE__F64;
    int32_t rows = rows_of(a, i), columns = rows_of(a, b);

    x += (size_t)i * (size_t)a->edge;
    y += (size_t)b * (size_t)a->edge;
    for (int32_t r = 0; r < rows; r++) {
        size_t from = (size_t)r * (size_t)a->edge;
        int32_t to = b == i ? r + 1 : columns;
        double factor = x[r];

        for (int32_t c = 0; c < to; c++)
            y[c] += entry(tile, wide, from + (size_t)c) * factor;
    }
}

void ease__tiled_times(const ease__tiled *a, const double *x, double *y, int threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (int32_t b = 0; b < a->last; b++) {
        if (b >= a->first) {
            for (int32_t r = 0; r < rows_of(a, b); r++)
                y[(size_t)b * (size_t)a->edge + (size_t)r] = 0;
            for (int32_t j = 0; j <= b; j++)
                add_tile(a, b, j, x, y);
        }
        for (int32_t i = b > a->first ? b : a->first; i < a->last; i++)
            add_transposed(a, b, i, x, y);
    }
}

/* ---- backends ----------------------------------------------------------------- */

static ease_status probe_cpu(ease_error *why)
{
    enum { OPENMP_FLAVOUR = 2 };

    if (openblas_get_parallel() == OPENMP_FLAVOUR)
        return EASE_OK;
    return ease__fail(why, EASE_E_BACKEND,
                      "the loaded OpenBLAS is not its OpenMP flavour, which is the one "
                      "that keeps to this library's threads");
}

static void warn_of_slow_kernels(const ease_hooks *hooks)
{
    ease_blas_info blas = {.size = sizeof(blas)};

    ease_blas_describe(&blas);
    if (blas.better)
        ease__log(hooks, 1,
                  "OpenBLAS uses its kernels for %s, an older processor: "
                  "OPENBLAS_CORETYPE=%s in the environment makes it faster",
                  blas.core, blas.better);
}

static ease_status invert_cpu(ease__tiled *a, int threads, const ease_hooks *hooks,
                              ease_error *err)
{
    ease_status status;

    threads = ease__blas_threads(threads, hooks);
    status = ease__blas_check_memory(threads, err);
    if (status)
        return status;
    warn_of_slow_kernels(hooks);
    return ease__invert_tiles(
        a, a->element == EASE__F64 ? &ease__blas_f64 : &ease__blas_f32, threads, hooks,
        err);
}

static ease_status invert_file_cpu(const ease__tilefile *f, size_t memory, int threads,
                                   const ease_hooks *hooks, ease_error *err)
{
    ease_status status;

    threads = ease__blas_threads(threads, hooks);
    status = ease__blas_check_memory(threads, err);
    if (status)
        return status;
    return ease__invert_file(
        f, f->shape.element == EASE__F64 ? &ease__blas_f64 : &ease__blas_f32, memory,
        threads, hooks, err);
}

static const ease__solver solvers[] = {
    {.name = "cpu",
     .probe = probe_cpu,
     .invert = invert_cpu,
     .invert_file = invert_file_cpu},
};

ease_status ease__solver_find(const char *name, const ease__solver **out,
                              ease_error *err)
{
    for (size_t i = 0; i < sizeof(solvers) / sizeof(solvers[0]); i++) {
        ease_status status;

        if (name && strcmp(name, solvers[i].name) != 0)
            continue;
        status = solvers[i].probe(err);
        if (!status)
            *out = &solvers[i];
        return status;
    }
    return ease__fail(err, EASE_E_BACKEND, "unknown backend \"%s\"", name);
}

/* ---- solving -------------------------------------------------------------------- */

static const double ALLOWED_RESIDUAL = 2e-4;

/* lambda on a diagonal: times the item's ridge, if there is one. */
typedef struct shift {
    double lambda;
    const double *ridge;
} shift;

static void add_to_diagonal(ease__tiled *a, shift s)
{
    size_t edge = (size_t)a->edge;

    for (int32_t i = a->first * a->edge; i < a->last * a->edge; i++) {
        void *tile = ease__tile(a, i / a->edge, i / a->edge);
        size_t at = (size_t)(i % a->edge) * (edge + 1);
        double add = i >= a->n ? 1 : s.ridge ? s.lambda * s.ridge[i] : s.lambda;

        if (a->element == EASE__F64)
            ((double *)tile)[at] += add;
        else
            ((float *)tile)[at] = (float)((double)((float *)tile)[at] + add);
    }
}

static double distance(const double *a, const double *b, int32_t n)
{
    double sum = 0;

    for (int32_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* Three vectors of n: v, A v, P A v. */
typedef struct probe {
    double *v, *w, *back;
    double size; /* ||v|| */
} probe;

static ease_status make_probe(int32_t n, probe *p, ease_error *err)
{
    ease__random random;
    double size = 0;

    p->v = ease__alloc_array(3 * (size_t)n, sizeof(*p->v));
    if (!p->v)
        return ease__fail(err, EASE_E_NOMEM, "vectors of %d items", (int)n);
    p->w = p->v + n;
    p->back = p->w + n;
    ease__random_seed(&random, 1, 0);
    for (int32_t i = 0; i < n; i++) {
        p->v[i] = 2 * ease__random_unit(&random) - 1;
        size += p->v[i] * p->v[i];
    }
    p->size = sqrt(size);
    return EASE_OK;
}

static ease_status check_residual(const probe *p, const ease__tiled *a,
                                  double *residual, ease_error *err)
{
    *residual = distance(p->back, p->v, a->n) / p->size;
    if (!(*residual <= ALLOWED_RESIDUAL)) /* NaN is not */
        return ease__fail(
            err, EASE_E_ACCURACY,
            "the solution fails its check (residual %.1e, at most %.0e is "
            "allowed): raise lambda%s",
            *residual, ALLOWED_RESIDUAL,
            a->element == EASE__F32 ? " or use float64" : "");
    return EASE_OK;
}

ease_status ease__solve(ease__tiled *a, double lambda, const double *ridge,
                        const ease__solver *solver, int threads,
                        const ease_hooks *hooks, double *residual, ease_error *err)
{
    probe p = {0};
    ease_status status = make_probe(a->n, &p, err);

    if (status)
        return status;
    add_to_diagonal(a, (shift){lambda, ridge});
    ease__tiled_times(a, p.v, p.w, threads);
    status = ease__progress(hooks, "checking", 0)
                 ? ease__cancelled(err)
                 : solver->invert(a, threads, hooks, err);
    if (!status) {
        ease__tiled_times(a, p.w, p.back, threads);
        status = ease__progress(hooks, "checking", 1)
                     ? ease__cancelled(err)
                     : check_residual(&p, a, residual, err);
    }
    ease__free(p.v);
    if (!status)
        ease__tiled_mirror_diagonal(a, threads);
    return status;
}

/* ---- in a file ------------------------------------------------------------------------
 */

/* Something for every band of rows, whose diagonal tiles it may change. */
typedef void see_band(ease__tiled *band, probe *p, shift s, int threads);

static void see_matrix(ease__tiled *band, probe *p, shift s, int threads)
{
    add_to_diagonal(band, s);
    ease__tiled_times(band, p->v, p->w, threads);
}

static void see_inverse(ease__tiled *band, probe *p, shift s, int threads)
{
    (void)s;
    ease__tiled_times(band, p->w, p->back, threads);
    ease__tiled_mirror_diagonal(band, threads);
}

static ease_status for_bands(const ease__tilefile *f, see_band *see, probe *p, shift s,
                             size_t memory, int threads, const ease_hooks *hooks,
                             ease_error *err)
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
            see(&band, p, s, threads);
            status = ease__tilefile_write_diagonal(f, &band, err);
        }
    }
    ease__tiled_free(&band);
    return status;
}

ease_status ease__solve_file(const ease__tilefile *f, double lambda,
                             const double *ridge, const ease__solver *solver,
                             size_t memory, int threads, const ease_hooks *hooks,
                             double *residual, ease_error *err)
{
    probe p = {0};
    shift s = {lambda, ridge};
    ease_status status = make_probe(f->shape.n, &p, err);

    if (!status)
        status = for_bands(f, see_matrix, &p, s, memory, threads, hooks, err);
    if (!status)
        status = solver->invert_file(f, memory, threads, hooks, err);
    if (!status)
        status = for_bands(f, see_inverse, &p, s, memory, threads, hooks, err);
    if (!status)
        status = check_residual(&p, &f->shape, residual, err);
    ease__free(p.v);
    return status;
}
