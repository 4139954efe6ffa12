/* Checks that shards are distinct files: the same file twice would count its users
 * twice. */
#include <stdlib.h>
#include <sys/stat.h>

#include "gram/gram.h"

typedef struct identity {
    dev_t device;
    ino_t inode;
    const char *path;
} identity;

static int compare_identities(const void *a, const void *b)
{
    const identity *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Only files and directories are compared: a pipe can be read only once, and reading
 * reports what cannot be opened. */
static int identify(const char *const *paths, int count, identity *out)
{
    struct stat st;
    int found = 0;

    for (int k = 0; k < count; k++)
        if (paths[k] && stat(paths[k], &st) == 0 &&
            (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
            out[found++] = (identity){st.st_dev, st.st_ino, paths[k]};
    return found;
}

ease_status ease__shards_check(const char *const *paths, int count, ease_error *err)
{
    identity *all = ease__alloc_array((size_t)count, sizeof(*all));
    ease_status status = EASE_OK;
    int found;

    if (!all)
        return ease__fail(err, EASE_E_NOMEM, "looking at %d files", count);
    found = identify(paths, count, all);
    qsort(all, (size_t)found, sizeof(*all), compare_identities);
    for (int k = 1; !status && k < found; k++)
        if (compare_identities(&all[k - 1], &all[k]) == 0)
            status = ease__fail(
                err, EASE_E_ARG,
                "%s and %s: the same file, whose users would count twice",
                all[k - 1].path, all[k].path);
    ease__free(all);
    return status;
}
