#include "model/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/number.h"

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
    char names[EASE__SETTINGS_ROOM] = "";
    size_t used = 0;

    for (int i = 0; table[i].name && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 i ? ", " : "", table[i].name);
    return ease__fail(err, EASE_E_ARG, "%s has no setting '%.*s': there %s %s", method,
                      length < 40 ? (int)length : 40, name, names[0] ? "are" : "is",
                      names[0] ? names : "none");
}

ease_status ease__settings_parse(const ease_setting *table, const char *method,
                                 const char *text, double *values, ease_error *err)
{
    bool given[EASE__MOST_SETTINGS] = {false};
    ease_status status = EASE_OK;

    for (int i = 0; table[i].name; i++)
        values[i] = table[i].value;
    while (!status && text && *text) {
        size_t name = strcspn(text, "=,"), value = 0;
        int i = find(table, text, name);

        if (i < 0)
            return no_setting(table, method, text, name, err);
        if (given[i] || text[name] != '=')
            return ease__fail(err, EASE_E_ARG, "%s: %s", table[i].name,
                              given[i] ? "given twice" : "expected NAME=VALUE");
        given[i] = true;
        text += name + 1;
        value = strcspn(text, ",");
        status = take_value(&table[i], text, value, &values[i], err);
        text += value;
        text += *text == ',';
    }
    return status;
}

static void print_value(const ease_setting *s, double value, char to[EASE__FLOAT_ROOM])
{
    const char *word = s->words;

    if (!word) {
        ease__print_double(value, to);
        return;
    }
    for (int skip = (int)value; skip > 0; skip--)
        word += strcspn(word, "|") + 1;
    snprintf(to, EASE__FLOAT_ROOM, "%.*s", (int)strcspn(word, "|"), word);
}

void ease__settings_print(const ease_setting *table, const double *values,
                          char to[EASE__SETTINGS_ROOM])
{
    size_t used = 0;

    to[0] = '\0';
    for (int i = 0; table[i].name && used < EASE__SETTINGS_ROOM; i++) {
        char value[EASE__FLOAT_ROOM];

        print_value(&table[i], values[i], value);
        used += (size_t)snprintf(to + used, EASE__SETTINGS_ROOM - used, "%s%s=%s",
                                 i ? "," : "", table[i].name, value);
    }
}
