/* Writes the directory of a split: tables of pairs of numbers, the lists of ids of
 * the numbers, and a record of how it was made. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/output.h"
#include "read/readers.h"
#include "read/split_files.h"
#include "read/titles.h"
#include "split/split.h"
#include "text/number.h"

static const char stage_writing[] = "writing";

/* ---- writing a file ----------------------------------------------------------- */

enum { BUFFER_BYTES = 1 << 18 };

/* A file under construction. The first failure is kept; writes after it do nothing. */
typedef struct sheet {
    ease__output out;
    char *buffer;
    size_t used;
    ease_status status;
    ease_error *err;
} sheet;

static void flush(sheet *f)
{
    if (!f->status)
        f->status = ease__output_write(&f->out, f->buffer, f->used, f->err);
    f->used = 0;
}

static void put(sheet *f, const char *text, size_t length)
{
    while (length) {
        size_t part = BUFFER_BYTES - f->used;

        if (part > length)
            part = length;
        memcpy(f->buffer + f->used, text, part);
        f->used += part;
        text += part;
        length -= part;
        if (f->used == BUFFER_BYTES)
            flush(f);
    }
}

static void put_text(sheet *f, const char *text)
{
    put(f, text, strlen(text));
}

static void put_number(sheet *f, int64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        digits[--at] = '-';
    put(f, digits + at, sizeof(digits) - at);
}

/* ---- tables ------------------------------------------------------------------- */

typedef struct writing {
    const ease__split *s;
    const char *dir;
    ease_split_info *info;
    uint8_t *user_seen, *item_seen;
    char *buffer;
} writing;

static void put_event(writing *w, sheet *f, ease_split_part *part, uint32_t event)
{
    const ease__events *e = &w->s->events;
    int64_t user = w->s->user_number[e->user[event]];
    int32_t item = w->s->item_number[e->item[event]];

    put_number(f, user);
    put(f, ",", 1);
    put_number(f, item);
    put(f, "\n", 1);
    part->interactions++;
    part->users += !w->user_seen[user];
    part->items += !w->item_seen[item];
    w->user_seen[user] = w->item_seen[item] = 1;
}

static bool is_stopped(const writing *w, sheet *f, int64_t done, int64_t all)
{
    if (!f->status && done % 65536 == 0 &&
        ease__progress(w->s->options.hooks, stage_writing, (double)done / (double)all))
        f->status = ease__cancelled(f->err);
    return f->status != EASE_OK;
}

static void put_in_file_order(writing *w, sheet *f, const ease__part_table *t,
                              ease_split_part *part)
{
    const ease__events *e = &w->s->events;

    for (int64_t i = 0; i < e->count && !is_stopped(w, f, i, e->count); i++)
        if (e->part[i] & t->parts)
            put_event(w, f, part, (uint32_t)i);
}

static void put_by_user(writing *w, sheet *f, const ease__part_table *t,
                        ease_split_part *part)
{
    const ease__events *e = &w->s->events;
    int64_t users = w->s->user_count;

    for (int64_t n = 0; n < users && !is_stopped(w, f, n, users); n++) {
        uint32_t user = w->s->ascending[n];

        if (t->with && !ease__user_has(e, user, t->with))
            continue;
        for (int64_t i = e->begin[user]; i < e->begin[user + 1]; i++)
            if (e->part[e->order[i]] & t->parts)
                put_event(w, f, part, e->order[i]);
    }
}

static ease_status start_file(writing *w, const char *name, sheet *f, ease_error *err)
{
    char *path = ease__split_path(w->dir, name);

    *f = (sheet){.out = EASE__OUTPUT_NONE, .buffer = w->buffer, .err = err};
    f->status = path ? ease__output_open(path, 0, &f->out, err)
                     : ease__fail(err, EASE_E_NOMEM, "writing %s", name);
    ease__free(path);
    return f->status;
}

/* Gives the file its name, if all of it was written. */
static ease_status end_file(sheet *f)
{
    flush(f);
    if (!f->status)
        f->status = ease__output_commit(&f->out, f->err);
    ease__output_discard(&f->out);
    return f->status;
}

