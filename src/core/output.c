#include "core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* "dir/.ease.PID.N.part": in the same directory, so that a rename is atomic; short, so
 * that a long name fits as well; N for several at once. */
static char *temporary_name(const char *path)
{
    static atomic_uint count;
    const char *slash = strrchr(path, '/');
    size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
    size_t room = dir + 64;
    char *name = ease__alloc_array(room, 1);

    if (name)
        snprintf(name, room, "%.*s.ease.%ld.%u.part", (int)dir, path, (long)getpid(),
                 atomic_fetch_add(&count, 1));
    return name;
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir;

    if (!slash)
        return ease__copy_string(".");
    dir = ease__copy_string(path);
    if (dir)
        dir[slash == path ? 1 : slash - path] = '\0';
    return dir;
}

static ease_status check_space(int fd, const char *path, size_t expect, ease_error *err)
{
    struct statvfs v;
    size_t room;

    if (!expect || fstatvfs(fd, &v) != 0)
        return EASE_OK;
    room = ease__size_mul((size_t)v.f_bavail, (size_t)v.f_frsize);
    if (room >= expect)
        return EASE_OK;
    return ease__fail(err, EASE_E_IO, "%s: needs %zu MB of disk, %zu MB are free", path,
                      expect / 1000000, room / 1000000);
}

/* A nameless file first: even a kill leaves nothing. Not every file system has it. */
static ease_status open_hidden(ease__output *out, ease_error *err)
{
    char *dir = directory_of(out->path);

    if (!dir)
        return ease__fail(err, EASE_E_NOMEM, "opening %s", out->path);
    out->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    ease__free(dir);
    if (out->fd >= 0)
        return EASE_OK;
    out->temporary = temporary_name(out->path);
    if (!out->temporary)
        return ease__fail(err, EASE_E_NOMEM, "opening %s", out->path);
    out->fd = open(out->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (out->fd >= 0)
        return EASE_OK;
    ease__free(out->temporary);
    out->temporary = NULL;
    return ease__fail_errno(err, "%s: cannot create", out->path);
}

ease_status ease__output_open(const char *path, size_t expect, ease__output *out,
                              ease_error *err)
{
    ease__output o = EASE__OUTPUT_NONE;
    struct stat st;
    ease_status status;

    if (!path || !*path)
        return ease__fail(err, EASE_E_ARG, "an output path is required");
    o.name = ease__copy_string(strcmp(path, "-") == 0 ? "standard output" : path);
    if (!o.name)
        return ease__fail(err, EASE_E_NOMEM, "opening %s", path);
    if (strcmp(path, "-") == 0) {
        o.fd = STDOUT_FILENO;
        *out = o;
        return EASE_OK;
    }
    o.owned = true;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        if (S_ISDIR(st.st_mode))
            errno = EISDIR;
        else
            o.fd = open(path, O_WRONLY | O_CLOEXEC);
        if (o.fd < 0) {
            status = ease__fail_errno(err, "%s: cannot write", path);
            ease__output_discard(&o);
            return status;
        }
        *out = o;
        return EASE_OK;
    }
    /* Through a symbolic link, so that the link stays one. */
    o.path = realpath(path, NULL);
    if (!o.path)
        o.path = ease__copy_string(path);
    status = o.path ? open_hidden(&o, err)
                    : ease__fail(err, EASE_E_NOMEM, "opening %s", path);
    if (!status)
        status = check_space(o.fd, path, expect, err);
    if (status) {
        ease__output_discard(&o);
        return status;
    }
    *out = o;
    return EASE_OK;
}

/* A write was interrupted: is that the end? */
static bool stopped(const ease__output *out)
{
    return errno == EINTR && ease__progress(out->hooks, "writing", -1);
}

ease_status ease__output_write(ease__output *out, const void *data, size_t bytes,
                               ease_error *err)
{
    const char *at = data;

    while (bytes) {
        ssize_t put = write(out->fd, at, bytes);

        if (put < 0 && stopped(out))
            return ease__cancelled(err);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return ease__fail_errno(err, "%s: cannot write", out->name);
        at += put;
        bytes -= (size_t)put;
    }
    return EASE_OK;
}

ease_status ease__output_write_at(ease__output *out, const void *data, size_t bytes,
                                  size_t offset, ease_error *err)
{
    const char *at = data;

    while (bytes) {
        ssize_t put = pwrite(out->fd, at, bytes, (off_t)offset);

        if (put < 0 && stopped(out))
            return ease__cancelled(err);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return ease__fail_errno(err, "%s: cannot write", out->name);
        at += put;
        offset += (size_t)put;
        bytes -= (size_t)put;
    }
    return EASE_OK;
}

void ease__output_flush(ease__output *out, size_t bytes, size_t offset)
{
    if (out->path) /* a hint: what comes of it is seen by the sync */
        (void)sync_file_range(out->fd, (off_t)offset, (off_t)bytes,
                              SYNC_FILE_RANGE_WRITE);
}

/* Gives a nameless file a temporary name: a link cannot replace an existing one. */
static ease_status give_name(ease__output *out, ease_error *err)
{
    char self[48];
    char *name;

    if (out->temporary)
        return EASE_OK;
    name = temporary_name(out->path);
    if (!name)
        return ease__fail(err, EASE_E_NOMEM, "naming %s", out->path);
    snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
    unlink(name); /* left by a process of the same number, long dead */
    if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0) {
        ease_status status = ease__fail_errno(err, "%s: cannot create", out->path);

        ease__free(name);
        return status;
    }
    out->temporary = name;
    return EASE_OK;
}

/* Keeps the permissions of what is replaced. */
static void copy_mode(int fd, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0)
        (void)fchmod(fd, st.st_mode & 07777);
}

static void sync_directory(const char *path)
{
    char *dir = directory_of(path);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd); /* the data is safe already; this speeds the name up */
        close(fd);
    }
    ease__free(dir);
}

ease_status ease__output_commit(ease__output *out, ease_error *err)
{
    ease_status status = EASE_OK;

    if (out->path) {
        if (fsync(out->fd) != 0)
            status = ease__fail_errno(err, "%s: cannot sync", out->path);
        copy_mode(out->fd, out->path);
        if (!status)
            status = give_name(out, err);
        if (!status && rename(out->temporary, out->path) != 0)
            status = ease__fail_errno(err, "%s: cannot rename", out->path);
        if (!status) {
            ease__free(out->temporary);
            out->temporary = NULL;
            sync_directory(out->path);
        }
    }
    if (out->owned && out->fd >= 0 && close(out->fd) != 0 && !status)
        status = ease__fail_errno(err, "%s: cannot close", out->name);
    out->fd = -1;
    ease__output_discard(out);
    return status;
}

void ease__output_discard(ease__output *out)
{
    if (out->owned && out->fd >= 0)
        close(out->fd);
    if (out->temporary)
        unlink(out->temporary);
    ease__free(out->temporary);
    ease__free(out->name);
    free(out->path); /* from realpath */
    *out = EASE__OUTPUT_NONE;
}
