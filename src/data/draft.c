#include "data/draft.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "data/age.h"

void ease__chunk_free(ease__chunk *c)
{
    ease__free_pages(c->records, c->bytes);
    *c = (ease__chunk){0};
}

void ease__draft_free(ease__draft *d)
{
    for (size_t i = 0; i < d->chunk_count; i++)
        ease__chunk_free(&d->chunks[i]);
    ease__free(d->chunks);
    ease__free(d->recognized);
    ease__free(d->doubt);
    ease__ids_free(&d->user_ids);
    ease__ids_free(&d->item_ids);
    *d = (ease__draft){0};
}

/* Chunks are large enough for huge pages, and small enough that freeing them one by
 * one while rows are built keeps the peak low. */
enum { CHUNK_BYTES = 1 << 23 };

static bool new_chunk(ease__draft *d, size_t bytes)
{
    ease__chunk c = {.bytes = bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes};

    if (d->chunk_count == d->chunk_capacity) {
        size_t capacity = d->chunk_capacity ? 2 * d->chunk_capacity : 64;
        ease__chunk *grown = ease__realloc_array(d->chunks, capacity, sizeof(*grown));

        if (!grown)
            return false;
        d->chunks = grown;
        d->chunk_capacity = capacity;
    }
    assert(d->chunks);
    c.records = ease__alloc_pages(c.bytes);
    if (!c.records)
        return false;
    d->chunks[d->chunk_count++] = c;
    return true;
}

uint32_t *ease__draft_add(ease__draft *d, size_t count)
{
    size_t words = ease__record_words(d->weighted, d->timed);
    size_t a_record = words * sizeof(uint32_t);
    ease__chunk *last = d->chunk_count ? &d->chunks[d->chunk_count - 1] : NULL;

    if (!last || last->bytes / a_record - last->count < count) {
        if (!new_chunk(d, ease__size_mul(count, a_record)))
            return NULL;
        last = &d->chunks[d->chunk_count - 1];
    }
    last->count += count;
    d->records += (int64_t)count;
    return last->records + (last->count - count) * words;
}

size_t ease__draft_bytes(const ease__draft *d)
{
    return ease__size_mul((size_t)d->records,
                          sizeof(uint32_t) * ease__record_words(d->weighted, d->timed));
}

/* ---- from records to rows: a counting sort by user ------------------------- */

/* Chunks are divided among `parts` in runs of about equal size. Each part counts,
 * and later places, its own records, so that a row keeps the order of the file. */
typedef struct sorter {
    ease__draft *draft;
    int parts;
    size_t *first;   /* parts + 1: the first chunk of each part */
    uint32_t *place; /* parts x users: counts, then places within the row */
    int64_t users;
} sorter;

static void deal_chunks(sorter *s)
{
    int64_t seen = 0;
    int part = 0;

    for (size_t i = 0; i < s->draft->chunk_count; i++) {
        while (part < s->parts && seen >= s->draft->records * part / s->parts)
            s->first[part++] = i;
        seen += (int64_t)s->draft->chunks[i].count;
    }
    while (part <= s->parts)
        s->first[part++] = s->draft->chunk_count;
}

static void count_part(const sorter *s, int part)
{
    uint32_t *count = s->place + (size_t)part * (size_t)s->users;
    size_t words = ease__record_words(s->draft->weighted, s->draft->timed);

    for (size_t i = s->first[part]; i < s->first[part + 1]; i++) {
        const ease__chunk *c = &s->draft->chunks[i];
        const uint32_t *end = c->records + c->count * words;

        for (const uint32_t *r = c->records; r < end; r += words)
            count[r[0]]++;
    }
}

/* Replaces counts by places. Returns false if a row is longer than 32 bits can
 * count. */
static bool lay_rows(const sorter *s, int64_t *row_ptr)
{
    uint64_t at = 0;

    for (int64_t u = 0; u < s->users; u++) {
        uint64_t start = at;

        row_ptr[u] = (int64_t)at;
        for (int part = 0; part < s->parts; part++) {
            uint32_t *place = &s->place[(size_t)part * (size_t)s->users + (size_t)u];
            uint32_t count = *place;

            *place = (uint32_t)(at - start);
            at += count;
        }
        if (at - start > UINT32_MAX)
            return false;
    }
    row_ptr[s->users] = (int64_t)at;
    return (int64_t)at == s->draft->records; /* otherwise a count has overflowed */
}

static float aged_value(const ease__draft *d, const uint32_t *record)
{
    float value = 1.0f;
    double time;

    if (d->weighted)
        memcpy(&value, &record[2], sizeof(value));
    memcpy(&time, &record[2 + d->weighted], sizeof(time));
    return ease__aged_value(value, d->counts.age_from - time, d->half_life);
}

