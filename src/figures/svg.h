/* Figures in SVG: a growing text, labels of numbers, axes with round ticks, and the
 * frame that all figures share. The same input gives the same bytes in every locale. */
#ifndef EASE_FIGURES_SVG_H
#define EASE_FIGURES_SVG_H

#include "core/core.h"

/* ---- numbers as text -------------------------------------------------------- */

typedef struct ease__label {
    char text[64];
} ease__label;

ease__label ease__label_count(int64_t count); /* "1,234,567" */
/* A value with `digits` significant digits, without trailing zeros: "0.0125",
 * "2×10⁻⁷". */
ease__label ease__label_value(double value, int digits);
/* A value with `decimals` digits after the point: "1,204.50". */
ease__label ease__label_fixed(double value, int decimals);
/* A share of 0 .. 1 as "60.3 %"; "0 %" and "100 %" only if that is exact. */
ease__label ease__label_share(double share);

/* ---- round numbers ---------------------------------------------------------- */

/* Multiples of 1, 2 or 5 x 10^exponent: step i is (first + i) times it. Steps cover
 * a range: the first is at or below its low end, the last at or above its high end. */
typedef struct ease__steps {
    double mantissa, first;
    int exponent, count;
} ease__steps;

/* The finest steps, at most `most` of them, over the range. An empty range is
 * widened. low and high are below 1e100 in magnitude. */
ease__steps ease__steps_over(double low, double high, int most);
double ease__steps_at(const ease__steps *s, int i);
double ease__steps_width(const ease__steps *s);

enum { EASE__MAX_TICKS = 9 };

typedef struct ease__figure_axis {
    bool log;
    bool exact; /* the ticks are values of the data, not round numbers */
    int ticks;  /* 4 .. EASE__MAX_TICKS; from 1 on if they are few or exact */
    double tick[EASE__MAX_TICKS];
    double low, high; /* the ends; ticks outside are not drawn */
    double from, to;  /* positions of the ends in the figure */
} ease__figure_axis;

/* An axis with ticks at round numbers that cover the range, and ends at the outer
 * ticks; with `log` low is above 1e-100. */
ease__figure_axis ease__axis_over(double low, double high, bool log);
/* The same for a short axis, with at most EASE__FEW_TICKS ticks. */
enum { EASE__FEW_TICKS = 6 };
ease__figure_axis ease__axis_over_few(double low, double high, bool log);
double ease__axis_place(const ease__figure_axis *a, double value);

/* ---- the figure ------------------------------------------------------------- */

typedef struct ease__svg {
    char *text;
    size_t used, capacity;
    bool failed; /* out of memory: later additions are ignored */
} ease__svg;

/* Appends formatted text. The format has only %%, %d, %f (two decimals) and %s,
 * which is always escaped, so that any name remains text. Bytes that are not UTF-8,
 * or not allowed in XML, become U+FFFD. */
void ease__svg_add(ease__svg *s, const char *format, ...) EASE__PRINTF(2, 3);

/* An upper bound, in most fonts, of the width of text at the size of labels. */
double ease__text_width(const char *text);
/* Text that is shortened with an ellipsis to at most the width `most`. */
typedef struct ease__short_text {
    char text[512];
} ease__short_text;
ease__short_text ease__svg_shorten(const char *text, double most);

enum { EASE__SVG_WIDTH = 640, EASE__SVG_STYLES = 8, EASE__SVG_MARGIN = 16 };

typedef enum ease__mark {
    EASE__MARK_LINE,
    EASE__MARK_BOX,
    EASE__MARK_ERROR_BAR,
    EASE__MARK_DOT,
    EASE__MARK_FAINT_DOT, /* one of a crowd of dots: EASE__SVG_FAINT_DOTS */
    EASE__MARK_FAINT_BOX  /* an area behind the data: EASE__SVG_FAINT_AREA */
} ease__mark;

/* Attributes: of a path of lines without length, which become dots, and of an area. */
#define EASE__SVG_FAINT_DOTS \
    "fill=\"none\" stroke-width=\"5\" stroke-linecap=\"round\" stroke-opacity=\"0.5\""
#define EASE__SVG_FAINT_AREA "fill-opacity=\"0.16\""

/* A legend entry. Its style, 0 .. EASE__SVG_STYLES-1, is a colour and a dash
 * pattern, which the colour-blind can tell apart, and which differ in black and
 * white; below 0 is the colour of the text. */
typedef struct ease__legend {
    ease__mark mark;
    int style;
    const char *text;
} ease__legend;

typedef struct ease__figure {
    const char *title, *subtitle;
    const char *x_label, *y_label; /* NULL: none */
    const ease__legend *legend;
    int legends;
    bool bare;   /* y has no labels: those of the panel to the left are its labels */
    double foot; /* height of the space below the axes */
    ease__figure_axis x, y;
    double left, right, top, bottom, foot_top; /* set by begin */
    double overhang; /* how far labels of x may extend beyond left and right; 0: any */
} ease__figure;

/* Begins a figure with one pair of axes: everything but the data. */
void ease__figure_begin(ease__svg *s, ease__figure *f);
/* The parts of a figure with several pairs of axes: the head has the title and the
 * legend, and ends at ease__figure_head_end; each pair is an ease__figure whose axes
 * and sides the caller has set. `height` is rounded up to that of the figure. */
double ease__figure_head_end(const ease__figure *f);
void ease__figure_head(ease__svg *s, const ease__figure *f, double height);
void ease__figure_axes(ease__svg *s, const ease__figure *f);
/* The width of the widest label of an axis. */
double ease__axis_labels_width(const ease__figure_axis *a);
/* True if each tick's label fits between its neighbours, and extends at most `overhang`
 * beyond the ends of the axis. */
bool ease__axis_labels_fit(const ease__figure_axis *a, double overhang);
/* The CSS classes of a style: of a line's stroke, and of an area's fill. */
const char *ease__svg_stroke(int style);
const char *ease__svg_fill(int style);
/* Ends the figure and writes it, complete or not at all; frees the text in any case. */
ease_status ease__figure_save(ease__svg *s, const char *path, ease_error *err);

#endif
