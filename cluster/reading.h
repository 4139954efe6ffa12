/* The options for reading DATA, by the names of ease train. */
#ifndef EASE_CLUSTER_READING_H
#define EASE_CLUSTER_READING_H

#include <getopt.h>

#include "core/core.h"

enum {
    READING_FORMAT = 512,
    READING_COLUMNS,
    READING_SEPARATOR,
    READING_HEADER,
    READING_ENCODING,
    READING_MIN_RATING,
    READING_WEIGHTS,
    READING_SINCE,
    READING_UNTIL,
    READING_HALF_LIFE,
    READING_REPEAT,
    READING_MIN_USER,
    READING_MIN_ITEM,
    READING_ONE_PASS
};

/* Entries of an array of struct option. */
/* clang-format off */
#define READING_OPTIONS                                      \
    {"format", required_argument, NULL, READING_FORMAT},         \
    {"columns", required_argument, NULL, READING_COLUMNS},       \
    {"separator", required_argument, NULL, READING_SEPARATOR},   \
    {"header", required_argument, NULL, READING_HEADER},         \
    {"encoding", required_argument, NULL, READING_ENCODING},     \
    {"min-rating", required_argument, NULL, READING_MIN_RATING}, \
    {"weights", no_argument, NULL, READING_WEIGHTS},             \
    {"since", required_argument, NULL, READING_SINCE},           \
    {"until", required_argument, NULL, READING_UNTIL},           \
    {"half-life", required_argument, NULL, READING_HALF_LIFE},   \
    {"repeat", required_argument, NULL, READING_REPEAT},         \
    {"min-user", required_argument, NULL, READING_MIN_USER},     \
    {"min-item", required_argument, NULL, READING_MIN_ITEM},     \
    {"one-pass", no_argument, NULL, READING_ONE_PASS}
/* clang-format on */

#define READING_HELP                                                                \
    "  --format FORMAT       recognized, unless it is given, and so are the next "  \
    "three\n"                                                                       \
    "  --columns USER,ITEM[,VALUE[,TIME]]\n"                                        \
    "                        by names in the header, or numbers from 1\n"           \
    "  --separator TEXT      of columns: , or :: or tab or space or another text\n" \
    "  --header no|yes\n"                                                           \
    "  --encoding ENCODING   utf-8, utf-16 or latin-1\n"                            \
    "  --min-rating R        keep rows with a value of at least R\n"                \
    "  --weights             use the values; by default every row counts as 1\n"    \
    "  --since, --until TIME keep rows from this time on, before this time\n"       \
    "  --half-life DAYS      weight rows by age\n"                                  \
    "  --repeat first|last|max|sum\n"                                               \
    "                        of a pair with several rows\n"                         \
    "  --min-user, --min-item N\n"                                                  \
    "                        drop users, items with fewer\n"                        \
    "  --one-pass            drop items once and then users once\n"

/* True for the letter of such an option. */
bool reading_is(int letter);
/* False if the option does not take this value. The text is borrowed. */
bool reading_take(int letter, const char *value, ease_read_options *o);

/* Fails with EASE_E_ARG if the output is this file or one of `more` (NULL: none), which
 * would be lost. */
ease_status reading_check_output(const char *output, const char *path,
                                 const char *const *more, ease_error *err);

#endif
