#include "read/blocks.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "read/readers.h"

/* Blocks go through a ring buffer in file order. Each is read, parsed, merged (its new
 * ids get numbers) and placed (its records are copied to the draft, with numbers in
 * place of codes). Only the calling thread reads, since hooks are called by it; blocks
 * are merged one after the other; everything else is done by any thread that is free. A
 * thread waits only if the ring is full, so that one that the system has suspended does
 * not delay the others. */
enum {
    FIRST_BLOCK = 1 << 17, /* blocks grow: at the beginning most ids are new in each */
    LARGEST_BLOCK = 1 << 19,
    SMALLEST_BLOCK = 1 << 18, /* with many threads */
    TINY_BLOCK = 1 << 14,     /* where memory is scarce */
    RING_BYTES = 1 << 26,
    RING_SHARE = 16, /* a 16th of the memory limit is for the text of the ring */
    BLOCKS_A_THREAD = 8
};

typedef enum stage { EMPTY, READ, PARSING, PARSED, PLACING } stage;

typedef struct slot {
    ease__block block;
    stage stage;
    uint32_t *place;
} slot;

typedef struct reader {
    ease__input *in;
    const ease__row_form *form;
    const ease_read_options *o;
    ease__draft *draft;
    const ease__triplets *triplets; /* NULL: records go to the draft */
    int threads;
    size_t block_bytes, largest;
    ease__budget *budget;
    ease__dictionary users, items;
    slot *ring;
    int slots;
    int64_t lines; /* of its file before the block to be merged next */

    /* Used by the calling thread only: */
    char *tail; /* the beginning of a line whose end is still to be read */
    size_t tail_bytes, tail_capacity;
    bool ended, next_file;
    ease__heading above; /* of the lines to be read next */

    /* Guarded by the lock, as the stages of the slots are: */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t read, parsed, merged; /* number of the next block for each step */
    bool merging;
    bool all_read;
    ease_status read_status; /* of reading, after the blocks read */
    ease_error read_error;
    ease_status status; /* of the whole run */
    ease_error error;
} reader;

/* ---- reading blocks -------------------------------------------------------- */

static bool grow_text(ease__block *b, size_t bytes)
{
    size_t capacity = ease__size_add(bytes, EASE__BLOCK_PADDING);
    char *grown;

    if (b->capacity >= capacity)
        return true;
    grown = ease__budget_resize(b->budget, b->text, b->capacity, capacity);
    if (!grown)
        return false;
    b->text = grown;
    b->capacity = capacity;
    return true;
}

/* Keeps what follows the last line end for the next block. */
static bool keep_tail(reader *r, ease__block *b, const char *after)
{
    size_t bytes = (size_t)(b->text + b->bytes - after);

    if (bytes > r->tail_capacity) {
        char *grown = ease__budget_resize(r->budget, r->tail, r->tail_capacity, bytes);

        if (!grown)
            return false;
        r->tail = grown;
        r->tail_capacity = bytes;
    }
    if (bytes)
        memcpy(r->tail, after, bytes);
    r->tail_bytes = bytes;
    b->bytes -= bytes;
    return true;
}

/* Adds the line end that the last line of a file may lack. */
static void end_last_line(ease__block *b)
{
    if (b->bytes && b->text[b->bytes - 1] != '\n')
        b->text[b->bytes++] = '\n';
}

static ease_status no_memory(const reader *r, ease_error *err)
{
    return ease__budget_fail(r->budget, ease__input_name(r->in), err);
}

/* Fails: there is no memory for a line of which `bytes` have been read. */
static ease_status too_long(const reader *r, size_t bytes, ease_error *err)
{
    char line[EASE__SIZE_CHARS], limit[EASE__SIZE_CHARS];

    if (!atomic_load(&r->budget->needed) || bytes < r->block_bytes)
        return no_memory(r, err);
    return ease__fail(err, EASE_E_MEMORY_LIMIT,
                      "%s: no memory for a line of more than %s; the limit is %s",
                      ease__input_name(r->in), ease__size_text(bytes, line),
                      ease__size_text(r->budget->limit, limit));
}

static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0 && length <= EASE__HEADING_DIGITS;
}

