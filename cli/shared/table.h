/* Tables on standard output: aligned text, CSV or Markdown. */
#ifndef EASE_CLI_SHARED_TABLE_H
#define EASE_CLI_SHARED_TABLE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum table_form { TABLE_TEXT, TABLE_CSV, TABLE_MARKDOWN } table_form;

/* A table. Cells are added row by row; the first row is the heading. */
typedef struct table {
    table_form form;
    size_t columns, count, capacity;
    char **cell;
    bool failed; /* no memory */
} table;

table table_begin(table_form form, size_t columns);
void table_text(table *t, const char *text);
/* Adds a number: `decimals` decimals in text, all digits for programs, nothing if it
 * is not finite. */
void table_real(table *t, double value, int decimals);
/* Adds a number with six digits, for values of any magnitude such as lambda and p. */
void table_value(table *t, double value);
/* Prints the table and frees the cells. Returns false if there was no memory. */
bool table_end(table *t);

#endif
