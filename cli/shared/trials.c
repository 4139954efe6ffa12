#include "trials.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV ---------------------------------------------------------------------- */

/* Reads a number up to a comma or the end of the line; an empty field is NAN. */
static bool csv_number(const char **at, double *out)
{
    bool empty = !**at || strchr(",\r\n", **at); /* strtod would skip a line end */
    char *end = (char *)(uintptr_t)*at;

    *out = empty ? NAN : strtod(*at, &end);
    if (end == *at)
        *out = NAN;
    *at = end;
    if (**at == ',')
        (*at)++;
    else if (**at && **at != '\n' && **at != '\r')
        return false;
    return true;
}

/* Reads a text up to a comma or the end of the line; it may be quoted. */
static bool csv_text(const char **at, char *to, size_t size)
{
    bool quoted = **at == '"';
    size_t used = 0;

    for (*at += quoted; **at; (*at)++) {
        if (quoted ? **at == '"' : strchr(",\r\n", **at) != NULL) {
            if (!quoted || (*at)[1] != '"')
                break;
            (*at)++; /* a doubled quote */
        }
        if (**at == '\n' || used + 1 == size)
            return false;
        to[used++] = **at;
    }
    to[used] = '\0';
    if (quoted && *(*at)++ != '"')
        return false;
    if (**at == ',')
        (*at)++;
    else if (**at && **at != '\n' && **at != '\r')
        return false;
    return true;
}

/* True if the header continues with a column of this name, which is skipped. */
static bool csv_column(const char **at, const char *name)
{
    size_t length = strlen(name);

    if (strncmp(*at, name, length) != 0 || (*at)[length] != ',')
        return false;
    *at += length + 1;
    return true;
}

static bool csv_trial(const char **at, bool lambda, bool settings, trials *out)
{
    int i = out->count;

    if (i == MOST_TRIALS)
        return false;
    out->lambda[i] = NAN;
    out->settings[i][0] = '\0';
    if ((lambda && !csv_number(at, &out->lambda[i])) ||
        (settings && !csv_text(at, out->settings[i], TRIAL_CHARS)) ||
        !csv_number(at, &out->mean[i]) || !csv_number(at, &out->error[i]))
        return false;
    out->count++;
    return (settings || !isnan(out->lambda[i])) && !isnan(out->mean[i]);
}

/* Parses a header lambda,settings,METRIC,stderr,... with one or both of the first two
 * columns, and a line for each trial. */
static bool parse_csv(const char *text, trials *out)
{
    bool lambda = csv_column(&text, "lambda");
    bool settings = csv_column(&text, "settings");
    size_t length = strcspn(text, ",\r\n");

    if ((!lambda && !settings) || length == 0 || length >= sizeof(out->metric) ||
        strncmp(text + length, ",stderr", 7) != 0)
        return false;
    memcpy(out->metric, text, length);
    out->metric[length] = '\0';
    for (text = strchr(text, '\n'); text && *++text; text = strchr(text, '\n'))
        if (!csv_trial(&text, lambda, settings, out))
            return false;
    return true;
}

/* ---- JSON: a cursor for the subset that is needed ----------------------------- */

typedef struct cursor {
    const char *at;
    bool failed;
} cursor;

static char peek(cursor *j)
{
    j->at += strspn(j->at, " \t\r\n");
    return *j->at;
}

static bool take(cursor *j, char c)
{
    if (peek(j) != c)
        return false;
    j->at++;
    return true;
}

/* Reads a string without decoding escapes, which our names do not have; cut to
 * `size`. Returns the length before it was cut. */
static size_t take_text(cursor *j, char *to, size_t size)
{
    size_t used = 0, length = 0;

    j->failed = j->failed || !take(j, '"');
    while (!j->failed && *j->at && *j->at != '"') {
        j->at += *j->at == '\\' && j->at[1];
        if (used + 1 < size)
            to[used++] = *j->at;
        length++;
        j->at++;
    }
    to[used] = '\0';
    j->failed = j->failed || !take(j, '"');
    return length;
}

static double take_number(cursor *j)
{
    char *end;
    double value = NAN;

    if (peek(j) == 'n' && strncmp(j->at, "null", 4) == 0) {
        j->at += 4;
        return NAN;
    }
    value = strtod(j->at, &end);
    j->failed = j->failed || end == j->at;
    j->at = end;
    return value;
}

/* Moves to the next member of an object: true, with its key, if there is one. */
static bool next_member(cursor *j, bool *first, char *key, size_t size)
{
    if (j->failed || take(j, '}'))
        return false;
    j->failed = !*first && !take(j, ',');
    *first = false;
    take_text(j, key, size);
    j->failed = j->failed || !take(j, ':');
    return !j->failed;
}

