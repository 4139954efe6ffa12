/* Scores of models of hidden numbers, by blocks of histories. */
#ifndef EASE_SCORE_LATENT_SCORES_H
#define EASE_SCORE_LATENT_SCORES_H

#include "model/model.h"

static inline bool ease__is_latent(const ease_model *m)
{
    return m->latent.decoder != NULL;
}

enum { EASE__HISTORIES = 64 }; /* in a block, at most */

/* Scratch of one thread. */
typedef struct ease__encode_room {
    int32_t count; /* histories that were encoded */
    float *h;      /* count rows, of the width of a layer rounded up to panels */
    float *packed; /* the left side of a product; after encoding, h */
    float *square; /* fold-in: a history's matrix */
    float *rows;   /* fold-in: the numbers of some of its items */
    float *scores; /* count x those that are decoded at once */
    float *row;    /* scratch of the caller, as many as are decoded at once */
} ease__encode_room;

ease_status ease__encode_room_new(const ease_model *m, ease__encode_room *out,
                                  ease_error *err);
void ease__encode_room_free(ease__encode_room *room);

/* Before a history is encoded and anything decoded: verifies what that reads. */
ease_status ease__encode_need(const ease_model *m, ease_row history, ease_error *err);

/* A block of up to EASE__HISTORIES. */
void ease__encode(const ease_model *m, const ease_row *histories, int32_t count,
                  ease__encode_room *room);

/* Scores items from `left` on for the whole block; returns how many. */
int32_t ease__decode(const ease_model *m, ease__encode_room *room, int32_t left);
/* Of one history of the block, those that were just decoded. */
const float *ease__decoded(const ease__encode_room *room, int32_t history);

/* ease_recommend_many for such a model, everything being checked. */
ease_status ease__recommend_blocks(const ease_model *m, const ease_row *histories,
                                   int64_t count, const ease_recommend_options *o,
                                   const ease_rec *popular, int32_t popular_count,
                                   ease_rec *recs, int32_t *counts, ease_error *err);

#endif
