/* Loops over floats that are worth a second form for newer processors. Both forms
 * give the same bits: a product is rounded before it is added, on every one. */
#ifndef EASE_KERNELS_H
#define EASE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { EASE__PANEL = 64 }; /* columns that are summed in registers */

typedef struct ease__kernels {
    /* s_i += w_i and s_i += x * w_i. */
    void (*add)(float *s, const float *w, size_t n);
    void (*add_times)(float *s, const float *w, float x, size_t n);

    /* The sum of a_i b_i, by 32 sums side by side. */
    float (*dot)(const float *a, const float *b, size_t n);

    /* out = start + the rows items[0], items[1], ... of the panel, in this order, each
     * times x[0], x[1], ... (NULL: ones). The panel is row-major with EASE__PANEL
     * columns; it, start and out lie at multiples of 32 bytes. */
    void (*sum_panel)(const float *panel, const int32_t *items, const float *x,
                      int32_t count, const float *start, float *out);

    /* IEEE half precision: out_i = half_i * unit, and back: the nearest half of
     * in_i * factor, ties to even. unit and factor are powers of two. */
    void (*from_half)(const uint16_t *half, float unit, float *out, size_t n);
    void (*to_half)(const float *in, float factor, uint16_t *half, size_t n);
} ease__kernels;

extern const ease__kernels ease__kernels_plain;
/* For AVX2 and F16C; NULL where this processor lacks them. */
const ease__kernels *ease__kernels_x86(void);
const ease__kernels *ease__kernels_best(void);

#endif
