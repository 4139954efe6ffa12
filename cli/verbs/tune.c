#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holding.h"
#include "measuring.h"
#include "planning.h"
#include "plotting.h"
#include "splitdir.h"
#include "table.h"
#include "tagging.h"
#include "traincommand.h"
#include "tuning.h"
#include "verbs.h"

/* What trials are measured on. */
typedef enum tune_source {
    FROM_SPLIT,   /* the validation users of a split in a directory */
    FROM_LEAVING, /* users of DATA, each by the model without this user */
    FROM_DRAWN    /* validation users that are drawn from DATA */
} tune_source;

/* Users of a sample for data without a split, as train has them. */
enum { SAMPLE_USERS = 10000 };

typedef struct tune_args {
    common_args common;
    tuning_args tuning;
    tagging_args tagging;
    reading_args reading;
    const char *leave; /* --leave-one-out; NULL: not given */
    int64_t sample;    /* -1: not given */
    tune_source source;
    const char *data; /* DATA; NULL: a split */
    int all_data;
    const char *output, *metrics, *plot, *titles;
    const char *model, *settings, *grid;
    int nonnegative, storage;
} tune_args;

#define AT(member) .at = offsetof(tune_args, member)

static const option tune_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_PATH,
     AT(output),
     .value = "FILE",
     .help = "the model to write; required with DIR"},
    {.name = "all-data",
     .type = OPTION_FLAG,
     AT(all_data),
     .help = "train the model that is written on all data, also on the validation and "
             "test users of DIR. The test at the end is of a model without them. With "
             "DATA this is always so"},
    {.name = "leave-one-out",
     .type = OPTION_PATH,
     AT(leave),
     .value = "DATA",
     .help = "interactions to train on. Lambda is measured on each user by the model "
             "without this user"},
    {.name = "sample",
     .type = OPTION_COUNT,
     AT(sample),
     .value = "N",
     .help = "leaving users out: measure on a random sample of N users (default 10000, "
             "with --leave-one-out 0: all)"},
    {.name = "model",
     .type = OPTION_TEXT,
     AT(model),
     .value = "NAME",
     .word = model_name,
     .help = "default ease; ease help models describes them"},
    {.name = "set",
     .type = OPTION_TEXT,
     AT(settings),
     .value = "NAME=VALUE,...",
     .help = "settings of a model other than ease that are not tuned"},
    {.name = "grid",
     .type = OPTION_TEXT,
     AT(grid),
     .value = "NAME=A|B|...,...",
     .help = "settings to try, in all combinations (default: the grid that ease help "
             "models shows, without the settings of --set)"},
    {.name = "nonnegative",
     .type = OPTION_FLAG,
     AT(nonnegative),
     .help = "EASE >= 0: weights below 0 become 0; the same as --model ease-nonneg"},
    {.name = "storage",
     .type = OPTION_CHOICE,
     AT(storage),
     .value = "f32|f16|packed",
     .help = "form of the weights in the file (default f16): 4, 2 or about 2 bytes "
             "each"},
    {.name = "titles",
     .type = OPTION_PATH,
     AT(titles),
     .value = "FILE",
     .help = "a table of ids and titles, to be stored in the model"},
    {.name = "metrics",
     .type = OPTION_TEXT,
     AT(metrics),
     .value = "NAME@K,...",
     .help =
         "metrics on the test users at the end, as for eval (default " METRICS_DEFAULT
         ")"},
    {.name = "plot",
     .type = OPTION_PATH,
     AT(plot),
     .value = "FILE.svg",
     .help = "draw a figure of the metric by lambda; for models with settings, by each "
             "of them"},
    OPTIONS_END};

/* The results to print at the end. */
typedef struct outcome {
    ease_tuning *tuning;
    ease_trial best;
    ease_model *model;
    ease_report *report;    /* NULL: no test users */
    bool drawn, saved;      /* the files were written */
    ease_interactions *all; /* to train on in the end; NULL: the train part */
    char *command;          /* that trains on all data */
    double seconds;
} outcome;

static const char *metrics_of(const tune_args *a)
{
    return a->metrics ? a->metrics : METRICS_DEFAULT;
}

static const char *method_of(const tune_args *a)
{
    return method_named(a->model, a->nonnegative);
}

static const char *const source_names[] = {"split", "leave-one-out", "drawn users"};

/* True if the model that is written is another one than that of the test. */
static bool trains_all(const tune_args *a)
{
    return a->source == FROM_DRAWN || (a->source == FROM_SPLIT && a->all_data);
}

