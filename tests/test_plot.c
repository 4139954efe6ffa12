/* Figures: their numbers, their ticks, their form. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/random.h"
#include "figures/weights.h"
#include "model/model.h"
#include "test.h"

/* A model that is nothing but a function: the figures know models only by their rows,
 * their description, how many threads to use, and whether there are weights. */
typedef struct function_model {
    ease_model model;
    float (*weight)(int32_t i, int32_t j);
} function_model;

static const ease__store some_weights = {.grain = 1};
static const ease__form function_form = {.name = "function", .store = &some_weights};

ease_status ease_model_row(const ease_model *m, int32_t item, float *out,
                           ease_error *err)
{
    const function_model *f = (const function_model *)(const void *)m;

    for (int32_t j = 0; j < m->info.items; j++)
        out[j] = item == j ? 0.0f : f->weight(item, j);
    (void)err;
    return EASE_OK;
}

/* Long-tailed on both sides, one in eight exactly 0. */
static float mixed(int32_t i, int32_t j)
{
    ease__random r;
    double u;

    ease__random_seed(&r, 7, ((uint64_t)(uint32_t)i << 32) | (uint32_t)j);
    u = ease__random_unit(&r) - 0.6;
    if (ease__random_below(&r, 8) == 0)
        return 0.0f;
    return (float)(u * u * u * exp(3 * ease__random_unit(&r)));
}

static float nothing(int32_t i, int32_t j)
{
    return i < j ? 0.0f : -0.0f;
}

static float a_quarter(int32_t i, int32_t j)
{
    return i < j ? 0.25f : -0.25f;
}

static float not_a_number(int32_t i, int32_t j)
{
    return i == 5 && j == 2 ? NAN : 0.5f;
}

static float infinite(int32_t i, int32_t j)
{
    return i == 3 && j == 6 ? -INFINITY : 0.5f;
}

static function_model model_of(int32_t items, float (*weight)(int32_t, int32_t))
{
    return (function_model){
        {.info = {.items = items, .lambda = 250}, .form = &function_form}, weight};
}

static char *file_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);

    if (f) {
        if (fread(text, 1, (1 << 20) - 1, f) == 0)
            *text = '\0';
        fclose(f);
    }
    return text;
}

/* ---- well-formed ------------------------------------------------------------ */

static const char *skip_name(const char *at)
{
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
           (*at >= '0' && *at <= '9') || *at == '-')
        at++;
    return at;
}

/* Past a reference such as &amp;, or NULL if it is none that XML knows. */
static const char *skip_reference(const char *at)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(at, known[i], strlen(known[i])) == 0)
            return at + strlen(known[i]);
    return NULL;
}

/* Up to the end of a tag: attributes in double quotes, nothing raw in them. */
static const char *skip_attributes(const char *at)
{
    while (at && *at == ' ') {
        const char *name = at + 1;

        at = skip_name(name);
        if (at == name || at[0] != '=' || at[1] != '"')
            return NULL;
        for (at += 2; at && *at != '"';) {
            if (*at == '\0' || *at == '<')
                return NULL;
            at = *at == '&' ? skip_reference(at) : at + 1;
        }
        if (at)
            at++;
    }
    return at;
}

/* Elements nest, one root, attributes quoted, references known. */
static bool well_formed(const char *at)
{
    const char *open[16];
    int depth = 0, roots = 0;

    while (at && *at) {
        if (at[0] == '<' && at[1] == '/') {
            const char *end = skip_name(at + 2);
            size_t length = (size_t)(end - at) - 2;

            if (depth == 0 || *end != '>' || strncmp(open[--depth], at + 2, length) ||
                skip_name(open[depth]) != open[depth] + length)
                return false;
            at = end + 1;
        } else if (at[0] == '<') {
            if (depth == 16)
                return false;
            roots += depth == 0;
            open[depth++] = at + 1;
            at = skip_attributes(skip_name(at + 1));
            if (at && *at == '/') {
                depth--;
                at++;
            }
            at = at && *at == '>' ? at + 1 : NULL;
        } else if (*at == '&') {
            at = skip_reference(at);
        } else if (depth == 0 && *at != '\n') {
            return false;
        } else {
            at++;
        }
    }
    return at && depth == 0 && roots == 1;
}

static void the_checker_of_xml_finds_what_is_wrong(test *t)
{
    check(t, well_formed("<a b=\"c\"><d/>x &amp; y</a>\n"));
    check(t, !well_formed("<a><d></a></d>"));
    check(t, !well_formed("<a>x & y</a>"));
    check(t, !well_formed("<a b=c/>"));
    check(t, !well_formed("<a b=\"<\"/>"));
    check(t, !well_formed("<a></ab>"));
    check(t, !well_formed("<ab></a>"));
    check(t, !well_formed("<a>"));
    check(t, !well_formed("<a/><b/>"));
}

/* ---- numbers ---------------------------------------------------------------- */

