/* A model: weights in one of the storage forms, and what is shown beside them. */
#ifndef EASE_MODEL_H
#define EASE_MODEL_H

#include "core/container.h"
#include "data/ids.h"
#include "matrix/tilefile.h"
#include "model/kernels.h"

/* A rectangle of the weights: rows top .. bottom-1, columns left .. right-1. */
typedef struct ease__window {
    int32_t top, bottom, left, right;
} ease__window;

/* A storage form. All that anyone does with weights goes through `read`, so that the
 * same model gives the same floats wherever they are used. */
typedef struct ease__store {
    /* The weights of the window, as floats, row r of it at out + r * ld. */
    void (*read)(const ease_model *m, ease__window w, float *out, size_t ld);
    /* The same as a panel is summed from it: in floats, or in halves as they are. */
    void (*take)(const ease_model *m, ease__window w, void *out, size_t ld);
    /* Rows top .. bottom-1 will be read: has what is on disk fetched. */
    void (*expect)(const ease_model *m, int32_t top, int32_t bottom);
    bool halves;   /* of `take` */
    int32_t grain; /* rows that cost no more to read together than one of them */
    bool empty;    /* all weights are 0: nothing needs to be read */
} ease__store;

extern const ease__store ease__store_f32, ease__store_f16, ease__store_packed,
    ease__store_none;

/* Weights are W_ij = (P_ij * row_scale_i) * col_scale_j off the diagonal and 0 on it,
 * cut off at 0 for EASE >= 0. A trained model holds P itself (2 n^2 bytes); a file
 * holds the same ("packed") or rows of W. */
struct ease_model {
    ease_model_info info;
    const ease__store *store;
    const ease__kernels *kernels;
    ease__tiled inverse;    /* packed: P in F32, diagonal tiles whole */
    ease__tilefile *work;   /* what `inverse` is mapped from; NULL: it is in memory */
    const void *rows;       /* F32 or F16 rows, mapped */
    size_t stride;          /* bytes from row to row */
    float unit;             /* F16: a weight is its number times this power of two */
    const float *row_scale; /* packed; NULL: all ones */
    const float *col_scale; /* packed */
    const float *base;      /* c; NULL: zero */
    const float *norm;      /* q: similarity is W_ij q_j / q_i; NULL: no weights */
    const double *popularity;
    ease__ids ids, titles; /* titles: empty table, or one an item, "" for none */
    void *title_bytes;     /* what `titles` borrows, if not from the file */
    ease__container file;  /* open if the arrays above lie in it, else they are ours */
    int threads;           /* that saving and counting take; 0: all */
};

/* What beside the inverse makes a model. Everything is copied except what the
 * comments say. */
typedef struct ease__recipe {
    ease_gram_kind kind;
    ease_precision precision;
    double lambda, residual;
    int nonnegative;
    int threads; /* 0: all */
    int64_t users, interactions;
    const double *sums;     /* column sums; NULL: use `diagonal` for popularity */
    const double *scale;    /* s; NULL for counts. 0: a constant column */
    const double *diagonal; /* of X'X, n */
    ease__ids *ids;         /* taken over */
    ease__tilefile *work;   /* taken over; NULL: the inverse is in memory */
} ease__recipe;

/* Takes over the inverse (and r->ids): both are empty afterwards, even on failure. Of an
 * inverse mapped from r->work the diagonal tiles are whole. */
ease_status ease__model_from_inverse(ease__tiled *inverse, ease__recipe *r,
                                     ease_model **out, ease_error *err);

/* EASE_E_ARG where there are no weights to do with what `what` says. */
ease_status ease__model_needs_weights(const ease_model *m, const char *what,
                                      ease_error *err);

/* The number of a method in files, and of one that the file of a model with weights
 * does not say. */
int ease__method_number(const char *name); /* -1: none of this name */
const char *ease__ease_method(bool nonnegative);

/* To be called once for each tile row, after it has been used: weights that lie in a
 * work file need no more memory than a tile row then. */
void ease__model_forget(const ease_model *m);

/* What the weights take in a file of n items; SIZE_MAX where it overflows. */
size_t ease__model_weight_bytes(int32_t n, ease_storage storage);

/* scores_j += weight * W_ij for j in from .. to-1; scores[0] is that of item `from`.
 * Every storage form, same arithmetic: the weight as a float, times `weight`. */
void ease__model_add_row(const ease_model *m, int32_t item, float weight, int32_t from,
                         int32_t to, float *scores);
float ease__model_weight(const ease_model *m, int32_t i, int32_t j);

#endif
