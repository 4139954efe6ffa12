/* The figure of a search over several settings: a facet, which is a small pair of
 * axes, for each setting. All facets have the same trials and the same scale of the
 * metric. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "figures/svg.h"

#define PLUS_MINUS "\xc2\xb1"
#define DISC       "\xe2\x97\x8f"

enum {
    MOST_INTERVALS = 20, /* of a setting, in which the best trials are found */
    FEW_TRIALS = 8,      /* fewer than these are all shown on the scale */
    HEAD = 26,           /* of a facet: its name */
    FOOT = 34,           /* of a facet: the labels of its ticks, and space */
    GAP = 28,            /* between facets side by side */
    NOTE = 17            /* height of a line of text below the facets */
};

/* The search, as all facets show it. */
typedef struct searched {
    const double *mean;
    int trials, best;
    double error; /* of the best; 0: not known */
    bool lower;   /* lower values of the metric are the better ones */
    int beyond;   /* number of trials that are not on the scale */
    int columns;
    bool intervals; /* a line of some facet is by intervals */
    ease__short_text metric;
    ease__figure_axis y;
} searched;

/* A trial in a facet. */
typedef struct facet_dot {
    double value;   /* of the setting */
    double badness; /* by how much the best mean is better */
    int trial;
} facet_dot;

typedef struct facet {
    const ease_plot_axis *axis;
    facet_dot *dot; /* by value; dots of equal value, the best first */
    int *peak;      /* numbers of the dots that the line connects */
    int dots, peaks;
} facet;

/* ---- the scale of the metric ------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* By how much the worst trial is worse than the best, or less if some trials are so bad
 * that the others could hardly be told apart: trials are left out from a gap on, below
 * the better three quarters, or less, but at least half, if these are far apart too.
 * `badness` is in ascending order. */
static double visible_depth(const double *badness, int trials, double error)
{
    int last = trials - 1, quarter = last / 4, most = last - quarter;
    double depth = fmin(4 * badness[quarter], badness[most]);

    depth = 1.6 * fmax(depth, badness[last / 2]);
    depth = fmax(depth, fmin(error, 2 * depth));
    while (trials >= FEW_TRIALS && depth > 0 && badness[last] > depth)
        last--;
    return badness[last];
}

static double better_mean(const searched *q)
{
    double top = q->mean[q->best];

    for (int i = 0; i < q->trials; i++)
        top = q->lower ? fmin(top, q->mean[i]) : fmax(top, q->mean[i]);
    return top;
}

static bool is_beyond(const searched *q, double mean)
{
    return q->lower ? mean > q->y.high : mean < q->y.low;
}

/* Sets the scale of the metric: from above the best mean, with its standard error as
 * far as that does not take most of the space, down to the visible depth. */
static void scale_metric(searched *q, double *badness)
{
    double top = better_mean(q), sign = q->lower ? -1 : 1, depth, above, ends[2];
    ease__figure_axis *y = &q->y;

    for (int i = 0; i < q->trials; i++)
        badness[i] = fabs(top - q->mean[i]);
    qsort(badness, (size_t)q->trials, sizeof(*badness), ascending);
    depth = visible_depth(badness, q->trials, q->error);
    depth = fmax(depth, fabs(top - q->mean[q->best]));
    above = depth > 0 ? fmin(q->error, 0.25 * depth) : q->error;
    depth = depth > 0 ? depth : q->error;
    ends[0] = top - sign * (depth + 0.08 * (depth + above));
    ends[1] = top + sign * (above + 0.1 * (depth + above));
    *y = ease__axis_over(fmin(ends[0], ends[1]), fmax(ends[0], ends[1]), false);
    if (depth + above > 1e-9 * fabs(top) && depth + above > 1e-90) {
        y->low = fmin(ends[0], ends[1]);
        y->high = fmax(ends[0], ends[1]);
    }
    for (int i = 0; i < q->trials; i++)
        q->beyond += is_beyond(q, q->mean[i]);
}

