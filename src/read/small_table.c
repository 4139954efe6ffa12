#include "read/small_table.h"

#include <string.h>

#include "read/layout.h"

enum { READ_BYTES = 1 << 18 };

struct ease__table {
    ease__input *in;
    ease__splitter splitter;
    size_t columns;
    ease__record record;
    ease__field *header; /* into header_text */
    char *header_text;
    char *buffer;
    size_t at, end, capacity;
    ease__budget budget;
    bool ended; /* nothing is left to be read into the buffer */
    int64_t line, next_line;
};

/* ---- opening --------------------------------------------------------------- */

/* Copies the names of the header: those of the layout point into the sample, which is
 * not valid for long. */
static bool copy_header(ease__table *t, const ease__layout *l)
{
    size_t bytes = 0;
    char *to;

    if (!l->header)
        return true;
    for (size_t i = 0; i < l->fields; i++)
        bytes += l->names[i].length;
    t->header = ease__alloc_array(l->fields, sizeof(*t->header));
    t->header_text = to = ease__alloc_array(bytes, 1);
    if (!t->header || !to)
        return false;
    for (size_t i = 0; i < l->fields; i++) {
        ease__field f = l->names[i];

        memcpy(to, f.text, f.length);
        if (f.doubled)
            f.length = ease__undouble(to, f.length);
        t->header[i] = (ease__field){.text = to, .length = f.length};
        to += l->names[i].length;
    }
    return true;
}

static ease_status recognize(ease__table *t, const char *separator, int header,
                             ease_error *err)
{
    const char *sample = NULL, *name = ease__input_name(t->in);
    ease__layout l = {0};
    ease_error why = {0};
    size_t bytes = 0;
    bool whole = false;
    ease_status status = ease__sample(t->in, 0, &sample, &bytes, &whole, err);

    if (status)
        return status;
    if (memchr(sample, '\0', bytes))
        return ease__fail(err, EASE_E_PARSE, "%s: looks like a binary file", name);
    status = ease__check_blank(name, sample, bytes, whole, err);
    if (status)
        return status;
    status = ease__layout_guess(sample, bytes, whole, separator, header, false, &l,
                                &why);
    if (status)
        return ease__fail_at(err, status, why.where, "%s: %s", name, why.text);
    t->splitter = l.splitter;
    t->columns = l.fields;
    t->next_line = l.lines + 1;
    if (!copy_header(t, &l))
        status = ease__fail(err, EASE_E_NOMEM, "reading %s", name);
    ease__input_skip(t->in, l.skip);
    ease__layout_free(&l);
    return status;
}

ease_status ease__table_from(ease__input *in, const char *separator, int header,
                             ease__table **out, ease_error *err)
{
    ease__table *t = ease__alloc_zero(1, sizeof(*t));
    ease_status status;

    if (!t) {
        status = ease__fail(err, EASE_E_NOMEM, "reading %s", ease__input_name(in));
        ease__input_close(in);
        return status;
    }
    t->in = in;
    ease__budget_start(&t->budget, 0);
    status = recognize(t, separator, header, err);
    if (status) {
        ease__table_close(t);
        return status;
    }
    *out = t;
    return EASE_OK;
}

ease_status ease__table_open(const char *path, const char *separator, int header,
                             const ease_hooks *hooks, ease__table **out,
                             ease_error *err)
{
    ease__input *in = NULL;
    ease_status status = ease__input_open(path, hooks, &in, err);

    return status ? status : ease__table_from(in, separator, header, out, err);
}

void ease__table_close(ease__table *t)
{
    if (!t)
        return;
    ease__input_close(t->in);
    ease__free(t->record.fields);
    ease__free(t->header);
    ease__free(t->header_text);
    ease__free(t->buffer);
    ease__free(t);
}

/* ---- rows ------------------------------------------------------------------ */

/* Moves the rest of the text to the beginning of the buffer and reads more behind
 * it. */
