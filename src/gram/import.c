/* Gram matrices that were made elsewhere: a table of item,item,value or a dense .npy.
 * Everything is read into float64 entries and checked; what turns out to be counts
 * becomes exact integers. */
#include <math.h>
#include <string.h>

#include "data/input.h"
#include "data/npy.h"
#include "data/number.h"
#include "data/table.h"
#include "gram/gram.h"

typedef struct importing {
    const char *path;
    const ease_train_options *o; /* NULL: defaults */
    bool fixed;                  /* the items came from a file of their own */
    ease_gram *g;
    uint8_t *given; /* a bit for each ordered pair; tables only */
} importing;

static const ease_hooks *hooks_of(const importing *m)
{
    return m->o ? &m->o->hooks : NULL;
}

static const char *id_of(const importing *m, int32_t item)
{
    return ease__ids_at(&m->g->ids, item);
}

static ease_status no_memory(const importing *m, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "importing %s", m->path);
}

static double *entry(const ease__tiled *t, int32_t i, int32_t j)
{
    int32_t high = i > j ? i : j, low = i > j ? j : i;

    return (double *)ease__tile(t, high / t->edge, low / t->edge) +
           (size_t)(high % t->edge) * (size_t)t->edge + (size_t)(low % t->edge);
}

/* ---- items ------------------------------------------------------------------------ */

/* One line of the file of items, without its end. */
static ease_status add_item(importing *m, const char *path, const char *line,
                            size_t length, int64_t number, ease_error *err)
{
    if (length && line[length - 1] == '\r')
        length--;
    if (length == 0)
        return EASE_OK;
    if (memchr(line, '\0', length))
        return ease__fail_at(err, EASE_E_PARSE, number, "%s:%lld: a NUL byte", path,
                             (long long)number);
    if (ease__ids_find(&m->g->ids, line, length) >= 0)
        return ease__fail_at(err, EASE_E_PARSE, number, "%s:%lld: an item stands twice",
                             path, (long long)number);
    return ease__ids_add(&m->g->ids, line, length) < 0 ? no_memory(m, err) : EASE_OK;
}

static ease_status read_lines(importing *m, ease__input *in, const char *path,
                              ease_error *err)
{
    size_t want = 1 << 20, got = 0;
    const char *text = NULL, *end, *at;
    int64_t number = 0;
    ease_status status;

    /* All of it: a list of items is small beside their matrix. */
    do {
        want *= 2;
        status = ease__input_peek(in, want, &text, &got, err);
    } while (!status && got == want);
    if (!status && got >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* the mark of UTF-8 */
        got -= 3;
    }
    for (at = text, end = text ? text + got : text; !status && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        if (!stop)
            stop = end;
        status = add_item(m, path, at, (size_t)(stop - at), number + 1, err);
        at = stop < end ? stop + 1 : end;
    }
    return status;
}

static ease_status read_items(importing *m, const char *path, ease_error *err)
{
    ease__input *in = NULL;
    ease_status status = ease__input_open(path, hooks_of(m), &in, err);

    if (!status)
        status = read_lines(m, in, path, err);
    ease__input_close(in);
    if (!status && m->g->ids.count == 0)
        status = ease__fail(err, EASE_E_DATA, "%s: no items", path);
    if (!status && m->g->ids.count > INT32_MAX)
        status = ease__fail(err, EASE_E_TOO_LARGE, "%s: more than 2^31 - 1 items",
                            path);
    m->fixed = true;
    return status;
}

static ease_status check_memory(const importing *m, size_t bytes, ease_error *err)
{
    size_t limit = m->o ? m->o->memory_limit : 0;

    return ease__memory_check("importing", (int32_t)m->g->ids.count, bytes,
                              ease__memory_allowed(limit, 0), err);
}

/* `beside` is what else is needed while it is filled. */
static ease_status make_matrix(importing *m, size_t beside, ease_error *err)
{
    int32_t n = (int32_t)m->g->ids.count;
    ease_status status = check_memory(
        m, ease__size_add(ease__tiled_bytes(n, EASE__F64), beside), err);

    return status ? status : ease__tiled_new(n, EASE__F64, &m->g->g, err);
}

/* ---- a dense array ------------------------------------------------------------------ */

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

