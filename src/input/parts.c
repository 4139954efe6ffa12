#include "input/parts.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct listing {
    const char *dir;
    char **paths;
    size_t count, capacity;
} listing;

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void free_listing(listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        ease__free(l->paths[i]);
    ease__free(l->paths);
}

static ease_status no_memory(const listing *l, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "reading %s", l->dir);
}

/* Adds an allocated path, which is freed on failure. */
static ease_status keep_path(listing *l, char *path, ease_error *err)
{
    if (path && l->count == l->capacity) {
        size_t more = l->capacity ? 2 * l->capacity : 64;
        char **grown = ease__realloc_array(l->paths, more, sizeof(*grown));

        if (!grown) {
            ease__free(path);
            return no_memory(l, err);
        }
        l->paths = grown;
        l->capacity = more;
    }
    if (!path)
        return no_memory(l, err);
    l->paths[l->count++] = path;
    return EASE_OK;
}

static ease_status add_path(listing *l, const char *name, ease_error *err)
{
    size_t size = strlen(l->dir) + strlen(name) + 2;
    bool slash = l->dir[strlen(l->dir) - 1] == '/';
    char *path = ease__alloc_array(size, 1);
    ease_status status;

    if (path)
        snprintf(path, size, "%s%s%s", l->dir, slash ? "" : "/", name);
    status = keep_path(l, path, err);
    if (status)
        return status;
    /* If a directory were ignored, its rows would be missing without a message. */
    if (is_directory(path))
        return ease__fail(err, EASE_E_DATA,
                          "%s: a directory within a directory: name it itself", path);
    return EASE_OK;
}

static int compare_paths(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static ease_status list_parts(listing *l, ease_error *err)
{
    DIR *d = opendir(l->dir);
    ease_status status = EASE_OK;
    const struct dirent *entry;

    if (!d)
        return ease__fail_errno(err, "%s: cannot open", l->dir);
    while (!status) {
        errno = 0;
        entry = readdir(d);
        if (!entry && errno)
            status = ease__fail_errno(err, "%s: cannot be read", l->dir);
        if (!entry)
            break;
        if (entry->d_name[0] != '.' && entry->d_name[0] != '_')
            status = add_path(l, entry->d_name, err);
    }
    closedir(d);
    if (!status && l->count == 0)
        status = ease__fail(err, EASE_E_DATA, "%s: a directory without files", l->dir);
    if (!status)
        qsort(l->paths, l->count, sizeof(*l->paths), compare_paths);
    return status;
}

ease_status ease__parts_open(const char *path, const ease_hooks *hooks,
                             ease__input **out, ease_error *err)
{
    listing l = {.dir = path};
    ease_status status;

    if (strcmp(path, "-") == 0 || !is_directory(path))
        return ease__input_open(path, hooks, out, err);
    status = list_parts(&l, err);
    if (!status) /* it owns the paths now */
        return ease__input_open_list(path, l.paths, l.count, hooks, out, err);
    free_listing(&l);
    return status;
}

/* ---- files, directories and patterns ----------------------------------------- */

bool ease__is_pattern(const char *path)
{
    struct stat st;

    return strpbrk(path, "*?[") && stat(path, &st) != 0;
}

/* The ending of a file's name, before that of its compression; "" for none. */
static const char *ending_of(const char *path, size_t *length)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot;
    size_t end = strlen(name);

    if (end > 3 && strcmp(name + end - 3, ".gz") == 0)
        end -= 3;
    else if (end > 4 && strcmp(name + end - 4, ".zst") == 0)
        end -= 4;
    dot = memrchr(name, '.', end);
    *length = dot ? end - (size_t)(dot - name) : 0;
    return dot ? dot : name + end;
}

static bool same_ending(const char *a, const char *b)
{
    size_t lengths[2];
    const char *first = ending_of(a, &lengths[0]), *second = ending_of(b, &lengths[1]);

    return lengths[0] == lengths[1] && memcmp(first, second, lengths[0]) == 0;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Checks that the files from `first` on, of a directory, can be parts of one data
 * set. */
static ease_status check_alike(const listing *l, size_t first, const char *dir,
                               ease_error *err)
{
    for (size_t i = first; i < l->count; i++) {
        const char *name = name_of(l->paths[i]);

        if (strcmp(name, "split.json") == 0 || strcmp(name, "unique_sid.txt") == 0)
            return ease__fail(err, EASE_E_DATA,
                              "%s: a split: name one of its tables, such as "
                              "%s/train.csv",
                              dir, dir);
    }
    for (size_t i = first + 1; i < l->count; i++)
        if (!same_ending(l->paths[first], l->paths[i]))
            return ease__fail(err, EASE_E_DATA,
                              "%s: a directory with both %s and %s: choose files by a "
                              "pattern, such as '%s/*.csv'",
                              dir, name_of(l->paths[first]), name_of(l->paths[i]), dir);
    return EASE_OK;
}

static ease_status add_directory(listing *l, const char *dir, ease_error *err)
{
    listing parts = {.dir = dir};
    ease_status status = list_parts(&parts, err);

    if (!status)
        status = check_alike(&parts, 0, dir, err);
    for (size_t i = 0; i < parts.count; i++) {
        if (status) {
            ease__free(parts.paths[i]);
            continue;
        }
        status = keep_path(l, parts.paths[i], err);
    }
    ease__free(parts.paths);
    return status;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static ease_status add_pattern(listing *l, const char *pattern, ease_error *err)
{
    glob_t found = {0};
    int fault = glob(pattern, GLOB_NOSORT, NULL, &found);
    ease_status status = EASE_OK;

    if (fault == GLOB_NOSPACE)
        status = no_memory(l, err);
    else if (fault)
        status = ease__fail(err, EASE_E_IO, "%s: no file matches", pattern);
    else /* not by the locale's order */
        qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), compare_names);
    for (size_t i = 0; !status && i < found.gl_pathc; i++) {
        if (is_directory(found.gl_pathv[i]))
            status = ease__fail(err, EASE_E_DATA, "%s: matches a directory, %s",
                                pattern, found.gl_pathv[i]);
        else
            status = keep_path(l, ease__copy_string(found.gl_pathv[i]), err);
    }
    globfree(&found);
    return status;
}

static ease_status add_any(listing *l, const char *path, bool alone, ease_error *err)
{
    if (strcmp(path, "-") == 0 && !alone)
        return ease__fail(err, EASE_E_ARG,
                          "standard input cannot be one of several files");
    if (is_directory(path))
        return add_directory(l, path, err);
    if (ease__is_pattern(path))
        return add_pattern(l, path, err);
    return keep_path(l, ease__copy_string(path), err);
}

ease_status ease__list_open(const char *path, const char *const *more,
                            const ease_hooks *hooks, ease__input **out, ease_error *err)
{
    listing l = {.dir = path};
    bool alone = !more || !more[0];
    ease_status status = add_any(&l, path, alone, err);
    char name[400];

    for (size_t i = 0; !status && !alone && more[i]; i++)
        status = add_any(&l, more[i], false, err);
    if (status) {
        free_listing(&l);
        return status;
    }
    assert(l.paths);    /* every path adds one, or fails */
    if (l.count == 1) { /* which may be a zip file */
        status = ease__input_open(l.paths[0], hooks, out, err);
        free_listing(&l);
        return status;
    }
    if (alone)
        return ease__input_open_list(path, l.paths, l.count, hooks, out, err);
    snprintf(name, sizeof(name), "%.360s and %zu more", l.paths[0], l.count - 1);
    return ease__input_open_list(name, l.paths, l.count, hooks, out, err);
}
