/* The container format of model and Gram files: a page of header, then named sections,
 * each at a page boundary. Small sections are read and verified when the file is
 * opened. A large section has a checksum for each block of 1 MiB, which is verified
 * when the block is streamed, or before the first use of a mapped block. Little-endian
 * machines only. docs/file-formats.md describes the format byte by byte. */
#ifndef EASE_CORE_CONTAINER_H
#define EASE_CORE_CONTAINER_H

#include <stdatomic.h>
#include <time.h>

#include "core/output.h"

enum { EASE__PAGE = 4096, EASE__BLOCK = 1 << 20, EASE__SECTIONS = 80 };

/* Flags of a section. */
enum {
    EASE__LARGE = 1,    /* the section NAME# has a hash for each block */
    EASE__CRITICAL = 2, /* readers that do not know the section refuse the file */
    EASE__ALL_FLAGS = EASE__LARGE | EASE__CRITICAL
};

typedef struct ease__disk_section {
    char name[16]; /* zero-filled */
    uint64_t offset, bytes;
    uint64_t hash; /* XXH3 of a small section; 0 for a large one */
    uint64_t flags;
} ease__disk_section;

static inline bool ease__is_large(const ease__disk_section *s)
{
    return s->flags & EASE__LARGE;
}

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
/* The same for a file in memory, which has no path. */
ease_status ease__writer_open_memory(const char *kind, uint32_t version,
                                     ease__container_writer **out, ease_error *err);
/* Adds a small section. A name has up to 14 characters. */
ease_status ease__writer_add(ease__container_writer *w, const char *name,
                             const void *data, size_t bytes, ease_error *err);
/* Adds a large section: one call to begin, then any number of calls to put. The next
 * other call ends it. */
ease_status ease__writer_begin(ease__container_writer *w, const char *name,
                               ease_error *err);
ease_status ease__writer_put(ease__container_writer *w, const void *data, size_t bytes,
                             ease_error *err);
/* Adds a large section of a known size, which several threads may write: each puts
 * whole blocks, at offsets that are multiples of EASE__BLOCK; only the last block
 * may be shorter. All bytes must be put, in any order, before the next other call. */
ease_status ease__writer_begin_blocks(ease__container_writer *w, const char *name,
                                      size_t bytes, ease_error *err);
ease_status ease__writer_put_blocks(ease__container_writer *w, const void *data,
                                    size_t bytes, size_t offset, ease_error *err);
/* Lets other processes write blocks of the section that ease__writer_begin_blocks has
 * begun: gives the file a temporary name, which is borrowed, and tells the offset of
 * the section in it. Blocks that they have written and synced are reported by their
 * hashes. */
ease_status ease__writer_share(ease__container_writer *w, const char **temporary,
                               size_t *section, ease_error *err);
void ease__writer_took_blocks(ease__container_writer *w, const uint64_t *hashes,
                              size_t first, size_t count);
/* The hash of a block. */
uint64_t ease__block_hash(const void *data, size_t bytes);
/* Gives the complete file its name. Frees the writer in any case. */
ease_status ease__writer_commit(ease__container_writer *w, ease_error *err);
/* Completes a file in memory. *fd is its descriptor, which the caller closes. Frees the
 * writer in any case. */
ease_status ease__writer_commit_memory(ease__container_writer *w, int *fd,
                                       ease_error *err);
void ease__writer_discard(ease__container_writer *w);

/* ---- reading ------------------------------------------------------------------ */

/* A large section of a mapped file. */
typedef struct ease__mapped {
    size_t offset, bytes;
    const char *name;
    const uint64_t *hashes;     /* one for each block */
    _Atomic uint64_t *verified; /* a bit for each block; NULL: no verification */
} ease__mapped;

/* The state of a mapped file while it is in use. */
typedef struct ease__watch {
    atomic_bool lost; /* a page of the file could not be read */
    uint32_t count;
    ease__mapped section[EASE__SECTIONS];
} ease__watch;

typedef struct ease__container {
    int fd;
    const unsigned char *map; /* the whole file, read-only; small sections are copies */
    size_t bytes;
    struct timespec written; /* the file's modification time when it was opened */
    char *path;
    ease__disk_header header;
    ease__watch *watch; /* NULL: no mapped section is in use */
} ease__container;

#define EASE__CONTAINER_NONE ((ease__container){.fd = -1})

/* Opens a file and reads its small sections. kind NULL: any. Fails with EASE_E_IO,
 * EASE_E_FORMAT, EASE_E_VERSION, EASE_E_NOMEM. */
ease_status ease__container_open(const char *path, const char *kind, uint32_t newest,
                                 ease__container *out, ease_error *err);
/* The same for an open file, whose descriptor is taken over even on failure; `name` is
 * its name in messages. */
ease_status ease__container_open_fd(int fd, const char *name, const char *kind,
                                    uint32_t newest, ease__container *out,
                                    ease_error *err);
void ease__container_close(ease__container *c);

/* A section that a reader knows. */
typedef struct ease__section_rule {
    const char *name;
    bool may_be_large;
} ease__section_rule;

