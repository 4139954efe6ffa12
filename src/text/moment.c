#include "text/moment.h"

#include <math.h>
#include <string.h>

#include "text/fields.h"
#include "text/number.h"

typedef struct scan {
    const char *at, *end;
} scan;

static bool take(scan *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* Reads a number of exactly `digits` digits, at most `most`. */
static bool take_number(scan *s, int digits, int most, int *out)
{
    int value = 0;

    for (int i = 0; i < digits; i++, s->at++) {
        if (s->at == s->end || *s->at < '0' || *s->at > '9')
            return false;
        value = 10 * value + (*s->at - '0');
    }
    *out = value;
    return value <= most;
}

/* Days since 1970-01-01 in the Gregorian calendar. The year is taken to begin in
 * March, so that a leap day is its last day. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;

    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719469;
}

/* True if the Gregorian calendar has this day. */
static bool is_day(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return year >= 1 && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (leap && month == 2);
}

static bool take_date(scan *s, int64_t *days)
{
    int year, month, day;

    if (!take_number(s, 4, 9999, &year) || !take(s, '-') ||
        !take_number(s, 2, 12, &month) || !take(s, '-') ||
        !take_number(s, 2, 31, &day) || !is_day(year, month, day))
        return false;
    *days = days_of(year, month, day);
    return true;
}

/* Reads a time of day: up to 24:00, and with a leap second up to 23:59:60. */
static bool take_clock(scan *s, double *seconds)
{
    int hour, minute, second = 0;
    double part = 0.0, unit = 0.1;

    if (!take_number(s, 2, 24, &hour) || !take(s, ':') ||
        !take_number(s, 2, 59, &minute))
        return false;
    if (take(s, ':') && !take_number(s, 2, 60, &second))
        return false;
    if (take(s, '.'))
        for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
            part += unit * (*s->at - '0');
            unit /= 10.0;
        }
    *seconds = 3600.0 * hour + 60.0 * minute + second + part;
    return hour < 24 || *seconds == 86400.0;
}

/* Reads a time zone: "Z", "+02", "+0200" or "+02:00"; without one the time is UTC. */
static bool take_zone(scan *s, double *seconds)
{
    bool east = take(s, '+');
    int hours, minutes = 0;

    *seconds = 0.0;
    if (!east && !take(s, '-')) {
        take(s, 'Z');
        return true;
    }
    if (!take_number(s, 2, 23, &hours))
        return false;
    if ((take(s, ':') || s->at < s->end) && !take_number(s, 2, 59, &minutes))
        return false;
    *seconds = (east ? 60.0 : -60.0) * (60 * hours + minutes);
    return true;
}

/* Most times are whole numbers of a few digits. */
static bool parse_number(const char *text, size_t length, double *out)
{
    enum { EXACT_DIGITS = 15 };
    uint64_t n = 0;
    size_t i = 0;

    if (length >= 8 && length <= EXACT_DIGITS && ease__take_eight(text, &n))
        i = 8;
    if (length > 0 && length <= EXACT_DIGITS)
        for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
            n = 10 * n + (uint64_t)(text[i] - '0');
    if (i == length && i > 0) {
        *out = (double)n;
        return true;
    }
    return ease__parse_double(text, length, out) == EASE__NUMBER_OK;
}

static bool parse_date(const char *text, size_t length, double *out)
{
    scan s = {text, text + length};
    double clock = 0.0, zone = 0.0;
    int64_t days;

    if (!take_date(&s, &days))
        return false;
    if ((take(&s, ' ') || take(&s, 'T')) &&
        (!take_clock(&s, &clock) || !take_zone(&s, &zone)))
        return false;
    *out = 86400.0 * (double)days + clock - zone;
    return s.at == s.end;
}

bool ease__parse_moment(const char *text, size_t length, double *out)
{
    return parse_number(text, length, out) || parse_date(text, length, out);
}

bool ease__instant_of(double number, double *out, bool *small)
{
    double size = fabs(number);
    int date, year, month, day;

    *small = size < 1e8;
    *out = number / (size < 1e11 ? 1.0 : size < 1e14 ? 1e3 : size < 1e17 ? 1e6 : 1e9);
    if (!*small)
        return true;
    date = (int)size;
    year = date / 10000;
    month = date / 100 % 100;
    day = date % 100;
    if (year < 1900 || year > 2100 || number != (double)date)
        return true;
    *small = false;
    *out = 86400.0 * (double)days_of(year, month, day);
    return is_day(year, month, day);
}

bool ease__parse_instant(const char *text, size_t length, double *out, bool *small)
{
    double number;
    bool date = length >= 10 && text[4] == '-' && text[7] == '-'; /* not a number */

    if (!date && parse_number(text, length, &number))
        return ease__instant_of(number, out, small);
    *small = false;
    return parse_date(text, length, out);
}

ease_status ease_time_parse(const char *text, double *seconds, ease_error *err)
{
    char shown[EASE__EXCERPT_CHARS];
    bool small;

    if (!text || !seconds)
        return ease__fail(err, EASE_E_ARG, "a time is required");
    if (ease__parse_instant(text, strlen(text), seconds, &small))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "'%s' is not a time such as 2024-01-31, 2024-01-31T18:00 or "
                      "1706659200",
                      ease__excerpt(text, strlen(text), shown));
}

/* Reads up to `most` digits at *at, and moves *at past them. Returns their number. */
static int take_digits(const char **at, const char *end, int most, int *digits)
{
    int value = 0;

    for (*digits = 0; *digits < most && *at < end && **at >= '0' && **at <= '9';
         ++*at, ++*digits)
        value = 10 * value + (**at - '0');
    return value;
}

bool ease__looks_like_date(const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    int digits[3], number[3];
    char separator = '\0';

    for (int i = 0; i < 3; i++) {
        number[i] = take_digits(&at, end, i == 1 ? 2 : 4, &digits[i]);
        if (number[i] < 1)
            return false;
        if (i == 2)
            break;
        if (at == end || (i && *at != separator) || !strchr("-/.", *at) || !*at)
            return false;
        separator = *at++;
    }
    if (at < end && *at != ' ' && *at != 'T' && *at != ',')
        return false;
    return number[1] <= 31 &&
           ((digits[0] == 4 && digits[2] <= 2 && number[2] <= 31) ||
            (digits[0] <= 2 && number[0] <= 31 && digits[2] != 3 && digits[2] != 1));
}
