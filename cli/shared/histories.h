/* Ids that a user gives: histories, and lists of what may be recommended. */
#ifndef EASE_CLI_SHARED_HISTORIES_H
#define EASE_CLI_SHARED_HISTORIES_H

#include <stddef.h>

#include "console.h"

/* a,b,c or, from @FILE, one a line; a history as the library wants it. */
typedef struct history {
    int32_t *items; /* of the model, strictly increasing */
    int32_t count;
    int64_t unknown; /* ids that the model does not have */
} history;

/* `number` from 1 names it in warnings; 0: the only one. */
int history_read(console *c, const ease_model *m, const char *list, size_t number,
                 history *out);
void history_free(history *h);
ease_row history_row(const history *h);

/* A byte an item: those of the file `allow` (NULL: all) but not of `deny` (NULL: none).
 * *out is NULL when neither is given. */
int read_allowed(console *c, const ease_model *m, const char *allow, const char *deny,
                 uint8_t **out);

/* The first few of many ids, for a warning. Starts as {0}. */
typedef struct named {
    char text[400];
    size_t put;
    int64_t count;
} named;

void named_add(named *n, const char *id);

#endif
