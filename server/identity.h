/* What tells one file from another at the same path. */
#ifndef EASE_SERVER_IDENTITY_H
#define EASE_SERVER_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

typedef struct identity {
    bool exists;
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec written;
} identity;

identity identity_of(const char *path);
bool identity_same(const identity *a, const identity *b);

#endif
