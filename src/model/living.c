#include "model/living.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "model/settings.h"

ease_status ease__living_check(const ease__method *method, const ease__family *f,
                               ease_gram_kind kind, bool tags, ease_error *err)
{
    const char *name = method->info.name;

    if (!method->info.from_gram)
        return ease__fail(err, EASE_E_ARG,
                          "a model of %s cannot be updatable: only those of EASE and "
                          "its closed-form relatives can",
                          name);
    if (kind == EASE_GRAM_CORRELATION)
        return ease__fail(err, EASE_E_ARG,
                          "a model of a correlation matrix cannot be updatable: every "
                          "user changes the scales of all items");
    if (kind == EASE_GRAM_COVARIANCE && f->lambda_power != 0)
        return ease__fail(err, EASE_E_ARG,
                          "a model of %s cannot be updatable: its regularizer follows "
                          "the variances, and every user changes those of all items",
                          name);
    if (method->finish || tags)
        return ease__fail(err, EASE_E_ARG,
                          "a model that learns from tags cannot be updatable");
    return EASE_OK;
}

ease_status ease__leaving_check(const ease__method *method, const ease__family *f,
                                ease_gram_kind kind, bool tags, ease_error *err)
{
    const char *why = NULL;

    if (method->nonnegative)
        why =
            "weights below 0 are set to 0 before they are summed, and each of them is "
            "another one without the user";
    else if (ease__family_scales(f))
        why = "its weights are scaled by the popularity of items, which depends on the "
              "user";
    else if (f->lambda_power != 0)
        why = "its regularizer is a power of the diagonal of the matrix, which depends "
              "on the user";
    if (why)
        return ease__fail(err, EASE_E_ARG,
                          "users cannot be left out of a model of %s: %s",
                          method->info.name, why);
    return ease__living_check(method, f, kind, tags, err);
}

ease_status ease__leaving_options(const ease__method *method,
                                  const ease_train_options *o, ease_error *err)
{
    double values[EASE__MOST_SETTINGS];
    ease__family f;
    ease_status status = ease__settings_parse(method->settings, method->info.name,
                                              o->settings, values, NULL, err);

    if (status)
        return status;
    f = ease__method_family(method, values);
    return ease__leaving_check(method, &f, o->kind,
                               ease__method_tag_weight(method, o, values) > 0, err);
}

ease_status ease__choosing_check(const ease__method *method,
                                 const ease_train_options *o, ease_error *err)
{
    ease_error why;
    ease_status status;

    if (!method->info.from_gram) /* users are held out */
        return EASE_OK;
    status = ease__leaving_options(method, o, &why);
    return status ? ease__fail(err, status,
                               "lambda is required, since it cannot be chosen: %.400s",
                               why.text)
                  : EASE_OK;
}

ease_status ease__living_required(const ease_model *m, ease_error *err)
{
    if (ease__is_living(&m->living))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "%s%sthe model is not updatable: train it with the option "
                      "updatable, and keep it in packed storage",
                      m->file.path ? m->file.path : "", m->file.path ? ": " : "");
}

/* ---- memory ---------------------------------------------------------------------- */

static const double *copy_array(const double *from, size_t n)
{
    double *copy = ease__alloc_array(n, sizeof(*copy));

    if (copy)
        memcpy(copy, from, n * sizeof(*copy));
    return copy;
}

ease_status ease__living_copy(const ease__living *from, int32_t n, ease__living *out,
                              ease_error *err)
{
    size_t count = (size_t)n;

    *out = *from;
    if (!ease__is_living(from))
        return EASE_OK;
    out->diagonal = copy_array(from->diagonal, count);
    out->counts = copy_array(from->counts, count);
    out->sums = copy_array(from->sums, count);
    out->product = copy_array(from->product, count);
    out->error = from->error ? copy_array(from->error, count) : NULL;
    if (!out->diagonal || !out->counts || !out->sums || !out->product ||
        (from->error && !out->error))
        return ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)n);
    return EASE_OK;
}

void ease__living_free(ease__living *l)
{
    ease__free_const(l->diagonal);
    ease__free_const(l->counts);
    ease__free_const(l->sums);
    ease__free_const(l->product);
    ease__free_const(l->error);
    *l = (ease__living){0};
}

size_t ease__living_held(const ease__living *l, int32_t n)
{
    size_t arrays = l->error ? 5 : 4;

    return ease__is_living(l) ? arrays * (size_t)n * sizeof(double) : 0;
}

/* ---- files ----------------------------------------------------------------------- */

/* The section "living". Members are added at the end. */
typedef struct living_header {
    uint64_t seed;
    double lambda, mass;
    int64_t updates;
    uint64_t weighted; /* 0 or 1 */
} living_header;

_Static_assert(sizeof(living_header) == 40, "part of the file format");

