/* Exports weights for other software: as .npy or .npz, or as a table in text. */
#include <stdio.h>
#include <string.h>

#include "input/npy.h"
#include "model/export_npz.h"

enum { TEXT_BYTES = 1 << 16, NUMBER_BYTES = 32, ROWS = 16 };

typedef struct export
{
    const ease_model *model;
    ease__output out;
    const ease_hooks *hooks;
    ease__row_reader reader;
    char separator;
    char *text; /* TEXT_BYTES */
    size_t used;
}
export;

static bool ends_with(const char *path, const char *ending)
{
    size_t a = strlen(path), b = strlen(ending);

    return a >= b && strcmp(path + a - b, ending) == 0;
}

static ease_status report(const export *x, int32_t row, ease_error *err)
{
    return ease__progress(x->hooks, "writing",
                          (double)row / (double)x->model->info.items)
               ? ease__cancelled(err)
               : EASE_OK;
}

/* ---- .npy ------------------------------------------------------------------------ */

static size_t npy_bytes(const ease_model *m)
{
    size_t n = (size_t)m->info.items;

    return ease__size_add(ease__size_mul(ease__size_mul(n, n), sizeof(float)),
                          EASE__NPY_HEAD);
}

static ease_status write_npy_header(export *x, ease_error *err)
{
    char header[EASE__NPY_HEAD], shape[40];
    int n = (int)x->model->info.items;

    snprintf(shape, sizeof(shape), "(%d, %d)", n, n);
    ease__npy_write_head(header, "<f4", shape);
    return ease__output_write(&x->out, header, sizeof(header), err);
}

/* Writes a group of rows, which costs no more than one to read. `rows` is scratch. */
static ease_status write_rows(export *x, ease__window w, float *rows, ease_error *err)
{
    size_t n = (size_t)x->model->info.items;
    ease_status status = ease__model_need(x->model, w, err);

    if (status)
        return status;
    x->model->form->store->read(x->model, w, rows, n);
    status = ease__container_unchanged(&x->model->file, err);
    for (int32_t i = w.top; !status && i < w.bottom; i++) {
        status = ease__output_write(&x->out, rows + (size_t)(i - w.top) * n,
                                    n * sizeof(*rows), err);
        if (!status)
            status = report(x, i + 1, err);
    }
    return status;
}

static ease_status write_npy(export *x, ease_error *err)
{
    int32_t n = x->model->info.items;
    float *rows = ease__alloc_array(ease__size_mul((size_t)n, ROWS), sizeof(*rows));
    ease_status status = rows ? write_npy_header(x, err)
                              : ease__fail(err, EASE_E_NOMEM, "rows of %d items",
                                           (int)n);

    for (int32_t i = 0; !status && i < n; i += ROWS)
        status = write_rows(x, (ease__window){i, n - i > ROWS ? i + ROWS : n, 0, n},
                            rows, err);
    ease__free(rows);
    return status;
}

/* ---- text ------------------------------------------------------------------------ */

static ease_status flush(export *x, ease_error *err)
{
    size_t used = x->used;

    x->used = 0;
    return ease__output_write(&x->out, x->text, used, err);
}

static ease_status put_byte(export *x, char c, ease_error *err)
{
    ease_status status = x->used == TEXT_BYTES ? flush(x, err) : EASE_OK;

    x->text[x->used++] = c;
    return status;
}

static ease_status put_text(export *x, const char *text, ease_error *err)
{
    ease_status status = EASE_OK;

    for (; !status && *text; text++)
        status = put_byte(x, *text, err);
    return status;
}

/* In CSV quoted if it must be, quotes within doubled; readers of TSV know no quotes. */
static ease_status put_id(export *x, const char *id, ease_error *err)
{
    bool quoted = strpbrk(id, ",\"\r\n") != NULL;
    ease_status status;

    if (x->separator == '\t')
        return put_text(x, id, err);
    status = quoted ? put_byte(x, '"', err) : EASE_OK;

    for (; !status && *id; id++) {
        if (*id == '"')
            status = put_byte(x, '"', err);
        if (!status)
            status = put_byte(x, *id, err);
    }
    if (!status && quoted)
        status = put_byte(x, '"', err);
    return status;
}

/* Nine digits give the float back. Whatever the locale puts between the digits, a
 * point is written. */
static ease_status put_number(export *x, float value, ease_error *err)
{
    static const char plain[] = "0123456789+-einfa";
    char text[NUMBER_BYTES];
    ease_status status = EASE_OK;

    snprintf(text, sizeof(text), "%.9g", (double)value);
    for (const char *c = text; !status && *c; c++) {
        if (strchr(plain, *c)) {
            status = put_byte(x, *c, err);
        } else {
            status = put_byte(x, '.', err);
            c += strcspn(c, plain) - 1;
        }
    }
    return status;
}

static ease_status put_weight(export *x, int32_t i, ease_rec to, ease_error *err)
{
    ease_status status = put_id(x, ease_model_item_id(x->model, i), err);

    if (!status)
        status = put_byte(x, x->separator, err);
    if (!status)
        status = put_id(x, ease_model_item_id(x->model, to.item), err);
    if (!status)
        status = put_byte(x, x->separator, err);
    if (!status)
        status = put_number(x, to.score, err);
    if (!status)
        status = put_byte(x, '\n', err);
    return status;
}

