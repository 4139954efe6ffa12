/* The figures: weights, long tail, lambda. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/sized.h"
#include "eval/metrics.h"
#include "figures/weights.h"
#include "model/model.h"

#define LAMBDA     "\xce\xbb"
#define PLUS_MINUS "\xc2\xb1"

enum { LINE = 17 }; /* of text below the axes */

ease_status ease_plot_check(const char *path, ease_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path, *dot;

    if (!path || !*path)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    dot = strrchr(name, '.');
    if (!dot || dot == name || strcasecmp(dot, ".svg") == 0)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "%s: figures are SVG: give a name that ends in .svg", path);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- weights ---------------------------------------------------------------- */

static void add_bar(ease__svg *s, const ease__figure *f, const char *class, double from,
                    double to, int64_t count)
{
    double top = ease__axis_place(&f->y, (double)count);

    ease__svg_add(s, "<rect class=\"%s\" x=\"%f\" y=\"%f\" width=\"%f\" height=\"%f\">",
                  class, from, top, to - from, f->bottom - top);
}

static void add_bins(ease__svg *s, const ease__figure *f, const ease__weight_bins *b)
{
    double zero = ease__axis_place(&f->x, 0);

    for (int i = 0; i + 1 < b->edges.count; i++) {
        double low = ease__steps_at(&b->edges, i);
        double high = ease__steps_at(&b->edges, i + 1);

        if (b->in[i] == 0)
            continue;
        add_bar(s, f, ease__svg_fill(low < 0), ease__axis_place(&f->x, low) + 0.3,
                ease__axis_place(&f->x, high) - 0.3, b->in[i]);
        ease__svg_add(s, "<title>%s to %s: %s</title></rect>\n",
                      ease__label_value(low, 6).text, ease__label_value(high, 6).text,
                      ease__label_count(b->in[i]).text);
    }
    if (b->zero > 0) {
        add_bar(s, f, ease__svg_fill(-1), zero - 1.5, zero + 1.5, b->zero);
        ease__svg_add(s, "<title>exactly 0: %s</title></rect>\n",
                      ease__label_count(b->zero).text);
    }
}

static void add_quantiles(ease__svg *s, const ease__figure *f,
                          const ease_weight_summary *w)
{
    double y = f->foot_top + LINE;

    ease__svg_add(s, "<text class=\"soft\" x=\"16\" y=\"%f\">Quantile</text>\n", y);
    ease__svg_add(s, "<text class=\"soft\" x=\"16\" y=\"%f\">Weight</text>\n",
                  y + LINE);
    for (int i = 0; i < EASE_WEIGHT_QUANTILES; i++) {
        double x = 138 + i * 81;

        ease__svg_add(s, "<text class=\"soft end\" x=\"%f\" y=\"%f\">%s %%</text>\n", x,
                      y, ease__label_value(100 * ease__weight_quantiles[i], 3).text);
        ease__svg_add(s, "<text class=\"end\" x=\"%f\" y=\"%f\">%s</text>\n", x,
                      y + LINE, ease__label_value(w->quantile[i], 3).text);
    }
}

static void add_outside(ease__svg *s, double y, int64_t count, const char *side,
                        double end, const char *most, double extreme)
{
    ease__svg_add(s,
                  "<text class=\"soft\" x=\"16\" y=\"%f\">Not shown: %s weight%s %s "
                  "%s, the %s %s</text>\n",
                  y, ease__label_count(count).text, plural(count), side,
                  ease__label_value(end, 6).text, most,
                  ease__label_value(extreme, 3).text);
}

static void add_notes(ease__svg *s, const ease__figure *f, const ease__weight_bins *b,
                      const ease_weight_summary *w)
{
    double y = f->foot_top + 3.4 * LINE;

    ease__svg_add(s, "<text class=\"soft\" x=\"16\" y=\"%f\">Mean weight: %s</text>\n",
                  f->bottom + 35, ease__label_value(w->mean, 3).text);
    if (b->below > 0)
        add_outside(s, y, b->below, "below", f->x.low, "smallest", w->smallest);
    if (b->above > 0)
        add_outside(s, b->below > 0 ? y + LINE : y, b->above, "above", f->x.high,
                    "largest", w->largest);
}

