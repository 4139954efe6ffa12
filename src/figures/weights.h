/* The weights of a model, counted row by row. */
#ifndef EASE_FIGURES_WEIGHTS_H
#define EASE_FIGURES_WEIGHTS_H

#include "figures/svg.h"

enum { EASE__MAX_BINS = 128 };

/* Bin b holds the weights from edge b up to edge b + 1 (the last: and this) that are
 * not exactly 0, which is an edge itself. */
typedef struct ease__weight_bins {
    ease__steps edges; /* one more than there are bins */
    int64_t in[EASE__MAX_BINS];
    int64_t zero, below, above;
} ease__weight_bins;

extern const double ease__weight_quantiles[EASE_WEIGHT_QUANTILES];

/* The range is that of the outermost quantiles, and has 0 in it. */
ease_status ease__count_weights(const ease_model *m, const ease_weight_summary *summary,
                                ease__weight_bins *out, const ease_hooks *hooks,
                                ease_error *err);

#endif
