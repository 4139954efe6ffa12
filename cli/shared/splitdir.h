/* Directories of splits, told apart from data, for messages that name the way on. */
#ifndef EASE_CLI_SHARED_SPLITDIR_H
#define EASE_CLI_SHARED_SPLITDIR_H

#include "console.h"

/* True for a directory with files that only a split has. */
bool is_split(const char *path);
/* Checks that a path can be that of a split, before it is opened: says how a split is
 * made of data. Returns 0, or the exit code after a message. */
int check_split(console *c, const char *path);
/* Fails if a path that should be data is a split. */
int check_no_split(console *c, const char *path);

#endif
