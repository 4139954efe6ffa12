/* Makes a dense model from the inverse P. No second matrix is allocated: weights are
 * computed from P by two scales when they are read. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "model/model.h"

/* True for items without variance, whose centred columns are 0. */
static bool is_constant(const ease__model_parts *r, int32_t i)
{
    return r->kind != EASE_GRAM_COUNTS && r->scale[i] == 0;
}

/* Bounds on the binary exponents of the scales s: within ORDINARY they are used as they
 * are; beyond MOST, W_ij = (P_ij / s_i) (s_j / P_jj) would lose digits in float32. */
enum { ORDINARY = 60, MOST = 100 };
/* |W_ij| <= q_i / q_j, by Cauchy and Schwarz on P. */
static const double LARGEST_WEIGHT = 0x1p120;

static double scale_of(const ease__model_parts *r, int32_t i)
{
    return r->scale ? r->scale[i] : 1.0;
}

/* Only the ratios of the scales matter. Returns a power of two by which to divide them
 * so that they lie around 1; 1 if they are of ordinary size. */
static double middle_scale(const ease__model_parts *r, int32_t n)
{
    int least = INT_MAX, most = INT_MIN, exponent;

    for (int32_t i = 0; i < n; i++)
        if (!is_constant(r, i)) {
            frexp(scale_of(r, i), &exponent);
            least = exponent < least ? exponent : least;
            most = exponent > most ? exponent : most;
        }
    if (least > most || (least >= -ORDINARY && most <= ORDINARY))
        return 1;
    return ldexp(1, least + (most - least) / 2);
}

/* The items with the smallest and the largest value of an array. */
typedef struct extremes {
    double least, most;
    int32_t least_item, most_item;
} extremes;

static void extremes_take(extremes *e, double value, int32_t item)
{
    if (!(value >= e->least)) {
        e->least = value;
        e->least_item = item;
    }
    if (!(value <= e->most)) {
        e->most = value;
        e->most_item = item;
    }
}

static const extremes NOTHING = {.least = INFINITY, .most = -INFINITY};

static ease_status too_far_apart(const ease_model *m, const extremes *e,
                                 ease_error *err)
{
    return ease__fail_at(
        err, EASE_E_ACCURACY, e->most_item,
        "the values of items \"%.100s\" and \"%.100s\" are of sizes too "
        "far apart for weights in float32",
        ease__ids_at(&m->ids, e->least_item), ease__ids_at(&m->ids, e->most_item));
}

/* The scales of weights and the norms of items, n floats each. */
typedef struct scales {
    float *rows; /* NULL: all 1 */
    float *columns;
    float *norm;
    float *norm_to; /* NULL: norm */
} scales;

/* m_j for a pivot d = P_jj of the solved matrix: 1 / d, or less with a relaxed
 * diagonal. */
static double multiplier(const ease__model_parts *r, int32_t j, double d)
{
    if (1 - r->ridge[j] * d > r->relaxation)
        return (1 - r->relaxation) / d;
    return r->ridge[j];
}

/* W_ij = (P_ij s_i / scale_i) (-scale_j m_j t_j). The norms are such that the
 * similarity, W_ij norm_to_j / norm_i, is -P_ij / sqrt(P_ii P_jj). For EASE both are
 * sqrt(P_jj) / scale_j. */
static ease_status make_scales(const ease_model *m, const ease__model_parts *r,
                               const double *pivots, const scales *to, ease_error *err)
{
    int32_t n = m->info.items;
    double middle = middle_scale(r, n);
    extremes sizes = NOTHING, from = NOTHING, into = NOTHING;

    for (int32_t i = 0; i < n; i++) {
        double s = scale_of(r, i) / middle, d = pivots[i];
        double row = (r->input ? r->input[i] : 1.0) / s;
        double column = s / d, q = sqrt(d) / s, q_to;
        bool none = is_constant(r, i);

        if (!(d > 0))
            return ease__fail_at(
                err, EASE_E_ACCURACY, i,
                "the inverse has %g on its diagonal at item \"%.200s\"", d,
                ease__ids_at(&m->ids, i));
        if (r->relaxation > 0)
            column = s * multiplier(r, i, d);
        if (r->output)
            column *= r->output[i];
        if (r->input)
            q *= r->input[i];
        q_to = to->norm_to ? 1 / (column * sqrt(d)) : q;
        to->columns[i] = none ? 0.0f : (float)-column;
        if (to->rows)
            to->rows[i] = none ? 0.0f : (float)row;
        to->norm[i] = none ? 1.0f : (float)q;
        if (to->norm_to)
            to->norm_to[i] = none ? 1.0f : (float)q_to;
        if (!none) {
            extremes_take(&sizes, s, i);
            extremes_take(&from, q, i);
            extremes_take(&into, q_to, i);
        }
    }
    if (sizes.most > ldexp(1, MOST) || sizes.least < ldexp(1, -MOST))
        return too_far_apart(m, &sizes, err);
    if (from.most / into.least > LARGEST_WEIGHT) {
        from.least_item = into.least_item;
        return too_far_apart(m, &from, err);
    }
    return EASE_OK;
}

