/* Divides interactions in memory. */
#include <stddef.h>

#include "core/sized.h"
#include "data/draft.h"
#include "read/split_files.h"
#include "split/split.h"

/* Where each table belongs in ease_split_parts. */
static const size_t places[EASE__SPLIT_TABLES] = {
    [EASE__TABLE_TRAIN] = offsetof(ease_split_parts, train),
    [EASE__TABLE_VALIDATION_TRAIN] = offsetof(ease_split_parts, validation_train),
    [EASE__TABLE_VALIDATION_INPUT] = offsetof(ease_split_parts, validation_input),
    [EASE__TABLE_VALIDATION_TARGET] = offsetof(ease_split_parts, validation_target),
    [EASE__TABLE_TEST_INPUT] = offsetof(ease_split_parts, test_input),
    [EASE__TABLE_TEST_TARGET] = offsetof(ease_split_parts, test_target)};

/* A table under construction. Users and items are numbered by their first appearance,
 * as they are when the table's file is read. */
typedef struct making {
    const ease__split *s;
    const float *weights; /* by event; NULL: all are 1 */
    int32_t *item_number; /* by item of the events; -1: not in this table yet */
    ease_interactions *x;
} making;

static int64_t count_events(const ease__split *s, const ease__part_table *t)
{
    const ease__events *e = &s->events;
    int64_t count = 0;

    for (int64_t i = 0; i < e->count; i++)
        count += (e->part[i] & t->parts) != 0;
    return count;
}

static bool allocate(making *m, int64_t most)
{
    const ease__split *s = m->s;
    ease_interactions *x = ease__alloc_zero(1, sizeof(*x));

    m->x = x;
    if (!x)
        return false;
    x->row_ptr = ease__alloc_zero((size_t)s->user_count + 1, sizeof(*x->row_ptr));
    x->cols = ease__alloc_array((size_t)most, sizeof(*x->cols));
    if (m->weights)
        x->vals = ease__alloc_array((size_t)most, sizeof(*x->vals));
    for (int32_t i = 0; i < s->events.items; i++)
        m->item_number[i] = -1;
    return x->row_ptr && x->cols && (!m->weights || x->vals);
}

/* The number of an item in the table, which it gets now if it is new; -1: no memory. */
static int32_t number_item(making *m, int32_t item)
{
    const ease__ids *ids = &m->s->events.item_ids;

    if (m->item_number[item] < 0)
        m->item_number[item] = (int32_t)ease__ids_add(
            &m->x->item_ids, ease__ids_at(ids, item), ease__ids_length(ids, item));
    return m->item_number[item];
}

static bool put_user(making *m, uint32_t user, uint8_t parts)
{
    const ease__events *e = &m->s->events;
    ease_interactions *x = m->x;

    for (int64_t i = e->begin[user]; i < e->begin[user + 1]; i++) {
        uint32_t event = e->order[i];
        int32_t item;

        if (!(e->part[event] & parts))
            continue;
        item = number_item(m, e->item[event]);
        if (item < 0)
            return false;
        if (x->vals)
            x->vals[x->nnz] = m->weights[event];
        x->cols[x->nnz++] = item;
    }
    x->row_ptr[++x->users] = x->nnz;
    return ease__ids_add(&x->user_ids, ease__ids_at(&e->user_ids, user),
                         ease__ids_length(&e->user_ids, user)) >= 0;
}

static bool put_users(making *m, const ease__part_table *t)
{
    const ease__split *s = m->s;
    int64_t users = t->by_user ? s->user_count : s->events.users;

    for (int64_t i = 0; i < users; i++) {
        uint32_t user = t->by_user ? s->ascending[i] : (uint32_t)i;

        if (ease__user_has(&s->events, user, t->parts) &&
            (!t->with || ease__user_has(&s->events, user, t->with)) &&
            !put_user(m, user, t->parts))
            return false;
    }
    return true;
}

