/* One solve of a member of the closed-form family, and the model that is made from its
 * inverse. */
#ifndef EASE_MODEL_DENSE_H
#define EASE_MODEL_DENSE_H

#include "gram/gram_tags.h"
#include "model/model.h"
#include "model/settings.h"
#include "solve/backends.h"

/* What is to be solved. */
typedef struct ease__dense_order {
    ease_train_options o; /* checked, without settings */
    const ease__method *method;
    const ease_backend *backend;
    ease__family family;
    double tag_weight; /* of o.tags; 0: no tags, or they are kept only */
    double values[EASE__MOST_SETTINGS];  /* of the settings */
    char settings[EASE__SETTINGS_CHARS]; /* all of them, "" for EASE */
} ease__dense_order;

/* Takes options that ease__train_options_take() has checked. Fails with EASE_E_ARG or
 * EASE_E_BACKEND. */
ease_status ease__dense_order_take(const ease_train_options *o, ease__dense_order *out,
                                   ease_error *err);
/* Replaces the settings by these values, which are in range. */
void ease__dense_order_set(ease__dense_order *d, const double *values);

/* Builds the matrix of an order from interactions: X'X, or with a user power X'WX. */
ease_status ease__dense_load(const ease_interactions *x, const ease__dense_order *d,
                             ease__element element, const ease__bands *bands,
                             ease_gram **out, ease_error *err);

/* The vectors that a model is made from, n entries each, beside the matrix. */
typedef struct ease__dense_vectors {
    int32_t items;    /* n */
    double *diagonal; /* of X'X, or of X'WX */
    double *factors;  /* s, then t of the family; NULL for EASE */
    double *pivots;   /* the diagonal of the inverse; NULL for EASE */
    double *product;  /* X'WX v of the proof, unless the Gram matrix has it; NULL: the
                         model is not updatable */
    double *random;   /* v, until the model is made */
    ease__scales scales;
    ease__tag_lists tags; /* to be added to the matrix; {0}: none */
} ease__dense_vectors;

/* Fails with EASE_E_DATA if the Gram matrix lacks what the settings need. */
ease_status ease__dense_vectors_new(const ease_gram *g, const ease__dense_order *d,
                                    ease__dense_vectors *out, ease_error *err);
void ease__dense_vectors_free(ease__dense_vectors *v);

/* Converts X'X, or a band of it, to the matrix that is solved. */
void ease__dense_prepare(ease_gram *g, const ease__dense_order *d,
                         ease__dense_vectors *v);
/* Fails with EASE_E_ACCURACY if lambda is so large that all weights would be 0, or if
 * the model is to be updatable and the matrix was scaled by powers of two. */
ease_status ease__dense_check_scale(const ease__dense_vectors *v, int32_t n,
                                    const ease__dense_order *d, ease_error *err);
/* Passes on a failure of the solver, with the id of the item in its message. */
ease_status ease__dense_tell_failure(const ease_gram *g, ease__element element,
                                     const ease_error *found, ease_error *err);
/* The parts of the model. They borrow from g, of which the matrix is not used, and from
 * the order and the vectors. */
ease__model_parts ease__dense_parts(ease_gram *g, const ease__dense_order *d,
                                    const ease__dense_vectors *v, ease__element element,
                                    double residual);

/* Makes the model from the inverse and its parts as ease__model_from_inverse does,
 * gives it the tags of the options, and lets the method finish it. */
ease_status ease__dense_model(ease__tiled *inverse, ease__model_parts *r,
                              const ease__dense_order *d, ease_model **out,
                              ease_error *err);

static const double EASE__UNSOLVED = -1; /* a residual that was not computed */

/* A model whose relaxation and scales can be changed without another solve. */
typedef struct ease__dense {
    ease_model *model;
    double residual;
    ease__dense_order order;
    ease__dense_vectors vectors;
    ease_gram *gram; /* without its matrix and ids */
    ease__element element;
} ease__dense;

/* Solves in memory. Takes over g. After a failure *out has nothing to be freed, and
 * out->residual is EASE__UNSOLVED unless the solver was at fault. */
ease_status ease__dense_solve(ease_gram *g, const ease__dense_order *order,
                              ease__dense *out, ease_error *err);
/* Changes the settings that need no other inverse: the model has the bits of one that
 * is trained with these values. After a failure it can only be freed. */
ease_status ease__dense_read(ease__dense *d, const double *values, ease_error *err);
void ease__dense_free(ease__dense *d);

/* Converts the matrix to float64 if it is not. Fails with EASE_E_MEMORY_LIMIT, with
 * the limit of the options. */
ease_status ease__gram_widen(ease_gram *g, const ease_train_options *o,
                             ease_error *err);

#endif
