#include "compute/topk.h"

/* Compares without a branch, which would be mispredicted often. */
static bool worse(ease_rec a, ease_rec b)
{
    return (a.score < b.score) | ((a.score == b.score) & (a.item > b.item));
}

/* Replaces the root by r and restores the heap. */
static void replace_root(ease_rec *heap, int32_t count, ease_rec r)
{
    size_t at = 0, end = (size_t)count;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= end)
            break;
        if (child + 1 < end)
            child += worse(heap[child + 1], heap[child]);
        if (!worse(heap[child], r))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = r;
}

static void push(ease__topk *t, ease_rec r)
{
    size_t at = (size_t)t->count++;

    while (at > 0 && worse(r, t->recs[(at - 1) / 2])) {
        t->recs[at] = t->recs[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    t->recs[at] = r;
}

void ease__topk_add(ease__topk *t, ease_rec r)
{
    if (t->count < t->capacity)
        push(t, r);
    else
        replace_root(t->recs, t->capacity, r);
}

bool ease__topk_offer_one(ease__topk *t, ease_rec r)
{
    bool chosen = t->count < t->capacity ? r.score > -INFINITY : worse(t->recs[0], r);

    if (chosen)
        ease__topk_add(t, r);
    return chosen;
}

/* The place from which the next score above the threshold may come: skips whole
 * groups without any. The inner loop has no branch, so that it is vectorized. */
static int32_t skip_low(const float *scores, int32_t at, int32_t count, float threshold)
{
    enum { GROUP = 32 };

    while (count - at >= GROUP) {
        int any = 0;

        for (int i = 0; i < GROUP; i++)
            any |= scores[at + i] > threshold;
        if (any)
            break;
        at += GROUP;
    }
    while (at < count && !(scores[at] > threshold))
        at++;
    return at;
}

void ease__topk_offer(ease__topk *t, const float *scores, int32_t first, int32_t count,
                      const uint8_t *allowed)
{
    float threshold = ease__topk_least(t);

    for (int32_t i = 0;; i++) {
        ease_rec r;

        i = skip_low(scores, i, count, threshold);
        if (i >= count)
            return;
        r = (ease_rec){first + i, scores[i]};
        if (allowed && !allowed[r.item])
            continue;
        ease__topk_add(t, r);
        threshold = ease__topk_least(t);
    }
}

void ease__topk_sort(ease__topk *t)
{
    for (int32_t end = t->count - 1; end > 0; end--) {
        ease_rec worst = t->recs[0];

        replace_root(t->recs, end, t->recs[end]);
        t->recs[end] = worst;
    }
}
