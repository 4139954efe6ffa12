/* Comparison of several models on one split, for compare and reproduce. */
#ifndef EASE_CLI_SHARED_CONTEST_H
#define EASE_CLI_SHARED_CONTEST_H

#include "tuning.h"

enum { MOST_MODELS = 16 };

typedef struct contender {
    char name[64];
    const char *settings, *grid; /* as given; NULL: no settings, and the default grid */
    double lambda;               /* NAN: the method has none */
    char chosen[SETTINGS_CHARS]; /* "lambda=150", "rank=64"; "": only the defaults */
    char trained[SETTINGS_CHARS]; /* the same without lambda */
    int trials;                   /* 0: it was not tuned */
    double tuning_seconds;
    double seconds; /* of training with the chosen settings */
    double bytes;   /* peak of training beside the data; NAN: unknown */
    ease_report *report;
    ease_difference
        *against; /* differences from the first model by metric; may be NULL */
} contender;

typedef struct contest {
    contender at[MOST_MODELS];
    int count, metrics;
    bool untuned; /* settings are not tuned: as given, or the defaults */
} contest;

/* Parses "ease,popularity". Returns 0, or the exit code after a message. */
int contest_parse(console *c, const verb *v, const char *models, contest *out);
/* Assigns each "MODEL:NAME=VALUE,..." to its model: settings, or with `grid` a grid. */
int contest_assign(console *c, const verb *v, const text_list *given, bool grid,
                   contest *all);
/* Checks that each model can be tuned or trained, before any work. */
int contest_check(console *c, const common_args *common, const tuning_args *tuning,
                  const lambdas *l, const contest *all);

/* Chooses lambda (a single value of `l` is used as it is) or settings on the
 * validation users, trains, measures on the test users, then tests the differences
 * from the first model. `dir` is the name of the split. */
int contest_run(console *c, const common_args *common, const tuning_args *tuning,
                const lambdas *l, const char *metrics, const char *dir,
                const ease_split_parts *parts, contest *all);
void contest_free(contest *all);

#endif
