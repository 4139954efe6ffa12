#include "read/records.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text/moment.h"
#include "text/number.h"
#include "text/roles.h"

#define INLINE static inline __attribute__((always_inline))

/* ---- scanning by words of 8 bytes ------------------------------------------ */

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (uint64_t)(unsigned char)(c))

/* Sets the top bit of each byte of w that is zero. Bytes above the lowest such byte may
 * be marked wrongly. */
INLINE uint64_t zero_bytes(uint64_t w)
{
    return (w - EACH_BYTE(1)) & ~w & EACH_BYTE(0x80);
}

INLINE uint64_t load_word(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    return w;
}

/* The first line end or `mark` from p on; a block always ends with a line end. */
INLINE const char *find_mark(const char *p, uint64_t mark)
{
    for (;; p += 8) {
        uint64_t w = load_word(p);
        uint64_t hit = zero_bytes(w ^ mark) | zero_bytes(w ^ EACH_BYTE('\n'));

        if (hit)
            return p + __builtin_ctzll(hit) / 8;
    }
}

INLINE const char *find_blank(const char *p)
{
    for (;; p += 8) {
        uint64_t w = load_word(p);
        uint64_t hit = zero_bytes(w ^ EACH_BYTE(' ')) |
                       zero_bytes(w ^ EACH_BYTE('\t')) |
                       zero_bytes(w ^ EACH_BYTE('\r')) |
                       zero_bytes(w ^ EACH_BYTE('\n'));

        if (hit)
            return p + __builtin_ctzll(hit) / 8;
    }
}

INLINE const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* ---- fields ---------------------------------------------------------------- */

/* A pair whose ids are to be looked up. Lookups miss the cache, so that some pairs are
 * collected and their slots prefetched. */
typedef struct pair {
    ease__key user, item; /* an item of length 0: the user alone */
    float value;
    double time;
} pair;

enum { PAIRS = 32 };

typedef struct cursor {
    const char *at, *end; /* end: behind the last line end of the block */
    const ease__splitter *splitter;
    uint64_t mark; /* the separator's first byte, in each byte */
    ease__block *block;
    pair pairs[PAIRS];
    int pair_count;
    ease__key user;  /* of the row before */
    ease__name item; /* of the heading */
    ease__json_shape shape;
} cursor;

/* Reports the first bad line of the block, where parsing ends. */
static bool bad_line(ease__block *b, ease_status status, const char *what)
{
    b->status = status;
    b->bad_line = b->lines;
    snprintf(b->what, sizeof(b->what), "%s", what);
    return false;
}

/* False: the line is bad. *more: another field follows on the line. */
static bool take_quoted(cursor *c, ease__name *out, bool *more)
{
    ease__field f;
    ease__field_stop stop = ease__field_next(c->splitter, &c->at, c->end, &f);

    if (stop == EASE__FIELD_OPEN || memchr(f.text, '\n', f.length))
        return bad_line(c->block, EASE_E_PARSE,
                        "a quoted field does not end on its line");
    if (stop == EASE__FIELD_JUNK)
        return bad_line(c->block, EASE_E_PARSE, "text behind a closing quote");
    out->text = f.text;
    out->length = f.length;
    if (f.doubled)
        out->length = ease__undouble(c->block->text + (f.text - c->block->text),
                                     f.length);
    *more = stop == EASE__FIELD_MORE;
    return true;
}

