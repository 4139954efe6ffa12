/* The factors of the option popularity_power. */
#include <float.h>
#include <math.h>

#include "compute/power.h"
#include "score/scoring.h"

enum { POWER_MOST = 10 };

bool ease__popularity_power_is_valid(double power)
{
    return fabs(power) <= POWER_MOST; /* false for NaN */
}

/* The limits leave products with scores finite and above the subnormal floats. */
static float factor_of(double popularity, double power)
{
    double x = popularity > 1 ? popularity : 1, y;

    y = ease__power(x < DBL_MAX ? x : DBL_MAX, power);
    return (float)(y < 1e-30 ? 1e-30 : y > 1e30 ? 1e30 : y);
}

float ease_model_popularity_factor(const ease_model *m, int32_t item, double power)
{
    if (!m || item < 0 || item >= m->info.items ||
        !ease__popularity_power_is_valid(power))
        return NAN;
    return factor_of(m->popularity[item], power);
}

ease_status ease__popularity_factors(const ease_model *m, double power, float **out,
                                     ease_error *err)
{
    int32_t n = m->info.items;
    float *factors = ease__alloc_array((size_t)n, sizeof(*factors));

    if (!factors)
        return ease__fail(err, EASE_E_NOMEM, "factors of %d items", (int)n);
    for (int32_t j = 0; j < n; j++)
        factors[j] = factor_of(m->popularity[j], power);
    *out = factors;
    return EASE_OK;
}
