/* Plans and sizes of files as text, for train, gram, plan and info. */
#ifndef EASE_CLI_SHARED_PLANNING_H
#define EASE_CLI_SHARED_PLANNING_H

#include "console.h"

const char *name_of_kind(ease_gram_kind kind);
const char *name_of_precision(ease_precision precision);

/* For verbs that solve; `at_` is the offset of the `const char *` in the structure. */
#define BACKEND_OPTION(at_)                                                            \
    {                                                                                  \
        .name = "backend", .type = OPTION_TEXT, .at = (at_), .value = "NAME",          \
        .word = backend_name,                                                          \
        .help = "the backend that inverts the matrix (default: the first); ease info " \
                "--backends describes each"                                            \
    }
const char *backend_name(int index);
/* Fails if there is no such backend, or it cannot be used here. NULL: the default. */
int check_backend(console *c, const char *name);

void note_plan(console *c, const ease_plan *plan);
/* Prints the numbers, and what would help, in one line; `workdir`: one was given.
 * Returns the exit code. */
int refuse_plan(console *c, const ease_plan *plan, bool workdir);
void note_gram(console *c, const char *path, const ease_gram_info *info);

#endif
