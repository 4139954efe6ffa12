/* The functions that score models of a form: one constant of type ease__scoring in one
 * file of this folder, to which the form (model/form.h) points. */
#ifndef EASE_SCORE_SCORING_H
#define EASE_SCORE_SCORING_H

#include "compute/topk.h"
#include "model/model.h"

struct ease_scorer {
    const ease_model *model; /* borrowed */
    float *scores;           /* n */
    void *scratch;           /* of the form; NULL: it has none */
    float *factors;          /* n, of the last call with a power; NULL: none */
    double power;            /* of `factors` */
};

/* The checked options of a call, as the forms need them. */
typedef struct ease__list_options {
    int32_t k;
    int keep_seen;
    const uint8_t *allowed; /* NULL: all items */
    const int64_t *users;
    /* n factors by which scores are multiplied, positive and finite; NULL: scores stay
     * as they are. */
    const float *factors;
    int threads;
    const ease_hooks *hooks;
    /* A row of items that are left out for each history; NULL: none. Only
     * ease__chosen_lists() heeds them, as it does caps. */
    const ease_row *denied;
} ease__list_options;

/* The checked arguments of a call. */
typedef struct ease__list_job {
    const ease_model *model;
    const ease_row *histories;
    int64_t count;
    const ease__list_options *o;
    ease_rec *recs;          /* count x o->k */
    int32_t *counts;         /* lengths of the lists */
    const ease_rec *popular; /* the list for empty histories; NULL: made by `many` */
    int32_t popular_count;
    /* Of a single list: the scorer to make it with, and true if the list has the items
     * that are similar to the one in the history. NULL: ease_recommend_many(). */
    ease_scorer *scorer;
    bool similar;
} ease__list_job;

/* Every function verifies the parts of the model's file that it reads, and fails with
 * EASE_E_FORMAT or EASE_E_IO if they are damaged, modified or cannot be read. Histories
 * were checked, and are not empty unless the form has known_users. */
struct ease__scoring {
    /* Checks the users of the options (NULL: none were given); may be NULL. */
    ease_status (*check_users)(const ease_model *m, const int64_t *users, int64_t count,
                               ease_error *err);
    /* Allocate and free scratch buffers for one thread; both NULL: none are needed. */
    ease_status (*scratch_new)(const ease_model *m, void **out, ease_error *err);
    void (*scratch_free)(void *scratch); /* accepts NULL */
    /* Writes the scores of all items for a history, or with known_users for a user, to
     * s->scores, without factors. */
    ease_status (*score)(ease_scorer *s, ease_row history, int64_t user,
                         ease_error *err);
    /* Makes one list faster than by scoring all items; NULL: the list is made from the
     * scores of `score`. */
    ease_status (*list)(ease_scorer *s, ease_row history, const ease__list_options *o,
                        ease_rec *recs, int32_t *count, ease_error *err);
    /* Makes lists for many histories, with the same bits as one call for each. */
    ease_status (*many)(const ease__list_job *l, ease_error *err);
    /* Writes the similarity of each item to this one to `out`, n floats; NULL: the form
     * has no similarities. */
    ease_status (*similar)(const ease_model *m, int32_t item, float *out,
                           ease_error *err);
    /* Makes the list of the items similar to the one in a history faster than from all
     * similarities; NULL: the list is made from those of `similar`. */
    ease_status (*list_similar)(ease_scorer *s, ease_row history,
                                const ease__list_options *o, ease_rec *recs,
                                int32_t *count, ease_error *err);
    /* In lists, items of score or similarity 0 are in order of popularity, as nothing
     * of the history reaches them. Not if the model has a base. */
    bool popular_zeros;
    /* Computes the contribution of each item of a history to the score of an item, and
     * their sum with the base; NULL: scores are not sums over the history. */
    ease_status (*explain)(const ease_model *m, ease_row history, int32_t item,
                           ease_rec *reasons, float *score, ease_error *err);
};

/* ---- used by the scoring of several forms ---------------------------------------- */

/* The functions score, many, similar and explain for models with rows of weights. */
ease_status ease__score_rows(ease_scorer *s, ease_row history, int64_t user,
                             ease_error *err);
ease_status ease__panels_many(const ease__list_job *l, ease_error *err);
ease_status ease__similar_rows(const ease_model *m, int32_t item, float *out,
                               ease_error *err);
ease_status ease__explain_rows(const ease_model *m, ease_row history, int32_t item,
                               ease_rec *reasons, float *score, ease_error *err);

/* Writes the scores of all items for list u to s->scores, with their factors; those of
 * items of the history are minus infinity unless o->keep_seen. */
ease_status ease__final_scores(ease_scorer *s, const ease__list_job *l, int64_t u,
                               ease_error *err);

/* Fills an empty list with the best of n scores, sorted; items of score 0 have the
 * order that the form gives them (popular_zeros). NaN and minus infinity are never
 * chosen. */
void ease__choose_best(const ease_model *m, const float *scores, const uint8_t *allowed,
                       ease__topk *best);
/* Appends items of score 0, the most popular first, to a sorted list that has free
 * places. */
void ease__add_zeros(const ease_model *m, const float *scores, const uint8_t *allowed,
                     ease__topk *best);

/* Makes a list of the best of n scores, which are multiplied by their factors and
 * changed, without the items of the history unless o->keep_seen. Returns the length of
 * the list. */
int32_t ease__best_of_scores(const ease_model *m, ease_row history,
                             const ease__list_options *o, float *scores,
                             ease_rec *recs);

/* The length of a list: k, or the number of items if that is less. */
static inline int32_t ease__list_length(const ease_model *m,
                                        const ease__list_options *o)
{
    return o->k < m->info.items ? o->k : m->info.items;
}

/* The address of list u. */
static inline ease_rec *ease__list_at(const ease__list_job *l, int64_t u)
{
    return l->recs + (size_t)u * (size_t)l->o->k;
}

/* popularity_power: true if it is in its range; the factors of all items, which the
 * caller frees, or EASE_E_NOMEM. */
bool ease__popularity_power_is_valid(double power);
ease_status ease__popularity_factors(const ease_model *m, double power, float **out,
                                     ease_error *err);

/* The share of users that have an item: its score for an empty history. */
static inline float ease__share_of_users(const ease_model *m, int32_t item)
{
    double users = m->info.users > 0 ? (double)m->info.users : 1.0;

    return (float)(m->popularity[item] / users);
}

/* Sets list u to the list of an empty history. */
void ease__list_popular(const ease__list_job *l, int64_t u);

/* Allocates scratch buffers for each thread of `many`. Free with
 * ease__scratches_free(). */
ease_status ease__scratches_new(const ease_model *m, int threads, void ***out,
                                ease_error *err);
void ease__scratches_free(const ease_model *m, int threads, void **scratches);

#endif
