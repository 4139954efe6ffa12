#include "figures/weights.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/sized.h"
#include "model/model.h"

/* A fine class of weights: the sign, the exponent and ten bits of the mantissa of a
 * float. */
enum { FINE_SHIFT = 13, FINE = 1 << (32 - FINE_SHIFT) };
/* A thread processes ROWS neighbouring rows at a time, which share cache lines in
 * packed storage; progress is reported after each STRIPE. */
enum { ROWS = 16, STRIPE = 1024 };

const double ease__weight_quantiles[EASE_WEIGHT_QUANTILES] = {0.001, 0.01, 0.1,  0.5,
                                                              0.9,   0.99, 0.999};

/* The counts of one thread: integers, so that the order of additions does not
 * matter. */
typedef struct tally {
    float *row;
    ease_rec *nonzeros; /* of forms that have few; the others have `row` */
    int64_t *count;     /* FINE classes, or bins and one more at each end */
    int64_t negative, zero;
    float smallest, largest;
} tally;

typedef struct scan {
    const ease_model *model;
    const ease_hooks *hooks;
    const char *stage;
    int32_t items;
    int threads;
    size_t classes;
    tally *tally;      /* one for each thread */
    double *row_sum;   /* NULL in the second pass */
    ease__steps edges; /* of the second pass */
    ease__failure failure;
} scan;

/* ---- a row ------------------------------------------------------------------ */

/* The fine class of a weight; larger floats have larger numbers. Without a branch,
 * since signs are hard to predict. */
static uint32_t fine_class(float weight)
{
    uint32_t bits, negative;

    weight += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &weight, sizeof(bits));
    negative = 0u - (bits >> 31);
    return (bits ^ (negative | 0x80000000u)) >> FINE_SHIFT;
}

static double fine_edge(uint32_t class)
{
    uint32_t bits = class << FINE_SHIFT;
    float weight;

    bits = bits >> 31 ? bits & 0x7fffffffu : ~bits;
    memcpy(&weight, &bits, sizeof(weight));
    return (double)weight;
}

/* Counts weights by fine class. Returns their sum, which is not finite if a weight
 * is not. */
static double count_fine(tally *t, int32_t count)
{
    const float *row = t->row;
    float smallest = t->smallest, largest = t->largest;
    int64_t negative = 0, zero = 0;
    double sum = 0;

    for (int32_t j = 0; j < count; j++) {
        float w = row[j];

        sum += (double)w;
        negative += w < 0;
        zero += w == 0;
        smallest = w < smallest ? w : smallest;
        largest = w > largest ? w : largest;
        t->count[fine_class(w)]++;
    }
    t->negative += negative;
    t->zero += zero;
    t->smallest = smallest;
    t->largest = largest;
    return sum;
}

static void count_bins(tally *t, int32_t count, const ease__steps *edges)
{
    double width = ease__steps_width(edges);
    double before = edges->first - 1, after = edges->first + edges->count - 1;
    double last = ease__steps_at(edges, edges->count - 1);
    int offset = (int)before;
    int64_t zero = 0;

    for (int32_t j = 0; j < count; j++) {
        double weight = (double)t->row[j], at = weight / width;
        int bin;

        at = at > before ? at : before;
        at = at < after ? at : after;
        bin = (int)at;
        bin -= ((double)bin > at) | ((at >= after) & (weight <= last));
        if (weight == 0)
            zero++;
        else
            t->count[bin - offset]++;
    }
    t->zero += zero;
}

/* Reads the weights of a row without the diagonal; *count of them are in t->row, the
 * others are 0. */
static ease_status read_row(const scan *s, int32_t item, tally *t, int32_t *count,
                            ease_error *err)
{
    const ease_model *m = s->model;
    int32_t last = s->items - 1;
    ease_status status;

    if (!t->nonzeros) {
        *count = last;
        status = ease_model_row(m, item, t->row, err);
        t->row[item] = t->row[last]; /* the last weight replaces the diagonal */
        return status;
    }
    status = m->form->store->need(m, (ease__window){item, item + 1, 0, s->items},
                                  EASE__WHOLE, err);
    if (status)
        return status;
    *count = m->form->store->nonzeros(m, item, t->nonzeros);
    for (int32_t k = 0; k < *count; k++)
        t->row[k] = t->nonzeros[k].score;
    return ease__container_unchanged(&m->file, err);
}

/* Counts zeros that were not read. */
static void count_zeros(tally *t, int64_t zeros, bool fine)
{
    if (zeros == 0)
        return;
    t->zero += zeros;
    if (!fine)
        return;
    t->smallest = t->smallest < 0 ? t->smallest : 0;
    t->largest = t->largest > 0 ? t->largest : 0;
    t->count[fine_class(0)] += zeros;
}

