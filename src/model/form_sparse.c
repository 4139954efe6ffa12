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
        for (uint64_t at = place_of(s, i, w.left); at < end; at++) {
            int32_t column = ease__sparse_column(s, at, m->info.items);

            if (column < w.left || column >= w.right)
                break;
            out[column - w.left] = s->weights[at];
        }
    }
}

static void take_sparse(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_sparse(m, w, out, ld);
}

/* A row that is valid has fewer than n weights. */
static int32_t nonzeros_of(const ease_model *m, int32_t row, ease_rec *out)
{
    const ease__sparse *s = &m->sparse;
    int32_t count = 0;

    for (uint64_t at = s->starts[row]; at < s->starts[row + 1]; at++) {
        out[count] = (ease_rec){ease__sparse_column(s, at, m->info.items),
                                s->weights[at]};
        count += out[count].score != 0;
    }
    return count;
}

/* ---- checking rows --------------------------------------------------------------- */

/* True if the columns of a row ascend and are never the row itself. */
static bool is_valid(const ease__sparse *s, int32_t row, int32_t n)
{
    int32_t before = -1;

    for (uint64_t at = s->starts[row]; at < s->starts[row + 1]; at++) {
        int32_t column = s->columns[at];

        if (column <= before || column >= n || column == row ||
            !isfinite(s->weights[at]))
            return false;
        before = column;
    }
    return true;
}

static ease_status check_rows(const ease_model *m, int32_t top, int32_t bottom,
                              ease_error *err)
{
    ease_status status;

    while (top < bottom && is_valid(&m->sparse, top, m->info.items))
        top++;
    if (top == bottom)
        return EASE_OK;
    status = ease__container_unchanged(&m->file, err);
    return status ? status : ease__model_damaged(m, "its weights", err);
}

static ease_status need_row(const ease_model *m, int32_t row, ease_error *err)
{
    const ease__sparse *s = &m->sparse;
    _Atomic uint64_t *word = &s->checked[row / 64];
    uint64_t start = s->starts[row], bit = (uint64_t)1 << row % 64;
    size_t count = (size_t)(s->starts[row + 1] - start);
    ease_status status;

    if (count == 0 || atomic_load_explicit(word, memory_order_acquire) & bit)
        return EASE_OK;
    status = ease__container_need(&m->file, s->columns + start,
                                  count * sizeof(*s->columns), EASE__WHOLE, err);
    if (!status)
        status = ease__container_need(&m->file, s->weights + start,
                                      count * sizeof(*s->weights), EASE__WHOLE, err);
    if (!status)
        status = check_rows(m, row, row + 1, err);
    if (!status)
        atomic_fetch_or_explicit(word, bit, memory_order_release);
    return status;
}

/* Verifies the blocks of the rows, and that each row is valid. */
static ease_status need_sparse(const ease_model *m, ease__window w, ease__share share,
                               ease_error *err)
{
    ease_status status = EASE_OK;

    for (int32_t i = w.top; m->sparse.checked && !status && i < w.bottom; i++)
        if (i % share.count == share.index)
            status = need_row(m, i, err);
    return status;
}

static void expect_sparse(const ease_model *m, int32_t top, int32_t bottom)
{
    const ease__sparse *s = &m->sparse;
    uint64_t start = s->starts[top];
    size_t count = (size_t)(s->starts[bottom] - start);

    ease__container_expect(&m->file, s->columns + start, count * sizeof(*s->columns));
    ease__container_expect(&m->file, s->weights + start, count * sizeof(*s->weights));
}

static const ease__store store_sparse = {.read = read_sparse,
                                         .take = take_sparse,
                                         .need = need_sparse,
                                         .nonzeros = nonzeros_of,
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
    ease__free((void *)m->sparse.checked);
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
    ease__window all = {0, to->params.items, 0, to->params.items};
    ease_status status = need_sparse(to->model, all, EASE__WHOLE, err);

    if (!status)
        status = ease__writer_add(to->writer, "starts", s->starts,
                                  (n + 1) * sizeof(*s->starts), err);
    if (!status)
        status = ease__save_large(to, "columns", s->columns,
                                  count * sizeof(*s->columns), err);
    if (!status)
        status = ease__save_large(to, "weights", s->weights,
                                  count * sizeof(*s->weights), err);
    return status;
}

/* Rows of a file that is read whole are checked now, others when they are needed. */
static ease_status begin_checks(ease_model *m, ease_error *err)
{
    size_t n = (size_t)m->info.items;

    if (!m->file.watch)
        return check_rows(m, 0, m->info.items, err);
    m->sparse.checked = ease__alloc_zero(n / 64 + 1, sizeof(*m->sparse.checked));
    return m->sparse.checked
               ? EASE_OK
               : ease__fail(err, EASE_E_NOMEM, "opening %s", m->file.path);
}

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

    if (!ease__params_plain(p))
        return ease__model_damaged(m, "its parameters", err);
    if (!s.starts || !s.columns || !s.weights || columns != weights ||
        columns % sizeof(*s.columns) != 0 ||
        !ease__starts_valid(s.starts, p->items, columns / sizeof(*s.columns)))
        return ease__model_damaged(m, "its weights", err);
    m->sparse = s;
    return begin_checks(m, err);
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
