/* Latent models: a history is encoded as a vector h of `rank` latent factors, and the
 * score of item j is base_j + h . v_j. */
#ifndef EASE_MODEL_LATENT_H
#define EASE_MODEL_LATENT_H

#include "core/core.h"

/* The computation of h from a history x. */
typedef enum ease__encoder {
    EASE__NETWORK, /* layers: h_1 = f_1(x E + b_1), h_l = f_l(h_(l-1) A_l + b_l) */
    EASE__FOLD_IN  /* least squares with confidence: h = (V'V + sum_i alpha x_i v_i v_i'
                    * + lambda I)^-1 sum_i (1 + alpha x_i) v_i */
} ease__encoder;

typedef enum ease__activation { EASE__LINEAR, EASE__TANH } ease__activation;

enum { EASE__MOST_LAYERS = 4, EASE__MOST_WIDTH = 1 << 14 };

/* Also the section "latent" of files. */
typedef struct ease__latent_shape {
    int32_t encoder;
    int32_t normalize; /* network: 1: the history is first divided by its length */
    int32_t layers;    /* network: 1 .. EASE__MOST_LAYERS; fold-in: 1 */
    int32_t width[EASE__MOST_LAYERS]; /* of each layer, the last one the rank; then 0 */
    int32_t activation[EASE__MOST_LAYERS];
    float alpha, lambda; /* fold-in; else 0 */
} ease__latent_shape;

/* The matrices, row-major. In a network, `dense` is b_1, then A_l (width l-1 x width l)
 * and b_l of each further layer; in fold-in, it is V'V. */
typedef struct ease__latent {
    ease__latent_shape shape;
    const float *embedding; /* E: items x the first width; NULL in fold-in */
    const float *dense;
    const float *decoder; /* V: items x rank */
} ease__latent;

static inline int32_t ease__latent_rank(const ease__latent_shape *s)
{
    return s->width[s->layers - 1];
}

/* True if a model of this shape can exist. */
bool ease__latent_shape_valid(const ease__latent_shape *s);
/* The number of floats in `dense` of a model of this shape. */
size_t ease__latent_dense_count(const ease__latent_shape *s);

#endif
