/* Lists of known users: their scores are read, not made. */
#include "score/known_lists.h"

#include <math.h>
#include <omp.h>

#include "compute/topk.h"
#include "score/course.h"

ease_status ease__known_check(const ease_model *m, const int64_t *users, int64_t count,
                              ease_error *err)
{
    if (!users && count > 0)
        return ease__fail(err, EASE_E_ARG,
                          "%s scores only the users that it was trained with, not a "
                          "history: say whose it is",
                          m->info.method);
    for (int64_t u = 0; u < count; u++)
        if (users[u] < 0 || users[u] >= m->known.users)
            return ease__fail_at(err, EASE_E_DATA, u,
                                 "%s scores only the users that it was trained with, "
                                 "and that of history %lld is not one of them",
                                 m->info.method, (long long)u);
    return EASE_OK;
}

/* Verifies the user's scores first. */
static ease_status choose(const ease_model *m, ease_row history, int64_t user,
                          const ease_recommend_options *o, float *scores,
                          ease__topk *best, ease_error *err)
{
    int32_t n = m->info.items;
    ease_status status = ease__container_need(
        &m->file, m->known.codes + (size_t)user * (size_t)n,
        (size_t)n * sizeof(*m->known.codes), EASE__WHOLE, err);

    if (status)
        return status;
    ease__known_get(&m->known, user, n, scores);
    for (int32_t h = 0; h < history.count && !o->keep_seen; h++)
        scores[history.items[h]] = -INFINITY;
    best->capacity = o->k < n ? o->k : n;
    ease__topk_offer(best, scores, 0, n, o->allowed);
    ease__topk_sort(best);
    return EASE_OK;
}

ease_status ease__recommend_known(const ease_model *m, const ease_row *histories,
                                  int64_t count, const ease_recommend_options *o,
                                  ease_rec *recs, int32_t *counts, ease_error *err)
{
    int threads = ease__threads(o->threads);
    size_t n = (size_t)m->info.items;
    ease_status status = ease__container_unchanged(&m->file, err);
    ease__course c = {.hooks = o->hooks, .parts = count};
    float *scores;

    if (status)
        return status;
    scores = ease__alloc_array(ease__size_mul((size_t)threads, n), sizeof(*scores));
    if (!scores)
        return ease__fail(err, EASE_E_NOMEM, "scores of %d threads", threads);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int64_t u = 0; u < count; u++) {
        float *row = scores + (size_t)omp_get_thread_num() * n;
        ease__topk best = {.recs = recs + (size_t)u * (size_t)o->k};
        ease_error own = {0};
        ease_status failed;

        if (ease__course_over(&c))
            continue;
        failed = choose(m, histories[u], o->users[u], o, row, &best, &own);
        counts[u] = best.count;
        if (failed)
            ease__course_fail(&c, failed, &own);
        else
            ease__course_advance(&c);
    }
    ease__free(scores);
    return ease__course_end(&c, &m->file, err);
}
