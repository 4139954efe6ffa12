/* Interactions from arrays in memory: a matrix by rows, or a table by columns. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/sized.h"
#include "input/input.h"
#include "read/readers.h"
#include "read/recognize.h"
#include "text/moment.h"

/* ---- a matrix -------------------------------------------------------------- */

static ease_status check_csr(int64_t users, int32_t items, const int64_t *row_ptr,
                             const int32_t *cols, const float *vals, ease_error *err)
{
    if (users < 0 || items < 0 || !row_ptr || (row_ptr[users] > 0 && !cols))
        return ease__fail(err, EASE_E_ARG, "a CSR matrix is required");
    if (users > EASE__MAX_IDS)
        return ease__fail(err, EASE_E_TOO_LARGE, "%lld users", (long long)users);
    if (row_ptr[0] != 0)
        return ease__fail(err, EASE_E_ARG, "row_ptr[0] is not 0");
    for (int64_t u = 0; u < users; u++) {
        if (row_ptr[u + 1] < row_ptr[u] || row_ptr[u + 1] > row_ptr[users])
            return ease__fail_at(err, EASE_E_ARG, u, "row_ptr decreases at row %lld",
                                 (long long)u);
        for (int64_t i = row_ptr[u]; i < row_ptr[u + 1]; i++) {
            if (cols[i] < 0 || cols[i] >= items)
                return ease__fail_at(err, EASE_E_ARG, u,
                                     "row %lld: column %d is not within 0 .. %d",
                                     (long long)u, (int)cols[i], (int)items - 1);
            if (vals && !isfinite(vals[i]))
                return ease__fail_at(err, EASE_E_ARG, u,
                                     "row %lld, column %d: the value is not finite",
                                     (long long)u, (int)cols[i]);
        }
    }
    return EASE_OK;
}

/* Interactions with their sizes and without arrays yet, after checking the matrix. */
static ease_status begin_csr(int64_t users, int32_t items, const int64_t *row_ptr,
                             const int32_t *cols, const float *vals,
                             ease_interactions **out, ease_error *err)
{
    ease_status status = check_csr(users, items, row_ptr, cols, vals, err);
    ease_interactions *x;

    if (status)
        return status;
    x = ease__alloc_zero(1, sizeof(*x));
    if (!x)
        return ease__fail(err, EASE_E_NOMEM, "interactions");
    x->users = users;
    x->items = items;
    x->nnz = x->counts.rows = row_ptr[users];
    *out = x;
    return EASE_OK;
}

static ease_status copy_csr(ease_interactions *x, const int64_t *row_ptr,
                            const int32_t *cols, const float *vals, ease_error *err)
{
    size_t nnz = (size_t)x->nnz, ends = (size_t)x->users + 1;

    x->row_ptr = ease__alloc_array(ends, sizeof(*x->row_ptr));
    x->cols = ease__alloc_array(nnz, sizeof(*x->cols));
    if (vals)
        x->vals = ease__alloc_array(nnz, sizeof(*x->vals));
    if (!x->row_ptr || !x->cols || (vals && !x->vals))
        return ease__fail(err, EASE_E_NOMEM, "%zu interactions", nnz);
    memcpy(x->row_ptr, row_ptr, ends * sizeof(*row_ptr));
    if (nnz)
        memcpy(x->cols, cols, nnz * sizeof(*cols));
    if (vals && nnz)
        memcpy(x->vals, vals, nnz * sizeof(*vals));
    return EASE_OK;
}

/* A checked copy with sorted rows, without ids yet. */
static ease_status build_csr(int64_t users, int32_t items, const int64_t *row_ptr,
                             const int32_t *cols, const float *vals,
                             ease_interactions **out, ease_error *err)
{
    ease_status status = begin_csr(users, items, row_ptr, cols, vals, out, err);
    ease_interactions *x = *out;

    if (!status)
        status = copy_csr(x, row_ptr, cols, vals, err);

    if (!status)
        status = ease__fold_rows(x, EASE_REPEAT_FIRST, ease__threads(0), NULL, NULL,
                                 err);
    if (!status && x->counts.repeated)
        status = ease__fail(err, EASE_E_ARG, "%lld columns stand twice in a row",
                            (long long)x->counts.repeated);
    return status;
}

