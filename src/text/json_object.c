#include "text/json_object.h"

#include <stdio.h>
#include <string.h>

typedef struct walk {
    const char *at, *end;
    ease__json_take *take;
    void *to;
    char *what;
    char path[EASE__JSON_PATH];
    size_t path_length; /* more than fits: the path is too long */
} walk;

static bool fail(walk *w, const char *what)
{
    snprintf(w->what, EASE__JSON_WHAT, "%s", what);
    return false;
}

/* The byte at the current place; a line end behind the text. */
static char here(const walk *w)
{
    if (w->at < w->end)
        return *w->at;
    return '\n';
}

static void skip_blanks(walk *w)
{
    while (here(w) == ' ' || here(w) == '\t' || here(w) == '\r')
        w->at++;
}

/* ---- scalars --------------------------------------------------------------- */

static bool is_digit(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
    while (is_digit(p, end))
        p++;
    return p;
}

const char *ease__json_number_end(const char *p, const char *end)
{
    if (p < end && *p == '-')
        p++;
    if (!is_digit(p, end))
        return NULL;
    p = *p == '0' ? p + 1 : skip_digits(p, end);
    if (p < end && *p == '.') {
        if (!is_digit(++p, end))
            return NULL;
        p = skip_digits(p, end);
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        if (!is_digit(p, end))
            return NULL;
        p = skip_digits(p, end);
    }
    return p;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

const char *ease__json_escape_end(const char *p, const char *end)
{
    if (end - p < 2 || !p[1])
        return NULL;
    if (p[1] != 'u')
        return strchr("\"\\/bfnrt", p[1]) ? p + 2 : NULL;
    if (end - p < 6)
        return NULL;
    for (int i = 2; i < 6; i++)
        if (hex_digit(p[i]) < 0)
            return NULL;
    return p + 6;
}

/* The string at the current place, which is a quote. */
static bool take_string(walk *w, ease__json_value *v)
{
    v->text = ++w->at;
    v->escaped = false;
    while (here(w) != '"') {
        if (here(w) == '\n')
            return fail(w, "a string that does not end on its line");
        if ((unsigned char)here(w) < 0x20)
            return fail(w, "a control character in a string");
        if (here(w) != '\\') {
            w->at++;
            continue;
        }
        v->escaped = true;
        w->at = ease__json_escape_end(w->at, w->end);
        if (!w->at)
            return fail(w, "a backslash in a string that begins no escape");
    }
    v->kind = EASE__JSON_STRING;
    v->length = (size_t)(w->at - v->text);
    w->at++;
    return true;
}

static bool take_word(walk *w, ease__json_value *v)
{
    static const char *const words[] = {"null", "true", "false"};

    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);

        if ((size_t)(w->end - w->at) < length || memcmp(w->at, words[i], length) != 0)
            continue;
        v->kind = i ? EASE__JSON_WORD : EASE__JSON_NULL;
        v->text = w->at;
        v->length = length;
        w->at += length;
        return true;
    }
    if (here(w) == '\n')
        return fail(w, "the object does not end on its line");
    return fail(w, "a value that is no JSON");
}

static bool take_number(walk *w, ease__json_value *v)
{
    const char *end = ease__json_number_end(w->at, w->end);

    if (!end)
        return fail(w, "a value that is no JSON");
    v->kind = EASE__JSON_NUMBER;
    v->text = w->at;
    v->length = (size_t)(end - w->at);
    w->at = end;
    return true;
}

/* ---- escapes --------------------------------------------------------------- */

/* The number that four hexadecimal digits at p spell; they have been checked. */
static uint32_t hex_number(const char *p)
{
    uint32_t number = 0;

    for (int i = 0; i < 4; i++)
        number = 16 * number + (uint32_t)hex_digit(p[i]);
    return number;
}

/* The code point of the escape \uXXXX at *p, or of two that are a surrogate pair; moves
 * *p behind it. 0: half of a pair. */
