/* Interactions under construction: records from the readers, and the steps that make
 * rows of X from them. */
#ifndef EASE_DATA_DRAFT_H
#define EASE_DATA_DRAFT_H

#include "core/budget.h"
#include "data/interactions.h"

/* Records in file order: user, item, the bits of a float if weighted, and those of a
 * double if timed. */
typedef struct ease__chunk {
    uint32_t *records;
    size_t count;
    size_t bytes; /* of the mapping */
} ease__chunk;

typedef struct ease__draft {
    ease__ids user_ids, item_ids;
    bool weighted, timed;
    bool dated; /* times are in seconds since 1970, from `oldest` to `newest` */
    double oldest, newest;
    int64_t small;       /* rows whose time is a small number, see text/moment.h */
    double half_life;    /* of values, in seconds; 0: values do not age */
    ease__chunk *chunks; /* in file order */
    size_t chunk_count, chunk_capacity;
    int64_t records;
    ease__budget *budget;          /* for all memory of reading */
    char *recognized;              /* the recognized form of the file */
    char *doubt;                   /* as in ease_interactions_info */
    ease_interactions_info counts; /* rows, below_rating, unused, negative */
} ease__draft;

static inline size_t ease__record_words(bool weighted, bool timed)
{
    return 2 + (size_t)weighted + 2 * (size_t)timed;
}

void ease__draft_free(ease__draft *d);
void ease__chunk_free(ease__chunk *c);
/* Returns space for `count` more records, to be filled by the caller, who has
 * counted their bytes against the budget before: the pages of a chunk become memory
 * only when they are written. NULL: no memory. */
uint32_t *ease__draft_add(ease__draft *d, size_t count);
/* Bytes of memory of the records. */
size_t ease__draft_bytes(const ease__draft *d);
/* The most bytes that ease__draft_rows will allocate beside the records. */
size_t ease__draft_rows_bytes(const ease__draft *d, int64_t users, int threads);

/* Prepares the draft for records with dates: before any is added. */
void ease__draft_dated(ease__draft *d, const ease_read_options *o);
/* Sets the time from which ages count, once all records are there. Fails with
 * EASE_E_DATA if the times of most rows are small numbers: hardly seconds since
 * 1970. */
ease_status ease__draft_age(ease__draft *d, const ease_read_options *o,
                            const char *name, ease_error *err);
/* Makes rows from records, in file order within a row and including repeats: fills
 * x->user_ids, item_ids, row_ptr, cols, vals, recognized, doubt and counts, and
 * frees chunks as it proceeds. Times are used for the age of values alone. */
ease_status ease__draft_rows(ease__draft *d, int threads, ease_interactions *x,
                             ease_error *err);

/* Sorts each row and combines repeated items; with x->vals NULL and EASE_REPEAT_SUM
 * the values become counts. Weights of zero are dropped; lost_users and lost_items
 * (bytes, may be NULL) are set for users and items that lost something by that. */
ease_status ease__fold_rows(ease_interactions *x, ease_repeat repeat, int threads,
                            uint8_t *lost_users, uint8_t *lost_items, ease_error *err);

/* All steps after reading: combine repeats, drop, filter, renumber. `name` is that
 * of the input. Fails with EASE_E_DATA if nothing is left. */
ease_status ease__finish(ease_interactions *x, const ease_read_options *o,
                         const char *name, ease_error *err);

/* Fails with EASE_E_DATA and a message that says why no row was kept. */
ease_status ease__nothing_left(const ease_interactions_info *counts, const char *name,
                               ease_error *err);

#endif
