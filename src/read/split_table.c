/* Reads a single table of a split, and replaces its numbers by the ids in the lists of
 * the same directory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/readers.h"
#include "read/split_files.h"

/* ---- the directory --------------------------------------------------------- */

/* The path without its last component; NULL: no memory. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = ease__copy_string(slash ? path : ".");

    if (dir && slash)
        dir[slash == path ? 1 : slash - path] = '\0';
    return dir;
}

/* True if the directory has a list of items or a record: one of them is in every
 * split. */
static bool has_marks(const char *dir)
{
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool has = fd >= 0 && (faccessat(fd, EASE__ITEMS_LIST, F_OK, 0) == 0 ||
                           faccessat(fd, EASE__SPLIT_RECORD, F_OK, 0) == 0);

    if (fd >= 0)
        close(fd);
    return has;
}

static ease_status find_marks(const char *path, char **dir, ease_error *err)
{
    char *found = directory_of(path);

    if (!found)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", path);
    if (has_marks(found)) {
        *dir = found;
        return EASE_OK;
    }
    ease__free(found);
    return EASE_OK;
}

/* The directory of the file at `path` or of the file that a link points to, if it has
 * these marks: *dir, to be freed, or NULL. */
static ease_status find_split(const char *path, char **dir, ease_error *err)
{
    struct stat st;
    char *real;
    ease_status status;

    *dir = NULL;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return EASE_OK;
    status = find_marks(path, dir, err);
    if (status || *dir || !(real = realpath(path, NULL)))
        return status;
    status = find_marks(real, dir, err);
    free(real);
    return status;
}

/* True if the options describe another layout than that of a split's tables. */
static bool describes_another(const ease_read_options *o)
{
    return o->columns || o->header == 0 ||
           (o->separator && strcmp(o->separator, ",") != 0);
}

static ease_status recognize(const ease__reading *r, bool *is, ease_error *err)
{
    size_t length = sizeof(EASE__SPLIT_HEADER) - 1;
    char *dir = NULL;
    ease_status status;

    *is = false;
    if (describes_another(r->o) || r->sample_bytes <= length ||
        memcmp(r->sample, EASE__SPLIT_HEADER, length) != 0 ||
        !strchr("\r\n", r->sample[length]))
        return EASE_OK;
    status = find_split(r->path, &dir, err);
    *is = dir != NULL;
    ease__free(dir);
    return status;
}

/* ---- reading --------------------------------------------------------------- */

/* False: the file that was read is no longer the one at `path`. */
static bool is_still_there(const ease__input *in, const char *path)
{
    size_t bytes;
    int fd = ease__input_file(in, &bytes);
    struct stat had, has;

    return fd < 0 || fstat(fd, &had) != 0 ||
           (stat(path, &has) == 0 && had.st_dev == has.st_dev &&
            had.st_ino == has.st_ino);
}

static ease_status check_counts(const ease__split_record *r, const char *path,
                                const ease__draft *d, ease_error *err)
{
    const char *slash = strrchr(path, '/');
    int file = ease__split_file_named(slash ? slash + 1 : path);
    ease_split_part found = {.users = d->user_ids.count,
                             .items = (int32_t)d->item_ids.count,
                             .interactions = d->records};

    if (!r->there || file < 0 || file >= EASE__SPLIT_TABLES || !r->has[file])
        return EASE_OK;
    return ease__split_record_check(r, file, found, path, err);
}

static ease_status describe(const ease__split_ids *ids, ease__draft *d, ease_error *err)
{
    char all[500];

    snprintf(all, sizeof(all), "%s; part of a split: ids from %s%s%s", d->recognized,
             ids->users.count ? EASE__USERS_LIST : "",
             ids->users.count && ids->items.count ? ", " : "",
             ids->items.count ? EASE__ITEMS_LIST : "");
    ease__free(d->recognized);
    d->recognized = ease__copy_string(all);
    return d->recognized ? EASE_OK : ease__fail(err, EASE_E_NOMEM, "recognizing");
}

/* Replaces the numbers in the draft by the ids of the split, and checks its counts
 * against the record, if there is one. Fails with EASE_E_IO if the split was replaced
 * while it was read. */
static ease_status restore_ids(const ease__reading *r, const char *dir, ease_error *err)
{
    ease__split_record record = {0};
    ease__split_ids ids = {0};
    ease_status status = ease__split_record_read(dir, &record, err);

    if (!status)
        status = ease__split_ids_read(dir, &record, &ids, err);
    if (!is_still_there(r->in, r->path))
        status = ease__fail(err, EASE_E_IO, "%s: was replaced while it was read",
                            r->path);
    if (!status)
        status = check_counts(&record, r->path, r->draft, err);
    if (!status)
        status = ease__split_ids_restore(&ids, &r->draft->user_ids, &r->draft->item_ids,
                                         r->path, err);
    if (!status)
        status = describe(&ids, r->draft, err);
    ease__split_ids_free(&ids);
    return status;
}

static ease_status read_split_table(const ease__reading *r, ease_error *err)
{
    const char *name = ease__input_name(r->in);
    ease__reading untimed = *r;
    ease_read_options used = *r->o;
    char *dir = NULL;
    ease_status status;

    if (describes_another(r->o))
        return ease__fail(err, EASE_E_ARG,
                          "%s: a table of a split has the columns " EASE__SPLIT_HEADER
                          ", separated by commas, and a header",
                          name);
    status = find_split(r->path, &dir, err);
    if (!status && !dir)
        status = ease__fail(err, EASE_E_DATA,
                            "%s: not a table of a split: its directory has "
                            "neither " EASE__ITEMS_LIST " nor " EASE__SPLIT_RECORD,
                            name);
    untimed.timed = false;
    ease__split_table_options(&used);
    if (!status)
        status = ease__read_table(&untimed, &used, err);
    if (!status)
        status = restore_ids(r, dir, err);
    ease__free(dir);
    return status;
}

const ease__reader ease__split_reader = {
    .format = {.name = "split",
               .about = "a table of a split, with the ids of the data that was split"},
    .recognize = recognize,
    .read = read_split_table,
};
