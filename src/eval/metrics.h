/* The arithmetic of ranking metrics: one user's list against what was held out. */
#ifndef EASE_EVAL_METRICS_H
#define EASE_EVAL_METRICS_H

#include "core/core.h"

typedef enum ease__direction {
    EASE__LOWER_IS_BETTER = -1,
    EASE__NEITHER_IS_BETTER = 0, /* it describes lists, and does not judge them */
    EASE__HIGHER_IS_BETTER = 1
} ease__direction;

/* The best k of one user's list. hit[r]: the item at rank r + 1 was held out. */
typedef struct ease__hits {
    const bool *hit;
    int32_t count;    /* of the list, k at most */
    int32_t hits;     /* among them */
    int32_t k;        /* above 0 */
    int64_t held_out; /* items, above 0 */
    int32_t possible; /* hits: min(k, held out) */
} ease__hits;

/* A metric is one constant of this type in a file of this folder, and one line in
 * EASE__METRICS below. Everything else asks the table. */
typedef struct ease__metric_kind {
    const char *name;
    const char *about; /* one line */
    ease__direction direction;
    /* Exactly one of these is there. The first two give a value for each user: from
     * where the hits are, or from the items of the list and the popularity of every
     * item of the catalog. The last gives a value for all lists together: from how
     * often each item was recommended, which it may sort. */
    double (*from_hits)(const ease__hits *h);
    double (*from_items)(const double *popularity, const ease_rec *recs, int32_t count);
    double (*from_times)(int64_t *times, int32_t items);
} ease__metric_kind;

/* All of them, a line each, in the order in which users see them. */
#define EASE__METRICS(METRIC)         \
    METRIC(ease__metric_recall)       \
    METRIC(ease__metric_plain_recall) \
    METRIC(ease__metric_ndcg)         \
    METRIC(ease__metric_precision)    \
    METRIC(ease__metric_hit)          \
    METRIC(ease__metric_map)          \
    METRIC(ease__metric_mrr)          \
    METRIC(ease__metric_popularity)   \
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

/* "recall@20,ndcg@100": how many, or EASE_E_ARG naming what is not one. */
ease_status ease__metrics_parse(const char *list, ease__ranking_metric *out, int *count,
                                ease_error *err);
bool ease__metric_by_user(const ease__ranking_metric *m);
/* The kind of "recall@20", or of "recall"; NULL: there is none. */
const ease__metric_kind *ease__metric_kind_of(const char *metric);
/* Whether value a is better than b. Where there is no kind or no direction, the higher
 * value counts as the better one. */
bool ease__metric_better(const ease__metric_kind *kind, double a, double b);
/* Fails with EASE_E_ARG unless `how` is one of the values of ease_unknown. */
ease_status ease__unknown_check(ease_unknown how, ease_error *err);

/* Of a metric from hits. hit[r]: the item at rank r + 1 was held out, for r below
 * `count`, the length of the list; `held_out` > 0 items were. */
double ease__metric_value(const ease__ranking_metric *m, const bool *hit, int32_t count,
                          int64_t held_out);

/* From how often each item was recommended. */
double ease__coverage(int64_t *times, int32_t items);
/* times is sorted by this call. */
double ease__gini(int64_t *times, int32_t items);

#endif
