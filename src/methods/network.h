/* Autoencoders: networks that learn to reconstruct a history from a part of it.
 *
 *     h_1 = f_1(x E + V_u + b_1),  h_l = f_l(h_(l-1) A_l + b_l),  y = h V' + c
 *
 * where x is a history after dropout, divided by its length if the shape says so. One layer may be sampled, h = mu + e exp(s / 2) with e normal and
 * s = h_(l-1) S + b_s, mu being that layer; its divergence from a normal distribution
 * then adds to the loss. Adam minimizes, on batches of users,
 * the mean loss of the users plus decay times the squares of all weights (not of biases).
 *
 * A step is a sequence of phases, each a loop over blocks whose shapes and order do not
 * depend on the number of threads, so that the bits of the result do not either. */
#ifndef EASE_METHODS_NETWORK_H
#define EASE_METHODS_NETWORK_H

#include "methods/methods.h"

typedef enum ease__loss {
    EASE__MULTINOMIAL, /* - sum_j x_j log softmax(y)_j */
    EASE__SQUARES      /* sum_j (x_j - y_j)^2, times `weight` where x_j is not 0 */
} ease__loss;

typedef struct ease__network_options {
    ease__latent_shape shape;
    int32_t drawn; /* the sampled layer; -1: none */
    ease__loss loss;
    bool of_users; /* there are V_u */
    int32_t epochs, batch;
    double rate, dropout, decay, weight;
    double anneal, cap; /* weight of the divergence: min(cap, steps so far / anneal) */
    uint64_t seed;
} ease__network_options;

/* The settings that all networks have, first in their tables. */
enum {
    EASE__EPOCHS,
    EASE__BATCH,
    EASE__RATE,
    EASE__DROPOUT,
    EASE__DECAY,
    EASE__HIDDEN,
    EASE__SEED,
    EASE__OWN_SETTINGS /* index of the first other setting */
};

/* clang-format off */
#define EASE__NETWORK_SETTINGS(decay_, hidden_)                                        \
    {.name = "epochs", .about = "passes over all users", .value = 200,                 \
     .least = 1, .most = 1e6, .whole = 1},                                             \
    {.name = "batch", .about = "users in an update", .value = 500,                     \
     .least = 1, .most = 1 << 20, .whole = 1},                                         \
    {.name = "rate", .about = "learning rate of Adam", .value = 1e-3, .most = 1e3},    \
    {.name = "dropout", .about = "share of the input that is dropped in training",     \
     .value = 0.5, .most = 0.99},                                                      \
    {.name = "decay", .about = "factor of the sum of squared weights in the loss",     \
     .value = (decay_), .most = 1e6},                                                  \
    {.name = "hidden", .about = "width of a hidden layer", .value = (hidden_),         \
     .least = 1, .most = EASE__MOST_WIDTH, .whole = 1},                                \
    {.name = "seed", .about = "seed of all random numbers", .value = 98765,            \
     .most = 4294967295.0, .whole = 1}
/* clang-format on */

/* The options of a network of one hidden layer with these settings. */
ease__network_options ease__network_options_of(const double *settings);

/* The whole of training: fills what a latent model has. */
ease_status ease__network_train(const ease_interactions *x, const ease_train_options *o,
                                const ease__network_options *n, ease_model *m,
                                ease_error *err);

/* ---- one step, for training and for tests --------------------------------------- */

/* The place of a dense layer among the weights: in x out numbers at a, then its bias
 * at b. */
typedef struct ease__layer {
    size_t a, b;
    int32_t in, out;
} ease__layer;

/* The places of the parts in one array of `count` floats. */
typedef struct ease__network_parts {
    size_t embedding, dense, decoder, base, count;
    ease__layer layer[EASE__MOST_LAYERS]; /* the first layer has only `b` and `out` */
    ease__layer spread; /* S and b_s; `in` is 0 without a sampled layer */
} ease__network_parts;

/* A batch of users, the input of a step. */
typedef struct ease__batch {
    int32_t count;
    ease_row *target; /* rows of X */
    ease_row *input;  /* their input after dropout, with weights */
    int64_t *user;    /* numbers of the users */
    float *noise;     /* e: count x width of the sampled layer */
} ease__batch;

/* A network: weights with Adam's moments, and the scratch of a step. */
typedef struct ease__network {
    ease__network_options o;
    ease__network_parts at;
    int32_t items;
    int64_t users;
    int threads;
    float *value, *first, *second;                /* at.count each */
    float *user_value, *user_first, *user_second; /* V: users x the first width */
    int64_t steps;
    int32_t epoch; /* from 1; also the steps of V_u, one in each epoch */
    struct ease__step_scratch *scratch;
} ease__network;

/* Bytes that ease__network_new will allocate, beside `count` x 4 bytes of the model. */
size_t ease__network_bytes(const ease__network_options *o, int64_t users, int32_t items,
                           int64_t longest, int threads);
/* Allocates a network with first weights as published: Glorot's uniform, biases
 * normal with deviation 0.001 cut off at twice that; V_u is 0. `longest` is the most
 * interactions of a batch. */
ease_status ease__network_new(const ease__network_options *o, int64_t users,
                              int32_t items, int64_t longest, int threads,
                              ease__network *out, ease_error *err);
void ease__network_free(ease__network *net);

/* Updates all weights. Returns the mean loss of the batch before that, without the
 * decay. */
double ease__network_step(ease__network *net, const ease__batch *b);

struct ease__step_scratch *ease__step_scratch_new(const ease__network *net,
                                                  int64_t longest);
void ease__step_scratch_free(struct ease__step_scratch *scratch);
size_t ease__step_scratch_bytes(const ease__network_options *o, int32_t items,
                                int64_t longest, int threads);

/* ---- kernels -------------------------------------------------------------------- */

/* One step of Adam (Kingma and Ba, algorithm 1) with gradient g + 2 decay w. */
typedef struct ease__adam {
    float rate;  /* divided by 1 - beta1^t */
    float scale; /* 1 / sqrt(1 - beta2^t) */
    float decay;
} ease__adam;

ease__adam ease__adam_at(double rate, double decay, int64_t step); /* step from 1 */
void ease__adam_update(const ease__adam *a, const float *gradient, float *value,
                       float *first, float *second, size_t count);

/* x <- exp(x - max). Returns the sum of that; sets *max. */
float ease__exp_panel(float *x, int32_t count, float *max);
/* x <- scale x. Returns the sum of squares before. */
float ease__square_panel(float *x, int32_t count, float scale);
void ease__scale(float *x, float scale, size_t count);
/* Sums the columns of a rows x columns matrix. */
void ease__column_sums(const float *x, int32_t rows, int32_t columns, size_t ld,
                       float *sums);

/* The transpose of a batch: the rows with item i are at starts[i] .. starts[i +
 * 1]-1, ascending. */
typedef struct ease__batch_columns {
    int64_t *starts; /* items + 1 */
    int32_t *rows;
    float *values;
} ease__batch_columns;

void ease__batch_transpose(const ease_row *rows, int32_t count, int32_t items,
                           ease__batch_columns *out);

#endif
