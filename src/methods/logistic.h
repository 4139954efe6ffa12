/* Logistic regressions, several at once: which other users have an item predicts
 * whether a user has it. */
#ifndef EASE_METHODS_LOGISTIC_H
#define EASE_METHODS_LOGISTIC_H

#include "core/core.h"

/* For a user u the minimum over w (w_u = 0) and b of
 *
 *     sum_i log(1 + exp(z_i)) - y_i z_i + l2/2 |w|^2,   z_i = b + sum_v w_v x_vi,
 *
 * y_i = x_ui; x is 1 where there is an interaction, else 0. */
typedef struct ease__logistic {
    int64_t users;
    int32_t items;
    const int64_t *row_ptr; /* users + 1 */
    const uint32_t *row_items;
    const int64_t *col_ptr; /* items + 1 */
    const uint32_t *col_users;
    double l2;
    double tolerance;   /* of the gradient's length, relative to the first one */
    int32_t iterations; /* of Newton's method, at most */
} ease__logistic;

enum { EASE__LANES = 8 }; /* regressions at once: a cache line of doubles */

/* Scratch of one thread: rows of EASE__LANES numbers, one for each user and one for b,
 * or one for each item. */
typedef struct ease__logistic_scratch {
    double *weights, *residual, *direction, *step, *curved, *diagonal;
    double *scores, *change, *slope, *product, *bent; /* by item */
    uint8_t *targets;                                 /* by item: a bit for each lane */
    size_t bytes;                                     /* from `weights` on */
} ease__logistic_scratch;

size_t ease__logistic_scratch_bytes(const ease__logistic *l);
ease_status ease__logistic_scratch_new(const ease__logistic *l,
                                       ease__logistic_scratch *out, ease_error *err);
void ease__logistic_scratch_free(ease__logistic_scratch *r);

/* The numbers of regressions that ended before they reached the tolerance. */
typedef struct ease__logistic_ends {
    int spent;   /* they reached the limit of iterations */
    int stalled; /* no step along the direction lowers the loss any more */
} ease__logistic_ends;

/* Fits up to EASE__LANES users, each with at least one item but not all. Afterwards
 * z is in r->scores, and w in r->weights, followed by b. The bits of a regression do
 * not depend on those fitted with it. losses[k] is the loss of users[k]. */
ease__logistic_ends ease__logistic_fit(const ease__logistic *l, const int64_t *users,
                                       int count, ease__logistic_scratch *r,
                                       double *losses);

#endif
