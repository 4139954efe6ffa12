/* Choosing lambda or settings, for tune and compare. */
#ifndef EASE_CLI_SHARED_TUNING_H
#define EASE_CLI_SHARED_TUNING_H

#include "files.h"
#include "results.h"

typedef struct tuning_args {
    const char *lambda, *metric;
    double seconds;
    int kind, precision, unknown;
    size_t memory_limit;
    const char *backend;
    size_t device_memory;
    const ease_tags *tags; /* set after they were read */
    double tag_weight;
    bool leave_one_out; /* users of the training data, not validation users */
    int64_t sample;     /* so many of them; 0: all */
} tuning_args;

#define TUNING_DEFAULTS                                         \
    {                                                           \
        .lambda = "auto", .metric = "ndcg@100", .tag_weight = 1 \
    }
#define TUNING_GROUP(args)                               \
    {                                                    \
        "Tuning", tuning_options, offsetof(args, tuning) \
    }
extern const option tuning_options[];

/* The values of --lambda: none for "auto", three for "10,100,1000". */
typedef struct lambdas {
    double *at;
    int count;
} lambdas;

int lambdas_parse(console *c, const verb *v, const char *text, lambdas *out);
void lambdas_free(lambdas *l);
/* A single lambda, or NAN for "auto". Returns 0, or EXIT_USAGE after a message. */
int lambda_parse(console *c, const verb *v, const char *text, double *out);

/* Fails with EXIT_USAGE if an output is a file of the split in `dir`. */
int check_differs_split(console *c, const char *output, const char *dir);
/* Reads a split's directory and notes the sizes of its parts. */
int open_split(console *c, const char *dir, ease_split_parts *out);

ease_train_options train_options_of(console *c, const common_args *common,
                                    const tuning_args *a);

/* The method to tune. */
typedef struct tuned {
    const char *method;
    const char *settings; /* fixed settings; NULL: none */
    const char *grid;     /* grid of the others; NULL: the default grid */
} tuned;

/* Checks that it can be tuned, before any work. Returns 0, or the exit code after a
 * message. */
int check_tuning(console *c, const common_args *common, const tuning_args *a,
                 const lambdas *l, const tuned *what);
/* The same without a message. */
bool can_tune(console *c, const common_args *common, const tuning_args *a,
              const lambdas *l, const tuned *what);
/* Tunes on the validation users, or by leaving out users of parts->train, and notes the
 * result. */
int tune_method(console *c, const common_args *common, const tuning_args *a,
                const lambdas *l, const tuned *what, const ease_split_parts *parts,
                ease_tuning **out);
/* Chooses the lambda of train by leaving out users of x. Ctrl-C ends the program. */
int choose_lambda(console *c, const ease_interactions *x, const ease_train_options *o,
                  ease_tuning **out);

/* Print the key trials, and the keys lambda and settings of one trial. */
void json_trials(json *j, const ease_tuning *t);
void json_choice(json *j, const ease_trial *trial);

/* Writes "lambda=150" or "rank=64,alpha=3" to `to`, of SETTINGS_CHARS bytes. Returns
 * the text. */
enum { SETTINGS_CHARS = 400 };
const char *name_of_trial(char *to, const ease_trial *trial);

#endif