static void numbers_are_written_as_people_write_them(test *t)
{
    check_text(t, ease__label_count(0).text, "0");
    check_text(t, ease__label_count(999).text, "999");
    check_text(t, ease__label_count(1000).text, "1,000");
    check_text(t, ease__label_count(INT64_MAX).text, "9,223,372,036,854,775,807");
    check_text(t, ease__label_count(-1234567).text, "−1,234,567");
    check_text(t, ease__label_value(0, 3).text, "0");
    check_text(t, ease__label_value(0.5, 3).text, "0.5");
    check_text(t, ease__label_value(-0.012345, 3).text, "−0.0123");
    check_text(t, ease__label_value(1234567, 3).text, "1,234,567");
    check_text(t, ease__label_value(9.996, 3).text, "10");
    check_text(t, ease__label_value(0.0001, 3).text, "0.0001");
    check_text(t, ease__label_value(0.00001234, 3).text, "1.23×10⁻⁵");
    check_text(t, ease__label_value(-1e-7, 3).text, "−10⁻⁷");
    check_text(t, ease__label_value(6.02e23, 3).text, "6.02×10²³");
    check_text(t, ease__label_value(1e100, 3).text, "10¹⁰⁰");
    check_text(t, ease__label_value(NAN, 3).text, "?");
    check_text(t, ease__label_fixed(1204.5, 2).text, "1,204.50");
    check_text(t, ease__label_fixed(-0.001, 2).text, "0.00");
    check_text(t, ease__label_share(0).text, "0 %");
    check_text(t, ease__label_share(1).text, "100 %");
    check_text(t, ease__label_share(0.6031).text, "60.3 %");
    check_text(t, ease__label_share(0.00001234).text, "0.0012 %");
    check_text(t, ease__label_share(0.9999).text, "99.990 %");
}

static void numbers_do_not_follow_the_locale(test *t)
{
    static const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    bool set = false;

    for (int i = 0; !set && i < 3; i++)
        set = setlocale(LC_ALL, comma[i]);
    if (set) {
        ease__svg s = {0};

        check_text(t, ease__label_value(0.25, 3).text, "0.25");
        check_text(t, ease__label_value(1.5e-9, 3).text, "1.5×10⁻⁹");
        ease__svg_add(&s, "%f;", -1234.5);
        check(t, s.used == 9 && memcmp(s.text, "-1234.50;", 9) == 0);
        ease__free(s.text);
    } else {
        test_skip(t, "no locale with a decimal comma is installed");
    }
    setlocale(LC_ALL, "C");
}

/* ---- ticks ------------------------------------------------------------------ */

static bool is_round(double step)
{
    double mantissa = step / pow(10, floor(log10(step) + 1e-9));

    return fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 ||
           fabs(mantissa - 5) < 1e-6;
}

static bool good_axis(test *t, double low, double high, bool log)
{
    ease__figure_axis a = ease__axis_over(low, high, log);
    double step = a.tick[1] - a.tick[0], last = a.tick[a.ticks - 1];
    double slack = 1e-6 * (log ? low : step);
    bool good = check(t, a.ticks >= 4) && check(t, a.ticks <= EASE__MAX_TICKS) &&
                check(t, a.tick[0] <= low + slack) && check(t, last >= high - slack);

    for (int i = 1; i < a.ticks; i++)
        good &= check(t, a.tick[i] > a.tick[i - 1]);
    for (int i = 0; !log && i < a.ticks; i++) {
        double q = a.tick[i] / step;

        /* step is a difference of ticks: its relative error is q * epsilon. */
        good &= check_near(t, q, round(q), 4 * DBL_EPSILON * (q * q + 1));
    }
    good &= log || check(t, is_round(step));
    if (!good)
        printf("  %s ticks over %.17g .. %.17g\n", log ? "log" : "linear", low, high);
    return good;
}

static void ticks_are_few_and_round_and_cover_the_range(test *t)
{
    const uint64_t seed = 3;
    ease__random r;

    printf("  seed %d\n", (int)seed);
    ease__random_seed(&r, seed, 0);
    for (int i = 0; i < 200000; i++) {
        double size = pow(10, 60 * ease__random_unit(&r) - 30);
        double low = size * (ease__random_unit(&r) - 0.5);
        double high = low + size * pow(10, -5 * ease__random_unit(&r));

        if (!good_axis(t, low, high, false))
            return;
        low = fabs(low);
        high = low * pow(10, ease__random_unit(&r) * (double)(i % 40));
        if (low > 0 && !good_axis(t, low, high, true))
            return;
    }
}

static void ticks_fit_exact_and_empty_ranges(test *t)
{
    static const double linear[][2] = {{0, 0},     {1, 1}, {0, 1},        {-1, 1},
                                       {0.3, 0.9}, {5, 5}, {-1e50, 1e50}, {0, 1e-300}};
    static const double logs[][2] = {{1, 1},    {1, 10},         {1, 100},
                                     {1, 1000}, {1e-100, 1e100}, {1e-6, 1e6},
                                     {1, 8},    {100, 150},      {5, 5000}};
    ease__figure_axis a;

    for (size_t i = 0; i < sizeof(linear) / sizeof(linear[0]); i++)
        good_axis(t, linear[i][0], linear[i][1], false);
    for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
        good_axis(t, logs[i][0], logs[i][1], true);
    a = ease__axis_over(0.3, 0.9, false);
    check_int(t, a.ticks, 7);
    check(t, a.tick[0] == 0.3 && a.tick[6] == 0.9); /* as the doubles nearest to them */
    a = ease__axis_over(1, 100, true);
    check_int(t, a.ticks, 7);
    check(t, a.tick[1] == 2 && a.tick[5] == 50);
}

