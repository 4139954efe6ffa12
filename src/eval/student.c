#include "eval/student.h"

#include <math.h>

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated
 * from the left by Lentz's method. Converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), f;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    f = d;
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change;

        d = 1 + even * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + even / c;
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        d = 1 + odd * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + odd / c;
        c = fabs(c) < tiny ? tiny : c;
        change = d * c;
        f *= change;
        if (fabs(change - 1) < 1e-15)
            break;
    }
    return f;
}

/* I_x(a, b), the regularized incomplete beta function. */
static double incomplete_beta(double a, double b, double x)
{
    double front;

    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double ease__student_two_sided(double t, double freedom)
{
    if (isnan(t))
        return NAN;
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double ease__student_quantile(double p, double freedom)
{
    double low = 0, high = 1;

    while (ease__student_two_sided(high, freedom) > p && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);

        if (ease__student_two_sided(middle, freedom) > p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}
