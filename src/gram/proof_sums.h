/* Sums over interactions by which an updatable model of weighted data is told from
 * models of other data. They are in float64: entries of X'WX may be in float32, whose
 * errors would outlast the large values that they come from. */
#ifndef EASE_GRAM_PROOF_SUMS_H
#define EASE_GRAM_PROOF_SUMS_H

#include "data/interactions.h"

/* The seed of the proofs of new models. */
enum { EASE__PROOF_SEED = 1 };

/* Entry j of the random vector v of a proof: an integer, -32768 .. 32767. */
double ease__proof_number(uint64_t seed, int32_t item);

/* A bound of the rounding error of a sum of products in float64. `terms` is the number
 * of additions and multiplications that a part of the sum goes through, and `size` the
 * sum of the absolute values. */
double ease__proof_error(int64_t terms, double size);

/* An entry for each item. {0}: unknown. */
typedef struct ease__proof_sums {
    double *diagonal; /* of X'WX */
    double *product;  /* X'WX v, v_j = ease__proof_number(EASE__PROOF_SEED, j) */
    double *error;    /* bounds of the errors of `product` */
} ease__proof_sums;

/* Computes the sums; w has the weights of users, NULL: 1. Fails with EASE_E_NOMEM. */
ease_status ease__proof_sums_new(const ease_interactions *x, const double *w,
                                 ease__proof_sums *out, ease_error *err);
/* Copies n entries, and adds zeros up to `to`. False: no memory, and *out is {0}. */
bool ease__proof_sums_copy(const ease__proof_sums *s, size_t n, size_t to,
                           ease__proof_sums *out);
void ease__proof_sums_free(ease__proof_sums *s);

#endif
