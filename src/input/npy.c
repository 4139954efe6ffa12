#include "input/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 1 << 12 };

/* The value of a key in the header, which is the text of a Python dictionary. */
static const char *after_key(const char *head, const char *key)
{
    const char *p = strstr(head, key);

    if (!p)
        return NULL;
    p += strlen(key);
    return p + strspn(p, ": ");
}

/* Parses a type such as '<i4'; sizes have one or two digits. */
static bool parse_type(const char *p, ease__npy *a)
{
    if (!p || (*p != '\'' && *p != '"') || !strchr("<|=", p[1]) || !p[2])
        return false;
    a->kind = p[2];
    a->size = 0;
    for (p += 3; *p >= '0' && *p <= '9'; p++)
        if (a->size < 100)
            a->size = 10 * a->size + (size_t)(*p - '0');
    return (*p == '\'' || *p == '"') && a->size > 0 && a->size < 100;
}

/* Parses (), (n,) or (n, m); more dimensions are not supported. */
static bool parse_shape(const char *p, ease__npy *a)
{
    a->dimensions = 0;
    a->shape[0] = a->shape[1] = 1;
    if (!p || *p++ != '(')
        return false;
    while (*p >= '0' && *p <= '9') {
        size_t length = 0;

        if (a->dimensions == 2)
            return false;
        for (; *p >= '0' && *p <= '9'; p++)
            length = ease__size_add(ease__size_mul(length, 10), (size_t)(*p - '0'));
        if (length == SIZE_MAX)
            return false;
        a->shape[a->dimensions++] = length;
        p += strspn(p, ", ");
    }
    return *p == ')' && ease__size_mul(ease__size_mul(a->shape[0], a->shape[1]),
                                       a->size) != SIZE_MAX;
}

ease_status ease__npy_head(ease__npy_source *source, void *from, const char *name,
                           ease__npy *out, ease_error *err)
{
    unsigned char start[12];
    char head[HEAD_BYTES];
    size_t wide, length;
    const char *order;
    ease__npy a = {0};
    ease_status status = source(from, start, 10, err);

    if (status)
        return status;
    if (memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3)
        return ease__fail(err, EASE_E_PARSE, "%s: not an array of NumPy", name);
    wide = start[6] > 1 ? 2 : 0;
    status = source(from, start + 10, wide, err);
    length = start[8] | (size_t)start[9] << 8;
    if (wide)
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (!status && length >= sizeof(head))
        return ease__fail(err, EASE_E_PARSE, "%s: its head is too long", name);
    if (!status)
        status = source(from, head, length, err);
    if (status)
        return status;
    head[length] = '\0';
    order = after_key(head, "'fortran_order'");
    if (!parse_type(after_key(head, "'descr'"), &a) || !order ||
        !parse_shape(after_key(head, "'shape'"), &a))
        return ease__fail(err, EASE_E_PARSE,
                          "%s: an array of a kind that is not read here", name);
    a.by_columns = *order == 'T';
    *out = a;
    return EASE_OK;
}

/* Magic, length of the header, the header padded so that data begin at a multiple of 64
 * bytes. */
void ease__npy_write_head(char to[EASE__NPY_HEAD], const char *type, const char *shape)
{
    int used;

    memset(to, ' ', EASE__NPY_HEAD);
    memcpy(to, "\x93NUMPY\x01\x00\x76\x00", 10); /* 0x76 = 118 = 128 - 10 */
    used = snprintf(to + 10, EASE__NPY_HEAD - 10,
                    "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type,
                    shape);
    to[10 + used] = ' ';
    to[EASE__NPY_HEAD - 1] = '\n';
}

bool ease__npy_is_integer(const ease__npy *a)
{
    return (a->kind == 'i' || a->kind == 'u') &&
           (a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8);
}

bool ease__npy_is_number(const ease__npy *a)
{
    return ease__npy_is_integer(a) || (a->kind == 'b' && a->size == 1) ||
           (a->kind == 'f' && (a->size == 2 || a->size == 4 || a->size == 8));
}

int64_t ease__npy_integer(const ease__npy *a, const unsigned char *element)
{
    uint64_t bits = 0;
    int spare = 64 - 8 * (int)a->size;

    memcpy(&bits, element, a->size);
    if (a->kind == 'i')
        return (int64_t)(bits << spare) >> spare;
    return bits > INT64_MAX ? -1 : (int64_t)bits;
}

static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double fraction = (double)(h & 1023), value;

    if (exponent == 31)
        value = fraction != 0.0 ? (double)NAN : (double)INFINITY;
    else if (exponent)
        value = ldexp(1024.0 + fraction, exponent - 25);
    else
        value = ldexp(fraction, -24);
    return h >> 15 ? -value : value;
}

double ease__npy_double(const ease__npy *a, const unsigned char *element)
{
    uint16_t half;
    float single;
    double value;
    uint64_t bits;

    if (a->kind == 'f' && a->size == 2) {
        memcpy(&half, element, 2);
        return half_to_double(half);
    }
    if (a->kind == 'f' && a->size == 4) {
        memcpy(&single, element, 4);
        return (double)single;
    }
    if (a->kind == 'f') {
        memcpy(&value, element, 8);
        return value;
    }
    if (a->kind == 'u' && a->size == 8) {
        memcpy(&bits, element, 8);
        return (double)bits;
    }
    return a->kind == 'b' ? (double)(*element != 0)
                          : (double)ease__npy_integer(a, element);
}
