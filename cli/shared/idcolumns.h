/* Columns of ids that grow, for tables in memory. */
#ifndef EASE_CLI_SHARED_IDCOLUMNS_H
#define EASE_CLI_SHARED_IDCOLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "ease.h"

/* Starts as {0}. */
typedef struct id_column {
    char *bytes;
    int64_t *offsets; /* rows + 1 of them, once there is a row */
    size_t used, capacity, rows, row_capacity;
} id_column;

/* Appends an id; false: no memory. */
bool id_column_add(id_column *to, const char *id);
/* The column for the library. */
ease_id_column id_column_view(const id_column *of);
void id_column_free(id_column *of);

#endif
