#include "model/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/number.h"

static int find(const ease_setting *table, const char *name, size_t length)
{
    for (int i = 0; table[i].name; i++)
        if (strlen(table[i].name) == length &&
            strncmp(table[i].name, name, length) == 0)
            return i;
    return -1;
}

/* Words are divided by bars and stand for 0, 1, ...; -1: none of them. */
static int find_word(const char *words, const char *text, size_t length)
{
    for (int number = 0;; number++) {
        size_t here = strcspn(words, "|");

        if (here == length && strncmp(words, text, length) == 0)
            return number;
        if (!words[here])
            return -1;
        words += here + 1;
    }
}

static ease_status bad_value(const ease_setting *s, const char *text, size_t length,
                             ease_error *err)
{
    int shown = length < 40 ? (int)length : 40;

    if (s->words)
        return ease__fail(err, EASE_E_ARG, "%s: one of %s, not '%.*s'", s->name,
                          s->words, shown, text);
    return ease__fail(err, EASE_E_ARG, "%s: %s from %g to %g, not '%.*s'", s->name,
                      s->whole ? "a whole number" : "a number", s->least, s->most,
                      shown, text);
}

static ease_status take_value(const ease_setting *s, const char *text, size_t length,
                              double *out, ease_error *err)
{
    double value = 0;
    bool good;

    if (s->words) {
        value = find_word(s->words, text, length);
        good = value >= 0;
    } else {
        good = ease__parse_double(text, length, &value) == EASE__NUMBER_OK &&
               value >= s->least && value <= s->most &&
               (!s->whole || value == floor(value));
    }
    if (!good)
        return bad_value(s, text, length, err);
    *out = value;
    return EASE_OK;
}

static ease_status no_setting(const ease_setting *table, const char *method,
                              const char *name, size_t length, ease_error *err)
{
    char names[EASE__SETTINGS_CHARS] = "";
    size_t used = 0;

    for (int i = 0; table[i].name && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 i ? ", " : "", table[i].name);
    return ease__fail(err, EASE_E_ARG, "%s has no setting '%.*s'%s%s", method,
                      length < 40 ? (int)length : 40, name,
                      names[0] ? ": there are " : ", and no other", names);
}

/* "NAME=" at *text, which then is past it. */
static ease_status take_name(const ease_setting *table, const char *method,
                             const char **text, bool *given, int *setting,
                             ease_error *err)
{
    size_t length = strcspn(*text, "=,");
    int i = find(table, *text, length);

    if (i < 0)
        return no_setting(table, method, *text, length, err);
    if (given[i] || (*text)[length] != '=')
        return ease__fail(err, EASE_E_ARG, "%s: %s", table[i].name,
                          given[i] ? "given twice" : "expected NAME=VALUE");
    given[i] = true;
    *text += length + 1;
    *setting = i;
    return EASE_OK;
}

ease_status ease__settings_parse(const ease_setting *table, const char *method,
                                 const char *text, double *values, bool *given,
                                 ease_error *err)
{
    bool seen[EASE__MOST_SETTINGS] = {false};
    ease_status status = EASE_OK;

    for (int i = 0; table[i].name; i++)
        values[i] = table[i].value;
    while (!status && text && *text) {
        size_t length;
        int i = 0;

        status = take_name(table, method, &text, seen, &i, err);
        if (status)
            break;
        length = strcspn(text, ",");
        status = take_value(&table[i], text, length, &values[i], err);
        text += length;
        text += *text == ',';
    }
    if (given)
        memcpy(given, seen, sizeof(seen));
    return status;
}

static void print_value(const ease_setting *s, double value, char to[EASE__FLOAT_CHARS])
{
    const char *word = s->words;

    if (!word) {
        ease__print_double(value, to);
        return;
    }
    for (int skip = (int)value; skip > 0; skip--)
        word += strcspn(word, "|") + 1;
    snprintf(to, EASE__FLOAT_CHARS, "%.*s", (int)strcspn(word, "|"), word);
}

void ease__settings_print(const ease_setting *table, const double *values,
                          const bool *shown, char to[EASE__SETTINGS_CHARS])
{
    size_t used = 0;

    to[0] = '\0';
    for (int i = 0; table[i].name && used < EASE__SETTINGS_CHARS; i++) {
        char value[EASE__FLOAT_CHARS];

        if (shown && !shown[i])
            continue;
        print_value(&table[i], values[i], value);
        used += (size_t)snprintf(to + used, EASE__SETTINGS_CHARS - used, "%s%s=%s",
                                 used ? "," : "", table[i].name, value);
    }
}

/* ---- grids ----------------------------------------------------------------- */

static ease_status add_value(const ease_setting *s, ease__grid *g, double value,
                             ease_error *err)
{
    const ease__grid_axis *a = &g->axis[g->axes];
    char text[EASE__FLOAT_CHARS];

    for (int i = a->first; i < g->values; i++)
        if (g->value[i] == value) {
            print_value(s, value, text);
            return ease__fail(err, EASE_E_ARG, "%s: %s is given twice", s->name, text);
        }
    if (g->values == EASE__GRID_VALUES)
        return ease__fail(err, EASE_E_ARG, "a grid has at most %d values",
                          (int)EASE__GRID_VALUES);
    g->value[g->values++] = value;
    return EASE_OK;
}

/* "64|128|256" at *text, which then is past it. */
static ease_status take_axis(const ease_setting *s, int setting, const char **text,
                             ease__grid *g, ease_error *err)
{
    ease__grid_axis *a = &g->axis[g->axes];
    bool more;

    *a = (ease__grid_axis){.setting = setting, .first = g->values};
    do {
        size_t length = strcspn(*text, "|,");
        double value;
        ease_status status = take_value(s, *text, length, &value, err);

        if (!status)
            status = add_value(s, g, value, err);
        if (status)
            return status;
        *text += length;
        more = **text == '|';
        *text += more;
    } while (more);
    a->count = g->values - a->first;
    g->points *= a->count;
    g->axes++;
    if (g->points > EASE__GRID_POINTS)
        return ease__fail(err, EASE_E_ARG, "a grid has at most %d points",
                          (int)EASE__GRID_POINTS);
    return EASE_OK;
}

ease_status ease__grid_parse(const ease_setting *table, const char *method,
                             const char *text, ease__grid *out, ease_error *err)
{
    bool given[EASE__MOST_SETTINGS] = {false};
    ease__grid g = {.points = 1};

    while (*text) {
        int i = 0;
        ease_status status = take_name(table, method, &text, given, &i, err);

        if (!status)
            status = take_axis(&table[i], i, &text, &g, err);
        if (status)
            return status;
        text += *text == ',';
    }
    *out = g;
    return EASE_OK;
}

void ease__grid_point(const ease__grid *g, int point, double *values)
{
    for (int k = g->axes - 1; k >= 0; k--) {
        const ease__grid_axis *a = &g->axis[k];

        values[a->setting] = g->value[a->first + point % a->count];
        point /= a->count;
    }
}
