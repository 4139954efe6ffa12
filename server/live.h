/* Exact updates of a served model by feedback: one thread of low priority takes the
 * users that have changed, updates the model (ease_model_update), makes rows of weights
 * in float16 from it, and passes them on to be served.
 *
 * For n items the updated model (packed) takes 2 n^2 bytes and the rows 2 n^2, and both
 * exist twice while one replaces the other: 8 n^2.
 *
 * No event is applied twice: a model records up to which event of which journal its
 * data include (ease_model_position), and the data themselves are compared with the
 * proof of the model (ease_model_check_data) before the first update. */
#ifndef EASE_SERVER_LIVE_H
#define EASE_SERVER_LIVE_H

#include "identity.h"
#include "users.h"

typedef struct live live;

/* An update that was made. */
typedef struct live_update {
    int64_t generation; /* 0: the rows of the model as it was opened */
    uint64_t sequence;  /* the model's data include the events up to this one */
    int64_t users;      /* that have changed */
    int32_t new_items;
    double residual;
    double seconds;
} live_update;

typedef struct live_options {
    double every;        /* seconds between updates; 0: 60 */
    int threads;         /* of an update; 0: all */
    size_t memory_limit; /* bytes; 0: the memory that is available */
    const char *journal; /* the id of the journal; copied */
    /* Serves these rows, which the callee takes over on success. Called by live_start
     * for the model as it is, then by the thread after each update, which has failed if
     * this fails. */
    ease_status (*serve)(void *user, ease_model *rows, const live_update *u,
                         ease_error *err);
    /* An update failed. `for_good` nonzero: there will be no more, since the model must
     * be trained again; otherwise the changes are tried again next time. May be
     * NULL. */
    void (*failed)(void *user, const ease_error *err, int for_good);
    void *user;
    /* The file to which the updated model is saved, and the file that was opened there:
     * one that somebody else has put in its place, also while the model is being
     * saved, is not replaced, and ends saving. A save fails while the file is gone.
     * NULL: the model is not saved. Borrowed. */
    const char *path;
    identity opened;
    double save_every; /* seconds between two times that the model is saved */
    /* The model was saved up to event `sequence`, or was not: `err` says why, and is
     * NULL otherwise. May be NULL. */
    void (*saved)(void *user, uint64_t sequence, double seconds, const ease_error *err);
} live_options;

/* The bytes of memory that a model of `items` items needs at most: 8 n^2. */
size_t live_bytes(int32_t items);

/* The event up to which the data of `m` include those of the journal, for `included` of
 * users_options: 0 for a model that does not name a journal. Fails with EASE_E_DATA if
 * it names another journal, or an event that this one does not have. `journal` is
 * what journal_open or journal_read says. */
ease_status live_position(const ease_model *m, const journal_info *journal,
                          uint64_t *included, ease_error *err);

/* Starts updates of `m`, which is taken over on success; `u` stays with the caller, and
 * must have all events of the journal. Fails with EASE_E_ARG if the model is not
 * updatable or not packed, EASE_E_MEMORY_LIMIT with numbers, EASE_E_DATA if the data of
 * `u` are not those of the model, EASE_E_NOMEM, EASE_E_FORMAT or EASE_E_IO. */
ease_status live_start(ease_model *m, users *u, const live_options *o, live **out,
                       ease_error *err);

/* Makes an update now, if there are changes, and waits for it. Fails as the update
 * does. */
ease_status live_now(live *l, ease_error *err);

/* Saves the model, packed and with the position of its data in the journal, so that a
 * server that opens it goes on from there. Fails as ease_model_save does. */
ease_status live_save(live *l, const char *path, const ease_hooks *hooks,
                      ease_error *err);

/* Ends the thread, cancelling what it is doing, and saves the model where the options
 * say, unless the file there has it. `hooks` may cancel that: the file is then as it
 * was. NULL is allowed. */
void live_finish(live *l, const ease_hooks *hooks);

/* Ends the thread, cancelling what it is doing, and frees all. NULL is allowed. */
void live_stop(live *l);

#endif
