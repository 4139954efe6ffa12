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

/* Parses a header lambda,METRIC,stderr,... and a line for each trial. */
static bool parse_csv(const char *text, trials *out)
{
    static const char head[] = "lambda,";
    size_t length;

    if (strncmp(text, head, strlen(head)) != 0)
        return false;
    text += strlen(head);
    length = strcspn(text, ",\r\n");
    if (length == 0 || length >= sizeof(out->metric) ||
        strncmp(text + length, ",stderr", 7) != 0)
        return false;
    memcpy(out->metric, text, length);
    out->metric[length] = '\0';
    for (text = strchr(text, '\n'); text && *++text; text = strchr(text, '\n')) {
        int i = out->count;

        if (i == MOST_TRIALS || !csv_number(&text, &out->lambda[i]) ||
            !csv_number(&text, &out->mean[i]) || !csv_number(&text, &out->error[i]) ||
            isnan(out->lambda[i]) || isnan(out->mean[i]))
            return false;
        out->count++;
    }
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
 * `size`. */
static void take_text(cursor *j, char *to, size_t size)
{
    size_t used = 0;

    j->failed = j->failed || !take(j, '"');
    while (!j->failed && *j->at && *j->at != '"') {
        j->at += *j->at == '\\' && j->at[1];
        if (used + 1 < size)
            to[used++] = *j->at;
        j->at++;
    }
    to[used] = '\0';
    j->failed = j->failed || !take(j, '"');
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

static void take_trial(cursor *j, trials *out)
{
    int i = out->count;
    char key[32];
    bool first = true;

    j->failed = j->failed || i == MOST_TRIALS || !take(j, '{');
    if (j->failed)
        return;
    out->lambda[i] = out->mean[i] = out->error[i] = NAN;
    while (next_member(j, &first, key, sizeof(key))) {
        if (strcmp(key, "lambda") == 0)
            out->lambda[i] = take_number(j);
        else if (strcmp(key, "mean") == 0)
            out->mean[i] = take_number(j);
        else if (strcmp(key, "stderr") == 0)
            out->error[i] = take_number(j);
        else
            skip_value(j);
    }
    j->failed = j->failed || isnan(out->lambda[i]) || isnan(out->mean[i]);
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
