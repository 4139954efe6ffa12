/* Several models on one split: what compare and reproduce have in common. */
#ifndef EASE_CLI_CONTEST_H
#define EASE_CLI_CONTEST_H

#include "tuning.h"

enum { MOST_MODELS = 8 }; /* as many as a figure can tell apart */

typedef struct contender {
    char name[64];
    double lambda;  /* NAN: it has none */
    double seconds; /* of training, lambda being chosen */
    ease_report *report;
    ease_difference
        *against; /* the first, by metric; NULL or NAN where there is none */
} contender;

typedef struct contest {
    contender at[MOST_MODELS];
    int count, metrics;
} contest;

/* "ease,popularity" into names. 0, or the exit code after a message. */
int contest_parse(console *c, const verb *v, const char *models, contest *out);

/* Chooses lambda where there is one to choose (of `l` one is taken as it is), trains
 * and measures on the test users, then tests the differences from the first. `dir` is
 * the split's name. */
int contest_run(console *c, const common_args *common, const tuning_args *tuning,
                const lambdas *l, const char *metrics, const char *dir,
                const ease_split_parts *parts, contest *all);
void contest_free(contest *all);

#endif
