#include "samefile.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a path refers to: an existing file, or the place where one would be created. */
typedef struct place {
    bool there;
    dev_t device;
    ino_t inode;
    char path[PATH_MAX]; /* absolute, without links; only if there is no file yet */
} place;

/* False for devices: nothing can be lost by writing to /dev/null or a terminal
 * twice. */
static bool holds_data(const struct stat *st)
{
    return S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode);
}

/* False for a device, and for a path in a directory that does not exist. `standard` is
 * the stream that "-" stands for. */
static bool find_place(const char *path, int standard, place *out)
{
    bool is_stream = strcmp(path, "-") == 0;
    struct stat st;

    *out = (place){.there = true};
    if ((is_stream ? fstat(standard, &st) : stat(path, &st)) == 0) {
        out->device = st.st_dev;
        out->inode = st.st_ino;
        return holds_data(&st);
    }
    out->there = false;
    /* With glibc, realpath() of a missing file leaves the resolved path up to the first
     * missing component in the buffer. If the directory exists, this is the file. */
    return !is_stream && !realpath(path, out->path) && errno == ENOENT;
}

static bool is_same(const char *a, int a_stream, const char *b, int b_stream)
{
    place x, y;

    if (!find_place(a, a_stream, &x) || !find_place(b, b_stream, &y) ||
        x.there != y.there)
        return false;
    if (x.there)
        return x.device == y.device && x.inode == y.inode;
    return strcmp(x.path, y.path) == 0;
}

static const char *name_of(const char *path, const char *stream)
{
    return strcmp(path, "-") == 0 ? stream : path;
}

int check_outputs_differ(console *c, const char *one, const char *other)
{
    if (!one || !other || !is_same(one, STDOUT_FILENO, other, STDOUT_FILENO))
        return EXIT_DONE;
    return fail(c, EXIT_USAGE,
                "%s and %s are the same file: one of two outputs would be lost",
                name_of(one, "standard output"), name_of(other, "standard output"));
}

int check_differs(console *c, const char *output, const char *input)
{
    if (!input || !is_same(output, STDOUT_FILENO, input, STDIN_FILENO))
        return EXIT_DONE;
    return fail(c, EXIT_USAGE, "%s: the output is the input, which would be lost",
                name_of(output, "standard output"));
}
