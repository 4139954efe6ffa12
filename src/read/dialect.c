#include "read/dialect.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/budget.h"
#include "read/readers.h"
#include "read/recognize.h"
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

/* As on old Macs: all of it would be one line. A CR at the very end ends one. */
static bool ends_lines_with_cr(const char *p, size_t bytes)
{
    const char *cr = bytes ? memchr(p, '\r', bytes - 1) : NULL;

    return cr && !memchr(p, '\n', bytes);
}

/* Enough is known: lines, or that there will be none to be read. */
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
        return ease__fail(err, EASE_E_DATA, "%s: empty", name);
    return ease__fail(err, EASE_E_DATA, "%s: nothing but blank lines in its first %s",
                      name, ease__size_text(bytes, seen));
}

/* ---- names ----------------------------------------------------------------- */

/* `user_id:token`, as RecBole's files have it. */
static bool has_recbole_type(const ease__field *f)
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

static bool all_have_recbole_type(const ease__field *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!has_recbole_type(&names[i]))
            return false;
    return true;
}

/* ---- the layout ------------------------------------------------------------ */

/* A number, or what would be one in another program (to be refused with its line), or a
 * date: in any case no name of a column. */
static bool looks_numeric(const ease__field *f)
{
    double value;

    return ease__parse_double(f->text, f->length, &value) != EASE__NUMBER_BAD ||
           ease__names_no_number(f) || ease__looks_like_date(f->text, f->length);
}

typedef struct text {
    const char *at, *end;
    bool whole;
} text;

/* The next record that is not a blank line; false: there is none, or no memory. */
static bool next_record(text *t, const ease__splitter *s, ease__record *r, bool *nomem)
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

static agreement measure(text t, const ease__splitter *s, ease__record *r, bool *nomem)
{
    agreement a = {0};

    while (a.lines < STUDIED_LINES && next_record(&t, s, r, nomem)) {
        if (a.lines++ == 0)
            a.first = r->count;
        if (r->count == a.first)
            a.agreeing++;
        if (r->count > a.most)
            a.most = r->count;
    }
    return a;
}

/* Of the separators that split the first line, the one whose lines agree best. A
 * space is only tried where no other does: names and titles have spaces. */
