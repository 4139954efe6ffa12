/* The model file: a container of kind "model", version 2. docs/file-formats.md
 * describes its sections, and how the format grows.
 *
 * Data that older readers may ignore (an index of ids, tags, histories) becomes a new
 * section, or a member at the end of params. Data that they must not ignore becomes a
 * critical section, or a new method or form: readers that do not know these refuse the
 * file with EASE_E_VERSION. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/sized.h"
#include "model/model.h"

enum { VERSION = 2, PARAMS_OF_VERSION_1 = offsetof(ease__model_params, method_name) };

_Static_assert(PARAMS_OF_VERSION_1 == 72, "as it lies in files of version 1");

/* ---- saving ---------------------------------------------------------------------- */

static ease_status put_common(const ease__saving *s, ease_error *err)
{
    const ease_model *m = s->model;
    ease_status status = ease__writer_add(s->writer, "params", &s->params,
                                          sizeof(s->params), err);

    if (!status)
        status = ease__ids_write(&m->ids, s->writer, "ids", err);
    if (!status && m->info.has_titles)
        status = ease__ids_write(&m->titles, s->writer, "titles", err);
    if (!status)
        status = ease__item_tags_write(m, s->writer, err);
    if (!status)
        status = ease__position_write(m, s->writer, err);
    if (!status && m->settings)
        status = ease__writer_add(s->writer, "settings", m->settings,
                                  strlen(m->settings) + 1, err);
    if (!status)
        status = ease__save_array(s, "popularity", m->popularity, sizeof(double), err);
    if (!status)
        status = ease__save_array(s, "base", m->base, sizeof(float), err);
    return status;
}

/* Sets all parameters except those of the form. */
static ease__model_params params_of(const ease_model *m, const ease__form *form)
{
    const ease__method *method = ease__method_find(m->info.method);
    ease__model_params p = {
        .items = m->info.items,
        .kind = (int32_t)m->info.kind,
        .precision = (int32_t)m->info.precision,
        .storage = (int32_t)form->number,
        .nonnegative = m->info.nonnegative,
        .users = m->info.users,
        .interactions = m->info.interactions,
        .lambda = m->info.lambda,
        .residual = m->info.residual,
        .unit = 1.0f,
        .method = method->number,
    };

    snprintf(p.method_name, sizeof(p.method_name), "%s", method->info.name);
    snprintf(p.form_name, sizeof(p.form_name), "%s", form->name);
    return p;
}

/* A model whose form is not made on request stays in that form, whatever is asked. */
static ease_status choose_form(const ease_model *m, ease_storage storage,
                               const char *path, const ease__form **out,
                               ease_error *err)
{
    const ease__form *asked = ease__form_numbered((int32_t)storage);

    *out = m->form->on_request ? asked : m->form;
    if (!asked)
        return ease__fail(err, EASE_E_ARG,
                          "a model, a path and a storage are required");
    if ((*out)->trained != m->form->trained)
        return ease__fail(err, EASE_E_ARG, "%s: the weights have to be stored", path);
    return EASE_OK;
}

static size_t expected_bytes(const ease__saving *s)
{
    return s->form->weight_bytes ? s->form->weight_bytes(s->params.items)
                                 : s->form->held(s->model);
}

static ease_status put_all(ease__saving *s, ease_error *err)
{
    const ease_model *m = s->model;
    ease_status status = ease__container_need_all(&m->file, m->threads, s->hooks, err);

    if (!status && s->form->measure)
        status = s->form->measure(s, err);
    if (!status)
        status = put_common(s, err);
    if (!status)
        status = s->form->write(s, err);
    return status ? status : ease__container_unchanged(&m->file, err);
}

ease_status ease__saving_prepare(ease__saving *s, const char *path,
                                 ease_storage storage, ease_error *err)
{
    ease_status status;

    if (!s->model || !path)
        return ease__fail(err, EASE_E_ARG,
                          "a model, a path and a storage are required");
    status = choose_form(s->model, storage, path, &s->form, err);
    if (status)
        return status;
    s->params = params_of(s->model, s->form);
    return s->form->prepare ? s->form->prepare(s, path, err) : EASE_OK;
}

ease_status ease__saving_open(ease__saving *s, const char *path, ease_error *err)
{
    return ease__writer_open(path, "model", VERSION, expected_bytes(s), &s->writer,
                             err);
}

ease_status ease__saving_put_small(const ease__saving *s, ease_error *err)
{
    ease_status status = put_common(s, err);

    return status ? status : s->form->write_small(s, err);
}

ease_status ease_model_save(const ease_model *m, const char *path, ease_storage storage,
                            const ease_hooks *hooks, ease_error *err)
{
    ease__saving s = {.model = m, .hooks = hooks};
    ease_status status = ease__saving_prepare(&s, path, storage, err);

    if (!status)
        status = ease__saving_open(&s, path, err);
    if (status)
        return status;
    status = put_all(&s, err);
    if (!status)
        return ease__writer_commit(s.writer, err);
    ease__writer_discard(s.writer);
    return status;
}

