/* Scoring with latent models (factors and networks), by blocks of histories: a history
 * is encoded as a vector of latent factors, which is multiplied by those of the
 * items. */
#ifndef EASE_SCORE_LATENT_SCORES_H
#define EASE_SCORE_LATENT_SCORES_H

#include "score/scoring.h"

enum { EASE__HISTORIES = 64 }; /* the most histories in a block */

/* Scratch buffers of one thread. */
typedef struct ease__encoding {
    int32_t count; /* histories in the block */
    float *h;      /* count rows, as wide as a layer, padded to whole panels */
    float *packed; /* the packed left operand of a product; after encoding, h */
    float *square; /* fold-in: the matrix of one history's linear system */
    float *rows;   /* fold-in: the factors of some of the history's items */
    float *scores; /* count x the number of items that are decoded at once */
    float *row;    /* one row of scores, for the caller's use */
} ease__encoding;

/* Encodes a block of up to EASE__HISTORIES histories. */
void ease__encode(const ease_model *m, const ease_row *histories, int32_t count,
                  ease__encoding *e);

/* Scores items from `left` on for all histories of the block; returns how many
 * items. */
int32_t ease__decode(const ease_model *m, ease__encoding *e, int32_t left);
/* The scores of one history of the block for the items that were decoded last. */
const float *ease__decoded(const ease__encoding *e, int32_t history);

/* `many` of latent models. */
ease_status ease__latent_many(const ease__list_job *l, ease_error *err);

#endif
