#include "model/family.h"

#include <math.h>

/* n^0 = 1 exactly, so that neutral settings leave the bits of the weights. */
static double power_of(double count, double power)
{
    return power == 0 ? 1 : pow(fmax(count, 1), power);
}

void ease__family_factors(const ease__family *f, const double *counts, int32_t n,
                          double *s, double *t)
{
    double least = INFINITY, most = 1, middle;

    for (int32_t i = 0; i < n; i++) {
        if (counts[i] > 0)
            least = fmin(least, fmax(counts[i], 1));
        most = fmax(most, counts[i]);
    }
    least = fmin(least, most);
    middle = (log1p(least) + log1p(most)) / 2;
    for (int32_t i = 0; i < n; i++) {
        double count = fmax(counts[i], 1);

        s[i] = power_of(count, f->input);
        switch (f->output_kind) {
        case EASE__RESCALE_POWER:
            t[i] = power_of(count, f->output);
            break;
        case EASE__RESCALE_SHARE:
            t[i] = f->output == 0 ? 1 : pow(count / most, f->output);
            break;
        case EASE__RESCALE_SIGMOID:
            t[i] = f->output == 0 ? 1 : 1 + exp(f->output * (log1p(count) - middle));
            break;
        }
    }
}
