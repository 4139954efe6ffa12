#include "data/dictionary.h"

enum { SMALL_BITS = 8, KEPT_BITS = 12, TEXT_BYTES = 1 << 16 };

struct ease__text {
    ease__text *before;
    size_t used, capacity;
    char at[];
};

/* Allocates from the budget, not cleared. Returns NULL if there is no memory. */
static void *take(ease__dictionary *d, size_t bytes)
{
    void *p = ease__budget_resize(d->budget, NULL, 0, bytes);

    if (p)
        d->bytes += bytes;
    return p;
}

static void give(ease__dictionary *d, void *p, size_t bytes)
{
    ease__free(p);
    ease__budget_give(d->budget, bytes);
    d->bytes -= bytes;
}

/* ---- slots ----------------------------------------------------------------- */

static size_t slots_bytes(int bits)
{
    return sizeof(ease__slots) + ((size_t)1 << bits) * sizeof(ease__slot);
}

static ease__slots *new_slots(ease__dictionary *d, int bits)
{
    size_t bytes = slots_bytes(bits);
    ease__slots *s;

    if (!ease__budget_take(d->budget, bytes))
        return NULL;
    s = ease__alloc_zero(bytes, 1);
    if (!s) {
        ease__budget_give(d->budget, bytes);
        return NULL;
    }
    s->mask = ((size_t)1 << bits) - 1;
    s->shift = 64 - bits;
    d->bytes += bytes;
    return s;
}

static void free_slots(ease__dictionary *d)
{
    while (d->slots) {
        ease__slots *s = d->slots;

        d->slots = s->before;
        give(d, s, slots_bytes(64 - s->shift));
    }
}

/* Doubles the slots. Other threads may go on searching the old ones, which lack only
 * the ids added from now on. */
static bool grow(ease__dictionary *d)
{
    ease__slots *old = d->slots, *s = new_slots(d, 64 - old->shift + 1);

    if (!s)
        return false;
    for (size_t i = 0; i <= old->mask; i++) {
        size_t at = ease__dictionary_home(d, s, old->at[i].bits);

        if (!old->at[i].kind)
            continue;
        /* All keys are distinct: the first free slot is right, without a comparison. */
        while (s->at[at].kind)
            at = (at + 1) & s->mask;
        s->at[at] = old->at[i];
    }
    s->before = old;
    __atomic_store_n(&d->slots, s, __ATOMIC_RELEASE);
    return true;
}

/* ---- names ----------------------------------------------------------------- */

/* Copies the text to memory that never moves. Returns NULL if there is no memory. */
static const char *copy_text(ease__dictionary *d, ease__key k)
{
    ease__text *t = d->texts;
    char *to;

    if (!t || t->capacity - t->used < k.length) {
        size_t capacity = k.length < TEXT_BYTES ? TEXT_BYTES : k.length;

        t = take(d, ease__size_add(capacity, sizeof(*t)));
        if (!t)
            return NULL;
        *t = (ease__text){.before = d->texts, .capacity = capacity};
        d->texts = t;
    }
    to = t->at + t->used;
    memcpy(to, k.text, k.length);
    t->used += k.length;
    return to;
}

static bool keep_name(ease__dictionary *d, ease__key k)
{
    size_t place = d->count + ((size_t)1 << EASE__NAME_BITS);
    int top = 63 - __builtin_clzll(place);
    ease__name **chunk = &d->names[top - EASE__NAME_BITS];

    if (!*chunk) {
        *chunk = take(d, sizeof(**chunk) << top);
        if (!*chunk)
            return false;
    }
    if (d->owner)
        k.text = copy_text(d, k);
    *ease__dictionary_name(d, d->count) = (ease__name){k.text, k.length};
    return k.text != NULL;
}

bool ease__dictionary_ids(const ease__dictionary *d, ease__ids *ids)
{
    if (d->count && ids->count == 0 &&
        !ease__ids_reserve(ids, (int64_t)d->count, d->letters))
        return false;
    for (size_t i = 0; i < d->count; i++) {
        const ease__name *n = ease__dictionary_name(d, i);

        if (ease__ids_add(ids, n->text, n->length) < 0)
            return false;
    }
    return true;
}

/* ---- the dictionary ----------------------------------------------------------- */

bool ease__dictionary_start(ease__dictionary *d, uint64_t seed, bool owner,
                            ease__budget *budget)
{
    *d = (ease__dictionary){.seed = seed, .owner = owner, .budget = budget};
    d->slots = new_slots(d, SMALL_BITS);
    return d->slots != NULL;
}

bool ease__dictionary_clear(ease__dictionary *d)
{
    ease__slots *s = d->slots;

    if (d->count == 0)
        return true;
    if (s->mask >> KEPT_BITS || s->before) {
        s = new_slots(d, s->mask >> KEPT_BITS ? SMALL_BITS : 64 - s->shift);
        if (!s)
            return false;
        free_slots(d);
        d->slots = s;
    } else {
        memset(s->at, 0, (s->mask + 1) * sizeof(*s->at));
    }
    d->count = d->letters = 0;
    return true;
}

bool ease__dictionary_add(ease__dictionary *d, ease__slot *free_slot, ease__key k)
{
    if (!keep_name(d, k))
        return false;
    free_slot->bits = k.bits;
    free_slot->code = (uint32_t)d->count;
    __atomic_store_n(&free_slot->kind, k.length <= 8 ? 1 : 2, __ATOMIC_RELEASE);
    d->count++;
    d->letters += k.length;
    return 2 * d->count <= d->slots->mask || grow(d);
}

void ease__dictionary_free(ease__dictionary *d)
{
    free_slots(d);
    for (int i = 0; i < EASE__NAME_CHUNKS; i++)
        ease__free(d->names[i]);
    while (d->texts) {
        ease__text *t = d->texts;

        d->texts = t->before;
        ease__free(t);
    }
    if (d->bytes) /* {0} has no budget */
        ease__budget_give(d->budget, d->bytes);
    *d = (ease__dictionary){0};
}
