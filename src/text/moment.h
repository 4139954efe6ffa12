/* Parsing of times. */
#ifndef EASE_TEXT_MOMENT_H
#define EASE_TEXT_MOMENT_H

#include <string.h>

#include "core/core.h"

/* Parses a number of any unit, or a date in seconds since 1970: 2005-04-02, with a
 * time of day (`2005-04-02 23:53:47.5`, with `T` instead of the space, or without
 * seconds) and a zone (`Z`, `+02:00`). A later time is a larger number. Returns
 * false if the text is neither, and for days that the calendar does not have. */
bool ease__parse_moment(const char *text, size_t length, double *out);

/* Reads eight digits at p into *out, by sums of pairs, of fours, of eights. */
static inline bool ease__take_eight(const char *p, uint64_t *out)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    w -= ones * '0';
    if (((w + ones * (0x7f - 9)) | w) & (ones << 7))
        return false;
    w = w * 10 + (w >> 8);
    w = (w & UINT64_C(0x00ff00ff00ff00ff)) * (1 + (UINT64_C(100) << 16)) >> 16;
    w = (w & UINT64_C(0x0000ffff0000ffff)) * (1 + (UINT64_C(10000) << 32)) >> 32;
    *out = w;
    return true;
}

/* Parses a time that must be a date: one as above; 20050402; or a number of seconds,
 * milli-, micro- or nanoseconds since 1970, told apart by their size: numbers below
 * 10^11 are seconds (up to the year 5138), below 10^14 milliseconds, below 10^17
 * microseconds. *out is in seconds since 1970. *small is set for a number below 10^8
 * (of before March 1973, in seconds), which is more likely a year or a count. Whole
 * numbers from 19000000 to 21009999 are dates: false for those that the calendar does
 * not have. */
bool ease__parse_instant(const char *text, size_t length, double *out, bool *small);
/* The same for the most common form, ten digits with the first above 0: seconds since
 * 1970. False: it is another form. */
static inline bool ease__parse_ten_digits(const char *text, size_t length, double *out)
{
    uint64_t n;

    if (length != 10 || text[0] == '0' || text[8] < '0' || text[8] > '9' ||
        text[9] < '0' || text[9] > '9' || !ease__take_eight(text, &n))
        return false;
    *out = (double)(100 * n + 10 * (uint64_t)(text[8] - '0') +
                    (uint64_t)(text[9] - '0'));
    return true;
}

/* The same for such a number. */
bool ease__instant_of(double number, double *out, bool *small);

/* True for a date of three numbers between equal separators, the year first or last,
 * alone or before a time of day: 2005-04-02T23:53, 02.04.2005, 4/2/05 11:53 PM. It
 * accepts more than ease__parse_moment, which must know the order of day and month. */
bool ease__looks_like_date(const char *text, size_t length);

#endif
