/* One solve of a member of the closed-form family, and the model that is made from its
 * inverse. */
#include "model/dense.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "model/footprint.h"
#include "solve/solve.h"

ease_status ease__dense_order_take(const ease_train_options *o, ease__dense_order *out,
                                   ease_error *err)
{
    double values[EASE__MOST_SETTINGS] = {0};
    ease__dense_order d = {.o = *o};
    ease_status status = ease__method_take(&d.o, &d.method, err);

    if (!status)
        status = ease__method_from_gram(d.method, err);
    if (!status)
        status = ease__method_lambda(d.method, &d.o, err);
    if (!status)
        status = ease__method_tags(d.method, &d.o, err);
    if (!status)
        status = ease__method_like(d.method, &d.o, err);
    if (!status)
        status = ease__train_backend(&d.o, &d.backend, err);
    if (!status)
        status = ease__settings_parse(d.method->settings, d.o.method, d.o.settings,
                                      values, NULL, err);
    if (status)
        return status;
    ease__dense_order_set(&d, values);
    if (d.o.like && strcmp(d.settings, d.o.like->info.settings) != 0)
        return ease__fail(err, EASE_E_ARG,
                          "settings must be those of the model to train like: %s",
                          d.o.like->info.settings);
    if (d.o.updatable)
        status = ease__living_check(d.method, &d.family, d.o.kind, d.tag_weight > 0,
                                    err);
    if (status)
        return status;
    *out = d;
    return EASE_OK;
}

void ease__dense_order_set(ease__dense_order *d, const double *values)
{
    ease__settings_print(d->method->settings, values, NULL, d->settings);
    d->family = ease__method_family(d->method, values);
    d->tag_weight = ease__method_tag_weight(d->method, &d->o, values);
    memcpy(d->values, values, sizeof(d->values));
    d->o.settings = NULL; /* the caller's text may be gone */
}

ease_status ease__dense_load(const ease_interactions *x, const ease__dense_order *d,
                             ease__element element, const ease__bands *bands,
                             ease_gram **out, ease_error *err)
{
    return ease__gram_build_bands(x, element, d->family.user_power, bands, d->o.threads,
                                  d->o.hooks, out, err);
}

/* ---- the vectors beside the matrix ----------------------------------------------- */

void ease__dense_vectors_free(ease__dense_vectors *v)
{
    ease__free(v->diagonal);
    ease__free(v->factors);
    ease__free(v->pivots);
    ease__free(v->product);
    ease__free(v->random);
    ease__scales_free(&v->scales);
    ease__tag_lists_free(&v->tags);
    *v = (ease__dense_vectors){0};
}

/* What is known in float64 of X'WX with fractions; {0}: it has exact counts. */
static ease__proof_sums proof_of(const ease_gram *g)
{
    return g->by_user ? g->by_user->proof : (ease__proof_sums){0};
}

/* The number of users of each item; NULL: unknown. */
static const double *counts_of(const ease_gram *g, const ease__dense_vectors *v)
{
    if (g->by_user)
        return g->by_user->counts;
    return g->weighted ? NULL : v->diagonal;
}

static bool needs_counts(const ease__dense_order *d)
{
    const ease__family *f = &d->family;

    return ease__family_scales(f) || (f->raw && f->dropout > 0) || d->o.updatable;
}

/* True if tags are added to the matrix, and not used in another way. */
static bool adds_tags(const ease__dense_order *d)
{
    return d->tag_weight > 0 && !d->method->tag_setting;
}

/* With a user power, tags keep their weight relative to the matrix, as lambda does. */
static ease_status list_tags(const ease_gram *g, const ease__dense_order *d,
                             ease__dense_vectors *v, ease_error *err)
{
    double weight = d->tag_weight;

    if (g->by_user && !d->family.raw)
        weight *= sqrt(g->by_user->mean_weight);
    return ease__tag_lists_new(g, d->o.tags, weight, d->o.threads, &v->tags, err);
}

