/* Interactions whose items are numbered by popularity: rank 0 has the most users. An
 * entry of X'X can then be computed from the rarer one of its items, whose partners of
 * smaller rank are a prefix of the histories of its users. */
#ifndef EASE_METHODS_RANKED_H
#define EASE_METHODS_RANKED_H

#include "data/item_users.h"
#include "model/family.h"

typedef struct ease__ranked {
    const ease_interactions *x; /* borrowed: row_ptr */
    ease__item_users columns;   /* by item */
    int32_t *order;             /* items: the item of a rank */
    int32_t *rank;              /* items: the rank of an item */
    int32_t *cols;              /* ranks, ascending within the row of a user */
    float *vals;                /* in the order of cols; NULL: all ones */
    double *weights;            /* w of the users; NULL: all 1 */
    /* By rank. */
    double *diagonal; /* of X'WX */
    double *counts;   /* users */
    double *penalty;  /* Lambda */
} ease__ranked;

/* Renumbers x. Fails with EASE_E_NOMEM, EASE_E_TOO_LARGE or EASE_E_CANCELLED. */
ease_status ease__ranked_new(const ease_interactions *x, const ease__family *f,
                             double lambda, int threads, const ease_hooks *hooks,
                             ease__ranked *out, ease_error *err);
void ease__ranked_free(ease__ranked *r);

/* The bytes of it, with the scratch of making it. */
size_t ease__ranked_bytes(int64_t users, int32_t items, int64_t interactions,
                          bool weighted, int threads);

/* The users of a rank: from .. to - 1 of the columns. */
static inline int64_t ease__ranked_from(const ease__ranked *r, int32_t rank)
{
    return r->columns.ptr[r->order[rank]];
}

static inline int64_t ease__ranked_to(const ease__ranked *r, int32_t rank)
{
    return r->columns.ptr[r->order[rank] + 1];
}

/* w_u x_ui of place `at` of the columns. */
static inline double ease__ranked_factor(const ease__ranked *r, int64_t at)
{
    double weight = r->weights ? r->weights[r->columns.users[at]] : 1;

    return r->columns.vals ? weight * (double)r->columns.vals[at] : weight;
}

#endif
