/* Scoring of models of known users: scores are read, not computed. */
#include <omp.h>

#include "score/course.h"
#include "score/scoring.h"

static ease_status check_users(const ease_model *m, const int64_t *users, int64_t count,
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
static ease_status read_scores(const ease_model *m, int64_t user, float *scores,
                               ease_error *err)
{
    size_t n = (size_t)m->info.items;
    ease_status status = ease__container_need(
        &m->file, m->known.codes + (size_t)user * n, n * sizeof(*m->known.codes),
        EASE__WHOLE, err);

    if (!status)
        ease__known_get(&m->known, user, m->info.items, scores);
    return status;
}

static ease_status score_user(ease_scorer *s, ease_row history, int64_t user,
                              ease_error *err)
{
    const ease__container *file = &s->model->file;
    ease_status status = ease__container_unchanged(file, err);

    (void)history;
    if (!status)
        status = read_scores(s->model, user, s->scores, err);
    return status ? status : ease__container_unchanged(file, err);
}

static void list_user(const ease__list_job *l, int64_t u, float *scores,
                      ease__course *c)
{
    ease_error err = {0};
    ease_status status = read_scores(l->model, l->o->users[u], scores, &err);

    if (status) {
        ease__course_fail(c, status, &err);
        return;
    }
    l->counts[u] = ease__best_of_scores(l->model, l->histories[u], l->o, scores,
                                        ease__list_at(l, u));
    ease__course_advance(c);
}

static ease_status list_users(const ease__list_job *l, ease_error *err)
{
    int threads = ease__threads(l->o->threads);
    size_t n = (size_t)l->model->info.items;
    ease_status status = ease__container_unchanged(&l->model->file, err);
    ease__course c = {.hooks = l->o->hooks, .parts = l->count};
    float *scores;

    if (status)
        return status;
    scores = ease__alloc_array(ease__size_mul((size_t)threads, n), sizeof(*scores));
    if (!scores)
        return ease__fail(err, EASE_E_NOMEM, "scores of %d threads", threads);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int64_t u = 0; u < l->count; u++)
        if (!ease__course_over(&c))
            list_user(l, u, scores + (size_t)omp_get_thread_num() * n, &c);
    ease__free(scores);
    return ease__course_end(&c, &l->model->file, err);
}

const ease__scoring ease__scoring_known = {
    .check_users = check_users,
    .score = score_user,
    .many = list_users,
};
