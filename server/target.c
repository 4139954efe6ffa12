#include "target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes `length` bytes; in a query, '+' is a space. */
static bool decode(const char *from, size_t length, bool query, arena *a,
                   const char **out, problem *p)
{
    char *to = arena_take(a, length + 1);
    size_t put = 0;

    if (!to)
        return problem_note_memory(p);
    for (size_t i = 0; i < length; i++) {
        int high = -1, low = -1;

        if (from[i] != '%') {
            to[put++] = (char)(query && from[i] == '+' ? ' ' : from[i]);
            continue;
        }
        if (i + 2 < length) {
            high = hex_digit(from[i + 1]);
            low = hex_digit(from[i + 2]);
        }
        if (high < 0 || low < 0)
            return problem_note(p, PROBLEM_bad_request,
                                "the address has a '%%' that two hexadecimal digits do "
                                "not follow: write a percent sign as %%25");
        if (high == 0 && low == 0)
            return problem_note(p, PROBLEM_bad_request,
                                "the address contains %%00, which no id has");
        to[put++] = (char)(high << 4 | low);
        i += 2;
    }
    *out = to;
    return true;
}

static bool read_path(const char *path, size_t length, arena *a, target *t, problem *p)
{
    while (length) { /* at a '/' */
        const char *next;
        size_t here;

        path++;
        length--;
        next = memchr(path, '/', length);
        here = next ? (size_t)(next - path) : length;
        if (t->segments == TARGET_SEGMENTS)
            return problem_note(p, PROBLEM_not_found,
                                "there is nothing at this address: see /openapi.json");
        if (!decode(path, here, false, a, &t->segment[t->segments++], p))
            return false;
        path += here;
        length -= here;
    }
    return true;
}

static bool read_parameter(const char *at, size_t length, arena *a, target *t,
                           problem *p)
{
    const char *equals = memchr(at, '=', length);
    size_t name = equals ? (size_t)(equals - at) : length;
    parameter *q;

    if (length == 0)
        return true;
    if (t->parameters == TARGET_PARAMETERS)
        return problem_note(p, PROBLEM_bad_request,
                            "the address has more than %d parameters",
                            TARGET_PARAMETERS);
    q = &t->parameter[t->parameters++];
    q->value = "";
    return decode(at, name, true, a, &q->name, p) &&
           (!equals || decode(equals + 1, length - name - 1, true, a, &q->value, p));
}

bool target_read(const char *raw, arena *a, target *out, problem *p)
{
    size_t path = strcspn(raw, "?#");
    const char *at = raw + path;

    *out = (target){.segments = 0};
    if (raw[0] != '/')
        return problem_note(p, PROBLEM_bad_request,
                            "the address of a request must begin with '/'");
    if (!read_path(raw, path, a, out, p))
        return false;
    while (*at == '?' || *at == '&') {
        size_t length = strcspn(++at, "&#");

        if (!read_parameter(at, length, a, out, p))
            return false;
        at += length;
    }
    return true;
}

const char *target_find(const target *t, const char *name)
{
    for (int i = 0; i < t->parameters; i++)
        if (strcmp(t->parameter[i].name, name) == 0)
            return t->parameter[i].value;
    return NULL;
}

bool target_take_count(const target *t, const char *name, int64_t least, int64_t most,
                       int64_t *value, problem *p)
{
    const char *text = target_find(t, name);
    char *end;
    int64_t number;

    if (!text)
        return true;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end || end == text || !strchr("-0123456789", text[0]) ||
        number < least || number > most)
        return problem_note(p, PROBLEM_bad_value,
                            "%s must be a whole number from %" PRId64 " to %" PRId64,
                            name, least, most);
    *value = number;
    return true;
}

bool target_check(const target *t, const char *const *names, problem *p)
{
    for (int i = 0; i < t->parameters; i++) {
        const char *name = t->parameter[i].name;
        int k = 0;

        while (names[k] && strcmp(names[k], name) != 0)
            k++;
        if (!names[k])
            return problem_note(p, PROBLEM_bad_value,
                                "there is no parameter \"%.60s\" here: see "
                                "/openapi.json",
                                name);
        if (target_find(t, name) != t->parameter[i].value)
            return problem_note(p, PROBLEM_bad_value,
                                "the parameter \"%.60s\" is given twice", name);
    }
    return true;
}