/* ---- text ------------------------------------------------------------------- */

static void names_cannot_break_the_figure(test *t)
{
    ease__svg s = {0};

    ease__svg_add(
        &s, "<t>%s</t>",
        "<b a=\"1\">&\x01\xff\xc0\x80\xed\xa0\x80 \xe2\x82\xac\n\xf0\x9f\x98");
    ease__svg_add(&s, "%s", "\xef\xbf\xbf");
    ease__svg_add(&s, "%d%%\n", -5);
    s.text[s.used - 1] = '\0';
    check_text(t, s.text,
               "<t>&lt;b a=&quot;1&quot;&gt;&amp;\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
               "\uFFFD € \uFFFD\uFFFD\uFFFD</t>\uFFFD-5%");
    ease__free(s.text);
}

static void long_names_are_cut_between_characters(test *t)
{
    char name[4000];

    check_text(t, ease__svg_shorten("short", 100).text, "short");
    check_text(t, ease__svg_shorten("", 100).text, "");
    check_text(t, ease__svg_shorten("ααααααααααααααααααα", 60).text, "αααααα…");
    memset(name, '.', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    check(t, strlen(ease__svg_shorten(name, 1e9).text) <
                 sizeof(((ease__short_text *)0)->text));
}

/* ---- weights ---------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static void the_summary_is_that_of_all_weights_off_the_diagonal(test *t)
{
    enum { N = 300, COUNT = N * (N - 1) };
    static const double share[] = {0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999};
    function_model m = model_of(N, mixed);
    float *all = malloc(COUNT * sizeof(*all));
    int64_t count = 0, negative = 0, zero = 0;
    ease_weight_summary w = {.size = sizeof(w)};
    double sum = 0;

    for (int32_t i = 0; i < N; i++)
        for (int32_t j = 0; j < N; j++)
            if (i != j)
                all[count++] = mixed(i, j);
    qsort(all, COUNT, sizeof(*all), ascending);
    for (int64_t i = 0; i < COUNT; i++) {
        sum += (double)all[i];
        negative += all[i] < 0;
        zero += all[i] == 0;
    }
    check_status(t, ease_model_summarize_weights(&m.model, &w, NULL, NULL), EASE_OK);
    check_int(t, w.count, COUNT);
    check_near(t, w.negative, (double)negative / COUNT, 0);
    check_near(t, w.zero, (double)zero / COUNT, 0);
    check_near(t, w.smallest, (double)all[0], 0);
    check_near(t, w.largest, (double)all[COUNT - 1], 0);
    check_near(t, w.mean, sum / COUNT, 1e-13 * fabs(sum));
    for (int i = 0; i < EASE_WEIGHT_QUANTILES; i++) {
        double exact = (double)all[(int64_t)ceil(share[i] * COUNT) - 1];

        check_near(t, w.quantile[i], exact, 0.001 * fabs(exact));
    }
    free(all);
}

static void every_weight_is_in_one_bin(test *t)
{
    function_model m = model_of(257, mixed);
    ease_weight_summary w = {.size = sizeof(w)};
    ease_weight_histogram h = {.size = sizeof(h)};
    ease__weight_bins b;
    int64_t sum, wrong = 0;

    check_status(t, ease_model_summarize_weights(&m.model, &w, NULL, NULL), EASE_OK);
    check_status(t, ease__count_weights(&m.model, &w, &b, NULL, NULL), EASE_OK);
    check(t, b.edges.count >= 40 && b.edges.count <= EASE__MAX_BINS);
    check(t, b.below > 0 && b.above > 0);
    sum = b.below + b.above + b.zero;
    check_near(t, (double)b.zero / (double)w.count, w.zero, 0);
    for (int k = 0; k + 1 < b.edges.count; k++) {
        double low = ease__steps_at(&b.edges, k),
               high = ease__steps_at(&b.edges, k + 1);
        int64_t here = 0;

        for (int32_t i = 0; i < 257; i++)
            for (int32_t j = 0; j < 257; j++) {
                double v = (double)mixed(i, j);

                here += i != j && v >= low && v < high && v != 0;
            }
        wrong += here != b.in[k];
        sum += b.in[k];
    }
    check_status(t, ease_model_count_weights(&m.model, &h, NULL, NULL, NULL), EASE_OK);
    check_int(t, h.bins, b.edges.count - 1);
    check_int(t, h.zero + h.below + h.above, b.zero + b.below + b.above);
    check(t, memcmp(h.count, b.in, (size_t)h.bins * sizeof(*h.count)) == 0);
    for (int k = 0; k <= h.bins; k++)
        check(t, h.edge[k] == ease__steps_at(&b.edges, k));
    check_int(t, wrong, 0);
    check_int(t, sum, (int64_t)257 * 256);
}

/* The number that ends `at`, thousands with commas. */
static int64_t number_before(const char *at, const char *start)
{
    int64_t number = 0, unit = 1;

    for (at--; at >= start && ((*at >= '0' && *at <= '9') || *at == ','); at--)
        if (*at != ',') {
            number += unit * (*at - '0');
            unit *= 10;
        }
    return number;
}

/* All that the bars say, and what is said not to be shown. */
static int64_t weights_in_figure(const char *text)
{
    int64_t sum = 0;

    for (const char *at = text; (at = strstr(at, "</title></rect>")); at++)
        sum += number_before(at, text);
    for (const char *at = text; (at = strstr(at, " weights below ")); at++)
        sum += number_before(at, text);
    for (const char *at = text; (at = strstr(at, " weights above ")); at++)
        sum += number_before(at, text);
    return sum;
}

static void the_figure_of_weights_holds_all_of_them(test *t)
{
    const char *path = test_path("weights.svg"), *again = test_path("again.svg");
    function_model m = model_of(400, mixed);
    ease_weight_summary w = {.size = sizeof(w)};
    char *text, *same;

    check_status(t, ease_plot_weights(&m.model, path, &w, NULL, NULL), EASE_OK);
    check_status(t, ease_plot_weights(&m.model, again, NULL, NULL, NULL), EASE_OK);
    text = file_text(path);
    same = file_text(again);
    check(t, well_formed(text));
    check(t, strlen(text) > 4000);
    check_text(t, text, same);
    check_int(t, weights_in_figure(text), 400 * 399);
    check_contains(t, text, "400 items, λ = 250; 159,600 weights off the diagonal");
    check_contains(t, text, ease__label_share(w.negative).text);
    check_contains(t, text, ease__label_share(w.zero).text);
    for (int i = 0; i < EASE_WEIGHT_QUANTILES; i++)
        check_contains(t, text, ease__label_value(w.quantile[i], 3).text);
    check_contains(t, text, "prefers-color-scheme:dark");
    free(text);
    free(same);
}

static void figures_of_hardly_any_weights_are_drawn(test *t)
{
    static const struct {
        int32_t items;
        float (*weight)(int32_t, int32_t);
        const char *says;
    } few[] = {{1, mixed, "1 item, λ = 250; 0 weights"},
               {2, a_quarter, "negative: 50.0 %"},
               {2, nothing, "exactly 0: 100 %"},
               {30, nothing, "exactly 0: 870</title>"},
               {9, a_quarter, "positive: 50.0 %"}};

    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
        const char *path = test_path("few.svg");
        function_model m = model_of(few[i].items, few[i].weight);
        char *text;

        check_status(t, ease_plot_weights(&m.model, path, NULL, NULL, NULL), EASE_OK);
        text = file_text(path);
        check(t, well_formed(text));
        check_contains(t, text, few[i].says);
        check_int(t, weights_in_figure(text), few[i].items * (few[i].items - 1));
        free(text);
    }
}