static void guess_splitter(text t, ease__splitter *out, agreement *best,
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

/* How often each column below the first line has a number. */
static size_t count_numeric(text t, const ease__splitter *s, size_t fields,
                            size_t *numeric, ease__record *r, bool *nomem)
{
    size_t lines = 0;

    while (lines < STUDIED_LINES && next_record(&t, s, r, nomem)) {
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

/* Words above numbers are a header. */
static bool has_header(const ease__record *first, bool pairs, const size_t *numeric,
                       size_t lines)
{
    if (has_known_names(first, pairs) ||
        all_have_recbole_type(first->fields, first->count))
        return true;
    for (size_t i = 0; i < first->count; i++)
        if (lines && numeric[i] == lines && !looks_numeric(&first->fields[i]))
            return true;
    return false;
}

/* Fills what depends on the header, given where the first record begins and ends. */
static ease_status settle_header(ease__layout *l, int header, bool pairs,
                                 const char *sample, const char *start, text after,
                                 ease__record *first, ease_error *err)
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

/* Where the first record begins: behind blank lines. */
static const char *first_record(text *t, const ease__splitter *s, ease__record *r,
                                bool *nomem)
{
    const char *start = t->at;

    while (ease__record_next(s, &t->at, t->end, t->whole, r) == EASE__RECORD_BLANK)
        start = t->at;
    t->at = start;
    return next_record(t, s, r, nomem) ? start : NULL;
}

ease_status ease__layout_guess(const char *sample, size_t bytes, bool whole,
                               const char *separator, int header, bool pairs,
                               ease__layout *out, ease_error *err)
{
    ease__layout l = {0};
    text t = {sample, sample + bytes, whole};
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

/* ---- what the columns mean ------------------------------------------------- */

static bool same_name(const ease__field *f, const char *name, size_t length)
{
    const char *colon = has_recbole_type(f) ? memchr(f->text, ':', f->length) : NULL;
    size_t bare = colon ? (size_t)(colon - f->text) : f->length;

    return (f->length == length && strncasecmp(f->text, name, length) == 0) ||
           (bare == length && strncasecmp(f->text, name, length) == 0);
}

/* "userId, movieId, rating": for a message. */
static void list_names(const ease__layout *l, char *to, size_t room)
{
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; l->names && i < l->fields && used < room; i++) {
        char shown[EASE__EXCERPT_CHARS];

        used += (size_t)snprintf(
            to + used, room - used, "%s%s", i ? ", " : "",
            ease__excerpt(l->names[i].text, l->names[i].length, shown));
    }
}

static ease_status find_column(const ease__layout *l, const char *input,
                               const char *name, size_t length, int *out,
                               ease_error *err)
{
    char shown[EASE__EXCERPT_CHARS], names[256];
    int64_t number;

    ease__excerpt(name, length, shown);
    if (ease__parse_int(name, length, &number) == EASE__NUMBER_OK) {
        if (number < 1 || (uint64_t)number > l->fields)
            return ease__fail(err, EASE_E_ARG, "%s: no column %s: there are %zu", input,
                              shown, l->fields);
        *out = (int)number - 1;
        return EASE_OK;
    }
    for (size_t i = 0; l->header && i < l->fields; i++) {
        if (same_name(&l->names[i], name, length)) {
            *out = (int)i;
            return EASE_OK;
        }
    }
    if (!l->header)
        return ease__fail(err, EASE_E_ARG,
                          "%s: no column '%s': without a header, columns are numbers "
                          "from 1",
                          input, shown);
    list_names(l, names, sizeof(names));
    return ease__fail(err, EASE_E_ARG, "%s: no column '%s' in the header: %s", input,
                      shown, names);
}

/* Is none of the columns there twice? */
static bool all_differ(const ease__dialect *d)
{
    const ease_columns *c = &d->columns;
    const int column[] = {c->user, c->item, c->value, c->time};

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            if (column[i] >= 0 && column[i] == column[j])
                return false;
    return true;
}

/* "USER,ITEM[,VALUE[,TIME]]"; the value may be empty before a time. */
static ease_status set_columns(ease__dialect *d, const char *input, const char *columns,
                               ease_error *err)
{
    ease_columns *c = &d->columns;
    int *place[] = {&c->user, &c->item, &c->value, &c->time};
    int count = 0;
    const char *p = columns;

    for (;;) {
        size_t length = strcspn(p, ",");
        bool no_value = count == 2 && length == 0 && p[0];
        ease_status status = EASE_OK;

        if (count == 4 || (length == 0 && !no_value))
            return ease__fail(err, EASE_E_ARG,
                              "columns '%.80s': not USER,ITEM[,VALUE[,TIME]]", columns);
        if (!no_value)
            status = find_column(&d->layout, input, p, length, place[count], err);
        count++;
        if (status)
            return status;
        if (!p[length])
            break;
        p += length + 1;
    }
    if (count < 2 || !all_differ(d))
        return ease__fail(err, EASE_E_ARG,
                          "columns '%.80s': two to four different ones are needed",
                          columns);
    return EASE_OK;
}

static bool is_adjacency(const ease__dialect *d, const ease_read_options *o)
{
    const ease__layout *l = &d->layout;
    bool tabs = l->splitter.kind == EASE__SPLIT_BYTE && l->splitter.text[0] == '\t';

    if (o->format)
        return strcmp(o->format, "adjacency") == 0;
    if (l->header || o->columns)
        return false;
    if (tabs)
        return l->uneven;
    if (l->splitter.kind != EASE__SPLIT_BLANKS)
        return false;
    return l->varied || l->fields > 4 || (l->fields > 2 && !l->numeric[2]);
}

ease_status ease__check_no_table(const char *name, const char *form, bool separated,
                                 const ease_read_options *o, ease_error *err)
{
    const char *given = o->columns                   ? "columns are"
                        : o->header > 0              ? "a header is"
                        : o->separator && !separated ? "a separator is"
                                                     : NULL;

    if (!given)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "%s: %s for tables alone; this is %s", name,
                      given, form);
}

/* ---- in words -------------------------------------------------------------- */

static const char *kind_of_table(const ease__layout *l, char *room, size_t bytes)
{
    const char *s = l->splitter.text;

    if (l->splitter.kind == EASE__SPLIT_BLANKS)
        return "space-separated table";
    if (strcmp(s, ",") == 0)
        return "CSV";
    if (strcmp(s, "\t") == 0)
        return "TSV";
    snprintf(room, bytes, "table separated by '%s'", s);
    return room;
}

static bool describe(ease__dialect *d, const char *coding, bool timed)
{
    const ease__layout *l = &d->layout;
    bool recbole = l->header && all_have_recbole_type(l->names, l->fields);
    char kind[64], columns[300], all[400];

    if (d->adjacency) {
        snprintf(all, sizeof(all), "%sadjacency lines", coding);
    } else {
        ease__describe_columns(&d->columns, l->header ? l->names : NULL, timed, columns,
                               sizeof(columns));
        snprintf(all, sizeof(all), "%s%s %s header: %s", coding,
                 recbole ? "RecBole .inter" : kind_of_table(l, kind, sizeof(kind)),
                 l->header ? "with" : "without", columns);
    }
    d->recognized = ease__copy_string(all);
    return d->recognized != NULL;
}

/* ---- all of it ------------------------------------------------------------- */

/* False: no memory. */
static bool survey_rows(const ease__layout *l, const char *sample, size_t bytes,
                        bool whole, ease__survey *s)
{
    text t = {sample + l->skip, sample + bytes, whole};
    ease__record r = {0};
    bool nomem = false, more = true;

    while (more && next_record(&t, &l->splitter, &r, &nomem))
        if (r.count == l->fields)
            more = ease__survey_add(s, r.fields);
    ease__free(r.fields);
    return !nomem;
}

static ease_status recognize_columns(ease__dialect *d, const char *name,
                                     const char *sample, size_t bytes, bool whole,
                                     const ease_read_options *o, ease_error *err)
{
    const ease__layout *l = &d->layout;
    ease__survey s = {0};
    ease_error why = {0};
    ease_status status;

    if (!ease__survey_start(&s, l->fields) ||
        !survey_rows(l, sample, bytes, whole, &s)) {
        ease__survey_free(&s);
        return ease__fail(err, EASE_E_NOMEM, "recognizing columns");
    }
    status = ease__recognize(&s, l->header ? l->names : NULL, o->columns_option,
                             &d->columns, &why);
    ease__survey_free(&s);
    if (status)
        return ease__fail_at(err, status, why.where,
                             why.where >= 0 ? "%s:1: %s" : "%s: %s", name, why.text);
    d->guessed = true;
    return EASE_OK;
}

ease_status ease__dialect_guess(const char *name, const char *coding,
                                const char *sample, size_t bytes, bool whole,
                                const ease_read_options *o, bool timed,
                                ease__dialect *out, ease_error *err)
{
    ease__dialect d = {.columns = {.user = -1, .item = -1, .value = -1, .time = -1}};
    bool adjacency = o->format && strcmp(o->format, "adjacency") == 0;
    const char *separator = o->separator ? o->separator : adjacency ? " " : NULL;
    ease_error why = {0};
    ease_status status = ease__layout_guess(sample, bytes, whole, separator,
                                            adjacency ? 0 : o->header, true, &d.layout,
                                            &why);

    if (status == EASE_E_PARSE)
        return ease__fail_at(err, status, 1, "%s:1: %s", name, why.text);
    if (status)
        return ease__fail(err, status, "%s: %s", name, why.text);
    d.adjacency = is_adjacency(&d, o);
    if (d.adjacency && !o->separator)
        (void)ease__splitter_make(" ", &d.layout.splitter, NULL);
    if (d.adjacency)
        status = ease__check_no_table(name, "adjacency lines", true, o, err);
    else if (o->columns)
        status = set_columns(&d, name, o->columns, err);
    else
        status = recognize_columns(&d, name, sample, bytes, whole, o, err);
    /* A time is named where a value is missed: it may have been meant. */
    if (!status &&
        !describe(&d, coding, timed || (ease__wants_values(o) && d.columns.value < 0)))
        status = ease__fail(err, EASE_E_NOMEM, "recognizing columns");
    if (status) {
        ease__dialect_free(&d);
        return status;
    }
    *out = d;
    return EASE_OK;
}

void ease__dialect_free(ease__dialect *d)
{
    ease__layout_free(&d->layout);
    ease__free(d->recognized);
    *d = (ease__dialect){0};
}
