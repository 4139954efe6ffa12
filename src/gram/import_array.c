/* Imports a dense square array, row by row. */
#include <math.h>
#include <string.h>

#include "gram/import.h"
#include "input/npy.h"

static double *entry(const ease__tiled *t, int32_t i, int32_t j)
{
    int32_t high = i > j ? i : j, low = i > j ? j : i;

    return (double *)ease__tile(t, high / t->edge, low / t->edge) +
           (size_t)(high % t->edge) * (size_t)t->edge + (size_t)(low % t->edge);
}

static ease_status input_source(void *from, void *to, size_t bytes, ease_error *err)
{
    ease__input *in = from;
    size_t got = 0;
    ease_status status = ease__input_read(in, to, bytes, &got, err);

    if (!status && got < bytes)
        status = ease__fail(err, EASE_E_PARSE, "%s: an array that is cut",
                            ease__input_name(in));
    return status;
}

/* Adds row i: entries right of the diagonal are kept, those left of it must agree
 * with them. */
static ease_status take_row(ease__importing *m, const ease__npy *form, int32_t i,
                            const unsigned char *row, ease_error *err)
{
    for (int32_t j = 0; j < m->g->g.n; j++) {
        double value = ease__npy_double(form, row + (size_t)j * form->size);
        double *at = entry(&m->g->g, i, j);

        if (!isfinite(value))
            return ease__fail(err, EASE_E_DATA, "%s: row %d, column %d is not finite",
                              m->path, (int)i + 1, (int)j + 1);
        if (!(value >= 0 && value <= UINT32_MAX && value == floor(value)))
            m->fraction = true;
        if (j >= i)
            *at = value;
        else if (!ease__import_same(*at, value))
            return ease__fail(
                err, EASE_E_DATA,
                "%s: not symmetric: row %d, column %d is %.9g, but %.9g on "
                "the other side",
                m->path, (int)i + 1, (int)j + 1, value, *at);
    }
    return EASE_OK;
}

static ease_status check_form(const ease__importing *m, const ease__npy *form,
                              ease_error *err)
{
    if (form->dimensions != 2 || form->shape[0] != form->shape[1])
        return ease__fail(err, EASE_E_DATA, "%s: not a square matrix", m->path);
    if (!ease__npy_is_number(form))
        return ease__fail(err, EASE_E_DATA, "%s: not an array of numbers", m->path);
    if (!m->fixed)
        return ease__fail(err, EASE_E_ARG,
                          "%s: an array has no ids: a file of items is required",
                          m->path);
    if (form->shape[0] != (size_t)m->g->ids.count)
        return ease__fail(err, EASE_E_DATA, "%s: %zu rows for %lld items", m->path,
                          form->shape[0], (long long)m->g->ids.count);
    return EASE_OK;
}

ease_status ease__import_array(ease__importing *m, ease__input *in, ease_error *err)
{
    ease__npy form;
    size_t row_bytes;
    unsigned char *row = NULL;
    int32_t n = (int32_t)m->g->ids.count;
    ease_status status = ease__npy_head(input_source, in, m->path, &form, err);

    if (!status)
        status = check_form(m, &form, err);
    if (!status)
        status = ease__import_memory(m, ease__tiled_bytes(n, EASE__F64), err);
    if (!status)
        status = ease__tiled_new(n, EASE__F64, &m->g->g, err);
    if (status)
        return status;
    row_bytes = form.shape[1] * form.size;
    row = ease__alloc_array(row_bytes, 1);
    if (!row)
        return ease__import_no_memory(m, err);
    m->diagonal = n;
    for (int32_t i = 0; !status && i < n; i++) {
        status = input_source(in, row, row_bytes, err);
        if (!status)
            status = take_row(m, &form, i, row, err);
        if (!status && ease__progress(ease__import_hooks(m), ease__stage_reading,
                                      (double)i / (double)n))
            status = ease__cancelled(err);
    }
    ease__free(row);
    return status;
}