/* ---- output ------------------------------------------------------------------- */

static bool has_settings(const tune_args *a)
{
    return ease_method_setting(method_of(a), 0) != NULL;
}

static int put_trials(console *c, const tune_args *a, const ease_tuning *t)
{
    table_form form = a->common.csv ? TABLE_CSV : TABLE_TEXT;
    bool lambda = ease_method_find(method_of(a))->has_lambda;
    bool settings = !lambda || has_settings(a);
    table shown = table_begin(form, 3u + lambda + settings + (form == TABLE_TEXT));
    int best = ease_tuning_best(t);

    if (lambda)
        table_text(&shown, "lambda");
    if (settings)
        table_text(&shown, "settings");
    table_text(&shown, a->tuning.metric);
    table_text(&shown, "stderr");
    table_text(&shown, "seconds");
    if (form == TABLE_TEXT)
        table_text(&shown, "");
    for (int i = 0; i < ease_tuning_count(t); i++) {
        ease_trial trial = {.size = sizeof(trial)};

        ease_tuning_trial(t, i, &trial);
        if (lambda)
            table_value(&shown, trial.lambda);
        if (settings)
            table_text(&shown, trial.settings);
        table_real(&shown, trial.mean, measure_decimals(trial.mean));
        table_real(&shown, trial.standard_error, measure_decimals(trial.mean));
        table_real(&shown, trial.seconds, 2);
        if (form == TABLE_TEXT)
            table_text(&shown, i == best ? "best" : "");
    }
    return table_end(&shown) ? EXIT_DONE : fail_no_memory(c);
}

static int put_json(const tune_args *a, const outcome *did)
{
    json j = {.to = stdout};

    json_open(&j, NULL, '{');
    json_text(&j, "model", method_of(a));
    json_text(&j, "metric", a->tuning.metric);
    json_trials(&j, did->tuning);
    json_choice(&j, &did->best);
    json_count(&j, "solves", ease_tuning_solves(did->tuning));
    json_bool(&j, "stopped", ease_tuning_stopped(did->tuning) != 0);
    json_text(&j, "measured_on", source_names[a->source]);
    json_unknown(&j, (ease_unknown)a->tuning.unknown,
                 ease_tuning_unknown_targets(did->tuning));
    if (did->report) {
        json_open(&j, "test", '{');
        json_report(&j, did->report);
        json_close(&j, '}');
    }
    json_real(&j, "seconds", did->seconds);
    if (a->output) {
        json_count(&j, "bytes", (int64_t)file_bytes(a->output));
        json_text(&j, "path", a->output);
        json_bool(&j, "all_data", trains_all(a) || a->source == FROM_LEAVING);
    }
    json_text(&j, "train", did->command);
    json_close(&j, '}');
    fputc('\n', stdout);
    return EXIT_DONE;
}

/* Notes the result on the test users, since CSV has the trials only. */
static void note_test(console *c, const ease_report *r)
{
    int metrics = ease_report_metrics(r);

    for (int i = 0; i < metrics; i++) {
        ease_metric m = {.size = sizeof(m)};

        ease_report_metric(r, i, &m);
        if (isnan(m.standard_error))
            note(c, "test: %s %.5f", m.name, m.mean);
        else
            note(c, "test: %s %.5f, standard error %.5f", m.name, m.mean,
                 m.standard_error);
    }
}

static int put_test(console *c, const tune_args *a, const outcome *did)
{
    char size[NUMBER_CHARS], took[NUMBER_CHARS], users[NUMBER_CHARS];
    char text[SETTINGS_CHARS];

    if (a->output)
        note(c, "wrote %s, %s, in %s", a->output,
             format_bytes(size, sizeof(size), file_bytes(a->output)),
             format_seconds(took, sizeof(took), did->seconds));
    if (a->common.json)
        return put_json(a, did);
    if (!did->report)
        return EXIT_DONE;
    if (a->common.csv) {
        note_test(c, did->report);
        return EXIT_DONE;
    }
    format_count(users, sizeof(users), ease_report_users(did->report));
    if (did->best.lambda > 0 && !did->best.settings[0])
        printf("\n%s test users, lambda %g\n\n", users, did->best.lambda);
    else
        printf("\n%s test users, %s\n\n", users,
               did->best.settings[0] ? name_of_trial(text, &did->best) : method_of(a));
    return put_report(c, OUTPUT_TEXT, did->report);
}

