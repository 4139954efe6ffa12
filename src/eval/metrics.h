/* Ranking metrics: the table of metrics, and their values for one user's list. */
#ifndef EASE_EVAL_METRICS_H
#define EASE_EVAL_METRICS_H

#include "core/core.h"

typedef enum ease__direction {
    EASE__LOWER_IS_BETTER = -1,
    EASE__NEITHER_IS_BETTER = 0, /* the metric describes lists without judging them */
    EASE__HIGHER_IS_BETTER = 1
} ease__direction;

/* The best k of one user's list. hit[r]: the item at rank r + 1 was held out. */
typedef struct ease__hits {
    const bool *hit;
    int32_t count;    /* length of the list, at most k */
    int32_t hits;     /* number of hits */
    int32_t k;        /* above 0 */
    int64_t held_out; /* items, above 0 */
    int32_t possible; /* largest number of hits: min(k, held out) */
} ease__hits;

/* The best k of one user's list, and what the model has of its items. */
typedef struct ease__list {
    const ease_rec *recs;
    int32_t count;            /* length of the list, at most k */
    const double *popularity; /* of every item of the model */
    ease_row left_out;        /* what is left out of the popularity */
    double users;             /* of the training data, above 0; NaN: unknown */
    const ease_row *tags;     /* of every item, as ease_model_item_tags; NULL: none */
    double *by_tag;           /* scratch: a zero for each tag, left as zeros */
} ease__list;

/* The place of an item in a row, or -1. */
int32_t ease__row_find(ease_row row, int32_t item);

/* A metric is one constant of this type in a file of this folder, and one line in
 * EASE__METRICS below. */
typedef struct ease__metric_kind {
    ease_metric_info info; /* what users see; its direction is an ease__direction */
    /* What a model must have for the metric, or the evaluation fails. */
    bool needs_users; /* the number of users of its training data */
    bool needs_tags;  /* tags of its items */
    /* Exactly one of these functions is set. The first two give a value for each
     * user: from the positions of hits, or from the items of the list. The last one
     * gives a value for all lists together, from how often each item was recommended;
     * it may sort `times`. */
    double (*from_hits)(const ease__hits *h);
    double (*from_items)(const ease__list *l);
    double (*from_times)(int64_t *times, int32_t items);
} ease__metric_kind;

/* All metrics, one in a line, in the order in which users see them. */
#define EASE__METRICS(METRIC)         \
    METRIC(ease__metric_recall)       \
    METRIC(ease__metric_plain_recall) \
    METRIC(ease__metric_ndcg)         \
    METRIC(ease__metric_precision)    \
    METRIC(ease__metric_hit)          \
    METRIC(ease__metric_map)          \
    METRIC(ease__metric_mrr)          \
    METRIC(ease__metric_popularity)   \
    METRIC(ease__metric_novelty)      \
    METRIC(ease__metric_diversity)    \
    METRIC(ease__metric_coverage)     \
    METRIC(ease__metric_gini)

#define EASE__DECLARE_METRIC(metric) extern const ease__metric_kind metric;
EASE__METRICS(EASE__DECLARE_METRIC)
extern const ease__metric_kind *const ease__metric_kinds[]; /* all of them, then NULL */

typedef struct ease__ranking_metric {
    const ease__metric_kind *kind;
    int32_t k;
    char name[40]; /* as it was written: "recall@20" */
} ease__ranking_metric;

enum { EASE__MAX_METRICS = 64, EASE__MAX_CUTOFF = 10000 };

/* Parses a list such as "recall@20,ndcg@100". Fails with EASE_E_ARG and names what
 * is not a metric. */
ease_status ease__metrics_parse(const char *list, ease__ranking_metric *out, int *count,
                                ease_error *err);
bool ease__metric_by_user(const ease__ranking_metric *m);
/* The kind of "recall@20", or of "recall"; NULL: there is none. */
const ease__metric_kind *ease__metric_kind_of(const char *metric);
/* True if value a is better than b. Without a kind or a direction, the higher value
 * is the better one. */
bool ease__metric_better(const ease__metric_kind *kind, double a, double b);
/* Fails with EASE_E_ARG unless `how` is one of the values of ease_unknown. */
ease_status ease__unknown_check(ease_unknown how, ease_error *err);

/* The value of a metric from hits. hit[r]: the item at rank r + 1 was held out, for
 * r below `count`, the length of the list; `held_out` > 0 is the number of held-out
 * items. */
double ease__metric_value(const ease__ranking_metric *m, const bool *hit, int32_t count,
                          int64_t held_out);

/* The metrics of all lists together; times[i] is how often item i was recommended. */
double ease__coverage(int64_t *times, int32_t items);
/* Sorts `times`. */
double ease__gini(int64_t *times, int32_t items);

#endif
