/* The memory that training needs, for the plan and for training itself. */
#ifndef EASE_MODEL_FOOTPRINT_H
#define EASE_MODEL_FOOTPRINT_H

#include "gram/gram.h"
#include "model/family.h"
#include "solve/backends.h"

typedef struct ease__footprint {
    ease__tiled shape; /* of the matrix that is solved; no data. Other members: bytes */
    size_t matrix;     /* the tiled triangle */
    size_t data;       /* interactions, their transpose, ids */
    size_t peak;       /* largest resident memory */
    size_t allowed;    /* memory limit that peak must not exceed; 0: unknown */
    size_t work;       /* size of a work file */
    size_t least;      /* smallest possible peak with a work file */
    size_t band;       /* tiles in memory while a work file is filled, ... */
    size_t cross;      /* ... and while it is solved; both 0: no work file is used */
    size_t traffic;    /* read from and written to the work file */
} ease__footprint;

/* Finds the backend that the options name. Fails with EASE_E_ARG if there is none, or
 * EASE_E_BACKEND if it cannot be used on this machine or with o->workdir. */
ease_status ease__train_backend(const ease_train_options *o, const ease_backend **out,
                                ease_error *err);

/* The element type of the matrix that training begins with: counts if possible, float64
 * if the precision or the Gram matrix requires it. */
ease__element ease__train_element(const ease_gram_info *of, ease_precision precision);
/* Describes X'X before it is built; `wide` is set if float32 cannot represent its
 * entries. */
ease_status ease__train_info(const ease_interactions *x, ease_gram_info *out,
                             ease_error *err);

/* The element type in which the matrix is solved. */
static inline ease__element ease__solve_element(ease__element e)
{
    return e == EASE__F64 ? EASE__F64 : EASE__F32;
}

/* Plans the memory of training on x, or if x is NULL on a Gram file or data of these
 * sizes. With a workdir, a matrix that does not fit into memory is in a work file. */
ease__footprint
ease__train_footprint(const ease_interactions *x, const ease_gram_info *sizes,
                      ease__element element, const ease_train_options *o,
                      const ease_backend *backend, const ease__family *family);

#endif
