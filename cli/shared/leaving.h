/* Evaluating a model on its own training data, for eval. */
#ifndef EASE_CLI_SHARED_LEAVING_H
#define EASE_CLI_SHARED_LEAVING_H

#include "files.h"

typedef struct leaving_args {
    const char *data;     /* path; NULL: held-out data are given */
    double share;         /* 0: not given */
    int64_t seed, sample; /* -1: not given */
} leaving_args;

#define LEAVING_DEFAULTS         \
    {                            \
        .seed = -1, .sample = -1 \
    }
#define LEAVING_GROUP(args)                                           \
    {                                                                 \
        "Leaving users out", leaving_options, offsetof(args, leaving) \
    }
extern const option leaving_options[];

/* Checks the options before any work; without --leave-one-out none of them may be
 * given. Returns 0, or the exit code after a message. */
int check_leaving(console *c, const verb *v, const leaving_args *a,
                  const char *metrics);
/* Reads the data, evaluates, and notes what was excluded. */
int measure_leaving(console *c, const common_args *common, const reading_args *reading,
                    const leaving_args *a, const ease_model *m, const char *metrics,
                    ease_report **out);
/* Prints the keys refused and approximate. */
void json_leaving(json *j, const ease_report *r);

#endif
