#include "data/dictionary.h"

enum { SMALL_BITS = 8, KEPT_BITS = 12 };

static bool make_slots(ease__dictionary *d, int bits)
{
    ease__slot *slots = ease__alloc_zero((size_t)1 << bits, sizeof(*slots));

    if (!slots)
        return false;
    ease__free(d->slots);
    d->slots = slots;
    d->mask = ((size_t)1 << bits) - 1;
    d->shift = 64 - bits;
    return true;
}

bool ease__dictionary_start(ease__dictionary *d, const ease__ids *ids)
{
    *d = (ease__dictionary){.ids = ids};
    return make_slots(d, SMALL_BITS);
}

bool ease__dictionary_clear(ease__dictionary *d)
{
    if (d->count == 0)
        return true;
    d->count = 0;
    if (d->mask >> KEPT_BITS)
        return make_slots(d, SMALL_BITS);
    memset(d->slots, 0, (d->mask + 1) * sizeof(*d->slots));
    return true;
}

static bool grow(ease__dictionary *d)
{
    ease__dictionary old = *d;

    d->slots = NULL;
    if (!make_slots(d, 64 - old.shift + 1)) {
        *d = old;
        return false;
    }
    for (size_t i = 0; i <= old.mask; i++) {
        const ease__slot *s = &old.slots[i];
        size_t at = ease__dictionary_home(d, s->bits);

        if (!s->kind)
            continue;
        /* All are distinct: the first free slot will do, and no text is needed. */
        while (d->slots[at].kind)
            at = (at + 1) & d->mask;
        d->slots[at] = *s;
    }
    ease__free(old.slots);
    return true;
}

static bool keep_name(ease__dictionary *d, ease__key k)
{
    if (d->count == d->name_room) {
        size_t room = d->name_room ? 2 * d->name_room : 128;
        ease__name *grown = ease__realloc_array(d->names, room, sizeof(*grown));

        if (!grown)
            return false;
        d->names = grown;
        d->name_room = room;
    }
    d->names[d->count] = (ease__name){k.text, k.length};
    return true;
}

bool ease__dictionary_add(ease__dictionary *d, ease__slot *free_slot, ease__key k)
{
    if (!d->ids && !keep_name(d, k))
        return false;
    *free_slot = (ease__slot){k.bits, (uint32_t)d->count, k.length <= 8 ? 1 : 2};
    d->count++;
    return 2 * d->count <= d->mask || grow(d);
}

size_t ease__dictionary_bytes(const ease__dictionary *d)
{
    return (d->mask + 1) * sizeof(*d->slots) + d->name_room * sizeof(*d->names);
}

void ease__dictionary_free(ease__dictionary *d)
{
    ease__free(d->slots);
    ease__free(d->names);
    *d = (ease__dictionary){0};
}
