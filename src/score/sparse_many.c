#include "score/sparse_many.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "score/course.h"
#include "score/score.h"

/* ---- one list --------------------------------------------------------------------- */

/* A sum that nothing was added to is -0, and x + -0 is x. No part is -0, so that no sum
 * with a part in it is, and every sum has the bits that it would have from 0 on. */
static const float untouched = -0.0f;

static inline bool is_untouched(float score)
{
    return score == 0 && signbit(score);
}

/* As the kernels of dense rows do: the product is rounded before it is added. Whether
 * an item is new is hard to foretell, so that there is no branch. */
static void add_row(const ease__sparse *s, int32_t item, float x,
                    ease__sparse_room *room)
{
    int32_t count = room->count;

    for (uint64_t at = s->starts[item]; at < s->starts[item + 1]; at++) {
        int32_t column = s->columns[at];
        float part = s->weights[at] * x + 0.0f, sum = room->scores[column];

        room->touched[count] = column;
        count += is_untouched(sum);
        room->scores[column] = sum + part;
    }
    room->count = count;
}

static void choose_touched(const ease__sparse_room *room, const uint8_t *allowed,
                           ease__topk *best)
{
    float least = ease__topk_least(best);

    for (int32_t t = 0; t < room->count; t++) {
        ease_rec rec = {room->touched[t], room->scores[room->touched[t]]};

        if (rec.score < least || (allowed && !allowed[rec.item]))
            continue;
        ease__topk_offer_one(best, rec);
        least = ease__topk_least(best);
    }
}

/* All others have 0: where that is good enough the first come first, until one is
 * not. */
static void choose_untouched(const ease__sparse_room *room, int32_t n,
                             const uint8_t *allowed, ease__topk *best)
{
    if (ease__topk_least(best) > 0)
        return;
    for (int32_t j = 0; j < n; j++)
        if (is_untouched(room->scores[j]) && (!allowed || allowed[j]) &&
            !ease__topk_offer_one(best, (ease_rec){j, 0}))
            return;
}

static void clear(ease_row history, ease__sparse_room *room)
{
    for (int32_t t = 0; t < room->count; t++)
        room->scores[room->touched[t]] = untouched;
    for (int32_t h = 0; h < history.count; h++)
        room->scores[history.items[h]] = untouched;
    room->count = 0;
}

int32_t ease__recommend_row(const ease_model *m, ease_row history,
                            const ease_recommend_options *o, ease__sparse_room *room,
                            ease_rec *recs)
{
    int32_t n = m->info.items;
    ease__topk best = {.recs = recs, .capacity = o->k < n ? o->k : n};

    for (int32_t h = 0; h < history.count; h++)
        add_row(&m->sparse, history.items[h], history.weights ? history.weights[h] : 1,
                room);
    for (int32_t h = 0; h < history.count && !o->keep_seen; h++)
        room->scores[history.items[h]] = -INFINITY;
    choose_touched(room, o->allowed, &best);
    choose_untouched(room, n, o->allowed, &best);
    ease__topk_sort(&best);
    clear(history, room);
    return best.count;
}

ease_status ease__sparse_room_new(const ease_model *m, ease__sparse_room *out,
                                  ease_error *err)
{
    size_t n = (size_t)m->info.items;
    ease__sparse_room room = {
        .scores = ease__alloc_array(n, sizeof(*room.scores)),
        .touched = ease__alloc_array(n + 1, sizeof(*room.touched))};

    if (!room.scores || !room.touched) {
        ease__sparse_room_free(&room);
        return ease__fail(err, EASE_E_NOMEM, "scores of %d items", (int)n);
    }
    for (size_t j = 0; j < n; j++)
        room.scores[j] = untouched;
    *out = room;
    return EASE_OK;
}

void ease__sparse_room_free(ease__sparse_room *room)
{
    ease__free(room->scores);
    ease__free(room->touched);
}

/* ---- many ------------------------------------------------------------------------- */

enum { USERS = 16 }; /* that a thread takes at a time */

typedef struct job {
    const ease_model *model;
    const ease_row *histories;
    int64_t count;
    const ease_recommend_options *o;
    ease_rec *recs;
    int32_t *counts;
    const ease_rec *popular; /* for empty histories */
    int32_t popular_count;
} job;

static void recommend_block(const job *j, int64_t first, ease__sparse_room *room)
{
    int64_t end = j->count - first > USERS ? first + USERS : j->count;

    for (int64_t u = first; u < end; u++) {
        ease_rec *recs = j->recs + (size_t)u * (size_t)j->o->k;

        if (j->histories[u].count > 0) {
            j->counts[u] = ease__recommend_row(j->model, j->histories[u], j->o, room,
                                               recs);
        } else {
            memcpy(recs, j->popular, (size_t)j->popular_count * sizeof(*recs));
            j->counts[u] = j->popular_count;
        }
    }
}

static ease_status run_all(const job *j, int threads, ease__sparse_room *rooms,
                           ease_error *err)
{
    ease__course c = {.hooks = j->o->hooks, .parts = (j->count + USERS - 1) / USERS};

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t b = 0; b < c.parts; b++) {
        if (ease__course_over(&c))
            continue;
        recommend_block(j, b * USERS, &rooms[omp_get_thread_num()]);
        ease__course_advance(&c);
    }
    return ease__course_end(&c, &j->model->file, err);
}

ease_status ease__recommend_rows(const ease_model *m, const ease_row *histories,
                                 int64_t count, const ease_recommend_options *o,
                                 const ease_rec *popular, int32_t popular_count,
                                 ease_rec *recs, int32_t *counts, ease_error *err)
{
    int threads = ease__threads(o->threads);
    ease__sparse_room *rooms = ease__alloc_zero((size_t)threads, sizeof(*rooms));
    job j = {m, histories, count, o, recs, counts, popular, popular_count};
    ease_status status = rooms ? ease__container_unchanged(&m->file, err)
                               : ease__fail(err, EASE_E_NOMEM, "%d threads", threads);

    for (int t = 0; !status && t < threads; t++)
        status = ease__sparse_room_new(m, &rooms[t], err);
    if (!status)
        status = run_all(&j, threads, rooms, err);
    for (int t = 0; rooms && t < threads; t++)
        ease__sparse_room_free(&rooms[t]);
    ease__free(rooms);
    return status;
}