/* ---- parameters ------------------------------------------------------------------ */

static ease_status bad_params(const ease_model *m, ease_error *err)
{
    return ease__model_damaged(m, "its parameters", err);
}

/* Version 2 may have members that this reader does not know. */
static ease_status read_params(const ease_model *m, ease__model_params *p,
                               ease_error *err)
{
    bool first = m->file.header.version == 1;
    size_t known = first ? PARAMS_OF_VERSION_1 : sizeof(*p), bytes = 0;
    ease_status status = ease__container_check_small(&m->file, "params", err);
    const void *at = ease__container_section(&m->file, "params", &bytes);

    if (status)
        return status;
    if (!at || bytes < known || (first && bytes > known))
        return bad_params(m, err);
    memcpy(p, at, known);
    if (!memchr(p->method_name, '\0', sizeof(p->method_name)) ||
        !memchr(p->form_name, '\0', sizeof(p->form_name)))
        return bad_params(m, err);
    return EASE_OK;
}

/* The method of the file; NULL: its number is not known. Models from before there were
 * numbers have 0, and `nonnegative` alone says which of the first two methods it
 * was. */
static const ease__method *method_of(const ease__model_params *p)
{
    return ease__method_numbered(p->method == 0 && p->nonnegative ? 1 : p->method);
}

/* Fails for numbers that only a later version could know. */
static ease_status check_numbers(const ease_model *m, const ease__model_params *p,
                                 ease_error *err)
{
    if (p->kind < 0 || p->precision < 0 || p->storage < 0)
        return bad_params(m, err);
    if (p->kind > EASE_GRAM_CORRELATION)
        return ease__model_newer(m, "kind", "", p->kind, err);
    if (p->precision > EASE_F64)
        return ease__model_newer(m, "precision", "", p->precision, err);
    if (!ease__form_numbered(p->storage))
        return ease__model_newer(m, "form", p->form_name, p->storage, err);
    if (!method_of(p))
        return ease__model_newer(m, "method", p->method_name, p->method, err);
    return EASE_OK;
}

/* lambda and the residual are only shown: another version of ease may give a method a
 * lambda that has none here, or allow 0. */
static bool params_valid(const ease__model_params *p, const ease__method *method)
{
    bool flags = p->nonnegative == 1 || (p->nonnegative == 0 && !method->nonnegative);

    return p->items > 0 && p->users >= -1 && p->interactions >= -1 && flags &&
           isfinite(p->lambda) && p->lambda >= 0 && isfinite(p->residual) &&
           p->residual >= 0;
}

static ease_status take_params(ease_model *m, ease__model_params *p, ease_error *err)
{
    ease_status status = read_params(m, p, err);
    const ease__method *method;

    if (!status)
        status = check_numbers(m, p, err);
    if (status)
        return status;
    method = method_of(p);
    m->form = ease__form_numbered(p->storage);
    if (method->form != m->form->trained)
        return ease__fail(err, EASE_E_VERSION,
                          "%s: made by a newer ease: a model of %s in form %s",
                          m->file.path, method->info.name, m->form->name);
    if (!params_valid(p, method))
        return bad_params(m, err);
    m->info = (ease_model_info){
        .method = method->info.name,
        .settings = "",
        .items = p->items,
        .users = p->users,
        .interactions = p->interactions,
        .lambda = p->lambda,
        .residual = p->residual,
        .kind = (ease_gram_kind)p->kind,
        .precision = (ease_precision)p->precision,
        .storage = m->form->number,
        .nonnegative = p->nonnegative,
        .bytes = m->file.bytes,
    };
    return EASE_OK;
}

/* ---- opening --------------------------------------------------------------------- */

static ease_status take_tables(ease_model *m, ease_error *err)
{
    size_t bytes = 0;
    const void *at = ease__container_section(&m->file, "ids", &bytes);
    ease_status status = ease__ids_borrow(&m->ids, at, bytes, m->info.items, true,
                                          m->file.path, err);

    if (status)
        return status;
    at = ease__container_section(&m->file, "titles", &bytes);
    if (!at)
        return EASE_OK;
    m->info.has_titles = 1;
    return ease__ids_borrow(&m->titles, at, bytes, m->info.items, false, m->file.path,
                            err);
}

/* The settings must end with their only NUL. */
static ease_status take_settings(ease_model *m, ease_error *err)
{
    size_t bytes = 0;
    const char *at = ease__container_section(&m->file, "settings", &bytes);

    if (at && (bytes == 0 || memchr(at, '\0', bytes) != at + bytes - 1))
        return ease__model_damaged(m, "its settings", err);
    m->settings = at;
    m->info.settings = at ? at : "";
    return EASE_OK;
}

