/* Exports weights for other software: as .npy, or as a table in text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/topk.h"
#include "model/model.h"

enum { TEXT_BYTES = 1 << 16, NUMBER_BYTES = 32, ROWS = 16 };

typedef struct export
{
    const ease_model *model;
    ease__output out;
    const ease_hooks *hooks;
    int32_t top;
    char separator;
    char *text; /* TEXT_BYTES */
    size_t used;
    float *rows;      /* ROWS x n: of packed weights, ROWS rows cost no more than one */
    const float *row; /* the current row */
    float *size;      /* n magnitudes of weights; `size` and `best` only with `top` */
    ease_rec *best;   /* n */
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

/* Reads row i. Fails if the model's file has changed. */
static ease_status take_row(export *x, int32_t i, ease_error *err)
{
    int32_t n = x->model->info.items;
    ease__window w = {i, n - i > ROWS ? i + ROWS : n, 0, n};

    x->row = x->rows + (size_t)(i % ROWS) * (size_t)n;
    if (i % ROWS != 0)
        return EASE_OK;
    x->model->form->store->read(x->model, w, x->rows, (size_t)n);
    return ease__container_unchanged(&x->model->file, err);
}

/* ---- .npy ------------------------------------------------------------------------ */

/* Version 1.0: magic, length of the header, the header padded so that data begins at a
 * multiple of 64 bytes. */
static ease_status write_npy_header(export *x, ease_error *err)
{
    char header[128];
    int n = (int)x->model->info.items;
    int used;

    memset(header, ' ', sizeof(header));
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10); /* 0x76 = 118 = 128 - 10 */
    used = snprintf(header + 10, sizeof(header) - 10,
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n,
                    n);
    header[10 + used] = ' ';
    header[sizeof(header) - 1] = '\n';
    return ease__output_write(&x->out, header, sizeof(header), err);
}

static ease_status write_npy(export *x, ease_error *err)
{
    int32_t n = x->model->info.items;
    ease_status status = write_npy_header(x, err);

    for (int32_t i = 0; !status && i < n; i++) {
        status = take_row(x, i, err);
        if (!status)
            status = ease__output_write(&x->out, x->row, (size_t)n * sizeof(float),
                                        err);
        if (!status)
            status = report(x, i + 1, err);
    }
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

static ease_status put_weight(export *x, int32_t i, int32_t j, ease_error *err)
{
    ease_status status = put_id(x, ease_model_item_id(x->model, i), err);

    if (!status)
        status = put_byte(x, x->separator, err);
    if (!status)
        status = put_id(x, ease_model_item_id(x->model, j), err);
    if (!status)
        status = put_byte(x, x->separator, err);
    if (!status)
        status = put_number(x, x->row[j], err);
    if (!status)
        status = put_byte(x, '\n', err);
    return status;
}

static ease_status put_whole_row(export *x, int32_t i, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int32_t j = 0; !status && j < x->model->info.items; j++)
        if (x->row[j] != 0)
            status = put_weight(x, i, j, err);
    return status;
}

/* Zeros become minus infinity, which is never chosen. */
static ease_status put_top_of_row(export *x, int32_t i, ease_error *err)
{
    int32_t n = x->model->info.items;
    ease__topk best = {.recs = x->best, .capacity = x->top < n ? x->top : n};
    ease_status status = EASE_OK;

    for (int32_t j = 0; j < n; j++)
        x->size[j] = x->row[j] != 0 ? fabsf(x->row[j]) : -INFINITY;
    ease__topk_offer(&best, x->size, 0, n, NULL);
    ease__topk_sort(&best);
    for (int32_t k = 0; !status && k < best.count; k++)
        status = put_weight(x, i, x->best[k].item, err);
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
        status = take_row(x, i, err);
        if (!status)
            status = x->top > 0 ? put_top_of_row(x, i, err) : put_whole_row(x, i, err);
        if (!status)
            status = report(x, i + 1, err);
    }
    return status ? status : flush(x, err);
}

/* ---------------------------------------------------------------------------------- */

static ease_status allocate(export *x, ease_error *err)
{
    size_t n = (size_t)x->model->info.items;

    x->text = ease__alloc_array(TEXT_BYTES, 1);
    x->rows = ease__alloc_array(ease__size_mul(n, ROWS), sizeof(*x->rows));
    if (x->top > 0) {
        x->size = ease__alloc_array(n, sizeof(*x->size));
        x->best = ease__alloc_array(n, sizeof(*x->best));
    }
    if (!x->text || !x->rows || (x->top > 0 && (!x->size || !x->best)))
        return ease__fail(err, EASE_E_NOMEM, "exporting %zu items", n);
    return EASE_OK;
}

ease_status ease_model_export(const ease_model *m, const char *path, int32_t top,
                              const ease_hooks *hooks, ease_error *err)
{
    export x = {.model = m, .out = EASE__OUTPUT_NONE, .hooks = hooks, .top = top};
    ease_status status;

    if (!m || !path || top < 0)
        return ease__fail(err, EASE_E_ARG,
                          "a model, a path and a top of at least 0 are "
                          "required");
    x.separator = ends_with(path, ".tsv") ? '\t' : ',';
    status = ease__model_needs_weights(m, "exporting", err);
    if (!status)
        status = check_ids(&x, path, err);
    if (!status)
        status = allocate(&x, err);
    if (!status)
        status = ease__container_need_all(&m->file, m->threads, hooks, err);
    if (!status)
        status = ease__output_open(path, 0, &x.out, err);
    x.out.hooks = hooks;
    if (!status)
        status = ends_with(path, ".npy") ? write_npy(&x, err) : write_text(&x, err);
    if (!status)
        status = ease__output_commit(&x.out, err);
    ease__output_discard(&x.out);
    ease__free(x.text);
    ease__free(x.rows);
    ease__free(x.size);
    ease__free(x.best);
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
