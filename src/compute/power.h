/* Powers with the same bits on every processor, which pow() of libm does not
 * guarantee. */
#ifndef EASE_COMPUTE_POWER_H
#define EASE_COMPUTE_POWER_H

/* x^y for finite x >= 1 and y within -10 .. 10, with a relative error below 1e-11;
 * 0 or infinity if the result has no normal double. */
double ease__power(double x, double y);

#endif
