/* Lists of a latent model for many histories: a thread scores a block of them over the
 * whole catalog. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "score/latent_scores.h"
#include "score/score.h"

typedef struct job {
    const ease_model *model;
    const ease_row *histories;
    int64_t count;
    const ease_recommend_options *o;
    ease_rec *recs;
    int32_t *counts;
    const ease_rec *popular; /* for empty histories */
    int32_t popular_count;
    atomic_llong done; /* blocks */
    atomic_bool cancelled;
} job;

static void offer(const job *j, int64_t u, const float *scores, int32_t left,
                  int32_t count, float *scratch)
{
    ease_row row = j->histories[u];
    int32_t n = j->model->info.items;
    ease__topk best = {.recs = j->recs + (size_t)u * (size_t)j->o->k,
                       .capacity = j->o->k < n ? j->o->k : n,
                       .count = j->counts[u]};

    memcpy(scratch, scores, (size_t)count * sizeof(*scratch));
    for (int32_t h = 0; h < row.count && !j->o->keep_seen; h++)
        if (row.items[h] >= left && row.items[h] - left < count)
            scratch[row.items[h] - left] = -INFINITY;
    ease__topk_offer(&best, scratch, left, count, j->o->allowed);
    j->counts[u] = best.count;
}

static void finish(const job *j, int64_t u)
{
    ease__topk best = {.recs = j->recs + (size_t)u * (size_t)j->o->k,
                       .count = j->counts[u]};

    if (j->histories[u].count > 0) {
        ease__topk_sort(&best);
        return;
    }
    memcpy(best.recs, j->popular, (size_t)j->popular_count * sizeof(*best.recs));
    j->counts[u] = j->popular_count;
}

static void run_block(job *j, int64_t first, ease__encode_room *room)
{
    int32_t n = j->model->info.items;
    int32_t count = j->count - first < EASE__HISTORIES ? (int32_t)(j->count - first)
                                                       : EASE__HISTORIES;

    ease__encode(j->model, j->histories + first, count, room);
    for (int32_t left = 0, step; left < n; left += step) {
        step = ease__decode(j->model, room, left);
        for (int32_t r = 0; r < count; r++)
            if (j->histories[first + r].count > 0)
                offer(j, first + r, ease__decoded(room, r), left, step, room->row);
    }
    for (int32_t r = 0; r < count; r++)
        finish(j, first + r);
}

/* The caller's thread tells how far it is, once a block of its own. */
static void report(job *j, int64_t blocks)
{
    long long done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);

    if (omp_get_thread_num() == 0 &&
        ease__progress(j->o->hooks, "recommending", (double)done / (double)blocks))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
}

static void run_all(job *j, int threads, ease__encode_room *rooms)
{
    int64_t blocks = (j->count + EASE__HISTORIES - 1) / EASE__HISTORIES;

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t b = 0; b < blocks; b++) {
        if (atomic_load_explicit(&j->cancelled, memory_order_relaxed))
            continue;
        report(j, blocks);
        run_block(j, b * EASE__HISTORIES, &rooms[omp_get_thread_num()]);
    }
}

ease_status ease__recommend_blocks(const ease_model *m, const ease_row *histories,
                                   int64_t count, const ease_recommend_options *o,
                                   const ease_rec *popular, int32_t popular_count,
                                   ease_rec *recs, int32_t *counts, ease_error *err)
{
    int threads = ease__threads(o->threads);
    ease__encode_room *rooms = ease__alloc_zero((size_t)threads, sizeof(*rooms));
    job j = {.model = m,
             .histories = histories,
             .count = count,
             .o = o,
             .recs = recs,
             .counts = counts,
             .popular = popular,
             .popular_count = popular_count};
    ease_status status = rooms ? EASE_OK
                               : ease__fail(err, EASE_E_NOMEM, "%d threads", threads);

    for (int t = 0; !status && t < threads; t++)
        status = ease__encode_room_new(m, &rooms[t], err);
    if (!status)
        status = ease__container_need_all(&m->file, threads, o->hooks, err);
    if (!status) {
        memset(counts, 0, (size_t)count * sizeof(*counts));
        run_all(&j, threads, rooms);
        if (atomic_load(&j.cancelled) || ease__progress(o->hooks, "recommending", 1))
            status = ease__cancelled(err);
        else
            status = ease__container_unchanged(&m->file, err);
    }
    for (int t = 0; rooms && t < threads; t++)
        ease__encode_room_free(&rooms[t]);
    ease__free(rooms);
    return status;
}
