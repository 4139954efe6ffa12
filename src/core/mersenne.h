/* NumPy's legacy generator, bit for bit: MT19937 (Matsumoto and Nishimura) started by
 * init_genrand, as numpy.random.seed does, with its permutation and choice. The
 * published splits were drawn with it. */
#ifndef EASE_CORE_MERSENNE_H
#define EASE_CORE_MERSENNE_H

#include <stdint.h>

enum { EASE__MERSENNE_WORDS = 624 };

typedef struct ease__mersenne {
    uint32_t state[EASE__MERSENNE_WORDS];
    int next;
} ease__mersenne;

void ease__mersenne_seed(ease__mersenne *m, uint32_t seed);
uint32_t ease__mersenne_next(ease__mersenne *m);

/* Writes numpy.random.permutation(n) to out[0 .. n-1]; n is below 2^32. Its first k
 * numbers are numpy.random.choice(n, k, replace=False). */
void ease__mersenne_permutation(ease__mersenne *m, int64_t n, int64_t *out);

#endif
