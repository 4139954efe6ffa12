/* What form a delimited text has, guessed from its beginning. Each guess can be
 * overridden by itself. */
#ifndef EASE_READ_DIALECT_H
#define EASE_READ_DIALECT_H

#include "input/input.h"
#include "text/fields.h"

/* How a text is laid out, whatever its columns mean. */
typedef struct ease__layout {
    ease__splitter splitter;
    bool header;
    bool uneven;        /* most lines have another number of fields than the first */
    bool varied;        /* some have */
    size_t fields;      /* of the first line */
    size_t skip;        /* bytes before the first data row: mark, blank lines, header */
    int64_t lines;      /* line ends among them */
    ease__field *names; /* of the header; NULL without one; into the sample */
    uint8_t *numeric;   /* a byte a column: most rows have a number or date there */
} ease__layout;

/* Enough of the beginning to guess by: some lines, or all there is, or what cannot be
 * text. Lines that take more than the limit (0: what is available) give
 * EASE_E_MEMORY_LIMIT. */
ease_status ease__sample(ease__input *in, size_t limit, const char **data,
                         size_t *bytes, bool *whole, ease_error *err);

/* Fails with EASE_E_DATA if the sample is empty or has only blank lines. */
ease_status ease__check_blank(const char *name, const char *sample, size_t bytes,
                              bool whole, ease_error *err);

/* separator NULL and header -1: guess. pairs: a header is known by naming a user and
 * an item; else by any name of an id or title. The sample has a record. */
ease_status ease__layout_guess(const char *sample, size_t bytes, bool whole,
                               const char *separator, int header, bool pairs,
                               ease__layout *out, ease_error *err);
void ease__layout_free(ease__layout *l);

/* What the columns of interactions mean. */
typedef struct ease__dialect {
    ease__layout layout;
    bool adjacency; /* user item item ... */
    ease_columns columns;
    bool guessed;     /* the columns were recognized, not given */
    char *recognized; /* in words */
} ease__dialect;

/* name and coding are the input's; timed: `recognized` names the times too. Fails with
 * EASE_E_PARSE, EASE_E_ARG. */
ease_status ease__dialect_guess(const char *name, const char *coding,
                                const char *sample, size_t bytes, bool whole,
                                const ease_read_options *o, bool timed,
                                ease__dialect *out, ease_error *err);
void ease__dialect_free(ease__dialect *d);

/* Options for tables were given where there is none; separated: a separator may have
 * been. `form` is what it is instead. Fails with EASE_E_ARG. */
ease_status ease__check_no_table(const char *name, const char *form, bool separated,
                                 const ease_read_options *o, ease_error *err);

#endif
