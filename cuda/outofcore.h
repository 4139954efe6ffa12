/* The sweep with the matrix in host memory: a matrix larger than the device's memory.
 *
 * The blocks are groups of the host's tile columns. A step keeps the cross of its group on
 * the device: the diagonal block, the columns below it and the rows left of it. All other
 * tiles pass through the device once, in strips of a row of tiles. Docs:
 * docs/design/gpu.md. */
#ifndef EASE_CUDA_OUTOFCORE_H
#define EASE_CUDA_OUTOFCORE_H

#include "device.h"

/* The most tile columns of a step for which `memory` bytes suffice; 0: not even one. */
int32_t outofcore_columns(const ease_backend_matrix *a, arithmetic how, size_t memory);
size_t outofcore_bytes(const ease_backend_matrix *a, arithmetic how, int32_t columns);
size_t outofcore_host_bytes(const ease_backend_matrix *a);

/* Inverts the host's tiles in place, with so many tile columns a step. After a failure
 * they are undefined. */
int32_t outofcore_invert(const ease_backend_matrix *a, arithmetic how, int32_t columns,
                         course *told);

#endif
