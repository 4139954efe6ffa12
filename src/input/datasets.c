#include "input/datasets.h"

#include "input/parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const only_files[] = {"ratings.csv", "ratings.dat",
                                         "train_triplets.txt"};
static const char *const endings[] = {"", ".gz", ".zst", ".zip"};

enum {
    ONLY_FILES = sizeof(only_files) / sizeof(only_files[0]),
    ENDINGS = sizeof(endings) / sizeof(endings[0]),
    PARTS = 4,       /* of the combined form */
    MOVIE_DIGITS = 7 /* of mv_0000001.txt */
};

/* ---- names -------------------------------------------------------------------- */

/* The index of the ending that `rest` is; -1: none. */
static int ending_of(const char *rest)
{
    for (int i = 0; i < ENDINGS; i++)
        if (strcmp(rest, endings[i]) == 0)
            return i;
    return -1;
}

bool ease__names_data(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (int i = 0; i < ONLY_FILES; i++) {
        size_t length = strlen(only_files[i]);

        if (strncmp(name, only_files[i], length) == 0 && ending_of(name + length) >= 0)
            return true;
    }
    return false;
}

/* The number between `before` and `after` in a file name, and its ending; 0 if the
 * name has another form. */
static int32_t numbered(const char *name, const char *before, int digits,
                        const char *after, int *ending)
{
    size_t length = strlen(before);
    int32_t number = 0;

    if (strncmp(name, before, length) != 0)
        return 0;
    name += length;
    for (int i = 0; i < digits; i++, name++) {
        if (*name < '0' || *name > '9')
            return 0;
        number = 10 * number + (*name - '0');
    }
    length = strlen(after);
    if (strncmp(name, after, length) != 0)
        return 0;
    *ending = ending_of(name + length);
    return *ending < 0 ? 0 : number;
}

static char *join(const char *dir, const char *name)
{
    size_t length = strlen(dir), size;
    char *path;

    while (length > 1 && dir[length - 1] == '/')
        length--;
    size = length + strlen(name) + 2;
    path = ease__alloc_array(size, 1);
    if (path)
        snprintf(path, size, "%.*s/%s", (int)length, dir, name);
    return path;
}

/* ---- files of a directory ----------------------------------------------------- */

typedef struct numbered_file {
    int32_t number;
    int ending;
} numbered_file;

/* Files with numbers in their names. */
typedef struct series {
    const char *before, *after;
    int digits;
    numbered_file *files;
    size_t count, capacity;
} series;

typedef struct holdings {
    const char *dir;
    char *only;   /* the data, if it is a single file */
    char *folder; /* the directory training_set */
    series movies, parts;
    int forms;
    bool files;                 /* there are some that could be parts */
    char first[64], second[64]; /* names that prove two data sets */
    char other[64];             /* the first name of what is not a file */
    const char *kind;           /* what that is; NULL: there are files alone */
} holdings;

static void holdings_free(holdings *h)
{
    ease__free(h->only);
    ease__free(h->folder);
    ease__free(h->movies.files);
    ease__free(h->parts.files);
}

static ease_status no_memory(const char *dir, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "reading %s", dir);
}

static void count_form(holdings *h, const char *name)
{
    snprintf(h->forms++ ? h->second : h->first, sizeof(h->first), "%.60s", name);
}

/* Adds a file to the series if its name fits; *is says whether it does. Returns
 * false if there is no memory. */
static bool take_numbered(series *s, const char *name, bool *is)
{
    numbered_file f = {0};

    f.number = numbered(name, s->before, s->digits, s->after, &f.ending);
    *is = f.number > 0;
    if (!*is)
        return true;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 64;
        numbered_file *grown = ease__realloc_array(s->files, capacity, sizeof(*grown));

        if (!grown)
            return false;
        s->files = grown;
        s->capacity = capacity;
    }
    s->files[s->count++] = f;
    return true;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool take_folder(holdings *h, const char *name)
{
    char *path = join(h->dir, name);

    if (!path)
        return false;
    if (is_directory(path)) {
        h->folder = path;
        count_form(h, name);
        return true;
    }
    ease__free(path);
    return true;
}

