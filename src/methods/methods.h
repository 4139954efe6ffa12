/* The methods: each is one file with one table, and a line in methods.c. */
#ifndef EASE_METHODS_METHODS_H
#define EASE_METHODS_METHODS_H

#include "data/interactions.h"
#include "model/model.h"
#include "model/settings.h"

extern const ease__method ease__ease, ease__ease_nonneg, ease__popularity,
    ease__item_item, ease__slim, ease__slim_free, ease__wmf, ease__ii_svd, ease__cdae,
    ease__mult_dae, ease__mult_vae, ease__lrec;

/* The first settings of item-item and of what begins with it. */
enum { EASE__SIMILARITY, EASE__NEIGHBOURS, EASE__SHRINKAGE };
#define EASE__ITEM_ITEM_SETTINGS                                             \
    {.name = "similarity",                                                   \
     .about = "of the users of two items",                                   \
     .most = 2,                                                              \
     .whole = 1,                                                             \
     .words = "cosine|jaccard|conditional"},                                 \
        {.name = "neighbours",                                               \
         .about = "an item keeps, itself among them",                        \
         .value = 100,                                                       \
         .least = 1,                                                         \
         .most = INT32_MAX,                                                  \
         .whole = 1},                                                        \
    {                                                                        \
        .name = "shrinkage",                                                 \
        .about = "is added to the divisor, against chance among rare items", \
        .most = 1e12                                                         \
    }

/* Rows of few weights on their way into a model: at most `capacity` a row, its items rising
 * and no weight 0. */
typedef struct ease__lists {
    int32_t rows, capacity;
    int32_t *columns; /* rows x capacity */
    float *weights;   /* rows x capacity */
    int32_t *counts;
} ease__lists;

ease_status ease__lists_new(int32_t rows, int32_t capacity, ease__lists *out,
                            ease_error *err);
void ease__lists_free(ease__lists *l);
/* Into a model of the sparse form, which takes over the arrays. */
ease_status ease__lists_store(ease__lists *l, ease_model *m, ease_error *err);

/* Columns of weights on their way into rows: those into item j, without zeros and in any
 * order, an allocation each. */
typedef struct ease__ragged {
    int32_t items;
    struct {
        ease_rec *recs;
        int32_t count;
    } * columns;
} ease__ragged;

/* All of them empty. */
ease_status ease__ragged_new(int32_t items, ease__ragged *out, ease_error *err);
void ease__ragged_free(ease__ragged *r);
/* Into a model of the sparse form. */
ease_status ease__ragged_transpose(const ease__ragged *r, ease_model *m,
                                   ease_error *err);

#endif
