/* What evaluations share, wherever their lists come from: the lists of all users are
 * made batch by batch and measured, and one number for each user and metric is kept. */
#ifndef EASE_EVAL_EVALUATION_H
#define EASE_EVAL_EVALUATION_H

#include "data/ids.h"
#include "eval/metrics.h"

struct ease_report {
    ease_report_info info;
    ease__ranking_metric metric[EASE__MAX_METRICS];
    ease_metric value[EASE__MAX_METRICS];
    double *by_user; /* metrics x users */
    /* times[m][i]: how often item i was among the best k, for each metric of all
     * lists together; the last array is for the largest k. */
    int64_t *times[EASE__MAX_METRICS + 1];
    int32_t items, k;
    ease__ids user_ids;
};

/* The users from place `first` to first + count - 1 of the report. */
typedef struct ease__eval_batch {
    int64_t first, count;
    /* Of each user, to be filled in: */
    ease_row *wanted;  /* the items that were held out and that the model knows */
    int64_t *held_out; /* the number of all that were held out, above 0 */
    ease_rec *recs;    /* report->k for each user */
    int32_t *counts;   /* lengths of the lists */
} ease__eval_batch;

typedef struct ease__evaluation {
    const ease_model *model;
    ease_eval_options o; /* checked */
    ease_report *report;
    uint8_t *allowed;   /* by item: 1 if it is ranked; NULL: every item is */
    double *popularity; /* of each item of the model */
    double known_users; /* of its training data; NaN: unknown */
    bool left_out;  /* users are part of that data: they do not count for themselves */
    ease_row *tags; /* of each item; NULL: not needed */
    double *by_tag; /* threads x tags: scratch of metrics; NULL: not needed */
    int64_t most;   /* users in a batch */
    ease__eval_batch batch;
    bool *hits; /* most x k */
} ease__evaluation;

/* Begins an evaluation of e->model with the options e->o: parses the metrics, and
 * checks that the model has what they need. To be freed even after a failure. */
ease_status ease__evaluation_begin(ease__evaluation *e, ease_error *err);
void ease__evaluation_free(ease__evaluation *e);

/* True if an item that the model knows is of this kind. */
bool ease__evaluation_is_of(const ease__evaluation *e, ease_eval_items kind,
                            int32_t item);

/* Adds a user to the report: its place is the number of those before. */
ease_status ease__evaluation_add_user(ease__evaluation *e, const char *id,
                                      ease_error *err);

/* Allocates the batches, once all users are known; `most` users or fewer in each. */
ease_status ease__evaluation_reserve(ease__evaluation *e, int64_t most,
                                     ease_error *err);
/* The bytes that a user in a batch takes with lists of k items. */
size_t ease__evaluation_user_bytes(int32_t k);

/* Makes all lists by `make`, which fills in e->batch, and measures them. `hooks` of
 * `make` map the progress of the batch, 0 .. 1, to that of the evaluation. */
typedef ease_status ease__make_lists(void *user, ease__eval_batch *batch,
                                     const ease_hooks *hooks, ease_error *err);
ease_status ease__evaluation_run(ease__evaluation *e, ease__make_lists *make,
                                 void *user, ease_error *err);

#endif
