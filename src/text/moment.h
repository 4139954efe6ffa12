/* Parsing of times. */
#ifndef EASE_TEXT_MOMENT_H
#define EASE_TEXT_MOMENT_H

#include "core/core.h"

/* Parses a number of any unit, or a date in seconds since 1970: 2005-04-02, with a
 * time of day (`2005-04-02 23:53:47.5`, with `T` instead of the space, or without
 * seconds) and a zone (`Z`, `+02:00`). A later time is a larger number. Returns
 * false if the text is neither. */
bool ease__parse_moment(const char *text, size_t length, double *out);

/* True for a date of three numbers between equal separators, the year first or last,
 * alone or before a time of day: 2005-04-02T23:53, 02.04.2005, 4/2/05 11:53 PM. It
 * accepts more than ease__parse_moment, which must know the order of day and month. */
bool ease__looks_like_date(const char *text, size_t length);

#endif
