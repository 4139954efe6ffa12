#include "eval/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    ease__measure measure;
} names[] = {
    {"recall", EASE__RECALL},     {"plain-recall", EASE__PLAIN_RECALL},
    {"ndcg", EASE__NDCG},         {"precision", EASE__PRECISION},
    {"hit", EASE__HIT},           {"map", EASE__MAP},
    {"mrr", EASE__MRR},           {"popularity", EASE__POPULARITY},
    {"coverage", EASE__COVERAGE}, {"gini", EASE__GINI},
};

/* One "name@k" of `length` bytes. */
static bool parse_one(const char *text, size_t length, ease__ranking_metric *out)
{
    const char *at = memchr(text, '@', length);
    int64_t k = 0;

    if (!at || length >= sizeof(out->name))
        return false;
    for (const char *p = at + 1; p < text + length; p++) {
        if (*p < '0' || *p > '9' || k > EASE__MAX_CUTOFF || (*p == '0' && k == 0))
            return false;
        k = 10 * k + (*p - '0');
    }
    if (k < 1 || k > EASE__MAX_CUTOFF)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].name) == (size_t)(at - text) &&
            memcmp(names[i].name, text, (size_t)(at - text)) == 0) {
            *out = (ease__ranking_metric){.measure = names[i].measure, .k = (int32_t)k};
            memcpy(out->name, text, length);
            return true;
        }
    return false;
}

ease_status ease__metrics_parse(const char *list, ease__ranking_metric *out, int *count,
                                ease_error *err)
{
    int n = 0;

    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");

        if (n == EASE__MAX_METRICS)
            return ease__fail(err, EASE_E_ARG, "more than %d metrics",
                              (int)EASE__MAX_METRICS);
        if (!parse_one(at, length, &out[n]))
            return ease__fail(
                err, EASE_E_ARG,
                "no metric '%.*s': NAME@K with K up to %d and NAME one of "
                "recall, plain-recall, ndcg, precision, hit, map, mrr, "
                "popularity, coverage, gini",
                (int)(length < 40 ? length : 40), at, (int)EASE__MAX_CUTOFF);
        for (int i = 0; i < n; i++)
            if (strcmp(out[i].name, out[n].name) == 0)
                return ease__fail(err, EASE_E_ARG, "%s is asked for twice",
                                  out[n].name);
        n++;
        at += length;
        if (*at == '\0')
            break;
    }
    *count = n;
    return EASE_OK;
}

bool ease__metric_by_user(const ease__ranking_metric *m)
{
    return m->measure < EASE__COVERAGE;
}

ease_status ease__unknown_check(ease_unknown how, ease_error *err)
{
    if (how == EASE_UNKNOWN_MISS || how == EASE_UNKNOWN_DROP)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "no way to count unknown items: %d", (int)how);
}

static double discount(int32_t rank)
{
    return 1.0 / log2((double)rank + 1);
}

static double ndcg(const bool *hit, int32_t count, int32_t ideal)
{
    double gained = 0, most = 0;

    for (int32_t r = 0; r < count; r++)
        gained += hit[r] ? discount(r + 1) : 0;
    for (int32_t r = 0; r < ideal; r++)
        most += discount(r + 1);
    return gained / most;
}

static double average_precision(const bool *hit, int32_t count, int32_t possible)
{
    double sum = 0;
    int32_t hits = 0;

    for (int32_t r = 0; r < count; r++)
        if (hit[r])
            sum += (double)++hits / (double)(r + 1);
    return sum / (double)possible;
}

static double reciprocal_rank(const bool *hit, int32_t count)
{
    for (int32_t r = 0; r < count; r++)
        if (hit[r])
            return 1.0 / (double)(r + 1);
    return 0;
}

double ease__metric_value(const ease__ranking_metric *m, const bool *hit, int32_t count,
                          int64_t held_out)
{
    int32_t possible = held_out < m->k ? (int32_t)held_out : m->k, hits = 0;

    if (count > m->k)
        count = m->k;
    for (int32_t r = 0; r < count; r++)
        hits += hit[r];
    switch (m->measure) {
    case EASE__RECALL:
        return (double)hits / (double)possible;
    case EASE__PLAIN_RECALL:
        return (double)hits / (double)held_out;
    case EASE__NDCG:
        return ndcg(hit, count, possible);
    case EASE__PRECISION:
        return (double)hits / (double)m->k;
    case EASE__HIT:
        return hits > 0;
    case EASE__MAP:
        return average_precision(hit, count, possible);
    case EASE__MRR:
        return reciprocal_rank(hit, count);
    case EASE__POPULARITY:
    case EASE__COVERAGE:
    case EASE__GINI:
        break; /* not from hits */
    }
    return NAN;
}

double ease__coverage(const int64_t *times, int32_t items)
{
    int32_t seen = 0;

    for (int32_t i = 0; i < items; i++)
        seen += times[i] > 0;
    return (double)seen / (double)items;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

double ease__gini(int64_t *times, int32_t items)
{
    double weighted = 0, all = 0;

    qsort(times, (size_t)items, sizeof(*times), ascending);
    for (int32_t i = 0; i < items; i++) {
        weighted += (2.0 * (i + 1) - items - 1) * (double)times[i];
        all += (double)times[i];
    }
    return all > 0 ? weighted / (all * items) : 0;
}
