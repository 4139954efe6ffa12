/* Reads a delimited table row by row: for small tables such as titles and lists, which
 * do not need the parallel reader of interactions. Quoted fields may have line ends. */
#ifndef EASE_READ_SMALL_TABLE_H
#define EASE_READ_SMALL_TABLE_H

#include "core/budget.h"
#include "input/input.h"
#include "text/fields.h"

typedef struct ease__table ease__table;

/* Opens a table; separator NULL and header -1: to be recognized. Fails with EASE_E_IO,
 * EASE_E_PARSE (also for a binary file), EASE_E_DATA (an empty file), EASE_E_ARG,
 * EASE_E_NOMEM, and, like the functions below, with EASE_E_MEMORY_LIMIT if reading
 * needs more memory than is available. */
ease_status ease__table_open(const char *path, const char *separator, int header,
                             const ease_hooks *hooks, ease__table **out,
                             ease_error *err);
/* Opens a table from an open input, which is taken over even on failure. */
ease_status ease__table_from(ease__input *in, const char *separator, int header,
                             ease__table **out, ease_error *err);
void ease__table_close(ease__table *t);

/* Reads the next row: *count is ease__table_columns, or 0 at the end. Fields are
 * unquoted and valid until the next call. */
ease_status ease__table_next(ease__table *t, const ease__field **fields, size_t *count,
                             ease_error *err);
/* The line, from 1, on which the row that was read last begins. */
int64_t ease__table_line(const ease__table *t);
/* The name of the input, for messages. */
const char *ease__table_name(const ease__table *t);
size_t ease__table_columns(const ease__table *t);
/* The memory budget of the table, which also counts what callers keep of the rows. */
ease__budget *ease__table_budget(ease__table *t);
/* The header's fields; NULL without one. */
const ease__field *ease__table_header(const ease__table *t);

#endif
