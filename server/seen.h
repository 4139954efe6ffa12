/* The ids of recent events, so that an event that a client sends again is not written
 * twice: a table of 128-bit hashes with a random seed. It forgets the oldest ids in
 * large steps, and remembers `least` of them at any time. For one thread at a time. */
#ifndef EASE_SERVER_SEEN_H
#define EASE_SERVER_SEEN_H

#include <stdbool.h>

#include "ease.h"

typedef struct seen seen;

/* Fails with EASE_E_NOMEM. */
ease_status seen_new(int64_t least, seen **out, ease_error *err);
void seen_free(seen *s);

/* To be called before up to `count` calls of seen_add, which seen_undo can take back.
 * Fails with EASE_E_NOMEM. */
ease_status seen_begin(seen *s, int64_t count, ease_error *err);
/* Adds an id. Returns false if it is there already. */
bool seen_add(seen *s, const char *id);
/* Removes the ids that were added since seen_begin: their events were not written. */
void seen_undo(seen *s);

#endif
