/* Data in several files: the output of database engines, directories of part files,
 * patterns. */
#ifndef EASE_INPUT_PARTS_H
#define EASE_INPUT_PARTS_H

#include "input/input.h"

/* Opens a file ("-": standard input), or all files of a directory in the byte order
 * of their names. Files whose names begin with a dot or an underscore contain no rows
 * (_SUCCESS, .part-0.crc) and are ignored. Fails with EASE_E_IO, EASE_E_NOMEM, and
 * with EASE_E_DATA for a directory without files or with another directory in it. */
ease_status ease__parts_open(const char *path, const ease_hooks *hooks,
                             ease__input **out, ease_error *err);

/* True for a pattern that several files can match: no file has this name, and there is
 * a *, ? or [ in it. */
bool ease__is_pattern(const char *path);

/* Opens the files of `path` and those of `more` (ended by NULL; may be NULL) as one
 * input. Each is a file, a directory of parts as above whose files all have the same
 * ending, before .gz and .zst, or a pattern as of a shell, whose matches are in byte
 * order too. A split's directory is refused. Fails as ease__parts_open does. */
ease_status ease__list_open(const char *path, const char *const *more,
                            const ease_hooks *hooks, ease__input **out,
                            ease_error *err);

#endif