static ease_status number_csr(ease_interactions *x, ease_error *err)
{
    ease_status status = ease__ids_number(&x->user_ids, 0, x->users, err);

    return status ? status : ease__ids_number(&x->item_ids, 0, x->items, err);
}

static ease_status hand_out(ease_status status, ease_interactions *x,
                            ease_interactions **out)
{
    if (status)
        ease_interactions_free(x);
    else
        *out = x;
    return status;
}

ease_status ease_interactions_from_csr(int64_t users, int32_t items,
                                       const int64_t *row_ptr, const int32_t *cols,
                                       const float *vals, ease_interactions **out,
                                       ease_error *err)
{
    ease_interactions *x = NULL;
    ease_status status;

    if (!out)
        return ease__fail(err, EASE_E_ARG, "a CSR matrix is required");
    status = build_csr(users, items, row_ptr, cols, vals, &x, err);
    if (!status)
        status = number_csr(x, err);
    return hand_out(status, x, out);
}

ease_status ease_interactions_from_csr_ids(const ease_interactions *users,
                                           const ease_interactions *items,
                                           const int64_t *row_ptr, const int32_t *cols,
                                           const float *vals, ease_interactions **out,
                                           ease_error *err)
{
    ease_interactions *x = NULL;
    ease_status status;

    if (!out || !users || !items)
        return ease__fail(err, EASE_E_ARG,
                          "users, items and a CSR matrix are required");
    status = build_csr(users->users, items->items, row_ptr, cols, vals, &x, err);
    if (!status)
        status = ease__ids_copy(&x->user_ids, &users->user_ids, err);
    if (!status)
        status = ease__ids_copy(&x->item_ids, &items->item_ids, err);
    return hand_out(status, x, out);
}

/* Checks that a matrix can be used as it is: columns sorted, none twice, no zeros. */
static ease_status check_canonical(int64_t users, const int64_t *row_ptr,
                                   const int32_t *cols, const float *vals,
                                   ease_error *err)
{
    for (int64_t u = 0; u < users; u++)
        for (int64_t i = row_ptr[u]; i < row_ptr[u + 1]; i++) {
            if (i > row_ptr[u] && cols[i] <= cols[i - 1])
                return ease__fail_at(err, EASE_E_ARG, u,
                                     "row %lld: columns are not strictly increasing",
                                     (long long)u);
            if (vals && vals[i] == 0.0f)
                return ease__fail_at(err, EASE_E_ARG, u, "row %lld: a value of 0",
                                     (long long)u);
        }
    return EASE_OK;
}

/* The casts are safe: borrowed arrays are never written. */
static ease_status borrow_csr(ease_interactions *x, const int64_t *row_ptr,
                              const int32_t *cols, const float *vals, ease_error *err)
{
    x->borrowed = true;
    x->row_ptr = (int64_t *)row_ptr;
    x->cols = (int32_t *)cols;
    x->vals = (float *)vals;
    return number_csr(x, err);
}

ease_status ease_interactions_borrow_csr(int64_t users, int32_t items,
                                         const int64_t *row_ptr, const int32_t *cols,
                                         const float *vals, ease_interactions **out,
                                         ease_error *err)
{
    ease_interactions *x = NULL;
    ease_status status;

    if (!out)
        return ease__fail(err, EASE_E_ARG, "a CSR matrix is required");
    status = begin_csr(users, items, row_ptr, cols, vals, &x, err);
    if (!status)
        status = check_canonical(users, row_ptr, cols, vals, err);
    if (!status)
        status = borrow_csr(x, row_ptr, cols, vals, err);
    return hand_out(status, x, out);
}

/* ---- a table --------------------------------------------------------------- */

static const char table_name[] = "table";

/* A column whose ids are being numbered. Equal ids often follow each other. */
typedef struct column {
    const ease_id_column *from;
    ease__ids *ids;
    const char *what;
    int64_t last;  /* the row before; -1: none */
    uint32_t code; /* the number of its id */
} column;

enum { DIGITS = 24 };

/* Writes a number to the end of `buffer`. Returns where it begins. */
static const char *print_digits(int64_t value, char buffer[DIGITS])
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *p = buffer + DIGITS;

    do
        *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--p = '-';
    return p;
}

