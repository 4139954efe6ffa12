/* Weights by age: a weight halves with each half-life. */
#ifndef EASE_DATA_AGE_H
#define EASE_DATA_AGE_H

#include "core/core.h"

/* Returns value x 2^-(age / half_life), rounded to a float; `age` is at least 0, in the
 * unit of `half_life`. The result has the same bits on every processor. It is 0 if it
 * would be below 2^-126, the smallest normal float. */
float ease__aged_value(float value, double age, double half_life);

#endif
