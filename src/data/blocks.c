#include "data/blocks.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

/* Blocks are read and parsed in rounds. While a round is parsed, the calling thread
 * first reads the next one; then ids that are new are numbered, in file order. The
 * dictionaries do not change while blocks are parsed, so that no lock is needed. */
enum {
    FIRST_BLOCK = 1 << 17, /* rounds grow: early on, every id is new in every block */
    LARGEST_BLOCK = 1 << 20,
    SMALLEST_BLOCK = 1 << 18, /* of many threads */
    ROUND_BYTES = 1 << 26,
    BLOCKS_A_THREAD = 4
};

typedef struct round {
    ease__block *blocks;
    int count;          /* read */
    int parsed;         /* the next to be taken by a thread */
    ease_status status; /* of reading, after the blocks read */
    ease_error error;
} round;

typedef struct reader {
    ease__input *in;
    const ease__row_form *form;
    const ease_read_options *o;
    ease__draft *draft;
    int threads, most; /* blocks in a round */
    size_t block_bytes, largest;
    size_t longest; /* that a line may be, with the rest of its block */
    ease__dictionary users, items;
    uint32_t **places; /* where the records of a round's blocks go */
    char *tail;        /* the begin of a line whose end is still to be read */
    size_t tail_bytes, tail_room;
    bool ended, next_file;
    ease__heading above; /* of the lines to be read */
    int64_t lines;       /* before the current block, in its file */
    round rounds[2];
} reader;

/* ---- reading blocks -------------------------------------------------------- */

static bool make_text_room(ease__block *b, size_t bytes)
{
    size_t room = ease__size_add(bytes, EASE__BLOCK_PADDING);
    char *grown;

    if (b->room >= room)
        return true;
    b->too_long = room > b->most;
    if (b->too_long)
        return false;
    grown = ease__realloc_array(b->text, room, 1);
    if (!grown)
        return false;
    b->text = grown;
    b->room = room;
    return true;
}

/* Keeps what follows the last line end for the next block. */
static bool keep_tail(reader *r, ease__block *b, const char *after)
{
    size_t bytes = (size_t)(b->text + b->bytes - after);

    if (bytes > r->tail_room) {
        char *grown = ease__realloc_array(r->tail, bytes, 1);

        if (!grown)
            return false;
        r->tail = grown;
        r->tail_room = bytes;
    }
    if (bytes)
        memcpy(r->tail, after, bytes);
    r->tail_bytes = bytes;
    b->bytes -= bytes;
    return true;
}

/* A last line may lack its end. */
static void end_last_line(ease__block *b)
{
    if (b->bytes && b->text[b->bytes - 1] != '\n')
        b->text[b->bytes++] = '\n';
}

static ease_status no_room(const reader *r, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "reading %s", ease__input_name(r->in));
}

static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0 && length <= EASE__HEADING_DIGITS;
}

/* Where the lines of the next block stand: below the last heading of this one. */
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

/* About `want` bytes of the current file from the end of the block on: whole lines, or
 * one that is longer. *ended: there is no more of the file. */