static ease_split_part *counts_of(ease_split_info *info, const ease__part_table *t)
{
    return (ease_split_part *)((char *)info + ease__split_tables[t->which].at);
}

static ease_status write_table(writing *w, const ease__part_table *t, ease_error *err)
{
    const char *name = ease__split_tables[t->which].name;
    ease_split_part *part = counts_of(w->info, t);
    sheet f;
    ease_status status = start_file(w, name, &f, err);

    if (status)
        return status;
    memset(w->user_seen, 0, (size_t)w->s->user_count);
    memset(w->item_seen, 0, (size_t)w->s->item_count);
    put_text(&f, "uid,sid\n");
    if (t->by_user)
        put_by_user(w, &f, t, part);
    else
        put_in_file_order(w, &f, t, part);
    if (!f.status && part->interactions == 0)
        f.status = ease__fail(err, EASE_E_DATA,
                              "%s: too little data to split: %s would be empty",
                              w->s->data, name);
    return end_file(&f);
}

/* ---- lists -------------------------------------------------------------------- */

/* Writes an id on a line; fails if it contains a line end, since it could not be
 * read back. */
static ease_status put_id(sheet *f, const ease__ids *ids, int64_t id)
{
    const char *text = ease__ids_at(ids, id);
    size_t length = ease__ids_length(ids, id);

    if (memchr(text, '\n', length) || (length && text[length - 1] == '\r'))
        f->status = ease__fail(f->err, EASE_E_DATA,
                               "an id has a line end in it: it cannot be listed");
    put(f, text, length);
    put(f, "\n", 1);
    return f->status;
}

static ease_status write_users(writing *w, ease_error *err)
{
    const ease__split *s = w->s;
    sheet f;
    ease_status status = start_file(w, EASE__USERS_LIST, &f, err);

    for (int64_t i = 0; !status && i < s->user_count; i++)
        status = put_id(&f, &s->events.user_ids, s->users[i]);
    return end_file(&f);
}

static ease_status write_items(writing *w, ease_error *err)
{
    const ease__split *s = w->s;
    sheet f;
    ease_status status = start_file(w, EASE__ITEMS_LIST, &f, err);

    for (int32_t i = 0; !status && i < s->item_count; i++)
        status = put_id(&f, &s->events.item_ids, s->items[i]);
    return end_file(&f);
}

/* ---- the record --------------------------------------------------------------- */

/* Writes a JSON string; bytes that are not UTF-8 become U+FFFD. */
static void put_quoted(sheet *f, const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;

    put(f, "\"", 1);
    while (left) {
        size_t length = ease__utf8_length(p, left);
        char escape[8];

        if (length == 1 && (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f)) {
            snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)*p);
            put_text(f, escape);
        } else if (length) {
            put(f, (const char *)p, length);
        } else {
            put_text(f, "\xef\xbf\xbd");
        }
        p += length ? length : 1;
        left -= length ? length : 1;
    }
    put(f, "\"", 1);
}

static void put_string(sheet *f, const char *text)
{
    put_quoted(f, text, strlen(text));
}

static void put_key(sheet *f, const char *key)
{
    put_text(f, ",\n  \"");
    put_text(f, key);
    put_text(f, "\": ");
}

static void put_count(sheet *f, const char *key, int64_t value)
{
    put_key(f, key);
    put_number(f, value);
}

static void put_word(sheet *f, const char *key, const char *value)
{
    put_key(f, key);
    put_string(f, value);
}

/* Writes a number; NaN is null. */
static void put_real(sheet *f, const char *key, double value)
{
    char text[EASE__FLOAT_CHARS];

    put_key(f, key);
    if (isnan(value))
        put_text(f, "null");
    else
        put(f, text, ease__print_double(value, text));
}

static void put_protocol(sheet *f, const ease__split *s)
{
    const ease_split_options *o = &s->options;

    if (s->recipe)
        put_word(f, "recipe", s->recipe->name);
    put_word(f, "protocol", s->protocol->name);
    put_count(f, "seed", o->seed);
    if (s->protocol->strong)
        put_count(f, "heldout_users", o->heldout_users);
    if (s->protocol->share)
        put_real(f, "share", o->share);
    if (s->protocol->items)
        put_count(f, "cold_items", s->cold_items);
    if (s->protocol->timed)
        put_word(f, "order", s->events.time ? "time" : "file");
    if (s->protocol->needs_time) {
        put_real(f, "validation_from", s->validation_from);
        put_real(f, "test_from", s->test_from);
    }
}

