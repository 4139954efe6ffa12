/* The methods: each is one constant in one file of this folder, and one line in
 * EASE__METHODS below. */
#ifndef EASE_METHODS_METHODS_H
#define EASE_METHODS_METHODS_H

#include "data/interactions.h"
#include "model/model.h"
#include "model/settings.h"

/* All of them, a line each, in the order in which users see them. */
#define EASE__METHODS(METHOD) \
    METHOD(ease__ease)        \
    METHOD(ease__ease_nonneg) \
    METHOD(ease__popularity)  \
    METHOD(ease__item_item)   \
    METHOD(ease__slim)        \
    METHOD(ease__slim_free)   \
    METHOD(ease__wmf)         \
    METHOD(ease__ii_svd)      \
    METHOD(ease__cdae)        \
    METHOD(ease__mult_dae)    \
    METHOD(ease__mult_vae)    \
    METHOD(ease__lrec)

#define EASE__DECLARE_METHOD(method) extern const ease__method method;
EASE__METHODS(EASE__DECLARE_METHOD)

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
