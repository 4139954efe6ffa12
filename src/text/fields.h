/* Delimited text: records of fields, quoted as in RFC 4180. This parser is general
 * and slow; src/read/records.c has a fast one for whole blocks. */
#ifndef EASE_TEXT_FIELDS_H
#define EASE_TEXT_FIELDS_H

#include "core/core.h"

typedef enum ease__split_kind {
    EASE__SPLIT_BYTE,
    EASE__SPLIT_TEXT,  /* several bytes, such as "::" */
    EASE__SPLIT_BLANKS /* any run of spaces and tabs, ignored at the ends of a line */
} ease__split_kind;

enum { EASE__SEPARATOR_CHARS = 16 };

typedef struct ease__splitter {
    ease__split_kind kind;
    char text[EASE__SEPARATOR_CHARS];
    size_t length;
    bool quotes; /* are special, for "," and ";" only */
} ease__splitter;

/* Makes the splitter for a separator: "," "\t" "::" " " ..., or a backslash followed
 * by t. Fails with EASE_E_ARG. */
ease_status ease__splitter_make(const char *separator, ease__splitter *out,
                                ease_error *err);

typedef struct ease__field {
    const char *text; /* without the quotes around it */
    size_t length;
    bool quoted;
    bool doubled; /* quotes inside are doubled: see ease__undouble */
} ease__field;

typedef enum ease__field_stop {
    EASE__FIELD_MORE, /* ended by a separator */
    EASE__FIELD_LAST, /* ended by a line end */
    EASE__FIELD_CUT,  /* ended by the end of the text */
    EASE__FIELD_OPEN, /* the text ended within quotes */
    EASE__FIELD_JUNK  /* bytes follow a closing quote */
} ease__field_stop;

/* Reads the field at *at, and moves *at past the separator or line end that ended
 * it. */
ease__field_stop ease__field_next(const ease__splitter *s, const char **at,
                                  const char *end, ease__field *out);
/* Replaces each doubled quote by one, in place; returns the new length. */
size_t ease__undouble(char *text, size_t length);

typedef struct ease__record {
    ease__field *fields;
    size_t count, capacity;
} ease__record;

typedef enum ease__record_stop {
    EASE__RECORD_WHOLE,
    EASE__RECORD_BLANK, /* an empty line */
    EASE__RECORD_CUT,   /* the text ended; *at remains at the start of the record */
    EASE__RECORD_OPEN,  /* the text ended within quotes, and nothing follows it */
    EASE__RECORD_JUNK,
    EASE__RECORD_NOMEM
} ease__record_stop;

/* Reads the record at *at. last: nothing follows `end`, so that a record may end
 * there. */
ease__record_stop ease__record_next(const ease__splitter *s, const char **at,
                                    const char *end, bool last, ease__record *r);

/* Copies the first bytes of input for a message, without control characters. Returns
 * `to`. */
enum { EASE__EXCERPT_CHARS = 48 };
const char *ease__excerpt(const char *text, size_t length,
                          char to[EASE__EXCERPT_CHARS]);

#endif