static int plot_trials(console *c, const tune_args *a, const ease_tuning *t)
{
    int count = ease_tuning_count(t), code = EXIT_DONE;
    double *all = calloc((size_t)count * 3, sizeof(*all));
    const char **settings = calloc((size_t)count, sizeof(*settings));
    double *lambda = all, *mean = all + count, *error = mean + count;
    ease_error err;

    if (!all || !settings) {
        free(settings);
        free(all);
        return fail_no_memory(c);
    }
    for (int i = 0; i < count; i++) {
        ease_trial trial = {.size = sizeof(trial)};

        ease_tuning_trial(t, i, &trial);
        settings[i] = trial.settings;
        lambda[i] = trial.lambda;
        mean[i] = trial.mean;
        error[i] = trial.standard_error;
    }
    if (has_settings(a))
        code = plot_settings_of(c, lambda, settings, mean, error, count,
                                ease_tuning_best(t), a->tuning.metric, a->plot);
    else if (ease_plot_lambda(lambda, mean, error, count, a->tuning.metric, a->plot,
                              &err))
        code = fail_with(c, &err);
    free(settings);
    free(all);
    return code;
}

/* ---- tuning ------------------------------------------------------------------- */

/* Tunes. Ctrl-C ends the trials, not the program: the results so far are used. A
 * second one ends the program, and so does SIGTERM at any time. */
