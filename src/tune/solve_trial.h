/* The solve of a trial: the matrix is kept, and a copy of it becomes the inverse. */
#ifndef EASE_TUNE_SOLVE_TRIAL_H
#define EASE_TUNE_SOLVE_TRIAL_H

#include "model/dense.h"
#include "tune/tune.h"

/* Builds the matrix of an order, as counts where they suffice. */
ease_status ease__trial_load(const ease_interactions *x, const ease__dense_order *order,
                             ease_gram **out, ease_error *err);

/* Solves a copy of the matrix; once more in float64 if float32 failed, and memory
 * allows it. *wide says whether the last attempt was in float64. If that fails too, the
 * error is that of the first. */
ease_status ease__trial_solve(const ease_gram *g, const ease__dense_order *order,
                              bool *wide, ease__dense *out, ease_error *err);

#endif
