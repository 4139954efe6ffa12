#include "figures/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/output.h"

#define MINUS "\xe2\x88\x92"
#define TIMES "\xc3\x97"

enum {
    MARGIN = EASE__SVG_MARGIN,
    PLOT_HEIGHT = 250,
    ROW = 18,
    KEY = 26,
    LEGEND_TOP = 66
};

/* ---- numbers as text -------------------------------------------------------- */

typedef struct writer { /* writes into a buffer of fixed size; excess text is cut */
    char *at, *end;
} writer;

static void write_text(writer *w, const char *text)
{
    size_t bytes = strlen(text);

    if (bytes >= (size_t)(w->end - w->at))
        return;
    memcpy(w->at, text, bytes + 1);
    w->at += bytes;
}

/* Writes a number with a fixed number of decimals. The decimal point of snprintf
 * depends on the locale and may have several bytes, so that only its digits are
 * used. */
static void write_fixed(writer *w, double value, int decimals, bool thousands)
{
    char digits[352], shown[480];
    size_t count = 0, used = 0, whole;

    if (!isfinite(value)) {
        write_text(w, "?");
        return;
    }
    snprintf(shown, sizeof(shown), "%.*f", decimals, fabs(value));
    for (const char *c = shown; *c && count + 1 < sizeof(digits); c++)
        if (*c >= '0' && *c <= '9')
            digits[count++] = *c;
    digits[count] = '\0';
    whole = count - (size_t)decimals;
    if (value < 0 && strspn(digits, "0") < count)
        write_text(w, thousands ? MINUS : "-");
    for (size_t i = 0; i < count && used + 3 < sizeof(shown); i++) {
        if (i == whole)
            shown[used++] = '.';
        else if (thousands && i > 0 && i < whole && (whole - i) % 3 == 0)
            shown[used++] = ',';
        shown[used++] = digits[i];
    }
    shown[used] = '\0';
    write_text(w, shown);
}

static void write_superscript(writer *w, int number)
{
    static const char *const digit[] = {
        "\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",     "\xe2\x81\xb4",
        "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7", "\xe2\x81\xb8", "\xe2\x81\xb9"};
    int size = abs(number);

    if (number < 0)
        write_text(w, "\xe2\x81\xbb");
    if (size >= 100)
        write_text(w, digit[size / 100 % 10]);
    if (size >= 10)
        write_text(w, digit[size / 10 % 10]);
    write_text(w, digit[size % 10]);
}

static double scaled(double mantissa, int exponent)
{
    /* 3 / 10 is the double nearest to 0.3; 3 * 0.1 is not. */
    return exponent < 0 ? mantissa / pow(10, -exponent) : mantissa * pow(10, exponent);
}

/* The decimal exponent after rounding to `digits` digits: that of 9.996 to 3 digits
 * is 1. */
static int exponent_of(double value, int digits)
{
    char text[64];
    const char *e;

    snprintf(text, sizeof(text), "%.*e", digits - 1, value);
    e = strchr(text, 'e');
    return e ? (int)strtol(e + 1, NULL, 10) : 0;
}

static void drop_zeros(writer *w, const char *from)
{
    if (!strchr(from, '.'))
        return;
    while (w->at[-1] == '0')
        *--w->at = '\0';
    if (w->at[-1] == '.')
        *--w->at = '\0';
}

ease__label ease__label_value(double value, int digits)
{
    ease__label label = {""};
    writer w = {label.text, label.text + sizeof(label.text)};
    int exponent = value == 0 ? 0 : exponent_of(value, digits);
    char *mantissa;

    if (exponent >= -4 && exponent < 7) {
        int decimals = digits - 1 - exponent;

        write_fixed(&w, value, decimals > 0 ? decimals : 0, true);
        drop_zeros(&w, label.text);
        return label;
    }
    if (value < 0)
        write_text(&w, MINUS);
    mantissa = w.at;
    write_fixed(&w, fabs(scaled(value, -exponent)), digits - 1, true);
    drop_zeros(&w, mantissa);
    if (strcmp(mantissa, "1") == 0)
        w.at = mantissa; /* a power of ten is written without the factor 1 */
    else
        write_text(&w, TIMES);
    write_text(&w, "10");
    write_superscript(&w, exponent);
    return label;
}