static ease__figure_axis count_axis(int64_t most)
{
    ease__figure_axis a = ease__axis_over(1, (double)(most > 10 ? most : 10), true);

    a.low = 0.6; /* so that a count of 1 is visible */
    return a;
}

static ease__figure_axis weight_axis(const ease__weight_bins *b)
{
    double low = ease__steps_at(&b->edges, 0);
    double high = ease__steps_at(&b->edges, b->edges.count - 1);
    ease__figure_axis a = ease__axis_over(low, high, false);

    a.low = low;
    a.high = high;
    return a;
}

static const char *kind_words(const ease_model_info *info)
{
    switch (info->kind) {
    case EASE_GRAM_COVARIANCE:
        return ", covariance";
    case EASE_GRAM_CORRELATION:
        return ", correlation";
    case EASE_GRAM_COUNTS:
        break;
    }
    return "";
}

static ease_status draw_weights(const ease_model_info *info,
                                const ease_weight_summary *w,
                                const ease__weight_bins *b, const char *path,
                                ease_error *err)
{
    char subtitle[400], x_label[96], share[3][96];
    ease__legend legend[] = {{EASE__MARK_BOX, 1, share[0]},
                             {EASE__MARK_BOX, -1, share[1]},
                             {EASE__MARK_BOX, 0, share[2]}};
    ease__figure f = {.title = "Learned weights",
                      .subtitle = subtitle,
                      .x_label = x_label,
                      .y_label = "Number of weights (log scale)",
                      .legend = legend,
                      .legends = 3,
                      .foot = (2.8 + (b->below > 0) + (b->above > 0)) * LINE,
                      .x = weight_axis(b)};
    double all = (double)(w->count > 0 ? w->count : 1);
    double positive = (double)w->count - round(w->negative * all) -
                      round(w->zero * all);
    int64_t most = b->zero;
    ease__svg s = {0};

    for (int i = 0; i + 1 < b->edges.count; i++)
        most = b->in[i] > most ? b->in[i] : most;
    f.y = count_axis(most);
    snprintf(subtitle, sizeof(subtitle),
             "%s item%s, " LAMBDA " = %s%s%s; %s weights off the diagonal",
             ease__label_count(info->items).text, plural(info->items),
             ease__label_value(info->lambda, 6).text, kind_words(info),
             info->nonnegative ? ", none below 0" : "",
             ease__label_count(w->count).text);
    snprintf(x_label, sizeof(x_label), "Weight, in bins of %s",
             ease__label_value(ease__steps_width(&b->edges), 3).text);
    snprintf(share[0], sizeof(share[0]), "negative: %s",
             ease__label_share(w->negative).text);
    snprintf(share[1], sizeof(share[1]), "exactly 0: %s",
             ease__label_share(w->zero).text);
    snprintf(share[2], sizeof(share[2]), "positive: %s",
             ease__label_share(positive / all).text);
    ease__figure_begin(&s, &f);
    add_bins(&s, &f, b);
    add_quantiles(&s, &f, w);
    add_notes(&s, &f, b, w);
    return ease__figure_save(&s, path, err);
}

ease_status ease_plot_weights(const ease_model *m, const char *path,
                              ease_weight_summary *summary, const ease_hooks *hooks,
                              ease_error *err)
{
    ease_weight_summary w = {.size = sizeof(w)};
    ease__weight_bins b;
    ease_status status = EASE_OK;

    if (!m)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    if (summary)
        status = ease__info_check(summary, "ease_weight_summary", err);
    if (!status)
        status = ease_plot_check(path, err);
    if (!status)
        status = ease_model_summarize_weights(m, &w, hooks, err);
    if (!status)
        status = ease__count_weights(m, &w, &b, hooks, err);
    if (!status)
        status = draw_weights(&m->info, &w, &b, path, err);
    if (!status)
        ease__info_give(summary, &w, sizeof(w));
    return status;
}