/* Copies the diagonal of P. */
static void take_pivots(const ease_model *m, double *pivots)
{
    const ease__tiled *p = &m->inverse;

    for (int32_t i = 0; i < p->n; i++) {
        pivots[i] = ease__tiled_at(p, i, i);
        if ((i + 1) % p->edge == 0)
            ease__model_forget(m);
    }
}

/* Replaces the scales and norms of the model. */
static ease_status set_scales(ease_model *m, const ease__model_parts *r,
                              const double *pivots, ease_error *err)
{
    size_t n = (size_t)m->info.items;
    bool rows = r->scale || r->input, norm_to = r->relaxation > 0 || r->output;
    scales s = {
        .rows = rows ? ease__alloc_array(n, sizeof(float)) : NULL,
        .columns = ease__alloc_array(n, sizeof(float)),
        .norm = ease__alloc_array(n, sizeof(float)),
        .norm_to = norm_to ? ease__alloc_array(n, sizeof(float)) : NULL,
    };

    ease__free_const(m->row_scale);
    ease__free_const(m->col_scale);
    ease__free_const(m->norm);
    ease__free_const(m->norm_to);
    m->row_scale = s.rows;
    m->col_scale = s.columns;
    m->norm = s.norm;
    m->norm_to = s.norm_to;
    if ((rows && !s.rows) || !s.columns || !s.norm || (norm_to && !s.norm_to))
        return ease__fail(err, EASE_E_NOMEM, "model of %zu items", n);
    return make_scales(m, r, pivots, &s, err);
}

/* base_j = mu_j - sum_i mu_i W_ij in float64, i ascending: the same bits at any number
 * of threads. For j from `from` to below `to`. */
static void make_base(const ease_model *m, const ease__model_parts *r, int32_t from,
                      int32_t to, float *base)
{
    enum { ROWS = 64, COLUMNS = 64 };
    int32_t n = m->info.items;

#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(m->threads))
    for (int64_t left = from; left < to; left += COLUMNS) {
        ease__window w = {.left = (int32_t)left};
        double sum[COLUMNS] = {0};
        float block[ROWS * COLUMNS];

        w.right = to - w.left > COLUMNS ? w.left + COLUMNS : to;
        while (w.bottom < n) {
            w.top = w.bottom;
            w.bottom = n - w.top > ROWS ? w.top + ROWS : n;
            m->form->store->read(m, w, block, COLUMNS);
            for (int32_t i = w.top; i < w.bottom; i++)
                for (int32_t j = 0; j < w.right - w.left; j++)
                    sum[j] += r->centre[i] * (double)block[(i - w.top) * COLUMNS + j];
        }
        for (int32_t j = w.left; j < w.right; j++)
            base[j] = (float)((r->centre[j] - sum[j - w.left]) / r->mass);
    }
}

/* Checks the base, as a file with a base that is not finite could not be opened. */
ease_status ease__model_check_base(const ease_model *m, ease_error *err)
{
    for (int32_t j = 0; m->base && j < m->info.items; j++)
        if (!isfinite(m->base[j]))
            return ease__fail_at(
                err, EASE_E_ACCURACY, j,
                "the base of item \"%.200s\" is too large for float32: "
                "the values of items are too far apart",
                ease__ids_at(&m->ids, j));
    return EASE_OK;
}

static ease_status check_recipe(const ease__tiled *p, const ease__model_parts *r,
                                ease_error *err)
{
    bool centred = r->kind != EASE_GRAM_COUNTS;

    if (!p->data || p->n < 1 || !r->ids || r->ids->count != p->n || !r->diagonal)
        return ease__fail(err, EASE_E_ARG,
                          "an inverse, its diagonal and an id for each "
                          "item are required");
    if (centred && (!r->centre || !(r->mass > 0)))
        return ease__fail(err, EASE_E_ARG,
                          "centring needs the column sums and the number of users");
    if (centred && !r->scale)
        return ease__fail(err, EASE_E_ARG, "correlation needs its scale");
    return EASE_OK;
}

