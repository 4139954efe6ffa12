/* Autoencoders with a multinomial likelihood (Liang, Krishnan, Hoffman and Jebara,
 * WWW 2018): mult-dae has one hidden layer, mult-vae a sampled one. */
#include "methods/network.h"

enum { LATENT = EASE__OWN_SETTINGS, ANNEAL, CAP };

static const ease_setting dae_settings[] = {EASE__NETWORK_SETTINGS(0.01 / 500, 200),
                                            {0}};

static const ease_setting vae_settings[] = {
    EASE__NETWORK_SETTINGS(0, 600),
    {.name = "latent",
     .about = "width of the sampled layer",
     .value = 200,
     .least = 1,
     .most = EASE__MOST_WIDTH,
     .whole = 1},
    {.name = "anneal",
     .about = "updates after which the weight of the divergence would be 1",
     .value = 200000,
     .most = 1e12},
    {.name = "cap",
     .about = "largest weight of the divergence",
     .value = 0.2,
     .most = 1e6},
    {0}};

static ease_status train_dae(const ease_interactions *x, const ease_train_options *o,
                             const double *given, ease_model *m, ease_error *err)
{
    ease__network_options n = ease__network_options_of(given);

    n.loss = EASE__MULTINOMIAL;
    n.shape.normalize = 1;
    return ease__network_train(x, o, &n, m, err);
}

static ease_status train_vae(const ease_interactions *x, const ease_train_options *o,
                             const double *given, ease_model *m, ease_error *err)
{
    ease__network_options n = ease__network_options_of(given);

    n.loss = EASE__MULTINOMIAL;
    n.shape.normalize = 1;
    n.shape.layers = 3;
    n.shape.width[1] = (int32_t)given[LATENT];
    n.shape.activation[1] = EASE__LINEAR;
    n.shape.width[2] = n.shape.width[0];
    n.shape.activation[2] = EASE__TANH;
    n.drawn = 1;
    n.anneal = given[ANNEAL];
    n.cap = given[CAP];
    return ease__network_train(x, o, &n, m, err);
}

const ease__method ease__mult_dae = {
    .info =
        {
            .name = "mult-dae",
            .about = "denoising autoencoder, multinomial likelihood (Liang et al., WWW "
                     "2018)",
            .rounds = "epochs",
            .grid = "decay=2e-5|2e-4|2e-3",
        },
    .number = 9,
    .settings = dae_settings,
    .form = &ease__form_latent,
    .fill = train_dae,
};
const ease__method ease__mult_vae = {
    .info =
        {
            .name = "mult-vae",
            .about = "variational autoencoder, multinomial likelihood (Liang et al., "
                     "WWW 2018)",
            .rounds = "epochs",
            .grid = "cap=0.2|0.5|1,anneal=1000|5000",
        },
    .number = 10,
    .settings = vae_settings,
    .form = &ease__form_latent,
    .fill = train_vae,
};
