/* Choosing lambda or settings: what tune and compare have in common. */
#ifndef EASE_CLI_SHARED_TUNING_H
#define EASE_CLI_SHARED_TUNING_H

#include "files.h"

typedef struct tuning_args {
    const char *lambda, *metric;
    double seconds;
    int kind, precision, unknown;
    size_t memory_limit;
    const char *backend;
} tuning_args;

#define TUNING_DEFAULTS                        \
    {                                          \
        .lambda = "auto", .metric = "ndcg@100" \
    }
#define TUNING_GROUP(args)                               \
    {                                                    \
        "Tuning", tuning_options, offsetof(args, tuning) \
    }
extern const option tuning_options[];

/* "auto" is none, "10,100,1000" three. */
typedef struct lambdas {
    double *at;
    int count;
} lambdas;

int lambdas_parse(console *c, const verb *v, const char *text, lambdas *out);
void lambdas_free(lambdas *l);

/* Fails with EXIT_USAGE if an output is a file of the split in `dir`. */
int check_differs_split(console *c, const char *output, const char *dir);
/* Reads a split's directory and notes the sizes of its parts. */
int open_split(console *c, const char *dir, ease_split_parts *out);

ease_train_options train_options_of(console *c, const common_args *common,
                                    const tuning_args *a);

/* What is to be tuned. */
typedef struct tuned {
    const char *method;
    const char *settings; /* that stay as they are; NULL: none */
    const char *grid;     /* of the others; NULL: the method's own */
} tuned;

/* Whether it can be, before any work: 0, or the exit code after a message. */
int check_tuning(console *c, const common_args *common, const tuning_args *a,
                 const lambdas *l, const tuned *what);
/* ease_tune on the validation users; notes what was found. */
int tune_method(console *c, const common_args *common, const tuning_args *a,
                const lambdas *l, const tuned *what, const ease_split_parts *parts,
                ease_tuning **out);
/* "lambda=150" or "rank=64,alpha=3", for people; room has SETTINGS_ROOM. */
enum { SETTINGS_ROOM = 400 };
const char *name_of_trial(char *room, const ease_trial *trial);

#endif
