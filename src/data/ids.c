#include "data/ids.h"

#include <assert.h>
#include <sched.h>
#include <string.h>
#include <xxhash.h>

void ease__ids_free(ease__ids *t)
{
    if (t->capacity || t->numbered) {
        ease__free(t->offsets);
        ease__free(t->bytes);
    }
    ease__free(t->slots);
    *t = (ease__ids){0};
}

/* ---- consecutive numbers ------------------------------------------------------- */

static size_t count_digits(int64_t value)
{
    size_t digits = 1;

    while (value /= 10)
        digits++;
    return digits;
}

static void print_digits(int64_t value, size_t digits, char *to)
{
    while (digits--) {
        to[digits] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* The id in its cell, formatted on first use. The first byte of a cell is 0, then BUSY
 * while one thread writes the rest, then a digit, so that no thread reads a cell that
 * another one is writing. */
static const char *numbered_at(const ease__ids *t, int64_t number)
{
    enum { BUSY = 1 };
    char *cell = t->bytes + (size_t)number * EASE__DIGITS, text[EASE__DIGITS],
         empty = 0;
    int64_t value = t->first + number;
    size_t digits;

    if (__atomic_load_n(cell, __ATOMIC_ACQUIRE) > BUSY)
        return cell;
    if (!__atomic_compare_exchange_n(cell, &empty, BUSY, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(cell, __ATOMIC_ACQUIRE) == BUSY)
            sched_yield();
        return cell;
    }
    digits = count_digits(value);
    print_digits(value, digits, text);
    memcpy(cell + 1, text + 1, digits - 1);
    __atomic_store_n(cell, text[0], __ATOMIC_RELEASE);
    return cell;
}

/* The number of an id that consists of digits as they are printed: no sign, no
 * leading zero. */
static int64_t find_numbered(const ease__ids *t, const char *id, size_t length)
{
    int64_t value = 0;

    if (length < 1 || length >= EASE__DIGITS || (id[0] == '0' && length > 1))
        return EASE__NO_ID;
    for (size_t i = 0; i < length; i++) {
        if (id[i] < '0' || id[i] > '9')
            return EASE__NO_ID;
        value = 10 * value + (id[i] - '0');
    }
    value -= t->first;
    return value >= 0 && value < t->count ? value : EASE__NO_ID;
}

/* The total length of all ids, with their NULs. */
static size_t numbered_text(const ease__ids *t)
{
    int64_t end = t->first + t->count, from = t->first;
    size_t bytes = 0;

    while (from < end) {
        size_t digits = count_digits(from);
        int64_t to = 10;

        for (size_t i = 1; i < digits; i++)
            to *= 10;
        if (to > end)
            to = end;
        bytes += (size_t)(to - from) * (digits + 1);
        from = to;
    }
    return bytes;
}

static void pack_numbered(const ease__ids *t, uint64_t *offsets, char *text)
{
    uint64_t at = 0;

    for (int64_t i = 0; i < t->count; i++) {
        size_t digits = count_digits(t->first + i);

        offsets[i] = at;
        print_digits(t->first + i, digits, text + at);
        at += digits;
        text[at++] = '\0';
    }
    offsets[t->count] = at;
}

ease_status ease__ids_number(ease__ids *t, int first, int64_t count, ease_error *err)
{
    char *cells = count > EASE__MAX_IDS ? NULL
                                        : ease__alloc_zero((size_t)count, EASE__DIGITS);

    if (!cells)
        return ease__fail(err, EASE_E_NOMEM, "%lld ids: %.2f GB", (long long)count,
                          (double)count * EASE__DIGITS / 1e9);
    *t = (ease__ids){.count = count, .bytes = cells, .numbered = true, .first = first};
    return EASE_OK;
}

/* ---- searching ---------------------------------------------------------------- */

const char *ease__ids_at(const ease__ids *t, int64_t number)
{
    return t->numbered ? numbered_at(t, number) : t->bytes + t->offsets[number];
}

size_t ease__ids_length(const ease__ids *t, int64_t number)
{
    if (t->numbered)
        return count_digits(t->first + number);
    return (size_t)(t->offsets[number + 1] - t->offsets[number]) - 1;
}

size_t ease__ids_held(const ease__ids *t)
{
    if (t->numbered)
        return (size_t)t->count * EASE__DIGITS;
    return t->byte_capacity + (size_t)t->capacity * sizeof(*t->offsets) +
           (t->slots ? (t->mask + 1) * sizeof(*t->slots) : 0);
}

size_t ease__ids_growing(const ease__ids *t)
{
    /* The table of slots is replaced by one of twice the size; the arrays are
     * resized. */
    return ease__ids_held(t) + (t->slots ? 2 * (t->mask + 1) * sizeof(*t->slots) : 0);
}

/* The slot of the id, or the free slot where it would be stored. */
static size_t probe(const ease__ids *t, const char *id, size_t length)
{
    size_t at = (size_t)XXH3_64bits_withSeed(id, length, t->seed) & t->mask;

    while (t->slots[at]) {
        int64_t number = (int64_t)t->slots[at] - 1;

        if (ease__ids_length(t, number) == length &&
            memcmp(ease__ids_at(t, number), id, length) == 0)
            break;
        at = (at + 1) & t->mask;
    }
    return at;
}

/* The number of slots for `count` ids at a load of at most one half. */
static size_t slots_for(int64_t count)
{
    size_t size = 64;

    while (size < 2 * (size_t)count)
        size *= 2;
    return size;
}

/* Builds the table of slots. Returns false if there is no memory. */
static bool make_slots(ease__ids *t, int64_t count)
{
    size_t size = slots_for(count);
    uint32_t *slots;

    slots = ease__alloc_zero(size, sizeof(*slots));
    if (!slots)
        return false;
    if (!t->slots)
        t->seed = ease__hash_seed();
    ease__free(t->slots);
    t->slots = slots;
    t->mask = size - 1;
    for (int64_t i = 0; i < t->count; i++)
        slots[probe(t, ease__ids_at(t, i), ease__ids_length(t, i))] = (uint32_t)i + 1;
    return true;
}

static bool reserve(ease__ids *t, size_t length)
{
    size_t used = t->count ? (size_t)t->offsets[t->count] : 0;

    if (t->count + 1 >= t->capacity) {
        int64_t capacity = t->capacity ? 2 * t->capacity : 64;
        uint64_t *grown = ease__realloc_array(t->offsets, (size_t)capacity,
                                              sizeof(*grown));

        if (!grown)
            return false;
        t->offsets = grown;
        t->capacity = capacity;
        if (t->count == 0)
            t->offsets[0] = 0;
    }
    if (t->byte_capacity - used < length + 1) {
        size_t capacity = ease__size_add(ease__size_mul(t->byte_capacity, 2),
                                         length + 512);
        char *grown = ease__realloc_array(t->bytes, capacity, 1);

        if (!grown)
            return false;
        t->bytes = grown;
        t->byte_capacity = capacity;
    }
    return true;
}

size_t ease__ids_size(int64_t count, size_t bytes)
{
    size_t n = (size_t)count;

    return ease__size_add(ease__size_add(bytes, n), (n + 2) * sizeof(uint64_t)) +
           slots_for(count) * sizeof(uint32_t);
}

bool ease__ids_reserve(ease__ids *t, int64_t count, size_t bytes)
{
    ease__ids made = {.capacity = count + 2, .byte_capacity = bytes + (size_t)count};

    made.offsets = ease__alloc_array((size_t)made.capacity, sizeof(*made.offsets));
    made.bytes = ease__alloc_array(made.byte_capacity, 1);
    if (!made.offsets || !made.bytes || !make_slots(&made, count)) {
        ease__ids_free(&made);
        return false;
    }
    made.offsets[0] = 0;
    ease__ids_free(t);
    *t = made;
    return true;
}

int64_t ease__ids_find(const ease__ids *t, const char *id, size_t length)
{
    if (t->numbered)
        return find_numbered(t, id, length);
    if (!t->slots)
        return EASE__NO_ID;
    return (int64_t)t->slots[probe(t, id, length)] - 1;
}

int64_t ease__ids_add(ease__ids *t, const char *id, size_t length)
{
    size_t slot, used;

    assert(!t->numbered);
    if ((!t->slots || 2 * (size_t)t->count > t->mask) &&
        !make_slots(t, t->count ? 2 * t->count : 32))
        return EASE__NO_ID;
    slot = probe(t, id, length);
    if (t->slots[slot])
        return (int64_t)t->slots[slot] - 1;
    if (t->count >= EASE__MAX_IDS || !reserve(t, length))
        return EASE__NO_ID;
    used = (size_t)t->offsets[t->count];
    memcpy(t->bytes + used, id, length);
    t->bytes[used + length] = '\0';
    t->offsets[t->count + 1] = used + length + 1;
    t->slots[slot] = (uint32_t)t->count + 1;
    return t->count++;
}

ease_status ease__ids_copy(ease__ids *t, const ease__ids *from, ease_error *err)
{
    ease__ids made = {0};

    if (from->numbered)
        return ease__ids_number(t, from->first, from->count, err);
    for (int64_t i = 0; i < from->count; i++) {
        if (ease__ids_add(&made, ease__ids_at(from, i), ease__ids_length(from, i)) <
            0) {
            ease__ids_free(&made);
            return ease__fail(err, EASE_E_NOMEM, "ids of %lld items",
                              (long long)from->count);
        }
    }
    *t = made;
    return EASE_OK;
}

size_t ease__ids_bytes(const ease__ids *t)
{
    size_t text = 0;

    if (t->numbered)
        text = numbered_text(t);
    else if (t->count)
        text = (size_t)t->offsets[t->count];
    return ((size_t)t->count + 1) * sizeof(uint64_t) + text;
}

void ease__ids_pack(const ease__ids *t, void *to)
{
    size_t head = ((size_t)t->count + 1) * sizeof(uint64_t);

    if (t->numbered) {
        pack_numbered(t, to, (char *)to + head);
        return;
    }
    if (t->count == 0) {
        memset(to, 0, head);
        return;
    }
    memcpy(to, t->offsets, head);
    memcpy((char *)to + head, t->bytes, (size_t)t->offsets[t->count]);
}

ease_status ease__ids_write(const ease__ids *t, ease__container_writer *w,
                            const char *section, ease_error *err)
{
    size_t bytes = ease__ids_bytes(t);
    void *packed = ease__alloc_array(bytes, 1);
    ease_status status;

    if (!packed)
        return ease__fail(err, EASE_E_NOMEM, "%s of %lld items", section,
                          (long long)t->count);
    ease__ids_pack(t, packed);
    status = ease__writer_add(w, section, packed, bytes, err);
    ease__free(packed);
    return status;
}

static ease_status bad_table(const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_FORMAT, "%s: damaged: its table of ids", what);
}

static ease_status check_offsets(const ease__ids *t, size_t text, const char *what,
                                 ease_error *err)
{
    if (t->offsets[0] != 0 || t->offsets[t->count] != text)
        return bad_table(what, err);
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t from = t->offsets[i], to = t->offsets[i + 1];

        if (to <= from || to > text || t->bytes[to - 1] != '\0' ||
            memchr(t->bytes + from, '\0', (size_t)(to - from)) != t->bytes + to - 1)
            return bad_table(what, err);
    }
    return EASE_OK;
}

