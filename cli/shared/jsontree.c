#include "jsontree.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 32 };

typedef struct parser {
    char *begin, *at, *end;
    json_tree *tree;
    size_t used;                   /* values */
    json_value *open[MOST_DEPTH];  /* arrays and objects around the place */
    json_value **last[MOST_DEPTH]; /* where the next value of each is linked */
    int depth;
} parser;

static bool refuse(parser *p, const char *what)
{
    p->tree->fault = what;
    p->tree->at = (size_t)(p->at - p->begin) + 1;
    return false;
}

/* The next byte that is not blank; 0 at the end (or for a NUL, which is no JSON). */
static char peek(parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
    return *p->at;
}

/* ---- strings --------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads four digits behind "\u"; -1: there are no four. */
static int32_t take_unit(parser *p)
{
    int32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p->at[0]);

        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
        p->at++;
    }
    return unit;
}

static char *put_utf8(char *to, int32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *to++ = (char)(0xE0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    } else {
        *to++ = (char)(0xF0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    }
    return to;
}

/* Decodes \uXXXX, of which characters above U+FFFF need two. The result is shorter
 * than the escape. */
static bool take_code(parser *p, char **to)
{
    int32_t code = take_unit(p), low;

    if (code < 0)
        return refuse(p, "\\u needs four hexadecimal digits");
    if (code == 0)
        return refuse(p, "a string must not contain U+0000");
    if (code >= 0xD800 && code < 0xDC00) {
        if (p->at[0] != '\\' || p->at[1] != 'u')
            return refuse(p, "half of a surrogate pair");
        p->at += 2;
        low = take_unit(p);
        if (low < 0xDC00 || low > 0xDFFF)
            return refuse(p, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return refuse(p, "half of a surrogate pair");
    }
    *to = put_utf8(*to, code);
    return true;
}

static bool take_escape(parser *p, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *known = *p->at ? strchr(from, *p->at) : NULL;

    if (known) {
        *(*to)++ = into[known - from];
        p->at++;
        return true;
    }
    if (*p->at != 'u')
        return refuse(p, "an escape that JSON does not have");
    p->at++;
    return take_code(p, to);
}

/* The length of the UTF-8 sequence of two bytes or more at `s`; 0: it is none. Overlong
 * forms, surrogates and codes above U+10FFFF are none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t length = s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;

    if (!length || s[0] > 0xF4 || (s[0] == 0xE0 && s[1] < 0xA0) ||
        (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

/* Reads a string, decoded in place. */
static bool take_string(parser *p, char **out)
{
    char *to = ++p->at;

    *out = to;
    while (*p->at != '"') {
        unsigned char c = (unsigned char)*p->at;
        size_t length = c < 0x80 ? 1 : utf8_length((const unsigned char *)p->at);

        if (p->at == p->end)
            return refuse(p, "the text ends within a string");
        if (c < 0x20)
            return refuse(p, "a control character in a string");
        if (!length)
            return refuse(p, "a string is not UTF-8");
        if (c == '\\') {
            p->at++;
            if (!take_escape(p, &to))
                return false;
            continue;
        }
        memmove(to, p->at, length);
        to += length;
        p->at += length;
    }
    p->at++;
    *to = '\0';
    return true;
}

/* ---- numbers and words ----------------------------------------------------------- */

static bool take_digits(parser *p)
{
    if (*p->at < '0' || *p->at > '9')
        return refuse(p, "a digit is missing");
    while (*p->at >= '0' && *p->at <= '9')
        p->at++;
    return true;
}

/* Sets the digits of a number that is whole. False: it is an integer beyond int64_t,
 * whose digits a double does not have. */
static bool set_digits(json_value *v, const char *text, bool integer)
{
    double value = v->as.number.value;
    int64_t whole;

    v->as.number.digits[0] = '\0';
    if (!integer && (!(fabs(value) <= 0x1p53) || floor(value) != value))
        return true;
    if (fabs(value) > 0x1p53) {
        char *end;

        if (!(value >= -0x1p63 && value <= 0x1p63))
            return false;
        whole = strtoll(text, &end, 10);
        if ((whole == INT64_MAX && strncmp(text, "9223372036854775807", 19) != 0) ||
            (whole == INT64_MIN && strncmp(text, "-9223372036854775808", 20) != 0))
            return false;
    } else {
        whole = (int64_t)value;
    }
    snprintf(v->as.number.digits, sizeof(v->as.number.digits), "%" PRId64, whole);
    return true;
}

static bool take_number(parser *p, json_value *v)
{
    const char *text = p->at;
    bool integer = true;

    p->at += *p->at == '-';
    if (*p->at == '0')
        p->at++;
    else if (!take_digits(p))
        return false;
    if (*p->at == '.') {
        integer = false;
        p->at++;
        if (!take_digits(p))
            return false;
    }
    if (*p->at == 'e' || *p->at == 'E') {
        integer = false;
        p->at++;
        p->at += *p->at == '-' || *p->at == '+';
        if (!take_digits(p))
            return false;
    }
    v->kind = TREE_NUMBER;
    v->as.number.value = strtod(text, NULL);
    if (!isfinite(v->as.number.value) || !set_digits(v, text, integer))
        return refuse(p, "a number beyond the range of numbers");
    return true;
}

static bool take_word(parser *p, json_value *v)
{
    static const struct {
        const char *word;
        json_kind kind;
    } words[] = {{"null", TREE_NULL}, {"false", TREE_FALSE}, {"true", TREE_TRUE}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].word);

        if (strncmp(p->at, words[i].word, length) == 0) {
            p->at += length;
            v->kind = words[i].kind;
            return true;
        }
    }
    return refuse(p, *p->at ? "a value is missing" : "the text ends too early");
}

