#include "gram/proof_sums.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/random.h"

double ease__proof_number(uint64_t seed, int32_t item)
{
    uint64_t state = seed + (uint64_t)item * 0xd1342543de82ef95u;

    return (double)(int16_t)(ease__splitmix(&state) >> 48);
}

double ease__proof_error(int64_t terms, double size)
{
    return (double)terms * (DBL_EPSILON / 2) * size;
}

void ease__proof_sums_free(ease__proof_sums *s)
{
    ease__free(s->diagonal);
    ease__free(s->product);
    ease__free(s->error);
    *s = (ease__proof_sums){0};
}

/* Allocates for n items; all sums are 0. */
static bool reserve(size_t n, ease__proof_sums *out)
{
    ease__proof_sums s = {.diagonal = ease__alloc_zero(n, sizeof(*s.diagonal)),
                          .product = ease__alloc_zero(n, sizeof(*s.product)),
                          .error = ease__alloc_zero(n, sizeof(*s.error))};
    bool reserved = s.diagonal && s.product && s.error;

    if (!reserved)
        ease__proof_sums_free(&s);
    *out = s;
    return reserved;
}

bool ease__proof_sums_copy(const ease__proof_sums *s, size_t n, size_t to,
                           ease__proof_sums *out)
{
    *out = (ease__proof_sums){0};
    if (!s->product)
        return true;
    if (!reserve(to, out))
        return false;
    memcpy(out->diagonal, s->diagonal, n * sizeof(*s->diagonal));
    memcpy(out->product, s->product, n * sizeof(*s->product));
    memcpy(out->error, s->error, n * sizeof(*s->error));
    return true;
}

/* Adds a row of this weight. `error` gets the absolute values. */
static void add_row(const int32_t *items, const float *values, int64_t count,
                    double weight, const double *v, ease__proof_sums *to)
{
    double dot = 0, size = 0;

    for (int64_t k = 0; k < count; k++) {
        double term = (values ? (double)values[k] : 1) * v[items[k]];

        dot += term;
        size += fabs(term);
    }
    for (int64_t k = 0; k < count; k++) {
        double value = values ? (double)values[k] : 1, weighted = weight * value;

        to->diagonal[items[k]] += weighted * value;
        to->product[items[k]] += weighted * dot;
        to->error[items[k]] += fabs(weighted) * size;
    }
}

ease_status ease__proof_sums_new(const ease_interactions *x, const double *w,
                                 ease__proof_sums *out, ease_error *err)
{
    size_t n = (size_t)x->items;
    double *v = ease__alloc_array(n, sizeof(*v));
    ease__proof_sums s = {0};
    int64_t longest = 0;

    if (!v || !reserve(n, &s)) {
        ease__free(v);
        return ease__fail(err, EASE_E_NOMEM, "sums of %zu items", n);
    }
    for (int32_t i = 0; i < x->items; i++)
        v[i] = ease__proof_number(EASE__PROOF_SEED, i);
    for (int64_t u = 0; u < x->users; u++) {
        int64_t from = x->row_ptr[u], count = x->row_ptr[u + 1] - from;

        longest = count > longest ? count : longest;
        add_row(x->cols + from, x->vals ? x->vals + from : NULL, count, w ? w[u] : 1, v,
                &s);
    }
    /* A part of an entry is added within a row, and then once for each user. */
    for (int32_t i = 0; i < x->items; i++)
        s.error[i] = ease__proof_error(longest + x->users + 4, s.error[i]);
    ease__free(v);
    *out = s;
    return EASE_OK;
}
