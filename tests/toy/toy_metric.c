/* A metric that is not in the library, as an example of adding one. Copied into
 * src/eval, with the line METRIC(ease__toy_metric) in src/eval/metrics.h, it is
 * complete. */
#include "eval/metrics.h"

static double first_is_hit(const ease__hits *h)
{
    return h->count > 0 && h->hit[0];
}

const ease__metric_kind ease__toy_metric = {
    .info = {.name = "toy",
             .about = "1 if the first item is a hit, 0 if it is not",
             .direction = EASE__HIGHER_IS_BETTER,
             .by_user = 1},
    .from_hits = first_is_hit,
};