static void weights_that_are_not_finite_are_named(test *t)
{
    const char *path = test_path("infinite.svg");
    function_model m = model_of(9, not_a_number);
    ease_error err;

    check_status(t, ease_plot_weights(&m.model, path, NULL, NULL, &err), EASE_E_FORMAT);
    check_int(t, err.where, 5);
    m.weight = infinite;
    check_status(t, ease_plot_weights(&m.model, path, NULL, NULL, &err), EASE_E_FORMAT);
    check_int(t, err.where, 3);
    check(t, access(path, F_OK) != 0);
}

static int cancel_second_stage(void *user, const char *stage, double fraction)
{
    const char **first = user;

    if (!*first)
        *first = stage;
    return fraction >= 0 && *first != stage;
}

static void counting_weights_can_be_cancelled(test *t)
{
    const char *path = test_path("cancelled.svg"), *first = NULL;
    ease_hooks hooks = {.progress = cancel_second_stage, .user = &first};
    function_model m = model_of(20, mixed);

    check_status(t, ease_plot_weights(&m.model, path, NULL, &hooks, NULL),
                 EASE_E_CANCELLED);
    check(t, first != NULL);
    check(t, access(path, F_OK) != 0);
}

/* ---- the long tail and lambda ----------------------------------------------- */

static void the_long_tail_says_how_many_items_are_recommended(test *t)
{
    static const int64_t one[] = {5, 0, 90000, 0, 1, 7, 0, 2};
    static const int64_t two[] = {0, 0, 0, 0, 0, 0, 0, 0};
    const int64_t *times[] = {one, two};
    const char *names[] = {"A & <B>", "\xff"};
    const char *path = test_path("tail.svg");
    char *text;

    check_status(t, ease_plot_longtail(times, names, 2, 8, 100, path, NULL), EASE_OK);
    text = file_text(path);
    check(t, well_formed(text));
    check_contains(t, text, "A &amp; &lt;B&gt;: 5 items (62.5 %)");
    check_contains(t, text, "\uFFFD: 0 items (0 %)");
    check_contains(t, text, "best 100 of 8 items");
    check_contains(t, text, "100,000"); /* the axis */
    free(text);
}

static void a_million_items_make_a_small_figure(test *t)
{
    enum { N = 1000000 };
    int64_t *times = malloc(N * sizeof(*times));
    const int64_t *both[] = {times, times};
    const char *names[] = {"one", "two"}, *path = test_path("million.svg");
    char *text;

    for (int i = 0; i < N; i++)
        times[(int64_t)i * 7919 % N] = N / (i + 1);
    check_status(t, ease_plot_longtail(both, names, 2, N, 100, path, NULL), EASE_OK);
    text = file_text(path);
    check(t, strlen(text) < 60000);
    check(t, well_formed(text));
    free(text);
    free(times);
}

