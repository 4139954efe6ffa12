/* Recognizes which columns of a table are the user, the item, the value and the time:
 * by their names, then by their values, then by their order. The same rules apply to
 * files and to tables in memory; docs/file-formats.md describes them. */
#ifndef EASE_READ_RECOGNIZE_H
#define EASE_READ_RECOGNIZE_H

#include "data/draft.h"
#include "text/fields.h"

/* Counts of the values of a column, over the rows of the survey. */
typedef struct ease__tally {
    size_t filled;    /* values that are not empty; the following count only these */
    size_t numbers;   /* including "nan" and numbers out of range */
    size_t fractions; /* numbers that are not integers */
    size_t dates;     /* 2005-04-02, 02.04.2005, 4/2/2005, with a time of day or not */
    size_t epochs;    /* seconds, milli- or microseconds since 1970; or ids */
    size_t days;      /* 20050402 */
    size_t distinct;  /* distinct values; this and `runs` are set by ease__recognize */
    size_t runs;      /* runs of equal values in consecutive rows */
} ease__tally;

/* The first rows of a table. */
typedef struct ease__survey {
    size_t columns, rows, most; /* most: the largest number of rows to look at */
    bool in_memory;             /* names may be numbers, which they may not in files */
    bool commas;                /* 1,234 is a decimal number: see ease__parse_decimal */
    ease__tally *tallies;
    uint64_t *hashes; /* of the values, columns x most */
} ease__survey;

/* False: no memory; what was allocated is freed. */
bool ease__survey_start(ease__survey *s, size_t columns);
void ease__survey_free(ease__survey *s);
/* Adds a row of s->columns fields; false: the survey is full. */
bool ease__survey_add(ease__survey *s, const ease__field *fields);

/* Chooses the columns. names NULL: the table has no header. `option` (NULL: "columns ")
 * introduces the columns that a message proposes. Fails with EASE_E_ARG if another
 * choice is as likely, EASE_E_PARSE if there is no user or item, EASE_E_NOMEM. */
ease_status ease__recognize(ease__survey *s, const ease__field *names,
                            const char *option, ease_columns *out, ease_error *err);

/* Writes "user = client, item = sku", or if names is NULL "user = column 1, ...". */
void ease__describe_columns(const ease_columns *c, const ease__field *names, bool timed,
                            char *to, size_t size);

/* A message, to be freed by the caller, saying why the guessed columns are probably not
 * the user and the item, given the numbers of users, items and rows that were read with
 * them. NULL if nothing speaks against them, if they were not guessed (guess may be
 * NULL), or if there was no memory for the message, when *failed is set. */
char *ease__doubt(const ease_columns *guess, const char *input, int64_t users,
                  int64_t items, int64_t rows, bool *failed);

/* Sets d->doubt, once all records are there. guess NULL: the columns were not
 * guessed. */
ease_status ease__draft_doubt(ease__draft *d, const ease_columns *guess,
                              const char *name, ease_error *err);

#endif
