#include "methods/small_system.h"

#include <float.h>
#include <math.h>
#include <string.h>

ease_status ease__small_system_new(int32_t most, ease__small_system *out,
                                   ease_error *err)
{
    size_t n = (size_t)most, ld = ease__padded(most);
    ease__small_system s = {
        .most = most,
        .right = ease__alloc_array(n, sizeof(*s.right)),
        .a = ease__alloc_array(ease__size_mul(n, ld), sizeof(*s.a)),
        .w = ease__alloc_array(ld, sizeof(*s.w)),
        .factor = ease__alloc_array(ease__size_mul(n, ld), sizeof(*s.factor)),
        .rest = ease__alloc_array(ld, sizeof(*s.rest)),
        .scratch = ease__alloc_array(ease__cholesky_scratch(most), sizeof(*s.scratch)),
        .wide_w = ease__alloc_array(n, sizeof(*s.wide_w)),
    };

    *out = s;
    if (s.right && s.a && s.w && s.factor && s.rest && s.scratch && s.wide_w)
        return EASE_OK;
    ease__small_system_free(out);
    return ease__fail(err, EASE_E_NOMEM, "a system of %d unknowns", (int)most);
}

void ease__small_system_free(ease__small_system *s)
{
    ease__free(s->right);
    ease__free(s->a);
    ease__free(s->w);
    ease__free(s->factor);
    ease__free(s->rest);
    ease__free(s->scratch);
    ease__free(s->wide);
    ease__free(s->wide_w);
    *s = (ease__small_system){0};
}

size_t ease__small_system_bytes(int32_t most)
{
    size_t n = (size_t)most, ld = ease__padded(most);
    size_t narrow = ease__size_mul(ease__size_mul(n, ld), 2 * sizeof(float));
    size_t wide = ease__size_mul(ease__size_mul(n, n), sizeof(double));
    size_t vectors = 2 * n * sizeof(double) +
                     (2 * ld + ease__cholesky_scratch(most)) * sizeof(float);

    return ease__size_add(ease__size_add(narrow, wide), vectors);
}

/* ---- float32 --------------------------------------------------------------------- */

/* The largest part of b, relative to its largest entry, that may be left. */
static const float MOST_REST = 1e-4f;

/* True if every pivot is more than what rounding leaves of its diagonal entry. */
static bool pivots_hold(int32_t n, const ease__small_system *s)
{
    size_t ld = ease__padded(n) + 1;
    float least = 4 * (float)n * FLT_EPSILON;

    for (size_t i = 0; i < (size_t)n; i++) {
        float root = s->factor[i * ld];

        if (!(root * root > least * s->a[i * ld]))
            return false;
    }
    return true;
}

static bool is_solved(const ease__kernels *kernels, int32_t unknowns,
                      ease__small_system *s)
{
    size_t ld = ease__padded(unknowns), n = (size_t)unknowns;
    float most = 0, rest = 0;

    for (size_t i = 0; i < n; i++)
        s->rest[i] = (float)s->right[i];
    for (size_t i = 0; i < n; i++) {
        const float *row = s->a + i * (ld + 1);
        float sum = kernels->dot(row + 1, s->w + i + 1, n - i - 1);

        s->rest[i] -= row[0] * s->w[i] + sum;
        kernels->add_times(s->rest + i + 1, row + 1, -s->w[i], n - i - 1);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(s->rest[i]))
            return false;
        most = fmaxf(most, fabsf((float)s->right[i]));
        rest = fmaxf(rest, fabsf(s->rest[i]));
    }
    return rest <= MOST_REST * most;
}

bool ease__small_system_solve(const ease__kernels *kernels, int32_t n,
                              ease__small_system *s)
{
    memcpy(s->factor, s->a, (size_t)n * ease__padded(n) * sizeof(*s->a));
    for (int32_t i = 0; i < n; i++)
        s->w[i] = (float)s->right[i];
    if (!ease__cholesky(kernels, s->factor, n, s->scratch) || !pivots_hold(n, s))
        return false;
    ease__cholesky_solve(kernels, s->factor, n, s->w);
    return is_solved(kernels, n, s);
}

/* ---- float64 --------------------------------------------------------------------- */

ease_status ease__small_system_widen(ease__small_system *s, ease_error *err)
{
    size_t n = (size_t)s->most;

    if (!s->wide)
        s->wide = ease__alloc_array(ease__size_mul(n, n), sizeof(*s->wide));
    return s->wide
               ? EASE_OK
               : ease__fail(err, EASE_E_NOMEM, "a float64 system of %zu unknowns", n);
}

/* Divides row k of the factor by the root of its pivot, and subtracts its part from the
 * rows below. False if the pivot is no more than what rounding leaves of `entry`. */
static bool eliminate(double *a, size_t n, size_t k, double entry)
{
    double *row = a + k * n, root;

    if (!(row[k] > entry * (double)n * DBL_EPSILON))
        return false;
    root = sqrt(row[k]);
    for (size_t l = k; l < n; l++)
        row[l] /= root;
    for (size_t i = k + 1; i < n; i++)
        for (size_t l = i; l < n; l++)
            a[i * n + l] -= row[i] * row[l];
    return true;
}

static void substitute(const double *u, size_t n, double *w)
{
    for (size_t k = 0; k < n; k++) {
        w[k] /= u[k * (n + 1)];
        for (size_t l = k + 1; l < n; l++)
            w[l] -= u[k * n + l] * w[k];
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t l = k + 1; l < n; l++)
            w[k] -= u[k * n + l] * w[l];
        w[k] /= u[k * (n + 1)];
    }
}

bool ease__small_system_solve_wide(int32_t unknowns, ease__small_system *s)
{
    size_t n = (size_t)unknowns;

    for (size_t k = 0; k < n; k++)
        s->wide_w[k] = s->wide[k * (n + 1)]; /* the diagonal, until it is solved */
    for (size_t k = 0; k < n; k++)
        if (!eliminate(s->wide, n, k, s->wide_w[k]))
            return false;
    memcpy(s->wide_w, s->right, n * sizeof(*s->wide_w));
    substitute(s->wide, n, s->wide_w);
    for (size_t k = 0; k < n; k++)
        s->w[k] = (float)s->wide_w[k];
    return true;
}
