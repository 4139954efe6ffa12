/* Many histories. The weights are taken 64 columns at a time: such a panel, with the
 * rows that the histories need, is copied once for thousands of users and stays in
 * cache, and the 64 scores of a user are summed in registers. Only the best k of each
 * user are kept from panel to panel. */
#include <math.h>
#include <string.h>

#include "score/latent.h"
#include "score/score.h"

enum { USERS = 1 << 15, RUN = 64 };

typedef struct run {
    int32_t top, bottom;
} run;

typedef struct batch {
    const ease_model *model;
    const ease_row *histories; /* of this batch */
    int64_t count;
    ease_recommend_options o;
    ease_rec *recs;
    int32_t *counts;
    const ease_rec *popular; /* for empty histories */
    int32_t popular_count;
    float *panel;  /* n x EASE__PANEL; only rows of the batch's items are filled */
    uint8_t *used; /* by item / grain: one of them is in a history of the batch */
    run *runs;     /* such rows, at most RUN together */
    int64_t run_count;
    int32_t *seen;     /* USERS: how many of the history lie before this panel */
    double done, step; /* progress, and what a batch adds to it */
    bool cancelled;
} batch;

/* Rows that some history needs, joined where the storage reads them together anyway. */
static void find_runs(batch *b)
{
    int32_t n = b->model->info.items, grain = b->model->store->grain;

    b->run_count = 0;
    if (b->model->store->empty)
        return;
    memset(b->used, 0, (size_t)n);
    for (int64_t u = 0; u < b->count; u++)
        for (int32_t h = 0; h < b->histories[u].count; h++)
            b->used[b->histories[u].items[h] / grain] = 1;
    for (int32_t top = 0, bottom; top < n; top = bottom) {
        run *last = b->run_count ? &b->runs[b->run_count - 1] : NULL;

        bottom = n - top > grain ? top + grain : n;
        if (!b->used[top / grain])
            continue;
        if (last && last->bottom == top && bottom - last->top <= RUN)
            last->bottom = bottom;
        else
            b->runs[b->run_count++] = (run){top, bottom};
    }
}

/* The scores of one user in one panel, offered to the user's best. */
static void score_panel(batch *b, int64_t u, int32_t left, int32_t right,
                        const float *start)
{
    _Alignas(64) float scores[EASE__PANEL];
    ease_row row = b->histories[u];
    ease__topk best = {.recs = b->recs + (size_t)u * (size_t)b->o.k,
                       .count = b->counts[u]};

    if (row.count == 0)
        return;
    if (b->model->store->empty)
        memcpy(scores, start, sizeof(scores));
    else
        b->model->kernels->sum_panel(b->panel, row.items, row.weights, row.count, start,
                                     scores);
    while (b->seen[u] < row.count && row.items[b->seen[u]] < right) {
        if (!b->o.keep_seen)
            scores[row.items[b->seen[u]] - left] = -INFINITY;
        b->seen[u]++;
    }
    best.room = b->o.k < b->model->info.items ? b->o.k : b->model->info.items;
    ease__topk_offer(&best, scores, left, right - left, b->o.allowed);
    b->counts[u] = best.count;
}

static void finish_user(batch *b, int64_t u)
{
    ease__topk best = {.recs = b->recs + (size_t)u * (size_t)b->o.k,
                       .count = b->counts[u]};

    if (b->histories[u].count > 0) {
        ease__topk_sort(&best);
        return;
    }
    memcpy(best.recs, b->popular, (size_t)b->popular_count * sizeof(*best.recs));
    b->counts[u] = b->popular_count;
}