/* ---- the long tail ---------------------------------------------------------- */

typedef struct tail {
    int64_t *count; /* in descending order */
    int64_t most;   /* the first of them */
    int32_t ever;   /* number of items with a count above 0 */
    char legend[704];
} tail;

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

static ease_status make_tail(tail *t, const int64_t *times, const char *name,
                             int32_t items, ease_error *err)
{
    t->count = ease__alloc_array((size_t)items, sizeof(*t->count));
    if (!t->count)
        return ease__fail(err, EASE_E_NOMEM, "sorting %d items", (int)items);
    memcpy(t->count, times, (size_t)items * sizeof(*times));
    qsort(t->count, (size_t)items, sizeof(*t->count), descending);
    if (t->count[items - 1] < 0)
        return ease__fail(err, EASE_E_ARG, "%s: a count below 0", name);
    t->most = t->count[0];
    while (t->ever < items && t->count[t->ever] > 0)
        t->ever++;
    snprintf(t->legend, sizeof(t->legend), "%s: %s item%s (%s)",
             ease__svg_shorten(name, 360).text, ease__label_count(t->ever).text,
             plural(t->ever), ease__label_share((double)t->ever / items).text);
    return EASE_OK;
}

/* Adds a point only where the line moves visibly: a million items do not make a
 * larger file. */
static void add_tail(ease__svg *s, const ease__figure *f, const tail *t, int32_t items,
                     int style)
{
    double x = f->x.from, y = f->y.from;

    if (t->ever == 0)
        return;
    ease__svg_add(s, "<path class=\"line %s\" d=\"", ease__svg_stroke(style));
    for (int32_t i = 0; i < t->ever; i++) {
        double here = ease__axis_place(&f->x, i + 1.0);
        double level = ease__axis_place(&f->y, (double)t->count[i]);

        if (i > 0 && i + 1 < t->ever && here - x < 0.5 && fabs(level - y) < 0.5)
            continue;
        x = here;
        y = level;
        ease__svg_add(s, "%s%f %f", i > 0 ? "L" : "M", x, y);
    }
    if (t->ever < items) /* the rest is never recommended */
        ease__svg_add(s, "V%f", f->bottom);
    ease__svg_add(s, "\"/>\n");
    if (t->ever == 1)
        ease__svg_add(s, "<circle class=\"%s\" cx=\"%f\" cy=\"%f\" r=\"4\"/>\n",
                      ease__svg_fill(style), x, y);
}

static ease_status draw_tails(const tail *t, int models, int32_t items, int32_t k,
                              const char *path, ease_error *err)
{
    char subtitle[192], y_label[96];
    ease__legend legend[EASE__SVG_STYLES];
    ease__figure f = {.title = "How often each item is recommended",
                      .subtitle = subtitle,
                      .x_label = "Rank of the item by how often it is recommended "
                                 "(log scale)",
                      .y_label = y_label,
                      .legend = legend,
                      .legends = models,
                      .foot = 6,
                      .x = ease__axis_over(1, items > 10 ? items : 10, true)};
    int64_t most = 0;
    ease__svg s = {0};

    for (int m = 0; m < models; m++) {
        legend[m] = (ease__legend){EASE__MARK_LINE, m, t[m].legend};
        most = t[m].most > most ? t[m].most : most;
    }
    f.x.high = items > 10 ? items : 10;
    f.y = count_axis(most);
    snprintf(subtitle, sizeof(subtitle),
             "Lists of the best %s of %s item%s; by model, how many are in any list",
             ease__label_count(k).text, ease__label_count(items).text, plural(items));
    snprintf(y_label, sizeof(y_label), "Lists that hold the item (log scale)");
    ease__figure_begin(&s, &f);
    for (int m = models - 1; m >= 0; m--) /* the first model is drawn last, on top */
        add_tail(&s, &f, &t[m], items, m);
    return ease__figure_save(&s, path, err);
}

