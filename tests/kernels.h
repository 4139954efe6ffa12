/* Plain C twins of the tile kernels: slow, but visible to sanitizers, unlike BLAS. */
#ifndef EASE_TEST_KERNELS_H
#define EASE_TEST_KERNELS_H

#include "solve/solve.h"

extern const ease__tile_kernels plain_f32, plain_f64;

#endif
