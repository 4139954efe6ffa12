#include "eval/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const ease__metric_kind *ease__metric_kind_of(const char *metric)
{
    size_t length = strcspn(metric, "@");

    for (int i = 0; ease__metric_kinds[i]; i++) {
        const char *name = ease__metric_kinds[i]->info.name;

        if (strlen(name) == length && memcmp(name, metric, length) == 0)
            return ease__metric_kinds[i];
    }
    return NULL;
}

bool ease__metric_better(const ease__metric_kind *kind, double a, double b)
{
    return kind && kind->info.direction == EASE__LOWER_IS_BETTER ? a < b : a > b;
}

const ease_metric_info *ease_metric_at(int index)
{
    for (int i = 0; index >= 0 && ease__metric_kinds[i]; i++)
        if (i == index)
            return &ease__metric_kinds[i]->info;
    return NULL;
}

const ease_metric_info *ease_metric_find(const char *name)
{
    const ease__metric_kind *kind = name ? ease__metric_kind_of(name) : NULL;

    return kind ? &kind->info : NULL;
}

static const char *name_at(int index)
{
    const ease_metric_info *m = ease_metric_at(index);

    return m ? m->name : NULL;
}

/* Parses one "name@k" of `length` bytes. */
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
    *out = (ease__ranking_metric){.kind = ease__metric_kind_of(text), .k = (int32_t)k};
    memcpy(out->name, text, length);
    return out->kind != NULL;
}

static ease_status no_metric(const char *text, size_t length, ease_error *err)
{
    char names[240];

    ease__list_names(name_at, names, sizeof(names));
    return ease__fail(
        err, EASE_E_ARG, "no metric '%.*s': NAME@K with K up to %d and NAME one of %s",
        (int)(length < 40 ? length : 40), text, (int)EASE__MAX_CUTOFF, names);
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
            return no_metric(at, length, err);
        for (int i = 0; i < n; i++)
            if (strcmp(out[i].name, out[n].name) == 0)
                return ease__fail(err, EASE_E_ARG, "%s is given twice", out[n].name);
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
    return m->kind->info.by_user;
}

ease_status ease__unknown_check(ease_unknown how, ease_error *err)
{
    if (how == EASE_UNKNOWN_MISS || how == EASE_UNKNOWN_DROP)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "not a value of ease_unknown: %d", (int)how);
}

/* ---- from one user's hits ----------------------------------------------------- */

static double recall(const ease__hits *h)
{
    return (double)h->hits / (double)h->possible;
}

static double plain_recall(const ease__hits *h)
{
    return (double)h->hits / (double)h->held_out;
}

static double discount(int32_t rank)
{
    return 1.0 / log2((double)rank + 1);
}

static double ndcg(const ease__hits *h)
{
    double gained = 0, most = 0;

    for (int32_t r = 0; r < h->count; r++)
        gained += h->hit[r] ? discount(r + 1) : 0;
    for (int32_t r = 0; r < h->possible; r++)
        most += discount(r + 1);
    return gained / most;
}

static double precision(const ease__hits *h)
{
    return (double)h->hits / (double)h->k;
}

static double any_hit(const ease__hits *h)
{
    return h->hits > 0;
}

static double average_precision(const ease__hits *h)
{
    double sum = 0;
    int32_t hits = 0;

    for (int32_t r = 0; r < h->count; r++)
        if (h->hit[r])
            sum += (double)++hits / (double)(r + 1);
    return sum / (double)h->possible;
}

static double reciprocal_rank(const ease__hits *h)
{
    for (int32_t r = 0; r < h->count; r++)
        if (h->hit[r])
            return 1.0 / (double)(r + 1);
    return 0;
}

double ease__metric_value(const ease__ranking_metric *m, const bool *hit, int32_t count,
                          int64_t held_out)
{
    ease__hits h = {.hit = hit,
                    .count = count < m->k ? count : m->k,
                    .k = m->k,
                    .held_out = held_out,
                    .possible = held_out < m->k ? (int32_t)held_out : m->k};

    for (int32_t r = 0; r < h.count; r++)
        h.hits += hit[r];
    return m->kind->from_hits(&h);
}

/* ---- from the recommended items ----------------------------------------------- */

