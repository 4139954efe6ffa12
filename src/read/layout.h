/* The layout of a delimited text, guessed from its beginning: separator, header, number
 * of fields. Each guess can be overridden by itself. */
#ifndef EASE_READ_LAYOUT_H
#define EASE_READ_LAYOUT_H

#include "read/readers.h"
#include "text/fields.h"

typedef struct ease__layout {
    ease__splitter splitter;
    bool header;
    bool uneven;        /* most lines have another number of fields than the first */
    bool varied;        /* some lines have another number of fields than the first */
    size_t fields;      /* of the first line */
    size_t skip;        /* bytes before the first data row: mark, blank lines, header */
    int64_t lines;      /* line ends among them */
    ease__field *names; /* of the header; NULL without one; into the sample */
    uint8_t *numeric;   /* by column: 1: most rows have a number or date there */
} ease__layout;

/* The rest of a sample, record by record. */
typedef struct ease__sample_rest {
    const char *at, *end;
    bool whole; /* the text ends with the input */
} ease__sample_rest;

/* The next record that is not a blank line. False: there is none that can be read, or
 * no memory. */
bool ease__sample_next(ease__sample_rest *t, const ease__splitter *s, ease__record *r,
                       bool *nomem);

/* Reads a sample from the beginning of the input, without consuming it: some lines, or
 * the whole input, or bytes that cannot be text. Fails with EASE_E_MEMORY_LIMIT if the
 * lines take more than the limit (0: the memory that is available). */
ease_status ease__sample(ease__input *in, size_t limit, const char **data,
                         size_t *bytes, bool *whole, ease_error *err);

/* Fails with EASE_E_DATA if the sample is empty or has only blank lines. */
ease_status ease__check_blank(const char *name, const char *sample, size_t bytes,
                              bool whole, ease_error *err);

/* Guesses the layout of a sample that has a record. separator NULL and header -1: to be
 * guessed. pairs: a header is recognized if it names a user and an item; otherwise if
 * it names an id or a title. */
ease_status ease__layout_guess(const char *sample, size_t bytes, bool whole,
                               const char *separator, int header, bool pairs,
                               ease__layout *out, ease_error *err);
void ease__layout_free(ease__layout *l);

/* The layout of an input of interactions; messages name the input. Fails with
 * EASE_E_PARSE also if the input is not UTF-8 text, EASE_E_ARG for a bad separator. */
ease_status ease__layout_of_pairs(const ease__reading *r, const char *separator,
                                  int header, ease__layout *out, ease_error *err);

/* True for `user_id:token`: a name with a type, as RecBole's files have it. */
bool ease__has_recbole_type(const ease__field *name);
bool ease__all_have_recbole_type(const ease__field *names, size_t count);

#endif
