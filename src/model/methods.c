/* What can be trained, by name. */
#include <stdio.h>
#include <string.h>

#include "data/interactions.h"
#include "model/model.h"

/* ---- popularity ------------------------------------------------------------------ */

static void count_popularity(const ease_interactions *x, double *sums, float *share)
{
    double users = x->users > 0 ? (double)x->users : 1;

    for (int64_t at = 0; at < x->nnz; at++)
        sums[x->cols[at]] += x->vals ? (double)x->vals[at] : 1;
    for (int32_t i = 0; i < x->items; i++)
        share[i] = (float)(sums[i] / users);
}

static ease_status fill_popularity(ease_model *m, const ease_interactions *x,
                                   ease_error *err)
{
    size_t n = (size_t)x->items;
    double *sums = ease__alloc_zero(n, sizeof(*sums));
    float *share = ease__alloc_array(n, sizeof(*share));

    m->popularity = sums;
    m->base = share;
    if (!sums || !share)
        return ease__fail(err, EASE_E_NOMEM, "model of %zu items", n);
    count_popularity(x, sums, share);
    return x->item_ids.count ? ease__ids_copy(&m->ids, &x->item_ids, err)
                             : ease__ids_number(&m->ids, x->items, err);
}

static ease_status train_popularity(const ease_interactions *x,
                                    const ease_train_options *o, ease_model **out,
                                    ease_error *err)
{
    ease_model *m;
    ease_status status;

    (void)o;
    if (!x || !out || x->items < 1)
        return ease__fail(err, EASE_E_ARG, "interactions are required");
    m = ease__alloc_zero(1, sizeof(*m));
    if (!m)
        return ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)x->items);
    m->file = EASE__CONTAINER_NONE;
    m->store = &ease__store_none;
    m->kernels = ease__kernels_best();
    m->info = (ease_model_info){.method = "popularity",
                                .items = x->items,
                                .users = x->users,
                                .interactions = x->nnz,
                                .storage = EASE_STORE_NONE,
                                .has_base = 1};
    status = fill_popularity(m, x, err);
    if (status) {
        ease_model_free(m);
        return status;
    }
    *out = m;
    return EASE_OK;
}

/* ---- EASE ------------------------------------------------------------------------ */

static ease_status train_nonnegative(const ease_interactions *x,
                                     const ease_train_options *o, ease_model **out,
                                     ease_error *err)
{
    ease_train_options changed;

    if (!o)
        return ease_train(x, o, out, err);
    changed = *o;
    changed.nonnegative = 1;
    return ease_train(x, &changed, out, err);
}

/* ---- the table ------------------------------------------------------------------- */

/* The place of a method is its number in model files: new ones come last. */
static const struct {
    const char *name;
    int has_lambda;
    ease_status (*train)(const ease_interactions *x, const ease_train_options *o,
                         ease_model **out, ease_error *err);
} methods[] = {
    {"ease", 1, ease_train},
    {"ease-nonneg", 1, train_nonnegative},
    {"popularity", 0, train_popularity},
};

enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

const char *ease_method_name(int index)
{
    return index >= 0 && index < METHODS ? methods[index].name : NULL;
}

int ease__method_number(const char *name)
{
    for (int i = 0; i < METHODS; i++)
        if (strcmp(methods[i].name, name) == 0)
            return i;
    return -1;
}

const char *ease__ease_method(bool nonnegative)
{
    return methods[nonnegative ? 1 : 0].name;
}

int ease_method_has_lambda(const char *method)
{
    int number = method ? ease__method_number(method) : -1;

    return number >= 0 && methods[number].has_lambda;
}

static ease_status no_method(const char *method, ease_error *err)
{
    char names[200] = "";
    size_t used = 0;

    for (int i = 0; i < METHODS && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 i ? ", " : "", methods[i].name);
    return ease__fail(err, EASE_E_ARG, "no method '%.40s': there are %s", method,
                      names);
}

ease_status ease_train_method(const ease_interactions *x, const char *method,
                              const ease_train_options *o, ease_model **out,
                              ease_error *err)
{
    int number;

    if (!method)
        return ease__fail(err, EASE_E_ARG, "the name of a method is required");
    number = ease__method_number(method);
    return number < 0 ? no_method(method, err) : methods[number].train(x, o, out, err);
}