/* Writes the last component of the path, without slashes behind it. */
static void put_name(sheet *f, const char *key, const char *path)
{
    size_t end = strlen(path), begin;

    while (end > 1 && path[end - 1] == '/')
        end--;
    begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    put_key(f, key);
    put_quoted(f, path + begin, end - begin);
}

static void put_source(sheet *f, const ease__split *s, const ease_split_info *info)
{
    const ease_read_options *r = &s->reading;

    put_name(f, "source", s->data);
    put_word(f, "recognized", info->recognized);
    put_real(f, "min_rating", r->min_rating);
    put_count(f, "min_user", r->min_user);
    put_count(f, "min_item", r->min_item);
    if (!isnan(r->since))
        put_real(f, "since", r->since);
    if (!isnan(r->until))
        put_real(f, "until", r->until);
    put_key(f, "one_pass");
    put_text(f, r->one_pass ? "true" : "false");
    put_word(f, "repeat", r->repeat == EASE_REPEAT_LAST ? "last" : "first");
    put_count(f, "rows", info->data->rows);
    put_count(f, "below_rating", info->data->below_rating);
    if (ease__wants_times(r))
        put_count(f, "outside_time", info->data->outside_time);
    put_count(f, "repeated", info->data->repeated);
    put_count(f, "filtered", info->data->filtered);
    put_count(f, "users", info->data->users);
    put_count(f, "items", info->data->items);
    put_count(f, "interactions", info->data->interactions);
}

static void put_parts(sheet *f, const ease__part_table *tables, ease_split_info *info)
{
    put_key(f, "parts");
    for (const ease__part_table *t = tables; t->which >= 0; t++) {
        const ease_split_part *part = counts_of(info, t);

        put_text(f, t > tables ? ",\n    " : "{\n    ");
        put_string(f, ease__split_tables[t->which].key);
        put_text(f, ": {\"users\": ");
        put_number(f, part->users);
        put_text(f, ", \"items\": ");
        put_number(f, part->items);
        put_text(f, ", \"interactions\": ");
        put_number(f, part->interactions);
        put_text(f, "}");
    }
    put_text(f, "\n  }");
}

static ease_status write_record(writing *w, ease_error *err)
{
    sheet f;
    ease_status status = start_file(w, EASE__SPLIT_RECORD, &f, err);

    if (status)
        return status;
    put_text(&f, "{\n  \"ease\": ");
    put_string(&f, ease_version());
    put_protocol(&f, w->s);
    put_source(&f, w->s, w->info);
    put_parts(&f, ease__part_tables(w->s), w->info);
    put_text(&f, "\n}\n");
    return end_file(&f);
}

/* ---- the directory ------------------------------------------------------------ */

static ease_status write_all(writing *w, ease_error *err)
{
    ease_status status = write_users(w, err);

    if (!status)
        status = write_items(w, err);
    for (const ease__part_table *t = ease__part_tables(w->s); !status && t->which >= 0;
         t++)
        status = write_table(w, t, err);
    if (!status && w->s->protocol->strong)
        w->info->validation_train = w->info->train;
    if (!status)
        status = write_record(w, err);
    return status;
}

ease_status ease__split_write(const ease__split *s, const char *dir,
                              ease_split_info *info, ease_error *err)
{
    writing w = {.s = s, .dir = dir, .info = info};
    ease_status status;

    w.user_seen = ease__alloc_zero((size_t)s->user_count, 1);
    w.item_seen = ease__alloc_zero((size_t)s->item_count, 1);
    w.buffer = ease__alloc_array(BUFFER_BYTES, 1);
    if (!w.user_seen || !w.item_seen || !w.buffer)
        status = ease__fail(err, EASE_E_NOMEM, "writing %s", dir);
    else
        status = write_all(&w, err);
    ease__free(w.user_seen);
    ease__free(w.item_seen);
    ease__free(w.buffer);
    return status;
}