/* Keeps the last heading of the block for the rows of the next one. */
static void carry_heading(reader *r, const ease__block *b)
{
    size_t from = b->break_count ? b->breaks[b->break_count - 1] : 0;
    size_t bytes = b->bytes - from;
    const char *text = b->text + from, *colon;

    if (b->break_count)
        r->above.length = 0;
    while (bytes && (colon = memrchr(text, ':', bytes))) {
        const char *before, *start;

        bytes = (size_t)(colon - text);
        if (colon[1] != '\n' && (colon[1] != '\r' || colon[2] != '\n'))
            continue;
        before = memrchr(text, '\n', bytes);
        start = before ? before + 1 : text;
        if (!is_number(start, (size_t)(colon - start))) /* a row, or a bad line */
            continue;
        r->above.length = (size_t)(colon - start);
        memcpy(r->above.text, start, r->above.length);
        return;
    }
}

static void place_block(reader *r, ease__block *b)
{
    b->file = ease__input_at(r->in);
    b->break_count = 0;
    b->opens_file = r->next_file;
    if (r->next_file)
        r->above.length = 0;
    r->next_file = false;
    b->above = r->above;
}

/* Appends about `want` bytes of the current file to the block: whole lines, or one that
 * is longer. *ended: the file has no more. */
static ease_status read_lines(reader *r, ease__block *b, size_t want, bool *ended,
                              ease_error *err)
{
    size_t start = b->bytes - r->tail_bytes, got = 0;
    const char *last = NULL;
    ease_status status = EASE_OK;

    r->tail_bytes = 0;
    while (!*ended && !last) {
        if (!grow_text(b, ease__size_add(b->bytes, want))) {
            size_t line = b->bytes - start;

            b->bytes = 0; /* no whole line is there to be parsed */
            return too_long(r, line, err);
        }
        status = ease__input_read(r->in, b->text + b->bytes, want, &got, err);
        *ended = status || got < want;
        last = memrchr(b->text + b->bytes, '\n', got);
        b->bytes += got;
        if (status)
            break;
        want = b->bytes; /* a long line: twice as much */
    }
    if (!*ended && !keep_tail(r, b, last + 1)) {
        b->bytes = 0;
        return no_memory(r, err);
    }
    if (status) /* a damaged stream: the lines before it count */
        b->bytes = last ? (size_t)(last + 1 - b->text) : start;
    else
        end_last_line(b);
    return status;
}

static bool add_break(ease__block *b)
{
    if (b->break_count == b->break_capacity) {
        size_t capacity = b->break_capacity ? 2 * b->break_capacity : 16;
        size_t *grown = ease__budget_resize(b->budget, b->breaks,
                                            b->break_capacity * sizeof(*grown),
                                            capacity * sizeof(*grown));

        if (!grown)
            return false;
        b->breaks = grown;
        b->break_capacity = capacity;
    }
    b->breaks[b->break_count++] = b->bytes;
    return true;
}

/* Fills a block with about block_bytes of whole lines, of one file or of several small
 * ones: every block has a fixed cost. */
static ease_status read_block(reader *r, ease__block *b, ease_error *err)
{
    ease_status status = EASE_OK;
    bool ended = false, more = true;

    place_block(r, b);
    if (!grow_text(b, r->tail_bytes + r->block_bytes))
        return too_long(r, r->tail_bytes, err);
    if (r->tail_bytes)
        memcpy(b->text, r->tail, r->tail_bytes);
    b->bytes = r->tail_bytes;
    for (;;) {
        size_t left = r->block_bytes;

        if (b->break_count)
            left -= b->bytes;
        status = read_lines(r, b, left, &ended, err);
        if (status || !ended)
            break;
        status = ease__input_next(r->in, &more, err);
        r->next_file = !status && more && b->bytes > r->block_bytes / 2;
        if (status || !more || r->next_file)
            break;
        if (!add_break(b)) {
            b->bytes = 0;
            return no_memory(r, err);
        }
        ended = false;
    }
    if (b->text)
        memset(b->text + b->bytes, 0, EASE__BLOCK_PADDING - 1);
    if (r->form->kind == EASE__ROWS_HEADED)
        carry_heading(r, b);
    r->ended = status || (ended && !more);
    return status;
}

/* ---- merging --------------------------------------------------------------- */

static ease_status too_many(const reader *r, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_TOO_LARGE, "%s: too many %s", ease__input_name(r->in),
                      what);
}

