/* A source of bytes: a file or standard input, plain or compressed with gzip (several
 * members), zstd (several frames) or zip (one text file), which the first bytes tell;
 * or several files, one after the other. UTF-16 and Latin-1 are converted to UTF-8.
 * Input is read in order and never mapped, since mapped pages would count as resident
 * memory. */
#ifndef EASE_INPUT_INPUT_H
#define EASE_INPUT_INPUT_H

#include "core/core.h"

typedef struct ease__input ease__input;

/* The stage that readers report. One pointer for all, as ease_hooks requires. */
extern const char ease__stage_reading[];

/* Opens a file; "-" is standard input. `hooks` may be NULL; they are called while
 * waiting for a pipe. Fails with EASE_E_IO, EASE_E_NOMEM, EASE_E_CANCELLED. */
ease_status ease__input_open(const char *path, const ease_hooks *hooks,
                             ease__input **out, ease_error *err);
/* Opens `count` files. The input owns the allocated `paths`, even on failure.
 * Reading stops at the end of each file. `name` stands for all of them in messages. */
ease_status ease__input_open_list(const char *name, char **paths, size_t count,
                                  const ease_hooks *hooks, ease__input **out,
                                  ease_error *err);
void ease__input_close(ease__input *in);

/* Continues with the next file when one has been read to its end. *more: there is
 * one. */
ease_status ease__input_next(ease__input *in, bool *more, ease_error *err);
/* The number of the file being read, from 0, and the name of a file for messages. */
size_t ease__input_at(const ease__input *in);
size_t ease__input_files(const ease__input *in);
const char *ease__input_file_name(const ease__input *in, size_t file);

/* Fills `to`; *got is less than `bytes` only at the end. Fails like
 * ease__input_open, and with EASE_E_PARSE if a stream is damaged or truncated; `to`
 * then holds the bytes before. */
ease_status ease__input_read(ease__input *in, void *to, size_t bytes, size_t *got,
                             ease_error *err);
/* Shows the next `bytes` bytes, or those up to the end, without consuming them;
 * valid until the next call. */
ease_status ease__input_peek(ease__input *in, size_t bytes, const char **data,
                             size_t *got, ease_error *err);
/* Shows the rest of the file, within a memory_limit as in ease_read_options. Fails
 * like ease__input_peek, and with EASE_E_MEMORY_LIMIT. */
ease_status ease__input_peek_all(ease__input *in, size_t limit, const char **data,
                                 size_t *got, ease_error *err);
/* Consumes bytes that were peeked at. */
void ease__input_skip(ease__input *in, size_t bytes);

const char *ease__input_name(const ease__input *in); /* for messages */
/* The compression and the charset of the current file, in words before its format: "",
 * "gzip, ", "UTF-16 ", "zip, Latin-1 ". */
const char *ease__input_coding(const ease__input *in);
/* The bytes of memory of the input, including those peeked at. */
size_t ease__input_held(const ease__input *in);
/* The share of the input that has been read, 0 .. 1; -1 for a pipe. */
double ease__input_fraction(const ease__input *in);
/* Sets the charset of the text, "utf-8", "utf-16" or "latin-1", before anything is
 * read. By default texts with the mark of UTF-16 are converted, and others are read as
 * they are. Fails with EASE_E_ARG. */
ease_status ease__input_set_charset(ease__input *in, const char *name, ease_error *err);
/* The descriptor of a plain regular file and its size, for pread; -1 for others. */
int ease__input_file(const ease__input *in, size_t *bytes);

#endif
