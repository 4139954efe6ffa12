#include "identity.h"

#include <sys/stat.h>

identity identity_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return (identity){.exists = false};
    return (identity){.exists = true,
                      .device = st.st_dev,
                      .inode = st.st_ino,
                      .size = st.st_size,
                      .written = st.st_mtim};
}

bool identity_same(const identity *a, const identity *b)
{
    return a->exists == b->exists && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->written.tv_sec == b->written.tv_sec &&
           a->written.tv_nsec == b->written.tv_nsec;
}
