#include "splitdir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has(const char *dir, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool is_split(const char *path)
{
    return is_directory(path) &&
           (has(path, "split.json") || has(path, "validation_tr.csv") ||
            has(path, "test_tr.csv"));
}

int check_split(console *c, const char *path)
{
    if (access(path, F_OK) != 0)
        return fail(c, EXIT_FAILED, "%s: cannot open: %s", path, strerror(errno));
    if (is_split(path) || has(path, "train.csv"))
        return EXIT_DONE;
    if (is_directory(path))
        return fail(c, EXIT_FAILED,
                    "%s: no split: it has neither split.json nor train.csv; ease split "
                    "DATA -o DIR --protocol liang18 makes one",
                    path);
    return fail(c, EXIT_FAILED,
                "%s: a file, where the directory of a split is wanted: ease split %s "
                "-o DIR --protocol liang18 makes one of data",
                path, path);
}

int check_no_split(console *c, const char *path)
{
    if (!is_split(path))
        return EXIT_DONE;
    return fail(c, EXIT_DATA,
                "%s: a split, where interactions are wanted: %s/train.csv are those to "
                "train on; ease tune %s chooses lambda and trains, ease eval MODEL "
                "--split %s measures",
                path, path, path, path);
}
