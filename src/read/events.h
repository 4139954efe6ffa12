/* Interactions in the order of their file, for splits: nothing is renumbered or moved,
 * what is dropped is marked. */
#ifndef EASE_READ_EVENTS_H
#define EASE_READ_EVENTS_H

#include "data/interactions.h"

typedef struct ease__events {
    int64_t count, users;
    int32_t items;
    uint32_t *user; /* by event */
    int32_t *item;
    double *time;    /* NULL: none */
    uint8_t *part;   /* which part of a split it belongs to; 0: dropped */
    int64_t *begin;  /* users + 1: where a user's events begin in `order`, ... */
    uint32_t *order; /* ... in file order, with the dropped ones */
    ease__ids user_ids, item_ids;
    char *recognized;
    ease_interactions_info counts;
} ease__events;

/* Reads and folds repeats and filters as ease_interactions_read does; part is 1 for
 * what is kept. Of a repeated pair the first row stays, or the last (o->repeat). timed:
 * with times where there are any. block_bytes as in ease__interactions_read. */
ease_status ease__events_read(const char *path, const ease_read_options *o,
                              size_t block_bytes, bool timed, ease__events *out,
                              ease_error *err);
void ease__events_free(ease__events *e);

#endif