static void place_part(const sorter *s, int part, ease_interactions *x)
{
    uint32_t *place = s->place + (size_t)part * (size_t)s->users;
    size_t words = ease__record_words(s->draft->weighted, s->draft->timed);

    for (size_t i = s->first[part]; i < s->first[part + 1]; i++) {
        ease__chunk *c = &s->draft->chunks[i];
        const uint32_t *end = c->records + c->count * words;

        for (const uint32_t *r = c->records; r < end; r += words) {
            int64_t at = x->row_ptr[r[0]] + place[r[0]]++;

            x->cols[at] = (int32_t)r[1];
            if (s->draft->half_life > 0.0)
                x->vals[at] = aged_value(s->draft, r);
            else if (s->draft->weighted)
                memcpy(&x->vals[at], &r[2], sizeof(float));
        }
        ease__chunk_free(c);
    }
}

/* The number of parts, so that the places of all parts take at most a byte for each
 * interaction. */
static int choose_parts(const ease__draft *d, int64_t users, int threads)
{
    int64_t most = 1;

    if (users > 0)
        most = d->records / (4 * users);
    if (most > threads)
        most = threads;
    return most < 1 ? 1 : (int)most;
}

static bool has_values(const ease__draft *d)
{
    return d->weighted || d->half_life > 0.0;
}

size_t ease__draft_rows_bytes(const ease__draft *d, int64_t users, int threads)
{
    size_t an_entry = sizeof(int32_t) + (has_values(d) ? sizeof(float) : 0);
    size_t a_user = sizeof(int64_t) +
                    sizeof(uint32_t) * (size_t)choose_parts(d, users, threads);

    return ease__size_add(ease__size_mul((size_t)d->records, an_entry),
                          ease__size_mul((size_t)users, a_user));
}

static ease_status sort_records(sorter *s, ease_interactions *x, ease_error *err)
{
    size_t records = (size_t)s->draft->records;

    deal_chunks(s);
#pragma omp parallel for num_threads(s->parts) schedule(static, 1)
    for (int part = 0; part < s->parts; part++)
        count_part(s, part);
    if (!lay_rows(s, x->row_ptr))
        return ease__fail(err, EASE_E_TOO_LARGE, "a user with 2^32 rows or more");
    x->cols = ease__alloc_array(records, sizeof(*x->cols));
    if (has_values(s->draft))
        x->vals = ease__alloc_array(records, sizeof(*x->vals));
    if (!x->cols || (has_values(s->draft) && !x->vals))
        return ease__fail(err, EASE_E_NOMEM, "%zu interactions", records);
#pragma omp parallel for num_threads(s->parts) schedule(static, 1)
    for (int part = 0; part < s->parts; part++)
        place_part(s, part, x);
    return EASE_OK;
}

ease_status ease__draft_rows(ease__draft *d, int threads, ease_interactions *x,
                             ease_error *err)
{
    sorter s = {.draft = d, .users = d->user_ids.count};
    ease_status status = EASE_OK;

    s.parts = choose_parts(d, s.users, threads);
    s.first = ease__alloc_array((size_t)s.parts + 1, sizeof(*s.first));
    s.place = ease__alloc_zero(ease__size_mul((size_t)s.parts, (size_t)s.users),
                               sizeof(*s.place));
    x->row_ptr = ease__alloc_array((size_t)s.users + 1, sizeof(*x->row_ptr));
    if (!s.first || !s.place || !x->row_ptr)
        status = ease__fail(err, EASE_E_NOMEM, "rows of %lld users",
                            (long long)s.users);
    else
        status = sort_records(&s, x, err);
    ease__free(s.first);
    ease__free(s.place);
    if (status)
        return status;
    x->users = s.users;
    x->items = (int32_t)d->item_ids.count;
    x->nnz = d->records;
    x->user_ids = d->user_ids;
    x->item_ids = d->item_ids;
    x->counts = d->counts;
    x->recognized = d->recognized;
    x->doubt = d->doubt;
    d->user_ids = d->item_ids = (ease__ids){0};
    d->recognized = d->doubt = NULL;
    d->records = 0;
    return EASE_OK;
}

/* ---- ages ------------------------------------------------------------------ */

void ease__draft_dated(ease__draft *d, const ease_read_options *o)
{
    const double day = 86400.0;

    d->dated = true;
    d->oldest = (double)INFINITY;
    d->newest = -(double)INFINITY;
    d->half_life = o->half_life * day;
}

ease_status ease__draft_age(ease__draft *d, const ease_read_options *o,
                            const char *name, ease_error *err)
{
    if (!d->dated)
        return EASE_OK;
    if (d->small * 2 > d->counts.rows)
        return ease__fail(err, EASE_E_DATA,
                          "%s: times below 100,000,000: dates or seconds, milli-, "
                          "micro- or nanoseconds since 1970 are needed",
                          name);
    if (d->records == 0)
        return EASE_OK;
    d->counts.oldest = d->oldest;
    d->counts.newest = d->newest;
    if (d->half_life > 0.0)
        d->counts.age_from = isnan(o->until) ? d->newest : o->until;
    return EASE_OK;
}
