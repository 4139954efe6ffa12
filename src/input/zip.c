#include "input/zip.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/budget.h"

enum {
    RAW_BYTES = 1 << 16,
    END_BYTES = 22,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    MOST_COMMENT = 65535,
    MOST_DEFLATION = 1032 /* the best ratio of deflate */
};

/* ---- bytes ----------------------------------------------------------------- */

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

static ease_status damaged(const ease__zip *z, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_PARSE, "%s: damaged zip file: %s", z->name, what);
}

static ease_status read_at(const ease__zip *z, void *to, size_t bytes, size_t at,
                           ease_error *err)
{
    char *p = to;

    if (at > z->bytes || bytes > z->bytes - at)
        return damaged(z, "it ends too early", err);
    if (z->fd < 0) {
        memcpy(to, z->memory + at, bytes);
        return EASE_OK;
    }
    while (bytes) {
        ssize_t got = pread(z->fd, p, bytes, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ease__fail_errno(err, "%s: cannot read", z->name);
        if (got == 0)
            return damaged(z, "it became shorter", err);
        p += got;
        at += (size_t)got;
        bytes -= (size_t)got;
    }
    return EASE_OK;
}

/* ---- opening --------------------------------------------------------------- */

static ease_status slurp(ease__input *in, size_t limit, ease__zip *z, ease_error *err)
{
    ease__budget budget;
    size_t capacity = 0, got = 1;

    ease__budget_start(&budget, limit);
    while (got) {
        ease_status status;

        if (z->bytes == capacity) {
            size_t more = capacity ? 2 * capacity : 1 << 16;
            unsigned char *grown = ease__budget_resize(&budget, z->memory, capacity,
                                                       more);

            if (!grown)
                return ease__budget_fail(&budget, z->name, err);
            z->memory = grown;
            capacity = more;
        }
        status = ease__input_read(in, z->memory + z->bytes, capacity - z->bytes, &got,
                                  err);
        if (status)
            return status;
        z->bytes += got;
    }
    return EASE_OK;
}

/* Finds the zip64 record, which stands before the end record if sizes do not fit
 * into 32 bits. */
static ease_status find_directory64(ease__zip *z, size_t end, size_t *offset,
                                    size_t *bytes, ease_error *err)
{
    unsigned char locator[LOCATOR_BYTES], record[END64_BYTES];
    ease_status status;

    if (end < LOCATOR_BYTES)
        return damaged(z, "its directory is missing", err);
    status = read_at(z, locator, sizeof(locator), end - LOCATOR_BYTES, err);
    if (status)
        return status;
    if (memcmp(locator, "PK\6\7", 4) != 0)
        return EASE_OK; /* there is no zip64 record: 0xffffffff is the value itself */
    status = read_at(z, record, sizeof(record), (size_t)little(locator + 8, 8), err);
    if (status)
        return status;
    if (memcmp(record, "PK\6\6", 4) != 0)
        return damaged(z, "its directory is missing", err);
    *bytes = (size_t)little(record + 40, 8);
    *offset = (size_t)little(record + 48, 8);
    return EASE_OK;
}

/* Finds the end record, which is last in the file except for a comment. */
static ease_status find_directory(ease__zip *z, ease_error *err)
{
    static const size_t most = END_BYTES + MOST_COMMENT;
    size_t tail = z->bytes < most ? z->bytes : most, at, offset, bytes;
    unsigned char *text = ease__alloc_array(tail, 1);
    ease_status status;

    if (!text)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", z->name);
    status = read_at(z, text, tail, z->bytes - tail, err);
    for (at = tail < END_BYTES ? 0 : tail - END_BYTES + 1; !status && at > 0; at--)
        if (memcmp(text + at - 1, "PK\5\6", 4) == 0)
            break;
    if (!status && at == 0)
        status = damaged(z, "its directory is missing", err);
    if (!status) {
        const unsigned char *record = text + at - 1;
        size_t end = z->bytes - tail + at - 1;

        bytes = (size_t)little(record + 12, 4);
        offset = (size_t)little(record + 16, 4);
        if (offset == UINT32_MAX || bytes == UINT32_MAX)
            status = find_directory64(z, end, &offset, &bytes, err);
        if (!status && (offset > z->bytes || bytes > z->bytes - offset))
            status = damaged(z, "its directory lies outside", err);
        if (!status) {
            z->directory = offset;
            z->directory_end = offset + bytes;
        }
    }
    ease__free(text);
    return status;
}

ease_status ease__zip_open(ease__input *in, size_t limit, ease__zip *out,
                           ease_error *err)
{
    ease__zip z = EASE__ZIP_NONE;
    ease_status status = EASE_OK;

    z.name = ease__input_name(in);
    z.fd = ease__input_file(in, &z.bytes);
    if (z.fd < 0)
        status = slurp(in, limit, &z, err);
    if (!status)
        status = find_directory(&z, err);
    if (status) {
        ease__zip_close(&z);
        return status;
    }
    *out = z;
    return EASE_OK;
}

void ease__zip_close(ease__zip *z)
{
    ease__free(z->memory);
    *z = EASE__ZIP_NONE;
}

/* ---- members --------------------------------------------------------------- */

typedef struct entry {
    unsigned flags, method;
    uLong crc;
    uint64_t packed, bytes, offset;
    size_t name_bytes, extra_bytes, length; /* length: bytes of the whole entry */
} entry;

/* Reads the sizes that did not fit into 32 bits from an extra field, which has them
 * in this order. */
static ease_status read_extra(const ease__zip *z, size_t at, entry *e, ease_error *err)
{
    uint64_t *wide[] = {&e->bytes, &e->packed, &e->offset};
    size_t end = at + e->extra_bytes;

    while (end - at >= 4) {
        unsigned char head[4], number[8];
        size_t length, used = 0;
        ease_status status = read_at(z, head, sizeof(head), at, err);

        if (status)
            return status;
        at += 4;
        length = (size_t)little(head + 2, 2);
        if (length > end - at)
            return EASE_OK; /* the rest is padding */
        for (int i = 0; little(head, 2) == 1 && i < 3; i++) {
            if (*wide[i] != UINT32_MAX)
                continue;
            if (length - used < 8)
                return damaged(z, "a size is missing", err);
            status = read_at(z, number, sizeof(number), at + used, err);
            if (status)
                return status;
            *wide[i] = little(number, 8);
            used += 8;
        }
        at += length;
    }
    return EASE_OK;
}

static ease_status read_entry(const ease__zip *z, size_t at, entry *e, ease_error *err)
{
    unsigned char head[ENTRY_BYTES];
    ease_status status;

    if (z->directory_end - at < ENTRY_BYTES)
        return damaged(z, "an entry is cut", err);
    status = read_at(z, head, sizeof(head), at, err);
    if (status)
        return status;
    if (memcmp(head, "PK\1\2", 4) != 0)
        return damaged(z, "an entry is none", err);
    *e = (entry){.flags = (unsigned)little(head + 8, 2),
                 .method = (unsigned)little(head + 10, 2),
                 .crc = (uLong)little(head + 16, 4),
                 .packed = little(head + 20, 4),
                 .bytes = little(head + 24, 4),
                 .offset = little(head + 42, 4),
                 .name_bytes = (size_t)little(head + 28, 2),
                 .extra_bytes = (size_t)little(head + 30, 2)};
    e->length = ENTRY_BYTES + e->name_bytes + e->extra_bytes +
                (size_t)little(head + 32, 2);
    if (e->length > z->directory_end - at)
        return damaged(z, "an entry is cut", err);
    return read_extra(z, at + ENTRY_BYTES + e->name_bytes, e, err);
}

/* Reads the name of an entry; the caller frees it. */
static ease_status read_name(const ease__zip *z, size_t at, const entry *e, char **out,
                             ease_error *err)
{
    char *name = ease__alloc_array(e->name_bytes + 1, 1);
    ease_status status;

    if (!name)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", z->name);
    status = read_at(z, name, e->name_bytes, at + ENTRY_BYTES, err);
    if (status) {
        ease__free(name);
        return status;
    }
    name[e->name_bytes] = '\0';
    *out = name;
    return EASE_OK;
}

static ease_status has_name(const ease__zip *z, size_t at, const entry *e,
                            const char *wanted, bool *same, ease_error *err)
{
    char *name = NULL;
    ease_status status;

    *same = false;
    if (e->name_bytes != strlen(wanted))
        return EASE_OK;
    status = read_name(z, at, e, &name, err);
    *same = name && memcmp(name, wanted, e->name_bytes) == 0;
    ease__free(name);
    return status;
}

ease_status ease__zip_next(const ease__zip *z, size_t *at, char **name, ease_error *err)
{
    size_t place = z->directory + *at;
    entry e = {0};
    ease_status status;

    *name = NULL;
    if (place >= z->directory_end)
        return EASE_OK;
    status = read_entry(z, place, &e, err);
    if (!status)
        status = read_name(z, place, &e, name, err);
    *at += e.length;
    return status;
}

static ease_status start_member(ease__member *m, const entry *e, ease_error *err)
{
    const ease__zip *z = m->zip;
    unsigned char head[LOCAL_BYTES];
    ease_status status;

    if (e->offset > z->bytes || e->packed > z->bytes)
        return damaged(z, "a member lies outside", err);
    status = read_at(z, head, sizeof(head), (size_t)e->offset, err);
    if (status)
        return status;
    if (memcmp(head, "PK\3\4", 4) != 0)
        return damaged(z, "a member is none", err);
    if ((e->flags & 1) || (e->method != 0 && e->method != 8))
        return ease__fail(err, EASE_E_PARSE,
                          "%s: %s is encrypted, or compressed in an unknown way",
                          z->name, m->name);
    m->at = (size_t)e->offset + LOCAL_BYTES + (size_t)little(head + 26, 2) +
            (size_t)little(head + 28, 2);
    if (m->at > z->bytes || e->packed > z->bytes - m->at)
        return damaged(z, "a member lies outside", err);
    m->end = m->at + (size_t)e->packed;
    m->deflated = e->method == 8;
    if (e->bytes > (m->deflated ? MOST_DEFLATION * (e->packed + 16) : e->packed))
        return damaged(z, "a member claims too much", err);
    m->bytes = (size_t)e->bytes;
    m->crc = e->crc;
    if (!m->deflated)
        return EASE_OK;
    m->raw = ease__alloc_array(RAW_BYTES, 1);
    if (!m->raw || inflateInit2(&m->inflater, -15) != Z_OK) {
        ease__free(m->raw);
        m->raw = NULL;
        return ease__fail(err, EASE_E_NOMEM, "reading %s", z->name);
    }
    return EASE_OK;
}

ease_status ease__member_open(const ease__zip *z, const char *name, ease__member *m,
                              bool *found, ease_error *err)
{
    size_t at = z->directory;
    ease_status status = EASE_OK;
    entry e = {0};

    *m = (ease__member){.zip = z, .name = name};
    *found = false;
    while (!status && !*found && at < z->directory_end) {
        status = read_entry(z, at, &e, err);
        if (!status)
            status = has_name(z, at, &e, name, found, err);
        if (!status && !*found)
            at += e.length;
    }
    if (status || !*found)
        return status;
    return start_member(m, &e, err);
}

static ease_status refill(ease__member *m, ease_error *err)
{
    size_t part = m->end - m->at < RAW_BYTES ? m->end - m->at : RAW_BYTES;
    ease_status status;

    if (m->inflater.avail_in)
        return EASE_OK;
    if (part == 0)
        return damaged(m->zip, "a member is too short", err);
    status = read_at(m->zip, m->raw, part, m->at, err);
    m->at += part;
    m->inflater.next_in = m->raw;
    m->inflater.avail_in = (uInt)part;
    return status;
}

static ease_status read_deflated(ease__member *m, unsigned char *to, size_t bytes,
                                 ease_error *err)
{
    while (bytes) {
        uInt part = bytes < (1 << 20) ? (uInt)bytes : 1 << 20;
        ease_status status = EASE_OK;
        int state;

        m->inflater.next_out = to;
        m->inflater.avail_out = part;
        state = inflate(&m->inflater, Z_NO_FLUSH);
        to += part - m->inflater.avail_out;
        bytes -= part - m->inflater.avail_out;
        if (bytes == 0)
            return EASE_OK;
        if (state != Z_OK && state != Z_BUF_ERROR)
            return damaged(m->zip, "a member is damaged or too short", err);
        if (m->inflater.avail_out)
            status = refill(m, err);
        if (status)
            return status;
    }
    return EASE_OK;
}

ease_status ease__member_read(ease__member *m, void *to, size_t bytes, ease_error *err)
{
    ease_status status;

    if (m->deflated)
        return read_deflated(m, to, bytes, err);
    if (bytes > m->end - m->at)
        return damaged(m->zip, "a member is too short", err);
    status = read_at(m->zip, to, bytes, m->at, err);
    m->at += bytes;
    return status;
}

void ease__member_close(ease__member *m)
{
    if (m->deflated && m->raw)
        inflateEnd(&m->inflater);
    ease__free(m->raw);
    *m = (ease__member){0};
}
