#include "core/container.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

_Static_assert(sizeof(ease__disk_header) == EASE__PAGE, "the header is one page");

/* The magic bytes reveal a transfer that changed line ends or cleared the top bit. */
static const char magic[8] = {'\x89', 'E', 'A', 'S', 'E', '\r', '\n', '\x1a'};
static const uint32_t byte_order = 0x01020304;

static uint64_t header_hash(ease__disk_header h)
{
    h.hash = 0;
    return XXH3_64bits(&h, sizeof(h));
}

/* ---- writing ------------------------------------------------------------------ */

struct ease__container_writer {
    ease__output out;
    ease__disk_header header;
    size_t position;
    bool in_large, in_blocks;
    XXH3_state_t *state; /* XXH3 of the current block */
    uint64_t *hashes;    /* of the complete blocks */
    size_t hash_count, hash_capacity;
};

/* A writer without an output; NULL: no memory. */
static ease__container_writer *writer_new(const char *kind, uint32_t version)
{
    ease__container_writer *w = ease__alloc_zero(1, sizeof(*w));

    if (!w)
        return NULL;
    w->out = EASE__OUTPUT_NONE;
    memcpy(w->header.magic, magic, sizeof(magic));
    snprintf(w->header.kind, sizeof(w->header.kind), "%s", kind);
    w->header.version = version;
    w->header.byte_order = byte_order;
    w->header.block_bytes = EASE__BLOCK;
    w->position = EASE__PAGE;
    w->state = XXH3_createState();
    if (w->state)
        return w;
    ease__writer_discard(w);
    return NULL;
}

ease_status ease__writer_open_memory(const char *kind, uint32_t version,
                                     ease__container_writer **out, ease_error *err)
{
    ease__container_writer *w = writer_new(kind, version);
    ease_status status = EASE_OK;

    if (!w)
        return ease__fail(err, EASE_E_NOMEM, "a file in memory");
    w->out.owned = true;
    w->out.name = ease__copy_string("a file in memory");
    w->out.fd = memfd_create("ease", MFD_CLOEXEC);
    if (!w->out.name)
        status = ease__fail(err, EASE_E_NOMEM, "a file in memory");
    else if (w->out.fd < 0)
        status = ease__fail_errno(err, "cannot make a file in memory");
    if (status) {
        ease__writer_discard(w);
        return status;
    }
    *out = w;
    return EASE_OK;
}

ease_status ease__writer_open(const char *path, const char *kind, uint32_t version,
                              size_t expect, ease__container_writer **out,
                              ease_error *err)
{
    ease__container_writer *w = writer_new(kind, version);
    ease_status status;

    if (!w)
        return ease__fail(err, EASE_E_NOMEM, "writing %s", path);
    status = ease__output_open(path, expect, &w->out, err);
    if (!status && lseek(w->out.fd, 0, SEEK_CUR) < 0)
        status = ease__fail(err, EASE_E_IO,
                            "%s: a pipe, where a file is needed: its header is written "
                            "last",
                            path);
    if (status) {
        ease__writer_discard(w);
        return status;
    }
    *out = w;
    return EASE_OK;
}

static ease__disk_section *new_section(ease__container_writer *w, const char *name)
{
    ease__disk_section *s;

    assert(w->header.sections < EASE__SECTIONS);
    w->position = (w->position + EASE__PAGE - 1) / EASE__PAGE * EASE__PAGE;
    s = &w->header.section[w->header.sections++];
    snprintf(s->name, sizeof(s->name), "%s", name);
    s->offset = w->position;
    return s;
}

static ease_status append(ease__container_writer *w, const void *data, size_t bytes,
                          ease_error *err)
{
    ease_status status = ease__output_write_at(&w->out, data, bytes, w->position, err);

    w->position += bytes;
    return status;
}

static ease_status reserve_hashes(ease__container_writer *w, size_t capacity,
                                  ease_error *err)
{
    uint64_t *grown = ease__realloc_array(w->hashes, capacity, sizeof(*grown));

    if (!grown)
        return ease__fail(err, EASE_E_NOMEM, "checksums");
    w->hashes = grown;
    w->hash_capacity = capacity;
    return EASE_OK;
}

static ease_status keep_block_hash(ease__container_writer *w, ease_error *err)
{
    if (w->hash_count == w->hash_capacity) {
        ease_status status = reserve_hashes(
            w, w->hash_capacity ? 2 * w->hash_capacity : 64, err);

        if (status)
            return status;
    }
    w->hashes[w->hash_count++] = XXH3_64bits_digest(w->state);
    XXH3_64bits_reset(w->state);
    return EASE_OK;
}

