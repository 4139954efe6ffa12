#include "read/split_files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "read/readers.h"
#include "text/number.h"

/* ---- names ----------------------------------------------------------------- */

#define AT(member) offsetof(ease_split_info, member)

const ease__split_table ease__split_tables[EASE__SPLIT_TABLES] = {
    {"train.csv", "train", AT(train)},
    {"validation_train.csv", "validation_train", AT(validation_train)},
    {"validation_tr.csv", "validation_input", AT(validation_input)},
    {"validation_te.csv", "validation_target", AT(validation_target)},
    {"test_tr.csv", "test_input", AT(test_input)},
    {"test_te.csv", "test_target", AT(test_target)}};

const char *ease__split_file(int file)
{
    static const char *const others[] = {EASE__USERS_LIST, EASE__ITEMS_LIST,
                                         EASE__SPLIT_RECORD};

    return file < EASE__SPLIT_TABLES ? ease__split_tables[file].name
                                     : others[file - EASE__SPLIT_TABLES];
}

int ease__split_file_named(const char *name)
{
    for (int i = 0; i < EASE__SPLIT_FILES; i++)
        if (strcmp(name, ease__split_file(i)) == 0)
            return i;
    return -1;
}

char *ease__split_path(const char *dir, const char *name)
{
    size_t bytes = strlen(dir) + strlen(name) + 2;
    char *path = ease__alloc_array(bytes, 1);

    if (path)
        snprintf(path, bytes, "%s/%s", dir, name);
    return path;
}

/* ---- lists of ids ---------------------------------------------------------- */

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

static ease_status read_lines(const char *path, ease__ids *ids, ease_error *err)
{
    ease__input *in = NULL;
    const char *text = "", *end;
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

static ease_status read_list(const char *dir, const char *name, bool needed,
                             ease__ids *ids, ease_error *err)
{
    char *path = ease__split_path(dir, name);
    ease_status status = EASE_OK;

    if (!path)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", dir);
    if (needed || access(path, F_OK) == 0)
        status = read_lines(path, ids, err);
    ease__free(path);
    return status;
}

ease_status ease__split_ids_read(const char *dir, const ease__split_record *r,
                                 ease__split_ids *out, ease_error *err)
{
    ease_status status = read_list(dir, EASE__USERS_LIST, r->there, &out->users, err);

    return status ? status
                  : read_list(dir, EASE__ITEMS_LIST, r->there, &out->items, err);
}

void ease__split_ids_free(ease__split_ids *ids)
{
    ease__ids_free(&ids->users);
    ease__ids_free(&ids->items);
}

/* ---- numbers back to ids --------------------------------------------------- */

/* The ids of a table are numbers of lines in the list, from 0. */
static ease_status restore(ease__ids *ids, const ease__ids *list, const char *path,
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

ease_status ease__split_ids_restore(const ease__split_ids *ids, ease__ids *users,
                                    ease__ids *items, const char *path, ease_error *err)
{
    ease_status status = EASE_OK;

    if (ids->users.count)
        status = restore(users, &ids->users, path, EASE__USERS_LIST, err);
    if (!status && ids->items.count)
        status = restore(items, &ids->items, path, EASE__ITEMS_LIST, err);
    return status;
}

/* ---- options --------------------------------------------------------------- */

void ease__split_table_options(ease_read_options *o)
{
    o->format = ease__table_reader.format.name;
    o->columns = EASE__SPLIT_HEADER;
    o->separator = ",";
    o->header = 1;
}
