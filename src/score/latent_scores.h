/* Scoring with latent models (factors and networks), by blocks of histories: a history
 * is encoded as a vector of latent factors, which is multiplied by those of the
 * items. */
#ifndef EASE_SCORE_LATENT_SCORES_H
#define EASE_SCORE_LATENT_SCORES_H

#include "model/model.h"

static inline bool ease__is_latent(const ease_model *m)
{
    return m->latent.decoder != NULL;
}

enum { EASE__HISTORIES = 64 }; /* the most histories in a block */

/* Scratch buffers of one thread. */
typedef struct ease__encode_room {
    int32_t count; /* histories in the block */
    float *h;      /* count rows, as wide as a layer, padded to whole panels */
    float *packed; /* the packed left operand of a product; after encoding, h */
    float *square; /* fold-in: the matrix of one history's linear system */
    float *rows;   /* fold-in: the factors of some of the history's items */
    float *scores; /* count x the number of items that are decoded at once */
    float *row;    /* one row of scores, for the caller's use */
} ease__encode_room;

ease_status ease__encode_room_new(const ease_model *m, ease__encode_room *out,
                                  ease_error *err);
void ease__encode_room_free(ease__encode_room *room);

/* Must be called before a history is encoded and decoded: verifies the weights that
 * this reads. Fails as ease__model_need does. */
ease_status ease__encode_need(const ease_model *m, ease_row history, ease_error *err);

/* Encodes a block of up to EASE__HISTORIES histories. */
void ease__encode(const ease_model *m, const ease_row *histories, int32_t count,
                  ease__encode_room *room);

/* Scores items from `left` on for all histories of the block; returns how many
 * items. */
int32_t ease__decode(const ease_model *m, ease__encode_room *room, int32_t left);
/* The scores of one history of the block for the items that were decoded last. */
const float *ease__decoded(const ease__encode_room *room, int32_t history);

/* ease_recommend_many for such a model, everything being checked. */
ease_status ease__recommend_blocks(const ease_model *m, const ease_row *histories,
                                   int64_t count, const ease_recommend_options *o,
                                   const ease_rec *popular, int32_t popular_count,
                                   ease_rec *recs, int32_t *counts, ease_error *err);

#endif
