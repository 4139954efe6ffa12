/* SHA-256 (FIPS 180-4) of a file: a checksum that others can verify with `sha256sum`.
 * The checksums inside of files are XXH3, which is faster, but no protection against
 * intent. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "core/sha256.h"

enum { CHUNK = 1 << 20, LENGTH_AT = 56 };

typedef struct sha256 {
    ease__sha256_add *add;
    uint32_t state[EASE__SHA256_WORDS];
    uint64_t bytes;
    unsigned char block[EASE__SHA256_BLOCK]; /* bytes % 64 of them are waiting */
} sha256;

/* ---- blocks ---------------------------------------------------------------------- */

const _Alignas(16) uint32_t ease__sha256_constants[EASE__SHA256_ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static inline uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* The schedule: w_0 .. w_15 are the block, the others follow from those before. */
static void schedule(const unsigned char *block, uint32_t w[EASE__SHA256_ROUNDS])
{
    for (int t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
               (uint32_t)block[2] << 8 | (uint32_t)block[3];
    for (int t = 16; t < EASE__SHA256_ROUNDS; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];

        w[t] = w[t - 16] + w[t - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

/* A round, of which the next one has each variable one place further: the new a is in
 * h, and the new e in d. `sum` is w_t plus the constant. */
static inline void round_of(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e,
                            uint32_t f, uint32_t g, uint32_t *h, uint32_t sum)
{
    *h += (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + sum;
    *d += *h;
    *h += (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

static void add_block(uint32_t *state, const unsigned char *block)
{
    const uint32_t *k = ease__sha256_constants;
    uint32_t w[EASE__SHA256_ROUNDS];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    schedule(block, w);
    for (int t = 0; t < EASE__SHA256_ROUNDS; t += 8) {
        round_of(a, b, c, &d, e, f, g, &h, w[t] + k[t]);
        round_of(h, a, b, &c, d, e, f, &g, w[t + 1] + k[t + 1]);
        round_of(g, h, a, &b, c, d, e, &f, w[t + 2] + k[t + 2]);
        round_of(f, g, h, &a, b, c, d, &e, w[t + 3] + k[t + 3]);
        round_of(e, f, g, &h, a, b, c, &d, w[t + 4] + k[t + 4]);
        round_of(d, e, f, &g, h, a, b, &c, w[t + 5] + k[t + 5]);
        round_of(c, d, e, &f, g, h, a, &b, w[t + 6] + k[t + 6]);
        round_of(b, c, d, &e, f, g, h, &a, w[t + 7] + k[t + 7]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void ease__sha256_plain(uint32_t state[EASE__SHA256_WORDS], const unsigned char *data,
                        size_t blocks)
{
    for (size_t i = 0; i < blocks; i++)
        add_block(state, data + i * EASE__SHA256_BLOCK);
}

/* ---- bytes ----------------------------------------------------------------------- */

static void add(sha256 *s, const unsigned char *data, size_t bytes)
{
    size_t at = s->bytes % EASE__SHA256_BLOCK, part = EASE__SHA256_BLOCK - at, whole;

    s->bytes += bytes;
    if (at > 0 && part <= bytes) {
        memcpy(s->block + at, data, part);
        s->add(s->state, s->block, 1);
        data += part;
        bytes -= part;
        at = 0;
    }
    whole = at > 0 ? 0 : bytes / EASE__SHA256_BLOCK;
    s->add(s->state, data, whole);
    whole *= EASE__SHA256_BLOCK;
    memcpy(s->block + at, data + whole, bytes - whole);
}

/* Pads with a bit, zeros and the length in bits. */
static void finish(sha256 *s, char *digest)
{
    static const unsigned char one = 0x80, zero = 0;
    uint64_t bits = 8 * s->bytes;
    unsigned char length[8];

    add(s, &one, 1);
    while (s->bytes % EASE__SHA256_BLOCK != LENGTH_AT)
        add(s, &zero, 1);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    add(s, length, sizeof(length));
    for (int i = 0; i < EASE__SHA256_WORDS; i++)
        snprintf(digest + (size_t)i * 8, 9, "%08x", (unsigned)s->state[i]);
}

static ease_status add_file(sha256 *s, int fd, const char *path, ease_error *err)
{
    unsigned char *chunk = ease__alloc_array(CHUNK, 1);
    ssize_t got;

    if (!chunk)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", path);
    do {
        got = read(fd, chunk, CHUNK);
        if (got > 0)
            add(s, chunk, (size_t)got);
    } while (got > 0 || (got < 0 && errno == EINTR));
    ease__free(chunk);
    return got < 0 ? ease__fail_errno(err, "%s: cannot read", path) : EASE_OK;
}

ease_status ease_file_digest(const char *path, char *digest, ease_error *err)
{
    ease__sha256_add *fast = ease__sha256_x86();
    sha256 s = {.add = fast ? fast : ease__sha256_plain,
                .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                          0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
    ease_status status;
    int fd;

    if (!path || !digest)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ease__fail_errno(err, "%s: cannot open", path);
    status = add_file(&s, fd, path, err);
    close(fd);
    if (!status)
        finish(&s, digest);
    return status;
}
