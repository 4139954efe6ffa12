/* Interactions X by columns (items). */
#ifndef EASE_DATA_ITEM_USERS_H
#define EASE_DATA_ITEM_USERS_H

#include "data/interactions.h"

/* The users of item i are users[ptr[i]] .. users[ptr[i + 1] - 1], in increasing
 * order. */
typedef struct ease__item_users {
    int64_t *ptr; /* items + 1 */
    uint32_t *users;
    float *vals; /* NULL: all ones */
} ease__item_users;

/* The first user of part `part` of `parts`, chosen so that all parts have about as many
 * interactions; with part = parts the number of users. */
int64_t ease__part_begin(const ease_interactions *x, int part, int parts);

/* Transposes x. Needs 8 bytes for each item and thread as scratch. */
ease_status ease__item_users_new(const ease_interactions *x, int threads,
                                 ease__item_users *out, ease_error *err);
void ease__item_users_free(ease__item_users *c);

#endif