/* Sums in another order may differ in their last digits, counts may not. */
static bool same(double a, double b)
{
    if (a == floor(a) && b == floor(b))
        return a == b;
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

/* Row i: what lies right of the diagonal is kept, what lies left must agree with it. */
static ease_status take_row(importing *m, const ease__npy *form, int32_t i,
                            const unsigned char *row, ease_error *err)
{
    for (int32_t j = 0; j < m->g->g.n; j++) {
        double value = ease__npy_double(form, row + (size_t)j * form->size);
        double *at = entry(&m->g->g, i, j);

        if (!isfinite(value))
            return ease__fail(err, EASE_E_DATA, "%s: row %d, column %d is not finite",
                              m->path, (int)i + 1, (int)j + 1);
        if (j >= i)
            *at = value;
        else if (!same(*at, value))
            return ease__fail(
                err, EASE_E_DATA,
                "%s: not symmetric: row %d, column %d is %.9g, but %.9g on "
                "the other side",
                m->path, (int)i + 1, (int)j + 1, value, *at);
    }
    return EASE_OK;
}

static ease_status read_array(importing *m, ease__input *in, ease_error *err)
{
    ease__npy form;
    size_t row_bytes;
    unsigned char *row = NULL;
    ease_status status = ease__npy_head(input_source, in, m->path, &form, err);

    if (status)
        return status;
    if (form.dimensions != 2 || form.shape[0] != form.shape[1])
        return ease__fail(err, EASE_E_DATA, "%s: not a square matrix", m->path);
    if (!ease__npy_is_number(&form))
        return ease__fail(err, EASE_E_DATA, "%s: not an array of numbers", m->path);
    if (!m->fixed)
        return ease__fail(err, EASE_E_ARG,
                          "%s: an array has no ids: a file of items is required",
                          m->path);
    if (form.shape[0] != (size_t)m->g->ids.count)
        return ease__fail(err, EASE_E_DATA, "%s: %zu rows for %lld items", m->path,
                          form.shape[0], (long long)m->g->ids.count);
    status = make_matrix(m, 0, err);
    if (status)
        return status;
    row_bytes = form.shape[1] * form.size;
    row = ease__alloc_array(row_bytes, 1);
    if (!row)
        return no_memory(m, err);
    for (int32_t i = 0; !status && i < m->g->g.n; i++) {
        status = input_source(in, row, row_bytes, err);
        if (!status)
            status = take_row(m, &form, i, row, err);
        if (!status && ease__progress(hooks_of(m), ease__stage_reading,
                                      (double)i / (double)m->g->g.n))
            status = ease__cancelled(err);
    }
    ease__free(row);
    return status;
}

/* ---- a table -------------------------------------------------------------------------- */

typedef struct triplet {
    uint32_t i, j;
    int64_t line;
    double value;
} triplet;

typedef struct triplets {
    triplet *at;
    size_t count, room;
} triplets;

static ease_status bad_line(const importing *m, int64_t line, const char *what,
                            ease_error *err)
{
    return ease__fail_at(err, EASE_E_PARSE, line, "%s:%lld: %s", m->path,
                         (long long)line, what);
}

static ease_status parse_item(importing *m, const ease__field *f, int64_t line,
                              uint32_t *out, ease_error *err)
{
    int64_t at = m->fixed ? ease__ids_find(&m->g->ids, f->text, f->length)
                          : ease__ids_add(&m->g->ids, f->text, f->length);
    char shown[EASE__EXCERPT_ROOM];

    if (f->length == 0)
        return bad_line(m, line, "an empty item", err);
    if (at < 0 && m->fixed)
        return ease__fail_at(err, EASE_E_DATA, line,
                             "%s:%lld: item '%s' is not in the list of items", m->path,
                             (long long)line, ease__excerpt(f->text, f->length, shown));
    if (at < 0)
        return no_memory(m, err);
    if (at >= INT32_MAX)
        return ease__fail(err, EASE_E_TOO_LARGE, "%s: more than 2^31 - 1 items",
                          m->path);
    *out = (uint32_t)at;
    return EASE_OK;
}

static ease_status parse_triplet(importing *m, const ease__field *f, int64_t line,
                                 triplet *out, ease_error *err)
{
    triplet t = {.line = line};
    ease_status status = parse_item(m, &f[0], line, &t.i, err);

    if (!status)
        status = parse_item(m, &f[1], line, &t.j, err);
    if (!status &&
        ease__parse_double(f[2].text, f[2].length, &t.value) != EASE__NUMBER_OK)
        status = bad_line(m, line, "the third field is not a finite number", err);
    *out = t;
    return status;
}

/* The same pair may come in both orders, with the same value; in one order, once. */
static ease_status place(importing *m, const triplet *t, ease_error *err)
{
    size_t n = (size_t)m->g->g.n, bit = t->i * n + t->j, mirror = t->j * n + t->i;
    double *at = entry(&m->g->g, (int32_t)t->i, (int32_t)t->j);

    if (m->given[bit / 8] >> bit % 8 & 1)
        return bad_line(m, t->line, "this pair stands twice", err);
    m->given[bit / 8] |= (uint8_t)(1u << bit % 8);
    if (bit != mirror && m->given[mirror / 8] >> mirror % 8 & 1 && !same(*at, t->value))
        return ease__fail_at(err, EASE_E_DATA, t->line,
                             "%s:%lld: not symmetric: %.9g here, %.9g for the same "
                             "items in the other order",
                             m->path, (long long)t->line, t->value, *at);
    *at = t->value;
    return EASE_OK;
}

static ease_status make_places(importing *m, ease_error *err)
{
    size_t n = (size_t)m->g->ids.count;
    ease_status status = make_matrix(m, n * n / 8, err);

    if (status)
        return status;
    m->given = ease__alloc_zero(n * n / 8 + 1, 1);
    return m->given ? EASE_OK : no_memory(m, err);
}

/* Where the items are not known before, triplets wait until all have been seen. */
static ease_status keep(importing *m, triplets *all, const triplet *t, ease_error *err)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 4096;
        triplet *grown;
        ease_status status = check_memory(m, room * sizeof(*grown), err);

        if (status)
            return status;
        grown = ease__realloc_array(all->at, room, sizeof(*grown));
        if (!grown)
            return no_memory(m, err);
        all->at = grown;
        all->room = room;
    }
    all->at[all->count++] = *t;
    return EASE_OK;
}

