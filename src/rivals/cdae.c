/* The collaborative denoising autoencoder (Wu, DuBois, Zheng and Ester, WSDM 2016):
 * one hidden layer, to which each user adds numbers of its own while it learns. A
 * model has none of these: a history is scored alone, with V_u = 0. */
#include "rivals/network.h"

enum { EPOCHS, BATCH, RATE, DROPOUT, SEED, HIDDEN, DECAY, WEIGHT };

static const ease_setting settings[] = {
    {.name = "epochs",
     .about = "each goes once through all users",
     .value = 100,
     .least = 1,
     .most = 1e6,
     .whole = 1},
    {.name = "batch",
     .about = "users in a step",
     .value = 500,
     .least = 1,
     .most = 1 << 20,
     .whole = 1},
    {.name = "rate", .about = "of Adam", .value = 1e-3, .most = 1e3},
    {.name = "dropout",
     .about = "share of a history that is hidden from the network",
     .value = 0.5,
     .most = 0.99},
    {.name = "seed",
     .about = "of all that is drawn",
     .value = 98765,
     .most = 4294967295.0,
     .whole = 1},
    {.name = "hidden",
     .about = "numbers in the hidden layer",
     .value = 200,
     .least = 1,
     .most = EASE__MOST_WIDTH,
     .whole = 1},
    {.name = "decay",
     .about = "of the squares of all weights is in the loss",
     .value = 0.001,
     .most = 1e6},
    {.name = "weight",
     .about = "of the items that are there, in the square loss; of others it is 1",
     .value = 1,
     .most = 1e6},
    {0}};

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    ease__network_options n = {.shape = {.encoder = EASE__NETWORK,
                                         .layers = 1,
                                         .width = {(int32_t)given[HIDDEN]},
                                         .activation = {EASE__TANH}},
                               .drawn = -1,
                               .loss = EASE__SQUARES,
                               .of_users = true,
                               .epochs = (int32_t)given[EPOCHS],
                               .batch = (int32_t)given[BATCH],
                               .rate = given[RATE],
                               .dropout = given[DROPOUT],
                               .decay = given[DECAY],
                               .weight = given[WEIGHT],
                               .seed = (uint64_t)given[SEED]};

    return ease__network_train(x, o, &n, m, err);
}

const ease__rival ease__cdae = {
    .settings = settings, .grid = "decay=1e-4|1e-3|1e-2,weight=1|5", .train = train};
