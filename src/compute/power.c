#include "compute/power.h"

#include <math.h>

/* ln 2 as a sum: products of `ln2_high` with integers below 2^20 are exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

/* ln x = e ln 2 + 2 artanh((m - 1) / (m + 1)) for x = m 2^e, m in sqrt(1/2) ..
 * sqrt(2). The next term of the series would be below 2^-60. */
static double logarithm(double x)
{
    int e;
    double m = frexp(x, &e), t, square, sum = 0;

    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    t = (m - 1) / (m + 1);
    square = t * t;
    for (int k = 21; k > 0; k -= 2)
        sum = sum * square + 1.0 / k;
    return (double)e * ln2_high + ((double)e * ln2_low + 2 * t * sum);
}

/* exp(x) = 2^k exp(r), |r| <= ln(2) / 2, with the Taylor series of exp(r): the next
 * term would be below 2^-57. */
static double exponential(double x)
{
    double k = floor(x * 1.4426950408889634 + 0.5);
    double r = (x - k * ln2_high) - k * ln2_low, sum = 1;

    if (k < -1021)
        return 0;
    if (k > 1023)
        return INFINITY;
    for (int i = 13; i > 0; i--)
        sum = sum * r / i + 1;
    return ldexp(sum, (int)k);
}

double ease__power(double x, double y)
{
    return exponential(y * logarithm(x));
}
