/* Several models on one split: what compare and reproduce have in common. */
#ifndef EASE_CLI_SHARED_CONTEST_H
#define EASE_CLI_SHARED_CONTEST_H

#include "tuning.h"

enum { MOST_MODELS = 16 };

typedef struct contender {
    char name[64];
    const char *settings, *grid; /* as given; NULL: none, and the method's own */
    double lambda;               /* NAN: it has none */
    char chosen[SETTINGS_CHARS]; /* "lambda=150", "rank=64"; "": only the defaults */
    int trials;                  /* 0: it was not tuned */
    double tuning_seconds;
    double seconds; /* of training, all being chosen */
    double bytes;   /* that training took beside the data at its peak; NAN: unknown */
    ease_report *report;
    ease_difference
        *against; /* the first, by metric; NULL or NAN where there is none */
} contender;

typedef struct contest {
    contender at[MOST_MODELS];
    int count, metrics;
    bool untuned; /* settings are not chosen: the given ones and the defaults hold */
} contest;

/* "ease,popularity" into names. 0, or the exit code after a message. */
int contest_parse(console *c, const verb *v, const char *models, contest *out);
/* Each "MODEL:NAME=VALUE,..." to its model: settings, or with `grid` what to try. */
int contest_assign(console *c, const verb *v, const text_list *given, bool grid,
                   contest *all);
/* Whether each can be tuned or trained so, before any work. */
int contest_check(console *c, const common_args *common, const tuning_args *tuning,
                  const lambdas *l, const contest *all);

/* Chooses lambda (of `l` one is taken as it is) or settings on the validation users,
 * trains and measures on the test users, then tests the differences from the first.
 * `dir` is the split's name. */
int contest_run(console *c, const common_args *common, const tuning_args *tuning,
                const lambdas *l, const char *metrics, const char *dir,
                const ease_split_parts *parts, contest *all);
void contest_free(contest *all);

#endif
