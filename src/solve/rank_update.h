/* Updates of an inverse by some rows (Sherman, Morrison and Woodbury). */
#ifndef EASE_SOLVE_RANK_UPDATE_H
#define EASE_SOLVE_RANK_UPDATE_H

#include "matrix/tiled.h"

enum { EASE__MOST_RANK = 512 };

/* Rows q_1 .. q_k that are added to, or removed from, the matrix A whose inverse is P:
 * A' = A + Q'Q or A - Q'Q. Either q_i = factors_i x_i, or with a mean row
 *
 *     q_i = sum over a <= i of combine_ia x_a + combine_ik mean */
typedef struct ease__rank_change {
    const ease_row *rows;  /* x_1 .. x_k, of items below n */
    int32_t count;         /* k, 1 .. EASE__MOST_RANK */
    const double *factors; /* k; NULL with a mean row */
    const double *mean;    /* n; NULL: none */
    const double *combine; /* k x (k + 1), row-major; NULL without a mean row */
    bool remove;
} ease__rank_change;

/* Sets `to` to P' = A'^-1 from P in `from`, which may be the same matrix. Both are
 * whole, in float32, and of the same shape, and so are their diagonal tiles. P' has the
 * same bits at any number of threads.
 *
 * leverage_i = q_i P q_i'. If `deviation` is not NULL, deviation_i tells how well the
 * stored P' and P agree on row i (0 if q_i is 0):
 *
 *     || (P' Q' (I + S))_i - (P Q')_i || / || (P Q')_i ||,   S = Q P Q'
 *
 * with I - S for a removal. It is not computed from the product that P' was made by.
 *
 * Fails with EASE_E_NOT_POSDEF if A' is not positive definite, as far as P tells:
 * err->where is the index of the first row that cannot be removed with those before it.
 * `to` is then unchanged, as after EASE_E_NOMEM; after EASE_E_CANCELLED it is
 * undefined. */
ease_status ease__rank_update(const ease__tiled *from, ease__tiled *to,
                              const ease__rank_change *c, double *leverage,
                              double *deviation, int threads, const ease_hooks *hooks,
                              ease_error *err);

/* Computes the deviations of `c` for any two inverses, as the update does: a row that
 * should have been removed, and is still in `after`, has the deviation q P q'. Fails
 * with EASE_E_NOMEM. */
ease_status ease__rank_deviation(const ease__tiled *before, const ease__tiled *after,
                                 const ease__rank_change *c, double *deviation,
                                 int threads, ease_error *err);

/* The bytes that an update of this rank allocates; SIZE_MAX on overflow. */
size_t ease__rank_update_bytes(int32_t n, int32_t count, int threads);

#endif