static void lambda_marks_the_largest_mean(test *t)
{
    static const double lambda[] = {1000, 10, 100, 300}; /* as a search tries them */
    static const double mean[] = {0.41, 0.35, 0.42, 0.4199};
    static const double error[] = {0.002, NAN, 0.0021, 0};
    const char *path = test_path("lambda.svg");
    char *text;

    check_status(t, ease_plot_lambda(lambda, mean, error, 4, "ndcg@100", path, NULL),
                 EASE_OK);
    text = file_text(path);
    check(t, well_formed(text));
    check_contains(t, text, "r=\"6\"><title>λ = 100: ndcg@100 0.42 ± 0.0021</title>");
    check_contains(t, text, "r=\"3\"><title>λ = 10: ndcg@100 0.35</title>");
    check_contains(t, text,
                   "4 values of λ tried; at the best ndcg@100 is 0.42000 ± "
                   "0.00210");
    free(text);
}

static void figures_of_any_lambda_are_drawn(test *t)
{
    static const double lambda[] = {1e-100, 1e100, 5, 5, 5 + 1e-15, 1e-6, 1e6};
    static const double mean[] = {-1e98, 1e98, 0, 0, 1e-300, 0.1, 0.1};

    for (int first = 0; first < 7; first++)
        for (int count = 1; first + count <= 7; count++) {
            const char *path = test_path("any.svg");
            char *text;

            check_status(t,
                         ease_plot_lambda(lambda + first, mean + first, NULL, count,
                                          "hit@1", path, NULL),
                         EASE_OK);
            text = file_text(path);
            if (!check(t, well_formed(text)) || !check(t, !strstr(text, "?")))
                printf("  lambdas %d to %d\n", first, first + count - 1);
            free(text);
        }
}

/* ---- a search over settings --------------------------------------------------- */

static int count_of(const char *text, const char *part)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* Dots of trials; one more is in the legend. */
static int dots_in(const char *text)
{
    return count_of(text, "h0.01") - 1;
}

static int arrows_in(const char *text)
{
    return count_of(text, "l3 5.00l3 -5.00") + count_of(text, "l3 -5.00l3 5.00");
}

static char *settings_figure(test *t, const ease_plot_axis *axes, int count,
                             const double *mean, const double *error, int trials,
                             int best)
{
    const char *path = test_path("settings.svg");
    char *text;

    check_status(t,
                 ease_plot_settings(axes, count, mean, error, trials, best, "ndcg@20",
                                    path, NULL),
                 EASE_OK);
    text = file_text(path);
    check(t, well_formed(text));
    check(t, !strstr(text, "nan") && !strstr(text, "inf") && !strstr(text, "?"));
    return text;
}

static void settings_have_panels_with_the_best_of_each_value(test *t)
{
    static const double lambda[] = {10, 10, 100, 100, 1000, 1000};
    static const double dropout[] = {0, 0.25, 0, 0.25, 0, 0.25};
    static const double power[] = {NAN, 0.5, NAN, 0.5, NAN, 0.5};
    static const double mean[] = {0.15, 0.14, 0.17, 0.16, 0.12, 0.11};
    static const double error[] = {0.002, 0.002, 0.0021, NAN, 0.002, 0.002};
    static const ease_plot_axis axes[] = {
        {"lambda", lambda, 1}, {"<drop\xff>", dropout, 0}, {"power", power, 0}};
    char *text = settings_figure(t, axes, 3, mean, error, 6, 2), *again;

    check_int(t, dots_in(text), 6 + 6 + 3);
    check_int(t, arrows_in(text), 0);
    check_contains(t, text, "6 trials; at the best ndcg@20 is 0.17000 ± 0.00210");
    /* the mark of the best in the panels of its settings */
    check_int(t, count_of(text, "r=\"5.5\""), 2);
    check_contains(t, text, "r=\"5.5\"><title>lambda = 100: ndcg@20 0.17 ± 0.0021<");
    check_contains(t, text, "r=\"5.5\"><title>&lt;drop\uFFFD&gt; = 0: ndcg@20 0.17 ±");
    /* the best of the other values */
    check_int(t, count_of(text, "r=\"2.5\""), 2 + 1 + 1);
    check_contains(t, text, "r=\"2.5\"><title>lambda = 10: ndcg@20 0.15<");
    check_contains(t, text, "r=\"2.5\"><title>lambda = 1,000: ndcg@20 0.12<");
    check_contains(t, text, " = 0.25: ndcg@20 0.16<");
    check_contains(t, text, "<title>power = 0.5: ndcg@20 0.16<");
    /* ticks at the values that were tried */
    check_contains(t, text, ">0.25</text>");
    check_contains(t, text, ">0.5</text>");
    check_int(t, count_of(text, ">(log)<"), 1);
    check_contains(t, text, "prefers-color-scheme:dark");
    again = settings_figure(t, axes, 3, mean, error, 6, 2);
    check_text(t, text, again);
    free(text);
    free(again);
}

/* An attribute, such as its place, of the circle with this title. */
static double place_of(const char *text, const char *title, const char *attribute)
{
    const char *at = strstr(text, title), *from = NULL;

    for (const char *c = text; at && (c = strstr(c, attribute)) && c < at; c++)
        from = c;
    return from ? strtod(from + strlen(attribute), NULL) : NAN;
}

