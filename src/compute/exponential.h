/* exp() of floats that the compiler can vectorize, with the same bits on every
 * processor, which libm does not guarantee. */
#ifndef EASE_COMPUTE_EXPONENTIAL_H
#define EASE_COMPUTE_EXPONENTIAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* exp(x) for x <= 0, to 2 units in the last place (with the polynomial of Cephes).
 * Values below -87 and NaN are replaced by -87. */
static inline float ease__exp_below(float x)
{
    const float shift = 0x1.8p23f; /* adding it rounds to an integer */
    float c = x > -87.0f ? x : -87.0f;
    float k = (c * 1.44269504f + shift) - shift;
    float r = (c - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    int32_t bits = ((int32_t)k + 127) * (1 << 23);
    float power;

    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    memcpy(&power, &bits, sizeof(power));
    return p * power;
}

/* x <- tanh(x) */
void ease__tanh(float *x, size_t count);

#endif
