/* Zip archives from untrusted sources: stored and deflated members, zip64. */
#ifndef EASE_INPUT_ZIP_H
#define EASE_INPUT_ZIP_H

#include <zlib.h>

#include "input/input.h"

typedef struct ease__zip {
    const char *name; /* of the input, for messages */
    int fd;           /* -1: the bytes are in memory */
    unsigned char *memory;
    size_t bytes;
    size_t directory, directory_end; /* the central directory */
} ease__zip;

#define EASE__ZIP_NONE ((ease__zip){.fd = -1})

/* Reads the directory of an archive. An input that is not seekable is read into memory
 * first, within `limit`, a memory_limit as in ease_read_options. The input must outlive
 * the archive. */
ease_status ease__zip_open(ease__input *in, size_t limit, ease__zip *out,
                           ease_error *err);
void ease__zip_close(ease__zip *z);

/* The name of the entry at *at (0: the first), to be freed by the caller; NULL: there
 * are no more. *at moves on to the next entry. */
ease_status ease__zip_next(const ease__zip *z, size_t *at, char **name,
                           ease_error *err);

typedef struct ease__member {
    const ease__zip *zip;
    const char *name; /* as requested, for messages */
    size_t at, end;   /* of the compressed bytes */
    size_t bytes;     /* decompressed size that the archive declares */
    uLong crc;        /* checksum that the archive declares */
    bool deflated;
    z_stream inflater;
    unsigned char *raw;
} ease__member;

/* Opens a member; *found is false if there is none of this name. The structure must
 * not be moved in memory, since zlib points into it. Close it in any case. */
ease_status ease__member_open(const ease__zip *z, const char *name, ease__member *m,
                              bool *found, ease_error *err);
/* Reads exactly `bytes` bytes. Fails with EASE_E_PARSE. */
ease_status ease__member_read(ease__member *m, void *to, size_t bytes, ease_error *err);
void ease__member_close(ease__member *m);

#endif
