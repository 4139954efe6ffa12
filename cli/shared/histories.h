/* Ids on the command line: histories, and lists of allowed items. */
#ifndef EASE_CLI_SHARED_HISTORIES_H
#define EASE_CLI_SHARED_HISTORIES_H

#include <stddef.h>

#include "console.h"

/* Ids, as `count` strings. */
typedef struct id_list {
    char *bytes;
    const char **at;
    size_t count;
} id_list;

/* Reads ids from a file, one a line; "-" is standard input. *l is {0} at the start;
 * free it with id_list_free in any case. */
int ids_from_file(console *c, const char *path, id_list *l);
void id_list_free(id_list *l);

/* Reads a history from "a,b,c" or from @FILE with one id a line, and warns of unknown
 * ids. "a:2" is the item a with weight 2, unless the model has an item "a:2". What
 * begins with a bracket is JSON (see json_read_ids), unless it begins with an id of the
 * model. `number`, from 1, names the history in warnings; 0: it is the only one. */
int history_read(console *c, const ease_model *m, const char *list, size_t number,
                 ease_history **out);

/* Reads lists of items into a byte for each item: those of the file `allow` (NULL:
 * all) but not of `deny` (NULL: none). *out is NULL if neither is given. */
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
