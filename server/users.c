#include "users.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "people.h"

/* ---- rows ------------------------------------------------------------------------ */

static row *row_new(const users *u, int32_t count)
{
    row *r = malloc(people_row_bytes(count, u->o.weights));

    if (r) {
        r->references = 1;
        r->count = count;
        r->weighted = u->o.weights != 0;
    }
    return r;
}

static void row_put(row *r, int32_t i, int32_t item, float weight)
{
    r->items[i] = item;
    if (r->weighted)
        people_weights(r)[i] = weight;
}

/* The place of an item in a row, or where it belongs. */
static int32_t place_of(ease_row r, int32_t item)
{
    int32_t from = 0, to = r.count;

    while (from < to) {
        int32_t middle = from + (to - from) / 2;

        if (r.items[middle] < item)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool has_item(ease_row r, int32_t place, int32_t item)
{
    return place < r.count && r.items[place] == item;
}

/* A copy of a row without an item (weight 0) or with a weight of it. */
static row *row_with(const users *u, ease_row from, int32_t item, float weight)
{
    int32_t place = place_of(from, item), had = has_item(from, place, item), to = 0;
    int32_t adds = weight != 0;
    row *r = row_new(u, from.count - had + adds);

    for (int32_t i = 0; r && i < place; i++)
        row_put(r, to++, from.items[i], people_weight_at(from, i));
    if (r && adds)
        row_put(r, to++, item, weight);
    for (int32_t i = place + had; r && i < from.count; i++)
        row_put(r, to++, from.items[i], people_weight_at(from, i));
    return r;
}

/* ---- items and people ------------------------------------------------------------ */

static const char *item_id_of(const void *owner, int64_t number)
{
    return people_item_id(owner, number);
}

static const char *person_id_of(const void *owner, int64_t number)
{
    return ((const users *)owner)->people[number].id;
}

/* Makes space for one more entry. */
static bool grow(void **array, int64_t count, int64_t *space, size_t size)
{
    int64_t wanted = *space ? 2 * *space : 16;
    void *larger;

    if (count < *space)
        return true;
    larger = realloc(*array, (size_t)wanted * size);
    if (!larger)
        return false;
    *array = larger;
    *space = wanted;
    return true;
}

/* The number of an item, which is added if it is new; -1: no memory. */
static int64_t number_item(users *u, const char *id)
{
    int64_t found = lookup_find(&u->items, id);
    void *array = u->new_items;
    char *copy;

    if (found >= 0)
        return found;
    if (u->base_items + u->new_count == INT32_MAX || !lookup_reserve(&u->items) ||
        !grow(&array, u->new_count, &u->new_space, sizeof(*u->new_items)))
        return -1;
    u->new_items = array;
    copy = strdup(id);
    if (!copy)
        return -1;
    u->new_items[u->new_count++] = copy;
    u->bytes += strlen(id) + 1;
    found = u->base_items + u->new_count - 1;
    lookup_put(&u->items, id, found);
    return found;
}

/* The person with an id, or NULL. */
static person *find_person(const users *u, const char *id)
{
    int64_t found = lookup_find(&u->by_id, id);

    return found < 0 ? NULL : &u->people[found];
}

/* The person with an id, who is added if there is none; NULL: no memory. */
static person *add_person(users *u, const char *id)
{
    person *found = find_person(u, id);
    int64_t base;
    void *array = u->people;
    char *copy = NULL;

    if (found)
        return found;
    base = ease_interactions_find_user(u->x, id);
    if (!lookup_reserve(&u->by_id) ||
        !grow(&array, u->people_count, &u->people_space, sizeof(*u->people)))
        return NULL;
    u->people = array;
    assert(array);
    if (base == EASE_NO_USER && !(copy = strdup(id)))
        return NULL;
    found = &u->people[u->people_count];
    *found = (person){.id = copy ? copy : ease_interactions_user_id(u->x, base),
                      .base = base};
    if (copy)
        u->bytes += strlen(id) + 1;
    lookup_put(&u->by_id, found->id, u->people_count++);
    return found;
}

/* The current row of a user; empty if there is none. */
static ease_row find_row(const users *u, const char *user)
{
    const person *p = find_person(u, user);

    return p ? people_current_row(u, p)
             : ease_interactions_row(u->x, ease_interactions_find_user(u->x, user));
}

/* ---- making and freeing ---------------------------------------------------------- */

static ease_status index_base(users *u, ease_error *err)
{
    u->base_items = ease_interactions_items(u->x);
    for (int32_t i = 0; i < u->base_items; i++) {
        if (!lookup_reserve(&u->items))
            return people_no_memory(err);
        lookup_put(&u->items, people_item_id(u, i), i);
    }
    for (int64_t i = 0; i < ease_interactions_users(u->x); i++)
        u->with_items += ease_interactions_row(u->x, i).count > 0;
    return EASE_OK;
}

/* Events get in although histories are read all the time. */
static void make_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

ease_status users_new(ease_interactions *x, const users_options *o, users **out,
                      ease_error *err)
{
    ease_interactions_info info = {.size = sizeof(info)};
    users *u;
    ease_status status;

    if (!out)
        return journal_fail(err, EASE_E_ARG, 0, "a place for the users is required");
    ease_interactions_describe(x, &info);
    if (info.weighted && (!o || !o->weights))
        return journal_fail(err, EASE_E_ARG, 0, "the data of the users have weights");
    u = calloc(1, sizeof(*u));
    if (!u)
        return people_no_memory(err);
    make_lock(&u->lock);
    u->x = x;
    if (o)
        u->o = *o;
    u->items = lookup_new(item_id_of, u);
    u->by_id = lookup_new(person_id_of, u);
    status = x ? index_base(u, err) : EASE_OK;
    if (status) {
        u->x = NULL; /* it stays with the caller */
        users_free(u);
        return status;
    }
    *out = u;
    return EASE_OK;
}

void users_free(users *u)
{
    if (!u)
        return;
    for (int64_t i = 0; i < u->people_count; i++) {
        people_row_free(u, u->people[i].now);
        people_row_free(u, u->people[i].was);
        if (u->people[i].base == EASE_NO_USER)
            free((void *)(uintptr_t)u->people[i].id);
    }
    for (int64_t i = 0; i < u->new_count; i++)
        free(u->new_items[i]);
    free(u->people);
    free(u->new_items);
    lookup_free(&u->items);
    lookup_free(&u->by_id);
    ease_interactions_free(u->x);
    pthread_rwlock_destroy(&u->lock);
    free(u);
}

/* ---- events ---------------------------------------------------------------------- */

/* Replaces the row of a person, which the model's data include or not. */
static void replace_row(users *u, person *p, row *r, bool included)
{
    u->with_items += (r->count > 0) - (people_current_row(u, p).count > 0);
    u->bytes += people_row_bytes(r->count, r->weighted);
    if (included || p->changed) {
        people_row_free(u, p->now);
    } else {
        p->changed = true;
        p->was = p->now;
        p->was_base = !p->now && p->base != EASE_NO_USER;
        u->changed++;
    }
    p->now = r;
}

/* Whether the event makes a difference. Sets *item to its number, -1 if it is new. */
static bool matters(const users *u, const journal_event *e, float weight, int64_t *item)
{
    ease_row r = find_row(u, e->user);
    int32_t place;

    *item = lookup_find(&u->items, e->item);
    if (*item < 0)
        return e->kind == JOURNAL_SET;
    place = place_of(r, (int32_t)*item);
    if (!has_item(r, place, (int32_t)*item))
        return e->kind == JOURNAL_SET;
    return e->kind == JOURNAL_REMOVE || people_weight_at(r, place) != weight;
}

static ease_status apply(users *u, const journal_event *e, ease_error *err)
{
    float weight = e->kind == JOURNAL_REMOVE ? 0 : u->o.weights ? e->weight : 1;
    int64_t item;
    person *p;
    row *r;

    if (!matters(u, e, weight, &item))
        return EASE_OK;
    item = number_item(u, e->item);
    p = item < 0 ? NULL : add_person(u, e->user);
    r = p ? row_with(u, people_current_row(u, p), (int32_t)item, weight) : NULL;
    if (!r)
        return people_no_memory(err);
    replace_row(u, p, r, e->sequence <= u->o.included);
    return EASE_OK;
}

ease_status users_apply(void *data, const journal_event *e, ease_error *err)
{
    users *u = data;
    ease_status status;

    pthread_rwlock_wrlock(&u->lock);
    status = apply(u, e, err);
    if (!status)
        u->sequence = e->sequence;
    pthread_rwlock_unlock(&u->lock);
    return status;
}

void users_describe(const users *u, users_info *out)
{
    pthread_rwlock_rdlock(people_lock(u));
    *out = (users_info){
        .users = u->with_items,
        .changed = u->changed,
        .new_items = u->new_count,
        .sequence = u->sequence,
        .bytes = u->bytes + (size_t)u->people_space * sizeof(*u->people) +
                 (size_t)u->new_space * sizeof(*u->new_items) +
                 lookup_bytes(&u->by_id) + lookup_bytes(&u->items),
    };
    pthread_rwlock_unlock(people_lock(u));
}

/* ---- ids of items ---------------------------------------------------------------- */

bool people_copy_ids(const users *u, item_ids *out)
{
    size_t count = (size_t)u->new_count;

    *out = (item_ids){.x = u->x,
                      .base = u->base_items,
                      .count = u->base_items + u->new_count,
                      .more = calloc(count + 1, sizeof(*out->more))};
    if (out->more && count)
        memcpy(out->more, u->new_items, count * sizeof(*out->more));
    return out->more != NULL;
}

const char *people_id_at(const item_ids *ids, int64_t item)
{
    return item < ids->base ? ease_interactions_item_id(ids->x, (int32_t)item)
                            : ids->more[item - ids->base];
}

void people_free_ids(item_ids *ids)
{
    free(ids->more);
    *ids = (item_ids){.more = NULL};
}

/* ---- reading --------------------------------------------------------------------- */

struct users_view {
    const ease_model *model;
    int64_t count; /* of items that there were; later ones are searched by id */
    int32_t numbers[];
};

ease_status users_view_new(const users *u, const ease_model *m, users_view **out,
                           ease_error *err)
{
    users_view *v = NULL;
    item_ids ids;
    bool copied;

    if (!u || !m || !out)
        return journal_fail(err, EASE_E_ARG, 0, "users and a model are required");
    pthread_rwlock_rdlock(people_lock(u));
    copied = people_copy_ids(u, &ids);
    pthread_rwlock_unlock(people_lock(u));
    if (copied)
        v = malloc(sizeof(*v) + (size_t)ids.count * sizeof(*v->numbers));
    if (v) {
        v->model = m;
        v->count = ids.count;
        for (int64_t i = 0; i < ids.count; i++)
            v->numbers[i] = ease_model_find(m, people_id_at(&ids, i));
    }
    people_free_ids(&ids);
    if (!v)
        return people_no_memory(err);
    *out = v;
    return EASE_OK;
}

void users_view_free(users_view *v)
{
    free(v);
}

static bool reserve_history(users_history *h, int32_t count)
{
    int32_t *items;
    float *weights;

    if (count <= h->capacity)
        return true;
    items = realloc(h->items, (size_t)count * sizeof(*items));
    if (items)
        h->items = items;
    weights = items ? realloc(h->weights, (size_t)count * sizeof(*weights)) : NULL;
    if (!weights)
        return false;
    h->weights = weights;
    h->capacity = count;
    return true;
}

void users_history_free(users_history *h)
{
    free(h->items);
    free(h->weights);
    *h = (users_history){0};
}

/* Copies a row in the numbers of the model. */
static void copy_row(const users *u, const users_view *v, ease_row r, users_history *to)
{
    to->count = to->unknown = 0;
    to->weighted = u->o.weights;
    for (int32_t i = 0; i < r.count; i++) {
        int32_t item = r.items[i] < v->count
                           ? v->numbers[r.items[i]]
                           : ease_model_find(v->model, people_item_id(u, r.items[i]));

        if (item == EASE_NO_ITEM) {
            to->unknown++;
            continue;
        }
        to->items[to->count] = item;
        to->weights[to->count++] = people_weight_at(r, i);
    }
}

typedef struct entry {
    int32_t item;
    float weight;
} entry;

static int compare_entries(const void *a, const void *b)
{
    int32_t x = ((const entry *)a)->item, y = ((const entry *)b)->item;

    return (x > y) - (x < y);
}

/* Sorts a history, which mostly is sorted: a model that was trained on the data set has
 * its order. */
static bool sort_history(users_history *h)
{
    entry *entries;
    int32_t sorted = 1;

    while (sorted < h->count && h->items[sorted - 1] < h->items[sorted])
        sorted++;
    if (sorted >= h->count)
        return true;
    entries = malloc((size_t)h->count * sizeof(*entries));
    if (!entries)
        return false;
    for (int32_t i = 0; i < h->count; i++)
        entries[i] = (entry){h->items[i], h->weights[i]};
    qsort(entries, (size_t)h->count, sizeof(*entries), compare_entries);
    for (int32_t i = 0; i < h->count; i++) {
        h->items[i] = entries[i].item;
        h->weights[i] = entries[i].weight;
    }
    free(entries);
    return true;
}

ease_status users_read(const users *u, const users_view *v, const char *user,
                       users_history *to, bool *found, ease_error *err)
{
    bool memory;
    ease_row r;

    if (!u || !v || !user || !to || !found)
        return journal_fail(err, EASE_E_ARG, 0,
                            "users, a view and a user are required");
    pthread_rwlock_rdlock(people_lock(u));
    r = find_row(u, user);
    memory = reserve_history(to, r.count);
    if (memory)
        copy_row(u, v, r, to);
    pthread_rwlock_unlock(people_lock(u));
    if (!memory || !sort_history(to))
        return people_no_memory(err);
    *found = r.count > 0;
    return EASE_OK;
}

bool users_list(const users *u, const char *user,
                void (*each)(void *data, const char *item, float weight), void *data)
{
    ease_row r;

    pthread_rwlock_rdlock(people_lock(u));
    r = find_row(u, user);
    for (int32_t i = 0; i < r.count; i++)
        each(data, people_item_id(u, r.items[i]), people_weight_at(r, i));
    pthread_rwlock_unlock(people_lock(u));
    return r.count > 0;
}