/* ---- a facet ---------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const facet_dot *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (x->badness != y->badness)
        return x->badness < y->badness ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

static ease_status take_dots(facet *f, const searched *q, int number, ease_error *err)
{
    const ease_plot_axis *a = f->axis;
    double top = better_mean(q);

    for (int i = 0; i < q->trials; i++) {
        double value = a->value[i];

        if (isnan(value))
            continue;
        if (a->logarithmic ? !(value >= 1e-100 && value <= 1e100)
                           : !(fabs(value) < 1e99))
            return ease__fail_at(err, EASE_E_ARG, i,
                                 "setting %d: value %d of %d cannot be drawn%s", number,
                                 i + 1, q->trials,
                                 a->logarithmic ? " on a logarithmic scale" : "");
        f->dot[f->dots++] = (facet_dot){value, fabs(top - q->mean[i]), i};
    }
    if (f->dots == 0)
        return ease__fail(err, EASE_E_ARG, "setting %d: no trial has a value", number);
    qsort(f->dot, (size_t)f->dots, sizeof(*f->dot), by_value);
    return EASE_OK;
}

/* Sets the ticks of x to the values that were tried, if they are few and their labels
 * fit, and else to round numbers. */
static void scale_setting(const facet *f, ease__figure *g)
{
    double low = f->dot[0].value, high = f->dot[f->dots - 1].value,
           overhang = GAP / 2.0;
    ease__figure_axis a = {.log = f->axis->logarithmic != 0, .exact = true};
    ease__figure_axis round = ease__axis_over_few(low, high, a.log);
    bool few = true;

    if (a.log && high / low > 1 + 1e-9) {
        double pad = pow(high / low, 0.07);

        round.low = low / pad;
        round.high = high * pad;
    } else if (!a.log && high - low > 1e-9 * fmax(fabs(low), fabs(high)) &&
               high - low > 1e-90) {
        round.low = low - 0.07 * (high - low);
        round.high = high + 0.07 * (high - low);
    }
    a.low = round.low;
    a.high = round.high;
    a.from = round.from = g->left;
    a.to = round.to = g->right;
    for (int i = 0; few && i < f->dots; i++) {
        if (i > 0 && f->dot[i].value == f->dot[i - 1].value)
            continue;
        few = a.ticks < EASE__FEW_TICKS;
        if (few)
            a.tick[a.ticks++] = f->dot[i].value;
    }
    g->x = few && ease__axis_labels_fit(&a, overhang - 3) ? a : round;
    g->overhang = overhang;
}

/* Chooses the dots that the line connects: the best of each value, or of each interval
 * if the values are many. Intervals are fewer for fewer trials, so that most have
 * several. */
static bool choose_peaks(facet *f, const ease__figure_axis *x)
{
    int values = 0, intervals = (int)sqrt(f->dots), last = -1;
    bool many;

    for (int i = 0; i < f->dots; i++)
        values += i == 0 || f->dot[i].value != f->dot[i - 1].value;
    many = values > MOST_INTERVALS;
    intervals = intervals > MOST_INTERVALS ? MOST_INTERVALS : intervals;
    for (int i = 0; i < f->dots; i++) {
        double part = (ease__axis_place(x, f->dot[i].value) - x->from) /
                      (x->to - x->from);
        int group = many ? (int)(part * intervals) : i;

        if (!many && i > 0 && f->dot[i].value == f->dot[i - 1].value)
            continue;
        if (!many || group != last || f->peaks == 0)
            f->peak[f->peaks++] = i;
        else if (f->dot[i].badness < f->dot[f->peak[f->peaks - 1]].badness)
            f->peak[f->peaks - 1] = i;
        last = group;
    }
    return many;
}

/* ---- drawing ---------------------------------------------------------------- */

static double edge_of(const searched *q, const ease__figure *g)
{
    return q->lower ? g->top : g->bottom;
}

/* Adds the standard error of the best, as far as it is on the scale. */
static void add_band(ease__svg *s, const searched *q, const ease__figure *g)
{
    double mean = q->mean[q->best];
    double top = ease__axis_place(&g->y, fmin(mean + q->error, g->y.high));
    double bottom = ease__axis_place(&g->y, fmax(mean - q->error, g->y.low));

    if (q->error > 0)
        ease__svg_add(s,
                      "<rect class=\"%s\" " EASE__SVG_FAINT_AREA " x=\"%f\" y=\"%f\" "
                      "width=\"%f\" height=\"%f\"/>\n",
                      ease__svg_fill(1), g->left, top, g->right - g->left,
                      bottom - top);
}

