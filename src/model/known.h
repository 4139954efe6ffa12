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
    const uint64_t *starts;  /* users + 1: what each had in training is ... */
    const int32_t *items;    /* ... items[starts[u]] .., rising */
    const float *low, *step; /* users */
    const uint16_t *codes;   /* users x items; NULL in the other forms */
} ease__known;

enum { EASE__CODES = 65535 }; /* the highest */

/* Room for users and items of x, whose ids and histories are copied. */
ease_status ease__known_new(const ease_interactions *x, ease__known *out,
                            ease_error *err);
void ease__known_free(ease__known *k, bool mapped);
/* Bytes of such a model, in memory and in a file; SIZE_MAX where it overflows. */
size_t ease__known_bytes(const ease_interactions *x);

/* Bytes of memory that it takes. */
size_t ease__known_held(const ease__known *k, int32_t items);

/* Of the scores alone. */
size_t ease__known_code_bytes(const ease__known *k, int32_t items);

/* Row `user` of `items` finite scores, into one that ease__known_new made. */
void ease__known_put(ease__known *k, int64_t user, const double *scores, int32_t items);
/* And back. */
void ease__known_get(const ease__known *k, int64_t user, int32_t items, float *scores);

/* Into a file; and out of it, mapped: EASE_E_FORMAT where it is damaged. */
ease_status ease__known_write(const ease__known *k, int32_t items,
                              ease__container_writer *w, ease_error *err);
ease_status ease__known_take(ease__container *file, int64_t users, int32_t items,
                             ease__known *out, ease_error *err);

#endif