ease__label ease__label_fixed(double value, int decimals)
{
    ease__label label = {""};
    writer w = {label.text, label.text + sizeof(label.text)};

    write_fixed(&w, value, decimals, true);
    return label;
}

ease__label ease__label_count(int64_t count)
{
    ease__label label = {""};
    writer w = {label.text, label.text + sizeof(label.text)};
    char digits[24];
    size_t length;

    snprintf(digits, sizeof(digits), "%llu",
             count < 0 ? 0 - (unsigned long long)count : (unsigned long long)count);
    length = strlen(digits);
    if (count < 0)
        write_text(&w, MINUS);
    for (size_t i = 0; i < length; i++) {
        const char one[] = {digits[i], '\0'};

        if (i > 0 && (length - i) % 3 == 0)
            write_text(&w, ",");
        write_text(&w, one);
    }
    return label;
}

ease__label ease__label_share(double share)
{
    ease__label label = {""};
    writer w = {label.text, label.text + sizeof(label.text)};
    double percent = 100 * share, distance = fmin(percent, 100 - percent);
    int decimals = 1;

    if (!(distance > 0))
        decimals = 0;
    else if (distance < 1) /* two digits of the share, or of the distance from 1 */
        decimals = 1 - exponent_of(distance, 2);
    write_fixed(&w, percent, decimals < 12 ? decimals : 12, true);
    write_text(&w, " %");
    return label;
}

/* ---- round numbers ---------------------------------------------------------- */

static void widen(double *low, double *high)
{
    double size = fmax(fabs(*low), fabs(*high));
    double pad = size > 1e-90 ? size / 10 : 1;

    if (*high - *low > 1e-9 * size && *high - *low > 1e-90)
        return;
    *low -= pad;
    *high += pad;
}

ease__steps ease__steps_over(double low, double high, int most)
{
    ease__steps s = {.mantissa = 10};
    double width, finest, slack = 1e-9; /* since 0.3 / 0.1 is a little below 3 */

    widen(&low, &high);
    finest = (high - low) / most;
    s.exponent = (int)floor(log10(finest));
    for (int i = 0; i < 3; i++) {
        static const double round[] = {5, 2, 1};

        if (finest <= scaled(round[i], s.exponent))
            s.mantissa = round[i];
    }
    width = ease__steps_width(&s);
    s.first = floor(low / width + slack);
    s.count = (int)(ceil(high / width - slack) - s.first) + 1;
    return s;
}

double ease__steps_at(const ease__steps *s, int i)
{
    return scaled((s->first + i) * s->mantissa, s->exponent);
}

double ease__steps_width(const ease__steps *s)
{
    return scaled(s->mantissa, s->exponent);
}

/* Number i of the sequence ... 1, 2, 5, 10, 20, 50 ..., in which 1 has number 0. */
static double one_two_five(int i)
{
    static const double round[] = {1, 2, 5};
    int decade = (int)floor(i / 3.0);

    return scaled(round[i - 3 * decade], decade);
}

static void ticks_by_decades(ease__figure_axis *a, double low, double high, int most)
{
    double from = floor(log10(low) + 1e-9), to = ceil(log10(high) - 1e-9);
    int stride = 0, first, last;

    do { /* multiples of the stride, so that 1 is a tick if it is in the range */
        stride++;
        first = (int)floor(from / stride);
        last = (int)ceil(to / stride);
    } while (last - first >= most);
    for (int i = first; i <= last; i++)
        a->tick[a->ticks++] = scaled(1, i * stride);
}

/* Ticks of a logarithmic axis, at most `most`: a range of less than a decade is
 * divided evenly if all ticks are above 0, a few decades by 1, 2, 5, more by powers of
 * ten. With EASE__MAX_TICKS, each way gives at least 4 ticks where the one before it
 * fails. */