ease_status ease__dense_vectors_new(const ease_gram *g, const ease__dense_order *d,
                                    ease__dense_vectors *out, ease_error *err)
{
    size_t n = (size_t)g->g.n;
    ease__dense_vectors v = {.items = g->g.n,
                             .diagonal = ease__alloc_zero(n, sizeof(*v.diagonal))};
    ease_status status = EASE_OK;

    if (v.diagonal && d->method->family) {
        v.factors = ease__alloc_array(2 * n, sizeof(*v.factors));
        v.pivots = ease__alloc_array(n, sizeof(*v.pivots));
    }
    if (v.diagonal && d->o.updatable) {
        v.product = ease__alloc_zero(n, sizeof(*v.product));
        v.random = ease__alloc_array(n, sizeof(*v.random));
    }
    if (!v.diagonal || (d->method->family && (!v.factors || !v.pivots)) ||
        (d->o.updatable && (!v.product || !v.random)))
        status = ease__fail(err, EASE_E_NOMEM, "the diagonal of %zu items", n);
    if (!status && needs_counts(d) && !counts_of(g, &v))
        status = ease__fail(err, EASE_E_DATA,
                            "%s with these settings needs the number of users of each "
                            "item, which a Gram matrix of weighted data does not tell",
                            d->method->info.name);
    if (!status)
        status = ease__scales_new(g, d->o.kind, &v.scales, err);
    if (!status && adds_tags(d))
        status = list_tags(g, d, &v, err);
    for (int32_t i = 0; !status && v.random && i < v.items; i++)
        v.random[i] = ease__proof_number(EASE__PROOF_SEED, i);
    if (status)
        ease__dense_vectors_free(&v);
    else
        *out = v;
    return status;
}

/* lambda as it is used: with a user power it keeps its scale relative to the matrix. */
static double used_lambda(const ease_gram *g, const ease__dense_order *d)
{
    bool as_is = d->family.raw || !g->by_user;

    if (d->o.like)
        return d->o.like->living.lambda;
    return as_is ? d->o.lambda : d->o.lambda * g->by_user->mean_weight;
}

void ease__dense_prepare(ease_gram *g, const ease__dense_order *d,
                         ease__dense_vectors *v)
{
    const ease__family *f = &d->family;
    int64_t end = (int64_t)g->g.last * g->g.edge;
    ease__penalty p = {.lambda = used_lambda(g, d),
                       .power = f->lambda_power,
                       .share = f->dropout / (1 - f->dropout)};

    assert(v->diagonal);
    for (int32_t i = g->g.first * g->g.edge; i < g->g.n && i < end; i++)
        v->diagonal[i] = ease__tiled_at(&g->g, i, i);
    if (v->product && !proof_of(g).product)
        ease__tiled_times(&g->g, v->random, v->product, d->o.threads);
    p.g = f->raw ? counts_of(g, v) : v->diagonal;
    if (v->tags.items)
        ease__gram_add_tags(g, &v->tags);
    ease__gram_prepare(g, d->o.kind, &p, d->o.threads, &v->scales);
}

/* The smallest d^a of an item that has users. */
static double least_factor(const double *diagonal, int32_t n, double power)
{
    double least = INFINITY;

    for (int32_t i = 0; i < n; i++)
        if (diagonal[i] > 0)
            least = fmin(least, pow(diagonal[i], power));
    return isfinite(least) ? least : 1;
}

static ease_status check_unscaled(const ease__dense_vectors *v, int32_t n,
                                  ease_error *err)
{
    for (int32_t i = 0; i < n; i++)
        if (v->scales.scale[i] != 1 && v->scales.scale[i] != 0)
            return ease__fail(err, EASE_E_ACCURACY,
                              "the values of the data are so large or so small that a "
                              "model of them cannot be updatable: scale them to "
                              "about 1");
    return EASE_OK;
}

/* A weight is at most sqrt(n) max C_ii / min Lambda_i: if that is below the smallest
 * normal float, all weights would be 0, and training fails. */
