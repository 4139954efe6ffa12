/* Lists of models with few weights: a list costs what the history's rows have, not what
 * the catalog has. */
#ifndef EASE_SCORE_SPARSE_MANY_H
#define EASE_SCORE_SPARSE_MANY_H

#include "model/model.h"

/* With a base every item has a score of its own: such a model is scored as a dense one
 * is. */
static inline bool ease__is_sparse(const ease_model *m)
{
    return m->sparse.starts && !m->base;
}

/* Scratch of one thread. */
typedef struct ease__sparse_room {
    float *scores; /* n; between lists all untouched: -0 */
    int32_t
        *touched; /* n + 1: the items that are not, in the order in which they came */
    int32_t count;
} ease__sparse_room;

ease_status ease__sparse_room_new(const ease_model *m, ease__sparse_room *out,
                                  ease_error *err);
void ease__sparse_room_free(ease__sparse_room *room);

/* The list of one history, which is not empty; returns its length. */
int32_t ease__recommend_row(const ease_model *m, ease_row history,
                            const ease_recommend_options *o, ease__sparse_room *room,
                            ease_rec *recs);

/* ease_recommend_many for such a model, everything being checked. */
ease_status ease__recommend_rows(const ease_model *m, const ease_row *histories,
                                 int64_t count, const ease_recommend_options *o,
                                 const ease_rec *popular, int32_t popular_count,
                                 ease_rec *recs, int32_t *counts, ease_error *err);

#endif
