#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_TRIES = 100, BLOCK_UNIT = 512 /* bytes, of st_blocks */ };

/* ---- files ----------------------------------------------------------------------- */

static void lock_path(const workdir *w, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/" WORKDIR_NAMES "lock", w->path);
}

void workdir_manifest(const workdir *w, int generation, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/" WORKDIR_NAMES "%d.checkpoint", w->path, generation);
}

void workdir_tiles(const workdir *w, int generation, int rank, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/" WORKDIR_NAMES "%d.tiles.%d", w->path, generation,
             rank);
}

ease_status workdir_sync(const workdir *w, ease_error *err)
{
    int fd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ease_status status = EASE_OK;

    /* Some network file systems do not sync directories, as they need not. */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP))
        status = ease__fail_errno(err, "%s: cannot sync the directory", w->path);
    if (fd >= 0)
        close(fd);
    return status;
}

/* Removes the files of a generation, or returns the sum of their bytes. */
static size_t visit(const workdir *w, int generation, bool removing)
{
    DIR *d = opendir(w->path);
    const struct dirent *entry;
    char begin[sizeof(WORKDIR_NAMES) + 16];
    size_t bytes = 0;
    struct stat st;

    snprintf(begin, sizeof(begin), WORKDIR_NAMES "%d.", generation);
    while (d && (entry = readdir(d))) {
        if (strncmp(entry->d_name, begin, strlen(begin)) != 0)
            continue;
        if (removing)
            (void)unlinkat(dirfd(d), entry->d_name, 0);
        else if (fstatat(dirfd(d), entry->d_name, &st, 0) == 0)
            bytes += (size_t)st.st_blocks * BLOCK_UNIT;
    }
    if (d)
        closedir(d);
    return bytes;
}

size_t workdir_bytes(const workdir *w, int generation)
{
    return visit(w, generation, false);
}

/* The manifest goes first: without it, the tiles are nothing. */
ease_status workdir_remove(const workdir *w, int generation, ease_error *err)
{
    char path[PATH_MAX];
    ease_status status;

    workdir_manifest(w, generation, path);
    if (unlink(path) != 0 && errno != ENOENT)
        return ease__fail_errno(err, "%s: cannot remove", path);
    status = workdir_sync(w, err);
    if (!status)
        (void)visit(w, generation, true);
    return status;
}

/* ---- one run at a time ----------------------------------------------------------- */

/* Opens and locks the file `path`. A run that ends removes it, perhaps just before it
 * is locked here: then it is opened again. */
static ease_status lock_file(workdir *w, const char *path, ease_error *err)
{
    struct stat held, named;

    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        w->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (w->lock < 0)
            return ease__fail_errno(err, "%s: cannot write to the directory", w->path);
        if (flock(w->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            break;
        if (fstat(w->lock, &held) == 0 && stat(path, &named) == 0 &&
            held.st_dev == named.st_dev && held.st_ino == named.st_ino)
            return EASE_OK;
        close(w->lock);
        w->lock = -1;
    }
    if (w->lock >= 0)
        close(w->lock);
    w->lock = -1;
    /* A file server may keep the lock of a machine that is gone. */
    return ease__fail(err, EASE_E_IO,
                      "%s: used by another ease-cluster; if none is running, remove %s",
                      w->path, path);
}

static ease_status take_lock(workdir *w, uint64_t *token, ease_error *err)
{
    char path[PATH_MAX];
    ease_status status;

    lock_path(w, path);
    status = lock_file(w, path, err);
    if (status)
        return status;
    *token = ease__hash_seed();
    if (pwrite(w->lock, token, sizeof(*token), 0) != sizeof(*token) ||
        fsync(w->lock) != 0)
        return ease__fail_errno(err, "%s: cannot write", path);
    return EASE_OK;
}

/* The file has a number by which the others see that it is the same directory. */
static ease_status check_shared(const workdir *w, uint64_t token, ease_error *err)
{
    char path[PATH_MAX];
    uint64_t seen = 0;
    ssize_t got;
    int fd;

    lock_path(w, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : pread(fd, &seen, sizeof(seen), 0);
    if (fd >= 0)
        close(fd);
    if (got == sizeof(seen) && seen == token)
        return EASE_OK;
    return ease__fail(err, EASE_E_IO,
                      "%s: process %d on %s sees another directory than process 0: it "
                      "must be shared by all machines",
                      w->path, w->group->rank, w->group->host);
}

ease_status workdir_take(workdir *w, ease_error *err)
{
    uint64_t token = 0;
    ease_status status = EASE_OK;

    w->lock = -1;
    if (!w->path)
        return EASE_OK;
    if (w->group->rank == 0)
        status = take_lock(w, &token, err);
    status = group_agree(w->group, status, err);
    if (status)
        return status;
    MPI_Bcast(&token, 1, MPI_UINT64_T, 0, w->group->all);
    return group_agree(w->group, check_shared(w, token, err), err);
}

void workdir_release(workdir *w)
{
    char path[PATH_MAX];

    if (!w->path || w->lock < 0)
        return;
    lock_path(w, path);
    (void)unlink(path);
    close(w->lock);
    w->lock = -1;
}