static void log_ticks(ease__figure_axis *a, double low, double high, int most)
{
    ease__steps s;
    int first, last;

    if (high / low < 1 + 1e-9) {
        low /= 2;
        high *= 2;
    }
    s = ease__steps_over(low, high, most - 2);
    if (s.first > 0) {
        for (int i = 0; i < s.count; i++)
            a->tick[a->ticks++] = ease__steps_at(&s, i);
        return;
    }
    first = 3 * (int)floor(log10(low) + 1e-9);
    while (one_two_five(first + 1) <= low * (1 + 1e-9))
        first++;
    last = first;
    while (one_two_five(last) < high * (1 - 1e-9) && last - first < most)
        last++;
    if (last - first >= most) {
        ticks_by_decades(a, low, high, most);
        return;
    }
    for (int i = first; i <= last; i++)
        a->tick[a->ticks++] = one_two_five(i);
}

static ease__figure_axis axis_over(double low, double high, bool log, int most)
{
    ease__figure_axis a = {.log = log};

    if (log) {
        log_ticks(&a, low, high, most);
    } else {
        ease__steps s = ease__steps_over(low, high, most - 2);

        for (int i = 0; i < s.count; i++)
            a.tick[a.ticks++] = ease__steps_at(&s, i);
    }
    a.low = a.tick[0];
    a.high = a.tick[a.ticks - 1];
    return a;
}

ease__figure_axis ease__axis_over(double low, double high, bool log)
{
    return axis_over(low, high, log, EASE__MAX_TICKS);
}

ease__figure_axis ease__axis_over_few(double low, double high, bool log)
{
    return axis_over(low, high, log, EASE__FEW_TICKS);
}

double ease__axis_place(const ease__figure_axis *a, double value)
{
    double part = a->log ? log(value / a->low) / log(a->high / a->low)
                         : (value - a->low) / (a->high - a->low);

    return a->from + part * (a->to - a->from);
}

static bool on_axis(const ease__figure_axis *a, double value)
{
    double at = ease__axis_place(a, value);

    return at >= fmin(a->from, a->to) - 0.01 && at <= fmax(a->from, a->to) + 0.01;
}

/* The label of a tick, in the same form for all ticks of an axis: powers of ten if
 * the written-out numbers are long. Exact ticks have their own numbers of decimals. */
static ease__label tick_label(const ease__figure_axis *a, int i)
{
    double value = a->tick[i], first = a->tick[0], last = a->tick[a->ticks - 1];
    double size = fmax(fabs(first), fabs(last)), step = a->tick[1] - first;
    int decimals;

    if (a->exact)
        return ease__label_value(value, 6);
    if (a->log && (size >= 1e7 || first < 1e-4) && (value < 1 || value > 10)) {
        int exponent = exponent_of(value, 1);
        ease__label label = {"10"};
        writer w = {label.text + 2, label.text + sizeof(label.text)};

        write_superscript(&w, exponent);
        return value == scaled(1, exponent) ? label : ease__label_value(value, 12);
    }
    if (a->log || size >= 1e9 || step < 0.9e-5)
        return ease__label_value(value, 12);
    decimals = -exponent_of(step, 2);
    return ease__label_fixed(value, decimals > 0 ? decimals : 0);
}

/* ---- text ------------------------------------------------------------------- */

static void append(ease__svg *s, const char *text, size_t bytes)
{
    if (s->failed || bytes == 0)
        return;
    if (bytes > s->capacity - s->used) {
        size_t capacity = 2 * s->capacity + bytes + 4096;
        char *grown = ease__realloc_array(s->text, capacity, 1);

        if (!grown) {
            s->failed = true;
            return;
        }
        s->text = grown;
        s->capacity = capacity;
    }
    memcpy(s->text + s->used, text, bytes);
    s->used += bytes;
}

