#include "compute/exponential.h"

#include <math.h>

void ease__tanh(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float e = ease__exp_below(-2 * fabsf(x[i]));
        float y = copysignf((1 - e) / (1 + e), x[i]);

        x[i] = isnan(x[i]) ? x[i] : y; /* ease__exp_below() maps NaN to a number */
    }
}
