/* Tags of items in memory: the object, and building it from pairs. */
#include "data/tags.h"

#include <math.h>
#include <string.h>

#include "core/sized.h"

void ease_tags_free(ease_tags *t)
{
    if (!t)
        return;
    ease__ids_free(&t->items);
    ease__ids_free(&t->names);
    ease__free(t->starts);
    ease__free(t->numbers);
    ease__free(t->weights);
    ease__free(t->source);
    ease__free(t);
}

void ease_tags_describe(const ease_tags *t, ease_tags_info *info)
{
    ease_tags_info found = {0};

    if (t)
        found = (ease_tags_info){
            .items = (int32_t)t->items.count,
            .tags = (int32_t)t->names.count,
            .pairs = (int64_t)t->starts[t->items.count],
            .weighted = t->weights != NULL,
            .rows = t->rows,
            .empty = t->empty,
        };
    ease__info_give(info, &found, sizeof(found));
}

const char *ease_tags_item_id(const ease_tags *t, int32_t item)
{
    return !t || item < 0 || item >= t->items.count ? NULL
                                                    : ease__ids_at(&t->items, item);
}

const char *ease_tags_name(const ease_tags *t, int32_t tag)
{
    return !t || tag < 0 || tag >= t->names.count ? NULL : ease__ids_at(&t->names, tag);
}

ease_row ease_tags_row(const ease_tags *t, int32_t item)
{
    uint64_t start;

    if (!t || item < 0 || item >= t->items.count)
        return (ease_row){0};
    start = t->starts[item];
    return (ease_row){.items = t->numbers + start,
                      .weights = t->weights ? t->weights + start : NULL,
                      .count = (int32_t)(t->starts[item + 1] - start)};
}

/* ---- names ----------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

ease__name ease__tag_trim(ease__name value)
{
    while (value.length && is_blank(value.text[0])) {
        value.text++;
        value.length--;
    }
    while (value.length && is_blank(value.text[value.length - 1]))
        value.length--;
    return value;
}

static bool is_of_kind(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || (unsigned char)c >= 0x80;
}

char *ease__tag_kind(const char *name, size_t length)
{
    const char *colon = length ? memchr(name, ':', length) : NULL;
    ease__name bare = ease__tag_trim(
        (ease__name){name, colon ? (size_t)(colon - name) : length});
    char *kind;

    if (bare.length == 0)
        return ease__copy_string("tag");
    kind = ease__alloc_array(bare.length + 1, 1);
    if (!kind)
        return NULL;
    for (size_t i = 0; i < bare.length; i++)
        kind[i] = is_of_kind(bare.text[i]) ? bare.text[i] : '_';
    kind[bare.length] = '\0';
    return kind;
}

size_t ease__tag_kind_length(const char *tag, size_t length)
{
    size_t at = 0;

    while (at < length && is_of_kind(tag[at]))
        at++;
    return at < length && tag[at] == '=' ? at : 0;
}

/* ---- pairs ----------------------------------------------------------------------- */

bool ease__tag_draft_start(ease__tag_draft *d, ease__budget *budget)
{
    *d = (ease__tag_draft){.budget = budget};
    return ease__dictionary_start(&d->items, ease__hash_seed(), true, budget) &&
           ease__dictionary_start(&d->names, ease__hash_seed(), true, budget);
}

void ease__tag_draft_free(ease__tag_draft *d)
{
    ease__dictionary_free(&d->items);
    ease__dictionary_free(&d->names);
    ease__free(d->pairs);
    ease__free(d->text);
    *d = (ease__tag_draft){0};
}

/* Keys are compared by 8 bytes at a time, which must be readable. */
static bool reserve_text(ease__tag_draft *d, size_t length)
{
    size_t capacity = ease__size_add(ease__size_mul(length, 2), 64);
    char *grown;

    if (length + 8 <= d->text_capacity)
        return true;
    grown = ease__budget_resize(d->budget, d->text, d->text_capacity, capacity);
    if (!grown)
        return false;
    d->text = grown;
    d->text_capacity = capacity;
    return true;
}