/* Decodes the next code point and its number of bytes; -1 and 1 byte for invalid
 * UTF-8. */
static int32_t decode(const char *text, size_t *bytes)
{
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)text;
    size_t more = c[0] < 0x80 ? 0 : c[0] < 0xe0 ? 1 : c[0] < 0xf0 ? 2 : 3;
    int32_t code = more ? c[0] & (0x3f >> more) : c[0];

    *bytes = 1;
    if ((c[0] >= 0x80 && c[0] < 0xc2) || c[0] > 0xf4)
        return -1;
    for (size_t i = 1; i <= more; i++) { /* stops at the end: NUL is no continuation */
        if ((c[i] & 0xc0) != 0x80)
            return -1;
        code = code << 6 | (c[i] & 0x3f);
    }
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return -1;
    *bytes = more + 1;
    return code;
}

static void append_escaped(ease__svg *s, const char *text)
{
    size_t bytes;

    for (; *text; text += bytes) {
        int32_t code = decode(text, &bytes);

        if (code == '&')
            append(s, "&amp;", 5);
        else if (code == '<')
            append(s, "&lt;", 4);
        else if (code == '>')
            append(s, "&gt;", 4);
        else if (code == '"')
            append(s, "&quot;", 6);
        else if (code == '\t' || code == '\n' || code == '\r')
            append(s, " ", 1);
        else if (code < 0x20 || code == 0xfffe || code == 0xffff)
            append(s, "\xef\xbf\xbd", 3);
        else
            append(s, text, bytes);
    }
}

static void append_argument(ease__svg *s, char kind, va_list *args)
{
    char text[32];

    if (kind == '%') {
        append(s, "%", 1);
    } else if (kind == 's') {
        append_escaped(s, va_arg(*args, const char *));
    } else if (kind == 'd') {
        snprintf(text, sizeof(text), "%d", va_arg(*args, int));
        append(s, text, strlen(text));
    } else {
        writer w = {text, text + sizeof(text)};

        *text = '\0';
        write_fixed(&w, va_arg(*args, double), 2, false);
        append(s, text, strlen(text));
    }
}

void ease__svg_add(ease__svg *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    while (*format) {
        size_t plain = strcspn(format, "%");

        append(s, format, plain);
        format += plain;
        if (*format) {
            append_argument(s, format[1], &args);
            format += 2;
        }
    }
    va_end(args);
}

/* The width of text of 12 px in a wide font; East Asian characters are squares. */
double ease__text_width(const char *text)
{
    double width = 0;
    size_t bytes;

    for (; *text; text += bytes) {
        int32_t code = decode(text, &bytes);

        if (code == ' ' || code == ',' || code == '.')
            width += 4.2;
        else
            width += code >= 0x1100 && code != 0xfffd && code / 0x100 != 0x20 ? 12.5
                                                                              : 7.5;
    }
    return width;
}

ease__short_text ease__svg_shorten(const char *text, double most)
{
    ease__short_text s;
    double width = ease__text_width(text);
    size_t used = 0, bytes;
    bool cut = width > most;

    width = 0;
    while (text[used]) {
        char one[5] = "";

        (void)decode(text + used, &bytes);
        memcpy(one, text + used, bytes);
        width += ease__text_width(one);
        if ((cut && width > most - 12) || used + bytes + 4 > sizeof(s.text)) {
            cut = true;
            break;
        }
        used += bytes;
    }
    memcpy(s.text, text, used);
    strcpy(s.text + used, cut ? "\xe2\x80\xa6" : "");
    return s;
}

/* ---- the figure ------------------------------------------------------------- */

const char *ease__svg_stroke(int style)
{
    static const char *const names[] = {"s0 d0", "s1 d1", "s2 d2", "s3 d3",
                                        "s0 d3", "s1 d0", "s2 d1", "s3 d2"};

    return style < 0 ? "axis" : names[style % EASE__SVG_STYLES];
}

const char *ease__svg_fill(int style)
{
    static const char *const names[] = {"f0", "f1", "f2", "f3"};

    return style < 0 ? "ink" : names[style % 4];
}