/* False: no memory. */
static bool take_name(holdings *h, const char *name, bool movies_alone)
{
    bool is = false;

    if (!take_numbered(&h->movies, name, &is))
        return false;
    if (is && h->movies.count == 1 && !movies_alone)
        count_form(h, name);
    if (is || movies_alone)
        return true;
    if (!take_numbered(&h->parts, name, &is))
        return false;
    if (is && h->parts.count == 1)
        count_form(h, name);
    if (is)
        return true;
    if (strcmp(name, "training_set") == 0)
        return take_folder(h, name);
    if (!ease__names_data(name))
        return true;
    count_form(h, name);
    ease__free(h->only);
    h->only = join(h->dir, name);
    return h->only != NULL;
}

/* What an entry of a directory is; NULL: a file. */
static const char *kind_of(int dir, const char *name)
{
    struct stat st;

    if (fstatat(dir, name, &st, 0) == 0)
        return S_ISREG(st.st_mode)   ? NULL
               : S_ISDIR(st.st_mode) ? "a directory"
                                     : "not a file";
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)
               ? "a link to nothing"
               : "not a file";
}

static void note_kind(holdings *h, int dir, const char *name)
{
    const char *kind;

    if (name[0] == '.' || name[0] == '_')
        return;
    kind = kind_of(dir, name);
    if (!kind) {
        h->files = true;
    } else if (!h->kind || strcmp(name, h->other) < 0) {
        snprintf(h->other, sizeof(h->other), "%.60s", name);
        h->kind = kind;
    }
}

static ease_status look_into(holdings *h, const char *dir, bool movies_alone,
                             bool series_alone, ease_error *err)
{
    DIR *d = opendir(dir);
    ease_status status = EASE_OK;
    const struct dirent *entry;

    if (!d)
        return ease__fail_errno(err, "%s: cannot open", dir);
    while (!status && (entry = readdir(d))) {
        if (series_alone && ease__names_data(entry->d_name))
            continue;
        note_kind(h, dirfd(d), entry->d_name);
        if (!take_name(h, entry->d_name, movies_alone))
            status = no_memory(dir, err);
    }
    closedir(d);
    return status;
}

/* ---- numbered files ----------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
    const numbered_file *a = left, *b = right;

    return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
                                  : (a->ending > b->ending) - (a->ending < b->ending);
}

static void name_file(const series *s, int32_t number, int ending, char *to,
                      size_t size)
{
    snprintf(to, size, "%s%0*d%s%s", s->before, s->digits, (int)number, s->after,
             endings[ending]);
}

/* Checks that the files are numbered from 1 to `last` (0: any number), each once. */
static ease_status check_series(const series *s, const char *dir, int32_t last,
                                ease_error *err)
{
    char name[64], again[64];

    for (size_t i = 0; i < s->count; i++) {
        const numbered_file *f = &s->files[i];

        name_file(s, (int32_t)i + 1, 0, name, sizeof(name));
        if (i && f->number == f[-1].number) {
            name_file(s, f->number, f[-1].ending, name, sizeof(name));
            name_file(s, f->number, f->ending, again, sizeof(again));
            return ease__fail(err, EASE_E_DATA, "%s: both %s and %s are there", dir,
                              name, again);
        }
        if (f->number != (int32_t)i + 1)
            return ease__fail(err, EASE_E_IO, "%s/%s: missing, where %s%0*d%s is there",
                              dir, name, s->before, s->digits, (int)f->number,
                              s->after);
    }
    if (last && s->count < (size_t)last) {
        name_file(s, (int32_t)s->count + 1, 0, name, sizeof(name));
        return ease__fail(err, EASE_E_IO, "%s/%s: missing: there are %d such files",
                          dir, name, (int)last);
    }
    return EASE_OK;
}

