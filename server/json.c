#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unicode.h"

/* ---- writing --------------------------------------------------------------------- */

/* Keys are our own words, which need no escapes. */
static void put_key(json_writer *w, const char *key, const char *suffix)
{
    if (w->comma)
        bytes_put(w->to, ", ", 2);
    w->comma = true;
    if (!key)
        return;
    bytes_put(w->to, "\"", 1);
    bytes_text(w->to, key);
    bytes_text(w->to, suffix);
    bytes_put(w->to, "\": ", 3);
}

void put_open(json_writer *w, const char *key, char bracket)
{
    put_key(w, key, "");
    bytes_put(w->to, &bracket, 1);
    w->comma = false;
}

void put_close(json_writer *w, char bracket)
{
    bytes_put(w->to, &bracket, 1);
    w->comma = true;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

static void put_string(bytes *to, const char *s)
{
    bytes_put(to, "\"", 1);
    while (*s) {
        const char *begin = s;
        int32_t code;

        while (is_plain((unsigned char)*s))
            s++;
        bytes_put(to, begin, (size_t)(s - begin));
        if (!*s)
            break;
        begin = s;
        code = unicode_next(&s);
        if (code < 0)
            bytes_text(to, "\\ufffd");
        else if (code == '"' || code == '\\')
            bytes_format(to, "\\%c", (int)code);
        else if (code < 0x20 || code == 0x7F)
            bytes_format(to, "\\u%04x", (unsigned)code);
        else
            bytes_put(to, begin, (size_t)(s - begin));
    }
    bytes_put(to, "\"", 1);
}

void put_text(json_writer *w, const char *key, const char *value)
{
    put_key(w, key, "");
    if (value)
        put_string(w->to, value);
    else
        bytes_text(w->to, "null");
}

static void put_base64(bytes *to, const char *id)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)id;
    size_t left = strlen(id);

    bytes_put(to, "\"", 1);
    for (; left; at += 3) {
        size_t count = left < 3 ? left : 3;
        unsigned bits = (unsigned)at[0] << 16;

        if (count > 1)
            bits |= (unsigned)at[1] << 8;
        if (count > 2)
            bits |= at[2];
        for (size_t i = 0; i < 4; i++)
            bytes_put(to, i <= count ? &digits[bits >> (18 - 6 * i) & 63] : "=", 1);
        left -= count;
    }
    bytes_put(to, "\"", 1);
}

void put_id(json_writer *w, const char *key, const char *id)
{
    if (unicode_is_valid(id)) {
        put_key(w, key, "");
        put_string(w->to, id);
    } else if (key) {
        put_key(w, key, "_base64");
        put_base64(w->to, id);
    } else {
        put_open(w, NULL, '{');
        put_id(w, "id", id);
        put_close(w, '}');
    }
}

void put_count(json_writer *w, const char *key, int64_t value)
{
    put_key(w, key, "");
    bytes_format(w->to, "%" PRId64, value);
}

static void put_real(json_writer *w, const char *key, double value, int digits)
{
    put_key(w, key, "");
    if (isfinite(value))
        bytes_format(w->to, "%.*g", digits, value);
    else
        bytes_text(w->to, "null");
}

void put_float(json_writer *w, const char *key, float value)
{
    put_real(w, key, (double)value, 9);
}

void put_number(json_writer *w, const char *key, double value)
{
    put_real(w, key, value, 17);
}

void put_bool(json_writer *w, const char *key, bool value)
{
    put_key(w, key, "");
    bytes_text(w->to, value ? "true" : "false");
}

void put_problem(json_writer *w, const problem *p)
{
    put_open(w, "error", '{');
    put_text(w, "code", problem_name(p->code));
    put_text(w, "message", p->text);
    put_close(w, '}');
}

/* ---- objects --------------------------------------------------------------------- */

bool json_parse_body(const char *body, size_t length, json_t **out, problem *p)
{
    json_error_t e;
    json_t *value = length ? json_loadb(body, length, JSON_REJECT_DUPLICATES, &e)
                           : NULL;

    if (length == 0)
        return problem_note(p, PROBLEM_bad_json,
                            "the request has no body: send a JSON object");
    if (!value)
        return problem_note(p, PROBLEM_bad_json,
                            "the body is not JSON: line %d, column %d: %s", e.line,
                            e.column, e.text);
    if (!json_is_object(value)) {
        json_decref(value);
        return problem_note(p, PROBLEM_bad_value, "the body must be a JSON object");
    }
    *out = value;
    return true;
}