/* Adds the style sheet. The colours are those of Okabe and Ito, with lighter ones of
 * the same hues for dark pages. The background is painted, because a viewer's
 * background need not match its colour scheme. */
static void add_style(ease__svg *s)
{
    static const char style[] =
        "<style>\n"
        ".ease text{font-family:sans-serif;font-size:12px;fill:#222}\n"
        ".ease .title{font-size:16px;font-weight:bold}\n"
        ".ease .soft{fill:#555}\n"
        ".ease .end{text-anchor:end}\n"
        ".ease .middle{text-anchor:middle}\n"
        ".ease .page{fill:#fff}\n"
        ".ease .ink{fill:#222}\n"
        ".ease .grid{stroke:#e2e2e2}\n"
        ".ease .axis{stroke:#555}\n"
        ".ease .line{fill:none;stroke-width:2;stroke-linejoin:round}\n"
        ".ease .bar{stroke-width:1.5}\n"
        ".ease .s0{stroke:#0072b2}.ease .f0{fill:#0072b2}\n"
        ".ease .s1{stroke:#d55e00}.ease .f1{fill:#d55e00}\n"
        ".ease .s2{stroke:#007a59}.ease .f2{fill:#007a59}\n"
        ".ease .s3{stroke:#b0528a}.ease .f3{fill:#b0528a}\n"
        ".ease .d1{stroke-dasharray:8 4}\n"
        ".ease .d2{stroke-dasharray:2 3}\n"
        ".ease .d3{stroke-dasharray:10 3 2 3}\n"
        "@media screen and (prefers-color-scheme:dark){\n"
        ".ease text,.ease .ink{fill:#e6e6e6}\n"
        ".ease .soft{fill:#aaa}\n"
        ".ease .page{fill:#14171a}\n"
        ".ease .grid{stroke:#33383d}\n"
        ".ease .axis{stroke:#aaa}\n"
        ".ease .s0{stroke:#56b4e9}.ease .f0{fill:#56b4e9}\n"
        ".ease .s1{stroke:#ff9a4d}.ease .f1{fill:#ff9a4d}\n"
        ".ease .s2{stroke:#2cc79b}.ease .f2{fill:#2cc79b}\n"
        ".ease .s3{stroke:#e59ac7}.ease .f3{fill:#e59ac7}\n"
        "}\n"
        "</style>\n";

    append(s, style, sizeof(style) - 1);
}

static void add_line(ease__svg *s, const char *class, double x1, double y1, double x2,
                     double y2)
{
    ease__svg_add(s, "<line class=\"%s\" x1=\"%f\" y1=\"%f\" x2=\"%f\" y2=\"%f\"/>\n",
                  class, x1, y1, x2, y2);
}

static void add_text(ease__svg *s, const char *class, double x, double y,
                     const char *text)
{
    ease__svg_add(s, "<text class=\"%s\" x=\"%f\" y=\"%f\">%s</text>\n", class, x, y,
                  text);
}

static void add_mark(ease__svg *s, const ease__legend *l, double x, double y)
{
    const char *fill = ease__svg_fill(l->style);

    switch (l->mark) {
    case EASE__MARK_LINE:
        ease__svg_add(s, "<path class=\"line %s\" d=\"M%f %fh%d\"/>\n",
                      ease__svg_stroke(l->style), x, y, KEY - 4);
        break;
    case EASE__MARK_BOX:
        ease__svg_add(s,
                      "<rect class=\"%s\" x=\"%f\" y=\"%f\" width=\"12\" "
                      "height=\"10\"/>\n",
                      fill, x + 6, y - 5);
        break;
    case EASE__MARK_ERROR_BAR:
        ease__svg_add(s,
                      "<path class=\"line bar %s\" d=\"M%f %fh6m-3 0v10m-3 0h6\"/>\n",
                      ease__svg_stroke(l->style), x + 9, y - 5);
        break;
    case EASE__MARK_DOT:
        ease__svg_add(s, "<circle class=\"%s\" cx=\"%f\" cy=\"%f\" r=\"5\"/>\n", fill,
                      x + 12, y);
        break;
    case EASE__MARK_FAINT_DOT:
        ease__svg_add(
            s, "<path class=\"%s\" " EASE__SVG_FAINT_DOTS " d=\"M%f %fh0.01\"/>\n",
            ease__svg_stroke(l->style), x + 12, y);
        break;
    case EASE__MARK_FAINT_BOX:
        ease__svg_add(s,
                      "<rect class=\"%s\" " EASE__SVG_FAINT_AREA " x=\"%f\" y=\"%f\" "
                      "width=\"%d\" height=\"12\"/>\n",
                      fill, x, y - 6, KEY - 4);
        break;
    }
}

