#include "core/mersenne.h"

enum { WORDS = EASE__MERSENNE_WORDS, SHIFT = 397 };

void ease__mersenne_seed(ease__mersenne *m, uint32_t seed)
{
    m->state[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t before = m->state[i - 1];

        m->state[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    m->next = WORDS;
}

static void refill(ease__mersenne *m)
{
    uint32_t *s = m->state;

    for (int i = 0; i < WORDS; i++) {
        uint32_t mixed = (s[i] & 0x80000000u) | (s[(i + 1) % WORDS] & 0x7fffffffu);

        s[i] = s[(i + SHIFT) % WORDS] ^ (mixed >> 1) ^ (mixed & 1 ? 0x9908b0dfu : 0);
    }
    m->next = 0;
}

uint32_t ease__mersenne_next(ease__mersenne *m)
{
    uint32_t y;

    if (m->next == WORDS)
        refill(m);
    y = m->state[m->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* A number uniform in 0 .. most, by rejection of masked draws. */
static uint32_t draw(ease__mersenne *m, uint32_t most)
{
    uint32_t mask = most, value;

    for (int shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    do
        value = ease__mersenne_next(m) & mask;
    while (value > most);
    return value;
}

void ease__mersenne_permutation(ease__mersenne *m, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = draw(m, (uint32_t)i), swap = out[i];

        out[i] = out[j];
        out[j] = swap;
    }
}
