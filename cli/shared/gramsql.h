/* SQL that computes a Gram matrix in the engine that has the data. */
#ifndef EASE_CLI_SHARED_GRAMSQL_H
#define EASE_CLI_SHARED_GRAMSQL_H

#include "options.h"

typedef struct sql_args {
    int engine; /* -1: not given */
    const char *table, *user, *item, *order, *dir;
    int64_t shards, pairs; /* 0: not given */
    int estimate;
} sql_args;

extern const option sql_options[];
#define SQL_DEFAULTS \
    {                \
        .engine = -1 \
    }
bool sql_is_default(const sql_args *a);

/* Prints the SQL to standard output. Returns 0, or the exit code after a message. */
int print_sql(console *c, const verb *v, const sql_args *a);

#endif