/* Adds the legend in columns above the axes, where it covers no data. With `s` NULL
 * it is only measured. Returns its lower end. */
static double add_legend(ease__svg *s, const ease__figure *f, double y)
{
    double widest = 0, gap = 20, available = EASE__SVG_WIDTH - 2 * MARGIN;
    int columns, rows;

    for (int i = 0; i < f->legends; i++)
        widest = fmax(widest, KEY + ease__text_width(f->legend[i].text));
    columns = (int)((available + gap) / (widest + gap));
    if (columns < 1)
        columns = 1;
    for (int i = 0; s && i < f->legends; i++) {
        double x = MARGIN + i % columns * (widest + gap);
        int row = i / columns;

        add_mark(s, &f->legend[i], x, y + row * ROW - 4);
        add_text(s, "ink", x + KEY, y + row * ROW, f->legend[i].text);
    }
    rows = (f->legends + columns - 1) / columns;
    return y + rows * ROW;
}

double ease__figure_head_end(const ease__figure *f)
{
    return add_legend(NULL, f, LEGEND_TOP);
}

double ease__axis_labels_width(const ease__figure_axis *a)
{
    double widest = 0;

    for (int i = 0; i < a->ticks; i++)
        widest = fmax(widest, ease__text_width(tick_label(a, i).text));
    return widest;
}

static void lay_out(ease__figure *f)
{
    f->left = MARGIN + ease__axis_labels_width(&f->y) + 8;
    f->right = EASE__SVG_WIDTH - 2 * MARGIN;
    f->top = ease__figure_head_end(f) + 14;
    f->bottom = f->top + PLOT_HEIGHT;
    f->foot_top = f->bottom + 44;
    f->x.from = f->left;
    f->x.to = f->right;
    f->y.from = f->bottom;
    f->y.to = f->top;
}

/* The stride of labels: one label for each `stride` ticks, so that labels do not
 * overlap. */
static int label_stride(const ease__figure_axis *a)
{
    for (int stride = 1; stride < a->ticks; stride++) {
        bool fits = true;

        for (int i = stride; i < a->ticks; i += stride) {
            double here = ease__text_width(tick_label(a, i).text);
            double before = ease__text_width(tick_label(a, i - stride).text);
            double distance = ease__axis_place(a, a->tick[i]) -
                              ease__axis_place(a, a->tick[i - stride]);

            fits &= distance >= (here + before) / 2 + 6;
        }
        if (fits)
            return stride;
    }
    return a->ticks;
}

static bool within(const ease__figure_axis *a, int i, double overhang)
{
    double at = ease__axis_place(a, a->tick[i]);
    double half = ease__text_width(tick_label(a, i).text) / 2;

    return at - half >= a->from - overhang && at + half <= a->to + overhang;
}

bool ease__axis_labels_fit(const ease__figure_axis *a, double overhang)
{
    bool fit = label_stride(a) == 1;

    for (int i = 0; fit && i < a->ticks; i++)
        fit = within(a, i, overhang);
    return fit;
}

/* Adds ticks without labels at 2 .. 9 times powers of ten, which show that the scale
 * is logarithmic. */
