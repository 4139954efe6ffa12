/* Imports Gram matrices that were made elsewhere: shards of triplets (item, item,
 * number), or a dense .npy. Counts are added as integers, other numbers as float64;
 * entries that no X'X can have are errors. */
#include "gram/import.h"

#include <math.h>
#include <string.h>

#include "input/parts.h"

bool ease__import_same(double a, double b)
{
    if (a == floor(a) && b == floor(b))
        return a == b;
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

ease_status ease__import_memory(const ease__importing *m, size_t bytes, ease_error *err)
{
    size_t limit = m->o.memory_limit;

    return ease__memory_check("importing", (int32_t)m->g->ids.count, bytes,
                              ease__memory_allowed(limit, m->g->g.bytes), err);
}

/* ---- checks ------------------------------------------------------------------- */

static ease_status bad_entry(const ease__importing *m, int32_t i, int32_t j,
                             const char *what, ease_error *err)
{
    const ease__ids *ids = &m->g->ids;

    return ease__fail(err, EASE_E_DATA, "%s: %.10g for \"%.60s\" and \"%.60s\": %s",
                      m->path, ease__tiled_at(&m->g->g, i, j), ease__ids_at(ids, i),
                      ease__ids_at(ids, j), what);
}

static void set_diagonal(ease__tiled *t, int32_t i, uint32_t value)
{
    size_t within = (size_t)(i % t->edge), at = within * (size_t)t->edge + within;
    void *tile = ease__tile(t, i / t->edge, i / t->edge);

    if (t->element == EASE__U32)
        ((uint32_t *)tile)[at] = value;
    else
        ((double *)tile)[at] = value;
}

/* Compares the counts of the list with the diagonal, or uses them as the diagonal: a
 * shard that is missing or given twice is detected here. */
static ease_status match_list(ease__importing *m, ease_error *err)
{
    ease__tiled *t = &m->g->g;

    for (int32_t i = 0; i < t->n; i++) {
        double sum = ease__tiled_at(t, i, i);

        if (!m->diagonal)
            set_diagonal(t, i, m->listed[i]);
        else if (sum != (double)m->listed[i])
            return ease__fail(err, EASE_E_DATA,
                              "%s: \"%.60s\" has %.10g users, but %u in the list of "
                              "items: a shard is missing, given twice or of other "
                              "data",
                              m->path, ease__ids_at(&m->g->ids, i), sum,
                              (unsigned)m->listed[i]);
    }
    return EASE_OK;
}

static ease_status check_diagonal(const ease__importing *m, ease_error *err)
{
    for (int32_t i = 0; i < m->g->g.n; i++) {
        double d = ease__tiled_at(&m->g->g, i, i);

        if (d < 0)
            return bad_entry(m, i, i, "a negative entry of the diagonal", err);
        if (!m->g->weighted && m->g->users >= 0 && d > (double)m->g->users)
            return bad_entry(m, i, i, "more than there are users", err);
    }
    return EASE_OK;
}

/* The first column left of the diagonal with an entry larger than the diagonal entry
 * d allows; -1: none. */
static int32_t find_excess(const ease__tiled *t, bool weighted, const double *d,
                           int32_t i)
{
    size_t line = (size_t)(i % t->edge) * (size_t)t->edge;

    for (int32_t j = 0; j < i; j++) {
        const void *tile = ease__tile(t, i / t->edge, j / t->edge);
        int32_t from = j / t->edge * t->edge,
                end = from + t->edge < i ? from + t->edge : i;

        for (; j < end; j++) {
            size_t at = line + (size_t)(j - from);
            double v = t->element == EASE__U32 ? (double)((const uint32_t *)tile)[at]
                                               : ((const double *)tile)[at];

            if (weighted ? v * v > d[i] * d[j] * (1 + 1e-6) : v > d[i] || v > d[j])
                return j;
        }
        j--; /* the loop increments it again */
    }
    return -1;
}

/* Fails if an entry is impossible in X'X. */
static ease_status check_entries(const ease__importing *m, const double *d,
                                 ease_error *err)
{
    const ease__tiled *t = &m->g->g;
    int32_t bad = INT32_MAX;

#pragma omp parallel for schedule(dynamic, 64) reduction(min    \
                                                         : bad) \
    num_threads(ease__threads(m->o.threads))
    for (int32_t i = 0; i < t->n; i++)
        if (i < bad && find_excess(t, m->g->weighted, d, i) >= 0)
            bad = i;
    if (bad == INT32_MAX)
        return EASE_OK;
    return bad_entry(m, bad, find_excess(t, m->g->weighted, d, bad),
                     m->g->weighted
                         ? "larger than the two entries of the diagonal allow"
                         : "more than one of the two has alone",
                     err);
}

