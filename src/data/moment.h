/* Times as text. */
#ifndef EASE_MOMENT_H
#define EASE_MOMENT_H

#include "core/core.h"

/* A number, whatever it counts, or a date: 2005-04-02, with a time of day
 * (`2005-04-02 23:53:47.5`, `T` between them, without seconds) and a zone (`Z`,
 * `+02:00`), in seconds since 1970. Later is larger. False: it is neither. */
bool ease__parse_moment(const char *text, size_t length, double *out);

#endif
