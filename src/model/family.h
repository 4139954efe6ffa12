/* The settings of the closed-form family. All members share one solve:
 *
 *     P = (C + diagMat(Lambda))^-1,   W_ij = -s_i P_ij m_j t_j off the diagonal
 *
 * where C is X'WX of some kind. EASE is the member with the settings {0}. */
#ifndef EASE_MODEL_FAMILY_H
#define EASE_MODEL_FAMILY_H

#include "core/core.h"

/* The factors t_j of the scores of items, n_j being the number of users of item j. */
typedef enum ease__rescaling {
    EASE__RESCALE_POWER,   /* n_j^output */
    EASE__RESCALE_SHARE,   /* (n_j / largest n)^output */
    EASE__RESCALE_SIGMOID, /* 1 + exp(output (log(n_j + 1) - middle)) */
} ease__rescaling;

typedef struct ease__family {
    /* These need another inverse. */
    double lambda_power; /* a: Lambda_j = lambda d_j^a, d the diagonal of C */
    double dropout;      /* p: Lambda_j grows by p / (1 - p) g_j, g that of X'WX */
    double user_power;   /* b: w_u = (items of user u)^-b */
    bool raw;            /* b changes neither lambda nor g, which is n; else lambda is
                            multiplied by the mean weight of b */
    /* These do not. */
    double relaxation; /* xi: m_j = (1 - xi) / P_jj, or Lambda_j if 1 - Lambda_j P_jj is
                          at most xi; 0: m_j = 1 / P_jj */
    double input;      /* s_i = n_i^input */
    double output;
    ease__rescaling output_kind;
} ease__family;

/* True if only lambda and the kind of the matrix matter for the inverse. */
static inline bool ease__family_plain(const ease__family *f)
{
    return f->lambda_power == 0 && f->dropout == 0 && f->user_power == 0;
}

/* True if s or t is not 1. */
static inline bool ease__family_scales(const ease__family *f)
{
    return f->input != 0 || f->output != 0;
}

/* Writes s and t for the numbers of users of n items; an item without users counts as
 * one with one user, and has no influence on the factors of others. */
void ease__family_factors(const ease__family *f, const double *counts, int32_t n,
                          double *s, double *t);

#endif