static bool grow_numbers(const reader *r, ease__newcomers *n)
{
    const size_t each = sizeof(*n->numbers);
    uint32_t *grown;

    if (n->fresh.count <= n->number_capacity)
        return true;
    grown = ease__budget_resize(r->budget, n->numbers, n->number_capacity * each,
                                n->fresh.count * each);
    if (!grown)
        return false;
    n->numbers = grown;
    n->number_capacity = n->fresh.count;
    return true;
}

/* As no_memory, while blocks are merged: the message has the number of rows so far. */
static ease_status no_rows(const reader *r, ease_error *err)
{
    char needed[EASE__SIZE_CHARS], limit[EASE__SIZE_CHARS];
    size_t bytes = atomic_load(&r->budget->needed);

    if (!bytes)
        return no_memory(r, err);
    return ease__fail(err, EASE_E_MEMORY_LIMIT,
                      "%s: reading needs more than %s after %lld rows; the limit is %s",
                      ease__input_name(r->in), ease__size_text(bytes, needed),
                      (long long)r->draft->counts.rows,
                      ease__size_text(r->budget->limit, limit));
}

/* Numbers the newcomers of a block, in order. */
static ease_status number_newcomers(reader *r, ease__newcomers *n,
                                    ease__dictionary *all, size_t most,
                                    const char *what, ease_error *err)
{
    if (!grow_numbers(r, n))
        return no_rows(r, err);
    n->known = (uint32_t)all->count;
    if (n->fresh.count > UINT32_MAX - all->count) /* their codes could not be told */
        return too_many(r, what, err);
    for (size_t i = 0; i < n->fresh.count; i++) {
        ease__name id = *ease__dictionary_name(&n->fresh, i);
        ease__key k = ease__key_of(all, id.text, id.length);
        bool found;
        ease__slot *at = ease__dictionary_slot(all, k, &found);

        n->numbers[i] = found ? at->code : (uint32_t)all->count;
        if (found) /* an earlier block has added it meanwhile */
            continue;
        if (all->count >= most)
            return too_many(r, what, err);
        if (!ease__dictionary_add(all, at, k))
            return no_rows(r, err);
    }
    return EASE_OK;
}

/* The memory of the ids: of those in the dictionary, or of `claimed` numbers. */
static size_t ids_size(const ease__dictionary *met, int64_t claimed)
{
    return claimed ? ease__size_mul((size_t)claimed, EASE__DIGITS)
                   : ease__ids_size((int64_t)met->count, met->letters);
}

/* Checks the memory that is needed after reading, when the ring is freed: ids are made
 * from the dictionaries, and rows from the records. Reading stops as soon as these
 * would not fit. */
static ease_status check_later(const reader *r, ease_error *err)
{
    const ease__draft *d = r->draft;
    int64_t users = r->form->rows ? r->form->rows : (int64_t)r->users.count;
    size_t records = ease__draft_bytes(d),
           ids = ease__size_add(ids_size(&r->users, r->form->rows),
                                ids_size(&r->items, r->form->columns)),
           names = r->users.bytes + r->items.bytes,
           rows = ease__draft_rows_bytes(d, users, r->threads),
           most = ease__size_add(ease__size_add(records, ids),
                                 names > rows ? names : rows);

    if (most <= r->budget->limit)
        return EASE_OK;
    atomic_store(&r->budget->needed, most);
    return no_rows(r, err);
}

/* ---- triplets, which need no placing --------------------------------------- */

/* The first record with an item that is not in the list. */
static size_t find_stranger(const ease__block *b, size_t known)
{
    size_t k = 0;

    if (b->items.fresh.count == 0)
        return b->count;
    while (k < b->count && b->records[k * EASE__TRIPLET_WORDS] < known &&
           b->records[k * EASE__TRIPLET_WORDS + 1] < known)
        k++;
    return k;
}

static void tell_stranger(const ease__block *b, size_t record, size_t known,
                          char what[EASE__BLOCK_WHAT])
{
    const uint32_t *at = b->records + record * EASE__TRIPLET_WORDS;
    uint32_t code = at[0] < known ? at[1] : at[0];
    const ease__name *n = ease__dictionary_name(&b->items.fresh, ~code);
    char shown[EASE__EXCERPT_CHARS];

    snprintf(what, EASE__BLOCK_WHAT, "item '%s' is not in the list of items",
             ease__excerpt(n->text, n->length, shown));
}

