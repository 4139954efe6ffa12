/* Preloaded into the server: calls that write a journal fail while the file that
 * EASE_FAULTS names lists them, one "CALL ERRNO" on each line. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLACES_LIBC __attribute__((visibility("default")))
REPLACES_LIBC int fdatasync(int fd);
REPLACES_LIBC int ftruncate(int fd, off_t bytes);
REPLACES_LIBC ssize_t write(int fd, const void *data, size_t bytes);

static bool is_journal(int fd)
{
    char link[48], path[4096];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    return strstr(path, ".journal") != NULL;
}

/* Sets errno to what the call shall fail with. */
static bool fails(const char *call, int fd)
{
    const char *path = getenv("EASE_FAULTS");
    FILE *f = path && is_journal(fd) ? fopen(path, "re") : NULL;
    char name[32];
    int number = 0;
    bool found = false;

    while (f && !found && fscanf(f, "%31s %d", name, &number) == 2)
        found = strcmp(name, call) == 0;
    if (f)
        fclose(f);
    if (found)
        errno = number;
    return found;
}

int fdatasync(int fd)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

    return fails("fdatasync", fd) ? -1 : next(fd);
}

int ftruncate(int fd, off_t bytes)
{
    int (*next)(int, off_t) = (int (*)(int, off_t))dlsym(RTLD_NEXT, "ftruncate");

    return fails("ftruncate", fd) ? -1 : next(fd, bytes);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    ssize_t (*next)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

    return fails("write", fd) ? -1 : next(fd, data, bytes);
}
