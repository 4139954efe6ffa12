/* Loops over floats with implementations for several instruction sets, chosen at run
 * time. All implementations of a kernel give the same bits: its comment says whether
 * products are rounded before they are added or fused (fma), and -ffp-contract=off
 * keeps the compiler from fusing others. */
#ifndef EASE_COMPUTE_KERNELS_H
#define EASE_COMPUTE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns that are summed together in registers, with a bit for each: one or two
 * cache lines of a row, so that the rows of a panel fit into the second-level cache. */
enum { EASE__PANEL = 32 };

/* Rows that are added at once: as many streams as processors prefetch well. */
enum { EASE__STREAMS = 10 };

/* Rows of a matrix, 1 .. EASE__STREAMS of them: the addresses of their first elements,
 * and what they are multiplied by (NULL: ones). */
typedef struct ease__streams {
    const void *const *rows;
    const float *x;
    int32_t count;
} ease__streams;

/* Rows of a tile of a product: a tile of 6 x EASE__PANEL floats fits into registers. */
enum { EASE__TILE_ROWS = 6 };

/* A weighted sum of rows of a panel: rows items[0], items[1], ..., times x[0], x[1],
 * ... (NULL: ones), are added in this order to `start`, of EASE__PANEL floats. */
typedef struct ease__rows {
    const int32_t *items;
    const float *x;
    int32_t count;
    const float *start;
} ease__rows;

/* 32 places of a sparse row: a bit for each place that has a value, and the number of
 * values of the blocks before. */
typedef struct ease__bit_block {
    uint32_t bits, before;
} ease__bit_block;

typedef struct ease__kernels {
    const char *name;

    /* s_i += w_i and s_i += x * w_i, where the product is rounded before it is
     * added. */
    void (*add)(float *s, const float *w, size_t n);
    void (*add_times)(float *s, const float *w, float x, size_t n);

    /* The sum of the products a_i b_i, each rounded, in 32 partial sums. */
    float (*dot)(const float *a, const float *b, size_t n);

    /* Reads a sparse row at n places: out_i is the value of the place, or 0 if it has
     * none. `values` has one element more than the row has values. */
    void (*look_up)(const ease__bit_block *row, const float *values,
                    const int32_t *places, float *out, size_t n);

    /* Sums rows of a panel, which is row-major with EASE__PANEL columns, in floats,
     * or in halves times `unit`. Products are rounded before they are added. Returns
     * a bit for each column whose sum is above `above`; if there is none, `out` need
     * not be written. Panel, start and out are aligned to 64 bytes. */
    uint32_t (*sum_floats)(const float *panel, ease__rows r, float above, float *out);
    uint32_t (*sum_halves)(const uint16_t *panel, float unit, ease__rows r, float above,
                           float *out);

    /* Adds rows to s, in their order: s_i += x_h * w_hi, where w is in floats, or in
     * halves times `unit`, and n a multiple of EASE__PANEL. Products are rounded before
     * they are added. */
    void (*add_floats)(float *s, ease__streams r, size_t n);
    void (*add_halves)(float *s, ease__streams r, float unit, size_t n);

    /* IEEE half precision: out_i = half_i * unit; and back, the nearest half to in_i
     * * factor, ties to even. unit and factor are powers of two. */
    void (*from_half)(const uint16_t *half, float unit, float *out, size_t n);
    void (*to_half)(const float *in, float factor, uint16_t *half, size_t n);

    /* Transposes a block of 16 x 16 floats: row i of `in` becomes column i of `out`. */
    void (*transpose)(const float *in, size_t in_ld, float *out, size_t out_ld);

    /* A tile of a product: c_ij = fma(a_ki, b_kj, c_ij) for k = 0, 1, ..., depth - 1,
     * for `rows` rows i, 1 .. EASE__TILE_ROWS of them, and EASE__PANEL columns j. `a`
     * is depth x EASE__TILE_ROWS and `b` is depth x EASE__PANEL, both contiguous; b
     * lies at a multiple of 64 bytes. Row i of C is at c + i * ldc. */
    void (*tile)(const float *a, const float *b, size_t depth, int rows, float *c,
                 size_t ldc);
} ease__kernels;

enum { EASE__TRANSPOSE_EDGE = 16 };

/* Kernels for any processor; for those with AVX2, FMA and F16C; for those that have
 * AVX-512F, too; and for aarch64. All but the first are NULL if this processor lacks
 * the instructions. */
extern const ease__kernels ease__kernels_plain;
const ease__kernels *ease__kernels_avx2(void);
const ease__kernels *ease__kernels_avx512(void);
const ease__kernels *ease__kernels_neon(void);

/* The widest kernels that this processor can run, or those that were forced. */
const ease__kernels *ease__kernels_best(void);

/* For tests: makes ease__kernels_best return the kernels of this name from now on;
 * NULL: the widest again. False if this processor lacks the instructions. Not to be
 * called while another thread uses the library. */
bool ease__kernels_force(const char *name);

#endif
