/* The one form of our own files: a page of header, then named sections, each at a
 * page boundary. Small sections are checked when the file is opened; a large one
 * carries a checksum for each MiB and is checked when it is streamed. Little-endian
 * machines only. docs/file-formats.md describes it byte by byte. */
#ifndef EASE_CONTAINER_H
#define EASE_CONTAINER_H

#include "core/output.h"

enum { EASE__PAGE = 4096, EASE__BLOCK = 1 << 20, EASE__SECTIONS = 32 };

typedef struct ease__disk_section {
    char name[16]; /* zero-filled */
    uint64_t offset, bytes;
    uint64_t hash;  /* XXH3 of a small section; 0 for a large one */
    uint64_t large; /* 1: the section NAME# holds a hash for each block */
} ease__disk_section;

typedef struct ease__disk_header {
    char magic[8];
    char kind[8]; /* "model" or "gram", zero-filled */
    uint32_t version, byte_order;
    uint64_t file_bytes;
    uint32_t sections, block_bytes;
    uint64_t hash; /* XXH3 of the header page, this field zero */
    ease__disk_section section[EASE__SECTIONS];
    unsigned char
        reserved[EASE__PAGE - 48 - EASE__SECTIONS * sizeof(ease__disk_section)];
} ease__disk_header;

/* ---- writing ------------------------------------------------------------------ */

typedef struct ease__container_writer ease__container_writer;

ease_status ease__writer_open(const char *path, const char *kind, uint32_t version,
                              size_t expect, ease__container_writer **out,
                              ease_error *err);
/* A small section, at once. Up to 14 characters of name. */
ease_status ease__writer_add(ease__container_writer *w, const char *name,
                             const void *data, size_t bytes, ease_error *err);
/* A large one: begin, then put any number of times; ended by what comes next. */
ease_status ease__writer_begin(ease__container_writer *w, const char *name,
                               ease_error *err);
ease_status ease__writer_put(ease__container_writer *w, const void *data, size_t bytes,
                             ease_error *err);
/* The same for several threads: begun with its size, then each of them puts whole blocks
 * of it, from an offset that is a multiple of EASE__BLOCK on; the last block may be less.
 * All of it has to be put, in any order, before anything else is done. */
ease_status ease__writer_begin_blocks(ease__container_writer *w, const char *name,
                                      size_t bytes, ease_error *err);
ease_status ease__writer_put_blocks(ease__container_writer *w, const void *data,
                                    size_t bytes, size_t offset, ease_error *err);
/* Makes the file appear. Frees the writer either way. */
ease_status ease__writer_commit(ease__container_writer *w, ease_error *err);
void ease__writer_discard(ease__container_writer *w);

/* ---- reading ------------------------------------------------------------------ */

typedef struct ease__container {
    int fd;
    const unsigned char *map; /* the whole file, read-only */
    size_t bytes;
    char *path;
    ease__disk_header header;
} ease__container;

#define EASE__CONTAINER_NONE ((ease__container){.fd = -1})

/* kind NULL: any. Fails with EASE_E_IO, EASE_E_FORMAT, EASE_E_VERSION. */
ease_status ease__container_open(const char *path, const char *kind, uint32_t newest,
                                 ease__container *out, ease_error *err);
void ease__container_close(ease__container *c);

/* Mapped; NULL if there is none of this name. */
const void *ease__container_section(const ease__container *c, const char *name,
                                    size_t *bytes);

/* A stretch of the mapped file will be read: the kernel begins to fetch it, in the order
 * of the file. Nothing happens if the file is not open. */
void ease__container_expect(const ease__container *c, const void *from, size_t bytes);

/* Reads a large section in order, without mapping it, checking as it goes. */
typedef struct ease__section_stream {
    const ease__container *container;
    const ease__disk_section *section;
    const uint64_t *hashes;
    size_t position;
    void *state; /* XXH3 of the block begun */
} ease__section_stream;

ease_status ease__stream_open(const ease__container *c, const char *name,
                              ease__section_stream *out, ease_error *err);
/* Exactly `bytes`, or EASE_E_FORMAT past the end or on a wrong checksum. */
ease_status ease__stream_read(ease__section_stream *s, void *to, size_t bytes,
                              ease_error *err);
void ease__stream_close(ease__section_stream *s);

#endif
