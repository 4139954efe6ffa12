/* Plain C twins of the tile kernels: slow, and without a line that a sanitizer cannot
 * see into. */
#ifndef EASE_TEST_KERNELS_H
#define EASE_TEST_KERNELS_H

#include "solve/solve.h"

extern const ease__tile_kernels plain_f32, plain_f64;

#endif
