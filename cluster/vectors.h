/* Vectors of n numbers that are summed over the tiles of a matrix, with the bits of one
 * machine. */
#ifndef EASE_CLUSTER_VECTORS_H
#define EASE_CLUSTER_VECTORS_H

#include "model/model.h"
#include "share.h"

/* y = A x in float64, with the bits of ease__tiled_times, in every process. */
ease_status vectors_times(const share *s, const double *x, double *y, ease_error *err);
/* sums_j = sum_i centre_i W_ij, in every process. The weights are those of m, whose
 * inverse is in s. */
ease_status vectors_centre(const share *s, const ease_model *m, const double *centre,
                           double *sums, ease_error *err);

#endif
