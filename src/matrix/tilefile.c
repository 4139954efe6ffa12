#include "matrix/tilefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- creating ----------------------------------------------------------------- */

/* Opens a file without a name (O_TMPFILE, or unlinked at once). */
static int open_nameless(const char *dir)
{
    static const char name[] = "/.ease.XXXXXX";
    size_t size;
    char *path;
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    size = strlen(dir) + sizeof(name);
    path = ease__alloc_array(size, 1);
    if (!path) {
        errno = ENOMEM;
        return -1;
    }
    snprintf(path, size, "%s%s", dir, name);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    ease__free(path);
    return fd;
}

static ease_status no_space(const ease__tilefile *f, ease_error *err)
{
    int reason = errno;
    struct statvfs v;
    double free_bytes = 0;

    if (fstatvfs(f->fd, &v) == 0)
        free_bytes = (double)v.f_bavail * (double)v.f_frsize;
    errno = reason;
    return ease__fail_errno(err,
                            "%s: a work file of %zu bytes (%.2f GB) is needed, "
                            "%.2f GB are free",
                            f->dir, f->shape.bytes, (double)f->shape.bytes / 1e9,
                            free_bytes / 1e9);
}

/* Reserves the space of the file. On file systems that cannot reserve, only the free
 * space is checked. */
static ease_status reserve(const ease__tilefile *f, ease_error *err)
{
    struct statvfs v;
    off_t bytes = (off_t)f->shape.bytes;
    int failed;

    do
        failed = fallocate(f->fd, 0, 0, bytes);
    while (failed && errno == EINTR);
    if (!failed)
        return EASE_OK;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return no_space(f, err);
    if (fstatvfs(f->fd, &v) == 0 &&
        ease__size_mul((size_t)v.f_bavail, (size_t)v.f_frsize) < f->shape.bytes) {
        errno = ENOSPC;
        return no_space(f, err);
    }
    return ftruncate(f->fd, bytes) == 0 ? EASE_OK : no_space(f, err);
}

/* Tries to write a page with O_DIRECT: some file systems refuse to open, others to
 * write. */
static ease_status try_direct(ease__tilefile *f, ease_error *err)
{
    int flags = fcntl(f->fd, F_GETFL);
    void *page;

    if (flags < 0 || fcntl(f->fd, F_SETFL, flags | O_DIRECT) != 0)
        return EASE_OK;
    page = ease__alloc_pages(EASE__TILE_GRAIN);
    if (!page)
        return ease__fail(err, EASE_E_NOMEM, "%s: a work file", f->dir);
    f->direct = pwrite(f->fd, page, EASE__TILE_GRAIN, 0) == EASE__TILE_GRAIN;
    ease__free_pages(page, EASE__TILE_GRAIN);
    if (!f->direct && fcntl(f->fd, F_SETFL, flags) != 0)
        return ease__fail_errno(err, "%s: cannot use a work file", f->dir);
    return EASE_OK;
}

ease_status ease__tilefile_new(const char *dir, const ease__tiled *shape,
                               ease__tilefile *out, ease_error *err)
{
    ease__tilefile f = {.shape = ease__tiled_padded(shape), .fd = -1};
    ease_status status;

    f.shape.first = 0;
    f.shape.last = f.shape.tiles;
    f.dir = ease__copy_string(dir);
    if (!f.dir)
        return ease__fail(err, EASE_E_NOMEM, "%s: a work file", dir);
    f.fd = open_nameless(dir);
    status = f.fd < 0 ? ease__fail_errno(err, "%s: cannot make a work file", dir)
                      : reserve(&f, err);
    if (!status)
        status = try_direct(&f, err);
    if (status) {
        ease__tilefile_free(&f);
        return status;
    }
    *out = f;
    return EASE_OK;
}

void ease__tilefile_free(ease__tilefile *f)
{
    if (f->fd >= 0)
        close(f->fd);
    ease__free(f->dir);
    *f = EASE__TILEFILE_NONE;
}

/* ---- reading and writing ------------------------------------------------------ */

static off_t offset_of(const ease__tilefile *f, int32_t i, int32_t j)
{
    return (off_t)(ease__tile_offset(&f->shape, i, j) *
                   ease__element_bytes(f->shape.element));
}

/* Without direct access, drops the pages from the page cache, which counts as memory
 * too. */
static void drop_cached(const ease__tilefile *f, off_t at, size_t bytes, bool written)
{
    if (f->direct)
        return;
    if (written)
        (void)sync_file_range(f->fd, at, (off_t)bytes,
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER);
    (void)posix_fadvise(f->fd, at, (off_t)bytes, POSIX_FADV_DONTNEED);
}

