/* Half a step of alternating least squares with confidence: the factors of one side,
 * given those of the other. */
#ifndef EASE_METHODS_ALS_H
#define EASE_METHODS_ALS_H

#include "compute/kernels.h"
#include "core/core.h"

/* Sparse rows: the links of users to items, or of items to users. */
typedef struct ease__links {
    int64_t rows;
    const int64_t *starts; /* rows + 1 */
    const int32_t *others;
    const float *weights; /* NULL: all ones */
} ease__links;

/* A half step: for each row u the minimum over h_u of
 *
 *     sum_i c_ui (p_ui - h_u . v_i)^2 + lambda |h_u|^2,
 *
 * c_ui = 1 + alpha x_ui and p_ui = 1 where there is an x_ui, else c_ui = 1 and
 * p_ui = 0: A h_u = b with A = V'V + lambda I + sum_i alpha x_ui v_i v_i' and
 * b = sum_i (1 + alpha x_ui) v_i. `steps` steps of conjugate gradients
 * approach it from `from`; none of them increases the loss. */
typedef struct ease__half_step {
    ease__links links;
    int32_t rank, steps;
    float alpha;
    const float *fixed;  /* V: others x rank */
    const float *square; /* V'V + lambda I: rank x rank, both halves */
    const float *from;   /* rows x rank; may be `to` */
    float *to;
    const ease__kernels *kernels;
    const ease_hooks *hooks;
    const char *stage;
    double begin, end; /* progress of the stage before and after this half step */
} ease__half_step;

/* Runs a half step. *loss is the sum of the minima, as far as they were approached.
 * The result has the same bits at any number of threads. If cancelled
 * (EASE_E_CANCELLED), some rows of `to` are done. */
ease_status ease__half_step_run(const ease__half_step *h, int threads, double *loss,
                                ease_error *err);
size_t ease__half_step_bytes(int64_t rows, int32_t rank, int threads);

/* Computes out = V'V, both halves; `parts` is scratch of EASE__SQUARE_PARTS times
 * its size. */
enum { EASE__SQUARE_PARTS = 8 };
void ease__square(const float *v, int64_t rows, int32_t rank, int threads, float *parts,
                  float *out);

#endif