static ease_status read_rows(importing *m, ease__table *t, triplets *all,
                             ease_error *err)
{
    const ease__field *fields;
    size_t count = 1;
    ease_status status = EASE_OK;

    while (!status && count > 0) {
        triplet one;

        status = ease__table_next(t, &fields, &count, err);
        if (status || count == 0)
            break;
        status = parse_triplet(m, fields, ease__table_line(t), &one, err);
        if (!status)
            status = m->fixed ? place(m, &one, err) : keep(m, all, &one, err);
    }
    return status;
}

/* Takes the input over. */
static ease_status read_table(importing *m, ease__input *in, ease_error *err)
{
    ease__table *t = NULL;
    triplets all = {0};
    ease_status status = ease__table_from(in, NULL, -1, &t, err);

    if (!status && ease__table_columns(t) < 3)
        status = ease__fail(err, EASE_E_PARSE,
                            "%s: expected 3 fields (item, item, value), found %zu",
                            m->path, ease__table_columns(t));
    if (!status && m->fixed)
        status = make_places(m, err);
    if (!status)
        status = read_rows(m, t, &all, err);
    if (!status && !m->fixed)
        status = make_places(m, err);
    for (size_t k = 0; !status && k < all.count; k++)
        status = place(m, &all.at[k], err);
    ease__table_close(t);
    ease__free(all.at);
    return status;
}

/* ---- checks ----------------------------------------------------------------------------- */

static ease_status bad_entry(const importing *m, int32_t i, int32_t j, const char *what,
                             ease_error *err)
{
    return ease__fail(err, EASE_E_DATA, "%s: %.9g for \"%.60s\" and \"%.60s\": %s",
                      m->path, *entry(&m->g->g, i, j), id_of(m, i), id_of(m, j), what);
}

