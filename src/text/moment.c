#include "text/moment.h"

#include <string.h>

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

static bool take_date(scan *s, int64_t *days)
{
    int year, month, day;

    if (!take_number(s, 4, 9999, &year) || !take(s, '-') ||
        !take_number(s, 2, 12, &month) || !take(s, '-') ||
        !take_number(s, 2, 31, &day) || year < 1 || month < 1 || day < 1)
        return false;
    *days = days_of(year, month, day);
    return true;
}

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
    return true;
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

bool ease__parse_moment(const char *text, size_t length, double *out)
{
    scan s = {text, text + length};
    double clock = 0.0, zone = 0.0;
    int64_t days;

    if (ease__parse_double(text, length, out) == EASE__NUMBER_OK)
        return true;
    if (!take_date(&s, &days))
        return false;
    if ((take(&s, ' ') || take(&s, 'T')) &&
        (!take_clock(&s, &clock) || !take_zone(&s, &zone)))
        return false;
    *out = 86400.0 * (double)days + clock - zone;
    return s.at == s.end;
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
