#include "updating.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the model that is written --------------------------------------------------- */

#define AT(member) .at = offsetof(target_args, member)

const option target_options[] = {{.name = "output",
                                  .letter = 'o',
                                  .type = OPTION_PATH,
                                  AT(output),
                                  .value = "FILE",
                                  .help = "the model to write"},
                                 {.name = "in-place",
                                  .type = OPTION_FLAG,
                                  AT(in_place),
                                  .help = "replace MODEL by the new model, in one "
                                          "step when it is complete"},
                                 OPTIONS_END};

int check_target(console *c, const common_args *common, const target_args *t)
{
    const char *path = target_path(common, t);
    int code;

    if (!t->output == !t->in_place)
        return usage_error(c, common->verb, "either --output FILE or --in-place%s",
                           t->output ? ", not both" : " is required");
    code = check_output_file(c, path);
    if (!code && t->output)
        code = check_differs(c, path, common->operands[0]);
    if (!code && format_of(common) != OUTPUT_TEXT)
        code = check_outputs_differ(c, path, "-");
    return code;
}

const char *target_path(const common_args *common, const target_args *t)
{
    return t->in_place ? common->operands[0] : t->output;
}

/* ---- the model that is updated --------------------------------------------------- */

int claim_model(console *c, const common_args *common, const target_args *t,
                model_claim *out)
{
    const char *path = common->operands[0];

    if (!t->in_place)
        return EXIT_DONE;
    out->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0)
        return fail(c, EXIT_FAILED, "%s: cannot open: %s", path, strerror(errno));
    /* File systems without locks are used as if nobody else were there. */
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fail(c, EXIT_FAILED,
                    "%s: another program is updating it: run this again afterwards",
                    path);
    return EXIT_DONE;
}

void claim_release(model_claim *claim)
{
    if (claim->fd >= 0)
        close(claim->fd);
    *claim = CLAIM_NONE;
}

static int check_claim(console *c, const char *path, const model_claim *claim)
{
    struct stat ours, there;

    if (claim->fd < 0 || fstat(claim->fd, &ours) != 0 || stat(path, &there) != 0 ||
        (ours.st_dev == there.st_dev && ours.st_ino == there.st_ino))
        return EXIT_DONE;
    return fail(c, EXIT_FAILED,
                "%s: it was replaced while it was updated: run this again", path);
}

int refuse_fixed(console *c, const char *path, const ease_model *m)
{
    ease_model_info info = model_info_of(m);
    ease_train_options o;
    ease_error err;

    ease_train_options_init(&o);
    o.method = info.method;
    o.settings = info.settings;
    o.lambda = info.lambda;
    o.kind = info.kind;
    o.updatable = 1;
    if (ease_train_options_check(&o, 0, &err))
        return fail(c, EXIT_USAGE, "%s: %s; train it again instead", path, err.text);
    return fail(c, EXIT_USAGE,
                "%s: the model is not updatable: train it again with --updatable",
                path);
}

int open_updatable(console *c, const common_args *common, ease_model **out)
{
    const char *path = common->operands[0];
    ease_error err;
    int code = open_model(c, common, path, NULL, out);

    if (code)
        return code;
    if (!model_info_of(*out).updatable)
        return refuse_fixed(c, path, *out);
    return ease_model_set_threads(*out, (int)common->threads, &err) ? fail_with(c, &err)
                                                                    : EXIT_DONE;
}

/* The sum of the values of the model's data. */
static double sum_of(const ease_model *m)
{
    double sum = 0;

    for (int32_t i = 0; i < ease_model_items(m); i++)
        sum += ease_model_popularity(m, i);
    return sum;
}

bool has_weights(const ease_model *m)
{
    double count = (double)model_info_of(m).interactions;

    return count >= 0 && fabs(sum_of(m) - count) > 1e-6 * count;
}

int check_weights(console *c, const reading_args *reading, const char *path,
                  const ease_model *m)
{
    bool weighted = reading_is_weighted(reading);

    if (!weighted && has_weights(m))
        return fail(c, EXIT_DATA,
                    "%s: it was read without weights, and the model's data have "
                    "weights: give --weights, or --half-life with --until",
                    path);
    if (weighted && sum_of(m) == (double)model_info_of(m).interactions)
        warn(c, "%s: it has weights, the model's data have none", path);
    return EXIT_DONE;
}

int measure_residual(console *c, const common_args *common, const ease_model *m,
                     double *residual)
{
    ease_error err;

    if (ease_model_residual(m, (int)common->threads, residual, &err))
        return fail_with(c, &err);
    phase_end(c, "checking the model");
    return signals_caught() ? fail_interrupted(c) : EXIT_DONE;
}

bool residual_allowed(double residual)
{
    return residual <= RESIDUAL_ALLOWED; /* NaN is not */
}

int check_solved(console *c, const common_args *common, const ease_model *m)
{
    double residual;
    int code = measure_residual(c, common, m, &residual);

    if (code || residual_allowed(residual))
        return code;
    return fail(c, EXIT_NUMERICAL,
                "the residual of the inverse in float32 is %.1g, updates need at most "
                "%.0g: train with a larger --lambda, or without --updatable",
                residual, RESIDUAL_ALLOWED);
}

/* ---- plans ----------------------------------------------------------------------- */

int plan_update(console *c, const common_args *common, int32_t items, int64_t rank,
                size_t memory_limit, ease_update_plan *out)
{
    ease_update_options o;
    ease_error err;

    ease_update_options_init(&o);
    o.memory_limit = memory_limit;
    o.threads = (int)common->threads;
    out->size = sizeof(*out);
    if (ease_update_plan_sizes(items, rank, &o, out, &err))
        return fail_with(c, &err);
    phase_end(c, "planning");
    return EXIT_DONE;
}

bool update_fits(const ease_update_plan *plan)
{
    return !plan->available_bytes || plan->peak_bytes <= plan->available_bytes;
}

int refuse_update(console *c, const ease_update_plan *plan, const char *advice)
{
    char need[NUMBER_CHARS], have[NUMBER_CHARS];

    return fail(c, EXIT_MEMORY, "the update needs %s of memory, %s are available; %s",
                format_bytes(need, sizeof(need), plan->peak_bytes),
                format_bytes(have, sizeof(have), plan->available_bytes), advice);
}

/* ---- writing --------------------------------------------------------------------- */

int save_target(console *c, const common_args *common, const target_args *t,
                const model_claim *claim, ease_model *m)
{
    const char *path = target_path(common, t);
    ease_error err;
    int code = check_claim(c, path, claim);

    if (code)
        return code;
    if (ease_model_save(m, path, EASE_STORE_PACKED, console_hooks(c), &err))
        return fail_with(c, &err);
    phase_end(c, "writing");
    return EXIT_DONE;
}
