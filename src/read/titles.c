#include "read/titles.h"

#include <assert.h>
#include <string.h>

#include "read/small_table.h"
#include "text/number.h"
#include "text/roles.h"

/* All cells of the table, row by row: which columns have the ids and the titles is
 * known only at its end, and a pipe cannot be read twice. */
typedef struct cells {
    size_t columns, rows;
    char *text;
    size_t used, capacity;
    size_t *ends; /* of each cell in text */
    size_t end_capacity;
    ease__budget *budget;     /* the table's */
    int64_t *matches, *words; /* a column: values that are items; that are no numbers */
} cells;

static void free_cells(cells *c)
{
    ease__free(c->text);
    ease__free(c->ends);
    ease__free(c->matches);
    ease__free(c->words);
    *c = (cells){0};
}

static bool grow_cells(cells *c, size_t bytes)
{
    if (c->capacity - c->used <= bytes) {
        size_t capacity = ease__size_add(ease__size_mul(c->capacity, 2), bytes + 4096);
        char *grown = ease__budget_resize(c->budget, c->text, c->capacity, capacity);

        if (!grown)
            return false;
        c->text = grown;
        c->capacity = capacity;
    }
    if (c->end_capacity < (c->rows + 1) * c->columns) {
        size_t capacity = 2 * c->end_capacity + 64 * c->columns;
        size_t *grown = ease__budget_resize(c->budget, c->ends,
                                            c->end_capacity * sizeof(*grown),
                                            ease__size_mul(capacity, sizeof(*grown)));

        if (!grown)
            return false;
        c->ends = grown;
        c->end_capacity = capacity;
    }
    return true;
}

static bool add_row(cells *c, const ease__field *fields, const ease__ids *items)
{
    size_t bytes = 0, *ends;

    for (size_t i = 0; i < c->columns; i++)
        bytes += fields[i].length;
    if (!grow_cells(c, bytes))
        return false;
    ends = c->ends + c->rows * c->columns;
    for (size_t i = 0; i < c->columns; i++) {
        const ease__field *f = &fields[i];
        double number;

        memcpy(c->text + c->used, f->text, f->length);
        ends[i] = c->used += f->length;
        if (ease__ids_find(items, f->text, f->length) != EASE__NO_ID)
            c->matches[i]++;
        if (f->length &&
            ease__parse_double(f->text, f->length, &number) == EASE__NUMBER_BAD)
            c->words[i]++;
    }
    c->rows++;
    return true;
}

static ease_status read_cells(ease__table *t, const ease__ids *items, cells *c,
                              ease_error *err)
{
    ease_status status = EASE_OK;

    c->budget = ease__table_budget(t);
    c->columns = ease__table_columns(t);
    c->matches = ease__alloc_zero(c->columns, sizeof(*c->matches));
    c->words = ease__alloc_zero(c->columns, sizeof(*c->words));
    if (!c->matches || !c->words)
        return ease__fail(err, EASE_E_NOMEM, "titles of %s", ease__table_name(t));
    for (;;) {
        const ease__field *fields = NULL;
        size_t count = 0;

        status = ease__table_next(t, &fields, &count, err);
        if (status || count == 0)
            return status;
        if (!add_row(c, fields, items))
            return ease__budget_fail(c->budget, ease__table_name(t), err);
    }
}

static ease__field cell_at(const cells *c, size_t row, size_t column)
{
    size_t i = row * c->columns + column, start;

    assert(c->ends); /* there is no cell without one */
    start = i ? c->ends[i - 1] : 0;
    return (ease__field){.text = c->text + start, .length = c->ends[i] - start};
}

/* ---- which columns --------------------------------------------------------- */

static size_t choose_ids(const cells *c)
{
    size_t best = 0;

    for (size_t i = 1; i < c->columns; i++)
        if (c->matches[i] > c->matches[best])
            best = i;
    return best;
}

/* The column of titles; the number of columns if there is none. */
static size_t choose_titles(const ease__table *t, const cells *c, size_t ids)
{
    const ease__field *header = ease__table_header(t);

    for (int wanted = 2; header && wanted > 0; wanted--)
        for (size_t i = 0; i < c->columns; i++)
            if (i != ids && ease__names_title(&header[i]) == wanted)
                return i;
    for (size_t i = 0; i < c->columns; i++)
        if (i != ids && 2 * c->words[i] > (int64_t)c->rows)
            return i;
    return c->columns;
}

/* ---- text ------------------------------------------------------------------ */