/* Writes the block hashes of the large section that is open, if one is. */
static ease_status end_large(ease__container_writer *w, ease_error *err)
{
    ease__disk_section *large;
    char name[sizeof(large->name)];
    ease_status status = EASE_OK;

    if (!w->in_large)
        return EASE_OK;
    large = &w->header.section[w->header.sections - 1];
    if (!w->in_blocks && large->bytes % EASE__BLOCK)
        status = keep_block_hash(w, err);
    w->in_large = w->in_blocks = false;
    if (status)
        return status;
    snprintf(name, sizeof(name), "%.14s#", large->name);
    return ease__writer_add(w, name, w->hashes, w->hash_count * sizeof(*w->hashes),
                            err);
}

ease_status ease__writer_add(ease__container_writer *w, const char *name,
                             const void *data, size_t bytes, ease_error *err)
{
    ease__disk_section *s;
    ease_status status = end_large(w, err);

    if (status)
        return status;
    s = new_section(w, name);
    s->bytes = bytes;
    s->hash = XXH3_64bits(data, bytes);
    return append(w, data, bytes, err);
}

ease_status ease__writer_begin(ease__container_writer *w, const char *name,
                               ease_error *err)
{
    ease__disk_section *s;
    ease_status status = end_large(w, err);

    if (status)
        return status;
    s = new_section(w, name);
    s->flags = EASE__LARGE;
    w->in_large = true;
    w->hash_count = 0;
    XXH3_64bits_reset(w->state);
    return EASE_OK;
}

ease_status ease__writer_put(ease__container_writer *w, const void *data, size_t bytes,
                             ease_error *err)
{
    ease__disk_section *s = &w->header.section[w->header.sections - 1];
    const char *at = data;

    while (bytes) {
        size_t part = EASE__BLOCK - (size_t)(s->bytes % EASE__BLOCK);
        ease_status status;

        if (part > bytes)
            part = bytes;
        XXH3_64bits_update(w->state, at, part);
        status = append(w, at, part, err);
        s->bytes += part;
        if (!status && s->bytes % EASE__BLOCK == 0)
            status = keep_block_hash(w, err);
        if (status)
            return status;
        at += part;
        bytes -= part;
    }
    return EASE_OK;
}

ease_status ease__writer_begin_blocks(ease__container_writer *w, const char *name,
                                      size_t bytes, ease_error *err)
{
    ease_status status = ease__writer_begin(w, name, err);

    if (!status && ease__blocks_of(bytes) > w->hash_capacity)
        status = reserve_hashes(w, ease__blocks_of(bytes), err);
    if (status)
        return status;
    w->in_blocks = true;
    w->hash_count = ease__blocks_of(bytes);
    w->header.section[w->header.sections - 1].bytes = bytes;
    w->position += bytes;
    return EASE_OK;
}

ease_status ease__writer_put_blocks(ease__container_writer *w, const void *data,
                                    size_t bytes, size_t offset, ease_error *err)
{
    const ease__disk_section *s = &w->header.section[w->header.sections - 1];
    size_t at = (size_t)s->offset + offset;
    ease_status status = ease__output_write_at(&w->out, data, bytes, at, err);

    assert(w->in_blocks && offset % EASE__BLOCK == 0 && offset + bytes <= s->bytes);
    if (status)
        return status;
    ease__output_flush(&w->out, bytes, at);
    for (size_t from = 0; from < bytes; from += EASE__BLOCK)
        w->hashes[(offset + from) / EASE__BLOCK] = XXH3_64bits(
            (const char *)data + from,
            bytes - from < EASE__BLOCK ? bytes - from : EASE__BLOCK);
    return EASE_OK;
}

ease_status ease__writer_share(ease__container_writer *w, const char **temporary,
                               size_t *section, ease_error *err)
{
    ease_status status = ease__output_name(&w->out, err);

    if (status)
        return status;
    *temporary = w->out.temporary;
    *section = (size_t)w->header.section[w->header.sections - 1].offset;
    return EASE_OK;
}

void ease__writer_took_blocks(ease__container_writer *w, const uint64_t *hashes,
                              size_t first, size_t count)
{
    assert(w->in_blocks && first + count <= w->hash_count);
    memcpy(w->hashes + first, hashes, count * sizeof(*hashes));
}

