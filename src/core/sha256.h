/* The compression function of SHA-256 (FIPS 180-4), for several instruction sets. All
 * give the same bits. */
#ifndef EASE_CORE_SHA256_H
#define EASE_CORE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { EASE__SHA256_BLOCK = 64, EASE__SHA256_WORDS = 8, EASE__SHA256_ROUNDS = 64 };

/* The first 32 bits of the fractional parts of the cube roots of the first primes. */
extern const _Alignas(16) uint32_t ease__sha256_constants[EASE__SHA256_ROUNDS];

/* Adds blocks of EASE__SHA256_BLOCK bytes to the state of a checksum. */
typedef void ease__sha256_add(uint32_t state[EASE__SHA256_WORDS],
                              const unsigned char *data, size_t blocks);

/* For any processor; and for those with the SHA extensions of x86-64, NULL if this one
 * lacks them. */
ease__sha256_add ease__sha256_plain;
ease__sha256_add *ease__sha256_x86(void);

#endif
