#include "model/export_npz.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "input/npy.h"

enum {
    BUFFER_BYTES = 1 << 16,
    LOCAL_BYTES = 50,   /* of a local header before the name and its zip64 field */
    CENTRAL_BYTES = 74, /* of an entry of the directory, likewise */
    END_BYTES = 98,     /* zip64 record, its locator, end record */
    NAME_BYTES = 16,
    MEMBERS = 5,
    DOS_DAY = 0x21, /* 1980-01-01: equal models give equal files */
    ZIP64 = 45      /* version of the format */
};

typedef struct zip_member {
    char name[NAME_BYTES];
    uint64_t offset, bytes;
    uint32_t crc;
} zip_member;

typedef struct npz {
    ease__row_reader *reader;
    ease__output *out;
    const ease_hooks *hooks;
    unsigned char *buffer;
    size_t used;
    uint64_t position; /* in the file, with the buffer */
    zip_member members[MEMBERS];
    int count;
    int pass; /* of three */
} npz;

/* ---- the archive ----------------------------------------------------------------- */

static ease_status flush(npz *z, ease_error *err)
{
    size_t used = z->used;

    z->used = 0;
    return ease__output_write(z->out, z->buffer, used, err);
}

static ease_status put_raw(npz *z, const void *data, size_t bytes, ease_error *err)
{
    const unsigned char *at = data;
    ease_status status = EASE_OK;

    z->position += bytes;
    while (!status && bytes) {
        size_t part = BUFFER_BYTES - z->used < bytes ? BUFFER_BYTES - z->used : bytes;

        memcpy(z->buffer + z->used, at, part);
        z->used += part;
        at += part;
        bytes -= part;
        if (z->used == BUFFER_BYTES)
            status = flush(z, err);
    }
    return status;
}