/* kind is a constant wherever this is expanded. */
INLINE bool take_field(cursor *c, ease__split_kind kind, ease__name *out, bool *more)
{
    const char *start = c->at, *stop;

    if (kind == EASE__SPLIT_BLANKS) {
        stop = find_blank(start);
        c->at = skip_blanks(stop);
        *more = *c->at != '\n';
        if (!*more)
            c->at++;
        *out = (ease__name){start, (size_t)(stop - start)};
        return true;
    }
    if (kind == EASE__SPLIT_BYTE && *start == '"' && c->splitter->quotes)
        return take_quoted(c, out, more);
    stop = find_mark(start, c->mark);
    if (kind == EASE__SPLIT_TEXT)
        while (*stop != '\n' &&
               memcmp(stop, c->splitter->text, c->splitter->length) != 0)
            stop = find_mark(stop + 1, c->mark);
    *more = *stop != '\n';
    c->at = stop + 1;
    if (kind == EASE__SPLIT_TEXT && *more)
        c->at = stop + c->splitter->length;
    if (!*more && stop > start && stop[-1] == '\r')
        stop--;
    *out = (ease__name){start, (size_t)(stop - start)};
    return true;
}

/* Skips an empty line, or blanks at the start of another line. */
INLINE bool skip_blank_line(cursor *c, ease__split_kind kind)
{
    const char *p = c->at;

    if (kind == EASE__SPLIT_BLANKS)
        p = c->at = skip_blanks(p);
    else if (p[0] == '\r' && p[1] == '\n')
        p++;
    if (*p != '\n')
        return false;
    c->at = p + 1;
    return true;
}

/* ---- ids and values -------------------------------------------------------- */

/* The code of an id; false: no memory. */
INLINE bool code_of(ease__newcomers *n, ease__key k, uint32_t *code)
{
    ease__slot *slot;
    bool found;

    if (ease__key_same(k, n->last)) { /* rows of one user often follow each other */
        *code = n->last_code;
        return true;
    }
    slot = ease__dictionary_slot(n->all, k, &found);
    if (found) {
        *code = slot->code;
    } else {
        slot = ease__dictionary_slot(&n->fresh, k, &found);
        *code = ~(found ? slot->code : (uint32_t)n->fresh.count);
        if (!found && !ease__dictionary_add(&n->fresh, slot, k))
            return false;
    }
    n->last = k;
    n->last_code = *code;
    return true;
}

INLINE void put_record(const ease__row_form *form, ease__block *b, uint32_t user,
                       uint32_t item, float value, double time)
{
    size_t words = ease__record_words(form->weighted, form->timed);
    uint32_t *to = b->records + b->count++ * words;

    to[0] = user;
    to[1] = item;
    if (form->weighted)
        memcpy(&to[2], &value, sizeof(value));
    if (form->timed)
        memcpy(&to[words - 2], &time, sizeof(time));
}

static bool no_memory(ease__block *b)
{
    return bad_line(b, EASE_E_NOMEM, "out of memory");
}

/* Makes records of the collected pairs. */
static bool look_up(const ease__row_form *form, cursor *c)
{
    ease__block *b = c->block;
    ease__newcomers *users = form->kind == EASE__ROWS_TRIPLETS ? &b->items : &b->users;

    for (int i = 0; i < c->pair_count; i++) {
        const pair *p = &c->pairs[i];
        uint32_t user, item;

        if (!code_of(users, p->user, &user))
            return no_memory(b);
        if (p->item.length == 0)
            continue;
        if (!code_of(&b->items, p->item, &item))
            return no_memory(b);
        put_record(form, b, user, item, p->value, p->time);
    }
    c->pair_count = 0;
    return true;
}

INLINE void fetch_ahead(const ease__newcomers *n, ease__key k)
{
    const ease__slots *slots = ease__dictionary_slots(n->all);

    __builtin_prefetch(&slots->at[ease__dictionary_home(n->all, slots, k.bits)]);
}

/* The key of a user, which the next row's is compared with. */
INLINE ease__key user_key(cursor *c, ease__name user)
{
    ease__key k;

    /* Before hashing, which long ids need. */
    if (user.length > 8 && user.length == c->user.length && c->user.text &&
        memcmp(user.text, c->user.text, user.length) == 0)
        return c->user;
    k = ease__key_of(c->block->users.all, user.text, user.length);
    if (k.length <= 8 && k.bits == c->user.bits && c->user.length <= 8)
        return k;
    fetch_ahead(&c->block->users, k);
    c->user = k;
    return k;
}