static ease_status make_table(making *m, const ease__part_table *t,
                              ease_interactions **out, ease_error *err)
{
    int64_t most = count_events(m->s, t);
    ease_status status;

    if (most == 0)
        return ease__fail(err, EASE_E_DATA,
                          "too little data to split: the part %s would be empty",
                          ease__split_tables[t->which].key);
    if (!allocate(m, most) || !put_users(m, t)) {
        ease_interactions_free(m->x);
        return ease__fail(err, EASE_E_NOMEM, "splitting %lld interactions",
                          (long long)m->s->events.count);
    }
    m->x->items = (int32_t)m->x->item_ids.count;
    m->x->counts.rows = m->x->nnz;
    status = ease__fold_rows(m->x, EASE_REPEAT_FIRST, ease__threads(0), NULL, NULL,
                             err);
    if (status) {
        ease_interactions_free(m->x);
        return status;
    }
    *out = m->x;
    return EASE_OK;
}

/* What is held out has no weights: it is found or not. */
static bool is_target(const ease__part_table *t)
{
    return t->which == EASE__TABLE_VALIDATION_TARGET ||
           t->which == EASE__TABLE_TEST_TARGET;
}

static ease_status make_tables(const ease__split *s, const float *weights,
                               ease_split_parts *parts, ease_error *err)
{
    making m = {.s = s,
                .item_number = ease__alloc_array((size_t)s->events.items,
                                                 sizeof(*m.item_number))};
    ease_status status = EASE_OK;

    if (!m.item_number)
        return ease__fail(err, EASE_E_NOMEM, "splitting %d items",
                          (int)s->events.items);
    for (const ease__part_table *t = ease__part_tables(s); !status && t->which >= 0;
         t++) {
        m.weights = is_target(t) ? NULL : weights;
        status = make_table(
            &m, t, (ease_interactions **)((char *)parts + places[t->which]), err);
    }
    ease__free(m.item_number);
    return status;
}

/* Checks the most memory of the tables: if users are divided, an event is in one of
 * them, otherwise in up to four. */
static ease_status check_memory(const ease__split *s, const ease_interactions *x,
                                ease_error *err)
{
    size_t an_entry = sizeof(*x->cols) + (x->vals ? sizeof(*x->vals) : 0);
    size_t need = ease__size_mul((size_t)x->nnz,
                                 (s->protocol->strong ? 1 : 4) * an_entry);
    ease__budget budget;

    ease__budget_start(&budget, 0);
    return ease__budget_allows(&budget, need)
               ? EASE_OK
               : ease__budget_fail(&budget, s->data, err);
}

static ease_status settle(ease__split *s, const ease_split_options *o, ease_error *err)
{
    ease_status status = ease__split_settle(s, o, err);

    if (!status && s->protocol->timed)
        status = ease__fail(err, EASE_E_ARG,
                            "the protocol %s divides by times or by the order of rows, "
                            "which interactions in memory do not have",
                            s->protocol->name);
    if (status)
        return status;
    ease_read_options_init(&s->reading);
    s->reading.hooks = s->options.hooks;
    s->reading.min_user = s->protocol->strong ? 5 : 0;
    s->reading.one_pass = 1;
    return EASE_OK;
}

ease_status ease_interactions_split(const ease_interactions *x,
                                    const ease_split_options *o, ease_split_parts *out,
                                    ease_error *err)
{
    ease__split s = {.data = "interactions"};
    ease_split_parts parts = {.size = sizeof(parts)};
    ease_status status;

    if (!x || !o || !out)
        return ease__fail(err, EASE_E_ARG,
                          "interactions, options and a place for parts are required");
    status = ease__info_check(out, "ease_split_parts", err);
    if (!status)
        status = settle(&s, o, err);
    if (!status)
        status = check_memory(&s, x, err);
    if (!status)
        status = ease__events_of_rows(x, &s.reading, &s.events, err);
    if (!status)
        status = ease__split_divide(&s, err);
    if (!status)
        status = make_tables(&s, x->vals, &parts, err);
    ease__split_free(&s);
    if (status) {
        ease_split_close(&parts);
        return status;
    }
    ease__split_give(&parts, out);
    return EASE_OK;
}