static uint32_t take_code(const char **p, const char *end)
{
    uint32_t code = hex_number(*p + 2), low;

    *p += 6;
    if (code < 0xd800 || code > 0xdfff)
        return code;
    if (code > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
        return 0;
    low = hex_number(*p + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *p += 6;
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

static char *put_utf8(char *to, uint32_t code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0x00, 0xc0, 0xe0, 0xf0};

    *to++ = (char)(first[more] | code >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (code >> (6 * more) & 0x3f));
    return to;
}

int64_t ease__json_unescape(char *text, size_t length)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *p = text, *end = text + length;
    char *to = text; /* an escape is longer than what it stands for */

    while (p < end) {
        uint32_t code;

        if (*p != '\\') {
            *to++ = *p++;
        } else if (p[1] != 'u') {
            *to++ = meant[strchr(letters, p[1]) - letters];
            p += 2;
        } else {
            code = take_code(&p, end);
            if (!code)
                return -1;
            to = put_utf8(to, code);
        }
    }
    return to - text;
}

/* ---- the object ------------------------------------------------------------ */

typedef struct level {
    bool object;
    size_t path_length; /* of the container itself */
} level;

typedef struct nest {
    level levels[EASE__JSON_DEPTH];
    int depth, arrays; /* arrays: how many of the levels are arrays */
} nest;

/* Appends the name of a field to the path. */
static bool extend_path(walk *w, size_t parent, const ease__json_value *name)
{
    size_t at = parent + (parent > 0);
    int64_t length = (int64_t)name->length;

    if (parent >= EASE__JSON_PATH || at + name->length >= EASE__JSON_PATH) {
        w->path_length = EASE__JSON_PATH;
        return true;
    }
    if (parent)
        w->path[parent] = '.';
    if (name->length)
        memcpy(w->path + at, name->text, name->length);
    if (name->escaped)
        length = ease__json_unescape(w->path + at, name->length);
    if (length < 0)
        return fail(w, "an escape that is no character");
    w->path_length = at + (size_t)length;
    return true;
}

static bool take_name(walk *w, const nest *n)
{
    ease__json_value name = {0};

    skip_blanks(w);
    if (here(w) != '"')
        return fail(w, here(w) == '\n' ? "the object does not end on its line"
                                       : "the name of a field is expected");
    if (!take_string(w, &name))
        return false;
    skip_blanks(w);
    if (here(w) != ':')
        return fail(w, "':' is expected behind the name of a field");
    w->at++;
    return extend_path(w, n->levels[n->depth - 1].path_length, &name);
}

static bool report(walk *w, const nest *n, ease__json_value *v)
{
    v->path = w->path;
    v->path_length = w->path_length;
    if (n->arrays || w->path_length >= EASE__JSON_PATH)
        return true;
    return w->take(w->to, v, w->what);
}

static bool open_level(walk *w, nest *n, bool object)
{
    ease__json_value v = {.kind = object ? EASE__JSON_OBJECT : EASE__JSON_ARRAY,
                          .text = ""};

    if (n->depth == EASE__JSON_DEPTH)
        return fail(w, "more than 64 objects and arrays within each other");
    if (n->depth && !report(w, n, &v))
        return false;
    w->at++;
    n->levels[n->depth++] = (level){object, w->path_length};
    n->arrays += !object;
    return true;
}

static void close_level(walk *w, nest *n)
{
    w->at++;
    n->arrays -= !n->levels[--n->depth].object;
    w->path_length = n->levels[n->depth].path_length;
}

static bool take_scalar(walk *w, const nest *n)
{
    ease__json_value v = {0};
    char c = here(w);
    bool good;

    if (c == '"')
        good = take_string(w, &v);
    else if (c == '-' || (c >= '0' && c <= '9'))
        good = take_number(w, &v);
    else
        good = take_word(w, &v);
    return good && report(w, n, &v);
}

/* Closes the levels that end here. *more: another value follows in the one that is
 * left. */
static bool pass_value(walk *w, nest *n, bool *more)
{
    *more = false;
    while (n->depth) {
        bool object = n->levels[n->depth - 1].object;

        skip_blanks(w);
        if (here(w) == ',') {
            w->at++;
            *more = true;
            return true;
        }
        if (here(w) != (object ? '}' : ']'))
            return fail(w, here(w) == '\n'
                               ? "the object does not end on its line"
                               : "',' or an end is expected behind a value");
        close_level(w, n);
    }
    return true;
}

static bool walk_object(walk *w)
{
    nest n = {.depth = 0};
    bool more = true;

    if (!open_level(w, &n, true))
        return false;
    for (bool opened = true; more;) {
        bool object = n.levels[n.depth - 1].object;

        skip_blanks(w);
        if (!opened || here(w) != (object ? '}' : ']')) {
            if (object && !take_name(w, &n))
                return false;
            skip_blanks(w);
            opened = here(w) == '{' || here(w) == '[';
            if (opened ? !open_level(w, &n, here(w) == '{') : !take_scalar(w, &n))
                return false;
            if (opened)
                continue;
        }
        opened = false;
        if (!pass_value(w, &n, &more))
            return false;
    }
    return true;
}

bool ease__json_line(const char **at, const char *end, ease__json_take *take, void *to,
                     char what[EASE__JSON_WHAT])
{
    walk w = {.at = *at, .end = end, .take = take, .to = to, .what = what};

    skip_blanks(&w);
    if (here(&w) != '{')
        return fail(&w, "no JSON object: each line needs one");
    if (!walk_object(&w))
        return false;
    skip_blanks(&w);
    if (here(&w) != '\n')
        return fail(&w, "text behind the object");
    *at = w.at < end ? w.at + 1 : end;
    return true;
}
