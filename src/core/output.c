#include "core/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_LINKS = 40, /* the limit of the kernel */
    NAME_TRIES = 8,
    STALE_SECONDS = 600
};

/* ---- paths ----------------------------------------------------------------- */

/* The path that the symbolic link `path` points to, relative to the same directory as
 * `path`. NULL: no memory, or `path` is not a link; *is_link tells which. */
static char *follow_link(const char *path, bool *is_link)
{
    const char *slash = strrchr(path, '/');
    size_t before = slash ? (size_t)(slash - path) + 1 : 0;
    char target[PATH_MAX], *joined;
    ssize_t length = readlink(path, target, sizeof(target) - 1);

    *is_link = length > 0;
    if (!*is_link)
        return NULL;
    target[length] = '\0';
    if (target[0] == '/')
        return ease__copy_string(target);
    joined = ease__alloc_array(before + (size_t)length + 1, 1);
    if (joined) {
        memcpy(joined, path, before);
        memcpy(joined + before, target, (size_t)length + 1);
    }
    return joined;
}

/* Follows symbolic links from `path`, also to a file that does not exist: links stay,
 * and the file that they point to is created or replaced. */
static ease_status resolve(const char *path, char **out, ease_error *err)
{
    char *at = ease__copy_string(path);
    bool is_link = true;

    for (int links = 0; at; links++) {
        char *next = follow_link(at, &is_link);

        if (!is_link) {
            *out = at;
            return EASE_OK;
        }
        ease__free(at);
        at = next;
        if (links == MOST_LINKS) {
            ease__free(at);
            errno = ELOOP;
            return ease__fail_errno(err, "%s: cannot write", path);
        }
    }
    return ease__fail(err, EASE_E_NOMEM, "opening %s", path);
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

/* ---- temporary names: ".ease.PID.COUNT.RANDOM.part" ------------------------ */

static const char part_begin[] = ".ease.", part_end[] = ".part";

/* A temporary name in the same directory, so that a rename is atomic; short enough
 * to be valid wherever the name of the file is. */
static char *temporary_name(const char *path)
{
    static atomic_uint count;
    const char *slash = strrchr(path, '/');
    size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
    size_t size = dir + 80;
    char *name = ease__alloc_array(size, 1);

    if (name)
        snprintf(name, size, "%.*s%s%ld.%u.%016llx%s", (int)dir, path, part_begin,
                 (long)getpid(), atomic_fetch_add(&count, 1),
                 (unsigned long long)ease__hash_seed(), part_end);
    return name;
}

static bool is_part(const char *name)
{
    size_t length = strlen(name), end = sizeof(part_end) - 1;

    return strncmp(name, part_begin, sizeof(part_begin) - 1) == 0 && length > end &&
           strcmp(name + length - end, part_end) == 0;
}

/* Removes a part that no process is writing: a writer holds a lock on it. The age is
 * checked for file systems whose locks do not reach other machines, and for a part that
 * was just created and is not locked yet. A shared
 * lock is enough to find out, and the only kind that NFS gives a file opened for
 * reading. */
static void remove_stale(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_mtime < time(NULL) - STALE_SECONDS && flock(fd, LOCK_SH | LOCK_NB) == 0)
        (void)unlinkat(dir, name, 0);
    close(fd);
}

/* Removes the parts that killed processes have left in a directory: while writing, or
 * while giving a nameless file its name. Before the free space is checked, which they
 * may take. */
static void sweep(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *entry;

    if (!d)
        return;
    while ((entry = readdir(d)))
        if (is_part(entry->d_name))
            remove_stale(dirfd(d), entry->d_name);
    closedir(d);
}

/* ---- opening --------------------------------------------------------------- */

static ease_status check_space(int fd, const char *path, size_t expect, ease_error *err)
{
    char need[EASE__SIZE_CHARS], have[EASE__SIZE_CHARS];
    struct statvfs v;
    size_t available;

    if (!expect || fstatvfs(fd, &v) != 0)
        return EASE_OK;
    available = ease__size_mul((size_t)v.f_bavail, (size_t)v.f_frsize);
    if (available >= expect)
        return EASE_OK;
    return ease__fail(err, EASE_E_IO, "%s: needs %s of disk, %s are free", path,
                      ease__size_text(expect, need), ease__size_text(available, have));
}

/* Opens a file without a name, of which nothing is left after a kill before its commit,
 * and only a part after a kill within it. -1: the file
 * system does not support that, or there is no /proc through which it could be named
 * later. */