static bool same_as_last(const column *c, const char *text, size_t length, int64_t row)
{
    const ease_id_column *f = c->from;
    int64_t from;

    if (c->last < 0)
        return false;
    if (f->numbers)
        return f->numbers[row] == f->numbers[c->last];
    from = f->offsets[c->last];
    return (size_t)(f->offsets[c->last + 1] - from) == length &&
           memcmp(f->bytes + from, text, length) == 0;
}

static ease_status take_id(column *c, int64_t row, ease_error *err)
{
    const ease_id_column *f = c->from;
    char buffer[DIGITS];
    const char *text;
    size_t length;
    int64_t code;

    if (f->numbers) {
        text = print_digits(f->numbers[row], buffer);
        length = (size_t)(buffer + DIGITS - text);
    } else {
        text = f->bytes + f->offsets[row];
        length = (size_t)(f->offsets[row + 1] - f->offsets[row]);
    }
    if (same_as_last(c, text, length, row)) {
        c->last = row;
        return EASE_OK;
    }
    if (length == 0 || memchr(text, '\0', length))
        return ease__fail_at(err, EASE_E_DATA, row, "row %lld: the %s is empty%s",
                             (long long)row, c->what,
                             length ? ", or has a zero byte" : "");
    code = ease__ids_add(c->ids, text, length);
    if (code == EASE__NO_ID || (c->what[0] == 'i' && code > INT32_MAX - 1))
        return ease__fail(err, EASE_E_NOMEM, "ids of %lld rows", (long long)row);
    c->last = row;
    c->code = (uint32_t)code;
    return EASE_OK;
}

static ease_status check_value(double value, bool weighted, int64_t row,
                               ease_error *err)
{
    if (isfinite(value) && (!weighted || isfinite((float)value)))
        return EASE_OK;
    return ease__fail_at(err, EASE_E_DATA, row, "row %lld: the value is not finite",
                         (long long)row);
}

/* Sets *keep to whether a row of this time is kept. */
static ease_status take_time(const ease_read_options *o, ease__draft *d, int64_t row,
                             double *time, bool *keep, ease_error *err)
{
    bool small = false;

    assert(o->times); /* ease__check_times */
    if (!isfinite(o->times[row]))
        return ease__fail_at(err, EASE_E_DATA, row, "row %lld: the time is not finite",
                             (long long)row);
    if (!ease__instant_of(o->times[row], time, &small))
        return ease__fail_at(err, EASE_E_DATA, row, "row %lld: %.0f is not a date",
                             (long long)row, o->times[row]);
    d->small += small;
    *keep = !(*time < o->since || *time >= o->until);
    if (!*keep) {
        d->counts.outside_time++;
        return EASE_OK;
    }
    if (*time < d->oldest)
        d->oldest = *time;
    if (*time > d->newest)
        d->newest = *time;
    return EASE_OK;
}

static ease_status take_row(int64_t row, column *user, column *item,
                            const double *values, const ease_read_options *o,
                            ease__draft *d, ease_error *err)
{
    float value = 1.0f;
    double time = 0.0;
    bool keep = true;
    uint32_t *record;
    ease_status status = EASE_OK;

    d->counts.rows++;
    if (values && !ease__wants_values(o)) {
        d->counts.unused += values[row] != 1.0;
        d->counts.negative += values[row] < 0.0;
    } else if (values) {
        status = check_value(values[row], d->weighted, row, err);
        if (status)
            return status;
        if (values[row] < o->min_rating) {
            d->counts.below_rating++;
            return EASE_OK;
        }
        value = (float)values[row];
    }
    if (d->dated) {
        status = take_time(o, d, row, &time, &keep, err);
        if (status || !keep)
            return status;
    }
    status = take_id(user, row, err);
    if (!status)
        status = take_id(item, row, err);
    if (status)
        return status;
    record = ease__draft_add(d, 1);
    if (!record)
        return ease__fail(err, EASE_E_NOMEM, "%lld rows", (long long)row);
    record[0] = user->code;
    record[1] = item->code;
    if (d->weighted)
        memcpy(&record[2], &value, sizeof(value));
    if (d->timed)
        memcpy(&record[2 + d->weighted], &time, sizeof(time));
    return EASE_OK;
}

