/* X: who interacted with what, by rows. */
#ifndef EASE_INTERACTIONS_H
#define EASE_INTERACTIONS_H

#include "data/ids.h"

struct ease_interactions {
    int64_t users, nnz;
    int32_t items;
    int64_t *row_ptr; /* users + 1 */
    int32_t *cols;    /* strictly increasing within a row */
    float *vals;      /* NULL: all ones */
    ease__ids user_ids, item_ids;
    char *recognized; /* what the file was taken for; NULL if from no file */
    ease_interactions_info counts; /* rows, below_rating, ... only */
};

/* The transpose: users of item i are rows[ptr[i]] .. rows[ptr[i + 1] - 1], in
 * increasing order. Users are fewer than 2^32. */
typedef struct ease__columns {
    int64_t *ptr; /* items + 1 */
    uint32_t *rows;
    float *vals; /* NULL: all ones */
} ease__columns;

ease_status ease__columns_make(const ease_interactions *x, ease__columns *out,
                               ease_error *err);
void ease__columns_free(ease__columns *c);

#endif
