/* Tiles between host and device, through a ring of pinned buffers: a processor copies
 * one tile while others are on their way. */
#ifndef EASE_CUDA_TRANSFER_H
#define EASE_CUDA_TRANSFER_H

#include "device.h"

/* Sets d->scale for the padded items of the layout: powers of two that bring diagonal
 * entries into [1/4, 1). */
int32_t send_scales(device *d, const ease_backend_matrix *a);

/* Copies the host's tiles to the matrix, each item scaled by a power of two that brings
 * its diagonal entry into [1/4, 1). */
int32_t upload(device *d, const ease_backend_matrix *a);
/* Copies the matrix to the host's tiles, scaling again: P = S (S A S)^-1 S. */
int32_t download(device *d, const ease_backend_matrix *a);

#endif
