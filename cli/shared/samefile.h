/* Refuses outputs that would overwrite another output, or an input. */
#ifndef EASE_CLI_SHARED_SAMEFILE_H
#define EASE_CLI_SHARED_SAMEFILE_H

#include "options.h"

/* Fails with EXIT_USAGE if two outputs of a verb (NULL: none; "-": standard output) are
 * the same file. */
int check_outputs_differ(console *c, const char *one, const char *other);
/* Fails with EXIT_USAGE if an output is the same file as an input (NULL: none; "-":
 * standard input), or as a file of the data set in a directory that is the input,
 * or as one that a pattern matches. */
int check_differs(console *c, const char *output, const char *input);
/* The same for all operands of a verb. */
int check_differs_all(console *c, const char *output, const common_args *common);
/* The same for part files, of any name, in a directory; other paths have none. */
int check_differs_parts(console *c, const char *output, const char *dir);

/* True for a pattern such as part-*.csv that names no file itself. */
bool is_pattern(const char *path);

#endif