static int tune(console *c, const tune_args *a, const lambdas *l,
                const ease_split_parts *parts, outcome *did)
{
    tuned what = {method_of(a), a->settings, a->grid};
    int code = tune_method(c, &a->common, &a->tuning, l, &what, parts, &did->tuning);

    if (code)
        return code;
    if (signals_caught() == SIGTERM)
        return fail_interrupted(c);
    if (signals_caught())
        signals_forget();
    did->best.size = sizeof(did->best);
    ease_tuning_trial(did->tuning, ease_tuning_best(did->tuning), &did->best);
    if (!a->common.json)
        code = put_trials(c, a, did->tuning);
    if (!code)
        code = output_flush(c);
    if (!code && a->plot)
        code = plot_trials(c, a, did->tuning);
    did->drawn = !code && a->plot;
    return code;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static ease_train_options best_options(console *c, const tune_args *a,
                                       const outcome *did)
{
    ease_train_options o = train_options_of(c, &a->common, &a->tuning);

    o.method = method_of(a);
    o.lambda = did->best.lambda;
    o.settings = did->best.settings;
    return o;
}

/* Writes the model, which is then used as it was written, in its storage form. */
static int save(console *c, const tune_args *a, outcome *did)
{
    ease_error err;
    ease_status status = EASE_OK;

    if (a->titles)
        status = ease_model_read_titles(did->model, a->titles, NULL, &err);
    if (!status)
        status = ease_model_save(did->model, a->output, (ease_storage)a->storage,
                                 console_hooks(c), &err);
    did->saved = !status;
    phase_end(c, "writing");
    if (!status && is_file(a->output)) {
        ease_model_free(did->model);
        did->model = NULL;
        status = ease_model_open(a->output, NULL, &did->model, &err);
    }
    return status ? fail_with(c, &err) : EXIT_DONE;
}

/* Trains on the train part; from the tuning if that had the same data. */
static int train(console *c, const tune_args *a, const ease_split_parts *parts,
                 outcome *did)
{
    ease_train_options o = best_options(c, a, did);
    ease_error err;
    ease_status status;

    if (!a->output)
        return EXIT_DONE;
    if (parts->validation_train)
        ease_tuning_forget(did->tuning);
    status = parts->validation_train
                 ? ease_train(parts->train, &o, &did->model, &err)
                 : ease_tuning_train(did->tuning, o.hooks, &did->model, &err);
    if (status)
        return fail_with(c, &err);
    return trains_all(a) ? EXIT_DONE : save(c, a, did);
}

/* Trains the model to be written on all data, after the test. */
static int train_all(console *c, const tune_args *a, ease_split_parts *parts,
                     outcome *did)
{
    ease_train_options o = best_options(c, a, did);
    ease_error err;
    int code = EXIT_DONE;

    if (!a->output || !trains_all(a))
        return EXIT_DONE;
    ease_model_free(did->model);
    did->model = NULL;
    if (!did->all)
        code = join_split(c, parts, &did->all);
    ease_split_close(parts);
    if (!code && ease_train(did->all, &o, &did->model, &err))
        code = fail_with(c, &err);
    return code ? code : save(c, a, did);
}

static int test(console *c, const tune_args *a, const ease_split_parts *parts,
                outcome *did)
{
    if (a->source == FROM_LEAVING || !a->output)
        return EXIT_DONE;
    if (!parts->test_target || !parts->test_input) {
        warn(c, "the split has no test users");
        return EXIT_DONE;
    }
    return measure(c, &a->common, did->model, parts->test_input, parts->test_target,
                   metrics_of(a), a->tuning.unknown, &did->report);
}

static int check_output_of(console *c, const tune_args *a, const char *path)
{
    int code = check_output_file(c, path);

    if (!code)
        code = a->data ? check_differs(c, path, a->data)
                       : check_differs_split(c, path, a->common.operands[0]);
    if (!code)
        code = check_differs(c, path, a->titles);
    if (!code)
        code = check_differs(c, path, a->tagging.tags);
    return code ? code : check_outputs_differ(c, path, "-");
}

/* An option that was given and that the method has no use for; NULL: none. */
static const char *unused_option(const tune_args *a, const ease_method_info *m)
{
    if (a->nonnegative && !m->nonnegative)
        return "--nonnegative";
    if (a->plot && !m->has_lambda && !has_settings(a))
        return "--plot";
    if (m->from_gram)
        return NULL;
    return a->tuning.backend     ? "--backend"
           : a->tuning.kind      ? "--kind"
           : a->tuning.precision ? "--precision"
                                 : NULL;
}

static int check_model(console *c, const tune_args *a, lambdas *l)
{
    const ease_method_info *m = ease_method_find(a->model);
    tuned what = {.settings = a->settings, .grid = a->grid};
    const char *unused;
    int code = check_method(c, a->common.verb, a->model);

    if (!code)
        code = check_tagging(c, a->common.verb, &a->tagging, m);
    unused = code ? NULL : unused_option(a, m);
    if (unused)
        code = usage_error(c, a->common.verb, "%s takes no %s", a->model, unused);
    if (!code && m->needs_tags && a->storage == EASE_STORE_PACKED)
        code = usage_error(c, a->common.verb,
                           "a model of %s cannot be packed: it has two inverses",
                           a->model);
    if (!code)
        code = lambdas_parse(c, a->common.verb, a->tuning.lambda, l);
    if (code)
        return code;
    what.method = method_of(a);
    return check_tuning(c, &a->common, &a->tuning, l, &what);
}

/* True if users can be left out for all that is to be tuned and measured. */
static bool can_leave(console *c, const tune_args *a, const lambdas *l)
{
    tuning_args leaving = a->tuning;
    tuned what = {.method = method_of(a), .settings = a->settings, .grid = a->grid};

    leaving.leave_one_out = true;
    return !a->metrics && !has_settings(a) &&
           can_tune(c, &a->common, &leaving, l, &what);
}

/* True if the operand is data, and not a split. What does not exist is left to the
 * message of opening a split. */
static bool is_data(const char *path)
{
    return strcmp(path, "-") == 0 || (access(path, F_OK) == 0 && !is_split(path));
}

/* Sets where the data come from, but not yet whether users are drawn or left out. */
static int take_source(console *c, tune_args *a)
{
    const verb *v = a->common.verb;
    const char *path = a->common.operands[0];

    if (!a->leave == !path)
        return usage_error(c, v,
                           "either DATA, the DIR of a split or --leave-one-out "
                           "DATA%s",
                           a->leave ? ", not both" : " is required");
    a->data = a->leave ? a->leave : is_data(path) ? path : NULL;
    a->source = a->leave ? FROM_LEAVING : a->data ? FROM_DRAWN : FROM_SPLIT;
    a->tuning.leave_one_out = a->leave != NULL;
    return EXIT_DONE;
}

/* For DATA: leaves users out if that is possible. */
static void choose_source(console *c, tune_args *a, const lambdas *l)
{
    if (a->source != FROM_DRAWN || !can_leave(c, a, l))
        return;
    a->source = FROM_LEAVING;
    a->tuning.leave_one_out = true;
    if (a->sample < 0)
        a->sample = SAMPLE_USERS;
    a->tuning.sample = a->sample;
}

/* Checks what goes with the source. */
static int check_source(console *c, const tune_args *a)
{
    const verb *v = a->common.verb;

    if (!a->data && !a->output)
        return usage_error(c, v, "--output FILE is required");
    if (a->source != FROM_LEAVING && a->sample >= 0)
        return usage_error(c, v, "--sample goes with --leave-one-out");
    if (!a->data && !reading_is_default(&a->reading))
        return usage_error(c, v, "options for reading DATA do not apply to a split");
    if (a->leave && a->metrics)
        return usage_error(c, v,
                           "--metrics is for test users, and --leave-one-out has none: "
                           "--metric chooses lambda");
    if (!a->output && a->titles)
        return usage_error(c, v, "--titles goes with --output");
    return EXIT_DONE;
}

static int check(console *c, tune_args *a, lambdas *l)
{
    int code = take_source(c, a);

    if (!code)
        code = check_model(c, a, l);
    if (!code) {
        choose_source(c, a, l);
        code = check_source(c, a);
    }
    if (!code)
        code = check_metrics(c, metrics_of(a));
    if (!code && a->output)
        code = check_output_of(c, a, a->output);
    if (!code && a->plot)
        code = check_figure(c, a->plot);
    if (!code && a->plot)
        code = check_output_of(c, a, a->plot);
    if (!code && a->output)
        code = check_outputs_differ(c, a->output, a->plot);
    if (!code && a->titles)
        code = check_readable(c, a->titles);
    return code;
}

/* Reports files that were written before a failure: they are kept, since the work
 * may have taken hours. */
static void tell_written(console *c, const tune_args *a, const outcome *did)
{
    if (did->drawn)
        warn_written(c, a->plot);
    if (did->saved)
        warn(c,
             "%s was written before the failure: the model is complete, but not tested",
             a->output);
}

/* Reads the split, or the data that users are left out of or drawn from. */
static int read_parts(console *c, const tune_args *a, ease_split_parts *out,
                      outcome *did)
{
    bool drawn = a->source == FROM_DRAWN;
    ease_interactions **to = drawn ? &did->all : &out->train;
    int code;

    if (!a->data)
        return open_split(c, a->common.operands[0], out);
    code = read_data(c, &a->common, &a->reading, a->data, a->tuning.memory_limit, to);
    if (!code)
        code = check_guess(c, *to);
    if (!code && !drawn && !a->leave)
        note(c, "no split: lambda is measured by leaving users out (--metrics NAME@K "
                "measures on held-out users instead)");
    if (!code && drawn)
        code = hold_users_out(c, *to, ease_method_find(method_of(a)), out);
    return code;
}

/* Makes the command that trains on all data with what was found. */
static int make_command(console *c, const tune_args *a, outcome *did)
{
    did->command = train_command(&a->common, &verb_train, a->data, a->output,
                                 method_of(a), &did->best);
    return did->command ? EXIT_DONE : fail_no_memory(c);
}

/* Says what the model was trained on, and how to train for production. */
static void note_way_on(console *c, const tune_args *a, const outcome *did)
{
    if (!a->output)
        note(c, "train with what was found: %s", did->command);
    else if (!a->data && !trains_all(a))
        note(c,
             "%s was trained on the train part alone, without the users of the test; "
             "for production, --all-data trains on all data, and so does: %s",
             a->output, did->command);
    else
        note(c, "%s was trained on all data%s; the same on newer data: %s", a->output,
             did->report ? ", after a model without the test users was measured" : "",
             did->command);
}

static int run(console *c, void *args)
{
    tune_args *a = args;
    ease_split_parts parts = {.size = sizeof(parts)};
    outcome did = {.seconds = seconds_now()};
    lambdas l = {0};
    ease_tags *tags = NULL;
    int code = check_tagging(c, a->common.verb, &a->tagging, NULL);

    if (!code)
        code = read_tags(c, &a->tagging, a->tuning.memory_limit, &tags);
    a->tuning.tags = tags;
    a->tuning.tag_weight = tag_weight_of(&a->tagging);
    a->tuning.sample = a->sample > 0 ? a->sample : 0;
    if (!code)
        code = check(c, a, &l);

    if (!code)
        code = read_parts(c, a, &parts, &did);
    if (!code)
        code = tune(c, a, &l, &parts, &did);
    if (!code)
        code = train(c, a, &parts, &did);
    if (!code)
        code = test(c, a, &parts, &did);
    if (!code)
        code = train_all(c, a, &parts, &did);
    if (!code)
        code = make_command(c, a, &did);
    if (!code) {
        did.seconds = seconds_now() - did.seconds;
        code = put_test(c, a, &did);
        note_way_on(c, a, &did);
    } else {
        tell_written(c, a, &did);
    }
    ease_report_free(did.report);
    ease_model_free(did.model);
    ease_tuning_free(did.tuning);
    ease_split_close(&parts);
    ease_interactions_free(did.all);
    free(did.command);
    ease_tags_free(tags);
    lambdas_free(&l);
    return code;
}

static const option_group groups[] = {TUNING_GROUP(tune_args),
                                      {"Model", tune_options, 0},
                                      TAGGING_GROUP(tune_args),
                                      READING_GROUP(tune_args),
                                      FORMAT_GROUP(output_options),
                                      {"General", threads_options, 0},
                                      GROUPS_END};
static const operand operands[] = {{"DATA", "interactions, as for train"},
                                   {"DIR", "or a split, as ease split writes it"},
                                   {NULL, NULL}};
static const char *const usage[] = {
    "DATA [-o MODEL] [--lambda L,L,... | --lambda auto] [options]",
    "DIR -o MODEL [--lambda L,L,... | --lambda auto] [--all-data] [options]",
    "DIR -o MODEL --model NAME [--set NAME=VALUE,...] [--grid NAME=A|B|...,...]",
    "--leave-one-out DATA [-o MODEL] [--sample N] [options]", NULL};
static const char *const examples[] = {
    "ratings.csv",
    "ratings.csv -o model.ease --metrics recall@20,ndcg@100",
    "ratings.csv -o factors.ease --model wmf --set rank=8 --grid 'alpha=1|3|10'",
    "split -o model.ease --all-data",
    "split -o factors.ease --model wmf --set rank=8 --grid 'alpha=1|3|10'",
    "split -o model.ease --lambda 10,100,1000 --metric ndcg@10",
    "split -o model.ease --model ease-family --plot settings.svg",
    "split -o model.ease --seconds 600 --plot lambda.svg --json",
    "--leave-one-out ratings.csv --plot lambda.svg",
    NULL};

const verb verb_tune = {
    .name = "tune",
    .summary =
        "choose lambda or settings by a split or by leaving users out, and train",
    .usage = usage,
    .about =
        "Tries values of lambda, or of another model's settings, on the validation "
        "users of a split, trains on its train part with the best, writes the model, "
        "and measures it on the test users. For ease, X'X is computed once. Lambda and "
        "the settings of EASE's relatives are searched together with about 12 solves: "
        "settings that need no other inverse cost an evaluation each. A network "
        "uses its best epoch. After Ctrl-C during the trials, the best so far is "
        "used. If anything fails after the model was written, the model is kept, and "
        "a warning says so.\n\n"
        "DATA needs no split. If users can be left out of the model (ease), lambda is "
        "measured as with --leave-one-out, on 10,000 users or all. For other models, "
        "and with --metrics, a tenth of the users (at most 10,000) is drawn for "
        "validation and as many for testing; for models that score only known users a "
        "fifth of each user's items. A note says which. The model is trained on all "
        "data in the end, also on those users. In the end a note, and the key train of "
        "--json, has the command that trains with what was found.\n\n"
        "With --leave-one-out lambda is measured on the training "
        "data, each user by the model without this user, as in ease eval "
        "--leave-one-out. Settings are not tuned, nobody is left to test on, and -o is "
        "only given if a model is wanted. Users who cannot be left out at a small "
        "lambda count as missed there.\n\n"
        "--json gives one object with the keys model, metric, trials (lambda, "
        "settings, "
        "mean, stderr, seconds, solves), lambda and settings (the best), solves, "
        "stopped, "
        "unknown and unknown_targets (of the validation users), test (as eval gives "
        "it; absent if no user was held out), measured_on (split, leave-one-out or "
        "drawn users), seconds, bytes, path and all_data (of a model), and train; "
        "--csv "
        "has the trials alone. ease plot lambda "
        "and "
        "ease plot settings draw these trials.",
    .operands = operands,
    .groups = groups,
    .examples = examples,
    .most_operands = 1,
    .size = sizeof(tune_args),
    .defaults = &(const tune_args){.tuning = TUNING_DEFAULTS,
                                   .tagging = TAGGING_DEFAULTS,
                                   .reading = READING_DEFAULTS,
                                   .sample = -1,
                                   .model = "ease",
                                   .storage = EASE_STORE_F16},
    .run = run,
};