static void places_are_proportional_to_values(test *t)
{
    static const double lambda[] = {1, 10, 1000}, share[] = {0, 0.25, 1};
    static const double mean[] = {0.1, 0.15, 0.2};
    static const ease_plot_axis axes[] = {{"a", lambda, 1}, {"b", share, 0}};
    char *text = settings_figure(t, axes, 2, mean, NULL, 3, 2);
    double x[2][3], y[2][3];

    for (int i = 0; i < 3; i++)
        for (int a = 0; a < 2; a++) {
            char title[160];

            snprintf(title, sizeof(title), "<title>%s = %s: ", axes[a].name,
                     ease__label_value(axes[a].value[i], 6).text);
            x[a][i] = place_of(text, title, "cx=\"");
            y[a][i] = place_of(text, title, "cy=\"");
        }
    /* Places have two decimals: an error of 0.005 each. */
    check_near(t, (x[0][1] - x[0][0]) * 3, x[0][2] - x[0][0], 0.05);
    check_near(t, (x[1][1] - x[1][0]) * 4, x[1][2] - x[1][0], 0.05);
    check_near(t, (y[0][1] - y[0][0]) * 2, y[0][2] - y[0][0], 0.05);
    check(t, x[0][0] < x[0][2] && x[0][2] < x[1][0] && y[0][0] > y[0][2]);
    for (int i = 0; i < 3; i++)
        check_near(t, y[1][i], y[0][i], 0); /* the same scale in all panels */
    free(text);
}

static void the_line_leaves_the_scale_at_its_edge(test *t)
{
    enum { N = 16 };
    double value[N], mean[N], down[N];
    const ease_plot_axis axis = {"x", value, 0};
    const char *line;
    char *text;
    double edge;

    for (int i = 0; i < N; i++) {
        value[i] = i;
        mean[i] = i == 0 || i == 5 ? 0.1 : 0.4 + 0.001 * i;
        down[i] = -mean[i];
    }
    text = settings_figure(t, &axis, 1, mean, NULL, N, N - 1);
    check_int(t, arrows_in(text), 2);
    check_int(t, dots_in(text), N - 2);
    check_contains(t, text, "Arrows: 2 of 16 trials with a mean below 0.");
    line = strstr(text, "<path class=\"line s0 d0\" d=\"M"); /* in the legend */
    line = line ? strstr(line + 1, "<path class=\"line s0 d0\" d=\"M") : NULL;
    if (check(t, line != NULL)) {
        const char *end = strchr(line, '/'), *first = strchr(line, 'M');
        const char *second = strchr(first + 1, 'M');

        /* The line comes from trial 0, and is interrupted at trial 5. */
        check(t, second && second < end &&
                     !memchr(second + 1, 'M', (size_t)(end - second - 1)));
        edge = strtod(strchr(first, ' '), NULL);
        check(t, edge > place_of(text, "<title>x = 1: ", "cy=\""));
        check_near(t, strtod(strchr(second, ' '), NULL), edge, 0);
    }
    free(text);
    text = settings_figure(t, &axis, 1, down, NULL, N, N - 1); /* lower is better */
    check_int(t, arrows_in(text), 2);
    check_contains(t, text, "with a mean above −0.");
    check_contains(t, text, "r=\"5.5\"><title>x = 15: ndcg@20 −0.415<");
    free(text);
}

static void at_least_half_of_any_trials_are_dots(test *t)
{
    enum { N = 40 };
    const uint64_t seed = 11;
    ease__random r;

    printf("  seed %d\n", (int)seed);
    ease__random_seed(&r, seed, 0);
    for (int k = 0; k < 300; k++) {
        double value[N], mean[N], error[N];
        const ease_plot_axis axis = {"x", value, k % 2};
        int trials = 1 + (int)ease__random_below(&r, N), best = 0, dots;
        double spread = 60 * ease__random_unit(&r);
        char *text;

        for (int i = 0; i < trials; i++) {
            value[i] = i + 1;
            mean[i] = -exp(-spread * ease__random_unit(&r));
            error[i] = exp(-spread * ease__random_unit(&r));
            best = mean[i] > mean[best] ? i : best;
        }
        /* whether lower or higher is better follows from the best trial */
        text = settings_figure(t, &axis, 1, mean, error, trials, best);
        dots = dots_in(text);
        check_int(t, dots + arrows_in(text), trials);
        check_int(t, count_of(text, "r=\"5.5\""), 1);
        if (!check(t, 2 * dots >= trials))
            printf("  %d of %d\n", dots, trials);
        free(text);
    }
}