/* ---- values ---------------------------------------------------------------------- */

/* The most values that a text can have: each but the first begins behind a comma or an
 * opening bracket. */
static size_t most_values(const char *text, size_t length)
{
    size_t most = 1;

    for (size_t i = 0; i < length; i++)
        most += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return most;
}

size_t json_tree_bytes(const char *text, size_t length)
{
    return most_values(text, length) * sizeof(json_value);
}

static bool in_object(const parser *p)
{
    return p->depth && p->open[p->depth - 1]->kind == TREE_OBJECT;
}

static bool take_key(parser *p, json_value *v)
{
    char *key;

    if (peek(p) != '"')
        return refuse(p, *p->at ? "a key in quotes is missing"
                                : "the text ends too early");
    if (!take_string(p, &key))
        return false;
    if (peek(p) != ':')
        return refuse(p, "a colon behind a key is missing");
    p->at++;
    v->key = key;
    return true;
}

static bool open_list(parser *p, json_value *v)
{
    if (p->depth == MOST_DEPTH)
        return refuse(p, "too many levels");
    v->kind = *p->at++ == '{' ? TREE_OBJECT : TREE_ARRAY;
    v->as.list.first = NULL;
    v->as.list.count = 0;
    p->open[p->depth] = v;
    p->last[p->depth++] = &v->as.list.first;
    return true;
}

/* Reads one value, of an array or object only its opening bracket. */
static bool take_value(parser *p)
{
    json_value *v = &p->tree->values[p->used++];
    char c;

    *v = (json_value){.kind = TREE_NULL};
    if (in_object(p) && !take_key(p, v))
        return false;
    if (p->depth) {
        *p->last[p->depth - 1] = v;
        p->last[p->depth - 1] = &v->next;
        p->open[p->depth - 1]->as.list.count++;
    }
    c = peek(p);
    if (c == '{' || c == '[')
        return open_list(p, v);
    if (c == '-' || (c >= '0' && c <= '9'))
        return take_number(p, v);
    if (c != '"')
        return take_word(p, v);
    v->kind = TREE_STRING;
    return take_string(p, &v->as.text);
}

/* Closes arrays and objects that end here. *more: a comma was read, and another value
 * must follow. */
static bool close_lists(parser *p, bool *more)
{
    *more = false;
    while (p->depth) {
        char close = in_object(p) ? '}' : ']', c = peek(p);

        if (c == ',') {
            p->at++;
            *more = true;
            return true;
        }
        if (c != close)
            return refuse(p, !c             ? "the text ends too early"
                             : close == '}' ? "a comma or } is missing"
                                            : "a comma or ] is missing");
        p->at++;
        p->depth--;
    }
    return true;
}

static bool parse_all(parser *p)
{
    bool more = true;

    while (more) {
        int depth = p->depth;

        if (!take_value(p))
            return false;
        /* An opening bracket: its first value follows, unless it is empty. */
        if (p->depth > depth && peek(p) != (in_object(p) ? '}' : ']'))
            continue;
        if (!close_lists(p, &more))
            return false;
    }
    peek(p);
    return p->at == p->end || refuse(p, "something follows the value");
}

bool json_parse(char *text, size_t length, json_tree *out)
{
    parser p = {.begin = text, .at = text, .end = text + length, .tree = out};

    *out = (json_tree){.values = malloc(json_tree_bytes(text, length))};
    if (!out->values || !parse_all(&p))
        return false;
    out->root = out->values;
    return true;
}

void json_tree_free(json_tree *t)
{
    free(t->values);
    *t = (json_tree){0};
}

/* ---- base64 ---------------------------------------------------------------------- */

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool json_decode_base64(char *text)
{
    size_t length = strlen(text), padding = 0, put = 0;
    unsigned bits = 0;

    while (padding < 2 && padding < length && text[length - padding - 1] == '=')
        padding++;
    if (length == 0 || length % 4)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit = i < length - padding ? base64_digit(text[i]) : 0;

        if (digit < 0)
            return false;
        bits = bits << 6 | (unsigned)digit;
        if (i % 4)
            text[put++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
    }
    put -= padding;
    text[put] = '\0';
    return strlen(text) == put;
}
