/* Imports triplets (item, item, number). They are added in file order, by one
 * thread, while other threads read and parse. The matrix is larger than any cache,
 * so that entries are prefetched some records ahead. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gram/import.h"
#include "input/parts.h"
#include "read/blocks.h"
#include "read/layout.h"
#include "text/number.h"

enum { AHEAD = 16 };

typedef struct tables {
    ease__importing *m;
    size_t n;
    uint8_t *given;             /* a bit for each ordered pair of a shard */
    size_t *row_at, *column_at; /* start of each item's row and column; see place_of */
    bool several;               /* there are several shards: their numbers are added */
    size_t records;             /* number of records so far */
    /* If the items are not known in advance, records are kept until all have been
     * read. */
    uint32_t *kept;
    size_t kept_count, kept_capacity;
} tables;

static const char twice[] = "this pair occurs twice";

/* ---- the matrix --------------------------------------------------------------- */

static size_t place_of(const tables *t, uint32_t i, uint32_t j)
{
    return i > j ? t->row_at[i] + t->column_at[j] : t->row_at[j] + t->column_at[i];
}

static double value_at(const ease__tiled *g, size_t at)
{
    return g->element == EASE__U32 ? (double)((const uint32_t *)g->data)[at]
                                   : ((const double *)g->data)[at];
}

static void free_tables(tables *t)
{
    ease__free_pages(t->given, t->n * t->n / 8 + 1);
    ease__free(t->row_at);
    ease__free(t->column_at);
    ease__free(t->kept);
}

/* Allocates the matrix of the items that are known now, and the arrays that are
 * needed to fill it. */
static ease_status make_places(tables *t, ease__element element, ease_error *err)
{
    ease__importing *m = t->m;
    ease__tiled *g = &m->g->g;
    int32_t n = (int32_t)m->g->ids.count;
    size_t beside;
    ease_status status;

    t->n = (size_t)n;
    beside = ease__size_add(t->n * t->n / 8 + t->n * 2 * sizeof(size_t),
                            t->kept_capacity * EASE__TRIPLET_WORDS * sizeof(uint32_t));
    status = ease__import_memory(
        m, ease__size_add(ease__tiled_bytes(n, element), beside), err);
    if (!status)
        status = ease__tiled_new(n, element, g, err);
    if (status)
        return status;
    t->given = ease__alloc_pages(t->n * t->n / 8 + 1);
    t->row_at = ease__alloc_array(t->n, sizeof(*t->row_at));
    t->column_at = ease__alloc_array(t->n, sizeof(*t->column_at));
    if (!t->given || !t->row_at || !t->column_at)
        return ease__import_no_memory(m, err);
    for (int32_t i = 0; i < n; i++) {
        int32_t tile = i / g->edge, within = i % g->edge;

        t->row_at[i] = ease__tile_count(tile) * g->stride +
                       (size_t)within * (size_t)g->edge;
        t->column_at[i] = (size_t)tile * g->stride + (size_t)within;
    }
    return EASE_OK;
}

/* Converts the matrix to float64 when the first entry is not a count. */
static ease_status widen(tables *t, char what[EASE__BLOCK_WHAT])
{
    ease__tiled *g = &t->m->g->g, wide = {0};
    size_t count = g->bytes / sizeof(uint32_t);
    ease_error err = {0};
    ease_status status = ease__import_memory(
        t->m, ease__size_add(g->bytes, ease__tiled_bytes(g->n, EASE__F64)), &err);

    if (!status)
        status = ease__tiled_new(g->n, EASE__F64, &wide, &err);
    if (status) {
        snprintf(what, EASE__BLOCK_WHAT, "%.*s", EASE__BLOCK_WHAT - 1, err.text);
        return status;
    }
    for (size_t k = 0; k < count; k++)
        if (((const uint32_t *)g->data)[k])
            ((double *)wide.data)[k] = (double)((const uint32_t *)g->data)[k];
    ease__tiled_free(g);
    *g = wide;
    return EASE_OK;
}

static bool add_count(ease__tiled *g, size_t at, double value)
{
    uint32_t *to = (uint32_t *)g->data + at, sum;

    if (!(value >= 0 && value <= UINT32_MAX && (double)(uint32_t)value == value) ||
        __builtin_add_overflow(*to, (uint32_t)value, &sum))
        return false;
    *to = sum;
    return true;
}

/* Adds a value: as an integer while sums are integers up to 2^32 - 1; notes values
 * that are not. */
static ease_status add_value(tables *t, uint32_t i, uint32_t j, double value,
                             char what[EASE__BLOCK_WHAT])
{
    ease__importing *m = t->m;
    ease__tiled *g = &m->g->g;
    size_t at = place_of(t, i, j);
    ease_status status = EASE_OK;
    double *to;

    if (g->element == EASE__U32) {
        if (add_count(g, at, value))
            return EASE_OK;
        status = widen(t, what);
    }
    if (status)
        return status;
    to = (double *)g->data + at;
    *to += value;
    if (value < 0 || value != floor(value))
        m->fraction = true;
    if (!m->past && *to > UINT32_MAX) {
        m->past = true;
        m->past_i = (int32_t)i;
        m->past_j = (int32_t)j;
    }
    return EASE_OK;
}

