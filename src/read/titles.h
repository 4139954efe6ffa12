/* Titles of items, for display. */
#ifndef EASE_READ_TITLES_H
#define EASE_READ_TITLES_H

#include "data/ids.h"
#include "text/fields.h"

/* Reads a table with an id and a title column, in any place: the id column is the one
 * whose values match most items (the leftmost of equals), the title column the one
 * that the header calls title or name, else the first other one that is mostly not
 * numbers. Values that are not UTF-8 are read as Latin-1. *packed has the layout of
 * ease__ids_pack with a title, or "", for each item; the caller frees it. Fails with
 * EASE_E_DATA if no id matches, and as ease__table_open. */
ease_status ease__titles_read(const char *path, const ease__ids *items, void **packed,
                              size_t *bytes, int32_t *matched, ease_error *err);

/* The length of the UTF-8 character at p, where `left` bytes can be read; 0: it is not
 * valid UTF-8. */
size_t ease__utf8_length(const unsigned char *p, size_t left);

/* Returns the length of a field in UTF-8; writes it if `to` is not NULL. A field that
 * is not valid UTF-8 is taken as Latin-1. */
size_t ease__utf8_put(const ease__field *f, char *to);

#endif