/* An item of length 0 stands for none. */
INLINE bool add_pair(const ease__row_form *form, cursor *c, ease__key user,
                     ease__name item, float value, double time)
{
    pair *p = &c->pairs[c->pair_count++];

    p->user = user;
    p->value = value;
    p->time = time;
    p->item.length = 0;
    if (item.length) {
        p->item = ease__key_of(c->block->items.all, item.text, item.length);
        fetch_ahead(&c->block->items, p->item);
    }
    return c->pair_count < PAIRS || look_up(form, c);
}

static bool bad_value(ease__block *b, ease__name v, ease__number_fault fault)
{
    char shown[EASE__EXCERPT_CHARS], what[EASE__BLOCK_WHAT];

    snprintf(what, sizeof(what),
             v.length == 0                 ? "the value is empty"
             : fault == EASE__NUMBER_RANGE ? "'%s' is out of range"
                                           : "'%s' is not a number",
             ease__excerpt(v.text, v.length, shown));
    return bad_line(b, EASE_E_PARSE, what);
}

/* Most values are a digit, or a digit, a point and a digit. */
INLINE bool value_of(const ease__row_form *form, ease__block *b, ease__name v,
                     double *out)
{
    unsigned first, third;
    ease__number_fault fault;

    assert(v.text); /* of a form with values every row has one */
    first = (unsigned char)v.text[0] - (unsigned)'0';
    if (v.length == 1 && first < 10) {
        *out = (double)first;
        return true;
    }
    third = (unsigned char)v.text[2] - (unsigned)'0';
    if (v.length == 3 && first < 10 && v.text[1] == '.' && third < 10) {
        *out = (double)(10 * first + third) / 10.0;
        return true;
    }
    fault = ease__parse_decimal(v.text, v.length, form->splitter.text[0] != ';', out);
    if (fault == EASE__NUMBER_OK && form->weighted && !isfinite((float)*out))
        fault = EASE__NUMBER_RANGE;
    return fault == EASE__NUMBER_OK || bad_value(b, v, fault);
}

/* Counts a value; false: its row is not kept. */
INLINE bool keep_value(const ease__row_form *form, ease__block *b, double number)
{
    if (number < form->min_rating) {
        b->below_rating++;
        return false;
    }
    b->unlike_one += number != 1.0;
    b->negative += number < 0.0;
    return true;
}

INLINE bool time_of(const ease__row_form *form, ease__block *b, ease__name v,
                    double *out)
{
    char shown[EASE__EXCERPT_CHARS], what[EASE__BLOCK_WHAT];
    bool small = false;

    if (ease__parse_ten_digits(v.text, v.length, out))
        return true;
    if (form->dated ? ease__parse_instant(v.text, v.length, out, &small)
                    : ease__parse_moment(v.text, v.length, out)) {
        b->small += small;
        return true;
    }
    snprintf(what, sizeof(what), v.length ? "'%s' is not a time" : "the time is empty",
             ease__excerpt(v.text, v.length, shown));
    return bad_line(b, EASE_E_PARSE, what);
}

/* Counts a time; false: its row is not kept. */
INLINE bool keep_time(const ease__row_form *form, ease__block *b, double time)
{
    if (!form->dated)
        return true;
    if (time < form->since || time >= form->until) {
        b->outside++;
        return false;
    }
    if (time < b->oldest)
        b->oldest = time;
    if (time > b->newest)
        b->newest = time;
    return true;
}

static bool empty_id(ease__block *b, bool user)
{
    return bad_line(b, EASE_E_PARSE, user ? "the user is empty" : "the item is empty");
}

/* ---- a row of a table ------------------------------------------------------ */

