/* The closed-form family: methods that differ from EASE in the matrix that is inverted,
 * or in how weights are read off its inverse (model/family.h). Each published member is
 * a selection of the settings of ease-family. */
#include "methods/methods.h"

static ease_status fit(const ease_interactions *x, const ease_train_options *o,
                       ease_model **out, ease_error *err)
{
    return ease__train_dense(x, o, out, err);
}

/* ---- settings that several methods have ------------------------------------------ */

#define DROPOUT(value_)                                                     \
    {                                                                       \
        .name = "dropout",                                                  \
        .about = "probability that an interaction is dropped in training: " \
                 "p / (1 - p) times an item's count is added to lambda",    \
        .value = value_, .most = 0.99                                       \
    }
#define USER_POWER(value_)                                              \
    {                                                                   \
        .name = "user-power",                                           \
        .about = "a user with n items counts with the weight n^-VALUE", \
        .value = value_, .least = -1, .most = 2                         \
    }
#define RELAXATION(value_)                                                    \
    {                                                                         \
        .name = "relaxation",                                                 \
        .about = "largest weight of an item into itself in training: 0 is a " \
                 "zero diagonal, 1 a free one",                               \
        .value = value_, .most = 1                                            \
    }

/* ---- edlae, rlae, rdlae ---------------------------------------------------------- */

enum { EDLAE_DROPOUT };

static const ease_setting edlae_settings[] = {DROPOUT(0.33), {0}};

static const ease__axis edlae_axes[] = {
    {.setting = EDLAE_DROPOUT, .start = 0.5, .step = 1, .odds = true}, {.step = 0}};

static void edlae(const double *settings, ease__family *f)
{
    f->dropout = settings[EDLAE_DROPOUT];
}

const ease__method ease__edlae = {
    .info =
        {
            .name = "edlae",
            .about = "EASE trained with dropout (Steck, NeurIPS 2020)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
        },
    .number = 12,
    .settings = edlae_settings,
    .form = &ease__form_packed,
    .family = edlae,
    .axes = edlae_axes,
    .fit = fit,
};

enum { RLAE_RELAXATION };

static const ease_setting rlae_settings[] = {RELAXATION(0.5), {0}};

static const ease__axis rlae_axes[] = {{.setting = RLAE_RELAXATION, .step = 0.2},
                                       {.step = 0}};

static void rlae(const double *settings, ease__family *f)
{
    f->relaxation = settings[RLAE_RELAXATION];
}

const ease__method ease__rlae = {
    .info =
        {
            .name = "rlae",
            .about = "EASE with a relaxed diagonal (Moon, Kim and Lee, SIGIR 2023)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
        },
    .number = 13,
    .settings = rlae_settings,
    .form = &ease__form_packed,
    .family = rlae,
    .axes = rlae_axes,
    .fit = fit,
};

enum { RDLAE_DROPOUT, RDLAE_RELAXATION };

static const ease_setting rdlae_settings[] = {DROPOUT(0.33), RELAXATION(0.5), {0}};

static const ease__axis rdlae_axes[] = {
    {.setting = RDLAE_DROPOUT, .start = 0.5, .step = 1, .odds = true},
    {.setting = RDLAE_RELAXATION, .step = 0.2},
    {.step = 0}};

static void rdlae(const double *settings, ease__family *f)
{
    f->dropout = settings[RDLAE_DROPOUT];
    f->relaxation = settings[RDLAE_RELAXATION];
}

const ease__method ease__rdlae = {
    .info =
        {
            .name = "rdlae",
            .about = "EDLAE with a relaxed diagonal (Moon, Kim and Lee, SIGIR 2023)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
        },
    .number = 14,
    .settings = rdlae_settings,
    .form = &ease__form_packed,
    .family = rdlae,
    .axes = rdlae_axes,
    .fit = fit,
};

/* ---- dan ------------------------------------------------------------------------- */

enum { DAN_DROPOUT, DAN_USER_POWER, DAN_ITEM_POWER, DAN_RELAXATION };

static const ease_setting dan_settings[] = {
    DROPOUT(0),
    USER_POWER(0.5),
    {.name = "item-power",
     .about = "weights are multiplied by (users of the item of the history / users of "
              "the item that is scored)^VALUE",
     .value = 0.2,
     .least = -2,
     .most = 2},
    RELAXATION(0),
    {0}};

static const ease__axis dan_axes[] = {
    {.setting = DAN_USER_POWER, .start = 0.4, .step = 0.2},
    {.setting = DAN_DROPOUT, .start = 0.5, .step = 1, .odds = true},
    {.setting = DAN_ITEM_POWER, .start = 0.1, .step = 0.1, .coupled = true},
    {.setting = DAN_RELAXATION, .step = 0.2},
    {.step = 0}};

static void dan(const double *settings, ease__family *f)
{
    f->dropout = settings[DAN_DROPOUT];
    f->user_power = settings[DAN_USER_POWER];
    f->input = settings[DAN_ITEM_POWER];
    f->output = -settings[DAN_ITEM_POWER];
    f->relaxation = settings[DAN_RELAXATION];
    f->raw = true;
}

const ease__method ease__dan = {
    .info =
        {
            .name = "dan",
            .about = "EASE with data-adaptive normalization (Park et al., SIGIR 2025)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
        },
    .number = 15,
    .settings = dan_settings,
    .form = &ease__form_packed,
    .family = dan,
    .axes = dan_axes,
    .fit = fit,
};

