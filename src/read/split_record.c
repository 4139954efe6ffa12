/* Reads split.json: the counts of the parts; all other members are skipped. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "read/split_files.h"
#include "text/number.h"

enum { MOST_BYTES = 1 << 16, MOST_DEPTH = 32 };

const char ease__split_unfinished[] = "{\"unfinished\": true}\n";

/* ---- JSON, the subset that a record uses ----------------------------------- */

typedef struct scanner {
    const char *at, *end;
} scanner;

typedef struct span {
    const char *text;
    size_t length;
} span;

/* The next byte that is not blank; 0 at the end. */
static char peek(scanner *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
        s->at++;
    if (s->at == s->end)
        return '\0';
    return *s->at;
}

static bool take(scanner *s, char c)
{
    if (peek(s) != c)
        return false;
    s->at++;
    return true;
}

/* A string as it is written, without the quotes. */
static bool take_string(scanner *s, span *out)
{
    if (!take(s, '"'))
        return false;
    out->text = s->at;
    for (; s->at < s->end && *s->at != '"'; s->at++)
        if (*s->at == '\\' && s->at + 1 < s->end)
            s->at++;
    if (s->at == s->end)
        return false;
    out->length = (size_t)(s->at++ - out->text);
    return true;
}

static bool is_word(const span *s, const char *word)
{
    return s->length == strlen(word) && memcmp(s->text, word, s->length) == 0;
}

/* A number, true, false or null. */
static bool take_plain(scanner *s, span *out)
{
    (void)peek(s);
    out->text = s->at;
    while (s->at < s->end && *s->at && !strchr(" \t\r\n,:{}[]\"", *s->at))
        s->at++;
    out->length = (size_t)(s->at - out->text);
    return out->length > 0;
}

static bool take_count(scanner *s, int64_t *out)
{
    span digits;

    return take_plain(s, &digits) &&
           !ease__parse_int(digits.text, digits.length, out) && *out >= 0;
}

/* Skips a value of any type; brackets must match in number. */
static bool skip_value(scanner *s)
{
    span passed;
    int depth = 0;

    do {
        char c = peek(s);

        if (c == '{' || c == '[') {
            depth++;
            s->at++;
        } else if (depth && (c == '}' || c == ']')) {
            depth--;
            s->at++;
        } else if (depth && (c == ',' || c == ':')) {
            s->at++;
        } else if (c == '"' ? !take_string(s, &passed) : !take_plain(s, &passed)) {
            return false;
        }
    } while (depth && depth <= MOST_DEPTH);
    return depth == 0;
}

/* Calls `member` after each key of an object, to parse the value. */
static bool take_object(scanner *s, void *to,
                        bool (*member)(scanner *s, const span *key, void *to))
{
    span key;

    if (!take(s, '{'))
        return false;
    if (take(s, '}'))
        return true;
    do
        if (!take_string(s, &key) || !take(s, ':') || !member(s, &key, to))
            return false;
    while (take(s, ','));
    return take(s, '}');
}

/* ---- the record ------------------------------------------------------------ */

typedef struct reading {
    ease__split_record record;
    bool parts, unfinished; /* the keys that were there */
} reading;

static bool take_part_count(scanner *s, const span *key, void *to)
{
    ease_split_part *part = to;
    int64_t items;

    if (is_word(key, "users"))
        return take_count(s, &part->users);
    if (is_word(key, "interactions"))
        return take_count(s, &part->interactions);
    if (!is_word(key, "items"))
        return skip_value(s);
    if (!take_count(s, &items) || items > INT32_MAX)
        return false;
    part->items = (int32_t)items;
    return true;
}

static bool take_part(scanner *s, const span *key, void *to)
{
    reading *r = to;

    for (int i = 0; i < EASE__SPLIT_TABLES; i++)
        if (is_word(key, ease__split_tables[i].key)) {
            r->record.has[i] = true;
            return take_object(s, &r->record.part[i], take_part_count);
        }
    return skip_value(s);
}

static bool take_fact(scanner *s, const span *key, void *to)
{
    reading *r = to;

    if (is_word(key, "parts")) {
        r->parts = true;
        return take_object(s, r, take_part);
    }
    r->unfinished |= is_word(key, "unfinished");
    return skip_value(s);
}

static ease_status parse(const char *path, const char *text, size_t bytes,
                         ease__split_record *out, ease_error *err)
{
    scanner s = {text, text + bytes};
    reading r = {.record.there = true};
    bool whole = bytes < MOST_BYTES && take_object(&s, &r, take_fact) && !peek(&s);

    if (whole && r.unfinished)
        return ease__fail(err, EASE_E_DATA,
                          "%s: unfinished: the split was interrupted while it replaced "
                          "another one; make it again",
                          path);
    if (!whole || !r.parts)
        return ease__fail(err, EASE_E_PARSE, "%s: not the record of a split", path);
    *out = r.record;
    return EASE_OK;
}

ease_status ease__split_record_read(const char *dir, ease__split_record *out,
                                    ease_error *err)
{
    char *path = ease__split_path(dir, EASE__SPLIT_RECORD);
    ease__input *in = NULL;
    const char *text = NULL;
    size_t bytes = 0;
    ease_status status = EASE_OK;

    *out = (ease__split_record){0};
    if (!path)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", dir);
    if (access(path, F_OK) == 0 || errno != ENOENT) {
        status = ease__input_open(path, NULL, &in, err);
        if (!status)
            status = ease__input_peek(in, MOST_BYTES, &text, &bytes, err);
        if (!status)
            status = parse(path, text, bytes, out, err);
    }
    ease__input_close(in);
    ease__free(path);
    return status;
}

ease_status ease__split_record_check(const ease__split_record *r, int table,
                                     ease_split_part found, const char *path,
                                     ease_error *err)
{
    const ease_split_part *want = &r->part[table];
    const struct {
        const char *what;
        int64_t found, want;
    } counts[] = {{"interactions", found.interactions, want->interactions},
                  {"users", found.users, want->users},
                  {"items", found.items, want->items}};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (counts[i].found != counts[i].want)
            return ease__fail(err, EASE_E_DATA,
                              "%s: %lld %s, where " EASE__SPLIT_RECORD " has %lld: not "
                              "the file that the split was made with",
                              path, (long long)counts[i].found, counts[i].what,
                              (long long)counts[i].want);
    return EASE_OK;
}
