/* What ease tune has printed, read again to be drawn. */
#ifndef EASE_CLI_SHARED_TRIALS_H
#define EASE_CLI_SHARED_TRIALS_H

#include "console.h"

enum { MOST_TRIALS = 1000, METRIC_CHARS = 64 };

typedef struct trials {
    char metric[METRIC_CHARS];
    double lambda[MOST_TRIALS], mean[MOST_TRIALS], error[MOST_TRIALS]; /* error: NAN */
    int count;
} trials;

/* The output of tune --csv or --json. 0, or the exit code after a message. */
int trials_read(console *c, const char *path, trials *out);

#endif