static void a_thousand_trials_make_a_small_figure(test *t)
{
    enum { N = 1000 };
    double value[EASE_PLOT_MOST_AXES][N], mean[N];
    ease_plot_axis axes[EASE_PLOT_MOST_AXES];
    ease__random r;
    int best = 0;

    ease__random_seed(&r, 5, 0);
    for (int a = 0; a < EASE_PLOT_MOST_AXES; a++) {
        axes[a] = (ease_plot_axis){"setting", value[a], a % 2};
        for (int i = 0; i < N; i++)
            value[a][i] = 0.01 + ease__random_unit(&r);
    }
    for (int i = 0; i < N; i++) {
        mean[i] = 0.3 - fabs(value[0][i] - 0.5) * value[1][i];
        best = mean[i] > mean[best] ? i : best;
    }
    for (int count = 1; count <= EASE_PLOT_MOST_AXES; count++) {
        char *text = settings_figure(t, axes, count, mean, NULL, N, best);

        check(t, strlen(text) < 4000 + (size_t)count * 32000);
        check_int(t, count_of(text, "r=\"5.5\""), count);
        check(t, count_of(text, "r=\"2.5\"") >= 15 * count);
        check(t, count_of(text, "r=\"2.5\"") < 20 * count);
        check_contains(t, text, "1,000 trials");
        free(text);
    }
}

static void figures_of_any_settings_are_drawn(test *t)
{
    static const double value[] = {1e-100, 1e98,  5,    5,     5 + 1e-15, 1e-6,
                                   1e6,    1e-99, 1e90, 1e-30, 1e30,      0.1};
    static const double minus[] = {0, -1e98, 0,    0, -1e-300, 1e-300,
                                   7, 7,     1e-9, 0, 0,       0};
    static const double mean[] = {0.3, 0.3,    0.3, -1e98, 1e98, 0,
                                  0,   1e-300, 0,   0.1,   0.2,  0.2};
    static const double error[] = {NAN, 0, 1e-9, 1e98,   1e98, NAN,
                                   5,   0, 1,    1e-300, 1,    0};

    for (int first = 0; first < 12; first++)
        for (int count = 1; first + count <= 12; count++) {
            const ease_plot_axis axes[] = {
                {"", value + first, 1},
                {"a setting with a name that is too long", minus + first, 0},
                {"c", value + first, 0}};

            for (int best = 0; best < count; best += 3) {
                free(settings_figure(t, axes, 3, mean + first, error + first, count,
                                     best));
                free(settings_figure(t, axes, 2, mean + first, NULL, count, best));
            }
        }
}

