/* A model: what its form consists of, and what is shown beside that. */
#ifndef EASE_MODEL_MODEL_H
#define EASE_MODEL_MODEL_H

#include "compute/kernels.h"
#include "core/container.h"
#include "data/ids.h"
#include "matrix/tilefile.h"
#include "model/form.h"
#include "model/known.h"
#include "model/latent.h"
#include "model/method.h"

/* Row i is columns[starts[i] .. starts[i + 1] - 1], rising and without i itself. */
typedef struct ease__sparse {
    const uint64_t *starts; /* items + 1 */
    const int32_t *columns;
    const float *weights;
} ease__sparse;

/* Dense weights are W_ij = (P_ij * row_scale_i) * col_scale_j off the diagonal and 0 on
 * it, cut off at 0 for EASE >= 0. A trained model holds P itself (2 n^2 bytes); a file
 * holds the same ("packed") or rows of W. Other forms have members of their own. */
struct ease_model {
    ease_model_info info;
    const ease__form *form;
    const ease__kernels *kernels;
    ease__tiled inverse;    /* packed: P in F32, diagonal tiles whole */
    ease__tilefile *work;   /* what `inverse` is mapped from; NULL: it is in memory */
    const void *rows;       /* F32 or F16 rows, mapped */
    size_t stride;          /* bytes from row to row */
    float unit;             /* F16: a weight is its number times this power of two */
    const float *row_scale; /* packed; NULL: all ones */
    const float *col_scale; /* packed */
    const float *base;      /* c; NULL: zero */
    const float *norm;      /* dense: q; similarity is W_ij q_j / q_i */
    ease__sparse sparse;    /* sparse */
    ease__latent latent;    /* latent */
    ease__known known;      /* known users */
    const double *popularity;
    ease__ids ids, titles; /* titles: empty table, or one an item, "" for none */
    const char *settings;  /* of the method, as text; NULL: none */
    int32_t rounds;        /* that it took, where training goes by rounds; 0: unknown */
    void *title_bytes;     /* what `titles` borrows, if not from the file */
    ease__container file;  /* open if the arrays above lie in it, else they are ours */
    int threads;           /* that saving and counting take; 0: all */
};

/* What beside the inverse makes a model. Everything is copied except what the
 * comments say. */
typedef struct ease__model_parts {
    const ease__method *method; /* of form packed */
    ease_gram_kind kind;
    ease_precision precision;
    double lambda, residual;
    int threads; /* 0: all */
    int64_t users, interactions;
    const double *sums;     /* column sums; NULL: use `diagonal` for popularity */
    const double *scale;    /* s; NULL: all 1. 0: a constant column */
    const double *diagonal; /* of X'X, n */
    ease__ids *ids;         /* taken over */
    ease__tilefile *work;   /* taken over; NULL: the inverse is in memory */
} ease__model_parts;

/* Trains a method of form packed that needs no more than the Gram matrix of x, with
 * options that were checked but for the backend. */
ease_status ease__train_dense(const ease_interactions *x, const ease_train_options *o,
                              ease_model **out, ease_error *err);

/* Takes over the inverse (and r->ids): both are empty afterwards, even on failure. Of
 * an inverse mapped from r->work the diagonal tiles are whole. */
ease_status ease__model_from_inverse(ease__tiled *inverse, ease__model_parts *r,
                                     ease_model **out, ease_error *err);

/* Bytes of memory that a trained model takes. */
size_t ease__model_held(const ease_model *m);

/* EASE_E_ARG where there are no weights to do with what `what` says. */
ease_status ease__model_needs_weights(const ease_model *m, const char *what,
                                      ease_error *err);

/* Makes a model of a method for the items of x, to be filled by its training: it has
 * ids, popularity and the settings as text, and nothing that is its form's own. */
ease_status ease__model_new(const ease__method *method, const ease_interactions *x,
                            const char *settings, ease_model **out, ease_error *err);
/* Replaces the settings; NULL or "": none. */
ease_status ease__model_set_settings(ease_model *m, const char *settings,
                                     ease_error *err);

/* To be called once for each tile row, after it has been used: weights that lie in a
 * work file need no more memory than a tile row then. */
void ease__model_forget(const ease_model *m);

/* Row `row` of a model of rows. */
static inline const void *ease__row_at(const ease_model *m, int32_t row)
{
    return (const char *)m->rows + (size_t)row * m->stride;
}

/* Must be called before weights of the window are used: verifies them. Fails with
 * EASE_E_FORMAT if they are damaged or the file was modified, EASE_E_IO if it cannot be
 * read. */
ease_status ease__model_need(const ease_model *m, ease__window w, ease_error *err);
/* The same for the rows of the items of a history. */
ease_status ease__model_need_history(const ease_model *m, ease_row history,
                                     ease_error *err);

/* scores_j += weight * W_ij for j in from .. to-1; scores[0] is that of item `from`.
 * The same arithmetic in every form: the weight as a float, times `weight`. */
void ease__model_add_row(const ease_model *m, int32_t item, float weight, int32_t from,
                         int32_t to, float *scores);
float ease__model_weight(const ease_model *m, int32_t i, int32_t j);

#endif
