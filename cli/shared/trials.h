/* Reads the output of ease tune, for a figure. */
#ifndef EASE_CLI_SHARED_TRIALS_H
#define EASE_CLI_SHARED_TRIALS_H

#include "console.h"

enum { MOST_TRIALS = 1000, METRIC_CHARS = 64, TRIAL_CHARS = 400 };

typedef struct trials {
    char metric[METRIC_CHARS];
    char settings[MOST_TRIALS][TRIAL_CHARS]; /* "rank=64,alpha=3"; "": none */
    /* NAN: no lambda, and no standard error. A trial has lambda, settings or both. */
    double lambda[MOST_TRIALS], mean[MOST_TRIALS], error[MOST_TRIALS];
    int count;
} trials;

/* Reads the output of tune --csv or --json. Returns 0, or the exit code after a
 * message. */
int trials_read(console *c, const char *path, trials *out);
/* True if every trial has a lambda. */
bool trials_have_lambda(const trials *t);
/* The number of the best trial; of equal ones, the first. */
int trials_best(const trials *t);

#endif