ease_status ease__living_save(const ease__saving *s, ease_error *err)
{
    const ease__living *l = &s->model->living;
    living_header h = {.seed = l->seed,
                       .lambda = l->lambda,
                       .mass = l->mass,
                       .updates = l->updates,
                       .weighted = l->weighted};
    ease_status status;

    if (!ease__is_living(l))
        return EASE_OK;
    status = ease__writer_add(s->writer, "living", &h, sizeof(h), err);
    if (!status)
        status = ease__save_array(s, "diagonal", l->diagonal, sizeof(double), err);
    if (!status)
        status = ease__save_array(s, "counts", l->counts, sizeof(double), err);
    if (!status)
        status = ease__save_array(s, "column_sums", l->sums, sizeof(double), err);
    if (!status)
        status = ease__save_array(s, "proof", l->product, sizeof(double), err);
    if (!status && l->error)
        status = ease__save_array(s, "proof_error", l->error, sizeof(double), err);
    return status;
}

/* A section of n finite numbers, of at least `least` each; NULL: it is damaged. */
static const double *take_numbers(const ease_model *m, const char *name, double least)
{
    size_t n = (size_t)m->info.items;
    const double *at = ease__take_section(&m->file, name, n * sizeof(*at));

    for (size_t i = 0; at && i < n; i++)
        if (!isfinite(at[i]) || at[i] < least)
            return NULL;
    return at;
}

static bool has_section(const ease_model *m, const char *name)
{
    size_t bytes;

    return ease__container_section(&m->file, name, &bytes) != NULL;
}

static bool header_valid(const living_header *h)
{
    return isfinite(h->lambda) && h->lambda > 0 && isfinite(h->mass) && h->mass >= 0 &&
           h->updates >= 0 && h->weighted <= 1;
}

ease_status ease__living_open(ease_model *m, ease_error *err)
{
    const ease__method *method = ease__method_find(m->info.method);
    ease__living l = {0};
    living_header h;
    size_t bytes = 0;
    const void *at = ease__container_section(&m->file, "living", &bytes);
    ease__family f;

    if (!at)
        return EASE_OK;
    if (bytes < sizeof(h))
        return ease__model_damaged(m, "living", err);
    memcpy(&h, at, sizeof(h));
    f = ease__model_family(m);
    if (!header_valid(&h) || ease__living_check(method, &f, m->info.kind, false, NULL))
        return ease__model_damaged(m, "living", err);
    l.seed = h.seed;
    l.lambda = h.lambda;
    l.mass = h.mass;
    l.updates = h.updates;
    l.weighted = h.weighted;
    l.diagonal = take_numbers(m, "diagonal", 0);
    l.counts = take_numbers(m, "counts", 0);
    l.sums = take_numbers(m, "column_sums", -INFINITY);
    l.product = take_numbers(m, "proof", -INFINITY);
    l.error = take_numbers(m, "proof_error", 0);
    if (!l.diagonal || !l.counts || !l.sums || !l.product ||
        (has_section(m, "proof_error") && !l.error))
        return ease__model_damaged(m, "what updates need", err);
    if (m->info.kind != EASE_GRAM_COUNTS && !(l.mass > 0))
        return ease__model_damaged(m, "living", err);
    m->living = l;
    m->info.updatable = 1;
    m->info.updates = l.updates;
    return EASE_OK;
}

/* ---- the matrix ------------------------------------------------------------------ */

ease__family ease__model_family(const ease_model *m)
{
    const ease__method *method = ease__method_find(m->info.method);
    double values[EASE__MOST_SETTINGS] = {0};
    ease__family plain = {0};

    if (ease__settings_parse(method->settings, method->info.name, m->info.settings,
                             values, NULL, NULL))
        return plain; /* settings of a newer version, which no form packed has */
    return ease__method_family(method, values);
}

void ease__living_penalty(const ease__living *l, const ease__family *f, int32_t n,
                          double *out)
{
    const double *g = f->raw ? l->counts : l->diagonal;
    double share = f->dropout / (1 - f->dropout);

    for (int32_t j = 0; j < n; j++) {
        out[j] = l->lambda;
        if (f->lambda_power != 0 && l->diagonal[j] > 0)
            out[j] *= pow(l->diagonal[j], f->lambda_power);
        if (share != 0)
            out[j] += share * g[j];
    }
}

bool ease__living_constant(const ease__living *l, int32_t j)
{
    double share = l->weighted ? 4 * (double)FLT_EPSILON : 1e-12;
    double variance = l->diagonal[j] - l->sums[j] * l->sums[j] / l->mass;

    return !(variance > share * l->diagonal[j]);
}

void ease__living_product(const ease__living *l, const ease__family *f,
                          ease_gram_kind kind, int32_t n, double *v, double *w)
{
    double share = 0;

    ease__living_penalty(l, f, n, w);
    for (int32_t j = 0; j < n; j++)
        v[j] = ease__proof_number(l->seed, j);
    for (int32_t j = 0; j < n; j++)
        share += l->sums[j] * v[j];
    for (int32_t j = 0; j < n; j++) {
        double own = l->product[j];

        if (kind != EASE_GRAM_COUNTS) {
            own -= l->sums[j] * share / l->mass;
            if (ease__living_constant(l, j))
                own = 0;
        }
        w[j] = own + w[j] * v[j];
    }
}
