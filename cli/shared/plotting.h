/* Draws trials that are described by text. */
#ifndef EASE_CLI_SHARED_PLOTTING_H
#define EASE_CLI_SHARED_PLOTTING_H

#include "console.h"

/* Draws trials by lambda and by their settings, as ease_plot_settings does. lambda[i]
 * is the lambda of trial i, NAN or 0 if it has none, and settings[i] its other settings
 * as text, "dropout=0.5,user-power=0.4". Settings whose values are not numbers are not
 * drawn, and neither are those that have the same value in all trials, unless there are
 * no others. Of more than EASE_PLOT_MOST_AXES settings the first are drawn, with a
 * warning. `error` may be NULL. Returns 0, or the exit code after a message. */
int plot_settings_of(console *c, const double *lambda, const char *const *settings,
                     const double *mean, const double *error, int count, int best,
                     const char *metric, const char *path);

#endif