ease_status ease_plot_longtail(const int64_t *const *times, const char *const *names,
                               int models, int32_t items, int32_t k, const char *path,
                               ease_error *err)
{
    tail tails[EASE__SVG_STYLES] = {0};
    ease_status status = ease_plot_check(path, err);

    if (!times || !names || items < 1 || k < 1)
        return ease__fail(err, EASE_E_ARG, "counts and names are required");
    if (models < 1 || models > EASE__SVG_STYLES)
        return ease__fail(err, EASE_E_ARG, "1 to %d models fit a figure, not %d",
                          EASE__SVG_STYLES, models);
    for (int m = 0; !status && m < models; m++) {
        if (times[m] && names[m])
            status = make_tail(&tails[m], times[m], names[m], items, err);
        else
            status = ease__fail(err, EASE_E_ARG, "model %d lacks counts or a name", m);
    }
    if (!status)
        status = draw_tails(tails, models, items, k, path, err);
    for (int m = 0; m < models; m++)
        ease__free(tails[m].count);
    return status;
}

/* ---- lambda ----------------------------------------------------------------- */

typedef struct trial {
    double lambda, mean;
    double error; /* 0: no error bar */
} trial;

static int by_lambda(const void *a, const void *b)
{
    const trial *x = a, *y = b;

    if (x->lambda != y->lambda)
        return x->lambda < y->lambda ? -1 : 1;
    return (x->mean > y->mean) - (x->mean < y->mean);
}

static ease_status make_trials(const double *lambda, const double *mean,
                               const double *standard_error, int count, trial *out,
                               ease_error *err)
{
    for (int i = 0; i < count; i++) {
        double error = standard_error ? standard_error[i] : 0;

        if (!(lambda[i] >= 1e-100 && lambda[i] <= 1e100))
            return ease__fail_at(err, EASE_E_ARG, i,
                                 "lambda %d of %d is not from 1e-100 to 1e100", i + 1,
                                 count);
        if (!(fabs(mean[i]) < 1e99) || error < 0 || error >= 1e99)
            return ease__fail_at(err, EASE_E_ARG, i,
                                 "mean %d of %d or its error cannot be drawn", i + 1,
                                 count);
        out[i] = (trial){lambda[i], mean[i], error > 0 ? error : 0};
    }
    qsort(out, (size_t)count, sizeof(*out), by_lambda);
    return EASE_OK;
}

static void add_error_bar(ease__svg *s, const ease__figure *f, const trial *t)
{
    double x = ease__axis_place(&f->x, t->lambda);
    double top = ease__axis_place(&f->y, t->mean + t->error);
    double bottom = ease__axis_place(&f->y, t->mean - t->error);

    ease__svg_add(s, "<path class=\"line bar s0\" d=\"M%f %fh8m-4 0V%fm-4 0h8\"/>\n",
                  x - 4, top, bottom);
}

static void add_point(ease__svg *s, const ease__figure *f, const trial *t, bool best,
                      const char *metric)
{
    ease__svg_add(s,
                  "<circle class=\"%s\" cx=\"%f\" cy=\"%f\" r=\"%d\">"
                  "<title>" LAMBDA " = %s: %s %s",
                  ease__svg_fill(best ? 1 : 0), ease__axis_place(&f->x, t->lambda),
                  ease__axis_place(&f->y, t->mean), best ? 6 : 3,
                  ease__label_value(t->lambda, 6).text, metric,
                  ease__label_value(t->mean, 6).text);
    if (t->error > 0)
        ease__svg_add(s, " " PLUS_MINUS " %s", ease__label_value(t->error, 3).text);
    ease__svg_add(s, "</title></circle>\n");
}

