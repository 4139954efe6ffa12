/* Which columns of a table are the user, the item, the value and the time: by their
 * names, then by their values, then by their order. Files and tables in memory are
 * recognized alike. */
#ifndef EASE_RECOGNIZE_H
#define EASE_RECOGNIZE_H

#include "data/fields.h"

/* What is known of a column's values. */
typedef struct ease__tally {
    size_t filled;    /* not empty; the others count these */
    size_t numbers;   /* also "nan" and what is out of range */
    size_t fractions; /* numbers that are not whole */
    size_t dates;     /* 2005-04-02, 02.04.2005, 4/2/2005, with a time of day or not */
    size_t epochs;    /* seconds, milli- or microseconds since 1970; or ids */
    size_t days;      /* 20050402 */
    size_t distinct;  /* these two are counted by ease__recognize */
    size_t runs;      /* of equal values in rows that follow each other */
} ease__tally;

/* The first rows of a table. */
typedef struct ease__survey {
    size_t columns, rows, most; /* most: rows that are looked at */
    bool in_memory;             /* where names may be numbers, in files they may not */
    ease__tally *tallies;
    uint64_t *hashes; /* columns x most: of the values */
} ease__survey;

/* False: no memory; what was allocated is freed. */
bool ease__survey_start(ease__survey *s, size_t columns);
void ease__survey_free(ease__survey *s);
/* Takes a row of s->columns fields; false: enough was seen. */
bool ease__survey_add(ease__survey *s, const ease__field *fields);

/* names NULL: there are none, and columns go by their order. `option` (NULL: "columns ")
 * stands before columns that a text proposes. Fails with EASE_E_ARG if another reading
 * is as likely, EASE_E_PARSE if there is no user or item, EASE_E_NOMEM. */
ease_status ease__recognize(ease__survey *s, const ease__field *names,
                            const char *option, ease_columns *out, ease_error *err);

/* "user = client, item = sku"; NULL names: "user = column 1". */
void ease__describe_columns(const ease_columns *c, const ease__field *names, bool timed,
                            char *to, size_t room);

/* Why guessed columns are not the user and the item, given what was read by them; NULL:
 * nothing speaks against them, or they were not guessed (guess may be NULL). Otherwise
 * a text to be freed; *failed: there was no memory for it. */
char *ease__doubt(const ease_columns *guess, const char *input, int64_t users,
                  int64_t items, int64_t rows, bool *failed);

#endif
