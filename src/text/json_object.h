/* JSON lines: an object in each line. */
#ifndef EASE_TEXT_JSON_OBJECT_H
#define EASE_TEXT_JSON_OBJECT_H

#include "core/core.h"

typedef enum ease__json_kind {
    EASE__JSON_STRING,
    EASE__JSON_NUMBER,
    EASE__JSON_WORD, /* true, false */
    EASE__JSON_NULL,
    EASE__JSON_OBJECT, /* its fields follow, if it has any */
    EASE__JSON_ARRAY   /* its elements are not reported */
} ease__json_kind;

/* A value of the object, or of an object in it. */
typedef struct ease__json_value {
    const char *path; /* the names of the fields that lead to it, joined by dots */
    size_t path_length;
    ease__json_kind kind;
    const char *text; /* of a string: without its quotes; of containers: "" */
    size_t length;
    bool escaped; /* a string with escapes: see ease__json_unescape */
} ease__json_value;

/* Called for each value in the order of the line. False ends the line: `what` has been
 * set. */
typedef bool ease__json_take(void *to, const ease__json_value *v, char *what);

enum {
    EASE__JSON_PATH = 512, /* values with longer paths are not reported */
    EASE__JSON_DEPTH = 64,
    EASE__JSON_WHAT = 120 /* bytes of a message */
};

/* Parses the object at *at, which ends on its line, and moves *at past the line end, or
 * to `end` for the last line. Blanks around the object are skipped. Returns false and
 * writes a message to `what` if the line is wrong. */
bool ease__json_line(const char **at, const char *end, ease__json_take *take, void *to,
                     char what[EASE__JSON_WHAT]);

/* The text behind the escape at p, which is a backslash; NULL if it is none. `end` is
 * that of the text. */
const char *ease__json_escape_end(const char *p, const char *end);

/* Replaces the escapes of a string that was parsed, in place. Returns the new length;
 * -1 for half of a surrogate pair, and for a NUL. */
int64_t ease__json_unescape(char *text, size_t length);

/* The end of the number at p, which ends before `end`; NULL if there is none. */
const char *ease__json_number_end(const char *p, const char *end);

#endif