/* Appends a number of some bytes, little-endian, and returns the end. */
static unsigned char *little(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

/* The sizes and the checksum of a member follow its data (flag 8), in 64 bits. */
static ease_status begin_member(npz *z, const char *name, ease_error *err)
{
    zip_member *m = &z->members[z->count];
    unsigned char head[LOCAL_BYTES + NAME_BYTES], *p = head;

    snprintf(m->name, sizeof(m->name), "%s", name);
    m->offset = z->position;
    m->crc = (uint32_t)crc32(0, NULL, 0);
    p = little(p, 0x04034b50, 4);
    p = little(p, ZIP64, 2);
    p = little(p, 8, 2);
    p = little(p, 0, 4); /* stored; time 0 */
    p = little(p, DOS_DAY, 2);
    p = little(p, 0, 4);
    p = little(p, UINT64_MAX, 8);
    p = little(p, strlen(name), 2);
    p = little(p, 20, 2);
    memcpy(p, name, strlen(name));
    p += strlen(name);
    p = little(p, 1, 2);
    p = little(p, 16, 2);
    p = little(p, 0, 8);
    p = little(p, 0, 8);
    return put_raw(z, head, (size_t)(p - head), err);
}

static ease_status put(npz *z, const void *data, size_t bytes, ease_error *err)
{
    zip_member *m = &z->members[z->count];

    m->crc = (uint32_t)crc32_z(m->crc, data, bytes);
    m->bytes += bytes;
    return put_raw(z, data, bytes, err);
}

static ease_status end_member(npz *z, ease_error *err)
{
    const zip_member *m = &z->members[z->count++];
    unsigned char tail[24], *p = tail;

    p = little(p, 0x08074b50, 4);
    p = little(p, m->crc, 4);
    p = little(p, m->bytes, 8);
    p = little(p, m->bytes, 8);
    return put_raw(z, tail, (size_t)(p - tail), err);
}

static ease_status put_entry(npz *z, const zip_member *m, ease_error *err)
{
    unsigned char entry[CENTRAL_BYTES + NAME_BYTES], *p = entry;

    p = little(p, 0x02014b50, 4);
    p = little(p, 3 << 8 | ZIP64, 2); /* made on Unix */
    p = little(p, ZIP64, 2);
    p = little(p, 8, 2);
    p = little(p, 0, 4);
    p = little(p, DOS_DAY, 2);
    p = little(p, m->crc, 4);
    p = little(p, UINT64_MAX, 8);
    p = little(p, strlen(m->name), 2);
    p = little(p, 28, 2);
    p = little(p, 0, 6); /* no comment, disk 0, internal attributes */
    p = little(p, (uint64_t)0100644 << 16, 4);
    p = little(p, UINT32_MAX, 4);
    memcpy(p, m->name, strlen(m->name));
    p += strlen(m->name);
    p = little(p, 1, 2);
    p = little(p, 24, 2);
    p = little(p, m->bytes, 8);
    p = little(p, m->bytes, 8);
    p = little(p, m->offset, 8);
    return put_raw(z, entry, (size_t)(p - entry), err);
}

static ease_status end_archive(npz *z, ease_error *err)
{
    unsigned char end[END_BYTES], *p = end;
    uint64_t directory = z->position, count = (uint64_t)z->count, bytes, record;
    ease_status status = EASE_OK;

    for (int i = 0; !status && i < z->count; i++)
        status = put_entry(z, &z->members[i], err);
    record = z->position;
    bytes = record - directory;
    p = little(p, 0x06064b50, 4);
    p = little(p, 44, 8);
    p = little(p, 3 << 8 | ZIP64, 2);
    p = little(p, ZIP64, 2);
    p = little(p, 0, 8);
    p = little(p, count, 8);
    p = little(p, count, 8);
    p = little(p, bytes, 8);
    p = little(p, directory, 8);
    p = little(p, 0x07064b50, 4);
    p = little(p, 0, 4);
    p = little(p, record, 8);
    p = little(p, 1, 4);
    p = little(p, 0x06054b50, 4);
    p = little(p, 0, 4);
    p = little(p, count, 2);
    p = little(p, count, 2);
    p = little(p, UINT64_MAX, 8);
    p = little(p, 0, 2);
    if (!status)
        status = put_raw(z, end, (size_t)(p - end), err);
    return status ? status : flush(z, err);
}

/* ---- arrays ---------------------------------------------------------------------- */

/* Begins an array with one dimension of `count` elements, or none if count is -1. */
static ease_status begin_array(npz *z, const char *name, const char *type,
                               int64_t count, ease_error *err)
{
    char head[EASE__NPY_HEAD], shape[40] = "()";
    ease_status status = begin_member(z, name, err);

    if (count >= 0)
        snprintf(shape, sizeof(shape), "(%lld,)", (long long)count);
    ease__npy_write_head(head, type, shape);
    return status ? status : put(z, head, sizeof(head), err);
}

static ease_status put_array(npz *z, const char *name, const char *type, int64_t count,
                             const void *data, size_t bytes, ease_error *err)
{
    ease_status status = begin_array(z, name, type, count, err);

    if (!status)
        status = put(z, data, bytes, err);
    return status ? status : end_member(z, err);
}

static int by_column(const void *a, const void *b)
{
    int32_t x = ((const ease_rec *)a)->item, y = ((const ease_rec *)b)->item;

    return (x > y) - (x < y);
}

/* Reads a row, by column also with `top`, and reports progress over all passes. */
static ease_status read_row(npz *z, int32_t row, ease_error *err)
{
    ease__row_reader *r = z->reader;
    double n = (double)r->model->info.items;
    ease_status status = ease__row_reader_read(r, row, err);

    if (status)
        return status;
    if (r->top > 0)
        qsort(r->recs, (size_t)r->count, sizeof(*r->recs), by_column);
    return ease__progress(z->hooks, "writing", (z->pass * n + row) / (3 * n))
               ? ease__cancelled(err)
               : EASE_OK;
}

/* The starts of the rows, as int32 if they fit. */
static ease_status put_starts(npz *z, int64_t *count, ease_error *err)
{
    int32_t n = z->reader->model->info.items, *narrow;
    int64_t *starts = ease__alloc_array((size_t)n + 1, sizeof(*starts));
    bool wide;
    ease_status status = EASE_OK;

    if (!starts)
        return ease__fail(err, EASE_E_NOMEM, "starts of %d rows", (int)n);
    starts[0] = 0;
    for (int32_t i = 0; !status && i < n; i++) {
        status = read_row(z, i, err);
        starts[i + 1] = starts[i] + z->reader->count;
    }
    *count = starts[n];
    wide = starts[n] > INT32_MAX;
    narrow = (int32_t *)(void *)starts; /* element i does not reach past starts[i] */
    for (int32_t i = 0; !status && !wide && i <= n; i++) {
        int32_t start = (int32_t)starts[i];

        memcpy(narrow + i, &start, sizeof(start));
    }
    if (!status)
        status = put_array(z, "indptr.npy", wide ? "<i8" : "<i4", (int64_t)n + 1,
                           starts, ((size_t)n + 1) * (wide ? 8 : 4), err);
    ease__free(starts);
    return status;
}

/* One of the two numbers of every weight. The number of weights is that of the first
 * pass: rows of a file that changes meanwhile cannot be read. */
static ease_status put_numbers(npz *z, const char *name, const char *type, size_t at,
                               int64_t count, ease_error *err)
{
    int32_t n = z->reader->model->info.items;
    ease_status status = begin_array(z, name, type, count, err);

    z->pass++;
    for (int32_t i = 0; !status && i < n; i++) {
        status = read_row(z, i, err);
        for (int32_t k = 0; !status && k < z->reader->count; k++)
            status = put(z, (const char *)&z->reader->recs[k] + at, 4, err);
    }
    return status ? status : end_member(z, err);
}

static ease_status put_matrix(npz *z, ease_error *err)
{
    int64_t n = z->reader->model->info.items, shape[] = {n, n}, count = 0;
    ease_status status = put_array(z, "format.npy", "|S3", -1, "csr", 3, err);

    if (!status)
        status = put_array(z, "shape.npy", "<i8", 2, shape, sizeof(shape), err);
    if (!status)
        status = put_starts(z, &count, err);
    if (!status)
        status = put_numbers(z, "indices.npy", "<i4", offsetof(ease_rec, item), count,
                             err);
    if (!status)
        status = put_numbers(z, "data.npy", "<f4", offsetof(ease_rec, score), count,
                             err);
    return status ? status : end_archive(z, err);
}

ease_status ease__export_npz(ease__row_reader *r, ease__output *out,
                             const ease_hooks *hooks, ease_error *err)
{
    npz z = {.reader = r, .out = out, .hooks = hooks};
    ease_status status;

    z.buffer = ease__alloc_array(BUFFER_BYTES, 1);
    status = z.buffer ? put_matrix(&z, err)
                      : ease__fail(err, EASE_E_NOMEM, "writing an archive");
    ease__free(z.buffer);
    return status;
}
