/* Half a step of alternating least squares with confidence: one side's factors against
 * the other's. */
#ifndef EASE_METHODS_ALS_H
#define EASE_METHODS_ALS_H

#include "compute/kernels.h"
#include "core/core.h"

/* Rows (users or items) have few others (items or users) each. */
typedef struct ease__links {
    int64_t rows;
    const int64_t *starts; /* rows + 1 */
    const int32_t *others;
    const float *weights; /* NULL: all ones */
} ease__links;

/* For each row u the minimum over h_u of
 *
 *     sum_i c_ui (p_ui - h_u . v_i)^2 + lambda |h_u|^2,
 *
 * c_ui = 1 + alpha x_ui and p_ui = 1 where there is an x_ui, else c_ui = 1 and
 * p_ui = 0: A h_u = b with A = V'V + lambda I + sum_i alpha x_ui v_i v_i' and
 * b = sum_i (1 + alpha x_ui) v_i. It is approached from `from` by so many steps of
 * conjugate gradients; none of them makes it worse. */
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
    double begin, end; /* the fractions of the stage that this is */
} ease__half_step;

/* *loss: the sum of the minima, as far as they were approached. The same bits at any
 * number of threads. EASE_E_CANCELLED leaves some rows of `to` done. */
ease_status ease__half_step_run(const ease__half_step *h, int threads, double *loss,
                                ease_error *err);
size_t ease__half_step_bytes(int64_t rows, int32_t rank, int threads);

/* out = V'V, both halves; `parts` is scratch of EASE__SQUARE_PARTS times its size. */
enum { EASE__SQUARE_PARTS = 8 };
void ease__square(const float *v, int64_t rows, int32_t rank, int threads, float *parts,
                  float *out);

#endif