static ease_status read_lines(reader *r, ease__block *b, size_t want, bool *ended,
                              ease_error *err)
{
    size_t start = b->bytes - r->tail_bytes, got = 0;
    const char *last = NULL;
    ease_status status = EASE_OK;

    r->tail_bytes = 0;
    while (!*ended && !last) {
        if (!make_text_room(b, ease__size_add(b->bytes, want))) {
            b->bytes = 0; /* no whole line is there to be parsed */
            return no_room(r, err);
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
        return no_room(r, err);
    }
    if (status) /* a damaged stream: the lines before it count */
        b->bytes = last ? (size_t)(last + 1 - b->text) : start;
    else
        end_last_line(b);
    return status;
}

static bool add_break(ease__block *b)
{
    if (b->break_count == b->break_room) {
        size_t room = b->break_room ? 2 * b->break_room : 16;
        size_t *grown = ease__realloc_array(b->breaks, room, sizeof(*grown));

        if (!grown)
            return false;
        b->breaks = grown;
        b->break_room = room;
    }
    b->breaks[b->break_count++] = b->bytes;
    return true;
}

/* Whole lines, about block_bytes of them: of one file, or of all of several small
 * ones, for each block costs the threads a meeting. */
static ease_status read_block(reader *r, ease__block *b, ease_error *err)
{
    ease_status status = EASE_OK;
    bool ended = false, more = true;

    place_block(r, b);
    if (!make_text_room(b, r->tail_bytes + r->block_bytes))
        return no_room(r, err);
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
            return no_room(r, err);
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

static ease_status too_long(const reader *r, ease__block *b, ease_error *err)
{
    size_t bytes = b->bytes;

    b->bytes = 0; /* no whole lines: nothing to be parsed */
    return ease__fail(err, EASE_E_MEMORY_LIMIT,
                      "%s: a line of more than %zu MB; the limit is %zu MB",
                      ease__input_name(r->in), bytes / 1000000, b->most / 1000000);
}

static void read_round(reader *r, round *to)
{
    to->count = to->parsed = 0;
    to->status = EASE_OK;
    while (!to->status && !r->ended && to->count < r->most) {
        ease__block *b = &to->blocks[to->count];

        b->bytes = 0;
        if (ease__progress(&r->o->hooks, ease__stage_reading,
                           ease__input_fraction(r->in)))
            to->status = ease__cancelled(&to->error);
        else
            to->status = read_block(r, b, &to->error);
        if (b->too_long)
            to->status = too_long(r, b, &to->error);
        if (b->bytes)
            to->count++;
    }
    if (to->status)
        r->ended = true;
    if (r->block_bytes < r->largest)
        r->block_bytes *= 2;
}

/* ---- parsing --------------------------------------------------------------- */

static void parse_blocks(const reader *r, round *now)
{
    for (;;) {
        int i;

#pragma omp atomic capture
        i = now->parsed++;
        if (i >= now->count)
            return;
        ease__parse_block(r->form, &now->blocks[i]);
    }
}

static void parse_round(reader *r, round *now, round *next)
{
#pragma omp parallel num_threads(r->threads)
    {
        if (omp_get_thread_num() == 0)
            read_round(r, next);
        parse_blocks(r, now);
    }
}

/* ---- merging --------------------------------------------------------------- */

static ease_status too_many(const reader *r, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_TOO_LARGE, "%s: too many %s", ease__input_name(r->in),
                      what);
}

/* Numbers the newcomers of a block, in order. */
static ease_status number_newcomers(reader *r, ease__newcomers *n,
                                    ease__dictionary *all, ease__ids *ids, int64_t most,
                                    const char *what, ease_error *err)
{
    if (n->fresh.count > n->number_room) {
        uint32_t *grown = ease__realloc_array(n->numbers, n->fresh.count,
                                              sizeof(*grown));

        if (!grown)
            return no_room(r, err);
        n->numbers = grown;
        n->number_room = n->fresh.count;
    }
    for (size_t i = 0; i < n->fresh.count; i++) {
        ease__name id = n->fresh.names[i];
        ease__key k = ease__key_of(id.text, id.length);
        ease__slot *slot = ease__dictionary_slot(all, k);

        if (slot->kind) { /* a block before it has met it too */
            n->numbers[i] = slot->code;
            continue;
        }
        n->numbers[i] = (uint32_t)all->count;
        if (ids->count >= most)
            return too_many(r, what, err);
        if (ease__ids_add(ids, id.text, id.length) < 0 ||
            !ease__dictionary_add(all, slot, k))
            return no_room(r, err);
    }
    return EASE_OK;
}

static ease_status merge_block(reader *r, ease__block *b, uint32_t **place,
                               ease_error *err)
{
    ease__draft *d = r->draft;
    ease_status status;

    if (b->status == EASE_E_NOMEM)
        return no_room(r, err);
    if (b->opens_file || b->bad_file)
        r->lines = 0;
    if (b->status) {
        long long line = r->lines + b->bad_line;

        return ease__fail_at(err, b->status, line, "%s:%lld: %s",
                             ease__input_file_name(r->in, b->file + b->bad_file), line,
                             b->what);
    }
    status = number_newcomers(r, &b->users, &r->users, &d->user_ids, EASE__MAX_IDS,
                              "users", err);
    if (!status)
        status = number_newcomers(r, &b->items, &r->items, &d->item_ids, INT32_MAX,
                                  "items", err);
    if (status)
        return status;
    *place = ease__draft_add(d, b->count);
    if (!*place)
        return no_room(r, err);
    d->counts.rows += (int64_t)b->count + b->below_rating;
    d->counts.below_rating += b->below_rating;
    r->lines += b->lines;
    return EASE_OK;
}

static inline uint32_t number_of(const ease__newcomers *n, uint32_t code)
{
    return code < n->known ? code : n->numbers[code - n->known];
}

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

/* What is held now and what the rows will take: all of a record but the user. */
static ease_status check_limit(const reader *r, ease_error *err)
{
    const ease__draft *d = r->draft;
    size_t words = ease__record_words(r->form->weighted, r->form->timed);
    size_t need = (size_t)d->records * (2 * words - 1) * sizeof(uint32_t);

    if (!r->o->memory_limit)
        return EASE_OK;
    need += ease__ids_bytes(&d->user_ids) + ease__ids_bytes(&d->item_ids);
    need += ease__dictionary_bytes(&r->users) + ease__dictionary_bytes(&r->items);
    for (int i = 0; i < r->most; i++)
        need += r->rounds[0].blocks[i].room + r->rounds[1].blocks[i].room;
    if (need <= r->o->memory_limit)
        return EASE_OK;
    return ease__fail(
        err, EASE_E_MEMORY_LIMIT,
        "%s: reading needs more than %zu MB after %lld rows; the limit is "
        "%zu MB",
        ease__input_name(r->in), need / 1000000, (long long)d->counts.rows,
        r->o->memory_limit / 1000000);
}

static ease_status merge_round(reader *r, round *now, ease_error *err)
{
    size_t words = ease__record_words(r->form->weighted, r->form->timed);
    ease_status status = EASE_OK;

    for (int i = 0; !status && i < now->count; i++)
        status = merge_block(r, &now->blocks[i], &r->places[i], err);
    if (!status)
        status = check_limit(r, err);
    if (status)
        return status;
#pragma omp parallel for num_threads(r->threads) schedule(dynamic, 1)
    for (int i = 0; i < now->count; i++)
        place_records(&now->blocks[i], words, r->places[i]);
    if (now->status && err)
        *err = now->error;
    return now->status;
}

/* ---- all of it ------------------------------------------------------------- */

static bool start_block(reader *r, ease__block *b)
{
    b->users.all = &r->users;
    b->items.all = &r->items;
    b->most = r->longest;
    return ease__dictionary_start(&b->users.fresh, NULL) &&
           ease__dictionary_start(&b->items.fresh, NULL);
}

static bool start_reader(reader *r, size_t block_bytes)
{
    if (!ease__dictionary_start(&r->users, &r->draft->user_ids) ||
        !ease__dictionary_start(&r->items, &r->draft->item_ids))
        return false;
    r->most = BLOCKS_A_THREAD * r->threads;
    r->largest = ROUND_BYTES / (size_t)r->most;
    if (r->largest > LARGEST_BLOCK)
        r->largest = LARGEST_BLOCK;
    if (r->largest < SMALLEST_BLOCK)
        r->largest = SMALLEST_BLOCK;
    r->block_bytes = FIRST_BLOCK;
    if (block_bytes)
        r->block_bytes = r->largest = block_bytes;
    r->longest = r->o->memory_limit ? r->o->memory_limit : ease_memory_available();
    if (!r->longest)
        r->longest = SIZE_MAX;
    if (r->longest < 4 * r->largest) /* what every input may take */
        r->longest = 4 * r->largest;
    r->places = ease__alloc_array((size_t)r->most, sizeof(*r->places));
    if (!r->places)
        return false;
    for (int i = 0; i < 2; i++) {
        r->rounds[i].blocks = ease__alloc_zero((size_t)r->most, sizeof(ease__block));
        if (!r->rounds[i].blocks)
            return false;
    }
    for (int i = 0; i < 2 * r->most; i++)
        if (!start_block(r, &r->rounds[i % 2].blocks[i / 2]))
            return false;
    return true;
}

static void free_newcomers(ease__newcomers *n)
{
    ease__dictionary_free(&n->fresh);
    ease__free(n->numbers);
}

static void free_reader(reader *r)
{
    for (int i = 0; i < 2; i++) {
        for (int j = 0; r->rounds[i].blocks && j < r->most; j++) {
            ease__block *b = &r->rounds[i].blocks[j];

            ease__free(b->text);
            ease__free(b->breaks);
            ease__free(b->records);
            free_newcomers(&b->users);
            free_newcomers(&b->items);
        }
        ease__free(r->rounds[i].blocks);
    }
    ease__dictionary_free(&r->users);
    ease__dictionary_free(&r->items);
    ease__free(r->places);
    ease__free(r->tail);
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
                .threads = ease__threads(o->threads),
                .lines = first_line - 1};
    ease_status status = EASE_OK;

    draft->weighted = form->weighted;
    draft->timed = form->timed;
    if (!start_reader(&r, block_bytes))
        status = no_room(&r, err);
    else
        read_round(&r, &r.rounds[0]);
    for (int i = 0; !status; i = !i) {
        round *now = &r.rounds[i], *next = &r.rounds[!i];

        if (now->count == 0 && !now->status)
            break;
        parse_round(&r, now, next);
        status = merge_round(&r, now, err);
    }
    free_reader(&r);
    return status;
}
