#include "lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 64 };

lookup lookup_new(const char *(*id_of)(const void *, int64_t), const void *owner)
{
    lookup l = {.id_of = id_of, .owner = owner};

    (void)!getrandom(&l.seed, sizeof(l.seed), 0);
    return l;
}

void lookup_free(lookup *l)
{
    free(l->slots);
    l->slots = NULL;
}

/* The slot of an id, or the free one where it belongs. */
static size_t slot_of(const lookup *l, const char *id)
{
    size_t i = (size_t)XXH3_64bits_withSeed(id, strlen(id), l->seed) & l->mask;

    while (l->slots[i] && strcmp(l->id_of(l->owner, l->slots[i] - 1), id) != 0)
        i = (i + 1) & l->mask;
    return i;
}

bool lookup_reserve(lookup *l)
{
    lookup larger = *l;
    size_t slots = l->slots ? 2 * (l->mask + 1) : FIRST_SLOTS;

    if (l->slots && 2 * (size_t)(l->count + 1) <= l->mask + 1)
        return true;
    larger.slots = calloc(slots, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    larger.mask = slots - 1;
    for (size_t i = 0; l->slots && i <= l->mask; i++)
        if (l->slots[i])
            larger.slots[slot_of(&larger, l->id_of(l->owner, l->slots[i] - 1))] =
                l->slots[i];
    free(l->slots);
    *l = larger;
    return true;
}

void lookup_put(lookup *l, const char *id, int64_t number)
{
    l->slots[slot_of(l, id)] = (uint32_t)number + 1;
    l->count++;
}

int64_t lookup_find(const lookup *l, const char *id)
{
    return l->slots ? (int64_t)l->slots[slot_of(l, id)] - 1 : -1;
}

size_t lookup_bytes(const lookup *l)
{
    return l->slots ? (l->mask + 1) * sizeof(*l->slots) : 0;
}
