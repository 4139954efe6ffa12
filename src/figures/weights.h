/* Counts the weights of a model, row by row. */
#ifndef EASE_FIGURES_WEIGHTS_H
#define EASE_FIGURES_WEIGHTS_H

#include "figures/svg.h"

enum { EASE__MAX_BINS = EASE_WEIGHT_BINS };

/* A histogram. Bin b counts the nonzero weights from edge b up to edge b + 1 (in the
 * last bin: including it); 0 is an edge. */
typedef struct ease__weight_bins {
    ease__steps edges; /* one edge more than bins */
    int64_t in[EASE__MAX_BINS];
    int64_t zero, below, above;
} ease__weight_bins;

extern const double ease__weight_quantiles[EASE_WEIGHT_QUANTILES];

/* Counts weights in bins over the range of the outermost quantiles, which includes
 * 0. */
ease_status ease__count_weights(const ease_model *m, const ease_weight_summary *summary,
                                ease__weight_bins *out, const ease_hooks *hooks,
                                ease_error *err);

#endif
