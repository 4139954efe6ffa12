/* The tags of a model's items: from ease_tags, in files, and accessors. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "data/tags.h"
#include "model/model.h"

void ease__item_tags_free(ease__item_tags *t)
{
    ease__ids_free(&t->names);
    if (t->owned) {
        ease__free_const(t->starts);
        ease__free_const(t->numbers);
        ease__free_const(t->weights);
    }
    *t = (ease__item_tags){0};
}

size_t ease__item_tags_held(const ease__item_tags *t, int32_t items)
{
    size_t pairs;

    if (!t->starts)
        return 0;
    pairs = (size_t)t->starts[items];
    return ease__ids_held(&t->names) + ((size_t)items + 1) * sizeof(*t->starts) +
           pairs * sizeof(*t->numbers) + (t->weights ? pairs * sizeof(*t->weights) : 0);
}

/* ---- accessors ------------------------------------------------------------------- */

int32_t ease_model_tags(const ease_model *m)
{
    return m ? (int32_t)m->tags.names.count : 0;
}

const char *ease_model_tag(const ease_model *m, int32_t tag)
{
    return tag >= 0 && tag < ease_model_tags(m) ? ease__ids_at(&m->tags.names, tag)
                                                : NULL;
}

int32_t ease_model_find_tag(const ease_model *m, const char *tag)
{
    int64_t number = m && tag ? ease__ids_find(&m->tags.names, tag, strlen(tag))
                              : EASE__NO_ID;

    return number < 0 ? EASE_NO_TAG : (int32_t)number;
}

ease_row ease_model_item_tags(const ease_model *m, int32_t item)
{
    uint64_t start;

    if (!m || !m->tags.starts || item < 0 || item >= m->info.items)
        return (ease_row){0};
    start = m->tags.starts[item];
    return (ease_row){.items = m->tags.numbers + start,
                      .weights = m->tags.weights ? m->tags.weights + start : NULL,
                      .count = (int32_t)(m->tags.starts[item + 1] - start)};
}

double ease_model_tag_weight(const ease_model *m)
{
    return m ? m->tags.weight : 0;
}

/* ---- setting --------------------------------------------------------------------- */

/* Which tags and items are used, and their new numbers. */
typedef struct matching {
    int32_t *row;    /* of each item of the model: its item in the tags, or -1 */
    int32_t *number; /* of each tag: the model's, or -1 */
    int32_t matched;
    uint64_t pairs;
} matching;

/* Tags are numbered in the order of ease_tags, so that rows stay ascending. */
static bool match_items(const ease_model *m, const ease_tags *t, matching *to,
                        ease__ids *names)
{
    int32_t items = m->info.items, tags = (int32_t)t->names.count;

    to->row = ease__alloc_array((size_t)items, sizeof(*to->row));
    to->number = ease__alloc_array((size_t)tags, sizeof(*to->number));
    if (!to->row || !to->number)
        return false;
    for (int32_t i = 0; i < items; i++)
        to->row[i] = -1;
    for (int32_t i = 0; i < tags; i++)
        to->number[i] = -1;
    for (int32_t i = 0; i < (int32_t)t->items.count; i++) {
        int64_t item = ease__ids_find(&m->ids, ease__ids_at(&t->items, i),
                                      ease__ids_length(&t->items, i));

        if (item == EASE__NO_ID)
            continue;
        to->row[item] = i;
        to->matched++;
        to->pairs += t->starts[i + 1] - t->starts[i];
        for (uint64_t at = t->starts[i]; at < t->starts[i + 1]; at++)
            to->number[t->numbers[at]] = 0;
    }
    for (int32_t i = 0; i < tags; i++) {
        int64_t added;

        if (to->number[i] < 0)
            continue;
        added = ease__ids_add(names, ease__ids_at(&t->names, i),
                              ease__ids_length(&t->names, i));
        if (added < 0)
            return false;
        to->number[i] = (int32_t)added;
    }
    return true;
}

static bool copy_rows(const ease_tags *t, int32_t items, const matching *from,
                      ease__item_tags *to)
{
    uint64_t *starts = ease__alloc_array((size_t)items + 1, sizeof(*starts));
    int32_t *numbers = ease__alloc_array((size_t)from->pairs, sizeof(*numbers));
    float *weights = t->weights
                         ? ease__alloc_array((size_t)from->pairs, sizeof(*weights))
                         : NULL;
    uint64_t used = 0;

    to->starts = starts;
    to->numbers = numbers;
    to->weights = weights;
    to->owned = true;
    if (!starts || !numbers || (t->weights && !weights))
        return false;
    for (int32_t i = 0; i < items; i++) {
        int32_t row = from->row[i];

        starts[i] = used;
        for (uint64_t at = row < 0 ? 0 : t->starts[row];
             row >= 0 && at < t->starts[row + 1]; at++) {
            numbers[used] = from->number[t->numbers[at]];
            if (weights)
                weights[used] = t->weights[at];
            used++;
        }
    }
    starts[items] = used;
    return true;
}

