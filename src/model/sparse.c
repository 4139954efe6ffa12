/* Rows of few weights: in memory, in files, and as a storage form. */
#include <math.h>
#include <string.h>

#include "model/model.h"

/* The first place in row i whose column is not below `column`. */
static uint64_t place_of(const ease__sparse *s, int32_t i, int32_t column)
{
    uint64_t low = s->starts[i], high = s->starts[i + 1];

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (s->columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void read_sparse(const ease_model *m, ease__window w, float *out, size_t ld)
{
    const ease__sparse *s = &m->sparse;

    for (int32_t i = w.top; i < w.bottom; i++, out += ld) {
        uint64_t end = s->starts[i + 1];

        memset(out, 0, (size_t)(w.right - w.left) * sizeof(float));
        for (uint64_t at = place_of(s, i, w.left); at < end && s->columns[at] < w.right;
             at++)
            out[s->columns[at] - w.left] = s->weights[at];
    }
}

static void take_sparse(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_sparse(m, w, out, ld);
}

/* All was verified when the file was opened. */
static ease_status need_sparse(const ease_model *m, ease__window w, ease__share share,
                               ease_error *err)
{
    (void)m, (void)w, (void)share, (void)err;
    return EASE_OK;
}

/* They are few. */
static void expect_sparse(const ease_model *m, int32_t top, int32_t bottom)
{
    (void)m, (void)top, (void)bottom;
}

const ease__store ease__store_sparse = {.read = read_sparse,
                                        .take = take_sparse,
                                        .need = need_sparse,
                                        .expect = expect_sparse,
                                        .grain = 1};

/* ---- files ------------------------------------------------------------------------ */

static ease_status put_large(ease__container_writer *w, const char *name,
                             const void *data, size_t bytes, ease_error *err)
{
    ease_status status = ease__writer_begin(w, name, err);

    return status || bytes == 0 ? status : ease__writer_put(w, data, bytes, err);
}

ease_status ease__sparse_write(const ease__sparse *s, int32_t n,
                               ease__container_writer *w, ease_error *err)
{
    size_t count = (size_t)s->starts[n];
    ease_status status = ease__writer_add(w, "starts", s->starts,
                                          ((size_t)n + 1) * sizeof(*s->starts), err);

    if (!status)
        status = put_large(w, "columns", s->columns, count * sizeof(*s->columns), err);
    if (!status)
        status = put_large(w, "weights", s->weights, count * sizeof(*s->weights), err);
    return status;
}

/* Starts never fall, and end where the arrays do. */
static bool starts_hold(const ease__sparse *s, int32_t n, size_t count)
{
    if (s->starts[0] != 0 || s->starts[n] != count)
        return false;
    for (int32_t i = 0; i < n; i++)
        if (s->starts[i] > s->starts[i + 1])
            return false;
    return true;
}

/* Columns rise within a row and never name the row itself. */
static bool rows_hold(const ease__sparse *s, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t before = -1;

        for (uint64_t at = s->starts[i]; at < s->starts[i + 1]; at++) {
            int32_t column = s->columns[at];

            if (column <= before || column >= n || column == i ||
                !isfinite(s->weights[at]))
                return false;
            before = column;
        }
    }
    return true;
}

/* Columns are read into memory: they say where to write. Weights are only looked at,
 * but all of them, and are verified on the way. */
ease_status ease__sparse_take(ease__container *file, int32_t n, ease__sparse *out,
                              ease_error *err)
{
    size_t starts = 0, columns = 0, weights = 0;
    ease__sparse s = {
        .starts = ease__container_section(file, "starts", &starts),
        .columns = ease__container_section(file, "columns", &columns),
        .weights = ease__container_section(file, "weights", &weights),
    };
    ease_status status = ease__container_load(file, "columns", err);

    if (!status && s.weights)
        status = ease__container_need(file, s.weights, weights, EASE__WHOLE, err);
    if (status)
        return status;
    if (!s.starts || !s.columns || !s.weights || columns != weights ||
        starts != ((size_t)n + 1) * sizeof(*s.starts) ||
        !starts_hold(&s, n, columns / sizeof(*s.columns)) ||
        columns % sizeof(*s.columns) != 0 || !rows_hold(&s, n))
        return ease__fail(err, EASE_E_FORMAT, "%s: damaged: its weights", file->path);
    *out = s;
    return EASE_OK;
}