static char **paths_of(const series *s, const char *dir)
{
    char **paths = ease__alloc_zero(s->count, sizeof(*paths));

    for (size_t i = 0; paths && i < s->count; i++) {
        char name[64];

        name_file(s, s->files[i].number, s->files[i].ending, name, sizeof(name));
        paths[i] = join(dir, name);
        if (!paths[i]) {
            while (i > 0)
                ease__free(paths[--i]);
            ease__free(paths);
            return NULL;
        }
    }
    return paths;
}

static ease_status open_series(series *s, const char *dir, int32_t last,
                               const ease_hooks *hooks, ease__input **out,
                               ease_error *err)
{
    ease_status status;
    char **paths;

    qsort(s->files, s->count, sizeof(*s->files), compare_numbers);
    status = check_series(s, dir, last, err);
    if (status)
        return status;
    paths = paths_of(s, dir);
    if (!paths)
        return no_memory(dir, err);
    return ease__input_open_list(dir, paths, s->count, hooks, out, err);
}

/* ---- opening ------------------------------------------------------------------ */

static ease_status check_forms(const holdings *h, bool series_alone, ease_error *err)
{
    if (h->forms == 1)
        return EASE_OK;
    if (h->forms > 1)
        return ease__fail(err, EASE_E_DATA,
                          "%s: both %s and %s are there: name the one to be read",
                          h->dir, h->first, h->second);
    if (series_alone)
        return ease__fail(err, EASE_E_DATA,
                          "%s: a directory without training_set, mv_0000001.txt or "
                          "combined_data_1.txt",
                          h->dir);
    if (h->files && h->kind)
        return ease__fail(err, EASE_E_DATA,
                          "%s: a directory without a data set: its files are no parts, "
                          "since %s is %s: name the files, as in '%s/*.csv'",
                          h->dir, h->other, h->kind, h->dir);
    return ease__fail(err, EASE_E_DATA,
                      "%s: a directory without a data set: ratings.csv, ratings.dat, "
                      "train_triplets.txt, training_set, mv_0000001.txt, "
                      "combined_data_1.txt, or files alone that are its parts",
                      h->dir);
}

static ease_status open_holdings(holdings *h, bool series_alone,
                                 const ease_hooks *hooks, ease__input **out,
                                 bool *is_series, ease_error *err)
{
    const char *dir = h->dir;
    ease_status status = look_into(h, dir, false, series_alone, err);

    if (!status && h->forms == 0 && h->files && !h->kind && !series_alone)
        return ease__list_open(dir, NULL, hooks, out, err);
    if (!status)
        status = check_forms(h, series_alone, err);
    if (!status && h->only)
        return ease__input_open(h->only, hooks, out, err);
    if (!status && h->folder) {
        dir = h->folder;
        status = look_into(h, dir, true, true, err);
        if (!status && h->movies.count == 0)
            status = ease__fail(err, EASE_E_DATA,
                                "%s: a directory without mv_0000001.txt", dir);
    }
    if (status)
        return status;
    *is_series = true;
    if (h->parts.count)
        return open_series(&h->parts, dir, PARTS, hooks, out, err);
    return open_series(&h->movies, dir, 0, hooks, out, err);
}

ease_status ease__data_open(const char *path, const char *const *more,
                            bool series_alone, const ease_hooks *hooks,
                            ease__input **out, bool *is_series, ease_error *err)
{
    holdings h = {.dir = path,
                  .movies = {.before = "mv_", .after = ".txt", .digits = MOVIE_DIGITS},
                  .parts = {.before = "combined_data_", .after = ".txt", .digits = 1}};
    ease_status status;

    *is_series = false;
    if (path && ((more && more[0]) || ease__is_pattern(path)))
        return ease__list_open(path, more, hooks, out, err);
    if (!path || strcmp(path, "-") == 0 || !is_directory(path))
        return ease__input_open(path, hooks, out, err);
    status = open_holdings(&h, series_alone, hooks, out, is_series, err);
    holdings_free(&h);
    return status;
}
