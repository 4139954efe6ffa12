/* Interactions X, stored by rows (users). */
#ifndef EASE_DATA_INTERACTIONS_H
#define EASE_DATA_INTERACTIONS_H

#include "data/ids.h"

struct ease_interactions {
    int64_t users, nnz;
    int32_t items;
    int64_t *row_ptr; /* users + 1 */
    int32_t *cols;    /* strictly increasing within a row */
    float *vals;      /* NULL: all ones */
    bool borrowed; /* the three arrays above belong to the caller and are read only */
    ease__ids user_ids, item_ids;
    char *recognized; /* the recognized form of the file; NULL if there is no file */
    char *doubt;      /* as in ease_interactions_info */
    ease_interactions_info counts; /* rows, below_rating, ... only */
};

/* To be called before anything is learned from the data: fails with EASE_E_ARG if its
 * columns were guessed and are probably wrong. */
ease_status ease__check_columns(const ease_interactions *x, ease_error *err);

#endif