/* Skips a value: counts brackets, skips strings. */
static void skip_value(cursor *j)
{
    char ignored[2];
    int depth = 0;

    do {
        char c = peek(j);

        if (c == '"') {
            take_text(j, ignored, sizeof(ignored));
            continue;
        }
        j->failed = j->failed || !c;
        depth += (c == '{') + (c == '[') - (c == '}') - (c == ']');
        if (j->failed || depth < 0)
            break;
        j->at++;
        if (depth == 0 && c != '}' && c != ']')
            j->at += strcspn(j->at, ",}] \t\r\n");
    } while (depth > 0 && !j->failed);
}

/* Reads the settings of a trial; fails if they are too long. */
static bool take_settings(cursor *j, char to[TRIAL_CHARS])
{
    j->failed = take_text(j, to, TRIAL_CHARS) >= TRIAL_CHARS || j->failed;
    return !j->failed;
}

static void take_trial(cursor *j, trials *out)
{
    int i = out->count;
    char key[32];
    bool first = true, settings = false;

    j->failed = j->failed || i == MOST_TRIALS || !take(j, '{');
    if (j->failed)
        return;
    out->lambda[i] = out->mean[i] = out->error[i] = NAN;
    out->settings[i][0] = '\0';
    while (next_member(j, &first, key, sizeof(key))) {
        if (strcmp(key, "lambda") == 0)
            out->lambda[i] = take_number(j);
        else if (strcmp(key, "mean") == 0)
            out->mean[i] = take_number(j);
        else if (strcmp(key, "stderr") == 0)
            out->error[i] = take_number(j);
        else if (strcmp(key, "settings") == 0 && peek(j) == '"')
            settings = take_settings(j, out->settings[i]);
        else
            skip_value(j);
    }
    j->failed = j->failed || (isnan(out->lambda[i]) && !settings) ||
                isnan(out->mean[i]);
    out->count++;
}

static bool parse_json(const char *text, trials *out)
{
    cursor j = {.at = text};
    char key[32];
    bool first = true;

    j.failed = !take(&j, '{');
    while (next_member(&j, &first, key, sizeof(key))) {
        if (strcmp(key, "metric") == 0) {
            take_text(&j, out->metric, sizeof(out->metric));
        } else if (strcmp(key, "trials") == 0) {
            j.failed = !take(&j, '[');
            do
                take_trial(&j, out);
            while (!j.failed && take(&j, ','));
            j.failed = j.failed || !take(&j, ']');
        } else {
            skip_value(&j);
        }
    }
    return !j.failed && out->metric[0];
}

/* ---- the file ----------------------------------------------------------------- */

/* Reads the whole file as a string. NULL: no memory, or a read error (errno). */
static char *read_all(FILE *from)
{
    size_t size = 1 << 16, used = 0;
    char *text = malloc(size);

    while (text) {
        char *grown;

        used += fread(text + used, 1, size - 1 - used, from);
        text[used] = '\0';
        if (ferror(from))
            break;
        if (used < size - 1)
            return text;
        size *= 2;
        grown = realloc(text, size);
        if (!grown)
            break;
        text = grown;
    }
    free(text);
    return NULL;
}

int trials_read(console *c, const char *path, trials *out)
{
    FILE *from = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char *text;
    int code = EXIT_DONE;

    if (!from)
        return fail(c, EXIT_FAILED, "%s: cannot open: %s", path, strerror(errno));
    text = read_all(from);
    if (!text)
        code = ferror(from)
                   ? fail(c, EXIT_FAILED, "%s: cannot read: %s", path, strerror(errno))
                   : fail_no_memory(c);
    if (text) {
        out->count = 0;
        out->metric[0] = '\0';
        if (!(text[0] == '{' ? parse_json(text, out) : parse_csv(text, out)) ||
            out->count == 0)
            code = fail(c, EXIT_DATA, "%s: not what tune --csv or --json prints", path);
    }
    if (from != stdin)
        fclose(from);
    free(text);
    return code;
}

bool trials_have_lambda(const trials *t)
{
    for (int i = 0; i < t->count; i++)
        if (isnan(t->lambda[i]))
            return false;
    return true;
}

int trials_best(const trials *t)
{
    const ease_metric_info *m = ease_metric_find(t->metric);
    bool lower = m && m->direction < 0;
    int best = 0;

    for (int i = 1; i < t->count; i++)
        if (lower ? t->mean[i] < t->mean[best] : t->mean[i] > t->mean[best])
            best = i;
    return best;
}
