/* A model: the members of its form, and the ids, titles and facts that all forms
 * have. */
#ifndef EASE_MODEL_MODEL_H
#define EASE_MODEL_MODEL_H

#include "compute/kernels.h"
#include "core/container.h"
#include "data/ids.h"
#include "matrix/tilefile.h"
#include "model/form.h"
#include "model/known.h"
#include "model/latent.h"
#include "model/living.h"
#include "model/method.h"

/* Sparse rows: row i is columns[starts[i] .. starts[i + 1] - 1], ascending, without i.
 * Columns and weights may be mapped from a file that changes while they are read:
 * columns are read by ease__sparse_column() wherever they are indices. */
typedef struct ease__sparse {
    const uint64_t *starts; /* items + 1 */
    const int32_t *columns;
    const float *weights;
    /* A bit for each row that was found valid; NULL: all rows were. */
    _Atomic uint64_t *checked;
} ease__sparse;

/* The column of a weight, always within 0 .. items - 1. It is read once, since what was
 * in range at a first reading of a mapped file need not be at a second. Columns out of
 * range become 0; the caller learns from ease__container_unchanged() that the file has
 * changed. */
static inline int32_t ease__sparse_column(const ease__sparse *s, uint64_t at,
                                          int32_t items)
{
    int32_t column = __atomic_load_n(&s->columns[at], __ATOMIC_RELAXED);

    return (uint32_t)column < (uint32_t)items ? column : 0;
}

/* The tags of the items: those of item i are numbers[starts[i] .. starts[i + 1] - 1],
 * ascending. */
typedef struct ease__item_tags {
    ease__ids names;
    const uint64_t *starts; /* items + 1; NULL: no tags */
    const int32_t *numbers;
    const float *weights; /* NULL: all ones */
    bool owned;           /* the arrays are not part of the file */
    double weight;        /* in training; 0: they were not used */
} ease__item_tags;

/* Dense weights are W_ij = (P_ij * row_scale_i) * col_scale_j off the diagonal and 0
 * on it; negative weights are 0 for EASE >= 0. A trained model has P itself (2 n^2
 * bytes); a file has P ("packed") or rows of W. Other forms have their own members. */
struct ease_model {
    ease_model_info info;
    const ease__form *form;
    const ease__kernels *kernels;
    ease__tiled inverse;    /* packed: P in F32, diagonal tiles whole */
    ease__tilefile *work;   /* that `inverse` is mapped from; NULL: it is in memory */
    const void *rows;       /* F32 or F16 rows, mapped */
    size_t stride;          /* bytes from row to row */
    float unit;             /* F16: a weight is its number times this power of two */
    const float *row_scale; /* packed; NULL: all ones */
    const float *col_scale; /* packed */
    const float *base;      /* c; NULL: zero */
    const float *norm;      /* dense: q; similarity is W_ij q_j / q_i, or ... */
    const float *norm_to;   /* ... W_ij norm_to_j / norm_i; NULL: `norm` */
    ease_model *second;     /* blended: the model whose weights are added; else NULL */
    float share;            /* blended: of its weights */
    ease__sparse sparse;    /* sparse */
    ease__latent latent;    /* latent */
    ease__known known;      /* known users */
    const double *popularity;
    ease__living living;   /* packed: of an updatable model; else {0} */
    ease__ids ids, titles; /* titles: an empty table, or one for each item, "": none */
    const char *settings;  /* of the method, as text; NULL: none */
    int32_t rounds;        /* of training (epochs, iterations); 0: none, or unknown */
    void *title_bytes;     /* that `titles` borrows, if not from the file */
    ease__item_tags tags;
    uint64_t position;    /* of the data in `log` */
    char *log;            /* NULL: no position is known */
    ease__container file; /* open if the arrays above are mapped from it */
    int threads;          /* of saving and summarizing; 0: all */
};

/* The norm of the items that weights lead to. */
static inline const float *ease__model_norm_to(const ease_model *m)
{
    return m->norm_to ? m->norm_to : m->norm;
}

/* The parts of a dense model beside the inverse. They are copied unless a comment says
 * otherwise. */
typedef struct ease__model_parts {
    const ease__method *method; /* of form packed */
    ease_gram_kind kind;
    ease_precision precision;
    double lambda, residual;
    int threads; /* 0: all */
    int64_t users, interactions;
    const double *sums;   /* column sums; NULL: use `diagonal` for popularity */
    const double *centre; /* covariance, correlation: sums whose means are ... */
    double mass;          /* ... centre / mass */
    const double *scale;  /* of the solved matrix; NULL: all 1. 0: a constant column */
    const double *ridge;  /* Lambda of the solved matrix; needed with a relaxation */
    const double *diagonal; /* of X'X, n */
    double relaxation;      /* xi of the family */
    const double *input;    /* s of the family; NULL: s and t are 1 */
    const double *output;   /* t */
    const char *settings;   /* of the method; NULL: none */
    ease__living living;    /* {0}: the model is not updatable */
    double *pivots;         /* receives the diagonal of P; may be NULL */
    bool apart;             /* the tiles lie elsewhere: the pivots are given, and the
                               caller completes the inverse and sets the base */
    ease__ids *ids;         /* taken over */
    ease__tilefile *work;   /* taken over; NULL: the inverse is in memory */
} ease__model_parts;

