/* What training takes in memory, for the plan and for training itself. */
#ifndef EASE_MODEL_FOOTPRINT_H
#define EASE_MODEL_FOOTPRINT_H

#include "gram/gram.h"
#include "solve/backends.h"

typedef struct ease__footprint {
    /* Of the matrix that is solved. */
    ease__tiled shape;
    size_t matrix;  /* the tiled triangle */
    size_t data;    /* interactions, their transpose, ids */
    size_t peak;    /* resident, all in all */
    size_t allowed; /* what peak is held against; 0: unknown */
    size_t work;    /* of a work file */
    size_t least;   /* peak with a work file and the least memory that will do */
    size_t band;    /* with one: bytes for tiles while the matrix is made, ... */
    size_t cross;   /* ... and while it is solved; both 0: it is in memory */
    size_t traffic; /* bytes read and written there */
} ease__footprint;

/* The backend that the options name, if it can be used here and with a workdir, where
 * they name one. Fails with EASE_E_BACKEND. */
ease_status ease__train_backend(const ease_train_options *o, const ease_backend **out,
                                ease_error *err);

/* The element that training begins with: exact counts where there are, float64 where
 * it is asked for or what the matrix comes in. */
ease__element ease__train_element(const ease_gram_info *of, ease_precision precision);
/* Describes X'X before it is built; `wide` is set if float32 cannot represent its
 * entries. */
ease_status ease__train_info(const ease_interactions *x, ease_gram_info *out,
                             ease_error *err);

/* The element in which the matrix is solved. */
static inline ease__element ease__solve_element(ease__element e)
{
    return e == EASE__F64 ? EASE__F64 : EASE__F32;
}

/* Plans the memory of training on x, or if x is NULL on a Gram file or data of these
 * sizes. With a workdir, the matrix is in memory only where it fits. */
ease__footprint ease__train_footprint(const ease_interactions *x,
                                      const ease_gram_info *sizes,
                                      ease__element element,
                                      const ease_train_options *o,
                                      const ease_backend *backend);

#endif
