/* Reads the output of ease tune, for a figure. */
#ifndef EASE_CLI_SHARED_TRIALS_H
#define EASE_CLI_SHARED_TRIALS_H

#include "console.h"

enum { MOST_TRIALS = 1000, METRIC_CHARS = 64 };

typedef struct trials {
    char metric[METRIC_CHARS];
    double lambda[MOST_TRIALS], mean[MOST_TRIALS], error[MOST_TRIALS]; /* error: NAN */
    int count;
} trials;

/* Reads the output of tune --csv or --json. Returns 0, or the exit code after a
 * message. */
int trials_read(console *c, const char *path, trials *out);

#endif
