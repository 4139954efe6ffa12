#include "read/events.h"

#include <string.h>

#include "read/readers.h"

void ease__events_free(ease__events *e)
{
    ease__free(e->user);
    ease__free(e->item);
    ease__free(e->time);
    ease__free(e->part);
    ease__free(e->begin);
    ease__free(e->order);
    if (!e->borrowed) {
        ease__ids_free(&e->user_ids);
        ease__ids_free(&e->item_ids);
    }
    ease__free(e->recognized);
    *e = (ease__events){0};
}

/* ---- from records or rows -------------------------------------------------- */

static bool allocate(ease__events *e, int64_t count, bool timed)
{
    size_t n = (size_t)count;

    e->count = count;
    e->user = ease__alloc_array(n, sizeof(*e->user));
    e->item = ease__alloc_array(n, sizeof(*e->item));
    if (timed)
        e->time = ease__alloc_array(n, sizeof(*e->time));
    return e->user && e->item && (!timed || e->time);
}

/* `order` has indices of events as 32-bit numbers. */
static ease_status check_count(int64_t count, const char *name, ease_error *err)
{
    if (count <= (int64_t)UINT32_MAX)
        return EASE_OK;
    return ease__fail(err, EASE_E_TOO_LARGE, "%s: 2^32 rows or more to split", name);
}

static bool take_records(ease__draft *d, ease__events *e)
{
    size_t words = ease__record_words(d->weighted, d->timed);
    int64_t at = 0;

    if (!allocate(e, d->records, d->timed))
        return false;
    for (size_t i = 0; i < d->chunk_count; i++) {
        ease__chunk *c = &d->chunks[i];
        const uint32_t *end = c->records + c->count * words;

        for (const uint32_t *r = c->records; r < end; r += words, at++) {
            e->user[at] = r[0];
            e->item[at] = (int32_t)r[1];
            if (e->time)
                memcpy(&e->time[at], &r[words - 2], sizeof(double));
        }
        ease__chunk_free(c);
    }
    e->user_ids = d->user_ids;
    e->item_ids = d->item_ids;
    e->recognized = d->recognized;
    e->counts = d->counts;
    d->user_ids = d->item_ids = (ease__ids){0};
    d->recognized = NULL;
    return true;
}

/* Events in the order of rows: by user. */
static bool copy_rows(const ease_interactions *x, ease__events *e)
{
    if (!allocate(e, x->nnz, false))
        return false;
    for (int64_t u = 0; u < x->users; u++)
        for (int64_t i = x->row_ptr[u]; i < x->row_ptr[u + 1]; i++)
            e->user[i] = (uint32_t)u;
    if (x->nnz)
        memcpy(e->item, x->cols, (size_t)x->nnz * sizeof(*e->item));
    return true;
}

/* Takes over the rows of an input that has rows itself. */
static bool take_rows(ease_interactions *x, ease__events *e)
{
    if (!copy_rows(x, e))
        return false;
    e->user_ids = x->user_ids;
    e->item_ids = x->item_ids;
    e->recognized = x->recognized;
    e->counts = x->counts;
    x->user_ids = x->item_ids = (ease__ids){0};
    x->recognized = NULL;
    return true;
}

/* ---- by user --------------------------------------------------------------- */

/* A counting sort: stable, so that a user's events stay in file order. */
static ease_status sort_by_user(ease__events *e, ease_error *err)
{
    e->users = e->user_ids.count;
    e->items = (int32_t)e->item_ids.count;
    e->begin = ease__alloc_zero((size_t)e->users + 2, sizeof(*e->begin));
    e->order = ease__alloc_array((size_t)e->count, sizeof(*e->order));
    e->part = ease__alloc_array((size_t)e->count, 1);
    if (!e->begin || !e->order || !e->part)
        return ease__fail(err, EASE_E_NOMEM, "sorting %lld interactions",
                          (long long)e->count);
    if (e->count)
        memset(e->part, 1, (size_t)e->count);
    /* begin[u + 2] counts, then begin[u + 1] moves from the begin of u to its end. */
    for (int64_t i = 0; i < e->count; i++)
        e->begin[e->user[i] + 2]++;
    for (int64_t u = 0; u < e->users; u++)
        e->begin[u + 2] += e->begin[u + 1];
    for (int64_t i = 0; i < e->count; i++)
        e->order[e->begin[e->user[i] + 1]++] = (uint32_t)i;
    return EASE_OK;
}

/* ---- folding and filtering ------------------------------------------------- */

static ease_status fold(ease__events *e, bool last, ease_error *err)
{
    uint32_t *owner = ease__alloc_zero((size_t)e->items, sizeof(*owner));

    if (!owner)
        return ease__fail(err, EASE_E_NOMEM, "folding rows of %d items", (int)e->items);
    for (int64_t u = 0; u < e->users; u++) {
        int64_t length = e->begin[u + 1] - e->begin[u];

        for (int64_t i = 0; i < length; i++) {
            int64_t at = last ? e->begin[u + 1] - 1 - i : e->begin[u] + i;
            uint32_t event = e->order[at], me = (uint32_t)u + 1;

            if (owner[e->item[event]] == me) {
                e->part[event] = 0;
                e->counts.repeated++;
            }
            owner[e->item[event]] = me;
        }
    }
    ease__free(owner);
    return EASE_OK;
}

/* Drops the events of users (or items) with fewer than `least` events. Returns how many
 * were dropped. */
