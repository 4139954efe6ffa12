#include "samefile.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The identity of a path: an existing file, or the place where one would be created. */
typedef struct place {
    bool there;
    mode_t mode;
    dev_t device;
    ino_t inode;
    char path[PATH_MAX]; /* absolute, links resolved; only if the file does not exist */
} place;

/* Finds the identity of a path. Returns false if its directory does not exist.
 * `standard` is the stream that "-" stands for. */
static bool find_place(const char *path, int standard, place *out)
{
    bool is_stream = strcmp(path, "-") == 0;
    struct stat st;

    *out = (place){.there = true, .mode = S_IFREG};
    if ((is_stream ? fstat(standard, &st) : stat(path, &st)) == 0) {
        out->device = st.st_dev;
        out->inode = st.st_ino;
        out->mode = st.st_mode;
        return true;
    }
    out->there = false;
    /* With glibc, realpath() of a missing file leaves the resolved path up to the first
     * missing component in the buffer. If the directory exists, this is the file. */
    return !is_stream && !realpath(path, out->path) && errno == ENOENT;
}

/* True if both paths are the same file; *mode is its type, regular if it does not
 * exist yet. */
static bool is_same(const char *a, int a_stream, const char *b, int b_stream,
                    mode_t *mode)
{
    place x, y;

    if (!find_place(a, a_stream, &x) || !find_place(b, b_stream, &y) ||
        x.there != y.there)
        return false;
    *mode = x.mode;
    if (x.there)
        return x.device == y.device && x.inode == y.inode;
    return strcmp(x.path, y.path) == 0;
}

static const char *name_of(const char *path, const char *stream)
{
    return strcmp(path, "-") == 0 ? stream : path;
}

bool is_pattern(const char *path)
{
    struct stat st;

    return strpbrk(path, "*?[") && stat(path, &st) != 0;
}

int check_outputs_differ(console *c, const char *one, const char *other)
{
    mode_t mode;

    if (!one || !other || !is_same(one, STDOUT_FILENO, other, STDOUT_FILENO, &mode))
        return EXIT_DONE;
    /* Devices contain no data that could be lost: two outputs may go to /dev/null, or
     * to a terminal. */
    if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode))
        return EXIT_DONE;
    return fail(c, EXIT_USAGE,
                "%s and %s are the same file: one of two outputs would be lost",
                name_of(one, "standard output"), name_of(other, "standard output"));
}

static int fail_replacing(console *c, const char *output)
{
    return fail(c, EXIT_USAGE, "%s: the output is the input, which would be lost",
                name_of(output, "standard output"));
}

/* ---- directories -------------------------------------------------------------- */

/* True for files of the data sets that a directory may contain, as include/ease.h names
 * them. */
static bool is_data(const char *name)
{
    static const char *const begins[] = {"ratings.csv", "ratings.dat",
                                         "train_triplets.txt", "combined_data_", "mv_"};

    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* True for part files, which may have any name except those of an engine's other
 * files. */
static bool is_part(const char *name)
{
    return name[0] != '.' && name[0] != '_';
}

static int check_differs_within(console *c, const char *output, const char *dir,
                                bool (*is_input)(const char *name))
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    int code = EXIT_DONE;
    mode_t mode;

    while (d && !code && (entry = readdir(d))) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);

        if (length < PATH_MAX && is_input(entry->d_name) &&
            is_same(output, STDOUT_FILENO, path, STDIN_FILENO, &mode) && S_ISREG(mode))
            code = fail_replacing(c, output);
    }
    if (d)
        closedir(d);
    return code;
}

int check_differs_parts(console *c, const char *output, const char *dir)
{
    return check_differs_within(c, output, dir, is_part);
}

/* ---- inputs ------------------------------------------------------------------- */

static int check_differs_pattern(console *c, const char *output, const char *pattern)
{
    glob_t found = {0};
    mode_t mode;
    int code = EXIT_DONE;

    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; !code && i < found.gl_pathc; i++)
            if (is_same(output, STDOUT_FILENO, found.gl_pathv[i], STDIN_FILENO,
                        &mode) &&
                S_ISREG(mode))
                code = fail_replacing(c, output);
    globfree(&found);
    return code;
}

int check_differs_all(console *c, const char *output, const common_args *common)
{
    int code = EXIT_DONE;

    for (int i = 0; !code && i < common->operand_count; i++)
        code = check_differs(c, output, common->operands[i]);
    return code;
}

int check_differs(console *c, const char *output, const char *input)
{
    char movies[PATH_MAX];
    mode_t mode;
    int code;

    if (!input)
        return EXIT_DONE;
    if (is_pattern(input))
        return check_differs_pattern(c, output, input);
    /* A socket contains no data that could be lost: a remote shell may use one for
     * input and output. */
    if (is_same(output, STDOUT_FILENO, input, STDIN_FILENO, &mode) && S_ISREG(mode))
        return fail_replacing(c, output);
    code = check_differs_within(c, output, input, is_data);
    snprintf(movies, sizeof(movies), "%s/training_set", input);
    return code ? code : check_differs_within(c, output, movies, is_data);
}
