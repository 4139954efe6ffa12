/* What a model keeps beside the inverse so that it can be updated, checked, and
 * evaluated without one of its users. */
#ifndef EASE_MODEL_LIVING_H
#define EASE_MODEL_LIVING_H

#include "gram/gram.h"
#include "model/form.h"
#include "model/method.h"

/* The matrix of the model is C + diagMat(Lambda), where C is X'WX, centred for the
 * covariance. Arrays have an entry for each item. */
typedef struct ease__living {
    const double *diagonal; /* of X'WX; NULL: the model is not updatable */
    const double *counts;   /* the number of users of each item */
    const double *sums;     /* of the columns of WX */
    const double *product;  /* X'WX v, v_j = ease__proof_number(seed, j) */
    const double *error;    /* bounds of the errors of `product`; NULL: 0, or unknown */
    uint64_t seed;
    double lambda;   /* as it is in Lambda: with a user power, that of the options times
                        the mean weight of the first training */
    double mass;     /* the sum of the weights of users; 0: unknown */
    int64_t updates; /* since the matrix was inverted */
    bool weighted;   /* X'WX has fractions, or was rounded to float32 */
} ease__living;

static inline bool ease__is_living(const ease__living *l)
{
    return l->diagonal != NULL;
}

/* Fails with EASE_E_ARG unless models with these options can be updated. */
ease_status ease__living_check(const ease__method *method, const ease__family *f,
                               ease_gram_kind kind, bool tags, ease_error *err);
/* The same for models that ease_leave_one_out() evaluates. */
ease_status ease__leaving_check(const ease__method *method, const ease__family *f,
                                ease_gram_kind kind, bool tags, ease_error *err);
/* The same for models that are trained with these options, which were checked. */
ease_status ease__leaving_options(const ease__method *method,
                                  const ease_train_options *o, ease_error *err);
/* The same, for training that is to choose lambda in this way. */
ease_status ease__choosing_check(const ease__method *method,
                                 const ease_train_options *o, ease_error *err);
/* Fails with EASE_E_ARG unless the model is updatable. */
ease_status ease__living_required(const ease_model *m, ease_error *err);

/* Copies all arrays of n entries; {0} gives {0}. Whatever was allocated when it fails
 * is freed with *out. */
ease_status ease__living_copy(const ease__living *from, int32_t n, ease__living *out,
                              ease_error *err);
void ease__living_free(ease__living *l);
size_t ease__living_held(const ease__living *l, int32_t n);

/* The sections of updatable models in files of the form packed. */
#define EASE__LIVING_SECTIONS                                                          \
    {"living", false}, {"diagonal", false}, {"counts", false}, {"column_sums", false}, \
        {"proof", false},                                                              \
    {                                                                                  \
        "proof_error", false                                                           \
    }
ease_status ease__living_save(const ease__saving *s, ease_error *err);
/* Sets m->living from the sections of m->file, if there are any, and checks them. */
ease_status ease__living_open(ease_model *m, ease_error *err);

/* The settings that a model of the closed-form family was trained with. */
ease__family ease__model_family(const ease_model *m);

/* Writes Lambda to `out`, n entries, by the numbers of the matrix. For lambda-power 0,
 * or the kind counts. */
void ease__living_penalty(const ease__living *l, const ease__family *f, int32_t n,
                          double *out);

/* True if column j is constant, so that the column of the covariance is 0. */
bool ease__living_constant(const ease__living *l, int32_t j);

/* Computes the residual of a model whose file has been verified. Fails with
 * EASE_E_NOMEM. */
ease_status ease__proof_residual(const ease_model *m, int threads, double *residual,
                                 ease_error *err);

/* Writes v to `v`, and (C + diagMat(Lambda)) v, from the proof, to `w`: n entries
 * each. */
void ease__living_product(const ease__living *l, const ease__family *f,
                          ease_gram_kind kind, int32_t n, double *v, double *w);

#endif