static ease_status bad_record(const reader *r, const ease__block *b, size_t record,
                              ease_status status, const char *what, ease_error *err)
{
    size_t file = 0;
    long long line = ease__record_line(r->form, b, record, &file);

    if (!file && !b->opens_file)
        line += r->lines;
    return ease__fail_at(err, status, line, "%s:%lld: %s",
                         ease__input_file_name(r->in, b->file + file), line, what);
}

static inline uint32_t number_of(const ease__newcomers *n, uint32_t code)
{
    return code < n->known ? code : n->numbers[~code];
}

/* Hands over a block's triplets, also those before a bad line. */
static ease_status merge_triplets(reader *r, ease__block *b, ease_error *err)
{
    const ease__triplets *t = r->triplets;
    char what[EASE__BLOCK_WHAT] = "";
    size_t count = b->count, bad = 0;
    ease_status status;

    if (t->fixed) {
        count = find_stranger(b, r->items.count);
    } else {
        status = number_newcomers(r, &b->items, &r->items, INT32_MAX, "items", err);
        if (status)
            return status;
        for (size_t k = 0; k < count; k++) {
            uint32_t *at = b->records + k * EASE__TRIPLET_WORDS;

            at[0] = number_of(&b->items, at[0]);
            at[1] = number_of(&b->items, at[1]);
        }
    }
    status = t->take(t->user, b->records, count, &bad, what);
    if (status)
        return bad_record(r, b, bad, status, what, err);
    if (count == b->count)
        return EASE_OK;
    tell_stranger(b, count, r->items.count, what);
    return bad_record(r, b, count, EASE_E_DATA, what, err);
}

/* ---- interactions ---------------------------------------------------------- */

static ease_status merge_records(reader *r, slot *s, ease_error *err)
{
    size_t a_record = ease__record_words(r->form->weighted, r->form->timed) *
                      sizeof(*s->place);
    ease__block *b = &s->block;
    ease_status status = number_newcomers(r, &b->users, &r->users,
                                          (size_t)EASE__MAX_IDS, "users", err);

    if (!status)
        status = number_newcomers(r, &b->items, &r->items, INT32_MAX, "items", err);
    if (status)
        return status;
    s->place = ease__budget_take(r->budget, b->count * a_record)
                   ? ease__draft_add(r->draft, b->count)
                   : NULL;
    return s->place ? check_later(r, err) : no_rows(r, err);
}

static ease_status merge_block(reader *r, slot *s, ease_error *err)
{
    ease__draft *d = r->draft;
    ease__block *b = &s->block;
    ease_status status = EASE_OK;

    if (b->status == EASE_E_NOMEM)
        return no_rows(r, err);
    if (r->triplets)
        status = merge_triplets(r, b, err);
    if (status)
        return status;
    if (b->opens_file || b->bad_file)
        r->lines = 0;
    if (b->status) {
        long long line = r->lines + b->bad_line;

        return ease__fail_at(err, b->status, line, "%s:%lld: %s",
                             ease__input_file_name(r->in, b->file + b->bad_file), line,
                             b->what);
    }
    if (!r->triplets)
        status = merge_records(r, s, err);
    if (status)
        return status;
    d->counts.rows += (int64_t)b->count + b->below_rating + b->outside;
    d->counts.below_rating += b->below_rating;
    d->counts.outside_time += b->outside;
    d->small += b->small;
    if (b->oldest < d->oldest)
        d->oldest = b->oldest;
    if (b->newest > d->newest)
        d->newest = b->newest;
    if (!ease__wants_values(r->o)) {
        d->counts.unused += b->unlike_one;
        d->counts.negative += b->negative;
    }
    r->lines += b->lines;
    return EASE_OK;
}

/* ---- placing --------------------------------------------------------------- */

/* Copies records to their place, with numbers for codes. */
static void place_records(const ease__block *b, size_t words, uint32_t *to)
{
    const uint32_t *from = b->records;

    if (b->users.fresh.count == 0 && b->items.fresh.count == 0) {
        memcpy(to, from, b->count * words * sizeof(*to));
        return;
    }
    for (size_t i = 0; i < b->count; i++, from += words, to += words) {
        to[0] = number_of(&b->users, from[0]);
        to[1] = number_of(&b->items, from[1]);
        for (size_t k = 2; k < words; k++)
            to[k] = from[k];
    }
}

/* ---- the ring: each of these is called and returns with the lock held ------ */

