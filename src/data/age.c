#include "data/age.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* 2^x for -1000 < x <= 0, with a relative error of a few 2^-53. exp2() of the C library
 * differs in the last bit from processor to processor. x is the sum of k / 32 and f,
 * with |f| <= 1/64; the Taylor series of 2^f ends below 2^-57. */
static double power_of_two(double x)
{
    static const double roots[32] = {/* 2^(k/32) */
                                     1.0,
                                     1.0218971486541166,
                                     1.0442737824274138,
                                     1.0671404006768237,
                                     1.0905077326652577,
                                     1.1143867425958924,
                                     1.1387886347566916,
                                     1.1637248587775775,
                                     1.189207115002721,
                                     1.215247359980469,
                                     1.241857812073484,
                                     1.2690509571917332,
                                     1.2968395546510096,
                                     1.3252366431597413,
                                     1.3542555469368927,
                                     1.383909881963832,
                                     1.4142135623730951,
                                     1.4451808069770467,
                                     1.4768261459394993,
                                     1.5091644275934228,
                                     1.5422108254079407,
                                     1.5759808451078865,
                                     1.6104903319492543,
                                     1.6457554781539649,
                                     1.681792830507429,
                                     1.7186192981224779,
                                     1.7562521603732995,
                                     1.7947090750031072,
                                     1.8340080864093424,
                                     1.8741676341103,
                                     1.9152065613971474,
                                     1.9571441241754002};
    static const double c[] = {/* ln(2)^i / i! */
                               1.0,
                               0.69314718055994529,
                               0.24022650695910072,
                               0.055504108664821583,
                               0.0096181291076284769,
                               0.0013333558146428443,
                               0.00015403530393381609};
    double y = 32.0 * x + 0.5, f, sum, scale;
    int64_t k = (int64_t)y; /* floor(y), which may be a call of the C library */
    uint64_t bits;

    k -= (double)k > y;
    f = x - (double)k / 32.0;
    bits = (uint64_t)((k >> 5) + 1023) << 52;
    sum = (c[0] + c[1] * f) +
          (f * f) * ((c[2] + c[3] * f) + (f * f) * (c[4] + f * (c[5] + f * c[6])));
    memcpy(&scale, &bits, sizeof(scale));
    return roots[k & 31] * sum * scale;
}

float ease__aged_value(float value, double age, double half_life)
{
    double halvings = age / half_life, weight = 0.0;

    assert(age >= 0.0);
    if (halvings < 1000.0) /* beyond it, the weight of any float is 0 */
        weight = (double)value * power_of_two(-halvings);
    return fabs(weight) < (double)FLT_MIN ? 0.0f : (float)weight;
}
