#include "core/sha256.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>

#define SHA __attribute__((target("sha,sse4.1,ssse3")))

/* Words in a register, and rounds for which they last. */
enum { LANES = 4, GROUPS = EASE__SHA256_ROUNDS / LANES, BITS_SHA = 1 << 29 };

/* Words 16 to 19 of the schedule from words 0-3, 4-7, 8-11 and 12-15. */
SHA static inline __m128i next_words(__m128i a, __m128i b, __m128i c, __m128i d)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4));

    return _mm_sha256msg2_epu32(sum, d);
}

/* abef and cdgh are the working variables, as the instructions take them. */
SHA static inline void add_block(__m128i *abef, __m128i *cdgh,
                                 const unsigned char *block)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i *in = (const __m128i *)(const void *)block;
    const __m128i *constants = (const __m128i *)(const void *)ease__sha256_constants;
    __m128i w[LANES], x = *abef, y = *cdgh;

#pragma GCC unroll 4
    for (int i = 0; i < LANES; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128(in + i), swap);
#pragma GCC unroll 16
    for (int g = 0; g < GROUPS; g++) {
        __m128i *own = &w[g % LANES];
        __m128i sum = _mm_add_epi32(*own, _mm_load_si128(constants + g));

        y = _mm_sha256rnds2_epu32(y, x, sum);
        x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(sum, 0x0e));
        if (g + LANES < GROUPS)
            *own = next_words(*own, w[(g + 1) % LANES], w[(g + 2) % LANES],
                              w[(g + 3) % LANES]);
    }
    *abef = _mm_add_epi32(*abef, x);
    *cdgh = _mm_add_epi32(*cdgh, y);
}

SHA static void add_blocks(uint32_t state[EASE__SHA256_WORDS],
                           const unsigned char *data, size_t blocks)
{
    __m128i *words = (__m128i *)(void *)state;
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    __m128i feba, dchg;

    for (size_t i = 0; i < blocks; i++)
        add_block(&abef, &cdgh, data + i * EASE__SHA256_BLOCK);
    feba = _mm_shuffle_epi32(abef, 0x1b);
    dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

ease__sha256_add *ease__sha256_x86(void)
{
    unsigned a, b, c, d;
    bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & BITS_SHA);

    return sha && __builtin_cpu_supports("sse4.1") ? add_blocks : NULL;
}

#else

ease__sha256_add *ease__sha256_x86(void)
{
    return NULL;
}

#endif
