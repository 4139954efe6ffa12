/* Scores of models of hidden numbers, by blocks of histories. BLAS is called by the
 * thread that asks: see graph.c for how it is kept from threading itself. */
#ifndef EASE_SCORE_LATENT_H
#define EASE_SCORE_LATENT_H

#include "model/model.h"

static inline bool ease__is_latent(const ease_model *m)
{
    return m->latent.decoder != NULL;
}

enum { EASE__HISTORIES = 64 }; /* in a block */

/* Scratch of one thread. */
typedef struct ease__encode_room {
    float *h; /* after encoding: EASE__HISTORIES x rank */
    float *other;
    float *scores;
    float *row; /* scratch of the caller, as many as are decoded at once */
} ease__encode_room;

ease_status ease__encode_room_new(const ease_model *m, ease__encode_room *out,
                                  ease_error *err);
void ease__encode_room_free(ease__encode_room *room);

/* Before a history is encoded and anything decoded: verifies what that reads. */
ease_status ease__encode_need(const ease_model *m, ease_row history, ease_error *err);

/* Up to EASE__HISTORIES at once; the rest of the block is encoded as nothing. */
void ease__encode(const ease_model *m, const ease_row *histories, int32_t count,
                  ease__encode_room *room);

/* Scores the items from `left` on for the whole block; how many. */
int32_t ease__decode(const ease_model *m, ease__encode_room *room, int32_t left);
/* Of one history of the block, those that were just decoded. */
const float *ease__decoded(const ease__encode_room *room, int32_t history);

/* ease_recommend_many for such a model, everything being checked. */
ease_status ease__recommend_blocks(const ease_model *m, const ease_row *histories,
                                   int64_t count, const ease_recommend_options *o,
                                   const ease_rec *popular, int32_t popular_count,
                                   ease_rec *recs, int32_t *counts, ease_error *err);

#endif