static void count_row(scan *s, int32_t item)
{
    tally *t = &s->tally[omp_get_thread_num()];
    int32_t count = 0;
    ease_error err = {0};
    ease_status status = read_row(s, item, t, &count, &err);

    if (status) {
        ease__failure_note(&s->failure, status, &err);
        return;
    }
    count_zeros(t, s->items - 1 - count, s->row_sum != NULL);
    if (s->row_sum)
        s->row_sum[item] = count_fine(t, count);
    else
        count_bins(t, count, &s->edges);
}

/* ---- all rows --------------------------------------------------------------- */

static void scan_free(scan *s)
{
    for (int i = 0; s->tally && i < s->threads; i++) {
        ease__free(s->tally[i].row);
        ease__free(s->tally[i].nonzeros);
        ease__free(s->tally[i].count);
    }
    ease__free(s->tally);
    ease__free(s->row_sum);
}

static ease_status scan_prepare(scan *s, ease_error *err)
{
    s->tally = ease__alloc_zero((size_t)s->threads, sizeof(*s->tally));
    if (!s->tally)
        goto no_memory;
    for (int i = 0; i < s->threads; i++) {
        tally *t = &s->tally[i];

        t->row = ease__alloc_array((size_t)s->items, sizeof(*t->row));
        t->count = ease__alloc_zero(s->classes, sizeof(*t->count));
        if (s->model->form->store->nonzeros) {
            t->nonzeros = ease__alloc_array((size_t)s->items, sizeof(*t->nonzeros));
            if (!t->nonzeros)
                goto no_memory;
        }
        if (!t->row || !t->count)
            goto no_memory;
        t->smallest = INFINITY;
        t->largest = -INFINITY;
    }
    return EASE_OK;

no_memory:
    return ease__fail(err, EASE_E_NOMEM, "counting the weights of %d items",
                      (int)s->items);
}

/* Counts all weights; the totals are in the first tally. */
static ease_status scan_run(scan *s, ease_error *err)
{
    ease_status status = ease__container_need_all(&s->model->file, s->threads, s->hooks,
                                                  err);

    if (status)
        return status;
    for (int32_t first = 0; first < s->items; first += STRIPE) {
        int32_t left = s->items - first, rows = left < STRIPE ? left : STRIPE;

        if (ease__progress(s->hooks, s->stage, (double)first / s->items))
            return ease__cancelled(err);
#pragma omp parallel for schedule(dynamic, ROWS) num_threads(s->threads)
        for (int32_t i = 0; i < rows; i++)
            count_row(s, first + i);
        status = ease__failure_take(&s->failure, err);
        if (status)
            return status;
    }
    for (int i = 1; i < s->threads; i++) {
        tally *all = &s->tally[0], *t = &s->tally[i];

        for (size_t c = 0; c < s->classes; c++)
            all->count[c] += t->count[c];
        all->negative += t->negative;
        all->zero += t->zero;
        all->smallest = fminf(all->smallest, t->smallest);
        all->largest = fmaxf(all->largest, t->largest);
    }
    return EASE_OK;
}

static scan scan_of(const ease_model *m, const char *stage, const ease_hooks *hooks)
{
    int32_t items = m->info.items;
    int threads = ease__threads(m->threads), enough = 1 + items / ROWS;

    return (scan){.model = m,
                  .hooks = hooks,
                  .stage = stage,
                  .items = items,
                  .threads = threads < enough ? threads : enough};
}

/* ---- the summary ------------------------------------------------------------ */

/* The weight that a share q of all weights does not exceed; weights are assumed to
 * be even within their class. */
static double quantile(const tally *t, int64_t count, double q)
{
    int64_t rank = (int64_t)ceil(q * (double)count), before = 0;
    uint32_t class = 0;
    double low, high, value;

    if (rank <= 1)
        return (double)t->smallest;
    if (rank >= count)
        return (double)t->largest;
    while (before + t->count[class] < rank)
        before += t->count[class ++];
    low = fine_edge(class);
    high = fine_edge(class + 1);
    value = low +
            (high - low) * ((double)(rank - before) - 0.5) / (double)t->count[class];
    if (fabs(value) < (double)FLT_MIN)
        value = 0;
    return fmin(fmax(value, (double)t->smallest), (double)t->largest);
}

