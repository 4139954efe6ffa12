/* Ids that a user gives: histories, and lists of what may be recommended. */
#ifndef EASE_CLI_SHARED_HISTORIES_H
#define EASE_CLI_SHARED_HISTORIES_H

#include <stddef.h>

#include "console.h"

/* From a,b,c or, for @FILE, one id a line; warns of unknown ids. `number` from 1 names
 * the history in warnings; 0: the only one. */
int history_read(console *c, const ease_model *m, const char *list, size_t number,
                 ease_history **out);

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
