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
    ease_gram *gram;                 /* lambda: X'WX, until ease_tuning_train uses it */
    ease_model *model;               /* settings: the best model so far */
    const ease_interactions *all; /* held-out users: the data to train on; borrowed */
    size_t held;                  /* bytes of the interactions and the Gram matrix */
    ease_train_options train;
    ease__attempt tried[EASE__MOST_TRIALS]; /* in the order of lambda, or of the grid */
    int count;
    bool on_training; /* trials are measured on users of the training data */
    bool by_lambda;   /* nothing else is tuned: trials have the order of lambda */
    int solves;       /* of other searches */
    int stopped;
    int64_t unknown_targets; /* among the held-out items; -1: not measured yet */
};

/* Where the search for lambda begins. */
static const double EASE__START_LAMBDA = 100;

typedef struct ease__tuner ease__tuner;

/* Makes a trial of lambda, and keeps it. A failure for which ease__is_numerical() holds
 * means that lambda is too small. */
typedef ease_status ease__attempt_lambda(ease__tuner *t, double lambda,
                                         ease_error *err);

struct ease__tuner {
    ease_tuning *result;
    const ease_interactions *x, *input, *target;
    ease_tune_options o;
    ease_train_options train; /* a copy of *o.train, or the defaults */
    double begin;
    double unsolvable;                 /* the largest lambda that was too small */
    ease_error why;                    /* why the last skipped trial was skipped */
    bool cancelled;                    /* by a hook */
    ease__attempt_lambda *attempt;     /* of the search for lambda */
    const struct ease__leaver *leaver; /* of trials that leave users out */
    const struct ease__holder *holder; /* of trials that hold users out */
};

/* True for the failures of a solve with too small a lambda. */
static inline bool ease__is_numerical(ease_status status)
{
    return status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF;
}

/* True if another trial, as long as the longest so far, would exceed the time limit. */
bool ease__tuner_late(const ease__tuner *t);
/* Measures a model: fills in mean, standard error and the seconds since `begin`. */
ease_status ease__tuner_measure(const ease__tuner *t, const ease_model *m,
                                const ease_hooks *hooks, double begin,
                                ease__attempt *out, ease_error *err);

/* Adds a trial, in the order of lambda. */
void ease__tuner_keep(ease_tuning *t, ease__attempt a);

/* Tries the lambdas of the options, or searches for the best one. */
ease_status ease__search_lambda(ease__tuner *t, ease__attempt_lambda *attempt,
                                ease_error *err);
/* Tunes lambda on validation users. */
ease_status ease__tune_lambda(ease__tuner *t, ease_error *err);
/* Checks the memory: the Gram matrix, a copy that is solved in place, and for float64
 * another copy if the matrix is not float64. */
ease_status ease__tune_check_memory(const ease_interactions *x,
                                    const ease_train_options *o, ease_error *err);

/* Check options without data, and tune lambda by leaving users of the training data out
 * (src/tune/leave.c). */
ease_status ease__tune_leaving_check(const ease__tuner *t, ease_error *err);
ease_status ease__tune_leaving(ease__tuner *t, ease_error *err);

/* Says why a search for lambda on the training data ended. */
void ease__tell_search_end(const ease__tuner *t);

/* Check options without data, and tune lambda on users of the training data who are
 * held out (src/tune/hold.c). */
ease_status ease__tune_holding_check(const ease__tuner *t, ease_error *err);
ease_status ease__tune_holding(ease__tuner *t, ease_error *err);

/* Check the grid of the options, without data, and tune settings by it. */
ease_status ease__tune_grid_check(const ease__tuner *t, ease_error *err);
ease_status ease__tune_grid(ease__tuner *t, ease_error *err);

/* Check options without data, and tune a method of the closed-form family. */
ease_status ease__tune_family_check(const ease__tuner *t, ease_error *err);
ease_status ease__tune_family(ease__tuner *t, ease_error *err);

#endif