int32_t ease__row_find(ease_row row, int32_t item)
{
    int32_t low = 0, high = row.count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (row.items[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row.count && row.items[low] == item ? low : -1;
}

static double popularity_of(const ease__list *l, int32_t item)
{
    int32_t place = ease__row_find(l->left_out, item);
    double own = 0;

    if (place >= 0)
        own = l->left_out.weights ? (double)l->left_out.weights[place] : 1;
    return l->popularity[item] - own;
}

static double mean_popularity(const ease__list *l)
{
    double sum = 0;

    for (int32_t r = 0; r < l->count; r++)
        sum += popularity_of(l, l->recs[r].item);
    return l->count ? sum / l->count : 0;
}

/* The mean of -log2(n / U). An item that nobody has counts as one that one user has,
 * since its surprise would be infinite. */
static double mean_surprise(const ease__list *l)
{
    double sum = 0;

    for (int32_t r = 0; r < l->count; r++) {
        double n = popularity_of(l, l->recs[r].item);

        sum += log2(l->users) - log2(n > 1 ? n : 1);
    }
    return l->count ? sum / l->count : 0;
}

/* Adds the vector of an item's tags, scaled to length 1, to by_tag. Returns the squared
 * length of what was added: 1, or 0 for an item without tags. */
static double add_tags(const ease__list *l, int32_t item)
{
    ease_row tags = l->tags[item];
    double square = 0, length;

    for (int32_t k = 0; k < tags.count; k++)
        square += tags.weights ? (double)tags.weights[k] * (double)tags.weights[k] : 1;
    length = sqrt(square);
    for (int32_t k = 0; k < tags.count && length > 0; k++)
        l->by_tag[tags.items[k]] += (tags.weights ? (double)tags.weights[k] : 1) /
                                    length;
    return length > 0;
}

/* Sets by_tag to zeros again; returns the sum of the squares of its numbers. */
static double take_squares(const ease__list *l)
{
    double sum = 0;

    for (int32_t r = 0; r < l->count; r++) {
        ease_row tags = l->tags[l->recs[r].item];

        for (int32_t k = 0; k < tags.count; k++) {
            double *at = &l->by_tag[tags.items[k]];

            sum += *at * *at;
            *at = 0;
        }
    }
    return sum;
}

/* The mean of 1 - cosine over the pairs of the list. With unit vectors v_i the cosines
 * of all pairs add up to (|sum v_i|^2 - sum |v_i|^2) / 2: no pair is visited. */
static double mean_distance(const ease__list *l)
{
    double pairs = 0.5 * l->count * (l->count - 1.0), own = 0, mean;

    if (l->count < 2)
        return 0;
    for (int32_t r = 0; r < l->count; r++)
        own += add_tags(l, l->recs[r].item);
    mean = 1 - 0.5 * (take_squares(l) - own) / pairs;
    return mean > 0 ? mean : 0; /* rounding of equal vectors */
}

double ease__coverage(int64_t *times, int32_t items)
{
    int32_t seen = 0;

    for (int32_t i = 0; i < items; i++)
        seen += times[i] > 0;
    return items ? (double)seen / (double)items : 0;
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

/* ---- the entries -------------------------------------------------------------- */

const ease__metric_kind ease__metric_recall = {
    .info = {.name = "recall",
             .about = "hits / min(k, held out), as in the paper",
             .direction = EASE__HIGHER_IS_BETTER,
             .by_user = 1},
    .from_hits = recall,
};

const ease__metric_kind ease__metric_plain_recall = {
    .info = {.name = "plain-recall",
             .about = "hits / held out",
             .direction = EASE__HIGHER_IS_BETTER,
             .by_user = 1},
    .from_hits = plain_recall,
};

const ease__metric_kind ease__metric_ndcg = {
    .info =
        {.name = "ndcg",
         .about =
             "sum of 1 / log2(rank + 1) over hits, divided by that of an ideal list",
         .direction = EASE__HIGHER_IS_BETTER,
         .by_user = 1},
    .from_hits = ndcg,
};

const ease__metric_kind ease__metric_precision = {
    .info = {.name = "precision",
             .about = "hits / k",
             .direction = EASE__HIGHER_IS_BETTER,
             .by_user = 1},
    .from_hits = precision,
};

const ease__metric_kind ease__metric_hit = {
    .info = {.name = "hit",
             .about = "1 if there is a hit, 0 if there is none",
             .direction = EASE__HIGHER_IS_BETTER,
             .by_user = 1},
    .from_hits = any_hit,
};

const ease__metric_kind ease__metric_map = {
    .info = {.name = "map",
             .about = "sum of the precision at each hit / min(k, held out)",
             .direction = EASE__HIGHER_IS_BETTER,
             .by_user = 1},
    .from_hits = average_precision,
};

const ease__metric_kind ease__metric_mrr = {
    .info = {.name = "mrr",
             .about = "1 / rank of the first hit, 0 if there is none",
             .direction = EASE__HIGHER_IS_BETTER,
             .by_user = 1},
    .from_hits = reciprocal_rank,
};

const ease__metric_kind ease__metric_popularity = {
    .info = {.name = "popularity",
             .about = "mean popularity of the recommended items: their count in the "
                      "training data",
             .direction = EASE__NEITHER_IS_BETTER,
             .by_user = 1},
    .from_items = mean_popularity,
};

const ease__metric_kind ease__metric_novelty = {
    .info = {.name = "novelty",
             .about = "mean surprise of the recommended items: -log2 of their share of "
                      "users in the training data",
             .direction = EASE__NEITHER_IS_BETTER,
             .by_user = 1},
    .needs_users = true,
    .from_items = mean_surprise,
};

const ease__metric_kind ease__metric_diversity = {
    .info = {.name = "diversity",
             .about =
                 "mean over pairs of recommended items of 1 - cosine of their tags",
             .direction = EASE__NEITHER_IS_BETTER,
             .by_user = 1},
    .needs_tags = true,
    .from_items = mean_distance,
};

const ease__metric_kind ease__metric_coverage = {
    .info = {.name = "coverage",
             .about = "share of the catalog that is in any list",
             .direction = EASE__HIGHER_IS_BETTER},
    .from_times = ease__coverage,
};

const ease__metric_kind ease__metric_gini = {
    .info = {.name = "gini",
             .about = "inequality of how often each item of the catalog is in a list, "
                      "0 if equal",
             .direction = EASE__LOWER_IS_BETTER},
    .from_times = ease__gini,
};

#define ENTRY(metric) &metric,
const ease__metric_kind *const ease__metric_kinds[] = {EASE__METRICS(ENTRY) NULL};