ease_status ease__tilefile_read(const ease__tilefile *f, int32_t i, int32_t j,
                                size_t count, void *to, ease_error *err)
{
    size_t bytes = count * ease__tile_bytes(&f->shape), done = 0;
    off_t at = offset_of(f, i, j);

    while (done < bytes) {
        ssize_t got = pread(f->fd, (char *)to + done, bytes - done, at + (off_t)done);

        if (got == 0)
            return ease__fail(err, EASE_E_IO, "%s: the work file has been cut short",
                              f->dir);
        if (got < 0 && errno != EINTR)
            return ease__fail_errno(err, "%s: cannot read the work file", f->dir);
        if (got > 0)
            done += (size_t)got;
    }
    drop_cached(f, at, bytes, false);
    return EASE_OK;
}

ease_status ease__tilefile_write(const ease__tilefile *f, int32_t i, int32_t j,
                                 size_t count, const void *from, ease_error *err)
{
    size_t bytes = count * ease__tile_bytes(&f->shape), done = 0;
    off_t at = offset_of(f, i, j);

    while (done < bytes) {
        ssize_t put = pwrite(f->fd, (const char *)from + done, bytes - done,
                             at + (off_t)done);

        if (put < 0 && errno != EINTR)
            return ease__fail_errno(err, "%s: cannot write the work file", f->dir);
        if (put > 0)
            done += (size_t)put;
    }
    drop_cached(f, at, bytes, true);
    return EASE_OK;
}

/* ---- bands -------------------------------------------------------------------- */

typedef ease_status transfer(const ease__tilefile *f, ease__tiled *band, int32_t row,
                             ease_error *err);

static ease_status read_row(const ease__tilefile *f, ease__tiled *band, int32_t row,
                            ease_error *err)
{
    return ease__tilefile_read(f, row, 0, (size_t)row + 1, ease__tile(band, row, 0),
                               err);
}

static ease_status write_row(const ease__tilefile *f, ease__tiled *band, int32_t row,
                             ease_error *err)
{
    return ease__tilefile_write(f, row, 0, (size_t)row + 1, ease__tile(band, row, 0),
                                err);
}

static ease_status move_band(const ease__tilefile *f, ease__tiled *band, transfer *move,
                             int threads, ease_error *err)
{
    ease_status failed = EASE_OK;
    atomic_flag told = ATOMIC_FLAG_INIT; /* the first failure is the one reported */

#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (int32_t row = band->first; row < band->last; row++) {
        ease_error found = {0};
        ease_status status = move(f, band, row, &found);

        if (status && !atomic_flag_test_and_set(&told)) {
            failed = status;
            if (err)
                *err = found;
        }
    }
    return failed;
}

ease_status ease__tilefile_read_band(const ease__tilefile *f, ease__tiled *band,
                                     int threads, ease_error *err)
{
    return move_band(f, band, read_row, threads, err);
}

ease_status ease__tilefile_write_band(const ease__tilefile *f, const ease__tiled *band,
                                      int threads, ease_error *err)
{
    ease__tiled same = *band;

    return move_band(f, &same, write_row, threads, err);
}

ease_status ease__tilefile_write_diagonal(const ease__tilefile *f,
                                          const ease__tiled *band, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int32_t k = band->first; !status && k < band->last; k++)
        status = ease__tilefile_write(f, k, k, 1, ease__tile(band, k, k), err);
    return status;
}

/* ---- narrowing ---------------------------------------------------------------- */

/* Converts front to back: what is written never reaches what is still to be read. */
static void narrow(void *tile, size_t count)
{
    char *data = tile;

    for (size_t k = 0; k < count; k++) {
        double wide;
        float rounded;

        memcpy(&wide, data + k * sizeof(wide), sizeof(wide));
        rounded = (float)wide;
        memcpy(data + k * sizeof(rounded), &rounded, sizeof(rounded));
    }
}

ease_status ease__tilefile_narrow(ease__tilefile *f, ease_error *err)
{
    size_t bytes = ease__tile_bytes(&f->shape);
    void *tile = ease__alloc_pages(bytes);
    ease_status status = EASE_OK;

    if (!tile)
        return ease__fail(err, EASE_E_NOMEM, "a tile of the matrix");
    for (int32_t i = 0; !status && i < f->shape.tiles; i++)
        for (int32_t j = 0; !status && j <= i; j++) {
            status = ease__tilefile_read(f, i, j, 1, tile, err);
            narrow(tile, (size_t)f->shape.edge * (size_t)f->shape.edge);
            if (!status)
                status = ease__tilefile_write(f, i, j, 1, tile, err);
        }
    ease__free_pages(tile, bytes);
    f->shape.element = EASE__F32;
    f->shape.stride = bytes / sizeof(float);
    return status;
}

/* ---- mapping ------------------------------------------------------------------ */

ease_status ease__tilefile_map(const ease__tilefile *f, ease__tiled *out,
                               ease_error *err)
{
    ease__tiled t = f->shape;

    t.data = mmap(NULL, t.bytes, PROT_READ, MAP_SHARED, f->fd, 0);
    if (t.data == MAP_FAILED)
        return ease__fail_errno(err, "%s: cannot map the work file", f->dir);
    *out = t;
    return EASE_OK;
}

void ease__tilefile_forget(const ease__tilefile *f, const ease__tiled *map)
{
    (void)madvise(map->data, map->bytes, MADV_DONTNEED);
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
}
