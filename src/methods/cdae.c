/* The collaborative denoising autoencoder (Wu, DuBois, Zheng and Ester, WSDM 2016):
 * one hidden layer, to which each user adds a vector V_u during training. The model
 * does not keep these vectors: a history is scored with V_u = 0. */
#include "methods/network.h"

enum { WEIGHT = EASE__OWN_SETTINGS };

static const ease_setting settings[] = {
    EASE__NETWORK_SETTINGS(0.03, 200),
    {.name = "weight",
     .about = "factor of the items of a history in the square loss; that of other "
              "items is 1",
     .value = 1,
     .most = 1e6},
    {0}};

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    ease__network_options n = ease__network_options_of(given);

    n.loss = EASE__SQUARES;
    n.of_users = true;
    n.weight = given[WEIGHT];
    return ease__network_train(x, o, &n, m, err);
}

const ease__method ease__cdae = {
    .info =
        {
            .name = "cdae",
            .about = "collaborative denoising autoencoder (Wu et al., WSDM 2016)",
            .rounds = "epochs",
            .grid = "decay=0.003|0.01|0.03|0.1,weight=1|2",
        },
    .number = 8,
    .settings = settings,
    .form = &ease__form_latent,
    .fill = train,
};
