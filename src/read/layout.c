#include "read/layout.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/budget.h"
#include "text/moment.h"
#include "text/number.h"
#include "text/roles.h"

enum {
    SAMPLE_BYTES = 1 << 18,
    SAMPLE_LINES = 20, /* that a sample has at least, if the input has */
    STUDIED_LINES = 1000
};

/* ---- the sample ------------------------------------------------------------ */

static size_t count_lines(const char *p, size_t bytes, size_t enough)
{
    const char *end = p + bytes;
    size_t lines = 0;

    while (lines < enough && (p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        p++;
    }
    return lines;
}

/* True if lines end with CR alone, as on old Macs: the text would be one line. A CR at
 * the very end is a line end cut in two. */
static bool ends_lines_with_cr(const char *p, size_t bytes)
{
    const char *cr = bytes ? memchr(p, '\r', bytes - 1) : NULL;

    return cr && !memchr(p, '\n', bytes);
}

/* True if the sample has enough lines, or shows that the input has none that could be
 * read. */
static bool is_enough(const char *p, size_t bytes)
{
    size_t wanted = bytes >= 64 * (size_t)SAMPLE_BYTES ? 2 : SAMPLE_LINES;

    return count_lines(p, bytes, wanted) == wanted || memchr(p, '\0', bytes) ||
           ends_lines_with_cr(p, bytes);
}

ease_status ease__sample(ease__input *in, size_t limit, const char **data,
                         size_t *bytes, bool *whole, ease_error *err)
{
    char seen[EASE__SIZE_CHARS], most[EASE__SIZE_CHARS];
    size_t want = SAMPLE_BYTES;

    limit = ease__memory_limit(limit);
    for (;;) {
        ease_status status = ease__input_peek(in, want, data, bytes, err);

        if (status)
            return status;
        *whole = *bytes < want;
        if (*whole || is_enough(*data, *bytes))
            return EASE_OK;
        /* Lines of any length: adjacency lines can be long, but some are needed. What
         * was peeked at will be in a block too. */
        want = ease__size_mul(want, 2);
        if (want > limit / 2)
            return ease__fail(
                err, EASE_E_MEMORY_LIMIT,
                "%s: no memory for lines as long as these, %zu in the "
                "first %s; the limit is %s",
                ease__input_name(in), count_lines(*data, *bytes, SIZE_MAX),
                ease__size_text(*bytes, seen), ease__size_text(limit, most));
    }
}

ease_status ease__check_blank(const char *name, const char *sample, size_t bytes,
                              bool whole, ease_error *err)
{
    char seen[EASE__SIZE_CHARS];
    size_t at = bytes >= 3 && memcmp(sample, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < bytes && (sample[at] == ' ' || sample[at] == '\t' ||
                          sample[at] == '\r' || sample[at] == '\n'))
        at++;
    if (at < bytes)
        return EASE_OK;
    if (whole)
        return ease__fail_empty(err, "%s: empty", name);
    return ease__fail(err, EASE_E_DATA, "%s: nothing but blank lines in its first %s",
                      name, ease__size_text(bytes, seen));
}

/* ---- names ----------------------------------------------------------------- */

bool ease__has_recbole_type(const ease__field *f)
{
    static const char *const types[] = {"token", "token_seq", "float", "float_seq"};
    const char *colon = memchr(f->text, ':', f->length);
    size_t left;

    if (!colon)
        return false;
    left = f->length - (size_t)(colon + 1 - f->text);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (left == strlen(types[i]) && memcmp(colon + 1, types[i], left) == 0)
            return true;
    return false;
}

bool ease__all_have_recbole_type(const ease__field *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ease__has_recbole_type(&names[i]))
            return false;
    return true;
}

/* ---- the layout ------------------------------------------------------------ */

/* True for a number, a date, or a text that other programs take for a number (reading
 * will refuse it, with its line): none of these is the name of a column. */
static bool looks_numeric(const ease__field *f)
{
    double value;

    return ease__parse_decimal(f->text, f->length, true, &value) != EASE__NUMBER_BAD ||
           ease__names_no_number(f) || ease__looks_like_date(f->text, f->length);
}