static int64_t drop_rare(ease__events *e, int64_t least, bool users, int64_t *count)
{
    int64_t who = users ? e->users : e->items, dropped = 0;

    memset(count, 0, (size_t)who * sizeof(*count));
    for (int64_t i = 0; i < e->count; i++)
        count[users ? (int64_t)e->user[i] : e->item[i]] += e->part[i];
    for (int64_t i = 0; i < e->count; i++) {
        if (e->part[i] && count[users ? (int64_t)e->user[i] : e->item[i]] < least) {
            e->part[i] = 0;
            dropped++;
        }
    }
    return dropped;
}

static ease_status filter(ease__events *e, const ease_read_options *o, ease_error *err)
{
    int64_t most = e->users > e->items ? e->users : e->items;
    int64_t *count = ease__alloc_array((size_t)most, sizeof(*count));
    ease_status status = EASE_OK;
    int64_t dropped;

    if (!count)
        return ease__fail(err, EASE_E_NOMEM, "counting %lld ids", (long long)most);
    do {
        dropped = 0;
        if (ease__progress(o->hooks, ease__stage_reading, 1.0))
            status = ease__cancelled(err);
        if (!status && o->min_item > 0)
            dropped += drop_rare(e, o->min_item, false, count);
        if (!status && o->min_user > 0)
            dropped += drop_rare(e, o->min_user, true, count);
        e->counts.filtered += dropped;
    } while (dropped && !o->one_pass);
    ease__free(count);
    return status;
}

static ease_status finish(ease__events *e, const ease_read_options *o, const char *name,
                          ease_error *err)
{
    ease_status status = sort_by_user(e, err);

    if (!status)
        status = fold(e, o->repeat == EASE_REPEAT_LAST, err);
    if (!status && (o->min_user > 0 || o->min_item > 0))
        status = filter(e, o, err);
    if (status)
        return status;
    e->counts.interactions = e->count - e->counts.repeated - e->counts.filtered;
    return e->counts.interactions ? EASE_OK : ease__nothing_left(&e->counts, name, err);
}

/* Checks the most memory that dividing takes: for an event the arrays of ease__events,
 * and for one protocol a second copy of its time; for a user a place in several
 * orders. */
static ease_status check_memory(const ease__draft *d, const ease_interactions *x,
                                ease__budget *b, const char *name, ease_error *err)
{
    bool rows = x->row_ptr != NULL;
    const ease__ids *users = rows ? &x->user_ids : &d->user_ids,
                    *items = rows ? &x->item_ids : &d->item_ids;
    size_t an_event = 13 + (d->timed ? 2 * sizeof(double) : 0) + (rows ? 4 : 0);
    size_t need = ease__size_mul((size_t)(rows ? x->nnz : d->records), an_event);

    need = ease__size_add(need, ease__size_mul((size_t)users->count, 64));
    need = ease__size_add(need, ease__size_mul((size_t)items->count, 32));
    need = ease__size_add(need, ease__ids_held(users) + ease__ids_held(items));
    ease__budget_start(b, b->limit); /* all that was taken is in `need` */
    return ease__budget_allows(b, need) ? EASE_OK : ease__budget_fail(b, name, err);
}

static ease_status read_events(ease__reading *r, ease__events *e, ease_error *err)
{
    ease__budget *budget = r->draft->budget;
    ease__draft *draft = r->draft;
    ease_interactions *x = r->x;
    const char *name = ease__input_name(r->in);
    ease_status status = ease__reading_run(r, err);

    if (!status && draft->doubt)
        status = ease__fail(err, EASE_E_ARG, "%s", draft->doubt);
    if (!status)
        status = check_count(x->row_ptr ? x->nnz : draft->records, name, err);
    if (!status)
        status = check_memory(draft, x, budget, name, err);
    if (!status && !(x->row_ptr ? take_rows(x, e) : take_records(draft, e)))
        status = ease__fail(err, EASE_E_NOMEM, "interactions of %s", name);
    ease__draft_free(draft);
    return status ? status : finish(e, r->o, name, err);
}

ease_status ease__events_read(const char *path, const ease_read_options *o,
                              size_t block_bytes, bool timed, bool dated,
                              ease__events *out, ease_error *err)
{
    ease__events e = {0};
    ease__budget budget;
    ease__draft draft = {.budget = &budget};
    ease_read_options used = *o;
    ease__reading r = {.path = path,
                       .o = &used,
                       .block_bytes = block_bytes,
                       .timed = timed,
                       .dated = dated || ease__wants_times(o),
                       .draft = &draft,
                       .x = ease__alloc_zero(1, sizeof(*r.x))};
    ease_status status;

    ease__budget_start(&budget, o->memory_limit);
    used.memory_limit = budget.limit;
    if (!r.x)
        return ease__fail(err, EASE_E_NOMEM, "reading %s", path);
    status = ease__reading_open(&r, err);
    if (!status)
        status = read_events(&r, &e, err);
    ease__reading_close(&r);
    ease_interactions_free(r.x);
    if (status) {
        ease__events_free(&e);
        return status;
    }
    *out = e;
    return EASE_OK;
}

ease_status ease__events_of_rows(const ease_interactions *x, const ease_read_options *o,
                                 ease__events *out, ease_error *err)
{
    static const char name[] = "interactions";
    ease__events e = {.borrowed = true};
    ease__draft none = {0};
    ease__budget budget;
    ease_status status = check_count(x->nnz, name, err);

    ease__budget_start(&budget, o->memory_limit);
    if (!status)
        status = check_memory(&none, x, &budget, name, err);
    if (!status && !copy_rows(x, &e))
        status = ease__fail(err, EASE_E_NOMEM, "dividing %lld interactions",
                            (long long)x->nnz);
    if (!status) {
        e.user_ids = x->user_ids;
        e.item_ids = x->item_ids;
        status = finish(&e, o, name, err);
    }
    if (status) {
        ease__events_free(&e);
        return status;
    }
    *out = e;
    return EASE_OK;
}
