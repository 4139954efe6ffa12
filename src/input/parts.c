#include "input/parts.h"

#include <dirent.h>
#include <errno.h>
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

static ease_status add_path(listing *l, const char *name, ease_error *err)
{
    size_t size = strlen(l->dir) + strlen(name) + 2;
    bool slash = l->dir[strlen(l->dir) - 1] == '/';
    char *path;

    if (l->count == l->capacity) {
        size_t more = l->capacity ? 2 * l->capacity : 64;
        char **grown = ease__realloc_array(l->paths, more, sizeof(*grown));

        if (!grown)
            return no_memory(l, err);
        l->paths = grown;
        l->capacity = more;
    }
    path = ease__alloc_array(size, 1);
    if (!path)
        return no_memory(l, err);
    snprintf(path, size, "%s%s%s", l->dir, slash ? "" : "/", name);
    l->paths[l->count++] = path;
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