/* The cursor stands behind `found` fields of a line with another number of them. */
static bool ragged(const ease__row_form *form, cursor *c, size_t found, bool more)
{
    /* A quote that is not closed must not count the fields of the lines below: where
     * the block ends would show in the message. */
    const char *line = memchr(c->at, '\n', (size_t)(c->end - c->at));
    const char *end = line ? line : c->end;
    char what[EASE__BLOCK_WHAT];
    ease__field f;

    while (more) {
        ease__field_stop stop = ease__field_next(c->splitter, &c->at, end, &f);

        found++;
        more = stop == EASE__FIELD_MORE;
    }
    snprintf(what, sizeof(what), "expected %zu fields, found %zu", form->fields, found);
    return bad_line(c->block, EASE_E_PARSE, what);
}

/* timed is a constant here, as kind is: most readers do not want times. True: they are
 * kept, or decide which rows are kept. */
INLINE bool parse_table_row(const ease__row_form *form, cursor *c,
                            ease__split_kind kind, bool timed)
{
    ease__name user = {0}, item = {0}, value = {0}, time = {0}, field;
    ease__block *b = c->block;
    double number = 1.0, moment = 0.0;
    bool more = true;
    size_t n = 0;

    for (; n < form->fields && more; n++) {
        if (!take_field(c, kind, &field, &more))
            return false;
        if (n == (size_t)form->user)
            user = field;
        else if (n == (size_t)form->item)
            item = field;
        else if (n == (size_t)form->value)
            value = field;
        else if (timed && n == (size_t)form->time)
            time = field;
    }
    if (n < form->fields || more)
        return ragged(form, c, n, more);
    if (user.length == 0 || item.length == 0)
        return empty_id(b, user.length == 0);
    if (form->value >= 0 && !value_of(form, b, value, &number))
        return false;
    if (timed && !time_of(form, b, time, &moment))
        return false;
    if (!keep_value(form, b, number) || (timed && !keep_time(form, b, moment)))
        return true;
    return add_pair(form, c, user_key(c, user), item, (float)number, moment);
}

/* ---- an adjacency line ----------------------------------------------------- */

INLINE bool parse_adjacency_row(const ease__row_form *form, cursor *c,
                                ease__split_kind kind)
{
    ease__block *b = c->block;
    ease__name field;
    ease__key user;
    bool more;

    if (!take_field(c, kind, &field, &more))
        return false;
    if (field.length == 0)
        return empty_id(b, true);
    user = user_key(c, field);
    if (!more)
        return add_pair(form, c, user, (ease__name){0}, 1.0f, 0.0);
    for (bool first = true; more; first = false) {
        if (!take_field(c, kind, &field, &more))
            return false;
        if (field.length == 0 && more)
            return empty_id(b, false);
        if (field.length == 0 && !first)
            break; /* the line ends with a separator */
        if (!add_pair(form, c, user, field, 1.0f, 0.0))
            return false;
    }
    return true;
}

/* ---- JSON lines ------------------------------------------------------------ */

static bool no_field(const ease__row_form *form, ease__block *b, int field,
                     const ease__name *found)
{
    char what[EASE__BLOCK_WHAT];

    snprintf(what, sizeof(what), found->text ? "'%.60s' is empty" : "no '%.60s'",
             form->json.path[field]);
    return bad_line(b, EASE_E_PARSE, what);
}

static bool parse_json_row(const ease__row_form *form, cursor *c, bool timed)
{
    enum { USER, ITEM, VALUE, TIME };
    ease__name found[EASE__JSON_FIELDS];
    ease__block *b = c->block;
    double number = 1.0, moment = 0.0;
    char what[EASE__JSON_WHAT];

    if (!ease__json_row(&form->json, &c->shape, &c->at, c->end, found, what))
        return bad_line(b, EASE_E_PARSE, what);
    for (int field = USER; field <= ITEM; field++)
        if (found[field].length == 0)
            return no_field(form, b, field, &found[field]);
    if (found[VALUE].text && !value_of(form, b, found[VALUE], &number))
        return false;
    if (!found[VALUE].text && (form->weighted || !isnan(form->min_rating)))
        return no_field(form, b, VALUE, &found[VALUE]);
    if (timed && !found[TIME].text)
        return no_field(form, b, TIME, &found[TIME]);
    if (timed && !time_of(form, b, found[TIME], &moment))
        return false;
    if (!keep_value(form, b, number) || (timed && !keep_time(form, b, moment)))
        return true;
    return add_pair(form, c, user_key(c, found[USER]), found[ITEM], (float)number,
                    moment);
}

