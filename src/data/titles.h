/* Titles of items, from a table of ids and titles. */
#ifndef EASE_TITLES_H
#define EASE_TITLES_H

#include "data/ids.h"

/* The titles of `items` in their order, "" for none, packed as ease__ids_borrow() takes
 * them; free *packed with ease__free(). *matched is how many items have one. */
ease_status ease__titles_read(const char *path, const ease__ids *items, void **packed,
                              size_t *bytes, int32_t *matched, ease_error *err);

#endif
