/* The one form of our own files: a page of header, then named sections, each at a
 * page boundary. Small sections are read and checked when the file is opened; a large
 * one carries a checksum for each MiB, which is checked when it is streamed, or the
 * first time it is needed. Little-endian machines only. docs/file-formats.md describes
 * it byte by byte. */
#ifndef EASE_CONTAINER_H
#define EASE_CONTAINER_H

#include <stdatomic.h>
#include <time.h>

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

/* A large section of a file that is mapped. */
typedef struct ease__mapped {
    size_t offset, bytes;
    const char *name;
    const uint64_t *hashes;
    _Atomic uint64_t *verified; /* a bit for each block; NULL: none is to be verified */
} ease__mapped;

/* What is found out about a mapped file while it is in use. */
typedef struct ease__watch {
    atomic_bool lost; /* pages of it could not be read */
    uint32_t count;
    ease__mapped section[EASE__SECTIONS];
} ease__watch;

typedef struct ease__container {
    int fd;
    const unsigned char *map; /* the whole file, read-only; small sections are copies */
    size_t bytes;
    struct timespec written; /* when it was, as it was opened */
    char *path;
    ease__disk_header header;
    ease__watch *watch; /* NULL: nothing of the file is used but what was read */
} ease__container;

#define EASE__CONTAINER_NONE ((ease__container){.fd = -1})

/* Reads the small sections. kind NULL: any. Fails with EASE_E_IO, EASE_E_FORMAT,
 * EASE_E_VERSION, EASE_E_NOMEM. */
ease_status ease__container_open(const char *path, const char *kind, uint32_t newest,
                                 ease__container *out, ease_error *err);
void ease__container_close(ease__container *c);

/* Only after that may large sections be read other than as streams, and the container
 * has to stay where it is. Where they are small all together they are read and verified
 * now; else they are mapped, and what is used of them has to be needed before. */
ease_status ease__container_attach(ease__container *c, ease_verify verify,
                                   ease_error *err);
/* A large section that would be dangerous if it changed, such as one of indices: read
 * and verified now. */
ease_status ease__container_load(ease__container *c, const char *name, ease_error *err);

/* Mapped; NULL if there is none of this name. */
const void *ease__container_section(const ease__container *c, const char *name,
                                    size_t *bytes);

/* Blocks may be divided among threads: this one verifies every count-th of them. */
typedef struct ease__share {
    int index, count;
} ease__share;

#define EASE__WHOLE ((ease__share){0, 1})

/* Before bytes of a large section are used: verifies those of their blocks that nobody
 * has verified yet. EASE_E_FORMAT where one is damaged, or the file was changed since it
 * was opened. Nothing is to be done, and EASE_OK, where the file is not mapped. */
ease_status ease__container_need(const ease__container *c, const void *from,
                                 size_t bytes, ease__share share, ease_error *err);
/* The same for everything, by several threads; 0: all. */
ease_status ease__container_need_all(const ease__container *c, int threads,
                                     ease_error *err);

/* Before results are given that were made from a mapped file: is it still what was
 * opened? Fails with EASE_E_FORMAT if it was written to, EASE_E_IO if it could not be
 * read. Renaming or removing it does not matter. */
ease_status ease__container_unchanged(const ease__container *c, ease_error *err);

/* From now on a fault in the mapped file is not the library's: somebody else reads it. */
void ease__container_lend(const ease__container *c);

/* Before several calls of ease__container_need: the kernel begins to fetch the blocks
 * that this one will verify. */
void ease__container_fetch(const ease__container *c, const void *from, size_t bytes);

/* A stretch of the mapped file will be read: the kernel begins to fetch it, in the order
 * of the file. Nothing happens if the file is not mapped. */
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

/* ---- for those who implement this -------------------------------------------------- */

static inline size_t ease__blocks_of(size_t bytes)
{
    return bytes / EASE__BLOCK + (bytes % EASE__BLOCK != 0);
}

/* Exactly `bytes` of the file. */
ease_status ease__container_read(const ease__container *c, void *to, size_t bytes,
                                 size_t offset, ease_error *err);
/* The same into memory that takes the place of the mapped file there, whole pages. */
ease_status ease__container_copy(const ease__container *c, size_t offset, size_t bytes,
                                 ease_error *err);
void ease__watch_free(ease__container *c);
/* The failure of a block with another checksum than it should have. */
ease_status ease__wrong_checksum(const ease__container *c, const char *section,
                                 size_t offset, size_t block, size_t blocks,
                                 ease_error *err);

#endif
