/* Choosing lambda: what tune and compare have in common. */
#ifndef EASE_CLI_TUNING_H
#define EASE_CLI_TUNING_H

#include "input.h"

typedef struct tuning_args {
    const char *lambda, *metric;
    double seconds;
    int kind, precision;
    size_t memory_limit;
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

/* Reads a split's directory and notes the sizes of its parts. */
int open_split(console *c, const char *dir, ease_split_parts *out);

ease_train_options train_options_of(console *c, const common_args *common,
                                    const tuning_args *a);

/* ease_tune on the validation users; notes what was found. */
int tune_lambda(console *c, const common_args *common, const tuning_args *a,
                const lambdas *l, const char *method, const ease_split_parts *parts,
                ease_tuning **out);

#endif
