/* The change of a model's data by an update: the rows that are added and removed, with
 * the item numbers of the updated model, and what the model keeps beside the inverse
 * afterwards. */
#ifndef EASE_MODEL_CHANGE_H
#define EASE_MODEL_CHANGE_H

#include "model/model.h"

/* A vector q that is added to, or removed from, the matrix: q q' is a row of the data
 * with the weight of its user, or a change of Lambda, which is not centred. */
typedef struct ease__change_vector {
    ease_row row;  /* of ones for Lambda */
    double weight; /* of row row' */
    int64_t user;  /* of the data; -1: a change of Lambda */
} ease__change_vector;

/* Vectors of one sign: rows, then changes of Lambda. */
typedef struct ease__change_side {
    ease__change_vector *vectors;
    int64_t count;
    int64_t *starts; /* of the rows, for each user of the data */
    int32_t *items;
    float *weights;   /* NULL: all ones */
    int32_t *touched; /* items of the changes of Lambda */
} ease__change_side;

typedef struct ease__change {
    const ease_model *model; /* before */
    ease__family family;
    ease__ids ids; /* of the items afterwards */
    int32_t items;
    ease__change_side added, removed;
    ease__living living; /* afterwards */
    double *popularity;
    double *lambda; /* Lambda afterwards */
    int64_t users, interactions;
    /* Items whose row of the inverse is known to be e_j / Lambda_j: before the update,
     * with Lambda as it is afterwards, and after it. */
    int32_t *before, *after;
    int32_t before_count, after_count;
    ease_update_info info; /* without residuals and the deviation */
} ease__change;

/* Either of `was` and `now` may be NULL. Fails with EASE_E_DATA if rows of `was` cannot
 * be a part of the model's data, or EASE_E_NOMEM. */
ease_status ease__change_new(const ease_model *m, const ease_interactions *was,
                             const ease_interactions *now, ease__change *out,
                             ease_error *err);
void ease__change_free(ease__change *c);

#endif
