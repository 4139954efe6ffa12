#include "text/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number as its first significant digits and a power of ten. */
enum { KEPT_DIGITS = 780 }; /* 767 digits decide any double */

typedef struct parts {
    const char *first, *end; /* the significant digits, with the point among them */
    uint64_t head;           /* the first 19 significant digits */
    int64_t digits;          /* number of significant digits */
    int64_t power;           /* the power of ten of the last digit */
    bool negative;
} parts;

static const char *skip_spaces(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Exponents beyond a million are read as a million. */
static const char *take_exponent(const char *p, const char *end, int64_t *power)
{
    bool negative = false;
    int64_t value = 0;

    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    if (p == end || !is_digit(*p))
        return NULL;
    for (; p < end && is_digit(*p); p++)
        if (value < 1000000)
            value = 10 * value + (*p - '0');
    *power += negative ? -value : value;
    return p;
}

static bool take_apart(const char *p, const char *end, parts *out)
{
    bool point = false, any = false;

    *out = (parts){0};
    p = skip_spaces(p, end);
    if (p < end && (*p == '+' || *p == '-'))
        out->negative = *p++ == '-';
    for (; p < end; p++) {
        if (is_digit(*p)) {
            any = true;
            if (point)
                out->power--;
            if (out->digits == 0 && *p == '0')
                continue;
            if (out->digits++ == 0)
                out->first = p;
            if (out->digits <= 19)
                out->head = 10 * out->head + (uint64_t)(*p - '0');
        } else if (*p == '.' && !point) {
            point = true;
        } else {
            break;
        }
    }
    out->end = p;
    if (!any)
        return false;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = take_exponent(p + 1, end, &out->power);
    return p && skip_spaces(p, end) == end;
}

/* Converts a number of any length: strtod is given enough digits to round as if it
 * had all. */
static ease__number_fault slow_double(const parts *a, double *out)
{
    char text[KEPT_DIGITS + 48];
    int64_t kept = 0, power = a->power;
    size_t used = 0;
    bool more = false;
    double value;

    for (const char *p = a->first; p && p < a->end; p++) {
        if (*p == '.')
            continue;
        if (kept < KEPT_DIGITS) {
            text[used++] = *p;
            kept++;
        } else {
            more = more || *p != '0';
            power++;
        }
    }
    if (more) { /* a nonzero digit below all others stands for the rest */
        text[used++] = '1';
        power--;
    }
    snprintf(text + used, sizeof(text) - used, "e%lld", (long long)power);
    value = strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (!isfinite(value))
        return EASE__NUMBER_RANGE;
    *out = a->negative ? -value : value;
    return EASE__NUMBER_OK;
}

ease__number_fault ease__parse_double(const char *text, size_t length, double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    parts a;
    double value;

    if (!take_apart(text, text + length, &a))
        return EASE__NUMBER_BAD;
    if (a.digits == 0) {
        *out = a.negative ? -0.0 : 0.0;
        return EASE__NUMBER_OK;
    }
    /* Fast path: both factors are exact doubles, so that the product is rounded
     * once. */
    if (a.digits > 19 || a.head > (UINT64_C(1) << 53) || a.power < -22 || a.power > 22)
        return slow_double(&a, out);
    value = (double)a.head;
    value = a.power < 0 ? value / tens[-a.power] : value * tens[a.power];
    *out = a.negative ? -value : value;
    return EASE__NUMBER_OK;
}

ease__number_fault ease__parse_decimal(const char *text, size_t length, bool thousands,
                                       double *out)
{
    enum { MOST_CHARS = 64 };
    ease__number_fault fault = ease__parse_double(text, length, out);
    const char *comma = length < MOST_CHARS ? memchr(text, ',', length) : NULL;
    char pointed[MOST_CHARS];
    size_t behind;

    if (fault != EASE__NUMBER_BAD || !comma)
        return fault;
    behind = (size_t)(text + length - comma) - 1;
    if (comma == text || behind == 0 || memchr(text, '.', length))
        return fault;
    for (size_t i = 0; i < length; i++)
        if ((text[i] < '0' || text[i] > '9') && text + i != comma &&
            (i || (text[i] != '-' && text[i] != '+')))
            return fault; /* exponents and blanks do not go with a comma */
    if (thousands && behind == 3)
        return fault;
    memcpy(pointed, text, length);
    pointed[comma - text] = '.';
    return ease__parse_double(pointed, length, out);
}

ease__number_fault ease__parse_int(const char *text, size_t length, int64_t *out)
{
    const char *p = text, *end = text + length;
    bool negative = false;
    int64_t value = 0;

    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    if (p == end)
        return EASE__NUMBER_BAD;
    for (const char *q = p; q < end; q++)
        if (!is_digit(*q))
            return EASE__NUMBER_BAD;
    for (; p < end; p++) { /* as a negative number, since there is one more of these */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, *p - '0', &value))
            return EASE__NUMBER_RANGE;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value))
        return EASE__NUMBER_RANGE;
    *out = value;
    return EASE__NUMBER_OK;
}

static size_t print_shortest(double value, int least, int most,
                             char to[EASE__FLOAT_CHARS])
{
    /* The locale of this thread is changed during the call of snprintf. */
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    int length = 0;

    for (int digits = least; digits <= most; digits++) {
        double back = 0.0;

        length = snprintf(to, EASE__FLOAT_CHARS, "%.*g", digits, value);
        if (ease__parse_double(to, (size_t)length, &back) == EASE__NUMBER_OK &&
            (most > 9 ? back == value : (float)back == (float)value))
            break;
    }
    uselocale(before);
    return (size_t)length;
}

size_t ease__print_float(float value, char to[EASE__FLOAT_CHARS])
{
    return print_shortest((double)value, 6, 9, to);
}

size_t ease__print_double(double value, char to[EASE__FLOAT_CHARS])
{
    return print_shortest(value, 15, 17, to);
}