/* All panels for all users of the batch. Every thread of the team runs this. */
static void work(batch *b)
{
    const ease_model *m = b->model;
    int32_t n = m->info.items;

    for (int32_t left = 0, right; left < n; left = right) {
        _Alignas(64) float start[EASE__PANEL] = {0};

        right = n - left > EASE__PANEL ? left + EASE__PANEL : n;
        if (m->base)
            memcpy(start, m->base + left, (size_t)(right - left) * sizeof(*start));
#pragma omp for schedule(dynamic, 8)
        for (int64_t r = 0; r < b->run_count; r++)
            m->store->read(
                m, (ease__window){b->runs[r].top, b->runs[r].bottom, left, right},
                b->panel + (size_t)b->runs[r].top * EASE__PANEL, EASE__PANEL);
#pragma omp master
        b->cancelled = ease__progress(&b->o.hooks, "recommending",
                                      b->done + b->step * (double)left / (double)n);
#pragma omp for schedule(dynamic, 64)
        for (int64_t u = 0; u < b->count; u++)
            score_panel(b, u, left, right, start);
        if (b->cancelled) /* set before the barrier that ends the loop above */
            return;
    }
#pragma omp for schedule(dynamic, 64)
    for (int64_t u = 0; u < b->count; u++)
        finish_user(b, u);
}

static ease_status run_batches(batch *b, const ease_row *histories, int64_t count,
                               ease_rec *recs, int32_t *counts, ease_error *err)
{
    for (int64_t first = 0; first < count; first += USERS) {
        b->histories = histories + first;
        b->count = count - first < USERS ? count - first : USERS;
        b->recs = recs + (size_t)first * (size_t)b->o.k;
        b->counts = counts + first;
        b->done = (double)first / (double)count;
        b->step = (double)b->count / (double)count;
        memset(b->counts, 0, (size_t)b->count * sizeof(*b->counts));
        memset(b->seen, 0, (size_t)b->count * sizeof(*b->seen));
        find_runs(b);
#pragma omp parallel num_threads(ease__threads(b->o.threads))
        work(b);
        if (b->cancelled)
            return ease__cancelled(err);
    }
    return ease__progress(&b->o.hooks, "recommending", 1.0) ? ease__cancelled(err)
                                                            : EASE_OK;
}

static ease_status check_all(const ease_model *m, const ease_row *histories,
                             int64_t count, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int64_t u = 0; !status && u < count; u++)
        status = ease__history_check(m, histories[u], u, err);
    return status;
}

ease_status ease_recommend_many(const ease_model *m, const ease_row *histories,
                                int64_t count, const ease_recommend_options *given,
                                ease_rec *recs, int32_t *counts, ease_error *err)
{
    batch b = {.model = m};
    size_t n, panel_bytes;
    ease_rec *popular = NULL;
    ease_status status;

    if (!m || count < 0 || (count > 0 && (!histories || !recs || !counts)))
        return ease__fail(err, EASE_E_ARG,
                          "a model, histories and room for their lists "
                          "are required");
    status = ease__recommend_options_take(given, &b.o, err);
    if (!status)
        status = check_all(m, histories, count, err);
    if (status)
        return status;
    n = (size_t)m->info.items;
    panel_bytes = ease__size_mul(n, EASE__PANEL * sizeof(float));
    b.panel = ease__alloc_pages(panel_bytes);
    b.used = ease__alloc_array(n, sizeof(*b.used));
    b.runs = ease__alloc_array(n, sizeof(*b.runs));
    b.seen = ease__alloc_array(USERS, sizeof(*b.seen));
    popular = ease__alloc_array(n, sizeof(*popular));
    if (b.panel && b.used && b.runs && b.seen && popular) {
        /* The panel is scratch of more than n floats before it is a panel. */
        b.popular_count = ease__popular(m, &b.o, b.panel, popular);
        b.popular = popular;
        status = ease__is_latent(m)
                     ? ease__recommend_blocks(m, histories, count, &b.o, popular,
                                              b.popular_count, recs, counts, err)
                     : run_batches(&b, histories, count, recs, counts, err);
    } else {
        status = ease__fail(err, EASE_E_NOMEM, "scoring %lld histories of %d items",
                            (long long)count, (int)m->info.items);
    }
    ease__free_pages(b.panel, panel_bytes);
    ease__free(b.used);
    ease__free(b.runs);
    ease__free(b.seen);
    ease__free(popular);
    return status;
}