static slot *slot_of(const reader *r, int64_t block)
{
    return &r->ring[block % r->slots];
}

static void change_stage(reader *r, slot *s, stage to)
{
    s->stage = to;
    pthread_cond_broadcast(&r->changed);
}

/* Reading stays only some blocks ahead of parsing, so that blocks are parsed while they
 * are in the cache. */
static bool can_read(const reader *r)
{
    return !r->all_read && slot_of(r, r->read)->stage == EMPTY &&
           r->read - r->parsed < 2 * (int64_t)r->threads;
}

static void read_next(reader *r)
{
    slot *s = slot_of(r, r->read);
    ease__block *b = &s->block;
    ease_status status;
    ease_error err = {0};

    pthread_mutex_unlock(&r->lock);
    b->bytes = 0;
    if (ease__progress(r->o->hooks, ease__stage_reading, ease__input_fraction(r->in)))
        status = ease__cancelled(&err);
    else
        status = read_block(r, b, &err);
    pthread_mutex_lock(&r->lock);
    if (status) {
        r->read_status = status;
        r->read_error = err;
    }
    r->all_read = status || r->ended;
    if (b->bytes) {
        r->read++;
        if (r->read % r->slots == 0 && r->block_bytes < r->largest)
            r->block_bytes *= 2;
        change_stage(r, s, READ);
    }
}

static void parse_next(reader *r)
{
    slot *s = slot_of(r, r->parsed++);

    s->stage = PARSING;
    pthread_mutex_unlock(&r->lock);
    ease__parse_block(r->form, &s->block);
    pthread_mutex_lock(&r->lock);
    change_stage(r, s, PARSED);
}

static bool can_merge(const reader *r)
{
    return !r->merging && r->merged < r->parsed &&
           slot_of(r, r->merged)->stage == PARSED;
}

static void merge_next(reader *r)
{
    slot *s = slot_of(r, r->merged);
    ease_status status;
    ease_error err = {0};

    r->merging = true;
    pthread_mutex_unlock(&r->lock);
    status = merge_block(r, s, &err);
    pthread_mutex_lock(&r->lock);
    r->merging = false;
    r->merged++;
    if (status) {
        r->status = status;
        r->error = err;
    }
    change_stage(r, s, PLACING);
    if (status)
        return;
    if (!r->triplets) {
        pthread_mutex_unlock(&r->lock);
        place_records(&s->block, ease__record_words(r->form->weighted, r->form->timed),
                      s->place);
        pthread_mutex_lock(&r->lock);
    }
    change_stage(r, s, EMPTY);
}

static bool finished(const reader *r)
{
    return r->status || (r->all_read && r->merged == r->read);
}

