/* Output files that appear complete or not at all. */
#ifndef EASE_CORE_OUTPUT_H
#define EASE_CORE_OUTPUT_H

#include "core/core.h"

typedef struct ease__output {
    int fd;
    char *name;              /* the path as given, for messages */
    char *path;              /* the final path; NULL: nothing to rename */
    char *temporary;         /* the temporary path; NULL: nameless until commit */
    bool owned;              /* fd is ours to close */
    const ease_hooks *hooks; /* asked when a signal interrupts a write; may be NULL */
} ease__output;

#define EASE__OUTPUT_NONE ((ease__output){.fd = -1})

/* Opens a temporary file for writing in the directory of `path`, or if `path` is a
 * symbolic link in that of the file that it points to. "-" is standard output; a device
 * or pipe is written directly. `expect` bytes (0: unknown) are checked against the free
 * space. Temporary files that killed processes have left in the directory are
 * removed. */
ease_status ease__output_open(const char *path, size_t expect, ease__output *out,
                              ease_error *err);
ease_status ease__output_write(ease__output *out, const void *data, size_t bytes,
                               ease_error *err);
ease_status ease__output_write_at(ease__output *out, const void *data, size_t bytes,
                                  size_t offset, ease_error *err);
/* Starts writing these bytes to the disk, so that the final sync has less to do. */
void ease__output_flush(ease__output *out, size_t bytes, size_t offset);
/* Gives the file its temporary name, out->temporary, before the commit, so that other
 * processes can open it. Fails for what is no file. */
ease_status ease__output_name(ease__output *out, ease_error *err);
/* Syncs the file and gives it its name. A file that it replaces passes on its owner,
 * group and permissions, as far as the process is permitted. The output is closed, also
 * on failure. */
ease_status ease__output_commit(ease__output *out, ease_error *err);
/* Closes the output and removes what was written. Does nothing after commit, and on
 * EASE__OUTPUT_NONE. */
void ease__output_discard(ease__output *out);

#endif