bool ease__sample_next(ease__sample_rest *t, const ease__splitter *s, ease__record *r,
                       bool *nomem)
{
    for (;;) {
        switch (ease__record_next(s, &t->at, t->end, t->whole, r)) {
        case EASE__RECORD_WHOLE:
            return true;
        case EASE__RECORD_BLANK:
            break;
        case EASE__RECORD_NOMEM:
            *nomem = true;
            return false;
        case EASE__RECORD_JUNK: /* to be found again, with its line, when read */
        case EASE__RECORD_OPEN:
        case EASE__RECORD_CUT:
            return false;
        }
    }
}

typedef struct agreement {
    size_t first; /* fields of the first record */
    size_t lines, agreeing;
    size_t most; /* fields of any */
} agreement;

static agreement measure(ease__sample_rest t, const ease__splitter *s, ease__record *r,
                         bool *nomem)
{
    agreement a = {0};

    while (a.lines < STUDIED_LINES && ease__sample_next(&t, s, r, nomem)) {
        if (a.lines++ == 0)
            a.first = r->count;
        if (r->count == a.first)
            a.agreeing++;
        if (r->count > a.most)
            a.most = r->count;
    }
    return a;
}

/* Chooses, of the separators that split the first line, the one with which most lines
 * have the same number of fields. A space is only tried if no other splits the line, as
 * names and titles have spaces. */
static void guess_splitter(ease__sample_rest t, ease__splitter *out, agreement *best,
                           ease__record *r, bool *nomem)
{
    static const char *const tried[] = {"\t", "::", ",", ";", "|"};
    bool found = false;

    for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
        ease__splitter s = {0};
        agreement a;

        (void)ease__splitter_make(tried[i], &s, NULL); /* these are all fine */
        a = measure(t, &s, r, nomem);
        if (a.first < 2 ||
            (found && a.agreeing * best->lines <= best->agreeing * a.lines))
            continue;
        found = true;
        *best = a;
        *out = s;
    }
    if (!found) {
        (void)ease__splitter_make(" ", out, NULL);
        *best = measure(t, out, r, nomem);
    }
}

/* Counts the numbers in each column below the first line. Returns the lines counted. */
static size_t count_numeric(ease__sample_rest t, const ease__splitter *s, size_t fields,
                            size_t *numeric, ease__record *r, bool *nomem)
{
    size_t lines = 0;

    while (lines < STUDIED_LINES && ease__sample_next(&t, s, r, nomem)) {
        lines++;
        for (size_t i = 0; i < fields && i < r->count; i++)
            numeric[i] += looks_numeric(&r->fields[i]);
    }
    return lines;
}

static bool has_known_names(const ease__record *first, bool pairs)
{
    bool user = false, item = false, title = false;

    for (size_t i = 0; i < first->count; i++) {
        ease__naming is = ease__name_role(&first->fields[i]);

        user = user || is.role == EASE__ROLE_USER;
        item = item ||
               (is.role == EASE__ROLE_ITEM && (pairs || is.tier == EASE__TIER_STRONG));
        title = title || ease__names_title(&first->fields[i]) == 2;
    }
    return pairs ? user && item : item || title;
}

/* True if the first record is a header: it has known names, or words above numbers. */
static bool has_header(const ease__record *first, bool pairs, const size_t *numeric,
                       size_t lines)
{
    if (has_known_names(first, pairs) ||
        ease__all_have_recbole_type(first->fields, first->count))
        return true;
    for (size_t i = 0; i < first->count; i++)
        if (lines && numeric[i] == lines && !looks_numeric(&first->fields[i]))
            return true;
    return false;
}

/* Decides whether there is a header, and sets the members of the layout that depend on
 * it. The first record begins at `start`; `after` is the rest of the sample. */
static ease_status settle_header(ease__layout *l, int header, bool pairs,
                                 const char *sample, const char *start,
                                 ease__sample_rest after, ease__record *first,
                                 ease_error *err)
{
    size_t *below = ease__alloc_zero(l->fields, sizeof(*below));
    ease__record scratch = {0};
    bool nomem = false;
    size_t lines = 0;

    l->numeric = ease__alloc_zero(l->fields, 1);
    nomem = !below || !l->numeric;
    if (!nomem)
        lines = count_numeric(after, &l->splitter, l->fields, below, &scratch, &nomem);
    if (!nomem) {
        l->header = header < 0 ? has_header(first, pairs, below, lines) : header != 0;
        for (size_t i = 0; i < l->fields; i++) {
            size_t count = below[i];

            if (!l->header)
                count += looks_numeric(&first->fields[i]);
            l->numeric[i] = 2 * count > lines + !l->header;
        }
        l->skip = (size_t)((l->header ? after.at : start) - sample);
        l->lines = (int64_t)count_lines(sample, l->skip, SIZE_MAX);
        if (l->header) {
            l->names = first->fields; /* taken over */
            *first = (ease__record){0};
        }
    }
    ease__free(scratch.fields);
    ease__free(below);
    return nomem ? ease__fail(err, EASE_E_NOMEM, "recognizing columns") : EASE_OK;
}

