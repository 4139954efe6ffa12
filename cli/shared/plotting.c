#include "plotting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 32, SETTING_CHARS = 48 };

/* A setting of some trials. */
typedef struct plotted {
    char name[SETTING_CHARS];
    double *value; /* for each trial; NAN: none */
    bool word;     /* some value is not a number */
} plotted;

typedef struct plotted_list {
    plotted at[MOST_NAMES];
    double *values; /* of all entries, `trials` of each, and `trials` of scratch */
    int names, trials;
} plotted_list;

/* The entry of a setting, which is added if it is new. NULL: there are too many, or the
 * name is too long. */
static plotted *entry_of(plotted_list *l, const char *name, size_t length)
{
    plotted *p = l->at;

    if (length == 0 || length >= sizeof(p->name))
        return NULL;
    for (; p < l->at + l->names; p++)
        if (strlen(p->name) == length && memcmp(p->name, name, length) == 0)
            return p;
    if (l->names == MOST_NAMES)
        return NULL;
    p->value = l->values + (size_t)l->names * (size_t)l->trials;
    for (int i = 0; i < l->trials; i++)
        p->value[i] = NAN;
    memcpy(p->name, name, length);
    p->name[length] = '\0';
    l->names++;
    return p;
}

/* The number that is written in `length` bytes; NAN if they are not a number that can
 * be drawn. */
static double number_of(const char *text, size_t length)
{
    char copy[40], *end;
    double value;

    if (length == 0 || length >= sizeof(copy))
        return NAN;
    memcpy(copy, text, length);
    copy[length] = '\0';
    value = strtod(copy, &end);
    return *end == '\0' && fabs(value) < 1e99 ? value : NAN;
}

/* Adds the settings of a trial: NAME=VALUE, separated by commas. */
static void take_settings(plotted_list *l, const char *text, int trial)
{
    while (*text) {
        size_t length = strcspn(text, ","), name = strcspn(text, ",=");

        if (name < length) {
            plotted *p = entry_of(l, text, name);
            double value = number_of(text + name + 1, length - name - 1);

            if (p) {
                p->value[trial] = value;
                p->word |= isnan(value);
            }
        }
        text += length;
        text += *text == ',';
    }
}

static void take_lambda(plotted_list *l, const double *lambda)
{
    for (int i = 0; i < l->trials; i++)
        if (lambda[i] >= 1e-100 && lambda[i] <= 1e99) {
            plotted *p = entry_of(l, "lambda", strlen("lambda"));

            if (p)
                p->value[i] = lambda[i];
        }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the different values of a setting into `to`. Returns their number. */
static int different_values(const plotted *p, int trials, double *to)
{
    int count = 0, different = 0;

    for (int i = 0; i < trials; i++)
        if (!isnan(p->value[i]))
            to[count++] = p->value[i];
    qsort(to, (size_t)count, sizeof(*to), ascending);
    for (int i = 0; i < count; i++)
        if (different == 0 || to[i] != to[different - 1])
            to[different++] = to[i];
    return different;
}

/* True if values are better told apart on a logarithmic scale: they are above 0, and
 * their median is nearer to the middle of that scale than of a linear one. */
static bool looks_logarithmic(const double *value, int count)
{
    double low = value[0], high = value[count - 1];
    double median = (value[(count - 1) / 2] + value[count / 2]) / 2;

    return low >= 1e-100 && count > 2 && high >= 20 * low &&
           median - sqrt(low) * sqrt(high) < (low + high) / 2 - median;
}

/* Makes the axes: those of all settings, or only of those with different values.
 * Returns their number, which may be more than the axes that are made. */
static int make_axes(const plotted_list *l, bool constant, double *scratch,
                     ease_plot_axis *axes)
{
    int count = 0;

    for (int i = 0; i < l->names; i++) {
        const plotted *p = &l->at[i];
        int values = p->word ? 0 : different_values(p, l->trials, scratch);

        if (values < (constant ? 1 : 2))
            continue;
        if (count < EASE_PLOT_MOST_AXES)
            axes[count] = (ease_plot_axis){
                .name = p->name,
                .value = p->value,
                .logarithmic = strcmp(p->name, "lambda") == 0
                                   ? scratch[0] >= 1e-100
                                   : looks_logarithmic(scratch, values)};
        count++;
    }
    return count;
}

int plot_settings_of(console *c, const double *lambda, const char *const *settings,
                     const double *mean, const double *error, int count, int best,
                     const char *metric, const char *path)
{
    ease_plot_axis axes[EASE_PLOT_MOST_AXES];
    plotted_list *l = calloc(1, sizeof(*l));
    double *values = calloc((size_t)count, (MOST_NAMES + 1) * sizeof(*values));
    double *scratch = values + (size_t)count * MOST_NAMES;
    int found, code = EXIT_DONE;
    ease_error err;

    if (!l || !values) {
        free(l);
        free(values);
        return fail_no_memory(c);
    }
    l->values = values;
    l->trials = count;
    take_lambda(l, lambda);
    for (int i = 0; i < count; i++)
        take_settings(l, settings[i], i);
    found = make_axes(l, false, scratch, axes);
    if (found == 0)
        found = make_axes(l, true, scratch, axes);
    if (found > EASE_PLOT_MOST_AXES)
        warn(c, "the figure has the first %d of %d settings", EASE_PLOT_MOST_AXES,
             found);
    found = found < EASE_PLOT_MOST_AXES ? found : EASE_PLOT_MOST_AXES;
    if (found == 0)
        code = fail(c, EXIT_DATA, "the trials have no settings that are numbers");
    else if (ease_plot_settings(axes, found, mean, error, count, best, metric, path,
                                &err))
        code = fail_with(c, &err);
    free(l);
    free(values);
    return code;
}