/* Adds the trials: in one path those on the scale, in another one arrows for the
 * others. Of trials at the same place one is drawn. */
static void add_dots(ease__svg *s, const searched *q, const facet *f,
                     const ease__figure *g, bool beyond)
{
    double last_x = -1, last_y = -1, edge = edge_of(q, g), way = q->lower ? -1 : 1;

    if (beyond)
        ease__svg_add(s,
                      "<path class=\"%s\" fill=\"none\" stroke-width=\"1.5\" "
                      "stroke-opacity=\"0.7\" d=\"",
                      ease__svg_stroke(0));
    else
        ease__svg_add(s, "<path class=\"%s\" " EASE__SVG_FAINT_DOTS " d=\"",
                      ease__svg_stroke(0));
    for (int i = 0; i < f->dots; i++) {
        double mean = q->mean[f->dot[i].trial];
        double x = ease__axis_place(&g->x, f->dot[i].value);
        double y = beyond ? edge : ease__axis_place(&g->y, mean);

        if (is_beyond(q, mean) != beyond ||
            (fabs(x - last_x) < 0.05 && fabs(y - last_y) < 0.05))
            continue;
        if (beyond)
            ease__svg_add(s, "M%f %fl3 %fl3 %f", x - 3, y - 7 * way, 5 * way, -5 * way);
        else
            ease__svg_add(s, "M%f %fh0.01", x, y);
        last_x = x;
        last_y = y;
    }
    ease__svg_add(s, "\"/>\n");
}

/* Adds the line through the best trials, cut off where it leaves the scale. */
static void add_line_of_best(ease__svg *s, const searched *q, const facet *f,
                             const ease__figure *g)
{
    double edge = edge_of(q, g), last_x = 0, last_y = 0;
    bool was_on = false;

    ease__svg_add(s, "<path class=\"line %s\" d=\"", ease__svg_stroke(0));
    for (int i = 0; i < f->peaks; i++) {
        const facet_dot *d = &f->dot[f->peak[i]];
        double x = ease__axis_place(&g->x, d->value);
        double y = ease__axis_place(&g->y, q->mean[d->trial]);
        bool on = !is_beyond(q, q->mean[d->trial]);
        double cross = last_x;

        if (i > 0 && on != was_on)
            cross = last_x + (x - last_x) * ((edge - last_y) / (y - last_y));
        if (i > 0 && on && !was_on)
            ease__svg_add(s, "M%f %f", cross, edge);
        if (on)
            ease__svg_add(s, "%s%f %f", i > 0 ? "L" : "M", x, y);
        else if (was_on)
            ease__svg_add(s, "L%f %f", cross, edge);
        was_on = on;
        last_x = x;
        last_y = y;
    }
    ease__svg_add(s, "\"/>\n");
}

static void add_mark_of(ease__svg *s, const searched *q, const facet *f,
                        const ease__figure *g, const facet_dot *d)
{
    bool best = d->trial == q->best;
    double mean = q->mean[d->trial];

    if (is_beyond(q, mean))
        return;
    ease__svg_add(s,
                  "<circle class=\"%s\" cx=\"%f\" cy=\"%f\" r=\"%s\">"
                  "<title>%s = %s: %s %s",
                  ease__svg_fill(best ? 1 : 0), ease__axis_place(&g->x, d->value),
                  ease__axis_place(&g->y, mean), best ? "5.5" : "2.5",
                  ease__svg_shorten(f->axis->name, 200).text,
                  ease__label_value(d->value, 6).text, q->metric.text,
                  ease__label_value(mean, 6).text);
    if (best && q->error > 0)
        ease__svg_add(s, " " PLUS_MINUS " %s", ease__label_value(q->error, 3).text);
    ease__svg_add(s, "</title></circle>\n");
}

/* Adds the name of the setting, and its value in the best trial after the mark of the
 * best. Spaces are given by dx: viewers differ in which spaces they keep. */