/* The loop of a thread. Steps that others wait for come first. */
static void work(reader *r, bool caller)
{
    pthread_mutex_lock(&r->lock);
    while (!finished(r)) {
        if (can_merge(r))
            merge_next(r);
        else if (caller && can_read(r))
            read_next(r);
        else if (r->parsed < r->read)
            parse_next(r);
        else
            pthread_cond_wait(&r->changed, &r->lock);
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* ---- all of it ------------------------------------------------------------- */

static bool start_block(reader *r, ease__block *b)
{
    b->users.all = r->triplets ? &r->items : &r->users;
    b->items.all = &r->items;
    b->budget = r->budget;
    return ease__dictionary_start(&b->users.fresh, r->users.seed, false, r->budget) &&
           ease__dictionary_start(&b->items.fresh, r->items.seed, false, r->budget);
}

static void choose_sizes(reader *r, size_t block_bytes)
{
    r->slots = BLOCKS_A_THREAD * r->threads;
    r->largest = RING_BYTES / (size_t)r->slots;
    if (r->largest > LARGEST_BLOCK)
        r->largest = LARGEST_BLOCK;
    if (r->largest < SMALLEST_BLOCK)
        r->largest = SMALLEST_BLOCK;
    if (r->largest > r->budget->limit / RING_SHARE / (size_t)r->slots)
        r->largest = r->budget->limit / RING_SHARE / (size_t)r->slots;
    if (r->largest < TINY_BLOCK)
        r->largest = TINY_BLOCK;
    r->block_bytes = r->largest < FIRST_BLOCK ? r->largest : FIRST_BLOCK;
    if (block_bytes)
        r->block_bytes = r->largest = block_bytes;
}

/* Adds the known ids of triplets to the dictionary, in their order. */
static bool know_ids(ease__dictionary *d, const ease__ids *ids)
{
    for (int64_t i = 0; i < ids->count; i++) {
        size_t length = ease__ids_length(ids, i);
        const char *text = ease__ids_at(ids, i);
        char padded[8] = ""; /* as many bytes as a key reads */
        ease__key k;
        bool found;

        if (length < sizeof(padded)) {
            memcpy(padded, text, length);
            text = padded;
        }
        k = ease__key_of(d, text, length);
        if (!ease__dictionary_add(d, ease__dictionary_slot(d, k, &found), k))
            return false;
    }
    return true;
}

static bool start_reader(reader *r, size_t block_bytes)
{
    uint64_t seed = ease__hash_seed();

    choose_sizes(r, block_bytes);
    if (!ease__budget_take(r->budget, ease__input_held(r->in)) ||
        !ease__dictionary_start(&r->users, seed, true, r->budget) ||
        !ease__dictionary_start(&r->items, seed, true, r->budget))
        return false;
    if (r->triplets && !know_ids(&r->items, r->triplets->ids))
        return false;
    r->ring = ease__alloc_zero((size_t)r->slots, sizeof(*r->ring));
    if (!r->ring)
        return false;
    for (int i = 0; i < r->slots; i++)
        if (!start_block(r, &r->ring[i].block))
            return false;
    return true;
}

static void free_newcomers(ease__newcomers *n)
{
    ease__dictionary_free(&n->fresh);
    ease__free(n->numbers);
}

static void free_ring(reader *r)
{
    for (int i = 0; r->ring && i < r->slots; i++) {
        ease__block *b = &r->ring[i].block;

        ease__free(b->text);
        ease__free(b->breaks);
        ease__free(b->records);
        free_newcomers(&b->users);
        free_newcomers(&b->items);
    }
    ease__free(r->ring);
    ease__free(r->tail);
}

static bool take_ids(reader *r)
{
    if (r->triplets)
        return ease__dictionary_ids(&r->items, r->triplets->ids);
    return ease__dictionary_ids(&r->users, &r->draft->user_ids) &&
           ease__dictionary_ids(&r->items, &r->draft->item_ids);
}

static ease_status read_all(reader *r, ease_error *err)
{
#pragma omp parallel num_threads(r->threads)
    work(r, omp_get_thread_num() == 0);
    if (!r->status && r->read_status) {
        r->status = r->read_status;
        r->error = r->read_error;
    }
    free_ring(r);
    r->ring = NULL;
    r->tail = NULL;
    if (r->status && err)
        *err = r->error;
    if (!r->status && !take_ids(r))
        return no_memory(r, err);
    return r->status;
}

static ease_status run_reader(reader *r, size_t block_bytes, ease_error *err)
{
    ease_status status;

    r->threads = ease__threads(r->o->threads);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    if (start_reader(r, block_bytes))
        status = read_all(r, err);
    else
        status = no_memory(r, err);
    free_ring(r);
    ease__dictionary_free(&r->users);
    ease__dictionary_free(&r->items);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    return status;
}

ease_status ease__blocks_read(ease__input *in, const ease__row_form *form,
                              int64_t first_line, size_t block_bytes,
                              const ease_read_options *o, ease__draft *draft,
                              ease_error *err)
{
    reader r = {.in = in,
                .form = form,
                .o = o,
                .draft = draft,
                .budget = draft->budget,
                .lines = first_line - 1};

    draft->weighted = form->weighted;
    draft->timed = form->timed;
    if (form->dated)
        ease__draft_dated(draft, o);
    return run_reader(&r, block_bytes, err);
}

ease_status ease__triplets_read(ease__input *in, const ease__splitter *splitter,
                                size_t block_bytes, const ease_read_options *o,
                                const ease__triplets *to, ease_error *err)
{
    ease__row_form form = {
        .kind = EASE__ROWS_TRIPLETS, .splitter = *splitter, .fields = 3, .timed = true};
    ease__budget budget;
    ease__draft counts = {0}; /* rows are counted, none is kept */
    reader r = {.in = in,
                .form = &form,
                .o = o,
                .draft = &counts,
                .budget = &budget,
                .triplets = to,
                .next_file = true};

    ease__budget_start(&budget, o->memory_limit);
    return run_reader(&r, block_bytes, err);
}