static int open_nameless(const char *dir, mode_t mode)
{
    char self[48];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);

    if (fd < 0)
        return -1;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (access(self, F_OK) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Creates a file with a temporary name. Returns -1, with errno set, on failure. */
static int open_named(const char *path, mode_t mode, char **temporary)
{
    for (int tries = 0; tries < NAME_TRIES; tries++) {
        char *name = temporary_name(path);
        int fd;

        if (!name) {
            errno = ENOMEM;
            return -1;
        }
        fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        if (fd >= 0) {
            *temporary = name;
            return fd;
        }
        ease__free(name);
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* A file that replaces another is readable by its owner only until it has the mode of
 * the other. */
static ease_status open_hidden(ease__output *out, bool replaces, ease_error *err)
{
    mode_t mode = replaces ? 0600 : 0666;
    char *dir = directory_of(out->path);
    ease_status status = EASE_OK;

    if (!dir)
        return ease__fail(err, EASE_E_NOMEM, "opening %s", out->path);
    sweep(dir);
    out->fd = open_nameless(dir, mode);
    if (out->fd < 0)
        out->fd = open_named(out->path, mode, &out->temporary);
    if (out->fd < 0 && errno == ENOMEM)
        status = ease__fail(err, EASE_E_NOMEM, "opening %s", out->path);
    else if (out->fd < 0)
        status = ease__fail_errno(err, "%s: cannot write to the directory '%s'",
                                  out->name, dir);
    else
        (void)flock(out->fd, LOCK_EX | LOCK_NB); /* until closed: see remove_stale */
    ease__free(dir);
    return status;
}

/* Opens a device, a pipe or a socket; fails for a directory. */
static ease_status open_special(const char *path, const struct stat *st,
                                ease__output *out, ease_error *err)
{
    if (S_ISDIR(st->st_mode))
        errno = EISDIR;
    else
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
    return out->fd < 0 ? ease__fail_errno(err, "%s: cannot write", path) : EASE_OK;
}

/* In a sticky directory such as /tmp, only the owner of a file or of the directory can
 * replace the file. The final rename would fail; this finds out before the work. */
static ease_status check_sticky(const ease__output *out, const struct stat *old,
                                ease_error *err)
{
    char *path = directory_of(out->path);
    uid_t me = geteuid();
    struct stat dir;
    bool refused = path && stat(path, &dir) == 0 && (dir.st_mode & S_ISVTX) && me &&
                   me != old->st_uid && me != dir.st_uid;

    ease__free(path);
    errno = EPERM;
    return refused ? ease__fail_errno(err, "%s: cannot be replaced", out->name)
                   : EASE_OK;
}

/* Opens a regular file for writing; `old` is NULL if it does not exist yet. */
static ease_status open_regular(const char *path, const struct stat *old, size_t expect,
                                ease__output *out, ease_error *err)
{
    ease_status status = resolve(path, &out->path, err);

    if (!status && old)
        status = check_sticky(out, old, err);
    if (!status)
        status = open_hidden(out, old != NULL, err);
    return status ? status : check_space(out->fd, path, expect, err);
}

ease_status ease__output_open(const char *path, size_t expect, ease__output *out,
                              ease_error *err)
{
    ease__output o = EASE__OUTPUT_NONE;
    struct stat st;
    bool exists;
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
    exists = stat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode))
        status = open_special(path, &st, &o, err);
    else
        status = open_regular(path, exists ? &st : NULL, expect, &o, err);
    if (status) {
        ease__output_discard(&o);
        return status;
    }
    *out = o;
    return EASE_OK;
}

ease_status ease_output_check(const char *path, size_t bytes, ease_error *err)
{
    ease__output out = EASE__OUTPUT_NONE;
    struct stat st;
    ease_status status;

    if (path && *path && stat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
        !S_ISDIR(st.st_mode)) {
        /* If a pipe were opened and closed, its reader would see the end of the
         * data. */
        if (access(path, W_OK) != 0)
            return ease__fail_errno(err, "%s: cannot write", path);
        return EASE_OK;
    }
    status = ease__output_open(path, bytes, &out, err);
    ease__output_discard(&out);
    return status;
}

/* ---- writing --------------------------------------------------------------- */

/* After an interrupted write: true if the hooks cancel the call. */
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
    if (out->path) /* a hint: errors are reported by the sync */
        (void)sync_file_range(out->fd, (off_t)offset, (off_t)bytes,
                              SYNC_FILE_RANGE_WRITE);
}

/* ---- commit ---------------------------------------------------------------- */

/* Gives a nameless file a temporary name: a link cannot replace an existing one. */
static ease_status give_name(ease__output *out, ease_error *err)
{
    char self[48];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
    for (int tries = 0; !out->temporary; tries++) {
        char *name = temporary_name(out->path);

        if (!name)
            return ease__fail(err, EASE_E_NOMEM, "naming %s", out->path);
        if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
            out->temporary = name;
            break;
        }
        ease__free(name);
        if (errno != EEXIST || tries == NAME_TRIES)
            return ease__fail_errno(err, "%s: cannot create", out->path);
    }
    return EASE_OK;
}

ease_status ease__output_name(ease__output *out, ease_error *err)
{
    if (!out->path)
        return ease__fail(err, EASE_E_IO, "%s: not a file", out->name);
    return give_name(out, err);
}

/* Keeps owner, group and permissions of the replaced file, as far as this process is
 * permitted. If the group cannot be kept, the new group gets the permissions of
 * others. */
static void keep_ownership(int fd, const char *path)
{
    struct stat old, made;
    mode_t mode;

    if (stat(path, &old) != 0 || fstat(fd, &made) != 0)
        return;
    if ((made.st_uid != old.st_uid || made.st_gid != old.st_gid) &&
        fchown(fd, old.st_uid, old.st_gid) != 0)
        (void)!fchown(fd, (uid_t)-1, old.st_gid);
    mode = old.st_mode & 0777;
    if (fstat(fd, &made) == 0 && made.st_gid != old.st_gid)
        mode = (mode & 0707) | (mode & 07) << 3;
    (void)fchmod(fd, mode);
}

static void sync_directory(const char *path)
{
    char *dir = directory_of(path);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd); /* the data is on disk; this makes the new name durable */
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
        keep_ownership(out->fd, out->path);
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
    ease__free(out->path);
    *out = EASE__OUTPUT_NONE;
}
