/* A hash table from ids to numbers, which belong to the caller: `id_of` returns the id
 * of a number. Up to 2^32 - 2 numbers, at 8 to 16 bytes each. */
#ifndef EASE_SERVER_LOOKUP_H
#define EASE_SERVER_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lookup {
    const char *(*id_of)(const void *owner, int64_t number);
    const void *owner;
    uint32_t *slots; /* number + 1; 0 is free */
    size_t mask;     /* number of slots - 1 */
    int64_t count;
    uint64_t seed;
} lookup;

/* An empty table. */
lookup lookup_new(const char *(*id_of)(const void *, int64_t), const void *owner);
void lookup_free(lookup *l);
/* Makes space for one more id. Returns false if there is no memory. */
bool lookup_reserve(lookup *l);
/* Adds an id that is not there, after lookup_reserve. */
void lookup_put(lookup *l, const char *id, int64_t number);
/* Returns the number of an id, or -1. */
int64_t lookup_find(const lookup *l, const char *id);
size_t lookup_bytes(const lookup *l);

#endif
