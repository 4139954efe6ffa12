/* Choosing the items of a list from the scores of all items. */
#include <math.h>

#include "score/scoring.h"

/* The places of a list that are still free; there must be some. */
static ease__topk free_places(const ease__topk *best)
{
    return (ease__topk){.recs = best->recs + best->count,
                        .capacity = best->capacity - best->count};
}

/* Appends the best of the positive or of the negative scores. */
static void add_signed(const float *scores, int32_t n, bool negative,
                       const uint8_t *allowed, ease__topk *best)
{
    ease__topk more = free_places(best);

    for (int32_t j = 0; j < n; j++)
        if ((negative ? scores[j] < 0 : scores[j] > 0) && (!allowed || allowed[j]))
            ease__topk_offer_one(&more, (ease_rec){j, scores[j]});
    ease__topk_sort(&more);
    best->count += more.count;
}

void ease__add_zeros(const ease_model *m, const float *scores, const uint8_t *allowed,
                     ease__topk *best)
{
    ease__topk more = free_places(best);

    for (int32_t j = 0; j < m->info.items; j++)
        if (scores[j] == 0 && (!allowed || allowed[j]))
            ease__topk_offer_one(&more, (ease_rec){j, ease__share_of_users(m, j)});
    ease__topk_sort(&more);
    for (int32_t i = 0; i < more.count; i++)
        more.recs[i].score = 0;
    best->count += more.count;
}

void ease__choose_best(const ease_model *m, const float *scores, const uint8_t *allowed,
                       ease__topk *best)
{
    int32_t n = m->info.items;

    if (!m->form->scoring->popular_zeros || m->base) {
        ease__topk_offer(best, scores, 0, n, allowed);
        ease__topk_sort(best);
        return;
    }
    add_signed(scores, n, false, allowed, best);
    if (best->count < best->capacity)
        ease__add_zeros(m, scores, allowed, best);
    if (best->count < best->capacity)
        add_signed(scores, n, true, allowed, best);
}