uint64_t ease__block_hash(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

/* Writes what is left: the hashes of the last section, and the header. */
static ease_status complete(ease__container_writer *w, bool sized, ease_error *err)
{
    ease_status status = end_large(w, err);

    if (!status) {
        w->header.file_bytes = w->position;
        w->header.hash = header_hash(w->header);
        status = ease__output_write_at(&w->out, &w->header, sizeof(w->header), 0, err);
    }
    /* An empty section at the end may begin past what was written. */
    if (!status && sized && ftruncate(w->out.fd, (off_t)w->position) != 0)
        status = ease__fail_errno(err, "%s: cannot write", w->out.name);
    return status;
}

ease_status ease__writer_commit_memory(ease__container_writer *w, int *fd,
                                       ease_error *err)
{
    ease_status status = complete(w, true, err);

    if (!status) {
        *fd = w->out.fd;
        w->out.owned = false;
    }
    ease__writer_discard(w);
    return status;
}

ease_status ease__writer_commit(ease__container_writer *w, ease_error *err)
{
    ease_status status = complete(w, w->out.path != NULL, err);

    if (!status)
        status = ease__output_commit(&w->out, err);
    ease__writer_discard(w);
    return status;
}

void ease__writer_discard(ease__container_writer *w)
{
    if (!w)
        return;
    ease__output_discard(&w->out);
    XXH3_freeState(w->state);
    ease__free(w->hashes);
    ease__free(w);
}

/* ---- reading ------------------------------------------------------------------ */

static const ease__disk_section *find_section(const ease__disk_header *h,
                                              const char *name)
{
    for (uint32_t i = 0; i < h->sections; i++)
        if (strncmp(h->section[i].name, name, sizeof(h->section[i].name)) == 0)
            return &h->section[i];
    return NULL;
}

static ease_status damaged(const char *path, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_FORMAT, "%s: damaged: %s", path, what);
}

ease_status ease__wrong_checksum(const ease__container *c, const char *section,
                                 size_t offset, size_t block, size_t blocks,
                                 ease_error *err)
{
    return ease__fail_at(
        err, EASE_E_FORMAT, (int64_t)(offset + block * EASE__BLOCK),
        "%s: damaged: wrong checksum in section '%s', block %zu of %zu", c->path,
        section, block + 1, blocks);
}

/* The section with the block hashes of a large section; NULL if it is missing or of
 * the wrong size. */
static const ease__disk_section *hashes_of(const ease__disk_header *h,
                                           const ease__disk_section *large)
{
    char name[sizeof(large->name) + 1];
    const ease__disk_section *found;

    snprintf(name, sizeof(name), "%.14s#", large->name);
    found = find_section(h, name);
    if (!found || ease__is_large(found) || found->offset % EASE__PAGE ||
        found->bytes != ease__blocks_of(large->bytes) * sizeof(uint64_t))
        return NULL;
    return found;
}