/* Sets the column sums: for data of ones they are the diagonal. */
static ease_status take_sums(ease__importing *m, ease_error *err)
{
    ease_gram *g = m->g;
    double total = 0;
    ease_status status;

    g->sums = ease__alloc_array((size_t)g->g.n, sizeof(*g->sums));
    if (!g->sums)
        return ease__import_no_memory(m, err);
    for (int32_t i = 0; i < g->g.n; i++)
        total += g->sums[i] = ease__tiled_at(&g->g, i, i);
    status = check_entries(m, g->sums, err);
    if (g->weighted) { /* their sum is not a number of interactions */
        ease__free(g->sums);
        g->sums = NULL;
        g->interactions = -1;
    } else {
        g->interactions = (int64_t)total;
    }
    return status;
}

static bool is_beyond_float(const ease__tiled *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (ease__beyond_float(ease__tiled_at(t, i, i)))
            return true;
    return false;
}

static ease_status finish(ease__importing *m, ease_error *err)
{
    ease_gram *g = m->g;
    bool wide = m->o.precision == EASE_F64;
    ease_status status = EASE_OK;

    g->weighted = m->fraction;
    if (m->past && !m->fraction)
        return bad_entry(m, m->past_i, m->past_j, "a count exceeds 2^32 - 1", err);
    if (m->listed && !g->weighted)
        status = match_list(m, err);
    else if (!m->diagonal)
        status = ease__fail(err, EASE_E_DATA,
                            "%s: no entry of the diagonal, and no list of items with "
                            "their counts",
                            m->path);
    if (!status)
        status = check_diagonal(m, err);
    if (!status)
        status = take_sums(m, err);
    if (status)
        return status;
    if (!g->weighted && g->g.element == EASE__F64)
        ease__tiled_narrow(&g->g, EASE__U32);
    else if (g->weighted && !wide && !is_beyond_float(&g->g))
        ease__tiled_narrow(&g->g, EASE__F32);
    ease__tiled_mirror_diagonal(&g->g, m->o.threads);
    return EASE_OK;
}

/* ---- importing ---------------------------------------------------------------- */

static ease_status read_matrix(ease__importing *m, const char *const *paths, int count,
                               ease_error *err)
{
    ease__input *in = NULL;
    const char *sample = NULL;
    size_t got = 0;
    ease_status status = ease__parts_open(paths[0], ease__import_hooks(m), &in, err);

    if (!status)
        status = ease__input_peek(in, 6, &sample, &got, err);
    if (!status && !(got == 6 && memcmp(sample, "\x93NUMPY", 6) == 0))
        status = ease__import_shards(m, paths, count, in, err);
    else if (!status && count > 1)
        status = ease__fail(err, EASE_E_ARG, "%s: an array is imported alone",
                            paths[0]);
    else if (!status)
        status = ease__import_array(m, in, err);
    ease__input_close(in);
    return status;
}

ease_status ease_gram_import(const char *const *paths, int count, const char *items,
                             int64_t users, const ease_gram_options *o, ease_gram **out,
                             ease_error *err)
{
    ease__importing m = {0};
    ease_status status;

    if (!paths || count < 1 || !paths[0] || !out || users < -1)
        return ease__fail(err, EASE_E_ARG, "a matrix to import is required");
    status = ease__gram_options_take(o, &m.o, err);
    if (!status)
        status = ease__shards_check(paths, count, err);
    if (status)
        return status;
    m.path = paths[0];
    m.g = ease__alloc_zero(1, sizeof(*m.g));
    if (!m.g)
        return ease__import_no_memory(&m, err);
    m.g->users = users;
    if (items)
        status = ease__import_items(&m, items, err);
    if (!status)
        status = read_matrix(&m, paths, count, err);
    if (!status)
        status = finish(&m, err);
    ease__free(m.listed);
    if (status) {
        ease_gram_free(m.g);
        return status;
    }
    *out = m.g;
    return EASE_OK;
}
