/* The table of methods, and training by the name of a method. */
#include <stdio.h>
#include <string.h>

#include "gram/gram.h"
#include "methods/methods.h"

#define ENTRY(method) &method,
const ease__method *const ease__methods[] = {EASE__METHODS(ENTRY) NULL};

/* Records in the model's settings how many rounds it had: training for as many
 * rounds gives the same model. */
static ease_status tell_rounds(const ease__method *r, double *settings, ease_model *m,
                               ease_error *err)
{
    char text[EASE__SETTINGS_CHARS];

    if (!r->info.rounds || !m->rounds)
        return EASE_OK;
    for (int i = 0; r->settings[i].name; i++)
        if (strcmp(r->settings[i].name, r->info.rounds) == 0)
            settings[i] = m->rounds;
    ease__settings_print(r->settings, settings, NULL, text);
    return ease__model_set_settings(m, text, err);
}

/* Checks the memory for the parts that every model has: popularity, base, ids. */
static ease_status check_memory(const ease_interactions *x, const char *method,
                                const ease_train_options *o, ease_error *err)
{
    size_t n = (size_t)x->items, held = ease__interactions_bytes(x);
    size_t made = ease__size_add(n * (sizeof(double) + sizeof(float)),
                                 ease__ids_held(&x->item_ids));
    char what[48];

    snprintf(what, sizeof(what), "%.40s for", method);
    return ease__memory_check(what, x->items, ease__size_add(held, made),
                              ease__memory_allowed(o->memory_limit, held), err);
}

static ease_status fill_model(const ease__method *r, const ease_interactions *x,
                              const ease_train_options *o, double *settings,
                              ease_model **out, ease_error *err)
{
    char text[EASE__SETTINGS_CHARS];
    ease_model *m = NULL;
    ease_status status;

    ease__settings_print(r->settings, settings, NULL, text);
    status = check_memory(x, r->info.name, o, err);
    if (!status)
        status = ease__model_new(r, x, text, &m, err);
    if (!status) {
        m->info.lambda = r->info.has_lambda ? o->lambda : 0;
        status = r->fill(x, o, settings, m, err);
    }
    if (!status && m->sparse.starts)
        status = ease__sparse_check(m, err);
    if (!status)
        status = tell_rounds(r, settings, m, err);
    if (!status)
        status = ease__train_tags(m, o, 0, err);
    if (status) {
        ease_model_free(m);
        return status;
    }
    m->threads = o->threads;
    m->info.has_base = m->base != NULL;
    *out = m;
    return EASE_OK;
}

ease_status ease__train(const ease_interactions *x, const ease_train_options *given,
                        ease_model **out, ease_error *err)
{
    double settings[EASE__MOST_SETTINGS];
    ease_train_options o;
    const ease__method *m;
    ease_status status = ease__train_options_take(given, &o, err);

    if (!status)
        status = ease__method_take(&o, &m, err);
    if (!status && (!x || !out || x->items < 1))
        status = ease__fail(err, EASE_E_ARG, "interactions are required");
    if (!status)
        status = ease__check_columns(x, err);
    if (!status)
        status = ease__method_lambda(m, &o, err);
    if (!status)
        status = ease__method_tags(m, &o, err);
    if (!status)
        status = ease__method_like(m, &o, err);
    if (status)
        return status;
    if (m->fit)
        return m->fit(x, &o, out, err);
    status = ease__settings_parse(m->settings, o.method, o.settings, settings, NULL,
                                  err);
    if (!status && o.updatable)
        status = ease__living_check(m, &(ease__family){0}, o.kind, false, err);
    return status ? status : fill_model(m, x, &o, settings, out, err);
}
