/* The rows of JSON lines: finds the values of some fields in each line. */
#ifndef EASE_READ_JSON_ROWS_H
#define EASE_READ_JSON_ROWS_H

#include "data/dictionary.h"
#include "text/json_object.h"

enum { EASE__JSON_FIELDS = 4 };

/* The fields of the user, the item, the value and the time, by their paths as in
 * ease__json_value; NULL: none. */
typedef struct ease__json_fields {
    const char *path[EASE__JSON_FIELDS];
} ease__json_fields;

/* The shape of a line: the text before each of its values, other than containers. Lines
 * of one file nearly always have the same, and the values of a line of known shape are
 * found without looking at its names. */
enum { EASE__JSON_SHAPE = 32 };

typedef struct ease__json_gap {
    const char *text; /* with the quote that opens a string */
    size_t length;
    int field; /* of the value behind it; -1: not wanted */
    bool string;
} ease__json_gap;

typedef struct ease__json_shape {
    ease__json_gap gaps[EASE__JSON_SHAPE];
    int values;     /* 0: no shape is known */
    ease__name end; /* the text after the last value, with the line end */
} ease__json_shape;

/* Parses the line at *at, which a line end before `end` ends, and moves *at past it.
 * Sets found[f] to the value of each field: a string without its quotes, or the text of
 * a number or of a word; the text is NULL if the field is missing or null. If a field
 * occurs twice, the last value counts. Strings of fields are unescaped in place, and 64
 * bytes must be readable from `end` on. Returns false and writes a message if the line
 * is wrong. */
bool ease__json_row(const ease__json_fields *fields, ease__json_shape *shape,
                    const char **at, const char *end,
                    ease__name found[EASE__JSON_FIELDS], char what[EASE__JSON_WHAT]);

#endif