static void add_minor_ticks(ease__svg *s, const ease__figure *f,
                            const ease__figure_axis *a)
{
    if (!a->log || a->exact || fabs(a->tick[1] / a->tick[0] - 10) > 1e-9)
        return;
    for (int i = -1; i < a->ticks; i++)
        for (int m = 2; m <= 9; m++) {
            double value = m * (i < 0 ? a->tick[0] / 10 : a->tick[i]);
            double at = ease__axis_place(a, value);

            if (!on_axis(a, value))
                continue;
            if (a == &f->x)
                add_line(s, "axis", at, f->bottom, at, f->bottom + 3);
            else
                add_line(s, "axis", f->left - 3, at, f->left, at);
        }
}

void ease__figure_axes(ease__svg *s, const ease__figure *f)
{
    int stride = label_stride(&f->x);

    for (int i = 0; i < f->y.ticks; i++) {
        double y = ease__axis_place(&f->y, f->y.tick[i]);

        if (!on_axis(&f->y, f->y.tick[i]))
            continue;
        add_line(s, "grid", f->left, y, f->right, y);
        if (f->bare)
            continue;
        add_line(s, "axis", f->left - 5, y, f->left, y);
        add_text(s, "end", f->left - 8, y + 4, tick_label(&f->y, i).text);
    }
    for (int i = 0; i < f->x.ticks; i++) {
        double x = ease__axis_place(&f->x, f->x.tick[i]);

        if (!on_axis(&f->x, f->x.tick[i]))
            continue;
        add_line(s, "grid", x, f->top, x, f->bottom);
        add_line(s, "axis", x, f->bottom, x, f->bottom + 5);
        if (i % stride == 0 && (f->overhang <= 0 || within(&f->x, i, f->overhang)))
            add_text(s, "middle", x, f->bottom + 18, tick_label(&f->x, i).text);
    }
    add_minor_ticks(s, f, &f->x);
    if (!f->bare)
        add_minor_ticks(s, f, &f->y);
    add_line(s, "axis", f->left, f->bottom, f->right, f->bottom);
    add_line(s, "axis", f->left, f->top, f->left, f->bottom);
    if (f->y_label)
        add_text(s, "soft", MARGIN, f->top - 10, f->y_label);
    if (f->x_label)
        add_text(s, "soft end", f->right, f->bottom + 35, f->x_label);
}

void ease__figure_head(ease__svg *s, const ease__figure *f, double least_height)
{
    /* The height is a multiple of 8, so that at few zoom levels it ends within a
     * pixel. */
    int height = 8 * (int)ceil(least_height / 8);

    ease__svg_add(s,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ease\" "
                  "role=\"img\" viewBox=\"0 0 %d %d\">\n<title>%s</title>\n"
                  "<desc>%s</desc>\n",
                  EASE__SVG_WIDTH, height, f->title, f->subtitle);
    add_style(s);
    ease__svg_add(s, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
                  EASE__SVG_WIDTH, height);
    add_text(s, "title", MARGIN, 26, f->title);
    add_text(s, "soft", MARGIN, 45, f->subtitle);
    add_legend(s, f, LEGEND_TOP);
}

void ease__figure_begin(ease__svg *s, ease__figure *f)
{
    lay_out(f);
    ease__figure_head(s, f, f->foot_top + f->foot);
    ease__figure_axes(s, f);
}

ease_status ease__figure_save(ease__svg *s, const char *path, ease_error *err)
{
    ease__output out = EASE__OUTPUT_NONE;
    ease_status status;

    ease__svg_add(s, "</svg>\n");
    if (s->failed)
        status = ease__fail(err, EASE_E_NOMEM, "drawing %s", path);
    else
        status = ease__output_open(path, s->used, &out, err);
    if (!status)
        status = ease__output_write(&out, s->text, s->used, err);
    if (!status)
        status = ease__output_commit(&out, err);
    ease__output_discard(&out);
    ease__free(s->text);
    *s = (ease__svg){0};
    return status;
}