/* ---- ease-rescaled, ease-ips ----------------------------------------------------- */

enum { RESCALED_POWER };

static const ease_setting rescaled_settings[] = {
    {.name = "power",
     .about = "the score of an item with n users is multiplied by n^-VALUE",
     .value = 0.1,
     .least = -2,
     .most = 2},
    {0}};

static const ease__axis rescaled_axes[] = {
    {.setting = RESCALED_POWER, .start = 0.1, .step = 0.1, .coupled = true},
    {.step = 0}};

static void rescaled(const double *settings, ease__family *f)
{
    f->output = -settings[RESCALED_POWER];
}

const ease__method ease__ease_rescaled = {
    .info =
        {
            .name = "ease-rescaled",
            .about = "EASE with scores rescaled by popularity (Steck, arXiv 2019)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
        },
    .number = 16,
    .settings = rescaled_settings,
    .form = &ease__form_packed,
    .family = rescaled,
    .axes = rescaled_axes,
    .fit = fit,
};

enum { IPS_PROPENSITY, IPS_POWER };

static const ease_setting ips_settings[] = {
    {.name = "propensity",
     .about = "model of the probability that an item is observed: a sigmoid of the "
              "logarithm of its count, or a power of its share of the largest count",
     .most = 1,
     .whole = 1,
     .words = "sigmoid|power"},
    {.name = "power",
     .about = "steepness of the sigmoid, or the power",
     .value = 0.1,
     .most = 2},
    {0}};

static const ease__axis ips_axes[] = {
    {.setting = IPS_POWER, .start = 0.1, .step = 0.1, .coupled = true}, {.step = 0}};

static void ips(const double *settings, ease__family *f)
{
    f->output = -settings[IPS_POWER];
    f->output_kind = settings[IPS_PROPENSITY] != 0 ? EASE__RESCALE_SHARE
                                                   : EASE__RESCALE_SIGMOID;
}

const ease__method ease__ease_ips = {
    .info =
        {
            .name = "ease-ips",
            .about = "EASE with inverse propensities (Onishi et al., SIGIR-AP 2025)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
        },
    .number = 17,
    .settings = ips_settings,
    .form = &ease__form_packed,
    .family = ips,
    .axes = ips_axes,
    .fit = fit,
};

/* ---- mrf ------------------------------------------------------------------------- */

enum { MRF_POWER };

static const ease_setting mrf_settings[] = {
    {.name = "lambda-power",
     .about =
         "lambda is multiplied by an item's entry of the diagonal of the covariance "
         "matrix to this power",
     .value = 0.75,
     .most = 2},
    {0}};

static const ease__axis mrf_axes[] = {
    {.setting = MRF_POWER, .start = 0.75, .step = 0.25}, {.step = 0}};

static void mrf(const double *settings, ease__family *f)
{
    f->lambda_power = settings[MRF_POWER];
}

static const ease_gram_kind covariance = EASE_GRAM_COVARIANCE;

const ease__method ease__mrf = {
    .info =
        {
            .name = "mrf",
            .about = "dense Markov random field, of covariances (Steck, NeurIPS 2019)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
            .kind = &covariance,
        },
    .number = 18,
    .settings = mrf_settings,
    .form = &ease__form_packed,
    .family = mrf,
    .axes = mrf_axes,
    .fit = fit,
};

/* ---- ease-family ----------------------------------------------------------------- */

enum { LAMBDA_POWER, DROPOUT_, USER_POWER_, RELAXATION_, INPUT_POWER, OUTPUT_POWER };

static const ease_setting family_settings[] = {
    {.name = "lambda-power",
     .about = "lambda is multiplied by an item's entry of the diagonal of the Gram "
              "matrix to this power",
     .least = -1,
     .most = 2},
    DROPOUT(0),
    USER_POWER(0),
    RELAXATION(0),
    {.name = "input-power",
     .about =
         "weights are multiplied by the number of users of the item of the history "
         "to this power",
     .least = -2,
     .most = 2},
    {.name = "output-power",
     .about =
         "weights are multiplied by the number of users of the item that is scored "
         "to this power",
     .least = -2,
     .most = 2},
    {0}};

static const ease__axis family_axes[] = {
    {.setting = USER_POWER_, .start = 0.4, .step = 0.2},
    {.setting = DROPOUT_, .start = 0.5, .step = 1, .odds = true},
    {.setting = LAMBDA_POWER, .step = 0.25},
    {.setting = INPUT_POWER, .step = 0.1, .coupled = true},
    {.setting = OUTPUT_POWER, .step = 0.1, .coupled = true},
    {.setting = RELAXATION_, .step = 0.2},
    {.step = 0}};

static void family(const double *settings, ease__family *f)
{
    f->lambda_power = settings[LAMBDA_POWER];
    f->dropout = settings[DROPOUT_];
    f->user_power = settings[USER_POWER_];
    f->relaxation = settings[RELAXATION_];
    f->input = settings[INPUT_POWER];
    f->output = settings[OUTPUT_POWER];
}

const ease__method ease__ease_family = {
    .info =
        {
            .name = "ease-family",
            .about = "all of the above: EASE with all settings of its relatives",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .smaller = "ease-sparse",
        },
    .number = 19,
    .settings = family_settings,
    .form = &ease__form_packed,
    .family = family,
    .axes = family_axes,
    .fit = fit,
};
