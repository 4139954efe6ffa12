/* The methods: each is one constant in one file of this folder, and one line in
 * EASE__METHODS below. */
#ifndef EASE_METHODS_METHODS_H
#define EASE_METHODS_METHODS_H

#include <stdatomic.h>

#include "data/interactions.h"
#include "model/model.h"
#include "model/settings.h"

/* All methods, one in a line, in the order in which users see them. */
#define EASE__METHODS(METHOD)   \
    METHOD(ease__ease)          \
    METHOD(ease__ease_nonneg)   \
    METHOD(ease__edlae)         \
    METHOD(ease__rlae)          \
    METHOD(ease__rdlae)         \
    METHOD(ease__dan)           \
    METHOD(ease__ease_rescaled) \
    METHOD(ease__ease_ips)      \
    METHOD(ease__mrf)           \
    METHOD(ease__ease_family)   \
    METHOD(ease__add_ease)      \
    METHOD(ease__ease_sparse)   \
    METHOD(ease__popularity)    \
    METHOD(ease__item_item)     \
    METHOD(ease__slim)          \
    METHOD(ease__slim_free)     \
    METHOD(ease__wmf)           \
    METHOD(ease__ii_svd)        \
    METHOD(ease__cdae)          \
    METHOD(ease__mult_dae)      \
    METHOD(ease__mult_vae)      \
    METHOD(ease__lrec)

#define EASE__DECLARE_METHOD(method) extern const ease__method method;
EASE__METHODS(EASE__DECLARE_METHOD)

/* Trains with a lambda that is given. ease_train, which may also choose it, is in
 * src/tune/auto_lambda.c, a later folder. */
ease_status ease__train(const ease_interactions *x, const ease_train_options *given,
                        ease_model **out, ease_error *err);

/* The first settings of item-item, and of ii-svd, which starts with it. */
enum { EASE__SIMILARITY, EASE__NEIGHBOURS, EASE__SHRINKAGE };
#define EASE__ITEM_ITEM_SETTINGS                                                    \
    {.name = "similarity",                                                          \
     .about = "similarity measure of the users of two items",                       \
     .most = 2,                                                                     \
     .whole = 1,                                                                    \
     .words = "cosine|jaccard|conditional"},                                        \
        {.name = "neighbours",                                                      \
         .about = "number of neighbours of an item, including itself",              \
         .value = 100,                                                              \
         .least = 1,                                                                \
         .most = INT32_MAX,                                                         \
         .whole = 1},                                                               \
    {                                                                               \
        .name = "shrinkage",                                                        \
        .about = "added to the divisor, against chance similarities of rare items", \
        .most = 1e12                                                                \
    }

/* Sparse rows of weights under construction: at most `capacity` weights in a row,
 * none of them 0, sorted by item. */
typedef struct ease__lists {
    int32_t rows, capacity;
    int32_t *columns; /* rows x capacity */
    float *weights;   /* rows x capacity */
    int32_t *counts;
} ease__lists;

ease_status ease__lists_new(int32_t rows, int32_t capacity, ease__lists *out,
                            ease_error *err);
void ease__lists_free(ease__lists *l);
/* Stores the rows in a sparse model, which then owns the arrays. */
ease_status ease__lists_store(ease__lists *l, ease_model *m, ease_error *err);

/* Sparse columns of weights under construction: the weights into item j, without
 * zeros and in any order. */
typedef struct ease__ragged {
    int32_t items;
    struct {
        ease_rec *recs;
        int32_t count;
    } * columns;
    ease_rec *block; /* of all columns; NULL: each column is one allocation */
    size_t block_bytes;
    atomic_size_t used; /* weights of the block */
} ease__ragged;

/* Allocates empty columns. */
ease_status ease__ragged_new(int32_t items, ease__ragged *out, ease_error *err);
void ease__ragged_free(ease__ragged *r);
/* Allocates a block for at most `weights` weights, of which pages are used as they are
 * needed. Unlike small allocations it goes back to the system when it is freed. */
ease_status ease__ragged_reserve(ease__ragged *r, size_t weights, ease_error *err);
/* A column of the block, for `count` weights; threads may call this at once. */
ease_rec *ease__ragged_take(ease__ragged *r, int32_t count);
/* Transposes the columns into the rows of a sparse model. Fails with EASE_E_NOMEM or
 * EASE_E_CANCELLED. */
ease_status ease__ragged_transpose(const ease__ragged *r, const ease_hooks *hooks,
                                   ease_model *m, ease_error *err);

/* Replaces the weights of a sparse model, which was trained on x, by `from` times the
 * scales s_i t_j of the family. `from` may be the weights of the model. */
ease_status ease__sparse_scale(const ease__family *f, const ease_interactions *x,
                               const float *from, ease_model *m, ease_error *err);
/* Fails with EASE_E_ACCURACY if a weight of a sparse model is not finite: its file
 * could not be opened. */
ease_status ease__sparse_check(const ease_model *m, ease_error *err);

#endif
