/* The matrix that the solver inverts: counts, covariance or correlation. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "gram/gram.h"

/* The share of G_ii below which C_ii is considered rounding: the column of an item
 * that every user has, or none. Weighted entries may have been rounded to float32
 * before. */
static double constant_share(const ease_gram *g)
{
    return g->weighted || g->rounded ? 4 * (double)FLT_EPSILON : 1e-12;
}

/* C_ij = G_ij - sums_i sums_j / users, times unit_i unit_j. */
typedef struct centering {
    const double *sums; /* NULL: C is G */
    const double *unit; /* NULL: all 1 */
    double users;
} centering;

static inline double load(const void *tile, ease__element element, size_t at)
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

/* Converts tile (bi, bj) in place; U32 becomes F32. */
static void prepare_tile(const ease__tiled *g, const centering *c, int32_t bi,
                         int32_t bj)
{
    void *tile = ease__tile(g, bi, bj);
    int32_t edge = g->edge, i = bi * edge, j = bj * edge;
    int32_t rows = g->n - i < edge ? g->n - i : edge;
    int32_t columns = g->n - j < edge ? g->n - j : edge;

    for (int32_t r = 0; r < rows; r++)
        for (int32_t k = 0; k < columns; k++) {
            size_t at = (size_t)r * (size_t)edge + (size_t)k;
            double v = load(tile, g->element, at);

            if (c->sums)
                v -= c->sums[i + r] * c->sums[j + k] / c->users;
            if (c->unit)
                v *= c->unit[i + r] * c->unit[j + k];
            if (g->element == EASE__F64)
                ((double *)tile)[at] = v;
            else
                ((float *)tile)[at] = (float)v;
        }
}

static void prepare_tiles(ease__tiled *g, const centering *c, int threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (int32_t b = g->last - 1; b >= g->first; b--)
        for (int32_t j = 0; j <= b; j++)
            prepare_tile(g, c, b, j);
    if (g->element == EASE__U32)
        g->element = EASE__F32;
}

enum { ORDINARY = 60 }; /* largest |exponent| that needs no scaling */

bool ease__beyond_float(double diagonal)
{
    return diagonal > 0x1p100 || (diagonal > 0 && diagonal < 0x1p-100);
}

/* A power of two whose square scales a pivot to about 1; it is 1 for pivots of ordinary
 * size, so that the results of such data keep their bits. */
static double balance(double pivot)
{
    int exponent = 0;

    if (!isfinite(pivot) || !(pivot > 0))
        return 1;
    frexp(pivot, &exponent);
    return abs(exponent) <= ORDINARY ? 1 : ldexp(1, -(exponent / 2));
}

const double *ease__gram_centre(const ease_gram *g, double *mass)
{
    if (g->by_user && g->by_user->weighted_sums) {
        *mass = g->by_user->mass;
        return g->by_user->weighted_sums;
    }
    *mass = (double)g->users;
    return g->sums;
}

/* Lambda_i for the entry d of the diagonal. */
static double penalty_of(const ease__penalty *p, int32_t i, double d)
{
    double own = p->lambda;

    if (p->power != 0 && d > 0)
        own *= pow(d, p->power);
    if (p->share != 0)
        own += p->share * p->g[i];
    return own;
}

void ease__scales_set(const ease_gram *g, ease_gram_kind kind, const ease__penalty *p,
                      int32_t i, double whole, ease__scales *s)
{
    double mass, of_kind = 1, power, own;
    const double *sums = ease__gram_centre(g, &mass);
    double entry = whole; /* diagonal entry for the kind */
    bool constant = false;

    if (kind != EASE_GRAM_COUNTS) {
        entry -= sums[i] * sums[i] / mass;
        constant = !(entry > constant_share(g) * whole);
    }
    own = penalty_of(p, i, constant ? 0 : entry);
    if (kind == EASE_GRAM_CORRELATION && !constant) {
        of_kind = sqrt(entry);
        entry = 1;
    }
    power = balance((constant ? 0 : entry) + own);
    s->scale[i] = constant ? 0 : of_kind / power;
    s->unit[i] = constant ? 0 : 1 / s->scale[i];
    s->ridge[i] = own * (power * power);
    s->plain = s->plain && s->scale[i] == 1;
}

void ease__scales_free(ease__scales *s)
{
    ease__free(s->scale);
    ease__free(s->unit);
    ease__free(s->ridge);
    *s = (ease__scales){0};
}

ease_status ease__scales_new(const ease_gram *g, ease_gram_kind kind, ease__scales *out,
                             ease_error *err)
{
    ease__scales s = {.plain = kind == EASE_GRAM_COUNTS};

    if (kind != EASE_GRAM_COUNTS && (!g->sums || g->users < 1))
        return ease__fail(
            err, EASE_E_DATA,
            "%s needs the number of users and the column sums, which this "
            "Gram matrix does not tell",
            kind == EASE_GRAM_COVARIANCE ? "covariance" : "correlation");
    s.scale = ease__alloc_array((size_t)g->g.n, sizeof(*s.scale));
    s.unit = ease__alloc_array((size_t)g->g.n, sizeof(*s.unit));
    s.ridge = ease__alloc_array((size_t)g->g.n, sizeof(*s.ridge));
    if (!s.scale || !s.unit || !s.ridge) {
        ease__scales_free(&s);
        return ease__fail(err, EASE_E_NOMEM, "scales of %d items", (int)g->g.n);
    }
    *out = s;
    return EASE_OK;
}

static centering centering_of(const ease_gram *g, ease_gram_kind kind,
                              const ease__scales *s)
{
    centering c = {0};

    c.sums = ease__gram_centre(g, &c.users);
    if (kind == EASE_GRAM_COUNTS)
        c.sums = NULL;
    if (!s->plain)
        c.unit = s->unit;
    return c;
}

void ease__gram_prepare_tile(const ease_gram *g, ease_gram_kind kind,
                             const ease__scales *s, int32_t i, int32_t j)
{
    centering c = centering_of(g, kind, s);

    if (!s->plain || g->g.element == EASE__U32)
        prepare_tile(&g->g, &c, i, j);
}

void ease__gram_prepare(ease_gram *g, ease_gram_kind kind, const ease__penalty *p,
                        int threads, ease__scales *s)
{
    int64_t end = (int64_t)g->g.last * g->g.edge;
    centering c;

    for (int32_t i = g->g.first * g->g.edge; i < g->g.n && i < end; i++)
        ease__scales_set(g, kind, p, i, ease__tiled_at(&g->g, i, i), s);
    c = centering_of(g, kind, s);
    if (!s->plain || g->g.element == EASE__U32)
        prepare_tiles(&g->g, &c, threads);
}
