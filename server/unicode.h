/* UTF-8, which ids need not be. */
#ifndef EASE_SERVER_UNICODE_H
#define EASE_SERVER_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the code point at *s, which is terminated by NUL, and moves *s past it.
 * Returns -1 for a byte that begins none. */
int32_t unicode_next(const char **s);
bool unicode_is_valid(const char *s);

/* The lower-case form of a code point without its accent, in Latin, Greek and Cyrillic;
 * others stay as they are. */
int32_t unicode_fold(int32_t code);
/* Writes a code point to `to`, of 4 bytes. Returns the number of bytes. */
size_t unicode_put(char *to, int32_t code);
/* True for letters and digits: what words consist of. */
bool unicode_in_word(int32_t code);

#endif
