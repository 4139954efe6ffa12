/* Models that are updated: what update, forget, info and plan share. */
#ifndef EASE_CLI_SHARED_UPDATING_H
#define EASE_CLI_SHARED_UPDATING_H

#include "files.h"

/* The bound on residuals and deviations, which is that of the library. */
#define RESIDUAL_ALLOWED 1e-4

/* ---- the model that is written --------------------------------------------------- */

typedef struct target_args {
    const char *output;
    int in_place;
} target_args;

#define TARGET_GROUP(args)                                      \
    {                                                           \
        "The new model", target_options, offsetof(args, target) \
    }
extern const option target_options[];

/* Checks, before any work, that there is one target and that it can be written. MODEL
 * is the first operand. */
int check_target(console *c, const common_args *common, const target_args *t);
/* The path to write to. */
const char *target_path(const common_args *common, const target_args *t);

/* ---- the model that is updated --------------------------------------------------- */

/* A model file that is updated in place. It is locked, so that of two updates at the
 * same time none is lost. Starts as CLAIM_NONE. */
typedef struct model_claim {
    int fd;
} model_claim;
#define CLAIM_NONE ((model_claim){.fd = -1})

/* To be called before the model is opened. Does nothing unless it is updated in
 * place. */
int claim_model(console *c, const common_args *common, const target_args *t,
                model_claim *out);
void claim_release(model_claim *claim);

/* Opens MODEL, and fails unless it is updatable. */
int open_updatable(console *c, const common_args *common, ease_model **out);
/* Says what to do about a model that is not updatable. Returns the exit code. */
int refuse_fixed(console *c, const char *path, const ease_model *m);

/* True if the interactions of the model's data have values other than 1. */
bool has_weights(const ease_model *m);
/* To be called for data of a change that were read: fails with EXIT_DATA if the model's
 * data have weights and these were read without; warns of the contrary. */
int check_weights(console *c, const reading_args *reading, const char *path,
                  const ease_model *m);

/* Computes the residual of an updatable model from its proof. */
int measure_residual(console *c, const common_args *common, const ease_model *m,
                     double *residual);
bool residual_allowed(double residual);
/* Fails with EXIT_NUMERICAL if a model that was just solved is too inexact to be
 * updated. */
int check_solved(console *c, const common_args *common, const ease_model *m);

/* ---- plans ----------------------------------------------------------------------- */

/* Plans an update of a model of `items` items by a change of this rank. */
int plan_update(console *c, const common_args *common, int32_t items, int64_t rank,
                size_t memory_limit, ease_update_plan *out);
bool update_fits(const ease_update_plan *plan);
/* Says that it does not fit, and `advice` what would help. Returns the exit code. */
int refuse_update(console *c, const ease_update_plan *plan, const char *advice);

/* ---- writing --------------------------------------------------------------------- */

/* Writes the new model, unless the file of the claim was replaced meanwhile. */
int save_target(console *c, const common_args *common, const target_args *t,
                const model_claim *claim, ease_model *m);

#endif
