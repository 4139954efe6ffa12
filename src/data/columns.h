/* X by columns: who has an item. */
#ifndef EASE_COLUMNS_H
#define EASE_COLUMNS_H

#include "data/interactions.h"

/* Users of item i: users[ptr[i]] .. users[ptr[i + 1] - 1], in increasing order. */
typedef struct ease__columns {
    int64_t *ptr; /* items + 1 */
    uint32_t *users;
    float *vals; /* NULL: all ones */
} ease__columns;

/* Takes 8 bytes an item and thread meanwhile. */
ease_status ease__columns_new(const ease_interactions *x, int threads,
                              ease__columns *out, ease_error *err);
void ease__columns_free(ease__columns *c);

#endif
