/* Code that tuning lambda and tuning settings share. */
#ifndef EASE_TUNE_TUNE_H
#define EASE_TUNE_TUNE_H

#include "data/interactions.h"
#include "eval/metrics.h"
#include "gram/gram.h"
#include "methods/methods.h"
#include "model/settings.h"

enum { EASE__MOST_TRIALS = 1000 };

_Static_assert((int)EASE__GRID_POINTS <= (int)EASE__MOST_TRIALS, "a trial for each");

/* A trial, and its settings as text. */
typedef struct ease__attempt {
    ease_trial trial; /* without settings, which follow */
    char settings[EASE__SETTINGS_CHARS];
    double values[EASE__MOST_SETTINGS]; /* of the family */
    bool wide;                          /* it was solved in float64 */
} ease__attempt;

struct ease_tuning {
    const ease__method *method;      /* whose lambda or settings are tuned */
    const ease__metric_kind *metric; /* the metric that chooses the best trial */
    ease_gram *gram;                 /* lambda: X'X, until ease_tuning_train uses it */
    ease_model *model;               /* settings: the best model so far */
    size_t held;                     /* bytes of the interactions and the Gram matrix */
    ease_train_options train;
    ease__attempt tried[EASE__MOST_TRIALS]; /* in the order of lambda, or of the grid */
    int count;
    int solves; /* of the family */
    int stopped;
    int64_t unknown_targets; /* among the validation targets; -1: not measured yet */
};

typedef struct ease__tuner {
    ease_tuning *result;
    const ease_interactions *x, *input, *target;
    ease_tune_options o;
    ease_train_options train; /* a copy of *o.train, or the defaults */
    double begin;
    double unsolvable; /* the largest lambda that was too small */
    ease_error why;    /* why the last skipped trial was skipped */
    bool cancelled;    /* by a hook */
} ease__tuner;

/* True if another trial, as long as the longest so far, would exceed the time limit. */
bool ease__tuner_late(const ease__tuner *t);
/* Measures a model: fills in mean, standard error and the seconds since `begin`. */
ease_status ease__tuner_measure(const ease__tuner *t, const ease_model *m,
                                const ease_hooks *hooks, double begin,
                                ease__attempt *out, ease_error *err);

/* Check the grid of the options, without data, and tune settings by it. */
ease_status ease__tune_grid_check(const ease__tuner *t, ease_error *err);
ease_status ease__tune_grid(ease__tuner *t, ease_error *err);

/* Check options without data, and tune a method of the closed-form family. */
ease_status ease__tune_family_check(const ease__tuner *t, ease_error *err);
ease_status ease__tune_family(ease__tuner *t, ease_error *err);

#endif