static ease_status take_popularity(ease_model *m, ease_error *err)
{
    size_t n = (size_t)m->info.items;
    const double *at = ease__take_section(&m->file, "popularity", n * sizeof(*at));

    if (!at)
        return ease__model_damaged(m, "popularity", err);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(at[i]))
            return ease__model_damaged(m, "popularity", err);
    m->popularity = at;
    return EASE_OK;
}

/* With EASE_VERIFY_OPEN nothing is left to be checked when weights are used. */
static ease_status check_weights(const ease_model *m, const ease_open_options *o,
                                 ease_error *err)
{
    ease__window all = {0, m->info.items, 0, m->info.items};

    return o->verify == EASE_VERIFY_OPEN
               ? m->form->store->need(m, all, EASE__WHOLE, err)
               : EASE_OK;
}

static ease_status take_all(ease_model *m, const ease_open_options *o, ease_error *err)
{
    ease__model_params p = {0};
    ease_status status = take_params(m, &p, err);

    if (!status)
        status = ease__container_check(&m->file, m->form->sections, err);
    if (!status)
        status = ease__container_attach(&m->file, m->form->sections, o, err);
    if (!status)
        status = take_tables(m, err);
    if (!status)
        status = ease__item_tags_open(m, err);
    if (!status)
        status = ease__position_open(m, err);
    if (!status)
        status = take_settings(m, err);
    if (!status)
        status = take_popularity(m, err);
    if (!status)
        status = ease__take_floats(m, "base", &m->base, err);
    if (!status)
        status = m->form->open(m, &p, err);
    if (!status)
        status = check_weights(m, o, err);
    m->info.has_base = m->base != NULL;
    return status;
}

void ease_open_options_defaults(ease_open_options *o)
{
    static const ease_open_options defaults = {.verify = EASE_VERIFY_USE};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

/* Makes the model of a file, which is taken over even on failure. */
static ease_status take_file(ease__container *file, const ease_open_options *o,
                             ease_model **out, ease_error *err)
{
    ease_model *m = ease__alloc_zero(1, sizeof(*m));
    ease_status status;

    if (!m) {
        status = ease__fail(err, EASE_E_NOMEM, "opening %s", file->path);
        ease__container_close(file);
        return status;
    }
    m->file = *file;
    m->kernels = ease__kernels_best();
    status = take_all(m, o, err);
    if (status) {
        ease_model_free(m);
        return status;
    }
    *out = m;
    return EASE_OK;
}

ease_status ease_model_open(const char *path, const ease_open_options *given,
                            ease_model **out, ease_error *err)
{
    ease_open_options o;
    ease__container file;
    ease_status status = EASE__OPTIONS_TAKE(ease_open_options, &o, given, err);

    if (status)
        return status;
    if (!path || !out)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    if (o.verify < EASE_VERIFY_USE || o.verify > EASE_VERIFY_NEVER)
        return ease__fail(err, EASE_E_ARG, "unknown time to verify: %d", (int)o.verify);
    status = ease__threads_check(o.threads, err);
    if (!status)
        status = ease__container_open(path, "model", VERSION, &file, err);
    return status ? status : take_file(&file, &o, out, err);
}

/* ---- converting ------------------------------------------------------------------ */

static ease_status check_memory(const ease__saving *s, ease_error *err)
{
    size_t held = ease__model_held(s->model);

    return ease__memory_check("a model in memory", s->params.items,
                              ease__size_add(held, expected_bytes(s)),
                              ease__memory_allowed(0, held), err);
}

ease_status ease_model_convert(const ease_model *m, ease_storage storage,
                               const ease_hooks *hooks, ease_model **out,
                               ease_error *err)
{
    static const char name[] = "a model in memory";
    const ease_open_options o = {.size = sizeof(o), .verify = EASE_VERIFY_NEVER};
    ease__saving s = {.model = m, .hooks = hooks};
    ease__container file;
    ease_status status = ease__saving_prepare(&s, out ? name : NULL, storage, err);
    int fd = -1;

    if (!status)
        status = check_memory(&s, err);
    if (!status)
        status = ease__writer_open_memory("model", VERSION, &s.writer, err);
    if (status)
        return status;
    status = put_all(&s, err);
    if (status) {
        ease__writer_discard(s.writer);
        return status;
    }
    status = ease__writer_commit_memory(s.writer, &fd, err);
    if (!status)
        status = ease__container_open_fd(fd, name, "model", VERSION, &file, err);
    if (!status)
        status = take_file(&file, &o, out, err);
    if (!status) {
        (*out)->threads = m->threads;
        (*out)->info.bytes = 0;
    }
    return status;
}
