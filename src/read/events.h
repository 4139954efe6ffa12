/* Interactions in file order, for splits. Nothing is renumbered or moved: events that
 * are dropped are marked. */
#ifndef EASE_READ_EVENTS_H
#define EASE_READ_EVENTS_H

#include "data/interactions.h"

typedef struct ease__events {
    int64_t count, users;
    int32_t items;
    uint32_t *user; /* by event */
    int32_t *item;
    double *time;    /* NULL: none */
    uint8_t *part;   /* the part of a split that the event belongs to; 0: dropped */
    int64_t *begin;  /* users + 1 places in `order`, where a user's events begin */
    uint32_t *order; /* events by user, each user's in file order, dropped ones too */
    ease__ids user_ids, item_ids;
    bool borrowed; /* the ids belong to interactions */
    char *recognized;
    ease_interactions_info counts;
} ease__events;

/* Reads, folds repeated pairs and filters as ease_interactions_read does; part is 1 for
 * the events that are kept. Of a repeated pair the first row stays, or the last
 * (o->repeat). timed: keep times, if there are any; dated: as seconds
 * since 1970. block_bytes as in
 * ease__interactions_read. */
ease_status ease__events_read(const char *path, const ease_read_options *o,
                              size_t block_bytes, bool timed, bool dated,
                              ease__events *out, ease_error *err);
/* The same for interactions in memory: events in the order of their rows, without
 * times. `out` borrows the ids of x, which must outlive it. */
ease_status ease__events_of_rows(const ease_interactions *x, const ease_read_options *o,
                                 ease__events *out, ease_error *err);
void ease__events_free(ease__events *e);

#endif
