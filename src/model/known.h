/* Models of known users: a row of scores for each user of the training data, in 16 bits
 * between the user's lowest and highest. */
#ifndef EASE_MODEL_KNOWN_H
#define EASE_MODEL_KNOWN_H

#include "core/container.h"
#include "data/ids.h"
#include "data/interactions.h"

/* The score of item j for user u is low[u] + step[u] * codes[u * items + j]. */
typedef struct ease__known {
    int64_t users;
    ease__ids ids;
    const uint64_t *starts; /* users + 1: the history of user u in training is */
    const int32_t *items; /* items[starts[u]] .. items[starts[u + 1] - 1], ascending */
    const float *low, *step; /* users */
    const uint16_t *codes;   /* users x items; NULL in other forms */
} ease__known;

enum { EASE__CODES = 65535 }; /* the largest code */

/* Allocates the scores of the users and items of x, and copies its ids and
 * histories. */
ease_status ease__known_new(const ease_interactions *x, ease__known *out,
                            ease_error *err);
/* Frees the ids, and all other arrays unless they are mapped from a file. */
void ease__known_free(ease__known *k, bool mapped);
/* Bytes of a model of x, in memory and in a file; SIZE_MAX on overflow. */
size_t ease__known_bytes(const ease_interactions *x);

/* Rounds a row of `items` finite scores to codes and stores it; `k` was made by
 * ease__known_new(). */
void ease__known_put(ease__known *k, int64_t user, const double *scores, int32_t items);
/* The scores of a user, as they were stored. */
void ease__known_get(const ease__known *k, int64_t user, int32_t items, float *scores);

#endif
