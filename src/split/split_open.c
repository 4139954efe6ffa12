/* Reads the directory of a split. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/sized.h"
#include "read/split_files.h"
#include "split/split.h"

typedef struct opening {
    const char *dir;
    ease__split_record record;
    ease__split_ids ids;
} opening;

/* ---- tables ------------------------------------------------------------------- */

static ease_status read_interactions(opening *o, int table, const char *path,
                                     ease_interactions **out, ease_error *err)
{
    ease_interactions *x = NULL;
    ease_read_options r;
    ease_status status;

    ease_read_options_init(&r);
    ease__split_table_options(&r);
    status = ease_interactions_read(path, &r, &x, err);
    if (!status)
        status = ease__split_ids_restore(&o->ids, &x->user_ids, &x->item_ids, path,
                                         err);
    if (!status && o->record.there)
        status = ease__split_record_check(&o->record, table,
                                          (ease_split_part){.users = x->users,
                                                            .items = x->items,
                                                            .interactions = x->nnz},
                                          path, err);
    if (status) {
        ease_interactions_free(x);
        return status;
    }
    *out = x;
    return EASE_OK;
}

/* Only validation_train.csv may be absent: if the record does not name it, or if there
 * is no record. */
static ease_status read_table(opening *o, int table, ease_interactions **out,
                              ease_error *err)
{
    char *path = ease__split_path(o->dir, ease__split_tables[table].name);
    bool optional = table == EASE__TABLE_VALIDATION_TRAIN, there;
    ease_status status = EASE_OK;

    if (!path)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", o->dir);
    there = access(path, F_OK) == 0;
    if (o->record.there && there && !o->record.has[table])
        status = ease__fail(
            err, EASE_E_DATA,
            "%s: not a part of this split, as " EASE__SPLIT_RECORD " has it", path);
    else if (there || !optional || o->record.has[table])
        status = read_interactions(o, table, path, out, err);
    ease__free(path);
    return status;
}

static ease_status read_all(opening *o, ease_split_parts *p, ease_error *err)
{
    ease_interactions **const to[EASE__SPLIT_TABLES] = {&p->train,
                                                        &p->validation_train,
                                                        &p->validation_input,
                                                        &p->validation_target,
                                                        &p->test_input,
                                                        &p->test_target};
    ease_status status = ease__split_record_read(o->dir, &o->record, err);

    if (!status)
        status = ease__split_ids_read(o->dir, &o->record, &o->ids, err);
    for (int i = 0; !status && i < EASE__SPLIT_TABLES; i++)
        status = read_table(o, i, to[i], err);
    return status;
}

/* ---- the directory ------------------------------------------------------------ */

/* The identity of a split, which changes if it is replaced: the directory, or, if
 * files are replaced one by one, the record. Both are kept open (-1: there is none),
 * so that their inodes are not given to later files while the split is read. */
typedef struct identity {
    int dir, record;
} identity;

static int open_inode(const char *path)
{
    return path ? open(path, O_PATH | O_CLOEXEC) : -1;
}

static bool is_same(int held, const char *path)
{
    struct stat had, has;

    if (held < 0 || !path)
        return held < 0 && (!path || stat(path, &has) != 0);
    return fstat(held, &had) == 0 && stat(path, &has) == 0 &&
           had.st_dev == has.st_dev && had.st_ino == has.st_ino;
}

static void close_inode(int held)
{
    if (held >= 0)
        (void)close(held);
}

/* Reads the split, and fails if it was replaced after some of its files were read. */
static ease_status read_undisturbed(opening *o, ease_split_parts *p, ease_error *err)
{
    char *record = ease__split_path(o->dir, EASE__SPLIT_RECORD);
    identity at = {.dir = open_inode(o->dir), .record = open_inode(record)};
    ease_status status = record ? read_all(o, p, err)
                                : ease__fail(err, EASE_E_NOMEM, "reading a split");

    if (status != EASE_E_NOMEM &&
        (!is_same(at.dir, o->dir) || !is_same(at.record, record)))
        status = ease__fail(err, EASE_E_IO,
                            "%s: the split was replaced while it was read", o->dir);
    close_inode(at.dir);
    close_inode(at.record);
    ease__free(record);
    return status;
}

static ease_status check_directory(const char *dir, ease_error *err)
{
    struct stat st;

    if (!dir || !*dir)
        return ease__fail(err, EASE_E_ARG, "a directory is required");
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
        errno = ENOTDIR;
    else if (access(dir, R_OK | X_OK) == 0)
        return EASE_OK;
    return ease__fail_errno(err, "%s: cannot open the split", dir);
}

void ease__split_give(const ease_split_parts *p, ease_split_parts *out)
{
    ease_split_parts rest = *p;

    memset(&rest, 0, out->size < sizeof(rest) ? out->size : sizeof(rest));
    rest.size = sizeof(rest);
    ease__info_give(out, p, sizeof(*p));
    ease_split_close(&rest);
}

ease_status ease_split_open(const char *dir, ease_split_parts *out, ease_error *err)
{
    ease_split_parts p = {.size = sizeof(p)};
    opening o = {.dir = dir};
    ease_status status = check_directory(dir, err);

    if (!status)
        status = ease__info_check(out, "ease_split_parts", err);
    if (status)
        return status;
    status = read_undisturbed(&o, &p, err);
    ease__split_ids_free(&o.ids);
    if (status) {
        ease_split_close(&p);
        return status;
    }
    ease__split_give(&p, out);
    return EASE_OK;
}

void ease_split_close(ease_split_parts *p)
{
    static const ease_split_parts none = {0};
    ease_split_parts own = {.size = sizeof(own)};

    if (ease__info_check(p, "ease_split_parts", NULL))
        return;
    ease__info_give(&own, p, p->size);
    ease_interactions_free(own.train);
    ease_interactions_free(own.validation_train);
    ease_interactions_free(own.validation_input);
    ease_interactions_free(own.validation_target);
    ease_interactions_free(own.test_input);
    ease_interactions_free(own.test_target);
    ease__info_give(p, &none, sizeof(none));
}
