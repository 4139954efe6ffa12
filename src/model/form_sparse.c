/* The form of sparse models: the nonzero weights of each row and their columns. */
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

/* Nothing to do: there are few weights. */
static void expect_sparse(const ease_model *m, int32_t top, int32_t bottom)
{
    (void)m, (void)top, (void)bottom;
}

static const ease__store store_sparse = {.read = read_sparse,
                                         .take = take_sparse,
                                         .need = need_sparse,
                                         .expect = expect_sparse,
                                         .grain = 1};

/* ---- memory ---------------------------------------------------------------------- */

static size_t sparse_held(const ease_model *m)
{
    const ease__sparse *s = &m->sparse;
    size_t n = (size_t)m->info.items;

    if (!s->starts)
        return 0;
    return (n + 1) * sizeof(*s->starts) +
           (size_t)s->starts[n] * (sizeof(*s->columns) + sizeof(*s->weights));
}

static void free_sparse(ease_model *m)
{
    if (m->file.map)
        return;
    ease__free_const(m->sparse.starts);
    ease__free_const(m->sparse.columns);
    ease__free_const(m->sparse.weights);
}

/* ---- files ----------------------------------------------------------------------- */

static ease_status write_sparse(const ease__saving *to, ease_error *err)
{
    const ease__sparse *s = &to->model->sparse;
    size_t n = (size_t)to->params.items, count = (size_t)s->starts[n];
    ease_status status = ease__writer_add(to->writer, "starts", s->starts,
                                          (n + 1) * sizeof(*s->starts), err);

    if (!status)
        status = ease__save_large(to, "columns", s->columns,
                                  count * sizeof(*s->columns), err);
    if (!status)
        status = ease__save_large(to, "weights", s->weights,
                                  count * sizeof(*s->weights), err);
    return status;
}

/* True if the columns of each row ascend and are never the row itself. */
static bool rows_valid(const ease__sparse *s, int32_t n)
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

/* Columns are copied into memory, as they are indices for writing. Weights stay mapped;
 * all of them are read and verified here. */
static ease_status open_sparse(ease_model *m, const ease__model_params *p,
                               ease_error *err)
{
    ease__container *file = &m->file;
    size_t n = (size_t)p->items, columns = 0, weights = 0;
    ease__sparse s = {
        .starts = ease__take_section(file, "starts", (n + 1) * sizeof(*s.starts)),
        .columns = ease__container_section(file, "columns", &columns),
        .weights = ease__container_section(file, "weights", &weights),
    };
    ease_status status = ease__container_load(file, "columns", err);

    if (!status && s.weights)
        status = ease__container_need(file, s.weights, weights, EASE__WHOLE, err);
    if (status)
        return status;
    if (!ease__params_plain(p))
        return ease__model_damaged(m, "its parameters", err);
    if (!s.starts || !s.columns || !s.weights || columns != weights ||
        columns % sizeof(*s.columns) != 0 ||
        !ease__starts_valid(s.starts, p->items, columns / sizeof(*s.columns)) ||
        !rows_valid(&s, p->items))
        return ease__model_damaged(m, "its weights", err);
    m->sparse = s;
    return EASE_OK;
}

static const ease__section_rule sections[] = {EASE__COMMON_SECTIONS,
                                              {"starts", false},
                                              {"columns", true},
                                              {"weights", true},
                                              {0}};

const ease__form ease__form_sparse = {
    .name = "sparse",
    .number = EASE_STORE_SPARSE,
    .trained = &ease__form_sparse,
    .store = &store_sparse,
    .scoring = &ease__scoring_sparse,
    .sections = sections,
    .held = sparse_held,
    .free = free_sparse,
    .write = write_sparse,
    .open = open_sparse,
};