ease_status ease__container_read(const ease__container *c, void *to, size_t bytes,
                                 size_t offset, ease_error *err)
{
    char *at = to;

    while (bytes) {
        ssize_t got = pread(c->fd, at, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ease__fail_errno(err, "%s: cannot read", c->path);
        if (got == 0)
            return damaged(c->path, "it became shorter", err);
        at += got;
        offset += (size_t)got;
        bytes -= (size_t)got;
    }
    return EASE_OK;
}

ease_status ease__container_copy(const ease__container *c, size_t offset, size_t bytes,
                                 ease_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from = offset / page * page;
    size_t to = offset + bytes + (page - (offset + bytes) % page) % page, end;
    void *at;
    ease_status status;

    if (bytes == 0)
        return EASE_OK;
    end = to < c->bytes ? to : c->bytes;
    at = mmap((void *)(uintptr_t)(c->map + from), to - from, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at == MAP_FAILED)
        return ease__fail(err, EASE_E_NOMEM, "%s: %zu bytes of it", c->path, bytes);
    (void)madvise(at, to - from, MADV_HUGEPAGE); /* rows are read here and there */
    status = ease__container_read(c, at, end - from, from, err);
    (void)mprotect(at, to - from, PROT_READ); /* a write to it is a bug of ours */
    return status;
}

/* A file may come from anywhere, and messages show these names: no control
 * characters. */
static bool is_printable(const char *name, size_t size)
{
    size_t length = strnlen(name, size);

    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return length > 0;
}

/* No other section has the name. */
static bool section_is_named_right(const ease__disk_header *h,
                                   const ease__disk_section *s)
{
    return memchr(s->name, '\0', sizeof(s->name)) &&
           is_printable(s->name, sizeof(s->name)) && find_section(h, s->name) == s;
}

/* Each section lies within the file, and no two overlap. */
static bool section_lies_right(const ease__container *c, uint32_t i)
{
    const ease__disk_header *h = &c->header;
    const ease__disk_section *s = &h->section[i];

    if (s->offset % EASE__PAGE || s->offset < EASE__PAGE || s->offset > c->bytes ||
        s->bytes > c->bytes - s->offset)
        return false;
    for (uint32_t j = 0; j < i; j++)
        if (s->offset < h->section[j].offset + h->section[j].bytes &&
            h->section[j].offset < s->offset + s->bytes)
            return false;
    return true;
}

static ease_status check_layout(const ease__container *c, ease_error *err)
{
    const ease__disk_header *h = &c->header;

    if (h->sections > EASE__SECTIONS || h->block_bytes != EASE__BLOCK)
        return damaged(c->path, "its table of sections", err);
    for (uint32_t i = 0; i < h->sections; i++)
        if (!section_is_named_right(h, &h->section[i]))
            return damaged(c->path, "the name of a section", err);
    for (uint32_t i = 0; i < h->sections; i++)
        if (!section_lies_right(c, i))
            return damaged(c->path, "a section lies outside of the file", err);
    for (uint32_t i = 0; i < h->sections; i++)
        if (ease__is_large(&h->section[i]) && !hashes_of(h, &h->section[i]))
            return damaged(c->path, "checksums are missing", err);
    return EASE_OK;
}

/* Copies small sections into memory: whatever happens to the file later, ids and
 * offsets stay as they were when they were checked. */
static ease_status read_small_sections(const ease__container *c, ease_error *err)
{
    const ease__disk_header *h = &c->header;
    ease_status status = EASE_OK;

    for (uint32_t i = 0; !status && i < h->sections; i++)
        if (!ease__is_large(&h->section[i]))
            status = ease__container_copy(c, h->section[i].offset, h->section[i].bytes,
                                          err);
    for (uint32_t i = 0; !status && i < h->sections; i++) {
        const ease__disk_section *s = &h->section[i];

        if (!ease__is_large(s) && XXH3_64bits(c->map + s->offset, s->bytes) != s->hash)
            status = ease__fail(err, EASE_E_FORMAT,
                                "%s: damaged: wrong checksum of section '%s'", c->path,
                                s->name);
    }
    return status;
}

static ease_status check_header(const ease__container *c, const char *kind,
                                uint32_t newest, ease_error *err)
{
    const ease__disk_header *h = &c->header;
    const char *wanted = kind ? kind : "model or gram";

    if (c->bytes < EASE__PAGE || memcmp(h->magic, magic, sizeof(magic)) != 0 ||
        !is_printable(h->kind, sizeof(h->kind)))
        return ease__fail(err, EASE_E_FORMAT, "%s: not an ease %s file", c->path,
                          wanted);
    if (h->byte_order != byte_order)
        return ease__fail(err, EASE_E_FORMAT,
                          "%s: written on a machine of the other byte order", c->path);
    if (kind && strncmp(h->kind, kind, sizeof(h->kind)) != 0)
        return ease__fail(err, EASE_E_FORMAT,
                          "%s: a %.8s file where a %s file is needed", c->path, h->kind,
                          kind);
    if (h->version == 0 || h->version > newest)
        return ease__fail(err, EASE_E_VERSION,
                          "%s: version %u, written by a newer ease; this one reads up "
                          "to version %u",
                          c->path, (unsigned)h->version, (unsigned)newest);
    if (h->file_bytes != c->bytes)
        return ease__fail(err, EASE_E_FORMAT, "%s: damaged: %zu bytes instead of %llu",
                          c->path, c->bytes, (unsigned long long)h->file_bytes);
    if (h->hash != header_hash(*h))
        return damaged(c->path, "wrong checksum of the header", err);
    return EASE_OK;
}

static ease_status take_file(ease__container *c, ease_error *err)
{
    struct stat st;

    if (c->fd < 0 || fstat(c->fd, &st) != 0)
        return ease__fail_errno(err, "%s: cannot open", c->path);
    if (!S_ISREG(st.st_mode))
        return ease__fail(err, EASE_E_IO, "%s: not a regular file", c->path);
    c->bytes = (size_t)st.st_size;
    c->written = st.st_mtim;
    if (c->bytes < EASE__PAGE)
        return EASE_OK; /* check_header reports the error */
    return ease__container_read(c, &c->header, sizeof(c->header), 0, err);
}

static ease_status map_file(ease__container *c, ease_error *err)
{
    void *map = mmap(NULL, c->bytes, PROT_READ, MAP_SHARED, c->fd, 0);

    if (map == MAP_FAILED)
        return ease__fail_errno(err, "%s: cannot map", c->path);
    c->map = map;
    return EASE_OK;
}

ease_status ease__container_open(const char *path, const char *kind, uint32_t newest,
                                 ease__container *out, ease_error *err)
{
    if (!path)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    return ease__container_open_fd(open(path, O_RDONLY | O_CLOEXEC), path, kind, newest,
                                   out, err);
}

ease_status ease__container_open_fd(int fd, const char *name, const char *kind,
                                    uint32_t newest, ease__container *out,
                                    ease_error *err)
{
    ease__container c = EASE__CONTAINER_NONE;
    int reason = errno; /* of a failed open(): copying the name may change it */
    ease_status status;

    c.fd = fd;
    c.path = ease__copy_string(name);
    errno = reason;
    status = c.path ? take_file(&c, err)
                    : ease__fail(err, EASE_E_NOMEM, "opening %s", name);
    if (!status)
        status = check_header(&c, kind, newest, err);
    if (!status)
        status = check_layout(&c, err);
    if (!status)
        status = map_file(&c, err);
    if (!status)
        status = read_small_sections(&c, err);
    if (status) {
        ease__container_close(&c);
        return status;
    }
    *out = c;
    return EASE_OK;
}

void ease__container_close(ease__container *c)
{
    ease__watch_free(c);
    if (c->map)
        munmap((void *)(uintptr_t)c->map, c->bytes);
    if (c->fd >= 0)
        close(c->fd);
    ease__free(c->path);
    *c = EASE__CONTAINER_NONE;
}

const void *ease__container_section(const ease__container *c, const char *name,
                                    size_t *bytes)
{
    const ease__disk_section *s = find_section(&c->header, name);

    if (!s)
        return NULL;
    *bytes = (size_t)s->bytes;
    return c->map + s->offset;
}

const ease__section_rule *ease__rule_of(const ease__section_rule *known,
                                        const char *name)
{
    while (known->name && strcmp(known->name, name) != 0)
        known++;
    return known->name ? known : NULL;
}

static ease_status must_be_small(const ease__container *c, const ease__disk_section *s,
                                 ease_error *err)
{
    return ease__fail(err, EASE_E_FORMAT, "%s: damaged: section '%s' must not be large",
                      c->path, s->name);
}

ease_status ease__container_check(const ease__container *c,
                                  const ease__section_rule *known, ease_error *err)
{
    for (uint32_t i = 0; i < c->header.sections; i++) {
        const ease__disk_section *s = &c->header.section[i];
        const ease__section_rule *rule = ease__rule_of(known, s->name);

        if (!rule && s->flags & EASE__CRITICAL)
            return ease__fail(err, EASE_E_VERSION,
                              "%s: made by a newer ease: it needs section '%s'",
                              c->path, s->name);
        if (rule && s->flags & ~(uint64_t)EASE__ALL_FLAGS)
            return ease__fail(err, EASE_E_VERSION,
                              "%s: made by a newer ease: section '%s' has flags %#llx",
                              c->path, s->name, (unsigned long long)s->flags);
        if (rule && ease__is_large(s) && !rule->may_be_large)
            return must_be_small(c, s, err);
    }
    return EASE_OK;
}

ease_status ease__container_check_small(const ease__container *c, const char *name,
                                        ease_error *err)
{
    const ease__disk_section *s = find_section(&c->header, name);

    return s && ease__is_large(s) ? must_be_small(c, s, err) : EASE_OK;
}

ease_status ease__stream_open(const ease__container *c, const char *name,
                              ease__section_stream *out, ease_error *err)
{
    const ease__disk_section *s = find_section(&c->header, name);
    XXH3_state_t *state;

    if (!s || !ease__is_large(s))
        return damaged(c->path, "a section is missing", err);
    state = XXH3_createState();
    if (!state)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", c->path);
    XXH3_64bits_reset(state);
    *out = (ease__section_stream){
        .container = c,
        .section = s,
        .hashes = (const uint64_t *)(const void *)(c->map +
                                                   hashes_of(&c->header, s)->offset),
        .state = state,
    };
    return EASE_OK;
}

ease_status ease__stream_read(ease__section_stream *s, void *to, size_t bytes,
                              ease_error *err)
{
    size_t total = (size_t)s->section->bytes;
    char *at = to;

    if (bytes > total - s->position)
        return damaged(s->container->path, "a section is too short", err);
    while (bytes) {
        size_t part = EASE__BLOCK - s->position % EASE__BLOCK;
        ease_status status;

        if (part > bytes)
            part = bytes;
        status = ease__container_read(s->container, at, part,
                                      s->section->offset + s->position, err);
        if (status)
            return status;
        XXH3_64bits_update(s->state, at, part);
        s->position += part;
        if (s->position % EASE__BLOCK == 0 || s->position == total) {
            if (XXH3_64bits_digest(s->state) !=
                s->hashes[(s->position - 1) / EASE__BLOCK])
                return ease__wrong_checksum(
                    s->container, s->section->name, s->section->offset,
                    (s->position - 1) / EASE__BLOCK, ease__blocks_of(total), err);
            XXH3_64bits_reset(s->state);
        }
        at += part;
        bytes -= part;
    }
    return EASE_OK;
}

ease_status ease__stream_read_blocks(const ease__section_stream *s, void *to,
                                     size_t bytes, size_t offset, ease_error *err)
{
    size_t total = (size_t)s->section->bytes, block = offset / EASE__BLOCK;
    ease_status status;

    if (offset > total || bytes > total - offset)
        return damaged(s->container->path, "a section is too short", err);
    status = ease__container_read(s->container, to, bytes, s->section->offset + offset,
                                  err);
    for (size_t at = 0; !status && at < bytes; at += EASE__BLOCK, block++)
        if (XXH3_64bits((const char *)to + at,
                        bytes - at < EASE__BLOCK ? bytes - at : EASE__BLOCK) !=
            s->hashes[block])
            status = ease__wrong_checksum(s->container, s->section->name,
                                          s->section->offset, block,
                                          ease__blocks_of(total), err);
    return status;
}

void ease__stream_close(ease__section_stream *s)
{
    XXH3_freeState(s->state);
    s->state = NULL;
}

/* ---- recognizing files -------------------------------------------------------- */

ease_status ease_file_recognize(const char *path, ease_file_kind *kind, ease_error *err)
{
    ease__disk_header h = {0};
    ssize_t got;
    int fd;

    if (!path || !kind)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    if (strcmp(path, "-") == 0) { /* standard input cannot be read twice */
        *kind = EASE_FILE_OTHER;
        return EASE_OK;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ease__fail_errno(err, "%s: cannot open", path);
    got = pread(fd, &h, 16, 0); /* fails on a pipe, which is never a container */
    close(fd);
    *kind = EASE_FILE_OTHER;
    if (got == 16 && memcmp(h.magic, magic, sizeof(magic)) == 0)
        *kind = strcmp(h.kind, "gram") == 0 ? EASE_FILE_GRAM : EASE_FILE_MODEL;
    return EASE_OK;
}

ease_status ease_file_verify(const char *path, const ease_hooks *hooks, ease_error *err)
{
    ease__container c = EASE__CONTAINER_NONE;
    ease_status status = ease__container_open(path, NULL, UINT32_MAX, &c, err);
    char *scratch = NULL;
    size_t done = 0;

    if (status)
        return status;
    scratch = ease__alloc_array(EASE__BLOCK, 1);
    if (!scratch)
        status = ease__fail(err, EASE_E_NOMEM, "verifying %s", path);
    for (uint32_t i = 0; !status && i < c.header.sections; i++) {
        ease__section_stream s = {0};
        size_t left = (size_t)c.header.section[i].bytes;

        if (!ease__is_large(&c.header.section[i]))
            continue;
        status = ease__stream_open(&c, c.header.section[i].name, &s, err);
        while (!status && left) {
            size_t part = left < EASE__BLOCK ? left : EASE__BLOCK;

            if (ease__progress(hooks, "verifying", (double)done / (double)c.bytes))
                status = ease__cancelled(err);
            else
                status = ease__stream_read(&s, scratch, part, err);
            left -= part;
            done += part;
        }
        ease__stream_close(&s);
    }
    ease__free(scratch);
    ease__container_close(&c);
    return status;
}