/* Converts P to float32, and completes both halves of the diagonal tiles. */
static ease_status finish_inverse(ease_model *m, ease_error *err)
{
    ease_status status;

    if (!m->work) {
        if (m->inverse.element == EASE__F64)
            ease__tiled_narrow(&m->inverse, EASE__F32);
        ease__tiled_mirror_diagonal(&m->inverse, m->threads);
        return EASE_OK;
    }
    if (m->inverse.element == EASE__F32)
        return EASE_OK;
    ease__tiled_free(&m->inverse);
    status = ease__tilefile_narrow(m->work, err);
    return status ? status : ease__tilefile_map(m->work, &m->inverse, err);
}

static ease_status set_base(ease_model *m, const ease__model_parts *r, ease_error *err)
{
    int32_t n = m->info.items, edge = m->inverse.edge;
    float *base = NULL;

    if (r->kind == EASE_GRAM_COUNTS)
        return EASE_OK;
    base = ease__alloc_array((size_t)n, sizeof(*base));
    ease__free_const(m->base);
    m->base = base;
    if (!base)
        return ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)n);
    for (int32_t from = 0, to; from < n; from = to) {
        to = n - from > edge ? from + edge : n;
        make_base(m, r, from, to, base);
        ease__model_forget(m);
    }
    return ease__model_check_base(m, err);
}

/* Sets all that is beside P. */
static ease_status fill(ease_model *m, const ease__model_parts *r, double *pivots,
                        ease_error *err)
{
    size_t n = (size_t)m->info.items;
    double *popularity = ease__alloc_array(n, sizeof(double));
    ease_status status;

    m->popularity = popularity;
    if (!popularity)
        return ease__fail(err, EASE_E_NOMEM, "model of %zu items", n);
    memcpy(popularity, r->sums ? r->sums : r->diagonal, n * sizeof(double));
    if (!r->apart)
        take_pivots(m, pivots);
    status = set_scales(m, r, pivots, err);
    if (!status)
        status = ease__living_copy(&r->living, m->info.items, &m->living, err);
    if (!status && !r->apart)
        status = finish_inverse(m, err);
    if (!status && !r->apart)
        status = set_base(m, r, err);
    return status ? status : ease__model_set_settings(m, r->settings, err);
}

ease_status ease__model_rescale(ease_model *m, const ease__model_parts *r,
                                const double *pivots, ease_error *err)
{
    ease_status status = set_scales(m, r, pivots, err);

    if (!status)
        status = set_base(m, r, err);
    return status ? status : ease__model_set_settings(m, r->settings, err);
}

static ease_status build(ease__tiled *inverse, ease__model_parts *r, ease_model **out,
                         ease_error *err)
{
    ease_status status = check_recipe(inverse, r, err);
    double *pivots = NULL;
    ease_model *m;

    if (status)
        return status;
    if (!r->pivots) {
        pivots = ease__alloc_array((size_t)inverse->n, sizeof(*pivots));
        if (!pivots)
            return ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)inverse->n);
    }
    m = ease__alloc_zero(1, sizeof(*m));
    if (!m) {
        ease__free(pivots);
        return ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)inverse->n);
    }
    m->file = EASE__CONTAINER_NONE;
    m->form = r->method->form;
    m->kernels = ease__kernels_best();
    m->threads = r->threads;
    m->info = (ease_model_info){
        .method = r->method->info.name,
        .settings = "",
        .items = inverse->n,
        .users = r->users,
        .interactions = r->interactions,
        .lambda = r->lambda,
        .residual = r->residual,
        .kind = r->kind,
        .precision = r->precision,
        .storage = r->method->form->number,
        .nonnegative = r->method->nonnegative,
        .has_base = r->kind != EASE_GRAM_COUNTS,
        .updatable = ease__is_living(&r->living),
        .updates = r->living.updates,
    };
    m->inverse = *inverse;
    *inverse = (ease__tiled){0};
    m->work = r->work;
    r->work = NULL;
    m->ids = *r->ids;
    *r->ids = (ease__ids){0};
    status = fill(m, r, r->pivots ? r->pivots : pivots, err);
    ease__free(pivots);
    if (status) {
        ease_model_free(m);
        return status;
    }
    *out = m;
    return EASE_OK;
}

ease_status ease__model_from_inverse(ease__tiled *inverse, ease__model_parts *r,
                                     ease_model **out, ease_error *err)
{
    ease_status status = build(inverse, r, out, err);

    ease__tiled_free(inverse);
    if (r->ids)
        ease__ids_free(r->ids);
    if (r->work)
        ease__tilefile_free(r->work);
    ease__free(r->work);
    r->work = NULL;
    return status;
}