bool json_check_members(json_t *o, const char *const *names, problem *p)
{
    const char *key;
    json_t *value;

    json_object_foreach(o, key, value)
    {
        int i = 0;

        while (names[i] && strcmp(names[i], key) != 0)
            i++;
        if (!names[i])
            return problem_note(p, PROBLEM_bad_value,
                                "there is no member \"%.60s\" here: see /openapi.json",
                                key);
    }
    return true;
}

/* Takes a whole number, which may be written as 3.0 too. */
static bool take_whole(const json_t *m, int64_t *value)
{
    double real = json_is_real(m) ? json_real_value(m) : 0.5;

    if (json_is_integer(m))
        *value = json_integer_value(m);
    else if (fabs(real) <= 0x1p53 && floor(real) == real)
        *value = (int64_t)real;
    else
        return false;
    return true;
}

bool json_take_count(json_t *o, const char *name, int64_t least, int64_t most,
                     int64_t *value, problem *p)
{
    json_t *m = json_object_get(o, name);
    int64_t number = 0;

    if (!m)
        return true;
    if (!take_whole(m, &number) || number < least || number > most)
        return problem_note(p, PROBLEM_bad_value,
                            "\"%s\" must be a whole number from %" PRId64
                            " to %" PRId64,
                            name, least, most);
    *value = number;
    return true;
}

bool json_take_number(json_t *o, const char *name, double least, double most,
                      double *value, problem *p)
{
    json_t *m = json_object_get(o, name);

    if (!m)
        return true;
    if (!json_is_number(m) || !(json_number_value(m) >= least) ||
        !(json_number_value(m) <= most))
        return problem_note(p, PROBLEM_bad_value,
                            "\"%s\" must be a number from %g to %g", name, least, most);
    *value = json_number_value(m);
    return true;
}

bool json_take_flag(json_t *o, const char *name, bool *value, problem *p)
{
    json_t *m = json_object_get(o, name);

    if (!m)
        return true;
    if (!json_is_boolean(m))
        return problem_note(p, PROBLEM_bad_value, "\"%s\" must be true or false", name);
    *value = json_is_true(m);
    return true;
}

bool json_take_text(json_t *o, const char *name, const char **value, problem *p)
{
    json_t *m = json_object_get(o, name);

    if (!m)
        return true;
    if (!json_is_string(m) || !*json_string_value(m))
        return problem_note(p, PROBLEM_bad_value, "\"%s\" must be a non-empty string",
                            name);
    *value = json_string_value(m);
    return true;
}

/* A member that is a list of at most `most` values; *out stays NULL without it. */
static bool take_list(json_t *o, const char *name, int64_t most, json_t **out,
                      problem *p)
{
    json_t *m = json_object_get(o, name);

    if (!m)
        return true;
    if (!json_is_array(m))
        return problem_note(p, PROBLEM_bad_value, "\"%s\" must be a list", name);
    if (json_array_size(m) > (size_t)most)
        return problem_note(p, PROBLEM_too_large,
                            "\"%s\" has %zu entries; at most %" PRId64 " are allowed",
                            name, json_array_size(m), most);
    *out = m;
    return true;
}

bool json_take_texts(json_t *o, const char *name, int64_t most, arena *a,
                     const char ***values, int64_t *count, problem *p)
{
    json_t *list = NULL;
    size_t n;

    if (!take_list(o, name, most, &list, p))
        return false;
    n = json_array_size(list);
    *values = arena_take_array(a, n + 1, sizeof(**values));
    if (!*values)
        return problem_note_memory(p);
    for (size_t i = 0; i < n; i++) {
        (*values)[i] = json_string_value(json_array_get(list, i));
        if (!(*values)[i] || !*(*values)[i])
            return problem_note(p, PROBLEM_bad_value,
                                "\"%s\": entry %zu must be a non-empty string", name,
                                i);
    }
    *count = (int64_t)n;
    return true;
}

/* ---- ids ------------------------------------------------------------------------- */

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

