/* Parquet, which other programs convert. */
#ifndef EASE_CLI_SHARED_PARQUET_H
#define EASE_CLI_SHARED_PARQUET_H

#include "options.h"

/* Returns EXIT_DONE unless `path`, an argument of the verb, is a Parquet file, or a
 * directory or a pattern whose first file is one: then EXIT_DATA, after a message with
 * the command lines that pipe it in. */
int refuse_parquet(console *c, const common_args *common, const char *path);

#endif
