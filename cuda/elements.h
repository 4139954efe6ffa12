/* Kernels that pass over numbers once: operands, tiles, the check. All return the
 * launch's error. */
#ifndef EASE_CUDA_ELEMENTS_H
#define EASE_CUDA_ELEMENTS_H

#include "device.h"

/* Sets largest[scale] to the largest magnitude, in stream 0: of block column k below
 * its diagonal block; of row k left of it; of d->rows; of the diagonal block k. Does
 * nothing unless the arithmetic is FAST. */
cudaError_t largest_of_column(device *d, int32_t k, int scale);
cudaError_t largest_of_row(device *d, int32_t k, int scale);
cudaError_t largest_of_rows(device *d, int32_t k, int scale);
cudaError_t largest_of_diagonal(device *d, int32_t k, int scale);

/* Make operands: X of column k, Y of row k or of d->rows, W across and down. */
cudaError_t operand_of_column(device *d, int32_t k);
cudaError_t operand_of_row(device *d, int32_t k);
cudaError_t operand_of_rows(device *d, int32_t k);
cudaError_t operands_of_diagonal(device *d, int32_t k);

/* Sets alpha to sign / (scales of both operands). */
cudaError_t set_alpha(device *d, int a, int b, double sign);

/* The same for a panel by itself, rows x columns without gaps, whose columns (or rows, if
 * `down`) are divided into groups of `group`: the operand has the parts of one group
 * after the other. */
cudaError_t largest_of_panel(device *d, const char *panel, int32_t rows,
                             int32_t columns, int scale);
cudaError_t operand_of_panel(device *d, const char *panel, int32_t rows,
                             int32_t columns, int32_t group, int scale, char *out,
                             bool down);

/* Copies d->rows to row k of the matrix. */
cudaError_t store_row(device *d, int32_t k);

/* Sets the constants and the diagonal of the padding. */
cudaError_t start_numbers(device *d);

/* Between tiles of the host's layout on the device and the matrix, scaling both ways. */
cudaError_t tile_in(device *d, const ease_backend_matrix *a, const char *tile,
                    int32_t i, int32_t j);
cudaError_t tile_out(device *d, const ease_backend_matrix *a, char *tile, int32_t i,
                     int32_t j);

/* Between the tiles (i, j), (i, j + 1) ... of the host's layout, `count` of them, and
 * rows of `ld` elements that begin with the first row and column of the first tile.
 * `scaled`: entries are multiplied by the scales of their items. */
cudaError_t tiles_in(device *d, const ease_backend_matrix *a, const char *tiles,
                     int32_t i, int32_t j, int32_t count, bool scaled, char *to,
                     size_t ld, int s);
cudaError_t tiles_out(device *d, const ease_backend_matrix *a, const char *from,
                      size_t ld, int32_t i, int32_t j, int32_t count, bool scaled,
                      char *tiles, int s);
/* Multiplies tiles by the scales of their items, in place. */
cudaError_t scale_tiles(device *d, const ease_backend_matrix *a, int32_t i, int32_t j,
                        int32_t count, char *tiles, int s);
/* Sets the constants alone. */
cudaError_t start_constants(device *d);

/* y = A x for the scaled matrix; the bits do not depend on the order of blocks. */
cudaError_t times(device *d, const double *x, double *y);

#endif
