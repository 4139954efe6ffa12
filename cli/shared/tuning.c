#include "tuning.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measuring.h"
#include "planning.h"
#include "splitdir.h"

#define AT(member) .at = offsetof(tuning_args, member)

const option tuning_options[] = {
    {.name = "lambda",
     .type = OPTION_TEXT,
     AT(lambda),
     .value = "L,L,...",
     .help =
         "for models with a lambda: values to try, or auto (the default). For ease, "
         "auto is a search by powers of ten from 100 on, then by smaller steps around "
         "the best; for its relatives, lambda and the settings are searched together"},
    {.name = "metric",
     .type = OPTION_TEXT,
     AT(metric),
     .value = "NAME@K",
     .help = "the metric that chooses lambda or settings (default ndcg@100); ease "
             "help metrics lists the names"},
    {.name = "unknown",
     .type = OPTION_CHOICE,
     AT(unknown),
     .value = UNKNOWN_VALUE,
     .help = UNKNOWN_HELP},
    {.name = "seconds",
     .type = OPTION_POSITIVE,
     AT(seconds),
     .value = "S",
     .help = "start no trial that would end after this time; the first trial is "
             "always made"},
    {.name = "kind",
     .type = OPTION_CHOICE,
     AT(kind),
     .value = "counts|covariance|correlation",
     .help = "which Gram matrix to use (default counts)"},
    {.name = "precision",
     .type = OPTION_CHOICE,
     AT(precision),
     .value = "f32|f64",
     .help = "precision of the solve (default f32)"},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     AT(memory_limit),
     .value = "SIZE",
     .help = "the most memory to use, as in 500M or 2GiB (default: the available "
             "memory)"},
    BACKEND_OPTION(offsetof(tuning_args, backend)),
    DEVICE_MEMORY_OPTION(offsetof(tuning_args, device_memory)),
    OPTIONS_END};

/* ---- values of lambda --------------------------------------------------------- */

int lambdas_parse(console *c, const verb *v, const char *text, lambdas *out)
{
    size_t most = 1;

    *out = (lambdas){0};
    if (strcmp(text, "auto") == 0)
        return EXIT_DONE;
    for (const char *at = text; *at; at++)
        most += *at == ',';
    out->at = calloc(most, sizeof(*out->at));
    if (!out->at)
        return fail_no_memory(c);
    for (const char *at = text;; at++) {
        char *end;
        double value = strtod(at, &end);

        if (end == at || (*end && *end != ',') || !isfinite(value) || !(value > 0)) {
            lambdas_free(out);
            return usage_error(c, v,
                               "--lambda: expected auto or numbers above 0 such as "
                               "10,100,1000, not '%s'",
                               text);
        }
        out->at[out->count++] = value;
        at = end;
        if (!*at)
            return EXIT_DONE;
    }
}

void lambdas_free(lambdas *l)
{
    free(l->at);
    *l = (lambdas){0};
}

int lambda_parse(console *c, const verb *v, const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    if (strcmp(text, "auto") == 0)
        *out = (double)NAN;
    else if (end == text || *end || !isfinite(*out) || !(*out > 0))
        return usage_error(
            c, v, "--lambda: expected auto or a finite number above 0, not '%s'", text);
    return EXIT_DONE;
}

/* ---- the split ---------------------------------------------------------------- */

static void note_part(console *c, const char *name, const ease_interactions *x)
{
    char users[NUMBER_CHARS], items[NUMBER_CHARS], pairs[NUMBER_CHARS];
    ease_interactions_info info = {.size = sizeof(info)};

    if (!x)
        return;
    ease_interactions_describe(x, &info);
    note(c, "%s: %s users, %s items, %s interactions", name,
         format_count(users, sizeof(users), info.users),
         format_count(items, sizeof(items), info.items),
         format_count(pairs, sizeof(pairs), info.interactions));
}

int check_differs_split(console *c, const char *output, const char *dir)
{
    static const char *const parts[] = {
        "train.csv",         "validation_train.csv", "validation_tr.csv",
        "validation_te.csv", "test_tr.csv",          "test_te.csv",
        "unique_sid.txt",    "unique_uid.txt",       "split.json"};
    int code = EXIT_DONE;

    if (access(dir, F_OK) != 0)
        return EXIT_DONE; /* opening the split reports the error */
    for (size_t i = 0; !code && i < sizeof(parts) / sizeof(parts[0]); i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
        code = check_differs(c, output, path);
    }
    return code;
}

int open_split(console *c, const char *dir, ease_split_parts *out)
{
    ease_error err;
    int code = check_split(c, dir);

    if (code)
        return code;
    if (ease_split_open(dir, out, &err))
        return fail_with(c, &err);
    phase_end(c, "reading");
    note_part(c, "train", out->train);
    note_part(c, "train for tuning", out->validation_train);
    note_part(c, "validation, held out", out->validation_target);
    note_part(c, "test, held out", out->test_target);
    return EXIT_DONE;
}

/* ---- tuning ------------------------------------------------------------------- */

ease_train_options train_options_of(console *c, const common_args *common,
                                    const tuning_args *a)
{
    ease_train_options o;

    ease_train_options_init(&o);
    o.kind = (ease_gram_kind)a->kind;
    o.precision = (ease_precision)a->precision;
    o.threads = (int)common->threads;
    o.memory_limit = a->memory_limit;
    o.backend = a->backend;
    o.device_memory = a->device_memory;
    o.tags = a->tags;
    o.tag_weight = a->tag_weight;
    o.hooks = console_hooks(c);
    return o;
}