/* The code of the first `length` bytes of d->text. */
static bool find_or_add(ease__tag_draft *d, ease__dictionary *names, size_t length,
                        int32_t *code)
{
    ease__key key = ease__key_of(names, d->text, length);
    bool found;
    ease__slot *slot = ease__dictionary_slot(names, key, &found);

    if (found) {
        *code = (int32_t)slot->code;
        return true;
    }
    if (names->count >= INT32_MAX - 1)
        return false;
    *code = (int32_t)names->count;
    return ease__dictionary_add(names, slot, key);
}

bool ease__tag_draft_item(ease__tag_draft *d, const char *id, size_t length,
                          int32_t *item)
{
    if (!reserve_text(d, length))
        return false;
    memcpy(d->text, id, length);
    return find_or_add(d, &d->items, length, item);
}

static bool find_tag(ease__tag_draft *d, const char *kind, ease__name value,
                     int32_t *tag)
{
    size_t kind_length = 0, length = value.length;

    if (!ease__tag_kind_length(value.text, value.length)) {
        kind_length = strlen(kind);
        length = ease__size_add(length, kind_length + 1);
    }
    if (!reserve_text(d, length))
        return false;
    if (kind_length) {
        memcpy(d->text, kind, kind_length);
        d->text[kind_length++] = '=';
    }
    memcpy(d->text + kind_length, value.text, value.length);
    return find_or_add(d, &d->names, length, tag);
}

bool ease__tag_draft_add(ease__tag_draft *d, int32_t item, const char *kind,
                         ease__name value, float weight)
{
    ease__tag_pair pair = {.item = item, .weight = weight};

    value = ease__tag_trim(value);
    if (value.length == 0 || weight == 0) {
        d->empty++;
        return true;
    }
    if (!find_tag(d, kind, value, &pair.tag))
        return false;
    if (d->count == d->capacity) {
        size_t capacity = ease__size_add(ease__size_mul(d->capacity, 2), 1024);
        ease__tag_pair *grown = ease__budget_resize(
            d->budget, d->pairs, d->capacity * sizeof(pair),
            ease__size_mul(capacity, sizeof(pair)));

        if (!grown)
            return false;
        d->pairs = grown;
        d->capacity = capacity;
    }
    d->weighted = d->weighted || weight != 1;
    d->pairs[d->count++] = pair;
    return true;
}

/* ---- sorting and folding --------------------------------------------------------- */

/* Turns counts into the places where the values of each key begin. */
static void accumulate(uint64_t *places, size_t keys)
{
    uint64_t at = 0;

    for (size_t i = 0; i <= keys; i++) {
        uint64_t count = places[i];

        places[i] = at;
        at += count;
    }
}

