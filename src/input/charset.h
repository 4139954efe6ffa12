/* Texts in UTF-16 and Latin-1, as UTF-8. */
#ifndef EASE_INPUT_CHARSET_H
#define EASE_INPUT_CHARSET_H

#include "core/core.h"

typedef enum ease__charset {
    EASE__CHARSET_BYTES, /* UTF-8, or what is not to be converted */
    EASE__CHARSET_UTF16LE,
    EASE__CHARSET_UTF16BE,
    EASE__CHARSET_LATIN1, /* Windows-1252, a superset of it except for control codes */
    EASE__CHARSETS
} ease__charset;

/* Finds "utf-8", "utf-16" (little-endian, where no mark at the beginning of the text
 * says otherwise) or "latin-1"; false: there is no such charset. */
bool ease__charset_named(const char *name, ease__charset *out);

enum { EASE__CHARSET_GROWTH = 3 }; /* bytes of UTF-8 for a byte of any charset */

/* Converts the characters of from[0 .. bytes - 1] up to one that is cut or wrong.
 * Writes at most EASE__CHARSET_GROWTH x bytes; returns the number of bytes written, and
 * sets *used to the number of bytes that were converted. */
size_t ease__charset_convert(ease__charset c, const unsigned char *from, size_t bytes,
                             size_t *used, unsigned char *to);

#endif
