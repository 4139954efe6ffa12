/* The best k of a sequence of scores. */
#ifndef EASE_COMPUTE_TOPK_H
#define EASE_COMPUTE_TOPK_H

#include <math.h>

#include "core/core.h"

/* A heap with the worst of the chosen at its root. */
typedef struct ease__topk {
    ease_rec *recs;
    int32_t capacity, count; /* capacity is at least 1 */
} ease__topk;

/* Offers items first, first + 1, ... with their scores; `allowed` (NULL: all) is
 * indexed by item. Items must come in increasing order, over all calls: of equal
 * scores the earlier stays. NaN and minus infinity are never chosen. */
void ease__topk_offer(ease__topk *t, const float *scores, int32_t first, int32_t count,
                      const uint8_t *allowed);

/* What a score has to be above to be chosen. */
static inline float ease__topk_least(const ease__topk *t)
{
    return t->count < t->capacity ? -INFINITY : t->recs[0].score;
}

/* One item, whose score is above that. */
void ease__topk_add(ease__topk *t, ease_rec r);

/* One item, in whatever order they come: of equal scores the smaller item stays. False:
 * it is not chosen. */
bool ease__topk_offer_one(ease__topk *t, ease_rec r);

/* Best first. It is no heap afterwards. */
void ease__topk_sort(ease__topk *t);

#endif
