/* The table of forms, and functions that the files of forms share. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "model/form.h"
#include "model/model.h"

#define ENTRY(form) &form,
const ease__form *const ease__forms[] = {EASE__FORMS(ENTRY) NULL};

const ease__form *ease__form_numbered(int32_t number)
{
    for (int i = 0; ease__forms[i]; i++)
        if ((int32_t)ease__forms[i]->number == number)
            return ease__forms[i];
    return NULL;
}

const char *ease_storage_name(ease_storage storage)
{
    const ease__form *f = ease__form_numbered((int32_t)storage);

    return f ? f->name : NULL;
}

/* ---- reading --------------------------------------------------------------------- */

ease_status ease__model_damaged(const ease_model *m, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_FORMAT, "%s: damaged: %s", m->file.path, what);
}

/* True if the text is certainly a name: files are untrusted, and messages show it. */
static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    return length > 0 && text[length] == '\0';
}

ease_status ease__model_newer(const ease_model *m, const char *what, const char *name,
                              int64_t number, ease_error *err)
{
    if (is_name(name))
        return ease__fail(err, EASE_E_VERSION, "%s: made by a newer ease: %s %s",
                          m->file.path, what, name);
    return ease__fail(err, EASE_E_VERSION, "%s: made by a newer ease: %s number %lld",
                      m->file.path, what, (long long)number);
}

bool ease__params_plain(const ease__model_params *p)
{
    return p->edge == 0 && p->stride == 0 && p->unit == 1.0f;
}

ease_status ease__take_floats(const ease_model *m, const char *name, const float **out,
                              ease_error *err)
{
    size_t n = (size_t)m->info.items, bytes = 0;
    const float *at = ease__container_section(&m->file, name, &bytes);

    if (!at)
        return EASE_OK;
    if (bytes != n * sizeof(*at))
        return ease__model_damaged(m, name, err);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(at[i]))
            return ease__model_damaged(m, name, err);
    *out = at;
    return EASE_OK;
}

ease_status ease__take_norm(ease_model *m, ease_error *err)
{
    ease_status status = ease__take_floats(m, "norm", &m->norm, err);

    if (!status)
        status = ease__take_floats(m, "norm_to", &m->norm_to, err);
    if (status)
        return status;
    if (!m->norm)
        return ease__model_damaged(m, "norm", err);
    for (int32_t i = 0; i < m->info.items; i++)
        if (!(m->norm[i] > 0) || (m->norm_to && !(m->norm_to[i] > 0)))
            return ease__model_damaged(m, "norm", err);
    return EASE_OK;
}

ease_status ease__save_norm(const ease__saving *s, ease_error *err)
{
    ease_status status = ease__save_array(s, "norm", s->model->norm, sizeof(float),
                                          err);

    return status
               ? status
               : ease__save_array(s, "norm_to", s->model->norm_to, sizeof(float), err);
}

const void *ease__take_section(const ease__container *file, const char *name,
                               size_t bytes)
{
    size_t there = 0;
    const void *at = ease__container_section(file, name, &there);

    return there == bytes ? at : NULL;
}

bool ease__starts_valid(const uint64_t *starts, int64_t rows, size_t count)
{
    if (starts[0] != 0 || starts[rows] != count)
        return false;
    for (int64_t i = 0; i < rows; i++)
        if (starts[i] > starts[i + 1])
            return false;
    return true;
}

/* ---- writing --------------------------------------------------------------------- */

ease_status ease__save_array(const ease__saving *s, const char *name, const void *array,
                             size_t size, ease_error *err)
{
    if (!array)
        return EASE_OK;
    return ease__writer_add(s->writer, name, array, (size_t)s->params.items * size,
                            err);
}

ease_status ease__save_large(const ease__saving *s, const char *name, const void *data,
                             size_t bytes, ease_error *err)
{
    ease_status status = ease__writer_begin(s->writer, name, err);

    return status || bytes == 0 ? status
                                : ease__writer_put(s->writer, data, bytes, err);
}