/* ---- rows below headings --------------------------------------------------- */

/* `line` is all of a line, which is the number of an item and a colon, or wrong. */
static bool set_heading(cursor *c, ease__name line)
{
    char shown[EASE__EXCERPT_CHARS], what[EASE__BLOCK_WHAT];
    size_t digits = 0;

    while (digits < line.length && line.text[digits] >= '0' && line.text[digits] <= '9')
        digits++;
    if (digits > 0 && digits <= EASE__HEADING_DIGITS && digits + 1 == line.length &&
        line.text[digits] == ':') {
        c->item = (ease__name){line.text, digits};
        return true;
    }
    snprintf(what, sizeof(what),
             "'%s' is neither a movie such as 1: nor a row customer,rating,date",
             ease__excerpt(line.text, line.length, shown));
    return bad_line(c->block, EASE_E_PARSE, what);
}

INLINE bool parse_headed_row(const ease__row_form *form, cursor *c, bool timed)
{
    ease__name field[3] = {0};
    ease__block *b = c->block;
    double number = 1.0, moment = 0.0;
    bool more = true;
    size_t n = 0;

    for (; n < 3 && more; n++)
        if (!take_field(c, EASE__SPLIT_BYTE, &field[n], &more))
            return false;
    if (n == 1)
        return set_heading(c, field[0]);
    if (n < 3 || more)
        return ragged(form, c, n, more);
    if (c->item.length == 0)
        return bad_line(b, EASE_E_PARSE, "a rating before the first movie such as 1:");
    if (field[0].length == 0)
        return empty_id(b, true);
    if (!value_of(form, b, field[1], &number))
        return false;
    if (timed && !time_of(form, b, field[2], &moment))
        return false;
    if (!keep_value(form, b, number) || (timed && !keep_time(form, b, moment)))
        return true;
    return add_pair(form, c, user_key(c, field[0]), c->item, (float)number, moment);
}

/* ---- coordinates ----------------------------------------------------------- */

static bool bad_index(ease__block *b, ease__name index, const char *of, int64_t most)
{
    char shown[EASE__EXCERPT_CHARS], what[EASE__BLOCK_WHAT];

    snprintf(what, sizeof(what), "%s '%s' is not a number of 1 .. %lld", of,
             ease__excerpt(index.text, index.length, shown), (long long)most);
    return bad_line(b, EASE_E_PARSE, what);
}

static bool parse_coordinate_row(const ease__row_form *form, cursor *c)
{
    ease__name field[3] = {0};
    int64_t row = 0, column = 0;
    ease__block *b = c->block;
    double number = 1.0;
    bool more = true;
    size_t n = 0;

    for (; n < form->fields && more; n++)
        if (!take_field(c, EASE__SPLIT_BLANKS, &field[n], &more))
            return false;
    if (n < form->fields || more)
        return ragged(form, c, n, more);
    if (ease__parse_int(field[0].text, field[0].length, &row) || row < 1 ||
        row > form->rows)
        return bad_index(b, field[0], "row", form->rows);
    if (ease__parse_int(field[1].text, field[1].length, &column) || column < 1 ||
        column > form->columns)
        return bad_index(b, field[1], "column", form->columns);
    if (form->value >= 0 && !value_of(form, b, field[2], &number))
        return false;
    if (keep_value(form, b, number))
        put_record(form, b, (uint32_t)(row - 1), (uint32_t)(column - 1), (float)number,
                   0.0);
    return true;
}

