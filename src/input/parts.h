/* The output of database engines: a file, or a directory of part files. */
#ifndef EASE_INPUT_PARTS_H
#define EASE_INPUT_PARTS_H

#include "input/input.h"

/* Opens a file ("-": standard input), or all files of a directory in the byte order
 * of their names. Files whose names begin with a dot or an underscore contain no rows
 * (_SUCCESS, .part-0.crc) and are ignored. Fails with EASE_E_IO, EASE_E_NOMEM, and
 * with EASE_E_DATA for a directory without files or with another directory in it. */
ease_status ease__parts_open(const char *path, const ease_hooks *hooks,
                             ease__input **out, ease_error *err);

#endif
