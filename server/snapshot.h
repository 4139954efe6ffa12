/* A model that is being served, with all that belongs to it. A request takes a
 * reference, and works with this snapshot to its end; the last reference frees it. */
#ifndef EASE_SERVER_SNAPSHOT_H
#define EASE_SERVER_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "catalog.h"
#include "ease.h"
#include "identity.h"

enum { HISTOGRAM_BINS = 48, SPARE_SCORERS = 64 };

/* Weights of a sample of rows. */
typedef struct weight_histogram {
    int32_t rows; /* 0: the model has no weights */
    double low, high;
    int64_t bin[HISTOGRAM_BINS]; /* equal parts of low .. high */
} weight_histogram;

typedef struct snapshot {
    ease_model *model;
    ease_model_info info;
    catalog *catalog;
    weight_histogram weights;
    bool explains;      /* scores are sums of contributions */
    int64_t generation; /* 1 for the first */
    int64_t loaded;     /* seconds since 1970 */
    void *extra;        /* of the users of snapshots; freed by free_extra */
    void (*free_extra)(void *extra);
    atomic_int references;
    pthread_mutex_t lock;
    ease_scorer *spare[SPARE_SCORERS]; /* not in use now */
    int spares;
} snapshot;

/* Makes a snapshot of a model, which is taken over on success, with one reference.
 * Fails with EASE_E_NOMEM, EASE_E_FORMAT or EASE_E_IO. */
ease_status snapshot_new(ease_model *m, snapshot **out, ease_error *err);
/* Gives a reference back; NULL is allowed. */
void snapshot_release(snapshot *s);

/* A scorer for one thread, to be given back. Fails with EASE_E_NOMEM. */
ease_status snapshot_take_scorer(snapshot *s, ease_scorer **out, ease_error *err);
void snapshot_give_scorer(snapshot *s, ease_scorer *scorer);

/* ---- stations ------------------------------------------------------------------- */

/* The place from which one model file is served. */
typedef struct station {
    const char *name; /* "main", "compare" */
    const char *path;
    const char *titles; /* a file; NULL: those of the model */
    bool mapped;        /* weights stay in the file */
    int threads;        /* of verifying */
    identity opened;    /* the file that was opened last; station_load sets it */
    pthread_mutex_t lock;
    snapshot *current;
    int64_t generations;
    /* Completes a new snapshot before it is served; may be NULL. */
    ease_status (*complete)(void *user, snapshot *s, ease_error *err);
    void *user;
} station;

void station_init(station *t);
/* Opens and verifies the model file, and serves it; if this fails, the station goes on
 * as it is. */
ease_status station_load(station *t, ease_error *err);
/* Serves another model, which is taken over on success. */
ease_status station_serve(station *t, ease_model *m, ease_error *err);
/* A reference to the snapshot that is served now; NULL: there is none yet. */
snapshot *station_current(station *t);
void station_close(station *t);

#endif
