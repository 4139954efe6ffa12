#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 8192, GRAIN = 16 };

struct arena_block {
    _Alignas(GRAIN) arena_block *previous;
    size_t size; /* of what follows */
};

void *arena_take(arena *a, size_t bytes)
{
    char *at;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    if (!a->last || a->last->size - a->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        arena_block *b = malloc(sizeof(*b) + size);

        if (!b)
            return NULL;
        *b = (arena_block){.previous = a->last, .size = size};
        a->last = b;
        a->used = 0;
    }
    at = (char *)(a->last + 1) + a->used;
    a->used += bytes;
    return memset(at, 0, bytes);
}

void *arena_take_array(arena *a, size_t count, size_t size)
{
    return size && count > SIZE_MAX / 2 / size ? NULL : arena_take(a, count * size);
}

char *arena_copy(arena *a, const char *from, size_t length)
{
    char *to = arena_take(a, length + 1);

    return to ? memcpy(to, from, length) : NULL;
}

void arena_free(arena *a)
{
    while (a->last) {
        arena_block *b = a->last;

        a->last = b->previous;
        free(b);
    }
    a->used = 0;
}
