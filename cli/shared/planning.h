/* Plans and sizes of files as text, for train, gram, plan and info. */
#ifndef EASE_CLI_SHARED_PLANNING_H
#define EASE_CLI_SHARED_PLANNING_H

#include "console.h"

const char *name_of_kind(ease_gram_kind kind);
const char *name_of_precision(ease_precision precision);

/* For verbs that solve; `at_` is the offset of the `const char *` in the structure. */
#define BACKEND_OPTION(at_)                                                      \
    {                                                                            \
        .name = "backend", .type = OPTION_TEXT, .at = (at_), .value = "NAME",    \
        .word = backend_name,                                                    \
        .help = "the backend that inverts the matrix (default: cpu); ease info " \
                "--backends describes each"                                      \
    }
#define DEVICE_MEMORY_OPTION(at_)                                                     \
    {                                                                                 \
        .name = "device-memory", .type = OPTION_SIZE, .at = (at_), .value = "SIZE",   \
        .help = "the most memory of a GPU to use; of a larger matrix a part is kept " \
                "there at a time (default: what is free)"                             \
    }
const char *backend_name(int index);
/* Fails if there is no such backend, or it cannot be used here. NULL: the default. */
int check_backend(console *c, const char *name);

void note_plan(console *c, const ease_plan *plan);

/* The plan of a method that needs less memory than another. */
typedef struct smaller_plan {
    const char *method; /* NULL: there is none */
    ease_plan plan;
} smaller_plan;

/* Plans the method that is an alternative to that of the options, for x, or if it is
 * NULL for data of the sizes of `plan`. */
smaller_plan find_smaller(const ease_interactions *x, const ease_plan *plan,
                          const ease_train_options *o);

/* Prints the numbers, and what would help, in one line; `workdir`: one was given;
 * `smaller`: NULL where no other method will do.
 * Returns the exit code. */
int refuse_plan(console *c, const ease_plan *plan, bool workdir,
                const smaller_plan *smaller);
void note_gram(console *c, const char *path, const ease_gram_info *info);

#endif
