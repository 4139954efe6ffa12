/* Interactions in the making: what readers hand over, and what makes it X. */
#ifndef EASE_DATA_DRAFT_H
#define EASE_DATA_DRAFT_H

#include "core/budget.h"
#include "data/interactions.h"

/* Records in file order: user, item, if weighted the bits of a float, and if timed
 * those of a double. */
typedef struct ease__chunk {
    uint32_t *records;
    size_t count;
    size_t bytes; /* of the mapping */
} ease__chunk;

typedef struct ease__draft {
    ease__ids user_ids, item_ids;
    bool weighted, timed;
    ease__chunk *chunks; /* in file order */
    size_t chunk_count, chunk_capacity;
    int64_t records;
    ease__budget *budget;          /* for all that is read */
    char *recognized;              /* what the file was taken for */
    char *doubt;                   /* as in ease_interactions_info */
    ease_interactions_info counts; /* rows, below_rating, unused, negative */
} ease__draft;

static inline size_t ease__record_words(bool weighted, bool timed)
{
    return 2 + (size_t)weighted + 2 * (size_t)timed;
}

void ease__draft_free(ease__draft *d);
void ease__chunk_free(ease__chunk *c);
/* Space for `count` more records, to be filled by the caller, who has taken their bytes
 * from the budget before: the pages of a chunk become memory only when they are
 * written. NULL: no memory. */
uint32_t *ease__draft_add(ease__draft *d, size_t count);
/* Bytes that the records take. */
size_t ease__draft_bytes(const ease__draft *d);
/* The most bytes that ease__draft_rows will take beside the records. */
size_t ease__draft_rows_bytes(const ease__draft *d, int64_t users, int threads);

/* Rows from records, in file order within a row, repeats and all: x->user_ids,
 * item_ids, row_ptr, cols, vals, recognized, doubt and counts are filled, and chunks
 * are freed on the way. Times are ignored. */
ease_status ease__draft_rows(ease__draft *d, int threads, ease_interactions *x,
                             ease_error *err);

/* Sorts each row and folds what repeats; x->vals NULL and EASE_REPEAT_SUM make
 * counts. Weights of zero are dropped. lost_users and lost_items (bytes, may be NULL)
 * are marked where that took something. */
ease_status ease__fold_rows(ease_interactions *x, ease_repeat repeat, int threads,
                            uint8_t *lost_users, uint8_t *lost_items, ease_error *err);

/* All that follows reading: fold, drop, filter, renumber. `name` is the input's.
 * Fails with EASE_E_DATA if nothing is left. */
ease_status ease__finish(ease_interactions *x, const ease_read_options *o,
                         const char *name, ease_error *err);

/* EASE_E_DATA: why no row was kept. */
ease_status ease__nothing_left(const ease_interactions_info *counts, const char *name,
                               ease_error *err);

#endif
