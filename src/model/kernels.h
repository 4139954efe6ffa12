/* Loops over floats that are worth another form for newer processors. All forms give
 * the same bits: whether a product is rounded before it is added is said of each kernel,
 * and holds in every form of it. -ffp-contract=off keeps compilers from deciding it. */
#ifndef EASE_KERNELS_H
#define EASE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns that are summed in registers, and a bit each: one or two cache lines of a row,
 * so that the rows of a panel fit into the second cache. */
enum { EASE__PANEL = 32 };

/* Rows of a tile of a product: with a panel's columns, what fits into registers. */
enum { EASE__TILE_ROWS = 6 };

/* What is summed of a panel: its rows items[0], items[1], ..., each times x[0], x[1],
 * ... (NULL: ones), in this order, upon `start`, of EASE__PANEL floats. */
typedef struct ease__rows {
    const int32_t *items;
    const float *x;
    int32_t count;
    const float *start;
} ease__rows;

typedef struct ease__kernels {
    const char *name;

    /* s_i += w_i and s_i += x * w_i, the product rounded. */
    void (*add)(float *s, const float *w, size_t n);
    void (*add_times)(float *s, const float *w, float x, size_t n);

    /* The sum of a_i b_i, rounded, by 32 sums side by side. */
    float (*dot)(const float *a, const float *b, size_t n);

    /* The sums of rows of a panel: row-major, EASE__PANEL columns, in floats, or in
     * halves that are numbers times `unit`. Products are rounded. Returns a bit for each
     * column whose sum is more than `above`; where there is none, `out` may be left as it
     * is. Panel, start and out lie at multiples of 64 bytes. */
    uint32_t (*sum_floats)(const float *panel, ease__rows r, float above, float *out);
    uint32_t (*sum_halves)(const uint16_t *panel, float unit, ease__rows r, float above,
                           float *out);

    /* IEEE half precision: out_i = half_i * unit, and back: the nearest half of
     * in_i * factor, ties to even. unit and factor are powers of two. */
    void (*from_half)(const uint16_t *half, float unit, float *out, size_t n);
    void (*to_half)(const float *in, float factor, uint16_t *half, size_t n);

    /* A block of 16 x 16 floats turned: row i of `in` becomes column i of `out`. */
    void (*turn)(const float *in, size_t in_ld, float *out, size_t out_ld);

    /* A tile of a product: c_ij = fma(a_ki, b_kj, c_ij) for k = 0, 1, ..., depth - 1,
     * for `rows` rows i, 1 .. EASE__TILE_ROWS of them, and EASE__PANEL columns j. `a` is
     * depth x EASE__TILE_ROWS and `b` is depth x EASE__PANEL, both contiguous; b lies at
     * a multiple of 64 bytes. Row i of C is at c + i * ldc. */
    void (*tile)(const float *a, const float *b, size_t depth, int rows, float *c,
                 size_t ldc);
} ease__kernels;

enum { EASE__TURN = 16 };

/* For any processor, with AVX2, FMA and F16C, and with AVX-512 (F) as well; NULL where
 * this one lacks them. */
extern const ease__kernels ease__kernels_plain;
const ease__kernels *ease__kernels_avx2(void);
const ease__kernels *ease__kernels_avx512(void);

/* The widest that this processor has, or those that were forced. */
const ease__kernels *ease__kernels_best(void);

/* For tests: from now on the best are those of this name; NULL: the widest again. False
 * where this processor lacks them. Not while another thread uses the library. */
bool ease__kernels_force(const char *name);

#endif
