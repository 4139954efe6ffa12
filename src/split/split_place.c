#include "split/split_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/split_files.h"

enum {
    MOST_TRIES = 100,
    MOST_NAME = 200, /* of the target's name in that of the part */
    MARK_DIGITS = 6
};

static const char part_end[] = ".part";
/* Prefix of the names of parts within a target, and of files that are being written. */
static const char inner[] = ".ease.";
/* The name under which the record of an unfinished split is written. */
static const char stand_in[] = ".ease.unfinished.part";

/* ---- contents of a directory -------------------------------------------------- */

static bool is_leftover(const char *name, const char *begin)
{
    size_t length = strlen(name), from = strlen(begin), end = sizeof(part_end) - 1;

    return length > from + end && strncmp(name, begin, from) == 0 &&
           strcmp(name + length - end, part_end) == 0;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Opens the directory of `fd` again, so that it is listed from its beginning. */
static DIR *list(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;

    if (!d && own >= 0)
        close(own);
    return d;
}

/* Accepts an empty directory, or one with files of a split and nothing else but
 * leftovers. */
static ease_status look_around(int fd, const char *dir, ease_error *err)
{
    DIR *d = list(fd);
    ease_status status = EASE_OK;
    const struct dirent *entry;
    bool tables = false, marked = false;

    if (!d)
        return ease__fail_errno(err, "%s: cannot open", dir);
    while (!status && (entry = readdir(d))) {
        const char *name = entry->d_name;
        int file = ease__split_file_named(name);

        if (is_dots(name) || is_leftover(name, inner))
            continue;
        /* Any program may write a train.csv; only splits have the lists and the
         * record. */
        if (file >= EASE__SPLIT_TABLES)
            marked = true;
        else if (file >= 0)
            tables = true;
        else
            status = ease__fail(err, EASE_E_IO,
                                "%s: is no split: '%.80s' is in it; choose an empty or "
                                "a new directory",
                                dir, name);
    }
    closedir(d);
    if (!status && tables && !marked)
        status = ease__fail(err, EASE_E_IO,
                            "%s: is no split: it has tables, but no " EASE__ITEMS_LIST
                            "; choose an empty or a new directory",
                            dir);
    return status;
}

/* ---- removing ----------------------------------------------------------------- */

/* Temporary files of processes that were killed. */
static void remove_loose(int fd)
{
    DIR *d = list(fd);
    const struct dirent *entry;

    while (d && (entry = readdir(d)))
        if (is_leftover(entry->d_name, inner))
            (void)unlinkat(fd, entry->d_name, 0);
    if (d)
        closedir(d);
}

/* Removes files of a split, complete or temporary; all others stay. */
static void remove_files(int fd)
{
    for (int i = 0; i < EASE__SPLIT_FILES; i++)
        (void)unlinkat(fd, ease__split_file(i), 0);
    remove_loose(fd);
}

/* Removes a part in the directory `holder`; if `stale`, only if no process has locked
 * it. */
static void remove_part(int holder, const char *name, bool stale)
{
    int fd = openat(holder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    if (!stale || flock(fd, LOCK_EX | LOCK_NB) == 0) {
        remove_files(fd);
        (void)unlinkat(holder, name, AT_REMOVEDIR);
    }
    close(fd);
}

/* Removes parts that killed processes have left, by how their names begin. */
static void sweep(int holder, const char *begin)
{
    DIR *d = list(holder);
    const struct dirent *entry;

    while (d && (entry = readdir(d)))
        if (is_leftover(entry->d_name, begin))
            remove_part(holder, entry->d_name, true);
    if (d)
        closedir(d);
}

/* ---- resolving the target ----------------------------------------------------- */

static ease_status no_memory(const ease__place *p, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "writing %s", p->dir);
}

/* The real path of a target that does not exist: that of its directory, and its
 * name. */
static ease_status resolve_new(ease__place *p, ease_error *err)
{
    char *path = ease__copy_string(p->dir), *slash;
    size_t length = path ? strlen(path) : 0;
    struct stat st;

    if (!path)
        return no_memory(p, err);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    if (lstat(path, &st) == 0) { /* a dangling link */
        ease__free(path);
        errno = ENOENT;
        return ease__fail_errno(err, "%s: cannot open", p->dir);
    }
    slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    p->directory = realpath(!slash ? "." : slash == path ? "/" : path, NULL);
    if (p->directory)
        p->target = ease__split_path(p->directory, slash ? slash + 1 : path);
    ease__free(path);
    if (p->target)
        return EASE_OK;
    return p->directory || errno == ENOMEM
               ? no_memory(p, err)
               : ease__fail_errno(err, "%s: cannot create", p->dir);
}

static ease_status resolve(ease__place *p, ease_error *err)
{
    ease_status status = EASE_OK;
    char *slash;

    p->target = realpath(p->dir, NULL);
    if (!p->target && errno != ENOENT)
        return ease__fail_errno(err, "%s: cannot open", p->dir);
    if (p->target) {
        p->directory = ease__copy_string(p->target);
        slash = p->directory ? strrchr(p->directory, '/') : NULL;
        if (!slash)
            return no_memory(p, err);
        slash[slash == p->directory] = '\0';
    } else {
        status = resolve_new(p, err);
    }
    if (!status)
        p->name = strrchr(p->target, '/') + 1;
    return status;
}

/* True for the working directory of this process and the root of a file system. */
static bool is_fixed(const ease__place *p)
{
    struct stat here, there;
    struct statx more;

    if (!*p->name)
        return true;
    if (stat(".", &here) == 0 && fstat(p->target_fd, &there) == 0 &&
        here.st_dev == there.st_dev && here.st_ino == there.st_ino)
        return true;
    return statx(p->target_fd, "", AT_EMPTY_PATH, 0, &more) == 0 &&
           (more.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static ease_status open_target(ease__place *p, ease_error *err)
{
    p->target_fd = open(p->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->target_fd < 0)
        return ease__fail_errno(err, "%s: cannot open", p->dir);
    /* An exchange does not need write permission on the target, but its absence means
     * that the target is not to be changed. */
    if (faccessat(p->target_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return ease__fail_errno(err, "%s: cannot write", p->dir);
    return look_around(p->target_fd, p->dir, err);
}

/* ---- the part ----------------------------------------------------------------- */

static int holder_of(const ease__place *p)
{
    return p->inside ? p->target_fd : p->parent;
}

/* The prefix of the names of parts. */
static void begin_name(const ease__place *p, char *to, size_t size)
{
    if (p->inside)
        snprintf(to, size, "%s", inner);
    else
        snprintf(to, size, ".%.*s.", (int)MOST_NAME, p->name);
}

/* Creates a directory and locks it. A sweep by another process may remove it in
 * between: then that process has the lock, or the name is gone. */
static bool try_part(ease__place *p)
{
    struct stat made, named;
    /* What replaces a split is readable by its owner only until it has the same
     * mode. */
    mode_t mode = p->target_fd >= 0 ? 0700 : 0777;

    if (mkdirat(holder_of(p), p->part_name, mode) != 0)
        return false;
    p->part_fd = openat(holder_of(p), p->part_name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    p->made = p->part_fd >= 0 && flock(p->part_fd, LOCK_EX | LOCK_NB) == 0 &&
              fstat(p->part_fd, &made) == 0 &&
              fstatat(holder_of(p), p->part_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
              made.st_ino == named.st_ino;
    if (p->made)
        return true;
    if (p->part_fd >= 0)
        close(p->part_fd);
    p->part_fd = -1;
    errno = EEXIST; /* as if the name had been taken */
    return false;
}

static bool make_part(ease__place *p)
{
    char begin[MOST_NAME + 4];

    begin_name(p, begin, sizeof(begin));
    sweep(holder_of(p), begin);
    for (int i = 0; i < MOST_TRIES; i++) {
        snprintf(p->part_name, sizeof(p->part_name), "%s%0*x%s", begin,
                 (int)MARK_DIGITS,
                 (unsigned)(ease__hash_seed() >> (64 - 4 * MARK_DIGITS)), part_end);
        if (try_part(p))
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

static ease_status create_part(ease__place *p, ease_error *err)
{
    bool made;

    p->inside = p->target_fd >= 0 && is_fixed(p);
    made = make_part(p);
    if (!made && p->target_fd >= 0 && !p->inside &&
        (errno == EACCES || errno == EPERM || errno == EROFS)) {
        p->inside = true;
        made = make_part(p);
    }
    if (!made)
        return ease__fail_errno(err, "%s: cannot create", p->dir);
    p->part = ease__split_path(p->inside ? p->target : p->directory, p->part_name);
    return p->part ? EASE_OK : no_memory(p, err);
}

ease_status ease__place_open(const char *dir, ease__place *p, ease_error *err)
{
    ease_status status;

    *p = EASE__PLACE_NONE;
    p->dir = dir;
    status = resolve(p, err);
    if (status)
        return status;
    p->parent = open(p->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (p->parent < 0)
        return ease__fail_errno(err, "%s: cannot create", dir);
    if (access(p->target, F_OK) == 0)
        status = open_target(p, err);
    return status ? status : create_part(p, err);
}

void ease__place_close(ease__place *p)
{
    if (p->made) {
        (void)fchmod(p->part_fd, 0700); /* the target's may forbid it */
        remove_files(p->part_fd);
        (void)unlinkat(holder_of(p), p->part_name, AT_REMOVEDIR);
    }
    if (p->part_fd >= 0)
        close(p->part_fd);
    if (p->target_fd >= 0)
        close(p->target_fd);
    if (p->parent >= 0)
        close(p->parent);
    ease__free(p->part);
    ease__free(p->target);
    ease__free(p->directory);
    *p = EASE__PLACE_NONE;
}

/* ---- replacing the target ----------------------------------------------------- */

/* Syncs the directory: the contents of the files are synced already. */
static void sync_names(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

static void keep_attributes(const struct stat *old, int fd)
{
    struct stat now;

    if (fstat(fd, &now) == 0 &&
        (now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0)
        (void)!fchown(fd, (uid_t)-1, old->st_gid);
    (void)fchmod(fd, old->st_mode & 07777);
}

/* Owner, group and permissions of the old files and of their directory. */
static void keep_all_attributes(const ease__place *p)
{
    struct stat old;

    for (int i = 0; i < EASE__SPLIT_FILES; i++) {
        const char *name = ease__split_file(i);
        int fd = openat(p->part_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0 && fstatat(p->target_fd, name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(old.st_mode))
            keep_attributes(&old, fd);
        if (fd >= 0)
            close(fd);
    }
    if (!p->inside && fstat(p->target_fd, &old) == 0)
        keep_attributes(&old, p->part_fd);
}

static ease_status cannot_replace(const ease__place *p, ease_error *err)
{
    return ease__fail_errno(err, "%s: cannot replace", p->dir);
}

static bool put_stand_in(const ease__place *p)
{
    int fd = openat(p->part_fd, stand_in, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    0666);
    size_t length = strlen(ease__split_unfinished);
    bool done = fd >= 0 &&
                write(fd, ease__split_unfinished, length) == (ssize_t)length &&
                fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    return done &&
           renameat(p->part_fd, stand_in, p->target_fd, EASE__SPLIT_RECORD) == 0;
}

/* Moves a file from the part to the target; if the part has no such file, it is removed
 * from the target. */
static bool move_file(const ease__place *p, const char *name)
{
    if (renameat(p->part_fd, name, p->target_fd, name) == 0)
        return true;
    return errno == ENOENT && (unlinkat(p->target_fd, name, 0) == 0 || errno == ENOENT);
}

/* Moves the files one by one: first the record of an unfinished split, last the final
 * record. */
static ease_status move_files(ease__place *p, ease_error *err)
{
    if (flock(p->target_fd, LOCK_EX | LOCK_NB) != 0)
        return ease__fail(err, EASE_E_IO, "%s: another split is being written into it",
                          p->dir);
    sweep(p->target_fd, inner);
    if (!put_stand_in(p))
        return cannot_replace(p, err);
    sync_names(p->target_fd);
    for (int i = 0; i < EASE__SPLIT_FILES; i++)
        if (strcmp(ease__split_file(i), EASE__SPLIT_RECORD) != 0 &&
            !move_file(p, ease__split_file(i)))
            return cannot_replace(p, err);
    remove_loose(p->target_fd);
    sync_names(p->target_fd);
    if (!move_file(p, EASE__SPLIT_RECORD))
        return cannot_replace(p, err);
    sync_names(p->target_fd);
    return EASE_OK; /* the part, empty now, goes when the place is closed */
}

/* The part has taken the target's name; the old target, if any, now has the part's. */
static void settle(ease__place *p, bool exchanged)
{
    sync_names(p->parent);
    p->made = false;
    (void)flock(p->part_fd, LOCK_UN);
    if (!exchanged)
        return;
    sweep(p->target_fd, inner);
    remove_part(p->parent, p->part_name, false);
}

/* By rename if the target is missing or empty, else by exchange, else by moving its
 * files. Other processes may create and remove the target at the same time. */
static ease_status take_name(ease__place *p, ease_error *err)
{
    ease_status status;

    for (int i = 0; i < MOST_TRIES; i++) {
        if (renameat(p->parent, p->part_name, p->parent, p->name) == 0) {
            settle(p, false);
            return EASE_OK;
        }
        if (errno != ENOTEMPTY && errno != EEXIST)
            break;
        if (p->target_fd >= 0)
            close(p->target_fd);
        status = open_target(p, err);
        if (status && access(p->target, F_OK) != 0)
            continue;
        if (status)
            return status;
        keep_all_attributes(p);
        if (renameat2(p->parent, p->part_name, p->parent, p->name, RENAME_EXCHANGE) ==
            0) {
            settle(p, true);
            return EASE_OK;
        }
        if (errno != ENOENT)
            return move_files(p, err);
    }
    return cannot_replace(p, err);
}

ease_status ease__place_commit(ease__place *p, ease_error *err)
{
    ease_status status;

    if (fsync(p->part_fd) != 0)
        return ease__fail_errno(err, "%s: cannot sync", p->dir);
    if (p->target_fd >= 0)
        keep_all_attributes(p);
    if (!p->inside)
        return take_name(p, err);
    status = look_around(p->target_fd, p->dir, err);
    return status ? status : move_files(p, err);
}
