/* A source of bytes: a file or standard input, plain or compressed by gzip (several
 * members), zstd (several frames) or zip (a file with one text in it), which its first
 * bytes tell. Or several files, one after the other. Read in order and never mapped:
 * mapped pages would count as resident memory. */
#ifndef EASE_INPUT_INPUT_H
#define EASE_INPUT_INPUT_H

#include "core/core.h"

typedef struct ease__input ease__input;

/* The stage that readers report: one pointer, as ease_hooks wants. */
extern const char ease__stage_reading[];

/* "-" is standard input. hooks may be NULL; they are asked while waiting for a pipe.
 * Fails with EASE_E_IO, EASE_E_NOMEM, EASE_E_CANCELLED. */
ease_status ease__input_open(const char *path, const ease_hooks *hooks,
                             ease__input **out, ease_error *err);
/* `count` files of the allocated `paths`, which are taken over even on failure: reading
 * ends with each of them. `name` stands for them all. */
ease_status ease__input_open_list(const char *name, char **paths, size_t count,
                                  const ease_hooks *hooks, ease__input **out,
                                  ease_error *err);
void ease__input_close(ease__input *in);

/* Goes on to the next file, where one has been read to its end. *more: there is one. */
ease_status ease__input_next(ease__input *in, bool *more, ease_error *err);
/* Which file is being read, from 0, and a file's name, for messages. */
size_t ease__input_at(const ease__input *in);
size_t ease__input_files(const ease__input *in);
const char *ease__input_file_name(const ease__input *in, size_t file);

/* Fills `to`; *got is less than `bytes` only at the end. Besides the above it fails
 * with EASE_E_PARSE on a damaged or truncated stream; what came before is in `to`. */
ease_status ease__input_read(ease__input *in, void *to, size_t bytes, size_t *got,
                             ease_error *err);
/* Looks ahead by `bytes`, or to the end; valid until the next call. */
ease_status ease__input_peek(ease__input *in, size_t bytes, const char **data,
                             size_t *got, ease_error *err);
/* Peeks at the rest of the file, within a memory_limit as in ease_read_options. Fails
 * as ease__input_peek does, and with EASE_E_MEMORY_LIMIT. */
ease_status ease__input_peek_all(ease__input *in, size_t limit, const char **data,
                                 size_t *got, ease_error *err);
/* Passes over bytes that were peeked at. */
void ease__input_skip(ease__input *in, size_t bytes);

const char *ease__input_name(const ease__input *in); /* for messages */
/* "", "gzip, ", "zstd, ", "zip, ": of the current file. */
const char *ease__input_coding(const ease__input *in);
/* Bytes of memory that the input holds, including those peeked at. */
size_t ease__input_held(const ease__input *in);
/* How much of the file is read, 0 .. 1; -1 for a pipe. */
double ease__input_fraction(const ease__input *in);
/* The descriptor of a plain regular file and its size, for pread; -1 for others. */
int ease__input_file(const ease__input *in, size_t *bytes);

#endif
