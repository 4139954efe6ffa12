/* The best k of a sequence of scores. */
#ifndef EASE_COMPUTE_TOPK_H
#define EASE_COMPUTE_TOPK_H

#include <math.h>

#include "core/core.h"

/* A heap with the worst of the chosen items at its root. */
typedef struct ease__topk {
    ease_rec *recs;
    int32_t capacity, count; /* capacity is at least 1 */
} ease__topk;

/* Offers the items first, first + 1, ... with their scores; `allowed` (NULL: all) is
 * indexed by item. Items must come in increasing order over all calls: of equal
 * scores the earlier stays. NaN and minus infinity are never chosen. */
void ease__topk_offer(ease__topk *t, const float *scores, int32_t first, int32_t count,
                      const uint8_t *allowed);

/* The score that a new item must exceed to be chosen. */
static inline float ease__topk_least(const ease__topk *t)
{
    return t->count < t->capacity ? -INFINITY : t->recs[0].score;
}

/* Adds an item whose score is above ease__topk_least. */
void ease__topk_add(ease__topk *t, ease_rec r);

/* Offers an item, in any order: of equal scores the smaller item stays. Returns
 * false if it is not chosen. */
bool ease__topk_offer_one(ease__topk *t, ease_rec r);

/* Sorts the chosen items, best first. The result is not a heap. */
void ease__topk_sort(ease__topk *t);

#endif
