/* The dictionary of a reader, from ids to codes: a lookup of an id of up to 8 bytes,
 * which is compared as an integer, touches one cache line. One thread may add while
 * others search; these find an id as it was before or after it was added. */
#ifndef EASE_DATA_DICTIONARY_H
#define EASE_DATA_DICTIONARY_H

#include <string.h>
#include <xxhash.h>

#include "core/budget.h"
#include "data/ids.h"

typedef struct ease__key {
    uint64_t bits; /* the id, zero-filled, or a hash of more than 8 bytes */
    const char *text;
    size_t length;
} ease__key;

typedef struct ease__slot {
    _Alignas(16) uint64_t bits;
    uint32_t code;
    uint32_t kind; /* 0: free, 1: bits are the id, 2: a hash; written last */
} ease__slot;

typedef struct ease__slots ease__slots;
struct ease__slots {
    ease__slots *before; /* replaced by these; others may still search them */
    size_t mask;
    int shift; /* 64 - log2(slots) */
    ease__slot at[];
};

typedef struct ease__name {
    const char *text;
    size_t length;
} ease__name;

/* Names are in chunks that never move; each is twice as large as the one before. */
enum { EASE__NAME_BITS = 6, EASE__NAME_CHUNKS = 33 - EASE__NAME_BITS };

typedef struct ease__text ease__text;

typedef struct ease__dictionary {
    ease__slots *slots;
    uint64_t seed; /* so that ids that collide cannot be constructed */
    size_t count;
    ease__name *names[EASE__NAME_CHUNKS];
    bool owner;        /* the dictionary copies the names */
    ease__text *texts; /* the copies, the latest first */
    size_t letters;    /* bytes of all names */
    ease__budget *budget;
    size_t bytes; /* counted against the budget in all */
} ease__dictionary;

/* The key of an id. 8 bytes must be readable at `text`; `length` is not 0. */
static inline ease__key ease__key_of(const ease__dictionary *d, const char *text,
                                     size_t length)
{
    ease__key k = {0, text, length};

    if (length <= 8) {
        memcpy(&k.bits, text, 8);
        k.bits &= ~UINT64_C(0) >> (64 - 8 * length);
    } else {
        k.bits = XXH3_64bits_withSeed(text, length, d->seed);
    }
    return k;
}

static inline bool ease__key_same(ease__key a, ease__key b)
{
    return a.bits == b.bits && a.length == b.length &&
           (a.length <= 8 || memcmp(a.text, b.text, a.length) == 0);
}

static inline ease__name *ease__dictionary_name(const ease__dictionary *d, size_t code)
{
    size_t place = code + ((size_t)1 << EASE__NAME_BITS);
    int top = 63 - __builtin_clzll(place);

    return &d->names[top - EASE__NAME_BITS][place - ((size_t)1 << top)];
}

/* The current slots. They change only by free slots being filled. */
static inline ease__slots *ease__dictionary_slots(const ease__dictionary *d)
{
    return __atomic_load_n(&d->slots, __ATOMIC_ACQUIRE);
}

/* The slot where a search begins, from both halves of a product with the secret
 * seed: its top bits depend on all bits of the key, and so do those of the sum. */
static inline size_t ease__dictionary_home(const ease__dictionary *d,
                                           const ease__slots *s, uint64_t bits)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(bits ^ d->seed) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(((uint64_t)product ^ (uint64_t)(product >> 64)) >> s->shift);
}

/* The slot of the key, or the free slot where it would go. One slot is always free. */
static inline ease__slot *ease__dictionary_slot(const ease__dictionary *d, ease__key k,
                                                bool *found)
{
    uint32_t kind = k.length <= 8 ? 1 : 2;
    ease__slots *slots = ease__dictionary_slots(d);
    size_t at = ease__dictionary_home(d, slots, k.bits);

    for (;; at = (at + 1) & slots->mask) {
        ease__slot *s = &slots->at[at];
        uint32_t taken = __atomic_load_n(&s->kind, __ATOMIC_ACQUIRE);

        *found = taken == kind && s->bits == k.bits;
        if (*found && kind == 2) { /* long ids are compared in full */
            const ease__name *n = ease__dictionary_name(d, s->code);

            *found = n->length == k.length && memcmp(n->text, k.text, k.length) == 0;
        }
        if (*found || !taken)
            return s;
    }
}

/* Initializes an empty dictionary. owner: names are copied; otherwise the text must
 * outlive the dictionary. This function and those below return false if there is no
 * memory or the budget refused it. */
bool ease__dictionary_start(ease__dictionary *d, uint64_t seed, bool owner,
                            ease__budget *budget);
/* Empties the dictionary and returns its memory to the budget, down to the initial
 * size. */
bool ease__dictionary_clear(ease__dictionary *d);
/* Adds a key at the free slot that ease__dictionary_slot returned. Its code is the
 * count before. */
bool ease__dictionary_add(ease__dictionary *d, ease__slot *free_slot, ease__key k);
/* Adds the names to `ids` in the order of their codes. */
bool ease__dictionary_ids(const ease__dictionary *d, ease__ids *ids);
void ease__dictionary_free(ease__dictionary *d);

#endif