/* Compares the sections of a file with those that its reader knows (`known` ends with a
 * NULL name). Unknown sections are ignored. Fails with EASE_E_VERSION if one of them is
 * critical, or if a known one has flags from a newer version; with EASE_E_FORMAT if a
 * section is large that may not be. To be called before any section is used: sections
 * that may not be large have been copied and verified then, and no longer change. */
ease_status ease__container_check(const ease__container *c,
                                  const ease__section_rule *known, ease_error *err);

/* Fails with EASE_E_FORMAT if the section is large: for a section that must be read
 * before the reader knows which others there may be. */
ease_status ease__container_check_small(const ease__container *c, const char *name,
                                        ease_error *err);

/* Makes the large sections among `known` readable through ease__container_section;
 * without it they can only be streamed. Sections of up to 16 MiB in all, and with
 * o->in_memory all sections, are read and verified now; larger ones are mapped, and
 * ease__container_need must be called before any of their bytes is used. From then on
 * the structure must not be moved in memory. */
ease_status ease__container_attach(ease__container *c, const ease__section_rule *known,
                                   const ease_open_options *o, ease_error *err);
/* Replaces a mapped section by a verified copy in memory (not verified under
 * EASE_VERIFY_NEVER): for indices, which must not change once they have been
 * range-checked. */
ease_status ease__container_load(ease__container *c, const char *name, ease_error *err);

/* A section's bytes in memory, borrowed; NULL if there is no section of this name. */
const void *ease__container_section(const ease__container *c, const char *name,
                                    size_t *bytes);

/* A thread's share of the blocks to verify: every count-th one, from `index` on. */
typedef struct ease__share {
    int index, count;
} ease__share;

#define EASE__WHOLE ((ease__share){0, 1})

/* Must be called before bytes of a large section are used: verifies the blocks that
 * they lie in, except those that are verified already. Does nothing if the file is not
 * mapped. Fails with EASE_E_FORMAT if a block is damaged or the file was modified since
 * it was opened, EASE_E_IO if it cannot be read. */
ease_status ease__container_need(const ease__container *c, const void *from,
                                 size_t bytes, ease__share share, ease_error *err);
/* The same for all large sections, by several threads (0: one for each processor).
 * `hooks` may be NULL; fails with EASE_E_CANCELLED if they say so. */
ease_status ease__container_need_all(const ease__container *c, int threads,
                                     const ease_hooks *hooks, ease_error *err);

/* Must be called before results computed from a mapped file are returned. Fails with
 * EASE_E_FORMAT if the file was modified since it was opened, EASE_E_IO if a part of it
 * could not be read. Renaming or removing the file does not matter. */
ease_status ease__container_unchanged(const ease__container *c, ease_error *err);

/* The caller of the library reads the mapping directly from now on: ease_handle_fault()
 * no longer handles faults in it. */
void ease__container_lend(const ease__container *c);

/* Asks the kernel to start reading the blocks that ease__container_need would verify
 * for these bytes. To be called for all ranges before the first of them is needed. */
void ease__container_fetch(const ease__container *c, const void *from, size_t bytes);

/* Asks the kernel to start reading a range of the mapped file, in the order of the
 * file. Does nothing if the file is not mapped. */
void ease__container_expect(const ease__container *c, const void *from, size_t bytes);

/* A large section that is read in order, without mapping it; each block is verified
 * as it is read. */
typedef struct ease__section_stream {
    const ease__container *container;
    const ease__disk_section *section;
    const uint64_t *hashes;
    size_t position;
    void *state; /* XXH3 of the current block */
} ease__section_stream;

ease_status ease__stream_open(const ease__container *c, const char *name,
                              ease__section_stream *out, ease_error *err);
/* Reads exactly `bytes` bytes. Fails with EASE_E_FORMAT past the end of the section,
 * or if a checksum is wrong. */
ease_status ease__stream_read(ease__section_stream *s, void *to, size_t bytes,
                              ease_error *err);
/* Reads and verifies whole blocks from `offset` on, a multiple of EASE__BLOCK; only the
 * last block of the section may be shorter. The stream stays where it is. */
ease_status ease__stream_read_blocks(const ease__section_stream *s, void *to,
                                     size_t bytes, size_t offset, ease_error *err);
void ease__stream_close(ease__section_stream *s);

/* ---- shared by container.c and watch.c ------------------------------------------- */

/* The rule for a section; NULL: the reader does not know it. */
const ease__section_rule *ease__rule_of(const ease__section_rule *known,
                                        const char *name);

static inline size_t ease__blocks_of(size_t bytes)
{
    return bytes / EASE__BLOCK + (bytes % EASE__BLOCK != 0);
}

/* Reads exactly `bytes` bytes of the file. */
ease_status ease__container_read(const ease__container *c, void *to, size_t bytes,
                                 size_t offset, ease_error *err);
/* Replaces whole pages of the mapping by a copy of the file's contents in memory. */
ease_status ease__container_copy(const ease__container *c, size_t offset, size_t bytes,
                                 ease_error *err);
void ease__watch_free(ease__container *c);
/* Fails with EASE_E_FORMAT and a message that names the damaged block. */
ease_status ease__wrong_checksum(const ease__container *c, const char *section,
                                 size_t offset, size_t block, size_t blocks,
                                 ease_error *err);

#endif
