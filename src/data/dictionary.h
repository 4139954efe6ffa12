/* From ids to codes, for the readers: one cache line a lookup for ids of up to 8
 * bytes, which are compared as integers. Lookups may run in many threads while
 * nothing is added. */
#ifndef EASE_DICTIONARY_H
#define EASE_DICTIONARY_H

#include <string.h>
#include <xxhash.h>

#include "data/ids.h"

typedef struct ease__key {
    uint64_t bits; /* the bytes themselves, zero-filled, or a hash of more than 8 */
    const char *text;
    size_t length;
} ease__key;

typedef struct ease__slot {
    uint64_t bits;
    uint32_t code;
    uint32_t kind; /* 0: free, 1: bits are the id, 2: a hash */
} ease__slot;

typedef struct ease__name {
    const char *text;
    size_t length;
} ease__name;

/* Long ids are compared in full: in `ids`, or in `names` where ids is NULL. */
typedef struct ease__dictionary {
    ease__slot *slots;
    size_t mask;
    int shift; /* 64 - log2(slots) */
    size_t count;
    const ease__ids *ids;
    ease__name *names;
    size_t name_room;
} ease__dictionary;

/* 8 bytes must be readable at text; length is not 0. */
static inline ease__key ease__key_of(const char *text, size_t length)
{
    ease__key k = {0, text, length};

    if (length <= 8) {
        memcpy(&k.bits, text, 8);
        k.bits &= ~UINT64_C(0) >> (64 - 8 * length);
    } else {
        k.bits = XXH3_64bits(text, length);
    }
    return k;
}

static inline bool ease__key_same(ease__key a, ease__key b)
{
    return a.bits == b.bits && a.length == b.length &&
           (a.length <= 8 || memcmp(a.text, b.text, a.length) == 0);
}

static inline bool ease__dictionary_holds(const ease__dictionary *d, uint32_t code,
                                          ease__key k)
{
    if (d->ids)
        return ease__ids_length(d->ids, code) == k.length &&
               memcmp(ease__ids_at(d->ids, code), k.text, k.length) == 0;
    return d->names[code].length == k.length &&
           memcmp(d->names[code].text, k.text, k.length) == 0;
}

/* Where a probe begins: the top bits of a product, which depend on all of the key. */
static inline size_t ease__dictionary_home(const ease__dictionary *d, uint64_t bits)
{
    return (size_t)(((bits ^ (bits >> 32)) * UINT64_C(0x9e3779b97f4a7c15)) >> d->shift);
}

/* The slot of the key, or the free one where it would go. There is always one. */
static inline ease__slot *ease__dictionary_slot(const ease__dictionary *d, ease__key k)
{
    uint32_t kind = k.length <= 8 ? 1 : 2;
    size_t at = ease__dictionary_home(d, k.bits);

    for (;; at = (at + 1) & d->mask) {
        ease__slot *s = &d->slots[at];

        if (s->kind == 0 || (s->bits == k.bits && s->kind == kind &&
                             (kind == 1 || ease__dictionary_holds(d, s->code, k))))
            return s;
    }
}

/* Makes it ready, empty; ids may be NULL: then names are kept. False: no memory. */
bool ease__dictionary_start(ease__dictionary *d, const ease__ids *ids);
/* Empties it, and gives back what it grew to. False: no memory. */
bool ease__dictionary_clear(ease__dictionary *d);
/* Puts the key where ease__dictionary_slot has shown it is missing. The code is
 * the count before. With names, the text must outlive the table. */
bool ease__dictionary_add(ease__dictionary *d, ease__slot *free_slot, ease__key k);
size_t ease__dictionary_bytes(const ease__dictionary *d);
void ease__dictionary_free(ease__dictionary *d);

#endif