/* Checks the memory that is held, and that making rows will take. */
static ease_status check_memory(const ease__draft *d, int threads, ease_error *err)
{
    size_t ids = ease__ids_growing(&d->user_ids) + ease__ids_growing(&d->item_ids);
    size_t rows = ease__draft_rows_bytes(d, d->user_ids.count, threads);

    return ease__budget_allows(d->budget,
                               ease__size_add(ease__draft_bytes(d), ids + rows))
               ? EASE_OK
               : ease__budget_fail(d->budget, table_name, err);
}

static ease_status take_rows(int64_t rows, const ease_id_column *users,
                             const ease_id_column *items, const double *values,
                             const ease_read_options *o, ease__draft *d,
                             ease_error *err)
{
    column user = {users, &d->user_ids, "user", -1, 0};
    column item = {items, &d->item_ids, "item", -1, 0};
    ease_status status = EASE_OK;

    d->weighted = o->weights != 0;
    d->timed = o->half_life > 0.0;
    if (ease__wants_times(o))
        ease__draft_dated(d, o);
    for (int64_t row = 0; !status && row < rows; row++) {
        if (row % (1 << 16) == 0) {
            if (ease__progress(o->hooks, ease__stage_reading,
                               (double)row / (double)rows))
                return ease__cancelled(err);
            status = check_memory(d, ease__threads(o->threads), err);
        }
        if (!status)
            status = take_row(row, &user, &item, values, o, d, err);
    }
    return status ? status : check_memory(d, ease__threads(o->threads), err);
}

static bool is_column(const ease_id_column *c, int64_t rows)
{
    if (!c || (!c->numbers && !c->offsets))
        return false;
    return c->numbers || c->offsets[rows] == 0 || c->bytes;
}

static ease_status describe(const ease_columns *guess, ease__draft *d, ease_error *err)
{
    char text[sizeof(table_name) + 2 + sizeof(guess->words)];

    snprintf(text, sizeof(text), "%s: %s", table_name, guess->words);
    d->recognized = ease__copy_string(text);
    return d->recognized ? EASE_OK : ease__fail(err, EASE_E_NOMEM, "interactions");
}

static ease_status make_rows(int64_t rows, const ease_id_column *users,
                             const ease_id_column *items, const double *values,
                             const ease_read_options *o, ease_interactions *x,
                             ease_error *err)
{
    ease__budget budget;
    ease__draft d = {.budget = &budget};
    ease_status status;

    ease__budget_start(&budget, o->memory_limit);
    status = take_rows(rows, users, items, values, o, &d, err);
    if (!status)
        status = ease__draft_age(&d, o, table_name, err);
    if (!status && d.records == 0)
        status = ease__nothing_left(&d.counts, table_name, err);
    if (!status)
        status = ease__draft_doubt(&d, o->guess, table_name, err);
    if (!status && o->guess)
        status = describe(o->guess, &d, err);
    if (!status)
        status = ease__draft_rows(&d, ease__threads(o->threads), x, err);
    ease__draft_free(&d);
    return status ? status : ease__finish(x, o, table_name, err);
}

ease_status ease_interactions_from_table(int64_t rows, const ease_id_column *users,
                                         const ease_id_column *items,
                                         const double *values,
                                         const ease_read_options *o,
                                         ease_interactions **out, ease_error *err)
{
    ease_read_options used;
    ease_interactions *x;
    ease_status status;

    if (!out || rows < 0 || !is_column(users, rows) || !is_column(items, rows))
        return ease__fail(err, EASE_E_ARG, "columns of users and items are required");
    status = EASE__OPTIONS_TAKE(ease_read_options, &used, o, err);
    if (!status)
        status = ease__check_read_options(&used, err);
    if (!status)
        status = ease__check_values(table_name, "without one", values != NULL, &used,
                                    err);
    if (!status)
        status = ease__check_times(table_name, "without one", used.times != NULL, &used,
                                   err);
    if (status)
        return status;
    x = ease__alloc_zero(1, sizeof(*x));
    if (!x)
        return ease__fail(err, EASE_E_NOMEM, "interactions");
    status = make_rows(rows, users, items, values, &used, x, err);
    if (status) {
        ease_interactions_free(x);
        return status;
    }
    *out = x;
    return EASE_OK;
}
