/* Columns of a table that the caller gives by name or number. */
#ifndef EASE_READ_COLUMN_NAMES_H
#define EASE_READ_COLUMN_NAMES_H

#include "text/fields.h"

/* Finds a column by its name, where case and a RecBole type (`:token`) are ignored, or
 * by its number from 1. `header` has `fields` names; NULL: the table has no header.
 * Fails with EASE_E_ARG and a message that begins with `input`. */
ease_status ease__find_column(const ease__field *header, size_t fields,
                              const char *input, const char *name, size_t length,
                              int *out, ease_error *err);

/* Finds the columns "USER,ITEM[,VALUE[,TIME]]"; the value may be empty before a time.
 * Columns that are not given stay as they are in `out`. Fails with EASE_E_ARG. */
ease_status ease__find_columns(const ease__field *header, size_t fields,
                               const char *input, const char *columns,
                               ease_columns *out, ease_error *err);

#endif
