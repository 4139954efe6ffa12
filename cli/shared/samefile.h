/* Whether two paths lead to one file. */
#ifndef EASE_CLI_SHARED_SAMEFILE_H
#define EASE_CLI_SHARED_SAMEFILE_H

#include "console.h"

/* Two outputs of a verb (NULL: none; "-": standard output) in one file would destroy each
 * other: exit 2. */
int check_outputs_differ(console *c, const char *one, const char *other);
/* An output that is one of its own inputs (NULL: none; "-": standard input) would destroy
 * it: exit 2. */
int check_differs(console *c, const char *output, const char *input);

#endif
