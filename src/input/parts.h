/* What engines write: a file, or a directory of part files. */
#ifndef EASE_INPUT_PARTS_H
#define EASE_INPUT_PARTS_H

#include "input/input.h"

/* A file ("-": standard input), or all files of a directory in the order of their names
 * by bytes, but for those that begin with a dot or an underscore, which hold no rows
 * (_SUCCESS, .part-0.crc). Fails with EASE_E_IO, EASE_E_NOMEM and EASE_E_DATA: a
 * directory without files, or with another directory in it. */
ease_status ease__parts_open(const char *path, const ease_hooks *hooks,
                             ease__input **out, ease_error *err);

#endif