/* ---- triplets -------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

bool ease__names_amount(const ease__field *f)
{
    static const char *const odd[] = {"nan", "inf", "infinity", "null", "none", "na"};

    if (f->length == 0 || !is_letter(f->text[0]))
        return false;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        if (strlen(odd[i]) == f->length && strncasecmp(odd[i], f->text, f->length) == 0)
            return false;
    return true;
}

/* Where the rows of a file begin: behind its mark and its header. *lines: the header's.
 */
static const char *pass_head(const ease__row_form *form, const char *start,
                             const char *end, int64_t *lines)
{
    ease__field_stop stop = EASE__FIELD_LAST;
    ease__field f = {0};
    size_t fields = 0;
    const char *at;

    *lines = 0;
    if (end - start >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0)
        start += 3;
    at = start;
    if (at == end)
        return at;
    do {
        stop = ease__field_next(&form->splitter, &at, end, &f);
        fields++;
    } while (stop == EASE__FIELD_MORE);
    if (stop != EASE__FIELD_LAST || fields != form->fields || !ease__names_amount(&f) ||
        memchr(start, '\n', (size_t)(at - 1 - start)))
        return start;
    *lines = 1;
    return at;
}

/* ---- where a further file of a table begins -------------------------------- */

static const char *skip_mark(const char *p, const char *end)
{
    return end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? p + 3 : p;
}

static bool same_name(const ease__field *a, const ease__field *b)
{
    return a->length == b->length && strncasecmp(a->text, b->text, a->length) == 0;
}

/* How a first line is a header. */
typedef struct heading {
    size_t fields, same; /* names that are those of the header, at their places */
    bool shared;         /* a name of the header is there, or ... */
    bool user, item;     /* ... names of a user and an item */
} heading;

static void compare_name(const ease__row_form *form, const ease__field *f, heading *h)
{
    ease__role role = ease__name_role(f).role;

    h->user = h->user || role == EASE__ROLE_USER;
    h->item = h->item || role == EASE__ROLE_ITEM;
    for (size_t i = 0; form->header && i < form->fields; i++)
        if (f->length && same_name(f, &form->header[i])) {
            h->shared = true;
            h->same += i == h->fields;
        }
    h->fields++;
}

/* Passes the header of a file other than the first, which must be that of the first
 * file or missing. False: it is another one. */
static bool pass_header(const ease__row_form *form, cursor *c)
{
    const char *at = c->at;
    ease__field_stop stop;
    heading h = {0};
    ease__field f;

    do {
        stop = ease__field_next(&form->splitter, &at, c->end, &f);
        compare_name(form, &f, &h);
    } while (stop == EASE__FIELD_MORE);
    if (form->header && h.same == form->fields && h.fields == form->fields) {
        for (const char *p = c->at; p < at; p++)
            c->block->lines += *p == '\n';
        c->at = at;
        return true;
    }
    if (!h.shared && !(h.user && h.item))
        return true;
    c->block->lines++;
    return bad_line(c->block, EASE_E_PARSE,
                    form->header ? "another header than that of the first file"
                                 : "a header, which the first file does not have");
}

static bool begin_file(const ease__row_form *form, cursor *c)
{
    c->at = skip_mark(c->at, c->end);
    if (form->kind != EASE__ROWS_TABLE)
        return true;
    while (c->at < c->end && skip_blank_line(c, form->splitter.kind))
        c->block->lines++;
    return c->at == c->end || pass_header(form, c);
}

/* Most are counts of a few digits. */
INLINE bool amount_of(ease__block *b, ease__name v, double *out)
{
    enum { EXACT_DIGITS = 15 };
    ease__number_fault fault;
    uint64_t n = 0;
    size_t i = 0;

    if (v.length > 0 && v.length <= EXACT_DIGITS)
        for (; i < v.length; i++) {
            unsigned digit = (unsigned char)v.text[i] - (unsigned)'0';

            if (digit > 9)
                break;
            n = 10 * n + digit;
        }
    if (i == v.length && i > 0) {
        *out = (double)n;
        return true;
    }
    fault = ease__parse_double(v.text, v.length, out);
    return fault == EASE__NUMBER_OK || bad_value(b, v, fault);
}

