/* Lists of latent models for many histories: each thread scores a block of histories
 * over the whole catalog. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "score/latent_scores.h"

/* Shared by the threads. */
typedef struct job {
    const ease__list_job *lists;
    atomic_llong done; /* blocks */
    atomic_bool cancelled;
} job;

static void offer(const ease__list_job *l, int64_t u, const float *scores, int32_t left,
                  int32_t count, float *scratch)
{
    ease_row row = l->histories[u];
    ease__topk best = {.recs = ease__list_at(l, u),
                       .capacity = ease__list_length(l->model, l->o),
                       .count = l->counts[u]};

    if (l->o->factors)
        for (int32_t j = 0; j < count; j++)
            scratch[j] = scores[j] * l->o->factors[left + j];
    else
        memcpy(scratch, scores, (size_t)count * sizeof(*scratch));
    for (int32_t h = 0; h < row.count && !l->o->keep_seen; h++)
        if (row.items[h] >= left && row.items[h] - left < count)
            scratch[row.items[h] - left] = -INFINITY;
    ease__topk_offer(&best, scratch, left, count, l->o->allowed);
    l->counts[u] = best.count;
}

static void finish(const ease__list_job *l, int64_t u)
{
    ease__topk best = {.recs = ease__list_at(l, u), .count = l->counts[u]};

    if (l->histories[u].count > 0)
        ease__topk_sort(&best);
    else
        ease__list_popular(l, u);
}

static void list_block(const ease__list_job *l, int64_t first, ease__encoding *e)
{
    int32_t n = l->model->info.items;
    int32_t count = l->count - first < EASE__HISTORIES ? (int32_t)(l->count - first)
                                                       : EASE__HISTORIES;

    ease__encode(l->model, l->histories + first, count, e);
    for (int32_t left = 0, step; left < n; left += step) {
        step = ease__decode(l->model, e, left);
        for (int32_t r = 0; r < count; r++)
            if (l->histories[first + r].count > 0)
                offer(l, first + r, ease__decoded(e, r), left, step, e->row);
    }
    for (int32_t r = 0; r < count; r++)
        finish(l, first + r);
}

/* The caller's thread reports progress after each of its blocks. */
static void report(job *j, int64_t blocks)
{
    long long done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);

    if (omp_get_thread_num() == 0 && ease__progress(j->lists->o->hooks, "recommending",
                                                    (double)done / (double)blocks))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
}

static void list_blocks(job *j, int threads, void **scratches)
{
    int64_t blocks = (j->lists->count + EASE__HISTORIES - 1) / EASE__HISTORIES;

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t b = 0; b < blocks; b++) {
        if (atomic_load_explicit(&j->cancelled, memory_order_relaxed))
            continue;
        report(j, blocks);
        list_block(j->lists, b * EASE__HISTORIES, scratches[omp_get_thread_num()]);
    }
}

ease_status ease__latent_many(const ease__list_job *l, ease_error *err)
{
    const ease__container *file = &l->model->file;
    int threads = ease__threads(l->o->threads);
    void **scratches = NULL;
    job j = {.lists = l};
    ease_status status = ease__scratches_new(l->model, threads, &scratches, err);

    if (!status)
        status = ease__container_need_all(file, threads, l->o->hooks, err);
    if (!status) {
        memset(l->counts, 0, (size_t)l->count * sizeof(*l->counts));
        list_blocks(&j, threads, scratches);
        if (atomic_load(&j.cancelled) || ease__progress(l->o->hooks, "recommending", 1))
            status = ease__cancelled(err);
        else
            status = ease__container_unchanged(file, err);
    }
    ease__scratches_free(l->model, threads, scratches);
    return status;
}