static ease_status refill(ease__table *t, ease_error *err)
{
    size_t left = t->end - t->at, got = 0;
    ease_status status;

    if (left)
        memmove(t->buffer, t->buffer + t->at, left);
    t->at = 0;
    t->end = left;
    if (t->capacity - left < READ_BYTES) {
        size_t capacity = ease__size_add(ease__size_mul(t->capacity, 2), READ_BYTES);
        char *grown = ease__budget_resize(&t->budget, t->buffer, t->capacity, capacity);

        if (!grown)
            return ease__budget_fail(&t->budget, ease__table_name(t), err);
        t->buffer = grown;
        t->capacity = capacity;
    }
    status = ease__input_read(t->in, t->buffer + t->end, t->capacity - t->end, &got,
                              err);
    if (status)
        return status;
    t->ended = got < t->capacity - t->end;
    t->end += got;
    return EASE_OK;
}

static ease_status bad_row(const ease__table *t, const char *what, ease_error *err)
{
    return ease__fail_at(err, EASE_E_PARSE, t->line, "%s:%lld: %s", ease__table_name(t),
                         (long long)t->line, what);
}

/* Takes the record at the beginning of the text in the buffer. */
static ease__record_stop take_record(ease__table *t)
{
    const char *start, *p;
    ease__record_stop stop;

    t->line = t->next_line;
    if (t->at == t->end)
        return EASE__RECORD_CUT;
    p = start = t->buffer + t->at;
    stop = ease__record_next(&t->splitter, &p, t->buffer + t->end, t->ended,
                             &t->record);
    for (const char *q = start; q < p; q++)
        t->next_line += *q == '\n';
    t->at += (size_t)(p - start);
    return stop;
}

/* Takes the next record that is not a blank line; *count 0 at the end. */
static ease_status next_record(ease__table *t, size_t *count, ease_error *err)
{
    ease_status status = EASE_OK;

    *count = 0;
    while (!status) {
        switch (take_record(t)) {
        case EASE__RECORD_WHOLE:
            *count = t->record.count;
            return EASE_OK;
        case EASE__RECORD_BLANK:
            break;
        case EASE__RECORD_CUT:
            if (t->ended)
                return EASE_OK;
            status = refill(t, err);
            break;
        case EASE__RECORD_OPEN:
            return bad_row(t, "a quoted field does not end", err);
        case EASE__RECORD_JUNK:
            return bad_row(t, "text behind a closing quote", err);
        case EASE__RECORD_NOMEM:
            return ease__fail(err, EASE_E_NOMEM, "reading %s", ease__table_name(t));
        }
    }
    return status;
}

ease_status ease__table_next(ease__table *t, const ease__field **fields, size_t *count,
                             ease_error *err)
{
    ease_status status = next_record(t, count, err);

    if (status || *count == 0)
        return status;
    for (size_t i = 0; i < *count; i++) {
        ease__field *f = &t->record.fields[i];

        if (memchr(f->text, '\0', f->length))
            return bad_row(t, "a NUL byte", err);
        if (f->doubled)
            f->length = ease__undouble(t->buffer + (f->text - t->buffer), f->length);
    }
    if (*count != t->columns)
        return ease__fail_at(
            err, EASE_E_PARSE, t->line, "%s:%lld: expected %zu fields, found %zu",
            ease__table_name(t), (long long)t->line, t->columns, *count);
    *fields = t->record.fields;
    return EASE_OK;
}

int64_t ease__table_line(const ease__table *t)
{
    return t->line;
}

ease__budget *ease__table_budget(ease__table *t)
{
    return &t->budget;
}

const char *ease__table_name(const ease__table *t)
{
    return ease__input_name(t->in);
}

size_t ease__table_columns(const ease__table *t)
{
    return t->columns;
}

const ease__field *ease__table_header(const ease__table *t)
{
    return t->header;
}
