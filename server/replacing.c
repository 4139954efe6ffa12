#include "replacing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal.h"

static ease_status check_identity(const char *path, const identity *expected,
                                  bool *foreign, ease_error *err)
{
    identity now = identity_of(path);
    int failed = errno;

    *foreign = now.exists && !identity_same(&now, expected);
    if (!now.exists)
        return journal_fail(err, EASE_E_IO, failed,
                            "%.300s: %s, and the updated model is not saved; the next "
                            "save tries it again",
                            path, failed == ENOENT ? "is gone" : "cannot be examined");
    if (*foreign)
        return journal_fail(err, EASE_E_IO, 0,
                            "%.300s: is another file than the one that was opened, and "
                            "is not replaced by the updated model: restart the server "
                            "to serve it",
                            path);
    return EASE_OK;
}

/* The name of a temporary file of the library, which removes what a killed process has
 * left. It is random: processes in other containers may have the same number. */
static char *sibling_of(const char *target)
{
    const char *slash = strrchr(target, '/');
    int directory = slash ? (int)(slash - target) + 1 : 0;
    size_t size = (size_t)directory + 64;
    char *name = malloc(size);
    unsigned long long number = 0;

    (void)!getrandom(&number, sizeof(number), 0);
    if (name)
        snprintf(name, size, "%.*s.ease.%ld.live.%016llx.part", directory, target,
                 (long)getpid(), number);
    return name;
}

/* If the group cannot be kept, the new group gets the permissions of others. */
static void copy_ownership(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    struct stat made;

    if (fchown(fd, old->st_uid, old->st_gid) != 0)
        (void)!fchown(fd, (uid_t)-1, old->st_gid);
    if (fstat(fd, &made) == 0 && made.st_gid != old->st_gid)
        mode = (mode & 0707) | (mode & 07) << 3;
    (void)fchmod(fd, mode);
}

/* Whoever writes the sibling keeps its ownership. The lock says that it is no leftover,
 * however long that takes. */
static ease_status make_sibling(replacement *r, ease_error *err)
{
    struct stat old;

    r->fd = open(r->sibling, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (r->fd < 0)
        return journal_fail(err, EASE_E_IO, errno, "%.300s: cannot create", r->sibling);
    (void)flock(r->fd, LOCK_EX | LOCK_NB);
    if (stat(r->target, &old) == 0)
        copy_ownership(r->fd, &old);
    return EASE_OK;
}

ease_status replacing_begin(const char *path, const identity *expected,
                            replacement *out, bool *foreign, ease_error *err)
{
    ease_status status;

    *out = (replacement){.path = path, .fd = -1};
    status = check_identity(path, expected, foreign, err);
    if (!status)
        status = ease_output_check(path, 0, err);
    if (status)
        return status;
    out->target = realpath(path, NULL);
    if (!out->target)
        return journal_fail(err, EASE_E_IO, errno, "%.300s: cannot be resolved", path);
    out->sibling = sibling_of(out->target);
    return out->sibling ? make_sibling(out, err)
                        : journal_fail(err, EASE_E_NOMEM, 0, "saving the model");
}

/* The data are on the disk; this makes the new name durable. */
static void sync_directory(const replacement *r)
{
    const char *slash = strrchr(r->target, '/');
    int fd;

    r->target[slash == r->target ? 1 : slash - r->target] = '\0';
    fd = open(r->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

ease_status replacing_commit(replacement *r, identity *expected, bool *foreign,
                             ease_error *err)
{
    /* Of the sibling: after the rename, the path may be somebody else's already. */
    identity made = identity_of(r->sibling);
    ease_status status = check_identity(r->path, expected, foreign, err);

    if (status)
        return status;
    if (rename(r->sibling, r->target) != 0)
        return journal_fail(err, EASE_E_IO, errno, "%.300s: cannot rename", r->path);
    free(r->sibling);
    r->sibling = NULL;
    *expected = made;
    sync_directory(r);
    return EASE_OK;
}

void replacing_end(replacement *r)
{
    if (r->fd >= 0)
        close(r->fd);
    if (r->sibling)
        (void)unlink(r->sibling);
    free(r->sibling);
    free(r->target);
    *r = (replacement){.fd = -1};
}
