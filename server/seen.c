#include "seen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "segments.h"

typedef XXH128_hash_t hash;

/* An open-addressing table that is at most half full; {0, 0} is a free slot. */
typedef struct table {
    hash *slots;
    size_t mask; /* number of slots - 1; slots NULL: there are none */
    int64_t count;
} table;

/* When `now` has `least` ids it becomes `before`, whose ids are forgotten. */
struct seen {
    table now, before;
    int64_t least;
    uint64_t seed;
    size_t *added; /* slots of `now` since seen_begin, in their order */
    int64_t added_count, added_space;
};

static const int64_t FIRST = 1024;

static bool is_free(hash h)
{
    return h.low64 == 0 && h.high64 == 0;
}

/* The slot with the hash, or the free one where it belongs. */
static size_t slot_of(const table *t, hash h)
{
    size_t i = (size_t)h.low64 & t->mask;

    while (!is_free(t->slots[i]) && !XXH128_isEqual(t->slots[i], h))
        i = (i + 1) & t->mask;
    return i;
}

static bool has(const table *t, hash h)
{
    return t->slots && !is_free(t->slots[slot_of(t, h)]);
}

/* Makes the table large enough for `count` ids. */
static ease_status reserve(table *t, int64_t count, ease_error *err)
{
    table larger = {.count = t->count};
    size_t slots = 2 * (size_t)FIRST;

    while (slots / 2 < (size_t)count)
        slots *= 2;
    if (t->slots && slots <= t->mask + 1)
        return EASE_OK;
    larger.slots = calloc(slots, sizeof(*larger.slots));
    if (!larger.slots)
        return journal_fail(err, EASE_E_NOMEM, 0, "the ids of %lld events",
                            (long long)count);
    larger.mask = slots - 1;
    for (size_t i = 0; t->slots && i <= t->mask; i++)
        if (!is_free(t->slots[i]))
            larger.slots[slot_of(&larger, t->slots[i])] = t->slots[i];
    free(t->slots);
    *t = larger;
    return EASE_OK;
}

ease_status seen_new(int64_t least, seen **out, ease_error *err)
{
    seen *s = calloc(1, sizeof(*s));

    if (!s)
        return journal_fail(err, EASE_E_NOMEM, 0, "the ids of events");
    s->least = least > FIRST ? least : FIRST;
    if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed))
        s->seed = (uint64_t)(uintptr_t)s;
    *out = s;
    return EASE_OK;
}

void seen_free(seen *s)
{
    if (!s)
        return;
    free(s->now.slots);
    free(s->before.slots);
    free(s->added);
    free(s);
}

ease_status seen_begin(seen *s, int64_t count, ease_error *err)
{
    s->added_count = 0;
    if (s->added_space < count) {
        size_t *larger = realloc(s->added, (size_t)count * sizeof(*larger));

        if (!larger)
            return journal_fail(err, EASE_E_NOMEM, 0, "the ids of events");
        s->added = larger;
        s->added_space = count;
    }
    if (s->now.count >= s->least) {
        free(s->before.slots);
        s->before = s->now;
        s->now = (table){0};
    }
    return reserve(&s->now, s->now.count + count, err);
}

bool seen_add(seen *s, const char *id)
{
    hash h = XXH3_128bits_withSeed(id, strlen(id), s->seed);
    size_t i;

    if (is_free(h))
        h.low64 = 1;
    if (has(&s->before, h) || has(&s->now, h))
        return false;
    i = slot_of(&s->now, h);
    s->now.slots[i] = h;
    s->now.count++;
    s->added[s->added_count++] = i;
    return true;
}

void seen_undo(seen *s)
{
    /* In reverse order, so that no chain of probes is broken. */
    while (s->added_count) {
        s->now.slots[s->added[--s->added_count]] = (hash){0, 0};
        s->now.count--;
    }
}