/* Takes the first record. Returns where it begins, after blank lines; NULL: none. */
static const char *first_record(ease__sample_rest *t, const ease__splitter *s,
                                ease__record *r, bool *nomem)
{
    const char *start = t->at;

    while (ease__record_next(s, &t->at, t->end, t->whole, r) == EASE__RECORD_BLANK)
        start = t->at;
    t->at = start;
    return ease__sample_next(t, s, r, nomem) ? start : NULL;
}

ease_status ease__layout_guess(const char *sample, size_t bytes, bool whole,
                               const char *separator, int header, bool pairs,
                               ease__layout *out, ease_error *err)
{
    ease__layout l = {0};
    ease__sample_rest t = {sample, sample + bytes, whole};
    ease__record r = {0};
    agreement a = {0};
    bool nomem = false;
    const char *start = NULL;
    ease_status status = EASE_OK;

    if (ends_lines_with_cr(sample, bytes))
        return ease__fail_at(err, EASE_E_PARSE, 1,
                             "lines end with CR alone; LF or CR LF is needed");
    if (bytes >= 3 && memcmp(sample, "\xef\xbb\xbf", 3) == 0)
        t.at += 3; /* the mark of UTF-8 */
    if (separator)
        status = ease__splitter_make(separator, &l.splitter, err);
    else
        guess_splitter(t, &l.splitter, &a, &r, &nomem);
    if (!status && separator)
        a = measure(t, &l.splitter, &r, &nomem);
    if (!status && !nomem)
        start = first_record(&t, &l.splitter, &r, &nomem);
    l.fields = r.count;
    l.varied = a.agreeing < a.lines;
    l.uneven = 2 * a.agreeing < a.lines;
    if (!status && nomem)
        status = ease__fail(err, EASE_E_NOMEM, "recognizing columns");
    else if (!status && !start)
        status = ease__fail_at(err, EASE_E_PARSE, 1, "quotes that do not match");
    if (!status)
        status = settle_header(&l, header, pairs, sample, start, t, &r, err);
    ease__free(r.fields);
    if (status) {
        ease__layout_free(&l);
        return status;
    }
    *out = l;
    return EASE_OK;
}

void ease__layout_free(ease__layout *l)
{
    ease__free(l->names);
    ease__free(l->numeric);
    *l = (ease__layout){0};
}

/* ---- interactions ---------------------------------------------------------- */

static ease_status check_text(const char *name, const char *sample, size_t bytes,
                              ease_error *err)
{
    if (bytes >= 4 && memcmp(sample, "PAR1", 4) == 0)
        return ease__fail(
            err, EASE_E_PARSE,
            "%s: a Parquet file; convert it to CSV: duckdb -csv -c \"FROM "
            "'%s'\"",
            name, name);
    if (memchr(sample, '\0', bytes))
        return ease__fail(err, EASE_E_PARSE,
                          "%s: looks like a binary file, or like UTF-16 without its "
                          "mark",
                          name);
    return EASE_OK;
}

ease_status ease__layout_of_pairs(const ease__reading *r, const char *separator,
                                  int header, ease__layout *out, ease_error *err)
{
    const char *name = ease__input_name(r->in);
    ease_error why = {0};
    ease_status status = check_text(name, r->sample, r->sample_bytes, err);

    if (status)
        return status;
    status = ease__layout_guess(r->sample, r->sample_bytes, r->whole, separator, header,
                                true, out, &why);
    if (status == EASE_E_PARSE)
        return ease__fail_at(err, status, 1, "%s:1: %s", name, why.text);
    return status ? ease__fail(err, status, "%s: %s", name, why.text) : EASE_OK;
}