/* Trains by a method of form packed that needs only the Gram matrix of x. The options
 * were checked, except the backend. */
ease_status ease__train_dense(const ease_interactions *x, const ease_train_options *o,
                              ease_model **out, ease_error *err);

/* Makes a dense model. Takes over the inverse and r->ids: both are empty afterwards,
 * even on failure. If the inverse is mapped from r->work, both halves of its diagonal
 * tiles are valid. */
ease_status ease__model_from_inverse(ease__tiled *inverse, ease__model_parts *r,
                                     ease_model **out, ease_error *err);

/* Fails with EASE_E_ACCURACY if a number of the base is not finite. */
ease_status ease__model_check_base(const ease_model *m, ease_error *err);

/* Makes a packed model one of the form blended, with `share` of the weights of
 * `second`, which it takes over and which replaces an earlier one; NULL: makes it
 * packed again. The similarity of a blended model is the weight. */
void ease__model_blend(ease_model *m, ease_model *second, float share);

/* Sets the scales, the norms and the base of a dense model again, from parts with other
 * relaxation, input, output and settings: the same bits as a model that is made with
 * these. `pivots` is from ease__model_from_inverse(). After a failure the model can
 * only be freed. */
ease_status ease__model_rescale(ease_model *m, const ease__model_parts *r,
                                const double *pivots, ease_error *err);

/* The parts of ease_model_save, for models whose tiles lie elsewhere. The first chooses
 * the form and sets the parameters, except the unit of float16; the second opens the
 * file, the third writes all sections but "weights". */
ease_status ease__saving_prepare(ease__saving *s, const char *path,
                                 ease_storage storage, ease_error *err);
ease_status ease__saving_open(ease__saving *s, const char *path, ease_error *err);
ease_status ease__saving_put_small(const ease__saving *s, ease_error *err);
/* The unit of float16 for weights up to this: a power of two. */
float ease__half_unit(float largest);
/* Multiplies entries P_ij of row i, from column `left` on, by the scales of the model:
 * they become weights. */
void ease__packed_scale(const ease_model *m, int32_t i, int32_t left, int32_t count,
                        float *row);
/* The bits of the largest finite |weight| of a tile of the inverse, both halves. */
int32_t ease__packed_largest(const ease_model *m, const float *tile, int32_t i,
                             int32_t j);

/* Writes the section of the position, if there is one. */
ease_status ease__position_write(const ease_model *m, ease__container_writer *w,
                                 ease_error *err);
/* Sets the position from the section of m->file, which is checked. */
ease_status ease__position_open(ease_model *m, ease_error *err);

/* Writes the sections of the tags, if there are any. */
ease_status ease__item_tags_write(const ease_model *m, ease__container_writer *w,
                                  ease_error *err);
/* Sets the tags from the sections of m->file, which are checked. */
ease_status ease__item_tags_open(ease_model *m, ease_error *err);
void ease__item_tags_free(ease__item_tags *t);
/* Copies the tags to a model that has the same items, and behind them perhaps others,
 * which get no tags. */
ease_status ease__item_tags_copy(const ease_model *from, ease_model *to,
                                 ease_error *err);
/* Gives a trained model the tags of the options, if there are any; `weight` is what
 * they had in training. Logs how many items of them it does not know (level 2). */
ease_status ease__train_tags(ease_model *m, const ease_train_options *o, double weight,
                             ease_error *err);
size_t ease__item_tags_held(const ease__item_tags *t, int32_t items);

/* The bytes of memory of a trained model. */
size_t ease__model_held(const ease_model *m);

/* Fails with EASE_E_ARG if the model has no weights; `what`, as "exporting", is for the
 * message. */
ease_status ease__model_needs_weights(const ease_model *m, const char *what,
                                      ease_error *err);

/* Makes a model of a method for the items of x, with ids, popularity and settings; the
 * members of its form are set by training. */
ease_status ease__model_new(const ease__method *method, const ease_interactions *x,
                            const char *settings, ease_model **out, ease_error *err);
/* Replaces the settings; NULL or "": none. */
ease_status ease__model_set_settings(ease_model *m, const char *settings,
                                     ease_error *err);

/* Releases the pages of weights that are mapped from a work file. To be called after
 * each tile row, so that no more than a tile row is resident. */
void ease__model_forget(const ease_model *m);

/* Row `row` of a model in the form f32 or f16. */
static inline const void *ease__row_at(const ease_model *m, int32_t row)
{
    return (const char *)m->rows + (size_t)row * m->stride;
}

/* Verifies the weights of the window; must be called before they are used. Fails with
 * EASE_E_FORMAT if they are damaged or the file was modified, or EASE_E_IO if it cannot
 * be read. */
ease_status ease__model_need(const ease_model *m, ease__window w, ease_error *err);
/* Verifies the rows of the items of a history. */
ease_status ease__model_need_history(const ease_model *m, ease_row history,
                                     ease_error *err);

/* scores_j += weight * W_ij for j in from .. to-1; scores[0] is that of item `from`.
 * Every form uses the same arithmetic: the weight as a float, times `weight`. */
void ease__model_add_row(const ease_model *m, int32_t item, float weight, int32_t from,
                         int32_t to, float *scores);
float ease__model_weight(const ease_model *m, int32_t i, int32_t j);

#endif
