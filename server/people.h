/* The inside of users.h, for users.c and changes.c. */
#ifndef EASE_SERVER_PEOPLE_H
#define EASE_SERVER_PEOPLE_H

#include <pthread.h>
#include <stdlib.h>

#include "lookup.h"
#include "users.h"

/* The history of a user with events. It never changes: an event replaces it. */
typedef struct row {
    int32_t references; /* for the lock of the users */
    int32_t count;
    int32_t weighted;
    int32_t items[]; /* strictly increasing; then the weights, floats */
} row;

/* A user with events. The row in the data of the model is the current one unless
 * `changed`; it is then that of the data set (`was_base`), or `was` (NULL: empty). */
typedef struct person {
    const char *id; /* that of the data set, or allocated */
    int64_t base;   /* number in the data set, or EASE_NO_USER */
    row *now;       /* NULL: that of the data set */
    row *was;
    bool changed, was_base;
} person;

/* Items are numbered: those of the data set, then those of events. */
struct users {
    pthread_rwlock_t lock; /* for everything below */
    ease_interactions *x;  /* the data set; NULL: none */
    users_options o;
    int32_t base_items;
    char **new_items;
    int64_t new_count, new_space;
    lookup items;
    person *people;
    int64_t people_count, people_space;
    lookup by_id; /* of people */
    int64_t with_items, changed;
    uint64_t sequence;
    size_t bytes; /* of rows and ids */
};

static inline float *people_weights(row *r)
{
    return (float *)(void *)(r->items + r->count);
}

static inline ease_row people_row(row *r)
{
    if (!r)
        return (ease_row){0};
    return (ease_row){r->items, r->weighted ? people_weights(r) : NULL, r->count};
}

static inline ease_row people_current_row(const users *u, const person *p)
{
    return p->now ? people_row(p->now) : ease_interactions_row(u->x, p->base);
}

static inline ease_row people_model_row(const users *u, const person *p)
{
    if (!p->changed)
        return people_current_row(u, p);
    return p->was_base ? ease_interactions_row(u->x, p->base) : people_row(p->was);
}

static inline float people_weight_at(ease_row r, int32_t i)
{
    return r.weights ? r.weights[i] : 1;
}

static inline size_t people_row_bytes(int64_t count, bool weighted)
{
    return sizeof(row) + (size_t)count * (weighted ? 8 : 4);
}

static inline const char *people_item_id(const users *u, int64_t item)
{
    return item < u->base_items ? ease_interactions_item_id(u->x, (int32_t)item)
                                : u->new_items[item - u->base_items];
}

/* The ids of items as they were at one time. They stay valid after the lock is
 * released: events only add more. */
typedef struct item_ids {
    const ease_interactions *x;
    int64_t base, count; /* items of the data set; all of them */
    const char **more;   /* the ids of the others */
} item_ids;

/* Called with the lock. Fails without memory. */
bool people_copy_ids(const users *u, item_ids *out);
const char *people_id_at(const item_ids *ids, int64_t item);
void people_free_ids(item_ids *ids);

/* Locking does not change what the caller can see. */
static inline pthread_rwlock_t *people_lock(const users *u)
{
    return (pthread_rwlock_t *)(uintptr_t)&u->lock;
}

/* Gives a reference back; the last one frees the row. */
static inline void people_row_free(users *u, row *r)
{
    if (!r || --r->references)
        return;
    u->bytes -= people_row_bytes(r->count, r->weighted);
    free(r);
}

static inline ease_status people_no_memory(ease_error *err)
{
    return journal_fail(err, EASE_E_NOMEM, 0, "histories of users");
}

#endif
