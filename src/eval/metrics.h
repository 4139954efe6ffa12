/* The arithmetic of ranking metrics: one user's list against what was held out. */
#ifndef EASE_EVAL_METRICS_H
#define EASE_EVAL_METRICS_H

#include "core/core.h"

typedef enum ease__measure {
    /* a value for each user */
    EASE__RECALL,       /* hits / min(k, held out), as in the paper */
    EASE__PLAIN_RECALL, /* hits / held out */
    EASE__NDCG,         /* gain 1, discount 1 / log2(rank + 1) */
    EASE__PRECISION,    /* hits / k */
    EASE__HIT,          /* 1 if there is one */
    EASE__MAP,          /* mean over min(k, held out) of precision at each hit */
    EASE__MRR,          /* 1 / rank of the first hit, 0 beyond k */
    EASE__POPULARITY,   /* mean popularity of what was recommended */
    /* a value for all lists together */
    EASE__COVERAGE, /* share of the catalog that was recommended at all */
    EASE__GINI      /* inequality of how often each item was, over the catalog */
} ease__measure;

typedef struct ease__ranking_metric {
    ease__measure measure;
    int32_t k;
    char name[40]; /* as it was written: "recall@20" */
} ease__ranking_metric;

enum { EASE__MAX_METRICS = 64, EASE__MAX_CUTOFF = 10000 };

/* "recall@20,ndcg@100": how many, or EASE_E_ARG naming what is not one. */
ease_status ease__metrics_parse(const char *list, ease__ranking_metric *out, int *count,
                                ease_error *err);
bool ease__metric_by_user(const ease__ranking_metric *m);
/* Fails with EASE_E_ARG unless `how` is one of the values of ease_unknown. */
ease_status ease__unknown_check(ease_unknown how, ease_error *err);

/* hit[r]: the item at rank r + 1 was held out, for r below `count`, the length of the
 * list; `held_out` > 0 items were. */
double ease__metric_value(const ease__ranking_metric *m, const bool *hit, int32_t count,
                          int64_t held_out);

/* From how often each item was recommended. */
double ease__coverage(const int64_t *times, int32_t items);
/* times is sorted by this call. */
double ease__gini(int64_t *times, int32_t items);

#endif