static void add_curve(ease__svg *s, const ease__figure *f, const trial *t, int count,
                      int best, const char *metric)
{
    ease__svg_add(s, "<path class=\"line s0\" d=\"");
    for (int i = 0; i < count; i++)
        ease__svg_add(s, "%s%f %f", i > 0 ? "L" : "M",
                      ease__axis_place(&f->x, t[i].lambda),
                      ease__axis_place(&f->y, t[i].mean));
    ease__svg_add(s, "\"/>\n");
    for (int i = 0; i < count; i++)
        if (t[i].error > 0)
            add_error_bar(s, f, &t[i]);
    for (int i = 0; i < count; i++)
        if (i != best)
            add_point(s, f, &t[i], false, metric);
    add_point(s, f, &t[best], true, metric);
}

/* The axis of lambda, with ends a little outside the values that were tried. */
static ease__figure_axis lambda_axis(double low, double high)
{
    double pad = pow(high / low, 0.04);
    ease__figure_axis a;

    if (pad < 1.02)
        pad = low == high ? 10 : 1.02;
    a = ease__axis_over(low / pad, high * pad, true);
    a.low = low / pad;
    a.high = high * pad;
    return a;
}

static ease_status draw_trials(const trial *t, int count, const char *metric,
                               const char *path, ease_error *err)
{
    ease__short_text name = ease__svg_shorten(metric, 200);
    char title[600], subtitle[800], y_label[600], best_text[160];
    ease__legend legend[] = {{EASE__MARK_DOT, 1, best_text},
                             {EASE__MARK_ERROR_BAR, 0, PLUS_MINUS " 1 standard error"}};
    ease__figure f = {.title = title,
                      .subtitle = subtitle,
                      .x_label = "Regularization " LAMBDA " (log scale)",
                      .y_label = y_label,
                      .legend = legend,
                      .legends = 1,
                      .foot = 6,
                      .x = lambda_axis(t[0].lambda, t[count - 1].lambda)};
    const ease__metric_kind *kind = ease__metric_kind_of(metric);
    double low = INFINITY, high = -INFINITY;
    ease__svg s = {0};
    int best = 0;

    for (int i = 0; i < count; i++) {
        low = fmin(low, t[i].mean - t[i].error);
        high = fmax(high, t[i].mean + t[i].error);
        best = ease__metric_better(kind, t[best].mean, t[i].mean) ? best : i;
        if (t[i].error > 0)
            f.legends = 2;
    }
    f.y = ease__axis_over(low, high, false);
    snprintf(title, sizeof(title), "%s by " LAMBDA, name.text);
    snprintf(y_label, sizeof(y_label), "%s, mean over users", name.text);
    snprintf(best_text, sizeof(best_text), "best: " LAMBDA " = %s",
             ease__label_value(t[best].lambda, 6).text);
    snprintf(subtitle, sizeof(subtitle),
             "%s value%s of " LAMBDA " tried; at the best %s is %s%s%s",
             ease__label_count(count).text, plural(count), name.text,
             ease__label_fixed(t[best].mean, 5).text,
             t[best].error > 0 ? " " PLUS_MINUS " " : "",
             t[best].error > 0 ? ease__label_fixed(t[best].error, 5).text : "");
    ease__figure_begin(&s, &f);
    add_curve(&s, &f, t, count, best, name.text);
    return ease__figure_save(&s, path, err);
}

ease_status ease_plot_lambda(const double *lambda, const double *mean,
                             const double *standard_error, int count,
                             const char *metric, const char *path, ease_error *err)
{
    ease_status status;
    trial *trials;

    if (!lambda || !mean || count < 1 || !metric)
        return ease__fail(err, EASE_E_ARG,
                          "values of lambda and their means are required");
    status = ease_plot_check(path, err);
    if (status)
        return status;
    trials = ease__alloc_array((size_t)count, sizeof(*trials));
    if (!trials)
        return ease__fail(err, EASE_E_NOMEM, "%d values of lambda", count);
    status = make_trials(lambda, mean, standard_error, count, trials, err);
    if (!status)
        status = draw_trials(trials, count, metric, path, err);
    ease__free(trials);
    return status;
}