/* Decodes padded base64. Returns the number of bytes; -1: malformed. */
static int64_t decode_base64(const char *text, char *to)
{
    size_t length = strlen(text), padding = 0;
    unsigned bits = 0;
    int64_t count = 0;

    while (padding < 2 && padding < length && text[length - padding - 1] == '=')
        padding++;
    if (length == 0 || length % 4)
        return -1;
    for (size_t i = 0; i < length; i++) {
        int digit = i < length - padding ? base64_digit(text[i]) : 0;

        if (digit < 0)
            return -1;
        bits = bits << 6 | (unsigned)digit;
        if (i % 4 == 0)
            continue;
        to[count++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
    }
    return count - (int64_t)padding;
}

static bool read_base64(json_t *value, const char *where, arena *a, const char **id,
                        problem *p)
{
    const char *text = json_string_value(value);
    char *made = text ? arena_take(a, strlen(text) + 1) : NULL;
    int64_t length;

    if (text && !made)
        return problem_note_memory(p);
    length = text ? decode_base64(text, made) : -1;
    if (length <= 0)
        return problem_note(p, PROBLEM_bad_value,
                            "%s: \"id_base64\" must be one or more bytes in base64, "
                            "with its padding",
                            where);
    made[length] = '\0';
    if (strlen(made) != (size_t)length)
        return problem_note(p, PROBLEM_bad_id, "%s: no id contains a byte 0", where);
    *id = made;
    return true;
}

bool json_read_id(json_t *value, const char *where, arena *a, const char **id,
                  problem *p)
{
    char digits[24];
    int64_t number;
    int length;

    if (json_is_string(value) && *json_string_value(value)) {
        *id = json_string_value(value);
        return true;
    }
    if (take_whole(value, &number)) {
        length = snprintf(digits, sizeof(digits), "%" PRId64, number);
        *id = arena_copy(a, digits, (size_t)length);
        return *id ? true : problem_note_memory(p);
    }
    if (json_is_object(value) && json_object_size(value) == 1 &&
        json_object_get(value, "id_base64"))
        return read_base64(json_object_get(value, "id_base64"), where, a, id, p);
    return problem_note(p, PROBLEM_bad_value,
                        "%s must be an id: a non-empty string, an integer or "
                        "{\"id_base64\": \"...\"}",
                        where);
}

bool json_take_id(json_t *o, const char *name, arena *a, const char **id, problem *p)
{
    json_t *m = json_object_get(o, name);
    char where[80];

    snprintf(where, sizeof(where), "\"%s\"", name);
    return !m || json_read_id(m, where, a, id, p);
}

static const char *const entry_members[] = {"id", "id_base64", "weight", NULL};

/* {"id": ..., "weight": ...} or {"id_base64": ..., "weight": ...} */
static bool read_weighted(json_t *o, const char *where, arena *a, const char **id,
                          float *weight, problem *p)
{
    json_t *plain = json_object_get(o, "id"), *coded = json_object_get(o, "id_base64");
    double value = 1;

    if (!json_check_members(o, entry_members, p) ||
        !json_take_number(o, "weight", -1e30, 1e30, &value, p))
        return false;
    *weight = (float)value;
    if (!plain == !coded)
        return problem_note(p, PROBLEM_bad_value,
                            "%s must have either \"id\" or \"id_base64\"", where);
    return coded ? read_base64(coded, where, a, id, p)
                 : json_read_id(plain, where, a, id, p);
}

static bool read_entry(json_t *value, const char *where, bool weighted, arena *a,
                       const char **id, float *weight, problem *p)
{
    *weight = 1;
    if (weighted && json_is_object(value))
        return read_weighted(value, where, a, id, weight, p);
    return json_read_id(value, where, a, id, p);
}

bool json_take_ids(json_t *o, const char *name, int64_t most, bool weighted, arena *a,
                   id_list *out, problem *p)
{
    json_t *list = NULL;
    bool any = false;
    size_t n;

    if (!take_list(o, name, most, &list, p))
        return false;
    n = json_array_size(list);
    *out = (id_list){.at = arena_take_array(a, n + 1, sizeof(*out->at)),
                     .weights = arena_take_array(a, n + 1, sizeof(float)),
                     .count = (int64_t)n,
                     .given = list != NULL};
    if (!out->at || !out->weights)
        return problem_note_memory(p);
    for (size_t i = 0; i < n; i++) {
        char where[100];

        snprintf(where, sizeof(where), "\"%s\": entry %zu", name, i);
        if (!read_entry(json_array_get(list, i), where, weighted, a, &out->at[i],
                        &out->weights[i], p))
            return false;
        any = any || json_object_get(json_array_get(list, i), "weight");
    }
    if (!any)
        out->weights = NULL;
    return true;
}