static ease_status summarize(const scan *s, ease_weight_summary *out, ease_error *err)
{
    const tally *t = &s->tally[0];
    ease_weight_summary r = {.count = (int64_t)s->items * (s->items - 1)};
    double sum = 0;

    for (int32_t i = 0; i < s->items; i++) {
        if (!isfinite(s->row_sum[i]))
            return ease__fail_at(err, EASE_E_FORMAT, i,
                                 "item %d has weights that are not finite", (int)i);
        sum += s->row_sum[i];
    }
    if (r.count > 0) {
        r.negative = (double)t->negative / (double)r.count;
        r.zero = (double)t->zero / (double)r.count;
        r.smallest = (double)t->smallest;
        r.largest = (double)t->largest;
        r.mean = sum / (double)r.count;
        for (int i = 0; i < EASE_WEIGHT_QUANTILES; i++)
            r.quantile[i] = quantile(t, r.count, ease__weight_quantiles[i]);
    }
    ease__info_give(out, &r, sizeof(r));
    return EASE_OK;
}

ease_status ease_model_summarize_weights(const ease_model *m, ease_weight_summary *out,
                                         const ease_hooks *hooks, ease_error *err)
{
    ease_status status;
    scan s;

    if (!m)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    status = ease__info_check(out, "ease_weight_summary", err);
    if (status)
        return status;
    if (m->form->store->empty)
        return ease__fail(err, EASE_E_ARG, "a model of %s has no weights",
                          m->info.method);
    s = scan_of(m, "reading weights", hooks);
    s.classes = FINE;
    s.row_sum = ease__alloc_array((size_t)s.items, sizeof(*s.row_sum));
    if (s.row_sum)
        status = scan_prepare(&s, err);
    else
        status = ease__fail(err, EASE_E_NOMEM, "%d sums", (int)s.items);
    if (!status)
        status = scan_run(&s, err);
    if (!status)
        status = summarize(&s, out, err);
    scan_free(&s);
    return status;
}

/* ---- the histogram ---------------------------------------------------------- */

/* The bins between the outermost quantiles, or over the whole range if these are
 * equal, with a bin on either side of 0. */
static ease__steps choose_bins(const ease_weight_summary *w)
{
    double low = w->quantile[0], high = w->quantile[EASE_WEIGHT_QUANTILES - 1];
    ease__steps s;

    if (low == high) {
        low = w->smallest;
        high = w->largest;
    }
    s = ease__steps_over(fmin(low, 0), fmax(high, 0), EASE__MAX_BINS - 8);
    if (s.first + s.count - 1 == 0)
        s.count++;
    if (s.first == 0) {
        s.first = -1;
        s.count++;
    }
    return s;
}

ease_status ease__count_weights(const ease_model *m, const ease_weight_summary *summary,
                                ease__weight_bins *out, const ease_hooks *hooks,
                                ease_error *err)
{
    scan s = scan_of(m, "counting weights", hooks);
    const int64_t *count;
    ease_status status;
    int bins;

    s.edges = choose_bins(summary);
    bins = s.edges.count - 1;
    s.classes = (size_t)bins + 2;
    status = scan_prepare(&s, err);
    if (!status)
        status = scan_run(&s, err);
    if (!status) {
        count = s.tally[0].count;
        *out = (ease__weight_bins){.edges = s.edges,
                                   .zero = s.tally[0].zero,
                                   .below = count[0],
                                   .above = count[bins + 1]};
        memcpy(out->in, count + 1, (size_t)bins * sizeof(*count));
    }
    scan_free(&s);
    return status;
}

ease_status ease_model_count_weights(const ease_model *m, ease_weight_histogram *out,
                                     ease_weight_summary *summary,
                                     const ease_hooks *hooks, ease_error *err)
{
    ease_weight_summary w = {.size = sizeof(w)};
    ease_weight_histogram h = {0};
    ease__weight_bins b;
    ease_status status;

    if (!m)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    status = ease__info_check(out, "ease_weight_histogram", err);
    if (!status && summary)
        status = ease__info_check(summary, "ease_weight_summary", err);
    if (!status)
        status = ease_model_summarize_weights(m, &w, hooks, err);
    if (!status)
        status = ease__count_weights(m, &w, &b, hooks, err);
    if (status)
        return status;
    h.bins = b.edges.count - 1;
    h.zero = b.zero;
    h.below = b.below;
    h.above = b.above;
    for (int i = 0; i <= h.bins; i++)
        h.edge[i] = ease__steps_at(&b.edges, i);
    memcpy(h.count, b.in, (size_t)h.bins * sizeof(*h.count));
    ease__info_give(out, &h, sizeof(h));
    ease__info_give(summary, &w, sizeof(w));
    return EASE_OK;
}