static ease_status check_diagonal(const importing *m, ease_error *err)
{
    for (int32_t i = 0; i < m->g->g.n; i++) {
        double d = *entry(&m->g->g, i, i);

        if (d < 0)
            return bad_entry(m, i, i, "a negative entry of the diagonal", err);
        if (!m->g->weighted && m->g->users >= 0 && d > (double)m->g->users)
            return bad_entry(m, i, i, "more than there are users", err);
    }
    return EASE_OK;
}

/* What no X'X can have. */
static ease_status check_entries(const importing *m, ease_error *err)
{
    const ease__tiled *t = &m->g->g;

    for (int32_t i = 0; i < t->n; i++)
        for (int32_t j = 0; j < i; j++) {
            double v = *entry(t, i, j), a = *entry(t, i, i), b = *entry(t, j, j);

            if (!m->g->weighted && v > fmin(a, b))
                return bad_entry(m, i, j, "more than one of the two has alone", err);
            if (m->g->weighted && v * v > a * b * (1 + 1e-6))
                return bad_entry(
                    m, i, j, "larger than the two entries of the diagonal allow", err);
        }
    return EASE_OK;
}

static bool are_counts(const ease__tiled *t)
{
    for (int32_t i = 0; i < t->n; i++)
        for (int32_t j = 0; j <= i; j++) {
            double v = *entry(t, i, j);

            if (!(v >= 0 && v <= UINT32_MAX && v == floor(v)))
                return false;
        }
    return true;
}

/* Counts of ones have their column sums on the diagonal. */
static ease_status take_sums(importing *m, ease_error *err)
{
    ease_gram *g = m->g;
    double total = 0;

    g->interactions = -1;
    if (g->weighted)
        return EASE_OK;
    g->sums = ease__alloc_array((size_t)g->g.n, sizeof(*g->sums));
    if (!g->sums)
        return no_memory(m, err);
    for (int32_t i = 0; i < g->g.n; i++)
        total += g->sums[i] = *entry(&g->g, i, i);
    g->interactions = (int64_t)total;
    return EASE_OK;
}

static ease_status finish(importing *m, ease_error *err)
{
    ease_gram *g = m->g;
    bool wide = m->o && m->o->precision == EASE_F64;
    ease_status status;

    g->weighted = !are_counts(&g->g);
    status = check_diagonal(m, err);
    if (!status)
        status = check_entries(m, err);
    if (!status)
        status = take_sums(m, err);
    if (status)
        return status;
    if (!g->weighted)
        ease__tiled_narrow(&g->g, EASE__U32);
    else if (!wide)
        ease__tiled_narrow(&g->g, EASE__F32);
    ease__tiled_mirror_diagonal(&g->g);
    return EASE_OK;
}

/* ---- importing ---------------------------------------------------------------------------- */

static ease_status read_matrix(importing *m, ease_error *err)
{
    ease__input *in = NULL;
    const char *sample = NULL;
    size_t got = 0;
    ease_status status = ease__input_open(m->path, hooks_of(m), &in, err);

    if (!status)
        status = ease__input_peek(in, 6, &sample, &got, err);
    if (!status && !(got == 6 && memcmp(sample, "\x93NUMPY", 6) == 0))
        return read_table(m, in, err);
    if (!status)
        status = read_array(m, in, err);
    ease__input_close(in);
    return status;
}

ease_status ease_gram_import(const char *path, const char *items, int64_t users,
                             const ease_train_options *o, ease_gram **out,
                             ease_error *err)
{
    importing m = {.path = path, .o = o};
    ease_status status;

    if (!path || !out || users < -1)
        return ease__fail(err, EASE_E_ARG, "a matrix to import is required");
    status = o ? ease__train_options_check(o, err) : EASE_OK;
    if (status)
        return status;
    m.g = ease__alloc_zero(1, sizeof(*m.g));
    if (!m.g)
        return no_memory(&m, err);
    m.g->users = users;
    if (items)
        status = read_items(&m, items, err);
    if (!status)
        status = read_matrix(&m, err);
    if (!status && m.g->ids.count == 0)
        status = ease__fail(err, EASE_E_DATA, "%s: no entries", path);
    if (!status)
        status = finish(&m, err);
    ease__free(m.given);
    if (status) {
        ease_gram_free(m.g);
        return status;
    }
    *out = m.g;
    return EASE_OK;
}