INLINE bool parse_triplet_row(const ease__row_form *form, cursor *c,
                              ease__split_kind kind)
{
    ease__name field[3] = {0};
    ease__block *b = c->block;
    double amount = 0.0;
    bool more = true;
    size_t n = 0;

    for (; n < 3 && more; n++)
        if (!take_field(c, kind, &field[n], &more))
            return false;
    if (n < 3 || more)
        return ragged(form, c, n, more);
    if (field[0].length == 0 || field[1].length == 0)
        return empty_id(b, false);
    if (!amount_of(b, field[2], &amount))
        return false;
    return add_pair(form, c, user_key(c, field[0]), field[1], 1.0f, amount);
}

static bool is_blank_line(const ease__row_form *form, const char *p)
{
    if (form->splitter.kind == EASE__SPLIT_BLANKS)
        p = skip_blanks(p);
    else if (p[0] == '\r' && p[1] == '\n')
        p++;
    return *p == '\n';
}

int64_t ease__record_line(const ease__row_form *form, const ease__block *b,
                          size_t record, size_t *file)
{
    const char *at = b->text, *end;
    int64_t line = 0;

    for (*file = 0; *file <= b->break_count; ++*file) {
        end = b->text + (*file < b->break_count ? b->breaks[*file] : b->bytes);
        line = 0;
        if (*file || b->opens_file)
            at = pass_head(form, at, end, &line);
        for (; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1) {
            line++;
            if (!is_blank_line(form, at) && record-- == 0)
                return line;
        }
    }
    return line;
}

/* ---- blocks ---------------------------------------------------------------- */

INLINE void parse_lines(const ease__row_form *form, cursor *c, ease__row_kind kind,
                        ease__split_kind split, bool timed)
{
    bool good = true;

    while (good && c->at < c->end) {
        c->block->lines++;
        if (skip_blank_line(c, split))
            continue;
        if (kind == EASE__ROWS_TABLE)
            good = parse_table_row(form, c, split, timed);
        else if (kind == EASE__ROWS_ADJACENCY)
            good = parse_adjacency_row(form, c, split);
        else if (kind == EASE__ROWS_HEADED)
            good = parse_headed_row(form, c, timed);
        else if (kind == EASE__ROWS_JSON)
            good = parse_json_row(form, c, timed);
        else if (kind == EASE__ROWS_TRIPLETS)
            good = parse_triplet_row(form, c, split);
        else
            good = parse_coordinate_row(form, c);
    }
}

INLINE void parse_split(const ease__row_form *form, cursor *c, ease__split_kind split)
{
    if (form->kind == EASE__ROWS_ADJACENCY)
        parse_lines(form, c, EASE__ROWS_ADJACENCY, split, false);
    else if (form->kind == EASE__ROWS_TRIPLETS)
        parse_lines(form, c, EASE__ROWS_TRIPLETS, split, true);
    else if (form->timed || form->dated)
        parse_lines(form, c, EASE__ROWS_TABLE, split, true);
    else
        parse_lines(form, c, EASE__ROWS_TABLE, split, false);
}

/* One expansion for each way to split. */
static void parse_all(const ease__row_form *form, cursor *c)
{
    if (form->kind == EASE__ROWS_COORDINATES) {
        parse_lines(form, c, EASE__ROWS_COORDINATES, EASE__SPLIT_BLANKS, false);
        return;
    }
    if (form->kind == EASE__ROWS_JSON) {
        parse_lines(form, c, EASE__ROWS_JSON, EASE__SPLIT_BLANKS,
                    form->timed || form->dated);
        return;
    }
    if (form->kind == EASE__ROWS_HEADED) {
        parse_lines(form, c, EASE__ROWS_HEADED, EASE__SPLIT_BYTE,
                    form->timed || form->dated);
        return;
    }
    switch (form->splitter.kind) {
    case EASE__SPLIT_BYTE:
        parse_split(form, c, EASE__SPLIT_BYTE);
        break;
    case EASE__SPLIT_TEXT:
        parse_split(form, c, EASE__SPLIT_TEXT);
        break;
    case EASE__SPLIT_BLANKS:
        parse_split(form, c, EASE__SPLIT_BLANKS);
        break;
    }
}