static void add_name(ease__svg *s, const facet *f, const ease__figure *g,
                     const facet_dot *best)
{
    ease__label value = ease__label_value(best ? best->value : 0, 4);
    double most = g->right - g->left - (g->x.log ? 40 : 0);

    if (best)
        most -= ease__text_width(value.text) + 24;
    ease__svg_add(s, "<text class=\"ink\" font-weight=\"bold\" x=\"%f\" y=\"%f\">%s",
                  g->left, g->top - 8, ease__svg_shorten(f->axis->name, most).text);
    if (g->x.log)
        ease__svg_add(s, "<tspan class=\"soft\" font-weight=\"normal\" dx=\"5\">(log)"
                         "</tspan>");
    ease__svg_add(s, "</text>\n");
    if (best)
        ease__svg_add(s,
                      "<text class=\"end\" x=\"%f\" y=\"%f\"><tspan class=\"%s\">" DISC
                      "</tspan><tspan dx=\"4\">%s</tspan></text>\n",
                      g->right, g->top - 8, ease__svg_fill(1), value.text);
}

static void add_facet(ease__svg *s, const searched *q, const facet *f,
                      const ease__figure *g)
{
    const facet_dot *best = NULL;

    ease__figure_axes(s, g);
    add_band(s, q, g);
    if (q->beyond > 0)
        add_dots(s, q, f, g, true);
    add_dots(s, q, f, g, false);
    add_line_of_best(s, q, f, g);
    for (int i = 0; i < f->peaks; i++)
        if (f->dot[f->peak[i]].trial != q->best)
            add_mark_of(s, q, f, g, &f->dot[f->peak[i]]);
    for (int i = 0; i < f->dots; i++)
        if (f->dot[i].trial == q->best)
            best = &f->dot[i];
    if (best)
        add_mark_of(s, q, f, g, best);
    add_name(s, f, g, best);
}

/* ---- the figure ------------------------------------------------------------- */

/* Sets the place of facet i, below `top`. */
static ease__figure place_facet(const searched *q, int i, double top)
{
    static const int heights[] = {0, 250, 170, 150};
    double left = EASE__SVG_MARGIN + ease__axis_labels_width(&q->y) + 8;
    double right = EASE__SVG_WIDTH - 1.5 * EASE__SVG_MARGIN;
    double width = (right - left - (q->columns - 1) * GAP) / q->columns;
    int column = i % q->columns, row = i / q->columns, height = heights[q->columns];
    ease__figure g = {.y = q->y, .bare = column > 0};

    g.left = left + column * (width + GAP);
    g.right = g.left + width;
    g.top = top + row * (HEAD + height + FOOT) + HEAD;
    g.bottom = g.top + height;
    g.y.from = g.bottom;
    g.y.to = g.top;
    return g;
}

static void add_notes(ease__svg *s, const searched *q, double y)
{
    double limit = q->lower ? q->y.high : q->y.low;

    if (q->beyond > 0)
        ease__svg_add(s,
                      "<text class=\"soft\" x=\"%d\" y=\"%f\">Arrows: %s of %s trials "
                      "with a mean %s %s</text>\n",
                      EASE__SVG_MARGIN, y, ease__label_count(q->beyond).text,
                      ease__label_count(q->trials).text, q->lower ? "above" : "below",
                      ease__label_value(limit, 4).text);
}

static ease_status draw_facets(searched *q, facet *f, int count, const char *metric,
                               const char *path, ease_error *err)
{
    const char *name = q->metric.text;
    char title[600], subtitle[800], y_label[640], best_text[80];
    ease__legend legend[] = {
        {EASE__MARK_FAINT_DOT, 0, "a trial"},
        {EASE__MARK_DOT, 1, "best trial, and its value"},
        {EASE__MARK_LINE, 0, "best trial at each value"},
        {EASE__MARK_FAINT_BOX, 1, PLUS_MINUS " 1 standard error of the best"}};
    ease__figure g[EASE_PLOT_MOST_AXES];
    ease__figure head = {.title = title, .subtitle = subtitle, .legend = legend};
    double top, foot;
    ease__svg s = {0};

    head.legends = q->error > 0 ? 4 : 3;
    q->metric = ease__svg_shorten(metric, 200);
    q->columns = count == 1 ? 1 : count == 2 || count == 4 ? 2 : 3;
    top = ease__figure_head_end(&head) + 8;
    for (int i = 0; i < count; i++) {
        g[i] = place_facet(q, i, top + 4);
        scale_setting(&f[i], &g[i]);
        q->intervals |= choose_peaks(&f[i], &g[i].x);
    }
    if (q->intervals)
        legend[2].text = "best trial at each value or interval";
    foot = g[count - 1].bottom + FOOT;
    snprintf(title, sizeof(title), "%s by setting", name);
    snprintf(best_text, sizeof(best_text), " " PLUS_MINUS " %s",
             ease__label_fixed(q->error, 5).text);
    snprintf(subtitle, sizeof(subtitle), "%s trial%s; at the best %s is %s%s",
             ease__label_count(q->trials).text, q->trials == 1 ? "" : "s", name,
             ease__label_fixed(q->mean[q->best], 5).text,
             q->error > 0 ? best_text : "");
    snprintf(y_label, sizeof(y_label), "%s, mean over users", name);
    ease__figure_head(&s, &head, foot + (q->beyond > 0 ? NOTE : 0));
    ease__svg_add(&s, "<text class=\"soft\" x=\"%d\" y=\"%f\">%s</text>\n",
                  EASE__SVG_MARGIN, top, y_label);
    for (int i = 0; i < count; i++)
        add_facet(&s, q, &f[i], &g[i]);
    add_notes(&s, q, foot + 4);
    return ease__figure_save(&s, path, err);
}