size_t ease__utf8_length(const unsigned char *p, size_t left)
{
    static const struct {
        unsigned char mask, lead, low, high; /* of the second byte */
        size_t length;
    } forms[] = {
        {0x80, 0x00, 0x00, 0xff, 1}, {0xff, 0xe0, 0xa0, 0xbf, 3},
        {0xff, 0xed, 0x80, 0x9f, 3}, {0xf0, 0xe0, 0x80, 0xbf, 3},
        {0xff, 0xf0, 0x90, 0xbf, 4}, {0xff, 0xf4, 0x80, 0x8f, 4},
        {0xfc, 0xf0, 0x80, 0xbf, 4}, {0xe0, 0xc0, 0x80, 0xbf, 2},
    };

    if (p[0] == 0xc0 || p[0] == 0xc1)
        return 0;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t length = forms[i].length;

        if ((p[0] & forms[i].mask) != forms[i].lead)
            continue;
        if (length > left ||
            (length > 1 && (p[1] < forms[i].low || p[1] > forms[i].high)))
            return 0;
        for (size_t j = 2; j < length; j++)
            if ((p[j] & 0xc0) != 0x80)
                return 0;
        return length;
    }
    return 0;
}

static bool is_utf8(const ease__field *f)
{
    const unsigned char *p = (const unsigned char *)f->text;

    for (size_t i = 0; i < f->length;) {
        size_t length = ease__utf8_length(p + i, f->length - i);

        if (!length)
            return false;
        i += length;
    }
    return true;
}

size_t ease__utf8_put(const ease__field *f, char *to)
{
    size_t used = 0;

    if (is_utf8(f)) {
        if (to)
            memcpy(to, f->text, f->length);
        return f->length;
    }
    for (size_t i = 0; i < f->length; i++) { /* Latin-1: a byte is a character */
        unsigned char byte = (unsigned char)f->text[i];

        if (byte >= 0x80) {
            if (to) {
                to[used] = (char)(0xc0 | byte >> 6);
                to[used + 1] = (char)(0x80 | (byte & 0x3f));
            }
            used += 2;
        } else {
            if (to)
                to[used] = (char)byte;
            used++;
        }
    }
    return used;
}

/* ---- packing --------------------------------------------------------------- */

/* Sets row[item] to 1 + the first row with the id of the item. Returns how many items
 * have one. */
static int32_t find_rows(const cells *c, size_t ids, const ease__ids *items,
                         size_t *row)
{
    int32_t matched = 0;

    for (size_t r = 0; r < c->rows; r++) {
        ease__field id = cell_at(c, r, ids);
        int64_t item = ease__ids_find(items, id.text, id.length);

        if (item == EASE__NO_ID || row[item])
            continue;
        row[item] = r + 1;
        matched++;
    }
    return matched;
}

static void *pack(const cells *c, size_t titles, const size_t *row, int64_t items,
                  size_t *bytes)
{
    size_t head = ((size_t)items + 1) * sizeof(uint64_t), used = 0;
    uint64_t *offsets;
    char *text, *packed;

    for (int64_t i = 0; i < items; i++) {
        ease__field f = {0};

        if (row[i])
            f = cell_at(c, row[i] - 1, titles);
        used += ease__utf8_put(&f, NULL) + 1;
    }
    packed = ease__budget_resize(c->budget, NULL, 0, ease__size_add(head, used));
    if (!packed)
        return NULL;
    offsets = (uint64_t *)(void *)packed;
    text = packed + head;
    offsets[0] = 0;
    for (int64_t i = 0; i < items; i++) {
        size_t at = (size_t)offsets[i];

        if (row[i]) {
            ease__field f = cell_at(c, row[i] - 1, titles);

            at += ease__utf8_put(&f, text + at);
        }
        text[at++] = '\0';
        offsets[i + 1] = at;
    }
    *bytes = head + used;
    return packed;
}

static ease_status make_titles(const ease__table *t, const cells *c,
                               const ease__ids *items, void **packed, size_t *bytes,
                               int32_t *matched, ease_error *err)
{
    const char *name = ease__table_name(t);
    size_t ids = choose_ids(c), titles = choose_titles(t, c, ids);
    size_t *row;
    void *made;
    int32_t found;

    if (c->rows == 0 || c->matches[ids] == 0)
        return ease__fail(err, EASE_E_DATA, "%s: no column has ids of the items", name);
    if (titles == c->columns)
        return ease__fail(err, EASE_E_DATA, "%s: no column of titles", name);
    if (!ease__budget_allows(c->budget, (size_t)items->count * sizeof(*row)))
        return ease__budget_fail(c->budget, name, err);
    row = ease__alloc_zero((size_t)items->count, sizeof(*row));
    if (!row)
        return ease__fail(err, EASE_E_NOMEM, "titles of %s", name);
    found = find_rows(c, ids, items, row);
    made = pack(c, titles, row, items->count, bytes);
    ease__free(row);
    if (!made)
        return ease__budget_fail(c->budget, name, err);
    *packed = made;
    if (matched)
        *matched = found;
    return EASE_OK;
}

ease_status ease__titles_read(const char *path, const ease__ids *items, void **packed,
                              size_t *bytes, int32_t *matched, ease_error *err)
{
    ease__table *t = NULL;
    cells c = {0};
    ease_status status = ease__table_open(path, NULL, -1, NULL, &t, err);

    if (!status)
        status = read_cells(t, items, &c, err);
    if (!status)
        status = make_titles(t, &c, items, packed, bytes, matched, err);
    free_cells(&c);
    ease__table_close(t);
    return status;
}