ease_status ease__dense_check_scale(const ease__dense_vectors *v, int32_t n,
                                    const ease__dense_order *d, ease_error *err)
{
    double largest = 0, lambda = d->o.lambda, power = d->family.lambda_power;

    for (int32_t i = 0; i < n; i++)
        largest = fmax(largest, v->diagonal[i]);
    if (largest > 0 && d->o.kind == EASE_GRAM_CORRELATION)
        largest = 1;
    if (power != 0)
        lambda *= least_factor(v->diagonal, n, power);
    if (largest > 0 && sqrt(n) * largest / lambda < (double)FLT_MIN)
        return ease__fail(
            err, EASE_E_ACCURACY,
            "lambda %g is so large beside the matrix, whose largest entry "
            "is %.3g, that every weight would be 0: lower lambda",
            d->o.lambda, largest);
    return v->product ? check_unscaled(v, n, err) : EASE_OK;
}

/* ---- messages -------------------------------------------------------------------- */

/* The solver knows items by number; users know them by id. */
static ease_status name_item(const ease_gram *g, ease__element element,
                             const ease_error *found, ease_error *err)
{
    return ease__fail_at(
        err, EASE_E_NOT_POSDEF, found->where,
        "the matrix is not positive definite at item \"%.200s\" (number %lld): raise "
        "lambda%s",
        ease__ids_at(&g->ids, found->where), (long long)found->where,
        element == EASE__F64 ? "" : " or use float64");
}

ease_status ease__dense_tell_failure(const ease_gram *g, ease__element element,
                                     const ease_error *found, ease_error *err)
{
    if (found->status == EASE_E_NOT_POSDEF && found->where >= 0 &&
        found->where < g->ids.count)
        return name_item(g, element, found, err);
    if (err)
        *err = *found;
    return found->status;
}

/* ---- the model ------------------------------------------------------------------- */

ease__model_parts ease__dense_parts(ease_gram *g, const ease__dense_order *d,
                                    const ease__dense_vectors *v, ease__element element,
                                    double residual)
{
    int32_t n = v->items;
    bool scaled = ease__family_scales(&d->family);
    ease__proof_sums p = proof_of(g);
    ease__model_parts r = {
        .method = d->method,
        .kind = d->o.kind,
        .precision = element == EASE__F64 ? EASE_F64 : EASE_F32,
        .lambda = d->o.lambda,
        .residual = residual,
        .threads = d->o.threads,
        .users = g->users,
        .interactions = g->interactions,
        .sums = g->sums,
        .scale = v->scales.plain ? NULL : v->scales.scale,
        .ridge = v->scales.ridge,
        .diagonal = v->diagonal,
        .relaxation = d->family.relaxation,
        .settings = d->settings,
        .pivots = v->pivots,
        .ids = &g->ids,
    };

    r.centre = ease__gram_centre(g, &r.mass);
    if (v->product)
        r.living = (ease__living){.diagonal = p.product ? p.diagonal : v->diagonal,
                                  .counts = counts_of(g, v),
                                  .sums = r.centre ? r.centre : v->diagonal,
                                  .product = p.product ? p.product : v->product,
                                  .error = p.error,
                                  .seed = EASE__PROOF_SEED,
                                  .lambda = used_lambda(g, d),
                                  .mass = r.mass > 0 ? r.mass : 0,
                                  .weighted = g->weighted || g->rounded};
    if (scaled) {
        ease__family_factors(&d->family, counts_of(g, v), n, v->factors,
                             v->factors + n);
        r.input = v->factors;
        r.output = v->factors + n;
    }
    return r;
}

ease_status ease__dense_model(ease__tiled *inverse, ease__model_parts *r,
                              const ease__dense_order *d, ease_model **out,
                              ease_error *err)
{
    ease_model *m = NULL;
    ease_status status = ease__model_from_inverse(inverse, r, &m, err);

    if (!status)
        status = ease__train_tags(m, &d->o, d->tag_weight, err);
    if (!status && d->method->finish)
        status = d->method->finish(m, &d->o, d->values, err);
    if (status)
        ease_model_free(m);
    else
        *out = m;
    return status;
}

