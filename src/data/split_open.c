/* Reading a split's directory back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/input.h"
#include "data/interactions.h"
#include "data/number.h"

/* ---- lists of ids ------------------------------------------------------------------ */

static ease_status add_line(ease__ids *ids, const char *line, size_t length,
                            const char *path, ease_error *err)
{
    int64_t number = ids->count, got;

    if (length && line[length - 1] == '\r')
        length--;
    if (length == 0 || memchr(line, '\0', length))
        return ease__fail_at(err, EASE_E_PARSE, number + 1, "%s:%lld: expected an id",
                             path, (long long)number + 1);
    got = ease__ids_add(ids, line, length);
    if (got == EASE__NO_ID)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", path);
    if (got != number)
        return ease__fail_at(err, EASE_E_PARSE, number + 1,
                             "%s:%lld: the id of line %lld again", path,
                             (long long)number + 1, (long long)got + 1);
    return EASE_OK;
}

static ease_status read_list(const char *path, ease__ids *ids, ease_error *err)
{
    ease__input *in = NULL;
    const char *text = NULL, *end;
    size_t bytes = 0;
    ease_status status = ease__input_open(path, NULL, &in, err);

    if (!status)
        status = ease__input_peek_all(in, 0, &text, &bytes, err);
    end = text + bytes;
    while (!status && text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        if (!stop)
            stop = end;
        status = add_line(ids, text, (size_t)(stop - text), path, err);
        text = stop + 1;
    }
    if (!status && ids->count == 0)
        status = ease__fail(err, EASE_E_DATA, "%s: empty", path);
    ease__input_close(in);
    return status;
}

/* ---- numbers back to ids -------------------------------------------------------------- */

/* The ids of a table are numbers of lines in the list, from 0. */
static ease_status restore_ids(ease__ids *ids, const ease__ids *list, const char *path,
                               const char *list_name, ease_error *err)
{
    ease__ids restored = {0};
    ease_status status = EASE_OK;

    for (int64_t i = 0; !status && i < ids->count; i++) {
        const char *text = ease__ids_at(ids, i);
        int64_t number, got;

        if (ease__parse_int(text, ease__ids_length(ids, i), &number) || number < 0 ||
            number >= list->count) {
            status = ease__fail(err, EASE_E_DATA,
                                "%s: '%.40s' is not a number of 0 .. %lld, as %s has "
                                "it",
                                path, text, (long long)list->count - 1, list_name);
            break;
        }
        got = ease__ids_add(&restored, ease__ids_at(list, number),
                            ease__ids_length(list, number));
        if (got == EASE__NO_ID)
            status = ease__fail(err, EASE_E_NOMEM, "reading %s", path);
        else if (got != i)
            status = ease__fail(err, EASE_E_DATA,
                                "%s: number %lld is written in two "
                                "ways",
                                path, (long long)number);
    }
    if (status) {
        ease__ids_free(&restored);
        return status;
    }
    ease__ids_free(ids);
    *ids = restored;
    return EASE_OK;
}

/* ---- the directory ---------------------------------------------------------------------- */

typedef struct opening {
    char *path; /* room for the directory and a name */
    size_t room, name_at;
    ease__ids users, items; /* by number; empty: numbers stand for themselves */
} opening;

static const char *path_of(opening *o, const char *name)
{
    snprintf(o->path + o->name_at, o->room - o->name_at, "%s", name);
    return o->path;
}

static bool is_there(opening *o, const char *name)
{
    return access(path_of(o, name), F_OK) == 0;
}

static ease_status read_table(opening *o, const char *name, ease_interactions **out,
                              ease_error *err)
{
    const char *path = path_of(o, name);
    ease_interactions *x = NULL;
    ease_read_options r;
    ease_status status;

    ease_read_options_init(&r);
    r.format = "table";
    r.columns = "uid,sid";
    r.separator = ",";
    r.header = 1;
    status = ease_interactions_read(path, &r, &x, err);
    if (!status && o->users.count)
        status = restore_ids(&x->user_ids, &o->users, path, "unique_uid.txt", err);
    if (!status && o->items.count)
        status = restore_ids(&x->item_ids, &o->items, path, "unique_sid.txt", err);
    if (status) {
        ease_interactions_free(x);
        return status;
    }
    *out = x;
    return EASE_OK;
}

static ease_status read_all(opening *o, ease_split_parts *p, ease_error *err)
{
    const struct {
        const char *name;
        ease_interactions **to;
    } tables[] = {{"train.csv", &p->train},
                  {"validation_tr.csv", &p->validation_input},
                  {"validation_te.csv", &p->validation_target},
                  {"test_tr.csv", &p->test_input},
                  {"test_te.csv", &p->test_target},
                  {"validation_train.csv", &p->validation_train}};
    size_t count = sizeof(tables) / sizeof(tables[0]);
    ease_status status = EASE_OK;

    if (is_there(o, "unique_uid.txt"))
        status = read_list(o->path, &o->users, err);
    if (!status && is_there(o, "unique_sid.txt"))
        status = read_list(o->path, &o->items, err);
    if (!is_there(o, "validation_train.csv"))
        count--;
    for (size_t i = 0; !status && i < count; i++)
        status = read_table(o, tables[i].name, tables[i].to, err);
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

ease_status ease_split_open(const char *dir, ease_split_parts *out, ease_error *err)
{
    ease_split_parts p = {0};
    opening o = {0};
    ease_status status = check_directory(dir, err);

    if (status)
        return status;
    if (!out)
        return ease__fail(err, EASE_E_ARG, "a place for the parts is required");
    o.name_at = strlen(dir) + 1;
    o.room = o.name_at + 32;
    o.path = ease__alloc_array(o.room, 1);
    if (o.path) {
        snprintf(o.path, o.room, "%s/", dir);
        status = read_all(&o, &p, err);
    } else {
        status = ease__fail(err, EASE_E_NOMEM, "reading %s", dir);
    }
    ease__free(o.path);
    ease__ids_free(&o.users);
    ease__ids_free(&o.items);
    if (status) {
        ease_split_close(&p);
        return status;
    }
    *out = p;
    return EASE_OK;
}

void ease_split_close(ease_split_parts *p)
{
    if (!p)
        return;
    ease_interactions_free(p->train);
    ease_interactions_free(p->validation_train);
    ease_interactions_free(p->validation_input);
    ease_interactions_free(p->validation_target);
    ease_interactions_free(p->test_input);
    ease_interactions_free(p->test_target);
    *p = (ease_split_parts){0};
}
