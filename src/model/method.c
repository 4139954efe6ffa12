/* Lookup in the table of methods, and checks of options by it. */
#include "model/method.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "model/settings.h"

const ease__method *ease__method_find(const char *name)
{
    for (int i = 0; name && ease__methods[i]; i++)
        if (strcmp(ease__methods[i]->info.name, name) == 0)
            return ease__methods[i];
    return NULL;
}

const ease__method *ease__method_numbered(uint32_t number)
{
    for (int i = 0; ease__methods[i]; i++)
        if (ease__methods[i]->number == number)
            return ease__methods[i];
    return NULL;
}

ease_status ease__method_from_gram(const ease__method *m, ease_error *err)
{
    if (m->info.from_gram)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s needs more than a Gram matrix",
                      m->info.name);
}

ease__family ease__method_family(const ease__method *m, const double *settings)
{
    ease__family f = {0};

    if (m->family)
        m->family(settings, &f);
    return f;
}

ease_status ease__method_lambda(const ease__method *m, const ease_train_options *o,
                                ease_error *err)
{
    if (!m->info.has_lambda || (isfinite(o->lambda) && o->lambda > 0))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "lambda must be finite and above 0, not %g",
                      o->lambda);
}

ease_status ease__method_tags(const ease__method *m, const ease_train_options *o,
                              ease_error *err)
{
    if (!m->info.needs_tags || o->tags)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s needs tags of items", m->info.name);
}

ease_status ease__method_like(const ease__method *m, const ease_train_options *o,
                              ease_error *err)
{
    const ease_model *like = o->like;

    if (!like)
        return EASE_OK;
    if (!o->updatable || !ease__is_living(&like->living))
        return ease__fail(err, EASE_E_ARG,
                          "training like a model is for updatable models alone");
    if (strcmp(m->info.name, like->info.method) != 0 || o->kind != like->info.kind ||
        !(o->lambda == like->info.lambda))
        return ease__fail(err, EASE_E_ARG,
                          "method, kind and lambda must be those of the model to train "
                          "like: %s with lambda %g",
                          like->info.method, like->info.lambda);
    return EASE_OK;
}

double ease__method_tag_weight(const ease__method *m, const ease_train_options *o,
                               const double *settings)
{
    if (!o->tags || !m->info.from_gram)
        return 0;
    if (!m->tag_setting)
        return o->tag_weight;
    for (int i = 0; m->settings[i].name; i++)
        if (strcmp(m->settings[i].name, m->tag_setting) == 0)
            return settings[i];
    return 0;
}

/* ---- for users ------------------------------------------------------------- */

const ease_method_info *ease_method_at(int index)
{
    for (int i = 0; index >= 0 && ease__methods[i]; i++)
        if (i == index)
            return &ease__methods[i]->info;
    return NULL;
}

const ease_method_info *ease_method_find(const char *name)
{
    const ease__method *m = ease__method_find(name);

    return m ? &m->info : NULL;
}

const ease_setting *ease_method_setting(const char *method, int index)
{
    const ease__method *m = ease__method_find(method);

    for (int i = 0; m && index >= 0 && m->settings[i].name; i++)
        if (i == index)
            return &m->settings[i];
    return NULL;
}

static const char *name_at(int index)
{
    const ease_method_info *m = ease_method_at(index);

    return m ? m->name : NULL;
}

ease_status ease_method_check(const char *method, const char *settings, ease_error *err)
{
    const ease__method *m = ease__method_find(method);
    double values[EASE__MOST_SETTINGS];
    char names[300];
    ease_status status;

    if (!method)
        return ease__fail(err, EASE_E_ARG, "the name of a method is required");
    if (!m) {
        ease__list_names(name_at, names, sizeof(names));
        return ease__fail(err, EASE_E_ARG, "no method '%.40s': there are %s", method,
                          names);
    }
    status = ease__settings_parse(m->settings, method, settings, values, NULL, err);
    return status || !m->check ? status : m->check(values, err);
}

/* Sets the kind of a method that has only one. */
static ease_status take_kind(const ease__method *m, ease_train_options *o,
                             ease_error *err)
{
    if (m->info.kind && o->kind != EASE_GRAM_COUNTS && o->kind != *m->info.kind)
        return ease__fail(err, EASE_E_ARG, "%s has a kind of Gram matrix of its own",
                          m->info.name);
    if (m->info.kind)
        o->kind = *m->info.kind;
    return EASE_OK;
}

/* In a correlation matrix lambda is relative to the diagonal already. */
static ease_status check_kind(const ease__method *m, const ease_train_options *o,
                              ease_error *err)
{
    double values[EASE__MOST_SETTINGS];
    ease__family f;
    ease_status status;

    if (o->kind != EASE_GRAM_CORRELATION || !m->family)
        return EASE_OK;
    status = ease__settings_parse(m->settings, m->info.name, o->settings, values, NULL,
                                  err);
    if (status)
        return status;
    f = ease__method_family(m, values);
    if (f.dropout == 0 && f.lambda_power == 0)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "correlation has no %s: lambda is relative to the variance of "
                      "each item already",
                      f.dropout != 0 ? "dropout" : "power of the diagonal");
}

ease_status ease__method_take(ease_train_options *o, const ease__method **out,
                              ease_error *err)
{
    const char *name = o->method ? o->method : ease__methods[0]->info.name;
    ease_status status = ease_method_check(name, o->settings, err);

    if (status)
        return status;
    *out = ease__method_find(name);
    assert(*out);
    o->method = (*out)->info.name;
    status = take_kind(*out, o, err);
    return status ? status : check_kind(*out, o, err);
}
