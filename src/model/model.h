/* A model: weights in one of the storage forms, and what is shown beside them. */
#ifndef EASE_MODEL_H
#define EASE_MODEL_H

#include "core/container.h"
#include "data/ids.h"
#include "matrix/tiled.h"

/* Weights are W_ij = row_scale_i * P_ij * col_scale_j off the diagonal and 0 on it,
 * cut off at 0 for EASE >= 0. A trained model holds P itself (2 n^2 bytes in
 * float32); a file holds the same ("packed") or rows of W. */
struct ease_model {
    ease_model_info info;
    ease__tiled inverse;    /* packed: P, F32 or F64; data NULL: rows below */
    const void *rows;       /* F32 or F16 rows, mapped */
    size_t stride;          /* bytes from row to row */
    float unit;             /* F16: a weight is its number times this */
    const float *row_scale; /* packed; NULL: all ones */
    const float *col_scale; /* packed */
    const float *base;      /* c; NULL: zero */
    const float *norm;      /* q: similarity is W_ij q_j / q_i */
    const double *popularity;
    ease__ids ids, titles; /* titles: empty table, or one an item, "" for none */
    ease__container file;  /* open if the arrays above lie in it */
    void *owned[8];        /* what to free */
};

/* What beside the inverse makes a model. Everything is copied except what the
 * comments say. */
typedef struct ease__recipe {
    ease_gram_kind kind;
    ease_precision precision;
    double lambda, residual;
    int nonnegative;
    int64_t users, interactions;
    const double *sums;     /* column sums; NULL: use `diagonal` for popularity */
    const double *scale;    /* s, correlation only */
    const double *diagonal; /* of X'X, n */
    ease__ids *ids;         /* taken over */
} ease__recipe;

/* Takes over the inverse (and r->ids): both are empty afterwards, even on failure. */
ease_status ease__model_from_inverse(ease__tiled *inverse, ease__recipe *r,
                                     ease_model **out, ease_error *err);

/* scores_j += weight * W_ij for j in from .. to-1; scores[0] is that of item `from`.
 * Every storage form, same arithmetic: the weight as a float, times `weight`. */
void ease__model_add_row(const ease_model *m, int32_t item, float weight, int32_t from,
                         int32_t to, float *scores);
float ease__model_weight(const ease_model *m, int32_t i, int32_t j);

#endif