/* ---- records ------------------------------------------------------------------ */

static bool test_bit(const uint8_t *bits, size_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

/* Places a record. A pair may be given in both orders, with the same value; in one
 * order, once. */
static ease_status place(tables *t, const uint32_t *record, char what[EASE__BLOCK_WHAT])
{
    uint32_t i = record[0], j = record[1];
    size_t bit = i * t->n + j, mirror = j * t->n + i;
    double value, before;

    memcpy(&value, record + 2, sizeof(value));
    if (test_bit(t->given, bit)) {
        snprintf(what, EASE__BLOCK_WHAT, "%s", twice);
        return EASE_E_PARSE;
    }
    t->given[bit / 8] |= (uint8_t)(1u << bit % 8);
    t->m->diagonal += i == j;
    if (i == j || !test_bit(t->given, mirror))
        return add_value(t, i, j, value, what);
    if (t->several) {
        snprintf(what, EASE__BLOCK_WHAT,
                 "this pair stands in both orders: of several shards, one triangle");
        return EASE_E_PARSE;
    }
    before = value_at(&t->m->g->g, place_of(t, i, j));
    if (ease__import_same(before, value))
        return EASE_OK;
    snprintf(what, EASE__BLOCK_WHAT,
             "not symmetric: %.9g here, %.9g for the same items in the other order",
             value, before);
    return EASE_E_DATA;
}

static void fetch_ahead(const tables *t, const uint32_t *record)
{
    const ease__tiled *g = &t->m->g->g;
    size_t at = place_of(t, record[0], record[1]);

    __builtin_prefetch((const char *)g->data + at * ease__element_bytes(g->element), 1);
    __builtin_prefetch(&t->given[(record[0] * t->n + record[1]) / 8], 1);
    __builtin_prefetch(&t->given[(record[1] * t->n + record[0]) / 8]);
}

static ease_status take_placed(void *user, const uint32_t *records, size_t count,
                               size_t *bad, char what[EASE__BLOCK_WHAT])
{
    tables *t = user;
    ease_status status = EASE_OK;

    t->records += count;
    for (size_t k = 0; k < count && !status; k++) {
        if (k + AHEAD < count)
            fetch_ahead(t, records + (k + AHEAD) * EASE__TRIPLET_WORDS);
        status = place(t, records + k * EASE__TRIPLET_WORDS, what);
        *bad = k;
    }
    return status;
}

static ease_status take_kept(void *user, const uint32_t *records, size_t count,
                             size_t *bad, char what[EASE__BLOCK_WHAT])
{
    const size_t bytes = EASE__TRIPLET_WORDS * sizeof(*records);
    tables *t = user;

    *bad = 0;
    if (count > t->kept_capacity - t->kept_count) {
        size_t capacity = 2 * t->kept_capacity + count;
        uint32_t *grown;
        ease_error err = {0};
        ease_status status = ease__import_memory(t->m, ease__size_mul(capacity, bytes),
                                                 &err);

        grown = status ? NULL : ease__realloc_array(t->kept, capacity, bytes);
        if (!grown) {
            snprintf(what, EASE__BLOCK_WHAT, "%.*s", EASE__BLOCK_WHAT - 1,
                     status ? err.text : "out of memory");
            return status ? status : EASE_E_NOMEM;
        }
        t->kept = grown;
        t->kept_capacity = capacity;
    }
    if (count)
        memcpy(t->kept + t->kept_count * EASE__TRIPLET_WORDS, records, count * bytes);
    t->kept_count += count;
    return EASE_OK;
}

/* ---- the separator of a table ------------------------------------------------- */

/* True if each row has three fields, the last one a number except in the first row. */
static bool fits(const ease__splitter *s, const char *sample, size_t bytes, bool whole,
                 ease__record *r)
{
    enum { ROWS = 100 };
    const char *at = sample, *end = sample + bytes;
    int rows = 0;

    while (rows < ROWS && at < end) {
        ease__record_stop stop = ease__record_next(s, &at, end, whole, r);
        double value;

        if (stop == EASE__RECORD_BLANK)
            continue;
        if (stop == EASE__RECORD_CUT)
            break;
        if (stop != EASE__RECORD_WHOLE || r->count != 3)
            return false;
        if (ease__parse_double(r->fields[2].text, r->fields[2].length, &value) &&
            (rows || !ease__names_amount(&r->fields[2])))
            return false;
        rows++;
    }
    return rows > 0;
}

/* Guesses the separator. If none fits it is a comma; reading then reports what is
 * wrong in which line. */
static ease_status guess_splitter(ease__input *in, size_t limit, ease__splitter *out,
                                  bool *fraction, ease_error *err)
{
    static const char *const separators[] = {",", "\t", ";", "::", " "};
    const char *sample = NULL;
    size_t bytes = 0;
    ease__record r = {0};
    bool whole = false, found = false;
    ease_status status = ease__sample(in, limit, &sample, &bytes, &whole, err);

    if (!status && bytes >= 3 && memcmp(sample, "\xef\xbb\xbf", 3) == 0) {
        sample += 3;
        bytes -= 3;
    }
    for (size_t i = 0;
         !status && !found && i < sizeof(separators) / sizeof(*separators); i++) {
        status = ease__splitter_make(separators[i], out, err);
        found = !status && fits(out, sample, bytes, whole, &r);
    }
    if (!status && !found)
        status = ease__splitter_make(separators[0], out, err);
    *fraction = found && r.count == 3 &&
                memchr(r.fields[2].text, '.', r.fields[2].length);
    ease__free(r.fields);
    return status;
}

/* Moves to the first file of a shard that is not empty. *more: there is one. */
static ease_status pass_empty(ease__input *in, bool *more, ease_error *err)
{
    const char *sample;
    size_t got = 0;
    ease_status status = EASE_OK;

    *more = true;
    while (!status && *more) {
        status = ease__input_peek(in, 1, &sample, &got, err);
        if (!status && got)
            break;
        if (!status)
            status = ease__input_next(in, more, err);
    }
    return status;
}

/* ---- shards ------------------------------------------------------------------- */

static ease_status read_shard(tables *t, ease__input *in, ease_error *err)
{
    ease__importing *m = t->m;
    ease__triplets to = {.ids = &m->g->ids,
                         .fixed = m->fixed,
                         .take = m->fixed ? take_placed : take_kept,
                         .user = t};
    ease_read_options o;
    ease__splitter splitter;
    bool more = false, fraction = false;
    ease_status status = pass_empty(in, &more, err);

    if (status || !more)
        return status;
    ease_read_options_init(&o);
    o.threads = m->o.threads;
    o.memory_limit = m->o.memory_limit;
    o.hooks = m->o.hooks;
    status = guess_splitter(in, m->o.memory_limit, &splitter, &fraction, err);
    if (!status && m->fixed && !m->g->g.data)
        status = make_places(t, fraction ? EASE__F64 : EASE__U32, err);
    if (status)
        return status;
    return ease__triplets_read(in, &splitter, 0, &o, &to, err);
}

/* Places the kept records `from` .. `to` of a shard. */
static ease_status place_shard(tables *t, const char *path, size_t from, size_t to,
                               ease_error *err)
{
    const uint32_t *records = t->kept + from * EASE__TRIPLET_WORDS;
    const ease__ids *ids = &t->m->g->ids;
    char what[EASE__BLOCK_WHAT] = "";
    size_t bad = 0;
    ease_status status = take_placed(t, records, to - from, &bad, what);

    if (!status)
        return EASE_OK;
    records += bad * EASE__TRIPLET_WORDS;
    return ease__fail(err, status, "%s: \"%.60s\" and \"%.60s\": %s", path,
                      ease__ids_at(ids, records[0]), ease__ids_at(ids, records[1]),
                      what);
}

/* Starts a shard: each pair may occur again. */
static void begin_shard(tables *t)
{
    if (t->given)
        memset(t->given, 0, t->n * t->n / 8 + 1);
}

/* Reads the shards; `ends` is set to the end of each shard's records, if they are
 * kept. */
static ease_status read_shards(tables *t, const char *const *paths, int count,
                               ease__input *first, size_t *ends, ease_error *err)
{
    ease_status status = EASE_OK;

    for (int k = 0; k < count && !status; k++) {
        ease__input *in = first;

        if (k)
            status = ease__parts_open(paths[k], ease__import_hooks(t->m), &in, err);
        begin_shard(t);
        if (!status)
            status = read_shard(t, in, err);
        if (k && in != first)
            ease__input_close(in);
        ends[k] = t->kept_count;
    }
    return status;
}

ease_status ease__import_shards(ease__importing *m, const char *const *paths, int count,
                                ease__input *first, ease_error *err)
{
    tables t = {.m = m, .several = count > 1};
    size_t *ends = ease__alloc_zero((size_t)count, sizeof(*ends));
    ease_status status;

    if (!ends)
        return ease__import_no_memory(m, err);
    status = read_shards(&t, paths, count, first, ends, err);
    if (!status && t.records + t.kept_count == 0)
        status = ease__fail(err, EASE_E_DATA, "%s: no entries", m->path);
    if (!status && !m->fixed)
        status = make_places(&t, EASE__U32, err);
    for (int k = 0; k < count && !status && !m->fixed; k++) {
        begin_shard(&t);
        status = place_shard(&t, paths[k], k ? ends[k - 1] : 0, ends[k], err);
    }
    free_tables(&t);
    ease__free(ends);
    return status;
}