static ease_status invert(ease_gram *g, ease__dense *d, ease_error *err)
{
    ease_error found = {.where = -1};
    const ease_train_options *o = &d->order.o;
    ease_status status = ease__dense_vectors_new(g, &d->order, &d->vectors, err);

    if (status)
        return status;
    ease__dense_prepare(g, &d->order, &d->vectors);
    ease__tag_lists_free(&d->vectors.tags);
    status = ease__dense_check_scale(&d->vectors, g->g.n, &d->order, err);
    if (status)
        return status;
    status = ease__solve(&g->g, d->vectors.scales.ridge, d->order.backend, o->threads,
                         o->device_memory, o->hooks, &d->residual, &found);
    return status ? ease__dense_tell_failure(g, g->g.element, &found, err) : EASE_OK;
}

ease_status ease__dense_solve(ease_gram *g, const ease__dense_order *order,
                              ease__dense *out, ease_error *err)
{
    ease__dense d = {.order = *order, .gram = g, .residual = EASE__UNSOLVED};
    ease_status status = invert(g, &d, err);

    out->residual = d.residual;
    if (!status) {
        ease__model_parts r;

        d.element = g->g.element;
        r = ease__dense_parts(g, &d.order, &d.vectors, d.element, d.residual);
        status = ease__dense_model(&g->g, &r, &d.order, &d.model, err);
        if (status)
            out->residual = EASE__UNSOLVED;
    }
    if (status)
        ease__dense_free(&d);
    else
        *out = d;
    return status;
}

ease_status ease__dense_read(ease__dense *d, const double *values, ease_error *err)
{
    ease__model_parts r;
    ease_status status;

    ease__dense_order_set(&d->order, values);
    r = ease__dense_parts(d->gram, &d->order, &d->vectors, d->element, d->residual);
    status = ease__model_rescale(d->model, &r, d->vectors.pivots, err);
    if (d->model->tags.starts)
        d->model->tags.weight = d->order.tag_weight;
    if (!status && d->order.method->finish)
        status = d->order.method->finish(d->model, &d->order.o, d->order.values, err);
    return status;
}

void ease__dense_free(ease__dense *d)
{
    ease__dense_vectors_free(&d->vectors);
    ease_gram_free(d->gram);
    ease_model_free(d->model);
    d->gram = NULL;
    d->model = NULL;
}

/* ---- float64 --------------------------------------------------------------------- */

static void widen_tile(const ease__tiled *from, size_t count, size_t at, double *to)
{
    if (from->element == EASE__U32)
        for (size_t k = 0; k < count; k++)
            to[at + k] = (double)((const uint32_t *)from->data)[at + k];
    else
        for (size_t k = 0; k < count; k++)
            to[at + k] = (double)((const float *)from->data)[at + k];
}

ease_status ease__gram_widen(ease_gram *gram, const ease_train_options *o,
                             ease_error *err)
{
    ease__tiled *g = &gram->g;
    size_t tile = (size_t)g->edge * (size_t)g->edge;
    int64_t tiles = (int64_t)ease__tile_count(g->tiles);
    size_t peak = ease__size_add(g->bytes, ease__tiled_bytes(g->n, EASE__F64));
    ease__tiled wide;
    ease_status status;

    if (g->element == EASE__F64)
        return EASE_OK;
    status = ease__memory_check("float64 for", g->n, peak,
                                ease__memory_allowed(o->memory_limit, g->bytes), err);
    if (!status)
        status = ease__tiled_new(g->n, EASE__F64, &wide, err);
    if (status)
        return status;
#pragma omp parallel for schedule(static) num_threads(ease__threads(o->threads))
    for (int64_t t = 0; t < tiles; t++)
        widen_tile(g, tile, (size_t)t * tile, wide.data);
    ease__tiled_free(g);
    *g = wide;
    return EASE_OK;
}