/* Allocates for as many records as the text could contain: a row of a table has at
 * least 4 bytes ("1,2\n"), an item of an adjacency line 2. Pages become memory only
 * when they are written. */
static bool grow_records(const ease__row_form *form, ease__block *b)
{
    size_t shortest = form->kind == EASE__ROWS_ADJACENCY ? 2 : 4;
    size_t most = b->bytes / shortest + 1;
    size_t a_record = ease__record_words(form->weighted, form->timed) *
                      sizeof(*b->records);

    b->count = 0;
    if (b->record_capacity >= most)
        return true;
    ease__free(b->records);
    ease__budget_give(b->budget, b->record_capacity * a_record);
    b->record_capacity = 0;
    b->records = ease__budget_resize(b->budget, NULL, 0, most * a_record);
    if (b->records)
        b->record_capacity = most;
    return b->records != NULL;
}

static bool start_newcomers(ease__newcomers *n)
{
    n->last = (ease__key){0}; /* of no id: bits 0 would be NULs */
    return ease__dictionary_clear(&n->fresh);
}

/* File by file. Up to the line of a NUL all is as usual. */
static void parse_files(const ease__row_form *form, cursor *c, const char *nul)
{
    ease__block *b = c->block;
    bool last = false;

    for (size_t i = 0; i <= b->break_count && !b->status && !last; i++) {
        const char *start = c->at, *line;
        int64_t head = 0;

        c->end = b->text + (i < b->break_count ? b->breaks[i] : b->bytes);
        b->bad_file = i;
        if (i) {
            b->lines = 0;
            c->item.length = 0;
        }
        last = nul && nul < c->end;
        if (last) {
            line = memrchr(start, '\n', (size_t)(nul - start));
            c->end = line ? line + 1 : start;
        }
        if (form->kind == EASE__ROWS_TRIPLETS && (i || b->opens_file)) {
            c->at = pass_head(form, c->at, c->end, &head);
            b->lines += head;
        } else if ((i || b->opens_file) && !begin_file(form, c)) {
            return;
        }
        parse_all(form, c);
    }
}

void ease__parse_block(const ease__row_form *form, ease__block *b)
{
    const char *nul = memchr(b->text, '\0', b->bytes);
    cursor c;

    c.at = b->text;
    c.splitter = &form->splitter;
    c.mark = EACH_BYTE(form->splitter.text[0]);
    c.block = b;
    c.pair_count = 0;
    c.shape.values = 0;
    c.user = (ease__key){0};
    c.item = (ease__name){b->above.text, b->above.length};
    b->status = EASE_OK;
    b->lines = b->below_rating = b->unlike_one = b->negative = 0;
    b->outside = b->small = 0;
    b->oldest = (double)INFINITY;
    b->newest = -(double)INFINITY;
    b->bad_file = 0;
    if (!start_newcomers(&b->users) || !start_newcomers(&b->items) ||
        !grow_records(form, b)) {
        b->lines = 1;
        no_memory(b);
        return;
    }
    parse_files(form, &c, nul);
    /* Triplets before a bad line may be found wrong still, and are then the first. */
    if (!b->status || (b->status != EASE_E_NOMEM && form->kind == EASE__ROWS_TRIPLETS))
        look_up(form, &c);
    if (nul && !b->status) {
        b->lines++;
        bad_line(b, EASE_E_PARSE, "a NUL byte");
    }
}
