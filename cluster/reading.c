#include "reading.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool reading_is(int letter)
{
    return letter >= READING_FORMAT && letter <= READING_ONE_PASS;
}

static bool take_real(const char *text, double *to)
{
    char *end;

    *to = strtod(text, &end);
    return end != text && !*end && isfinite(*to);
}

static bool take_count(const char *text, int64_t *to)
{
    char *end;

    errno = 0;
    *to = strtoll(text, &end, 10);
    return end != text && !*end && *to >= 0 && !errno;
}

static bool take_word(const char *const *words, const char *word, int *to)
{
    for (*to = 0; words[*to]; ++*to)
        if (strcmp(words[*to], word) == 0)
            return true;
    return false;
}

/* The separators that have names. */
static const char *separator_of(const char *word)
{
    static const char *const names[] = {"tab", "\\t", "space", "comma", NULL};
    static const char *const separators[] = {"\t", "\t", " ", ","};
    int at;

    return take_word(names, word, &at) ? separators[at] : word;
}

static bool take_number(int letter, const char *value, ease_read_options *o)
{
    switch (letter) {
    case READING_MIN_RATING:
        return take_real(value, &o->min_rating);
    case READING_SINCE:
        return ease_time_parse(value, &o->since, NULL) == EASE_OK;
    case READING_UNTIL:
        return ease_time_parse(value, &o->until, NULL) == EASE_OK;
    case READING_HALF_LIFE:
        return take_real(value, &o->half_life) && o->half_life > 0;
    case READING_MIN_USER:
        return take_count(value, &o->min_user);
    default:
        return take_count(value, &o->min_item);
    }
}

bool reading_take(int letter, const char *value, ease_read_options *o)
{
    static const char *const answers[] = {"no", "yes", NULL};
    static const char *const repeats[] = {"first", "last", "max", "sum", NULL};
    int at = 0;
    bool taken = true;

    switch (letter) {
    case READING_FORMAT:
        o->format = value;
        return true;
    case READING_COLUMNS:
        o->columns = value;
        return true;
    case READING_SEPARATOR:
        o->separator = separator_of(value);
        return true;
    case READING_ENCODING:
        o->encoding = value;
        return true;
    case READING_HEADER:
        return take_word(answers, value, &o->header);
    case READING_REPEAT:
        taken = take_word(repeats, value, &at);
        o->repeat = (ease_repeat)at;
        return taken;
    case READING_WEIGHTS:
        o->weights = 1;
        return true;
    case READING_ONE_PASS:
        o->one_pass = 1;
        return true;
    default:
        return take_number(letter, value, o);
    }
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

ease_status reading_check_output(const char *output, const char *path,
                                 const char *const *more, ease_error *err)
{
    bool same = is_same(output, path);

    for (; !same && more && *more; more++)
        same = is_same(output, *more);
    return same ? ease__fail(err, EASE_E_ARG,
                             "%s: the output is the input, which would be lost", output)
                : EASE_OK;
}
