/* Autoencoders with a multinomial likelihood (Liang, Krishnan, Hoffman and Jebara, WWW
 * 2018): mult-dae with one hidden layer, mult-vae with one that is drawn. */
#include "rivals/network.h"

#define HIDDEN(width)                                                             \
    {                                                                             \
        .name = "hidden", .about = "numbers in a hidden layer", .value = (width), \
        .least = 1, .most = EASE__MOST_WIDTH, .whole = 1                          \
    }
#define DECAY(weight)                                                             \
    {                                                                             \
        .name = "decay", .about = "of the squares of all weights is in the loss", \
        .value = (weight), .most = 1e6                                            \
    }

/* What both have, in the order of the tables below. */
#define COMMON                                                            \
    {.name = "epochs",                                                    \
     .about = "each goes once through all users",                         \
     .value = 200,                                                        \
     .least = 1,                                                          \
     .most = 1e6,                                                         \
     .whole = 1},                                                         \
        {.name = "batch",                                                 \
         .about = "users in a step",                                      \
         .value = 500,                                                    \
         .least = 1,                                                      \
         .most = 1 << 20,                                                 \
         .whole = 1},                                                     \
        {.name = "rate", .about = "of Adam", .value = 1e-3, .most = 1e3}, \
        {.name = "dropout",                                               \
         .about = "share of a history that is hidden from the network",   \
         .value = 0.5,                                                    \
         .most = 0.99},                                                   \
    {                                                                     \
        .name = "seed", .value = 98765, .about = "of all that is drawn",  \
        .most = 4294967295.0, .whole = 1                                  \
    }

enum {
    EPOCHS,
    BATCH,
    RATE,
    DROPOUT,
    SEED,
    HIDDEN_WIDTH,
    DECAY_WEIGHT,
    LATENT,
    ANNEAL,
    CAP
};

static const ease_setting dae_settings[] = {
    COMMON, HIDDEN(200), DECAY(0.01 / 500), {0}};

static const ease_setting vae_settings[] = {
    COMMON,
    HIDDEN(600),
    DECAY(0),
    {.name = "latent",
     .about = "numbers that are drawn",
     .value = 200,
     .least = 1,
     .most = EASE__MOST_WIDTH,
     .whole = 1},
    {.name = "anneal",
     .about = "steps in which the weight of the divergence would reach 1",
     .value = 200000,
     .most = 1e12},
    {.name = "cap", .about = "of that weight", .value = 0.2, .most = 1e6},
    {0}};

static ease__network_options common_options(const double *given)
{
    return (ease__network_options){.shape = {.encoder = EASE__NETWORK, .normalize = 1},
                                   .drawn = -1,
                                   .loss = EASE__MULTINOMIAL,
                                   .epochs = (int32_t)given[EPOCHS],
                                   .batch = (int32_t)given[BATCH],
                                   .rate = given[RATE],
                                   .dropout = given[DROPOUT],
                                   .decay = given[DECAY_WEIGHT],
                                   .seed = (uint64_t)given[SEED]};
}

static void add_layer(ease__latent_shape *s, double width, ease__activation f)
{
    s->width[s->layers] = (int32_t)width;
    s->activation[s->layers++] = f;
}

static ease_status train_dae(const ease_interactions *x, const ease_train_options *o,
                             const double *given, ease_model *m, ease_error *err)
{
    ease__network_options n = common_options(given);

    add_layer(&n.shape, given[HIDDEN_WIDTH], EASE__TANH);
    return ease__network_train(x, o, &n, m, err);
}

static ease_status train_vae(const ease_interactions *x, const ease_train_options *o,
                             const double *given, ease_model *m, ease_error *err)
{
    ease__network_options n = common_options(given);

    add_layer(&n.shape, given[HIDDEN_WIDTH], EASE__TANH);
    add_layer(&n.shape, given[LATENT], EASE__LINEAR);
    add_layer(&n.shape, given[HIDDEN_WIDTH], EASE__TANH);
    n.drawn = 1;
    n.anneal = given[ANNEAL];
    n.cap = given[CAP];
    return ease__network_train(x, o, &n, m, err);
}

const ease__rival ease__mult_dae = {
    .settings = dae_settings, .grid = "decay=0|2e-5|1e-4", .train = train_dae};
const ease__rival ease__mult_vae = {.settings = vae_settings,
                                    .grid = "cap=0.1|0.2|0.5,anneal=2000|20000",
                                    .train = train_vae};
