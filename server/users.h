/* Histories of known users in memory: those of a data set, with events of feedback
 * applied to them. Users and items that the data set does not have are added; items
 * are kept by id, so that a history has them as soon as a model knows them.
 *
 * Any number of threads may read while one thread applies events.
 *
 * Memory: the data set as it was read (4 bytes for each interaction or 8 with weights,
 * 8 for each user, and the ids with their index), and for each user with events some 80
 * bytes and a row of its own, again of 4 or 8 bytes for each item. */
#ifndef EASE_SERVER_USERS_H
#define EASE_SERVER_USERS_H

#include "segments.h"

typedef struct users users;

typedef struct users_options {
    int weights; /* nonzero: weights of events are kept. 0: every weight is 1, as in
                    data that was read without weights */
    /* The sequence number of the last event that the model's data include, see
     * ease_model_position; 0: none. Later events are changes, see users_take. */
    uint64_t included;
} users_options;

/* Makes histories from a data set, which is taken over on success, and freed with them;
 * NULL: there are none yet. Fails with EASE_E_ARG if the data has weights and the
 * options have not, or EASE_E_NOMEM. */
ease_status users_new(ease_interactions *x, const users_options *o, users **out,
                      ease_error *err);
void users_free(users *u);

/* Applies one event; to be called by one thread at a time, in the order of the
 * journal. `u` is a `users *`, so that this is a journal_reader. Fails with
 * EASE_E_NOMEM; the histories are then as before. */
ease_status users_apply(void *u, const journal_event *e, ease_error *err);

typedef struct users_info {
    int64_t users;     /* with at least one item */
    int64_t changed;   /* users with changes that users_take has not returned yet */
    int64_t new_items; /* items of events that the data set does not have */
    uint64_t sequence; /* of the last event that was applied; 0: none */
    size_t bytes;      /* of the histories that have events, without the data set */
} users_info;

void users_describe(const users *u, users_info *out);

/* ---- reading one history -------------------------------------------------------- */

/* The numbers of a model's items for those of histories; to be made once for each
 * model, and freed before it. Fails with EASE_E_NOMEM. */
typedef struct users_view users_view;
ease_status users_view_new(const users *u, const ease_model *m, users_view **out,
                           ease_error *err);
void users_view_free(users_view *v);

/* A history that was copied. It starts as {0}, and may be used again for the next
 * call. */
typedef struct users_history {
    int32_t *items; /* strictly increasing numbers of the model */
    float *weights; /* one for each item */
    int32_t count;
    int32_t unknown; /* items of the history that the model does not know */
    int weighted;    /* 0: all weights are 1 */
    int32_t capacity;
} users_history;

/* The history as a row for ease_recommend. */
static inline ease_row users_row(const users_history *h)
{
    return (ease_row){h->items, h->weighted ? h->weights : NULL, h->count};
}

/* Copies the history of a user. *found is false if there is no such user, or if the
 * user has no item any more. Fails with EASE_E_NOMEM. */
ease_status users_read(const users *u, const users_view *v, const char *user,
                       users_history *to, bool *found, ease_error *err);
void users_history_free(users_history *h); /* its arrays */

/* Calls `each` with the id and the weight of each item of a user, in no particular
 * order, while events wait: it must be short. Returns false as users_read does. */
bool users_list(const users *u, const char *user,
                void (*each)(void *data, const char *item, float weight), void *data);

/* ---- data of the model, and changes since then ----------------------------------- */

/* The histories as interactions: as they are, or as they were in the data of the model
 * (without the changes that users_take has not returned, or has returned and that were
 * given back). *out is NULL if no user has any item. Fails with EASE_E_NOMEM or
 * EASE_E_MEMORY_LIMIT. */
typedef enum users_state { USERS_NOW, USERS_MODEL } users_state;
ease_status users_interactions(const users *u, users_state state,
                               ease_interactions **out, ease_error *err);

/* The rows of users with changes, for ease_model_update. */
typedef struct users_changes {
    ease_interactions *was; /* as in the data of the model; NULL: all users are new */
    ease_interactions *now; /* NULL: all users have left */
    int64_t users;          /* 0: nothing has changed */
    uint64_t sequence;      /* of the last event that is in `now` */
    struct users_taken *taken;
} users_changes;

/* Takes the changes since the last call, to be ended by users_keep if a model includes
 * them, or by users_give_back: they are then a part of the next changes. One thread at
 * a time. Fails as users_interactions does; nothing is taken then. */
ease_status users_take(users *u, users_changes *out, ease_error *err);
void users_keep(users *u, users_changes *c);
void users_give_back(users *u, users_changes *c);

#endif
