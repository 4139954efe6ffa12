/* The order of lists, in the plainest way. */
#ifndef EASE_TEST_RANKED_H
#define EASE_TEST_RANKED_H

#include <stdbool.h>
#include <stdlib.h>

#include "infos.h"

/* The model whose list is sorted, if items of score 0 are in order of popularity. */
static const ease_model *ranked_popular;

static inline int ranked_better_first(const void *a, const void *b)
{
    const ease_rec *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->score == 0 && ranked_popular) {
        float users = (float)model_info(ranked_popular).users;
        float p = (float)ease_model_popularity(ranked_popular, x->item) / users;
        float q = (float)ease_model_popularity(ranked_popular, y->item) / users;

        if (p != q)
            return p > q ? -1 : 1;
    }
    return (x->item > y->item) - (x->item < y->item);
}

/* Sorts by score, items of equal scores by number; in sparse models without a base,
 * items of score 0 by popularity first. */
static inline void ranked_sort(const ease_model *m, ease_rec *recs, int32_t count)
{
    bool popular = model_info(m).storage == EASE_STORE_SPARSE &&
                   !model_info(m).has_base;

    ranked_popular = popular ? m : NULL;
    qsort(recs, (size_t)count, sizeof(*recs), ranked_better_first);
}

#endif
