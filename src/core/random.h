/* Random numbers for tests, probes and synthetic data: xoshiro256** (Blackman and
 * Vigna), seeded by splitmix64. A stream is identified by a seed and a number, so
 * that parallel work draws the same numbers in any order. */
#ifndef EASE_CORE_RANDOM_H
#define EASE_CORE_RANDOM_H

#include <stdint.h>

typedef struct ease__random {
    uint64_t s[4];
} ease__random;

static inline uint64_t ease__splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void ease__random_seed(ease__random *r, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;

    state = ease__splitmix(&state) ^ (stream * 0xd1342543de82ef95u);
    for (int i = 0; i < 4; i++)
        r->s[i] = ease__splitmix(&state);
}

static inline uint64_t ease__rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t ease__random_next(ease__random *r)
{
    uint64_t result = ease__rotate_left(r->s[1] * 5, 7) * 9;
    uint64_t t = r->s[1] << 17;

    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = ease__rotate_left(r->s[3], 45);
    return result;
}

/* Uniform in [0, 1). */
static inline double ease__random_unit(ease__random *r)
{
    return (double)(ease__random_next(r) >> 11) * 0x1.0p-53;
}

/* Uniform in 0 .. bound-1, by Lemire's multiplication; the bias is below 2^-32 for
 * bounds below 2^32. */
static inline uint64_t ease__random_below(ease__random *r, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)ease__random_next(r) * bound) >> 64);
}

#endif