/* Stable: pairs of one key keep their order. `places` has keys + 1 entries. */
static void sort_by_tag(const ease__tag_pair *from, size_t count, ease__tag_pair *to,
                        uint64_t *places, size_t keys)
{
    memset(places, 0, (keys + 1) * sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[from[i].tag]++;
    accumulate(places, keys);
    for (size_t i = 0; i < count; i++)
        to[places[from[i].tag]++] = from[i];
}

static void sort_by_item(const ease__tag_pair *from, size_t count, ease__tag_pair *to,
                         uint64_t *places, size_t keys)
{
    memset(places, 0, (keys + 1) * sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[from[i].item]++;
    accumulate(places, keys);
    for (size_t i = 0; i < count; i++)
        to[places[from[i].item]++] = from[i];
}

/* Stores the sorted pairs. Without weights a repeated pair counts once; otherwise its
 * weights are added. Returns a pair whose sum is not finite, or NULL. */
static const ease__tag_pair *fold(const ease__tag_pair *p, size_t count, ease_tags *t)
{
    uint64_t used = 0;
    size_t items = (size_t)t->items.count;
    size_t item = 0;

    t->starts[0] = 0;
    for (size_t i = 0; i < count;) {
        const ease__tag_pair *first = &p[i];
        double sum = 0;

        for (; i < count && p[i].item == first->item && p[i].tag == first->tag; i++)
            sum += (double)p[i].weight;
        if (!isfinite((float)sum))
            return first;
        for (; item < (size_t)first->item; item++)
            t->starts[item + 1] = used;
        t->numbers[used] = first->tag;
        if (t->weights)
            t->weights[used] = (float)sum;
        used++;
    }
    for (; item < items; item++)
        t->starts[item + 1] = used;
    return NULL;
}

static bool reserve_tags(const ease__tag_draft *d, ease_tags *t)
{
    size_t items = (size_t)t->items.count;

    t->starts = ease__alloc_array(items + 1, sizeof(*t->starts));
    t->numbers = ease__alloc_array(d->count, sizeof(*t->numbers));
    if (d->weighted)
        t->weights = ease__alloc_array(d->count, sizeof(*t->weights));
    return t->starts && t->numbers && (t->weights || !d->weighted);
}

static ease_status make_rows(const ease__tag_draft *d, ease_tags *t, ease_error *err)
{
    size_t items = (size_t)t->items.count, names = (size_t)t->names.count;
    ease__tag_pair *other = ease__alloc_array(d->count, sizeof(*other));
    uint64_t *places = ease__alloc_array((items > names ? items : names) + 1,
                                         sizeof(*places));
    const ease__tag_pair *bad = NULL;
    ease_status status = EASE_OK;

    if (!other || !places || !reserve_tags(d, t)) {
        status = ease__fail(err, EASE_E_NOMEM, "tags of %s", t->source);
    } else {
        sort_by_tag(d->pairs, d->count, other, places, names);
        sort_by_item(other, d->count, d->pairs, places, items);
        bad = fold(d->pairs, d->count, t);
    }
    if (bad)
        status = ease__fail(
            err, EASE_E_DATA,
            "%s: the weights of item \"%.100s\" and tag \"%.100s\" add up to more than "
            "a float can be",
            t->source, ease__ids_at(&t->items, bad->item),
            ease__ids_at(&t->names, bad->tag));
    ease__free(other);
    ease__free(places);
    return status;
}

/* Bytes that finishing allocates. */
static size_t finish_bytes(const ease__tag_draft *d)
{
    size_t places = d->items.count > d->names.count ? d->items.count : d->names.count;
    size_t ids = ease__size_add(
        ease__ids_size((int64_t)d->items.count, d->items.letters),
        ease__ids_size((int64_t)d->names.count, d->names.letters));
    size_t pairs = ease__size_mul(d->count, sizeof(*d->pairs) + 8);

    return ease__size_add(
        ids, ease__size_add(pairs, (places + d->items.count + 2) * sizeof(uint64_t)));
}

ease_status ease__tag_draft_finish(ease__tag_draft *d, const char *source,
                                   ease_tags **out, ease_error *err)
{
    ease_tags *t;
    ease_status status = EASE_OK;

    if (d->count == 0)
        return ease__fail(err, EASE_E_DATA, "%s: no row has an item and a tag", source);
    if (!ease__budget_allows(d->budget, finish_bytes(d)))
        return ease__budget_fail(d->budget, source, err);
    t = ease__alloc_zero(1, sizeof(*t));
    if (t)
        t->source = ease__copy_string(source);
    if (!t || !t->source || !ease__dictionary_ids(&d->items, &t->items) ||
        !ease__dictionary_ids(&d->names, &t->names))
        status = ease__fail(err, EASE_E_NOMEM, "tags of %s", source);
    if (!status) {
        t->rows = d->rows;
        t->empty = d->empty;
        status = make_rows(d, t, err);
    }
    if (status) {
        ease_tags_free(t);
        return status;
    }
    *out = t;
    return EASE_OK;
}