const char *name_of_trial(char *to, const ease_trial *trial)
{
    if (!(trial->lambda > 0))
        return trial->settings;
    snprintf(to, SETTINGS_CHARS, "lambda=%g%s%s", trial->lambda,
             trial->settings[0] ? "," : "", trial->settings);
    return to;
}

/* `given` is the number of lambdas that were given. */
static void note_best(console *c, const char *metric, int given, const ease_tuning *t)
{
    int count = ease_tuning_count(t), best = ease_tuning_best(t);
    ease_trial trial = {.size = sizeof(trial)};
    char text[SETTINGS_CHARS];

    ease_tuning_trial(t, best, &trial);
    console_clear(c);
    if (ease_tuning_stopped(t))
        warn(c, "%s after %d trial%s: the best so far is used",
             signals_caught() ? "interrupted" : "out of time", count,
             count == 1 ? "" : "s");
    else if (given > 1 && !trial.settings[0] && (best == 0 || best == count - 1))
        warn(c, "the best lambda, %g, is at the end of the range that was tried",
             trial.lambda);
    if (trial.settings[0] && trial.lambda > 0)
        note(c, "best of %d with %d solve%s, %s: %s %.5f", count, ease_tuning_solves(t),
             ease_tuning_solves(t) == 1 ? "" : "s", name_of_trial(text, &trial), metric,
             trial.mean);
    else if (trial.lambda > 0)
        note(c, "best lambda %g: %s %.5f", trial.lambda, metric, trial.mean);
    else
        note(c, "best of %d, %s: %s %.5f", count,
             trial.settings[0] ? trial.settings : "defaults", metric, trial.mean);
}

/* Options of a tuning, and those of its training that they refer to. */
typedef struct tune_request {
    ease_train_options train;
    ease_tune_options tune;
} tune_request;

static void set_options(console *c, const common_args *common, const tuning_args *a,
                        const lambdas *l, const tuned *what, tune_request *t)
{
    t->train = train_options_of(c, common, a);
    t->train.method = what->method;
    t->train.settings = what->settings;
    ease_tune_options_init(&t->tune);
    t->tune.train = &t->train;
    t->tune.lambdas = l->at;
    t->tune.count = l->count;
    t->tune.grid = what->grid;
    t->tune.metric = a->metric;
    t->tune.unknown = (ease_unknown)a->unknown;
    t->tune.seconds = a->seconds;
    t->tune.leave_one_out = a->leave_one_out;
    t->tune.users = a->sample;
}

int check_tuning(console *c, const common_args *common, const tuning_args *a,
                 const lambdas *l, const tuned *what)
{
    tune_request t;
    ease_error err;

    set_options(c, common, a, l, what, &t);
    return ease_tune_options_check(&t.tune, &err) ? fail_with(c, &err) : EXIT_DONE;
}

bool can_tune(console *c, const common_args *common, const tuning_args *a,
              const lambdas *l, const tuned *what)
{
    tune_request t;

    set_options(c, common, a, l, what, &t);
    return ease_tune_options_check(&t.tune, NULL) == EASE_OK;
}

int tune_method(console *c, const common_args *common, const tuning_args *a,
                const lambdas *l, const tuned *what, const ease_split_parts *parts,
                ease_tuning **out)
{
    tune_request t;
    ease_error err;

    set_options(c, common, a, l, what, &t);
    if (!a->leave_one_out && (!parts->validation_target || !parts->validation_input))
        return fail(c, EXIT_DATA, "the split has no validation users to tune on");
    if (ease_tune(parts->validation_train ? parts->validation_train : parts->train,
                  parts->validation_input, parts->validation_target, &t.tune, out,
                  &err))
        return fail_with(c, &err);
    note_best(c, a->metric, l->count, *out);
    return EXIT_DONE;
}

/* ---- the lambda of train --------------------------------------------------------- */

int choose_lambda(console *c, const ease_interactions *x, const ease_train_options *o,
                  ease_tuning **out)
{
    ease_tune_options tune;
    ease_error err;
    ease_status status;

    ease_tune_options_init(&tune);
    tune.train = o;
    tune.metric = o->metric;
    if (ease_method_find(o->method)->from_gram)
        tune.leave_one_out = 1;
    else
        tune.hold_out = 1;
    tune.users = o->lambda_users;
    status = ease_tune(x, NULL, NULL, &tune, out, &err);
    phase_end(c, "choosing lambda");
    if (status == EASE_E_DATA)
        return fail(c, EXIT_DATA, "lambda cannot be chosen: %s; give --lambda L",
                    err.text);
    if (status)
        return fail_with(c, &err);
    if (ease_tuning_stopped(*out))
        return fail_interrupted(c);
    console_clear(c);
    return EXIT_DONE;
}

/* ---- output ---------------------------------------------------------------------- */

void json_choice(json *j, const ease_trial *trial)
{
    if (trial->lambda > 0)
        json_real(j, "lambda", trial->lambda);
    if (trial->settings[0] || !(trial->lambda > 0))
        json_text(j, "settings", trial->settings);
}

void json_trials(json *j, const ease_tuning *t)
{
    json_open(j, "trials", '[');
    for (int i = 0; i < ease_tuning_count(t); i++) {
        ease_trial trial = {.size = sizeof(trial)};

        ease_tuning_trial(t, i, &trial);
        json_open(j, NULL, '{');
        json_choice(j, &trial);
        json_real(j, "mean", trial.mean);
        json_real(j, "stderr", trial.standard_error);
        json_real(j, "seconds", trial.seconds);
        json_count(j, "solves", trial.solves);
        json_close(j, '}');
    }
    json_close(j, ']');
}
