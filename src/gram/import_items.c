#include <string.h>

#include "gram/import.h"
#include "input/parts.h"
#include "text/fields.h"
#include "text/number.h"

typedef struct listing {
    ease__importing *m;
    const char *path; /* the file being read */
    int64_t line;
    char *scratch; /* for an id with doubled quotes */
    size_t scratch_bytes;
} listing;

static ease_status bad_line(const listing *l, const char *what, ease_error *err)
{
    return ease__fail_at(err, EASE_E_PARSE, l->line, "%s:%lld: %s", l->path,
                         (long long)l->line, what);
}

static ease_status add_item(listing *l, const char *id, size_t length, ease_error *err)
{
    ease__ids *ids = &l->m->g->ids;

    if (memchr(id, '\0', length))
        return bad_line(l, "a NUL byte", err);
    if (ease__ids_find(ids, id, length) >= 0)
        return bad_line(l, "an item occurs twice", err);
    if (ids->count == INT32_MAX)
        return ease__fail(err, EASE_E_TOO_LARGE, "%s: more than 2^31 - 1 items",
                          l->path);
    return ease__ids_add(ids, id, length) < 0 ? ease__import_no_memory(l->m, err)
                                              : EASE_OK;
}

/* ---- lists of one id a line --------------------------------------------------- */

static ease_status take_lines(listing *l, const char *at, const char *end,
                              ease_error *err)
{
    ease_status status = EASE_OK;

    while (!status && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length;

        if (!stop)
            stop = end;
        length = (size_t)(stop - at);
        if (length && at[length - 1] == '\r')
            length--;
        l->line++;
        if (length)
            status = add_item(l, at, length, err);
        at = stop < end ? stop + 1 : end;
    }
    return status;
}

/* ---- lists written by `ease gram sql` ----------------------------------------- */

static const ease__splitter comma = {EASE__SPLIT_BYTE, ",", 1, true};

/* The place after the header, quoted or not; NULL if there is none. */
static const char *pass_head(const char *at, const char *end)
{
    static const char *const names[] = {"item", "users", "all_users"};

    for (int i = 0; i < 3; i++) {
        ease__field f;
        ease__field_stop stop;

        if (at == end)
            return NULL;
        stop = ease__field_next(&comma, &at, end, &f);
        if (f.length != strlen(names[i]) || memcmp(f.text, names[i], f.length) != 0 ||
            (i < 2 ? stop != EASE__FIELD_MORE
                   : stop != EASE__FIELD_LAST && stop != EASE__FIELD_CUT))
            return NULL;
    }
    return at;
}

static bool reserve_scratch(listing *l, size_t bytes)
{
    char *grown;

    if (bytes <= l->scratch_bytes)
        return true;
    grown = ease__realloc_array(l->scratch, bytes, 1);
    if (!grown)
        return false;
    l->scratch = grown;
    l->scratch_bytes = bytes;
    return true;
}

static bool add_listed(ease__importing *m, uint32_t users)
{
    size_t at = (size_t)m->g->ids.count - 1;

    if (!m->listed || at >= m->listed_capacity) {
        size_t capacity = m->listed_capacity ? 2 * m->listed_capacity : 1024;
        uint32_t *grown = ease__realloc_array(m->listed, capacity, sizeof(*grown));

        if (!grown)
            return false;
        m->listed = grown;
        m->listed_capacity = capacity;
    }
    m->listed[at] = users;
    return true;
}

/* Sets the number of users; fails if lines differ. */
static ease_status take_all_users(listing *l, int64_t all, ease_error *err)
{
    int64_t *users = &l->m->g->users;

    if (*users < 0)
        *users = all;
    if (*users == all)
        return EASE_OK;
    return ease__fail_at(err, EASE_E_DATA, l->line,
                         "%s:%lld: %lld users in all, but %lld before", l->path,
                         (long long)l->line, (long long)all, (long long)*users);
}

static ease_status take_row(listing *l, const ease__record *r, ease_error *err)
{
    const ease__field *f = r->fields;
    int64_t users = 0, all = 0;
    const char *id = f[0].text;
    size_t length = f[0].length;
    ease_status status;

    if (r->count != 3)
        return bad_line(l, "not a row of item,users,all_users", err);
    if (length == 0)
        return bad_line(l, "an empty item", err);
    if (memchr(id, '\n', length))
        return bad_line(l, "a line break within an item", err);
    if (ease__parse_int(f[1].text, f[1].length, &users) || users < 0 ||
        users > UINT32_MAX || ease__parse_int(f[2].text, f[2].length, &all) || all < 0)
        return bad_line(l, "a number of users is not one, or passes 2^32 - 1", err);
    if (f[0].doubled) {
        if (!reserve_scratch(l, length))
            return ease__import_no_memory(l->m, err);
        memcpy(l->scratch, id, length);
        id = l->scratch;
        length = ease__undouble(l->scratch, length);
    }
    status = add_item(l, id, length, err);
    if (!status && !add_listed(l->m, (uint32_t)users))
        status = ease__import_no_memory(l->m, err);
    return status ? status : take_all_users(l, all, err);
}

static ease_status take_rows(listing *l, const char *at, const char *end,
                             ease_error *err)
{
    ease__record r = {0};
    ease_status status = EASE_OK;

    while (!status && at < end) {
        const char *behind = pass_head(at, end); /* again in joined part files */
        ease__record_stop stop = EASE__RECORD_BLANK;

        l->line++;
        if (behind)
            at = behind;
        else
            stop = ease__record_next(&comma, &at, end, true, &r);
        if (stop == EASE__RECORD_WHOLE)
            status = take_row(l, &r, err);
        else if (stop == EASE__RECORD_NOMEM)
            status = ease__import_no_memory(l->m, err);
        else if (stop != EASE__RECORD_BLANK)
            status = bad_line(l, "a quoted field does not end, or text stands behind",
                              err);
    }
    ease__free(r.fields);
    return status;
}

/* ---- files -------------------------------------------------------------------- */

/* Reads a whole file: a list of items is small beside their matrix. */
static ease_status take_file(listing *l, ease__input *in, ease_error *err)
{
    size_t got = 0;
    const char *text = NULL, *end;
    ease__importing *m = l->m;
    ease_status status = ease__input_peek_all(in, m->o.memory_limit, &text, &got, err);

    if (status)
        return status;
    end = text + got;
    if (got >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3; /* the byte order mark of UTF-8 */
    l->path = ease__input_file_name(in, ease__input_at(in));
    l->line = 0;
    /* If the first file has counts, all files have. */
    if (m->listed || (m->g->ids.count == 0 && pass_head(text, end)))
        status = take_rows(l, text, end, err);
    else
        status = take_lines(l, text, end, err);
    ease__input_skip(in, got);
    return status;
}

ease_status ease__import_items(ease__importing *m, const char *path, ease_error *err)
{
    listing l = {.m = m};
    ease__input *in = NULL;
    bool more = true;
    ease_status status = ease__parts_open(path, ease__import_hooks(m), &in, err);

    while (!status && more) {
        status = take_file(&l, in, err);
        if (!status)
            status = ease__input_next(in, &more, err);
    }
    ease__input_close(in);
    ease__free(l.scratch);
    if (!status && m->g->ids.count == 0)
        status = ease__fail(err, EASE_E_DATA, "%s: no items", path);
    m->fixed = true;
    return status;
}
