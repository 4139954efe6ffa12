/* Changes the items of a symmetric matrix in tiles of float32, with whole diagonal
 * tiles. */
#ifndef EASE_MATRIX_TILED_CHANGE_H
#define EASE_MATRIX_TILED_CHANGE_H

#include "matrix/tiled.h"

/* Copies a whole matrix to one with as many items, whose tiles may lie at other
 * distances: those of a work file are padded. */
void ease__tiled_copy_all(const ease__tiled *from, ease__tiled *to, int threads);

/* Copies a matrix to a new one of `items` items, no fewer than it has. The rows of the
 * additional ones are 0 but for diagonal_j on the diagonal. */
ease_status ease__tiled_grow(const ease__tiled *from, int32_t items,
                             const double *diagonal, ease__transpose *transpose,
                             int threads, ease__tiled *out, ease_error *err);

/* Sets the rows and columns of these items, which ascend, to 0 but for diagonal_j on
 * the diagonal. Fails with EASE_E_NOMEM. */
ease_status ease__tiled_isolate(ease__tiled *t, const int32_t *items, int32_t count,
                                const double *diagonal, int threads, ease_error *err);

#endif
