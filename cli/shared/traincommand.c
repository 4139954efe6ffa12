#include "traincommand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Options of both verbs that are set otherwise, or do not change the model. */
static const char *const left_out[] = {
    "output",  "lambda",  "model",       "set",   "nonnegative", "json", "csv",
    "threads", "verbose", "no-progress", "quiet", "help",        NULL};

static void put_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=.,:/%@";

    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", to);
        else
            fputc(*word, to);
    fputc('\'', to);
}

static void put_choice(FILE *to, const char *words, int index)
{
    for (; index > 0; index--)
        words += strcspn(words, "|") + 1;
    fprintf(to, "%.*s", (int)strcspn(words, "|"), words);
}

static bool is_same(const option *o, const void *a, const void *b)
{
    switch (o->type) {
    case OPTION_FLAG:
    case OPTION_CHOICE:
        return *(const int *)a == *(const int *)b;
    case OPTION_REAL:
    case OPTION_POSITIVE:
    case OPTION_TIME:
        return *(const double *)a == *(const double *)b ||
               (isnan(*(const double *)a) && isnan(*(const double *)b));
    case OPTION_COUNT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case OPTION_SIZE:
        return *(const size_t *)a == *(const size_t *)b;
    case OPTION_TEXT:
    case OPTION_PATH:
        return *(const char *const *)a == *(const char *const *)b;
    case OPTION_LIST:
        return ((const text_list *)a)->count == 0;
    }
    return true;
}

/* The decimal of 15 to 17 digits, without zeros at its end, that is read as this
 * value. */
static void put_real(FILE *to, double value)
{
    char text[32];
    int digits = 15;

    do
        snprintf(text, sizeof(text), "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    fputs(text, to);
}

static void put_option(FILE *to, const option *o, const void *at)
{
    const text_list *list = at;

    for (size_t i = 0; o->type == OPTION_LIST && i < list->count; i++) {
        fprintf(to, " --%s ", o->name);
        put_word(to, list->at[i]);
    }
    if (o->type == OPTION_LIST)
        return;
    fprintf(to, " --%s%s", o->name, o->type == OPTION_FLAG ? "" : " ");
    if (o->type == OPTION_CHOICE)
        put_choice(to, o->value, *(const int *)at);
    else if (o->type == OPTION_REAL || o->type == OPTION_POSITIVE ||
             o->type == OPTION_TIME)
        put_real(to, *(const double *)at);
    else if (o->type == OPTION_COUNT)
        fprintf(to, "%lld", (long long)*(const int64_t *)at);
    else if (o->type == OPTION_SIZE)
        fprintf(to, "%zu", *(const size_t *)at);
    else if (o->type != OPTION_FLAG)
        put_word(to, *(const char *const *)at);
}

static bool is_taken(const verb *train, const char *name)
{
    option_walk walk = {0};
    const option *o;

    for (size_t i = 0; left_out[i]; i++)
        if (strcmp(left_out[i], name) == 0)
            return false;
    while ((o = options_next(train, &walk, NULL)))
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* Puts the options whose values differ from their defaults. */
static void put_given(FILE *to, const common_args *args, const verb *train)
{
    option_walk walk = {0};
    const option_group *g;
    const option *o;

    while ((o = options_next(args->verb, &walk, &g))) {
        size_t at = g->at + o->at;
        const char *given = (const char *)args + at;

        if (is_taken(train, o->name) &&
            !is_same(o, given, (const char *)args->verb->defaults + at))
            put_option(to, o, given);
    }
}

char *train_command(const common_args *args, const verb *train, const char *data,
                    const char *output, const char *method, const ease_trial *trial)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    bool failed;

    if (!to)
        return NULL;
    fputs("ease train ", to);
    put_word(to, data && strcmp(data, "-") != 0 ? data : "DATA");
    fputs(" -o ", to);
    put_word(to, output ? output : "model.ease");
    if (strcmp(method, "ease") != 0)
        fprintf(to, " --model %s", method);
    if (trial->lambda > 0) {
        fputs(" --lambda ", to);
        put_real(to, trial->lambda);
    }
    if (trial->settings[0]) {
        fputs(" --set ", to);
        put_word(to, trial->settings);
    }
    put_given(to, args, train);
    failed = ferror(to);
    if (fclose(to) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
