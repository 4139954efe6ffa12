/* How models of a form are scored: one constant of type ease__scoring in one file of
 * this folder. The form (model/form.h) names it, and score.c asks it. */
#ifndef EASE_SCORE_SCORING_H
#define EASE_SCORE_SCORING_H

#include "compute/topk.h"
#include "model/model.h"

struct ease_scorer {
    const ease_model *model; /* borrowed */
    float *scores;           /* n */
    void *scratch;           /* of the form; NULL: it has none */
};

/* What ease_recommend_many() was asked for, checked. */
typedef struct ease__list_job {
    const ease_model *model;
    const ease_row *histories;
    int64_t count;
    const ease_recommend_options *o;
    ease_rec *recs;          /* count x o->k */
    int32_t *counts;         /* lengths of the lists */
    const ease_rec *popular; /* the list for empty histories; NULL: `many` makes it */
    int32_t popular_count;
} ease__list_job;

/* Every function verifies what it reads of the model's file, and fails with
 * EASE_E_FORMAT or EASE_E_IO if that is damaged, changed or cannot be read. A history
 * has been checked, and is not empty unless the form knows its users. */
struct ease__scoring {
    /* Checks users as they are given in the options, NULL for none; may be NULL. */
    ease_status (*check_users)(const ease_model *m, const int64_t *users, int64_t count,
                               ease_error *err);
    /* Scratch for one thread; both NULL: none is needed. */
    ease_status (*scratch_new)(const ease_model *m, void **out, ease_error *err);
    void (*scratch_free)(void *scratch); /* accepts NULL */
    /* The scores of all items for a history, or for a user of a form that knows its
     * users, into s->scores. */
    ease_status (*score)(ease_scorer *s, ease_row history, int64_t user,
                         ease_error *err);
    /* A list, where that takes less than the scores of all items; NULL: the best of
     * `score`. */
    ease_status (*list)(ease_scorer *s, ease_row history,
                        const ease_recommend_options *o, ease_rec *recs, int32_t *count,
                        ease_error *err);
    /* Lists of many histories, to the bit those that single calls give. */
    ease_status (*many)(const ease__list_job *l, ease_error *err);
    /* How similar each item is to this one, `out` having n places; NULL: the form does
     * not tell. */
    ease_status (*similar)(const ease_model *m, int32_t item, float *out,
                           ease_error *err);
    /* What each item of a history adds to the score of an item, and the sum of these and
     * the base; NULL: such a score is no sum over the history. */
    ease_status (*explain)(const ease_model *m, ease_row history, int32_t item,
                           ease_rec *reasons, float *score, ease_error *err);
};

/* ---- for the files of forms -------------------------------------------------------- */

/* `score`, `many`, `similar` and `explain` of models with rows of weights. */
ease_status ease__score_rows(ease_scorer *s, ease_row history, int64_t user,
                             ease_error *err);
ease_status ease__panels_many(const ease__list_job *l, ease_error *err);
ease_status ease__similar_rows(const ease_model *m, int32_t item, float *out,
                               ease_error *err);
ease_status ease__explain_rows(const ease_model *m, ease_row history, int32_t item,
                               ease_rec *reasons, float *score, ease_error *err);

/* The best of `scores` (n, changed), without the items of the history unless these are
 * kept. Returns the length of the list. */
int32_t ease__best_of_scores(const ease_model *m, ease_row history,
                             const ease_recommend_options *o, float *scores,
                             ease_rec *recs);

/* The length of a list: k, or the number of items if that is less. */
static inline int32_t ease__list_length(const ease_model *m,
                                        const ease_recommend_options *o)
{
    return o->k < m->info.items ? o->k : m->info.items;
}

/* The place of list u. */
static inline ease_rec *ease__list_at(const ease__list_job *l, int64_t u)
{
    return l->recs + (size_t)u * (size_t)l->o->k;
}

/* Makes list u that of an empty history. */
void ease__list_popular(const ease__list_job *l, int64_t u);

/* Scratch of the form for each thread of `many`. Free with ease__scratches_free(). */
ease_status ease__scratches_new(const ease_model *m, int threads, void ***out,
                                ease_error *err);
void ease__scratches_free(const ease_model *m, int threads, void **scratches);

#endif
