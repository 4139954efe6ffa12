/* What tuning lambda and tuning settings have in common. */
#ifndef EASE_TUNE_TUNE_H
#define EASE_TUNE_TUNE_H

#include "data/interactions.h"
#include "eval/metrics.h"
#include "gram/gram.h"
#include "methods/methods.h"
#include "model/settings.h"

enum { EASE__MOST_TRIALS = 1000 };

_Static_assert((int)EASE__GRID_POINTS <= (int)EASE__MOST_TRIALS, "a trial for each");

/* What was tried. */
typedef struct ease__attempt {
    ease_trial trial; /* without its settings: */
    char settings[EASE__SETTINGS_CHARS];
    bool wide; /* it took float64 */
} ease__attempt;

struct ease_tuning {
    const ease__method *method; /* what was tuned: lambda if it has one, or settings */
    const ease__metric_kind *metric; /* what it was tuned by */
    ease_gram *gram;   /* of the trials; for lambda until ease_tuning_train takes it */
    ease_model *model; /* settings: the best so far, until it is taken */
    size_t held;       /* bytes of the interactions and the Gram matrix */
    ease_train_options train;
    ease__attempt tried[EASE__MOST_TRIALS]; /* in the order of lambda, or of the grid */
    int count;
    int stopped;
    int64_t unknown_targets; /* among the validation targets; -1: not measured yet */
};

typedef struct ease__tuner {
    ease_tuning *result;
    const ease_interactions *x, *input, *target;
    ease_tune_options o;
    ease_train_options train; /* what o.train is, or the defaults */
    double begin;
    double unsolvable; /* the largest lambda that was too small */
    ease_error why;    /* what was left out last was left out */
    bool cancelled;    /* by a hook */
} ease__tuner;

/* Would another trial, as long as the longest so far, end too late? */
bool ease__tuner_late(const ease__tuner *t);
/* Fills in mean, standard error and the seconds since `begin`. */
ease_status ease__tuner_measure(const ease__tuner *t, const ease_model *m,
                                const ease_hooks *hooks, double begin,
                                ease__attempt *out, ease_error *err);

/* Settings by a grid. The check needs no data. */
ease_status ease__tune_grid_check(const ease__tuner *t, ease_error *err);
ease_status ease__tune_grid(ease__tuner *t, ease_error *err);

#endif