static ease_status put_row(export *x, int32_t i, ease_error *err)
{
    ease_status status = ease__row_reader_read(&x->reader, i, err);

    for (int32_t k = 0; !status && k < x->reader.count; k++)
        status = put_weight(x, i, x->reader.recs[k], err);
    return status;
}

/* Fails for ids that TSV cannot represent, before anything is written. */
static ease_status check_ids(const export *x, const char *path, ease_error *err)
{
    if (x->separator != '\t')
        return EASE_OK;
    for (int32_t i = 0; i < x->model->info.items; i++)
        if (strpbrk(ease_model_item_id(x->model, i), "\t\r\n"))
            return ease__fail_at(err, EASE_E_DATA, i,
                                 "%s: item %d has a tab or line break in its id", path,
                                 (int)i + 1);
    return EASE_OK;
}

static ease_status write_text(export *x, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int32_t i = 0; !status && i < x->model->info.items; i++) {
        status = put_row(x, i, err);
        if (!status)
            status = report(x, i + 1, err);
    }
    return status ? status : flush(x, err);
}

/* ---------------------------------------------------------------------------------- */

/* The formats, by the suffix of the path. */
typedef enum format { FORMAT_TEXT, FORMAT_NPY, FORMAT_NPZ } format;

static format format_of(const char *path)
{
    if (ends_with(path, ".npy"))
        return FORMAT_NPY;
    return ends_with(path, ".npz") ? FORMAT_NPZ : FORMAT_TEXT;
}

/* Nonzero weights alone need less space than all of them only if there are few. */
static ease_status check_format(const ease_model *m, format f, const char *path,
                                int32_t top, ease_error *err)
{
    if (f == FORMAT_NPZ && top == 0 && !m->form->store->nonzeros)
        return ease__fail(err, EASE_E_ARG,
                          "%s: a model of %s has all weights, which is what .npy is "
                          "for; .npz is for sparse models, or for the largest weights "
                          "of each row (top)",
                          path, m->info.method);
    return EASE_OK;
}

/* Makes what the format needs beside the file. */
static ease_status prepare(export *x, format f, int32_t top, ease_error *err)
{
    ease_status status = EASE_OK;

    if (f != FORMAT_NPY)
        status = ease__row_reader_new(x->model, top, &x->reader, err);
    if (status || f != FORMAT_TEXT)
        return status;
    x->text = ease__alloc_array(TEXT_BYTES, 1);
    return x->text ? EASE_OK
                   : ease__fail(err, EASE_E_NOMEM, "exporting %d items",
                                (int)x->model->info.items);
}

static ease_status write_format(export *x, format f, ease_error *err)
{
    if (f == FORMAT_NPY)
        return write_npy(x, err);
    if (f == FORMAT_NPZ)
        return ease__export_npz(&x->reader, &x->out, x->hooks, err);
    return write_text(x, err);
}

ease_status ease_model_export(const ease_model *m, const char *path, int32_t top,
                              const ease_hooks *hooks, ease_error *err)
{
    export x = {.model = m, .out = EASE__OUTPUT_NONE, .hooks = hooks};
    ease_status status;
    format f;

    if (!m || !path || top < 0)
        return ease__fail(err, EASE_E_ARG,
                          "a model, a path and a top of at least 0 are "
                          "required");
    f = format_of(path);
    x.separator = ends_with(path, ".tsv") ? '\t' : ',';
    status = ease__model_needs_weights(m, "exporting", err);
    if (!status)
        status = check_format(m, f, path, top, err);
    if (!status)
        status = check_ids(&x, path, err);
    if (!status)
        status = prepare(&x, f, top, err);
    if (!status)
        status = ease__container_need_all(&m->file, m->threads, hooks, err);
    if (!status)
        status = ease__output_open(path, f == FORMAT_NPY ? npy_bytes(m) : 0, &x.out,
                                   err);
    x.out.hooks = hooks;
    if (!status)
        status = write_format(&x, f, err);
    if (!status)
        status = ease__output_commit(&x.out, err);
    ease__output_discard(&x.out);
    ease__row_reader_free(&x.reader);
    ease__free(x.text);
    return status;
}

static ease_status put_lines(export *x, const char *path, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int32_t i = 0; !status && i < x->model->info.items; i++) {
        const char *id = ease_model_item_id(x->model, i);

        if (strpbrk(id, "\r\n"))
            return ease__fail_at(err, EASE_E_DATA, i,
                                 "%s: item %d has a line break in its id", path,
                                 (int)i + 1);
        status = put_text(x, id, err);
        if (!status)
            status = put_byte(x, '\n', err);
    }
    return status ? status : flush(x, err);
}

ease_status ease_model_write_ids(const ease_model *m, const char *path, ease_error *err)
{
    export x = {.model = m, .out = EASE__OUTPUT_NONE};
    ease_status status = EASE_OK;

    if (!m || !path)
        return ease__fail(err, EASE_E_ARG, "a model and a path are required");
    x.text = ease__alloc_array(TEXT_BYTES, 1);
    status = x.text ? ease__output_open(path, 0, &x.out, err)
                    : ease__fail(err, EASE_E_NOMEM, "writing %s", path);
    if (!status)
        status = put_lines(&x, path, err);
    if (!status)
        status = ease__output_commit(&x.out, err);
    ease__output_discard(&x.out);
    ease__free(x.text);
    return status;
}
