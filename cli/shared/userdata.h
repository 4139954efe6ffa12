/* Users of a data file, as a model sees them: histories, and items that are denied. */
#ifndef EASE_CLI_SHARED_USERDATA_H
#define EASE_CLI_SHARED_USERDATA_H

#include "files.h"
#include "histories.h"

typedef struct user_pair {
    int32_t item;
    float weight;
} user_pair;

/* The rows of a file, with the item numbers of a model. Starts as {0}. */
typedef struct user_data {
    const ease_model *model;
    ease_interactions *x; /* NULL: no rows */
    int32_t *map;         /* the model's number of each item of x, or EASE_NO_ITEM */
    bool weighted;
    user_pair *scratch; /* for a row */
} user_data;

/* Makes it of interactions, which it takes over (also on failure). Free with
 * user_data_free in any case. */
int user_data_make(console *c, const ease_model *m, ease_interactions *x,
                   user_data *out);
/* Reads a table of users and items that they must not get, and warns of unknown items.
 * `columns` are "USER,ITEM", or NULL. A file with a header and no rows denies
 * nothing. */
int denied_read(console *c, const common_args *common, const char *path,
                const char *columns, const ease_model *m, user_data *out);
void user_data_free(user_data *d);

/* The number of a user, or EASE_NO_USER. */
int64_t user_data_find(const user_data *d, const char *id);
/* The same, or the exit code after a message with similar ids. `path` is the file. */
int user_data_require(console *c, const user_data *d, const char *path, const char *id,
                      int64_t *user);
/* The number of items in the row of a user (EASE_NO_USER: 0), also those that the model
 * does not know. */
int32_t user_data_length(const user_data *d, int64_t user);

/* Where rows are put. Starts as {0}. */
typedef struct row_space {
    int32_t *items;
    float *weights;
    size_t used, capacity;
} row_space;

/* Makes space for `need` items in all; rows that were put before are lost. False: no
 * memory. */
bool row_space_reset(row_space *s, size_t need);
void row_space_free(row_space *s);
/* Puts the items of a user that the model knows, in its order, into the space, which
 * suffices. */
ease_row user_data_row(user_data *d, int64_t user, row_space *to);

#endif