/* Equal ids have one slot. */
static bool are_distinct(const ease__ids *t)
{
    int64_t used = 0;

    for (size_t at = 0; at <= t->mask; at++)
        used += t->slots[at] != 0;
    return used == t->count;
}

ease_status ease__ids_borrow(ease__ids *t, const void *packed, size_t bytes,
                             int64_t count, bool indexed, const char *what,
                             ease_error *err)
{
    ease__ids made = {.count = count};
    size_t head;
    ease_status status;

    if (count < 0 || count > EASE__MAX_IDS)
        return bad_table(what, err);
    head = ((size_t)count + 1) * sizeof(uint64_t);
    if (!packed || bytes < head)
        return bad_table(what, err);
    made.offsets = (uint64_t *)(uintptr_t)packed;
    made.bytes = (char *)(uintptr_t)packed + head;
    status = check_offsets(&made, bytes - head, what, err);
    if (status || !indexed) {
        if (!status)
            *t = made;
        return status;
    }
    if (!make_slots(&made, count))
        return ease__fail(err, EASE_E_NOMEM, "ids of %s", what);
    if (!are_distinct(&made)) {
        ease__ids_free(&made);
        return ease__fail(err, EASE_E_FORMAT, "%s: damaged: an id occurs twice", what);
    }
    *t = made;
    return EASE_OK;
}