ease_status ease_model_set_tags(ease_model *m, const ease_tags *t, int32_t *matched,
                                ease_error *err)
{
    ease__item_tags made = {0};
    matching found = {0};
    ease_status status = EASE_OK;

    if (!m || !t)
        return ease__fail(err, EASE_E_ARG, "a model and tags are required");
    if (!match_items(m, t, &found, &made.names) ||
        (found.matched > 0 && !copy_rows(t, m->info.items, &found, &made)))
        status = ease__fail(err, EASE_E_NOMEM, "tags of %d items", (int)m->info.items);
    else if (found.matched == 0)
        status = ease__fail(
            err, EASE_E_DATA,
            "%s: the data has no item of the tags, such as \"%.100s\", but \"%.100s\"",
            t->source, ease__ids_at(&t->items, 0), ease__ids_at(&m->ids, 0));
    if (status) {
        ease__item_tags_free(&made);
    } else {
        made.weight = m->tags.weight;
        ease__item_tags_free(&m->tags);
        m->tags = made;
        if (matched)
            *matched = found.matched;
    }
    ease__free(found.row);
    ease__free(found.number);
    return status;
}

ease_status ease__item_tags_copy(const ease_model *from, ease_model *to,
                                 ease_error *err)
{
    const ease__item_tags *t = &from->tags;
    size_t n = (size_t)from->info.items, items = (size_t)to->info.items, pairs;
    ease__item_tags made = {.owned = true, .weight = t->weight};
    uint64_t *starts;
    int32_t *numbers;
    float *weights = NULL;
    ease_status status;

    if (!t->starts)
        return EASE_OK;
    pairs = (size_t)t->starts[n];
    made.starts = starts = ease__alloc_array(items + 1, sizeof(*starts));
    made.numbers = numbers = ease__alloc_array(pairs, sizeof(*numbers));
    if (t->weights)
        made.weights = weights = ease__alloc_array(pairs, sizeof(*weights));
    status = starts && numbers && (!t->weights || weights)
                 ? ease__ids_copy(&made.names, &t->names, err)
                 : ease__fail(err, EASE_E_NOMEM, "tags of %zu items", items);
    if (status) {
        ease__item_tags_free(&made);
        return status;
    }
    for (size_t i = 0; i <= items; i++)
        starts[i] = t->starts[i < n ? i : n];
    memcpy(numbers, t->numbers, pairs * sizeof(*numbers));
    if (weights)
        memcpy(weights, t->weights, pairs * sizeof(*weights));
    ease__item_tags_free(&to->tags);
    to->tags = made;
    return EASE_OK;
}

/* ---- files ----------------------------------------------------------------------- */

/* The section "tags". Members are added at the end. */
typedef struct tags_section {
    int64_t tags, pairs;
    double weight;
} tags_section;

ease_status ease__item_tags_write(const ease_model *m, ease__container_writer *w,
                                  ease_error *err)
{
    const ease__item_tags *t = &m->tags;
    size_t items = (size_t)m->info.items, pairs;
    tags_section head;
    ease_status status;

    if (!t->starts)
        return EASE_OK;
    pairs = (size_t)t->starts[items];
    head = (tags_section){
        .tags = t->names.count, .pairs = (int64_t)pairs, .weight = t->weight};
    status = ease__writer_add(w, "tags", &head, sizeof(head), err);
    if (!status)
        status = ease__ids_write(&t->names, w, "tag_names", err);
    if (!status)
        status = ease__writer_add(w, "tag_starts", t->starts,
                                  (items + 1) * sizeof(*t->starts), err);
    if (!status)
        status = ease__writer_add(w, "tag_numbers", t->numbers,
                                  pairs * sizeof(*t->numbers), err);
    if (!status && t->weights)
        status = ease__writer_add(w, "tag_weights", t->weights,
                                  pairs * sizeof(*t->weights), err);
    return status;
}

static bool rows_valid(const ease__item_tags *t, int32_t items, int64_t tags)
{
    for (int32_t i = 0; i < items; i++) {
        int32_t before = -1;

        for (uint64_t at = t->starts[i]; at < t->starts[i + 1]; at++) {
            if (t->numbers[at] <= before || t->numbers[at] >= tags)
                return false;
            if (t->weights && !(isfinite(t->weights[at]) && t->weights[at] >= 0))
                return false;
            before = t->numbers[at];
        }
    }
    return true;
}

ease_status ease__item_tags_open(ease_model *m, ease_error *err)
{
    const ease__container *file = &m->file;
    ease__item_tags t = {0};
    tags_section head;
    size_t bytes = 0, pairs, items = (size_t)m->info.items;
    const void *at = ease__container_section(file, "tags", &bytes);
    ease_status status;

    if (!at)
        return EASE_OK;
    if (bytes < sizeof(head))
        return ease__model_damaged(m, "its tags", err);
    memcpy(&head, at, sizeof(head));
    if (head.tags < 1 || head.tags > INT32_MAX || head.pairs < 1 ||
        (uint64_t)head.pairs > m->file.bytes || !isfinite(head.weight) ||
        head.weight < 0)
        return ease__model_damaged(m, "its tags", err);
    pairs = (size_t)head.pairs;
    t.weight = head.weight;
    t.starts = ease__take_section(file, "tag_starts", (items + 1) * sizeof(*t.starts));
    t.numbers = ease__take_section(file, "tag_numbers", pairs * sizeof(*t.numbers));
    at = ease__container_section(file, "tag_weights", &bytes);
    t.weights = at;
    if (!t.starts || !t.numbers || (at && bytes != pairs * sizeof(*t.weights)) ||
        !ease__starts_valid(t.starts, m->info.items, pairs) ||
        !rows_valid(&t, m->info.items, head.tags))
        return ease__model_damaged(m, "its tags", err);
    at = ease__container_section(file, "tag_names", &bytes);
    status = ease__ids_borrow(&t.names, at, bytes, head.tags, true, m->file.path, err);
    if (!status)
        m->tags = t;
    return status;
}
