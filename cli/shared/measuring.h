/* Measuring models, for eval, tune, compare and plot. */
#ifndef EASE_CLI_SHARED_MEASURING_H
#define EASE_CLI_SHARED_MEASURING_H

#include "files.h"
#include "options.h"
#include "results.h"
#include "table.h"

#define METRICS_DEFAULT "recall@20,recall@50,ndcg@100"
#define METRICS_HELP \
    "what to measure (default " METRICS_DEFAULT "); ease help metrics lists the names"
#define UNKNOWN_VALUE "miss|drop"
#define UNKNOWN_HELP                                                            \
    "held-out items that the model does not know count as misses (the default)" \
    ", or are dropped as if they had not been held out"

/* A metric of a report, by value. */
ease_metric metric_of(const ease_report *r, int metric);

/* "; higher is better", "; lower is better" or "", to follow a description. */
const char *metric_direction(const char *metric);

/* Names of models from 0 on; NULL past the end. */
const char *model_name(int index);

/* Check options before any work. Return 0, or the exit code after a message. */
int check_metrics(console *c, const char *metrics);
int check_method(console *c, const verb *v, const char *method);
/* The method, or with --nonnegative the one that does the same without weights below 0
 * where there is one. */
const char *method_named(const char *method, int nonnegative);

/* The data that models are evaluated on: two files, or the test part of a split. */
typedef struct held_out {
    const char *input, *target, *split; /* paths; NULL: not given */
} held_out;

/* Checks the options: either --input and --target or --split is given, and options for
 * reading are not combined with --split. Returns 0, or EXIT_USAGE after a message. */
int check_held_out(console *c, const verb *v, const reading_args *reading,
                   const held_out *from);
/* Reads the data. Returns 0, or the exit code after a message. */
int read_held_out(console *c, const common_args *common, const reading_args *reading,
                  const held_out *from, ease_interactions **input,
                  ease_interactions **target);

/* Evaluates with the program's hooks, and notes what was excluded. `unknown` is the
 * value of --unknown, an ease_unknown. */
int measure(console *c, const common_args *common, const ease_model *m,
            const ease_interactions *input, const ease_interactions *target,
            const char *metrics, int unknown, ease_report **out);
/* Does the same with options for ease_evaluate, whose threads and hooks are set. */
int measure_with(console *c, const common_args *common, const ease_model *m,
                 const ease_interactions *input, const ease_interactions *target,
                 const ease_eval_options *given, ease_report **out);

/* The number of decimals that suits a share, or a count. */
int measure_decimals(double value);
/* Adds the three cells metric, mean and standard error. */
void table_metric(table *t, ease_metric m);
/* Prints a table of metric, mean and standard error. */
int put_report(console *c, output_format format, const ease_report *r);
/* Prints the keys users, metrics, without_target, without_input, unknown,
 * unknown_targets and unknown_inputs. */
void json_report(json *j, const ease_report *r);
/* Prints the keys unknown and unknown_targets. */
void json_unknown(json *j, ease_unknown how, int64_t targets);
/* Prints the number of unknown targets, if any, as a sentence below a table. */
void put_unknown(const ease_report *r);
/* Prints the key metrics. */
void json_metrics(json *j, const ease_report *r);

#endif