/* ---- the call --------------------------------------------------------------- */

static ease_status check_search(const ease_plot_axis *axes, int count,
                                const double *mean, const double *error, int trials,
                                int best, ease_error *err)
{
    if (count < 1 || count > EASE_PLOT_MOST_AXES)
        return ease__fail(err, EASE_E_ARG, "1 to %d settings fit a figure, not %d",
                          EASE_PLOT_MOST_AXES, count);
    if (best < 0 || best >= trials)
        return ease__fail(err, EASE_E_ARG, "trial %d is not one of %d", best, trials);
    for (int i = 0; i < count; i++)
        if (!axes[i].name || !axes[i].value)
            return ease__fail(err, EASE_E_ARG, "setting %d lacks a name or values",
                              i + 1);
    for (int i = 0; i < trials; i++)
        if (!(fabs(mean[i]) < 1e99) || (error && (error[i] < 0 || error[i] >= 1e99)))
            return ease__fail_at(err, EASE_E_ARG, i,
                                 "mean %d of %d or its error cannot be drawn", i + 1,
                                 trials);
    return EASE_OK;
}

static searched search_of(const double *mean, const double *error, int trials, int best)
{
    searched q = {.mean = mean, .trials = trials, .best = best};
    double low = mean[best], high = low;

    for (int i = 0; i < trials; i++) {
        low = fmin(low, mean[i]);
        high = fmax(high, mean[i]);
    }
    q.lower = mean[best] - low < high - mean[best];
    if (error && error[best] > 0)
        q.error = error[best];
    return q;
}

ease_status ease_plot_settings(const ease_plot_axis *axes, int axis_count,
                               const double *mean, const double *standard_error,
                               int trials, int best, const char *metric,
                               const char *path, ease_error *err)
{
    facet f[EASE_PLOT_MOST_AXES] = {0};
    double *badness;
    ease_status status;
    searched q;

    if (!axes || !mean || trials < 1 || !metric)
        return ease__fail(err, EASE_E_ARG,
                          "values of settings and their means are required");
    status = check_search(axes, axis_count, mean, standard_error, trials, best, err);
    if (!status)
        status = ease_plot_check(path, err);
    if (status)
        return status;
    q = search_of(mean, standard_error, trials, best);
    badness = ease__alloc_array((size_t)trials, sizeof(*badness));
    if (!badness)
        status = ease__fail(err, EASE_E_NOMEM, "%d trials", trials);
    for (int i = 0; !status && i < axis_count; i++) {
        f[i].axis = &axes[i];
        f[i].dot = ease__alloc_array((size_t)trials, sizeof(*f[i].dot));
        f[i].peak = ease__alloc_array((size_t)trials, sizeof(*f[i].peak));
        status = f[i].dot && f[i].peak
                     ? take_dots(&f[i], &q, i + 1, err)
                     : ease__fail(err, EASE_E_NOMEM, "%d trials", trials);
    }
    if (!status) {
        scale_metric(&q, badness);
        status = draw_facets(&q, f, axis_count, metric, path, err);
    }
    for (int i = 0; i < axis_count; i++) {
        ease__free(f[i].dot);
        ease__free(f[i].peak);
    }
    ease__free(badness);
    return status;
}
