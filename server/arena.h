/* Memory that is freed all at once: everything that one request needs. */
#ifndef EASE_SERVER_ARENA_H
#define EASE_SERVER_ARENA_H

#include <stddef.h>

typedef struct arena_block arena_block;

typedef struct arena {
    arena_block *last; /* NULL: empty */
    size_t used;       /* bytes of the last block */
} arena;

/* Returns `bytes` bytes, zeroed and aligned for any type; NULL: no memory. */
void *arena_take(arena *a, size_t bytes);
/* The same for `count` elements. */
void *arena_take_array(arena *a, size_t count, size_t size);
/* Copies `length` bytes and appends a NUL. */
char *arena_copy(arena *a, const char *from, size_t length);
void arena_free(arena *a);

#endif