static void settings_that_cannot_be_drawn_say_why(test *t)
{
    static const double value[] = {1, 0, INFINITY}, none[] = {NAN, NAN, NAN};
    static const double mean[] = {0.5, 0.5, NAN}, error[] = {0.1, -0.1, 0};
    const char *path = test_path("none.svg");
    ease_plot_axis axes[9] = {{"x", value, 0}};
    ease_error err;

    check_status(t, ease_plot_settings(axes, 9, mean, NULL, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "1 to 8 settings fit a figure, not 9");
    check_status(t, ease_plot_settings(axes, 0, mean, NULL, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_settings(axes, 2, mean, NULL, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "setting 2 lacks");
    check_status(t, ease_plot_settings(axes, 1, mean, NULL, 3, 0, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "mean 3 of 3");
    check_int(t, err.where, 2);
    check_status(t, ease_plot_settings(axes, 1, mean, error, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "mean 2 of 2 or its error");
    check_status(t, ease_plot_settings(axes, 1, error, NULL, 3, 0, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "setting 1: value 3 of 3");
    axes[0].logarithmic = 1;
    check_status(t, ease_plot_settings(axes, 1, mean, NULL, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "value 2 of 2 cannot be drawn on a logarithmic scale");
    axes[0].value = none;
    check_status(t, ease_plot_settings(axes, 1, mean, NULL, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "setting 1: no trial has a value");
    for (int best = -1; best <= 2; best += 3)
        check_status(t,
                     ease_plot_settings(axes, 1, mean, NULL, 2, best, "m", path, &err),
                     EASE_E_ARG);
    check_status(t, ease_plot_settings(NULL, 1, mean, NULL, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_settings(axes, 1, NULL, NULL, 2, 0, "m", path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_settings(axes, 1, mean, NULL, 0, 0, "m", path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_settings(axes, 1, mean, NULL, 2, 0, NULL, path, &err),
                 EASE_E_ARG);
    check(t, access(path, F_OK) != 0);
}

/* ---- failing ---------------------------------------------------------------- */

static void figures_that_cannot_be_say_why(test *t)
{
    static const int64_t count[] = {3, -1};
    static const double lambda[] = {1, -1}, mean[] = {0.5, 0.5};
    const int64_t *times[9] = {count, count, count, count, count,
                               count, count, count, count};
    const char *names[9] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    const char *path = test_path("none.svg");
    double bad = NAN;
    ease_error err;

    check_status(t, ease_plot_longtail(times, names, 9, 1, 100, path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "1 to 8 models");
    check_status(t, ease_plot_longtail(times, names, 1, 2, 100, path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "below 0");
    names[1] = NULL;
    check_status(t, ease_plot_longtail(times, names, 2, 1, 100, path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "model 1");
    check_status(t, ease_plot_longtail(NULL, names, 1, 1, 100, path, &err), EASE_E_ARG);
    check_status(t, ease_plot_longtail(times, names, 1, 0, 100, path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_lambda(lambda, mean, NULL, 2, "m", path, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "lambda 2 of 2");
    check_status(t, ease_plot_lambda(lambda, &bad, NULL, 1, "m", path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_lambda(lambda, mean, NULL, 0, "m", path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_weights(NULL, path, NULL, NULL, &err), EASE_E_ARG);
    check(t, access(path, F_OK) != 0);
}

static void figures_are_svg_by_name_too(test *t)
{
    static const char *const good[] = {"-",       "w",  "w.svg",     "W.SVG",
                                       "a.b/w",   ".w", "/dev/null", "a.png/w.svg",
                                       "w.1.svg", "./w"};
    static const char *const bad[] = {"w.png", "w.pdf", "w.svg.gz", "a.svg/w.png",
                                      "w.",    "w.s",   ""};
    static const int64_t count[] = {3, 1};
    static const double one[] = {1};
    static const ease_plot_axis axis = {"a", one, 0};
    const int64_t *times[] = {count};
    const char *names[] = {"a"}, *path = test_path("w.png");
    function_model m = model_of(5, mixed);
    ease_error err;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check_status(t, ease_plot_check(good[i], &err), EASE_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_status(t, ease_plot_check(bad[i], &err), EASE_E_ARG);
    check_status(t, ease_plot_check(NULL, &err), EASE_E_ARG);
    check_status(t, ease_plot_weights(&m.model, path, NULL, NULL, &err), EASE_E_ARG);
    check_contains(t, err.text, "w.png: figures are SVG");
    check_status(t, ease_plot_longtail(times, names, 1, 2, 100, path, &err),
                 EASE_E_ARG);
    check_status(t, ease_plot_lambda(one, one, one, 1, "m", path, &err), EASE_E_ARG);
    check_status(t, ease_plot_settings(&axis, 1, one, one, 1, 0, "m", path, &err),
                 EASE_E_ARG);
    check(t, access(path, F_OK) != 0);
}

static void a_figure_that_cannot_be_written_says_where(test *t)
{
    static const int64_t count[] = {3, 1};
    static const double one[] = {1};
    static const ease_plot_axis axis = {"a", one, 0};
    const int64_t *times[] = {count};
    const char *names[] = {"a"}, *path = test_path("absent/figure.svg");
    function_model m = model_of(5, mixed);
    ease_weight_summary w = {.size = sizeof(w), .count = -1};
    ease_error err;

    check_status(t, ease_plot_weights(&m.model, path, &w, NULL, &err), EASE_E_IO);
    check_contains(t, err.text, "absent/figure.svg");
    check_int(t, w.count, -1);
    check_status(t, ease_plot_longtail(times, names, 1, 2, 100, path, &err), EASE_E_IO);
    check_status(t, ease_plot_lambda(one, one, one, 1, "m", path, &err), EASE_E_IO);
    check_status(t, ease_plot_settings(&axis, 1, one, one, 1, 0, "m", path, &err),
                 EASE_E_IO);
}

static ease_status draw_all(const char *path)
{
    static const int64_t count[] = {3, 1};
    static const double one[] = {1};
    static const ease_plot_axis axis = {"a", one, 0};
    const int64_t *times[] = {count, count};
    const char *names[] = {"a", "b"};
    function_model m = model_of(40, mixed);
    ease_status status = ease_plot_weights(&m.model, path, NULL, NULL, NULL);

    if (!status)
        status = ease_plot_longtail(times, names, 2, 2, 100, path, NULL);
    if (!status)
        status = ease_plot_lambda(one, one, one, 1, "m", path, NULL);
    if (!status)
        status = ease_plot_settings(&axis, 1, one, one, 1, 0, "m", path, NULL);
    return status;
}

static void drawing_survives_every_failed_allocation(test *t)
{
    ease_status status;
    int n = 0;

    do {
        alloc_fail_after(n++);
        status = draw_all(test_path("starved.svg"));
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 10);
}

static const test_case cases[] = {
    TEST(the_checker_of_xml_finds_what_is_wrong),
    TEST(numbers_are_written_as_people_write_them),
    TEST(numbers_do_not_follow_the_locale),
    TEST(ticks_are_few_and_round_and_cover_the_range),
    TEST(ticks_fit_exact_and_empty_ranges),
    TEST(names_cannot_break_the_figure),
    TEST(long_names_are_cut_between_characters),
    TEST(the_summary_is_that_of_all_weights_off_the_diagonal),
    TEST(every_weight_is_in_one_bin),
    TEST(the_figure_of_weights_holds_all_of_them),
    TEST(figures_of_hardly_any_weights_are_drawn),
    TEST(weights_that_are_not_finite_are_named),
    TEST(counting_weights_can_be_cancelled),
    TEST(the_long_tail_says_how_many_items_are_recommended),
    TEST(a_million_items_make_a_small_figure),
    TEST(lambda_marks_the_largest_mean),
    TEST(figures_of_any_lambda_are_drawn),
    TEST(settings_have_panels_with_the_best_of_each_value),
    TEST(places_are_proportional_to_values),
    TEST(the_line_leaves_the_scale_at_its_edge),
    TEST(at_least_half_of_any_trials_are_dots),
    TEST(a_thousand_trials_make_a_small_figure),
    TEST(figures_of_any_settings_are_drawn),
    TEST(settings_that_cannot_be_drawn_say_why),
    TEST(figures_that_cannot_be_say_why),
    TEST(figures_are_svg_by_name_too),
    TEST(a_figure_that_cannot_be_written_says_where),
    TEST(drawing_survives_every_failed_allocation),
};

TEST_MAIN(cases)
