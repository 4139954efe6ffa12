/* Delimited text, taken apart: records of fields, quoted as RFC 4180 has it. This is
 * the general and slow way; rows.c has a fast one for whole blocks. */
#ifndef EASE_TEXT_FIELDS_H
#define EASE_TEXT_FIELDS_H

#include "core/core.h"

typedef enum ease__split_kind {
    EASE__SPLIT_BYTE,
    EASE__SPLIT_TEXT,  /* several bytes, such as "::" */
    EASE__SPLIT_BLANKS /* any run of spaces and tabs; none at the ends of a line */
} ease__split_kind;

enum { EASE__SEPARATOR_CHARS = 16 };

typedef struct ease__splitter {
    ease__split_kind kind;
    char text[EASE__SEPARATOR_CHARS];
    size_t length;
    bool quotes; /* of "," and ";" only: elsewhere a quote is a byte like others */
} ease__splitter;

/* "," "\t" "::" " " ...; also a backslash and a t. Fails with EASE_E_ARG. */
ease_status ease__splitter_make(const char *separator, ease__splitter *out,
                                ease_error *err);

typedef struct ease__field {
    const char *text; /* inside of the quotes, where there are any */
    size_t length;
    bool quoted;
    bool doubled; /* quotes inside stand twice: see ease__undouble */
} ease__field;

typedef enum ease__field_stop {
    EASE__FIELD_MORE, /* a separator came */
    EASE__FIELD_LAST, /* a line end came */
    EASE__FIELD_CUT,  /* the text ended first */
    EASE__FIELD_OPEN, /* the text ended inside of quotes */
    EASE__FIELD_JUNK  /* something stands behind a closing quote */
} ease__field_stop;

/* The field at *at, which moves behind what ended it. */
ease__field_stop ease__field_next(const ease__splitter *s, const char **at,
                                  const char *end, ease__field *out);
/* Makes each doubled quote one, in place; returns the new length. */
size_t ease__undouble(char *text, size_t length);

typedef struct ease__record {
    ease__field *fields;
    size_t count, capacity;
} ease__record;

typedef enum ease__record_stop {
    EASE__RECORD_WHOLE,
    EASE__RECORD_BLANK, /* an empty line */
    EASE__RECORD_CUT,   /* the text ended; *at stays where the record began */
    EASE__RECORD_OPEN,  /* so, but inside of quotes and with nothing to follow */
    EASE__RECORD_JUNK,
    EASE__RECORD_NOMEM
} ease__record_stop;

/* The record at *at. last: nothing follows `end`, so that a record may end there. */
ease__record_stop ease__record_next(const ease__splitter *s, const char **at,
                                    const char *end, bool last, ease__record *r);

/* A few bytes of input for a message: no control characters, shortened. */
enum { EASE__EXCERPT_CHARS = 48 };
const char *ease__excerpt(const char *text, size_t length,
                          char to[EASE__EXCERPT_CHARS]);

#endif
