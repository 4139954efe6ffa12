/* Strips of rows of X'X go from process to process, in the order of their users. Each
 * adds what its users contribute, and the last one sends the sums to the owners of the
 * tiles. Several strips are under way at once, one in each process. */
#include "counting.h"

#include <limits.h>
#include <string.h>

#include "pulse.h"

enum { STRIP_BYTES = 1 << 20, ROWS_A_THREAD = 4 };

/* Strips in the memory of a process: one that it adds to, the next and the one before;
 * sums that the last process sends; pieces of tiles that are awaited. */
enum { SLOTS = 3, HALVES = 2, AHEAD = 4 };

/* The requests: of the next strip, of strips and pieces as above, and for each half one
 * for each column of the grid of processes. */
enum { TAKE = 0, PASS = 1, PIECE = PASS + SLOTS, PUT = PIECE + AHEAD };

enum { TAG_STRIP = 1, TAG_PIECE = 2 };

/* Rows from .. to-1, of tile row `band`, as far as column `to`. */
typedef struct strip {
    int64_t number;
    int32_t band, from, to;
} strip;

typedef struct counter {
    const dataset *d;
    const share *s;
    ease__item_users users;
    int threads, last;  /* the last process */
    size_t entry;       /* bytes of an entry of a strip */
    strip coming;       /* the last one of which a piece is awaited */
    char *slots[SLOTS]; /* strips, by number modulo SLOTS */
    char *halves;       /* of sums, in pieces of tiles; the last process only */
    size_t half;        /* bytes */
    MPI_Request *requests;
    int request_count;
} counter;

/* ---- strips ---------------------------------------------------------------------- */

static size_t entry_bytes(const dataset *d)
{
    return d->info.weighted ? sizeof(double) : sizeof(uint32_t);
}

/* Rows of a strip: enough for the threads, and no more entries than MPI can count. */
void counting_plan(dataset *d, int threads)
{
    int64_t n = d->info.items, rows = STRIP_BYTES / (n * (int64_t)entry_bytes(d));
    int64_t least = (int64_t)ROWS_A_THREAD * threads,
            most = ease__tile_edge((int32_t)n);

    rows = rows > least ? rows : least;
    most = most < INT_MAX / n ? most : INT_MAX / n;
    d->strip = (int32_t)(rows < most ? rows : most);
}

static strip first_strip(void)
{
    return (strip){.number = -1};
}

/* False after the last one. */
static bool next_strip(const counter *c, strip *w)
{
    const ease__tiled *t = &c->s->t;
    int64_t end, to = (int64_t)w->to + c->d->strip;

    if (w->to == t->n)
        return false;
    w->number++;
    w->from = w->to;
    w->band = w->from / t->edge;
    end = ((int64_t)w->band + 1) * t->edge;
    to = to < end ? to : end;
    w->to = (int32_t)(to < t->n ? to : t->n);
    return true;
}

static size_t padded_row(const share *s)
{
    return (size_t)s->t.tiles * (size_t)s->t.edge * ease__element_bytes(s->t.element);
}

size_t counting_bytes(const dataset *d, const share *s, int threads)
{
    size_t rows = (size_t)d->strip;
    size_t bytes = ease__gram_scratch_bytes(d->rows->nnz, d->info.items,
                                            d->info.weighted, threads);

    bytes += SLOTS * rows * (size_t)d->info.items * entry_bytes(d);
    if (s->group->rank == s->group->size - 1)
        bytes += HALVES * rows * padded_row(s);
    return bytes;
}

/* ---- pieces: the rows of a strip in the tiles of one process --------------------- */

/* Every columns-th of tiles 0 .. band, from `column` on. */
static MPI_Datatype type_of(const counter *c, const strip *w, int column, size_t stride)
{
    size_t row = (size_t)c->s->t.edge * ease__element_bytes(c->s->t.element);
    MPI_Datatype type;

    MPI_Type_create_hvector(
        (w->band - column) / c->s->columns + 1, (int)((size_t)(w->to - w->from) * row),
        (MPI_Aint)((size_t)c->s->columns * stride), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Begins to receive the next piece of this process, if there is one. */
static void expect_piece(counter *c, int request)
{
    const share *s = c->s;
    const ease__tiled *t = &s->t;
    size_t row = (size_t)t->edge * ease__element_bytes(t->element);
    int at = s->group->rank / s->columns, column = s->group->rank % s->columns;

    while (next_strip(c, &c->coming)) {
        const strip *w = &c->coming;
        MPI_Datatype type;

        if (w->band % s->rows != at || w->band < column)
            continue;
        type = type_of(c, w, column, ease__tile_bytes(t));
        MPI_Irecv((char *)ease__tile(t, w->band, column) +
                      (size_t)(w->from % t->edge) * row,
                  1, type, c->last, TAG_PIECE, s->group->all, &c->requests[request]);
        MPI_Type_free(&type);
        return;
    }
}

/* Waits for some requests. Pieces are received meanwhile: the last process may wait for
 * that. */
static void await(counter *c, int first, int count)
{
    for (int k = first; k < first + count; k++)
        while (c->requests[k] != MPI_REQUEST_NULL) {
            int done;

            MPI_Waitany(c->request_count, c->requests, &done, MPI_STATUS_IGNORE);
            if (done >= PIECE && done < PIECE + AHEAD)
                expect_piece(c, done);
        }
}

/* Converts a strip to pieces: of each tile the rows one after the other. */
static void cut_strip(const counter *c, const strip *w, const char *rows, char *to)
{
    const ease__tiled *t = &c->s->t;
    size_t e = (size_t)t->edge, row = e * ease__element_bytes(t->element);
    size_t height = (size_t)(w->to - w->from);

#pragma omp parallel for num_threads(c->threads)
    for (size_t r = 0; r < height; r++) {
        const char *entries = rows + r * (size_t)w->to * c->entry;
        size_t left = (size_t)w->from + r + 1;

        for (size_t b = 0; left > 0; b++) {
            size_t count = left < e ? left : e;

            ease__gram_store(t->element, c->d->info.weighted,
                             entries + b * e * c->entry, count,
                             to + (b * height + r) * row);
            left -= count;
        }
    }
}

static void put_strip(counter *c, const strip *w, const char *rows)
{
    const share *s = c->s;
    int half = (int)(w->number % HALVES), first = PUT + half * s->columns;
    char *to = c->halves + (size_t)half * c->half;
    size_t piece = (size_t)(w->to - w->from) * (size_t)s->t.edge *
                   ease__element_bytes(s->t.element);

    await(c, first, s->columns);
    cut_strip(c, w, rows, to);
    for (int column = 0; column < s->columns && column <= w->band; column++) {
        MPI_Datatype type = type_of(c, w, column, piece);

        MPI_Isend(to + (size_t)column * piece, 1, type, share_owner(s, w->band, column),
                  TAG_PIECE, s->group->all, &c->requests[first + column]);
        MPI_Type_free(&type);
    }
}

/* ---- all strips ------------------------------------------------------------------ */

static int entries_of(const strip *w)
{
    return (w->to - w->from) * w->to;
}

static MPI_Datatype entry_type(const counter *c)
{
    return c->d->info.weighted ? MPI_DOUBLE : MPI_UINT32_T;
}

/* Begins to receive a strip, once the one before in its slot has been sent. */
static void take_strip(counter *c, const strip *w)
{
    int slot = (int)(w->number % SLOTS), rank = c->s->group->rank;

    await(c, PASS + slot, 1);
    if (rank == 0)
        memset(c->slots[slot], 0, (size_t)entries_of(w) * c->entry);
    else
        MPI_Irecv(c->slots[slot], entries_of(w), entry_type(c), rank - 1, TAG_STRIP,
                  c->s->group->all, &c->requests[TAKE]);
}

static void pass_strip(counter *c, const strip *w)
{
    int slot = (int)(w->number % SLOTS), rank = c->s->group->rank;

    if (rank == c->last)
        put_strip(c, w, c->slots[slot]);
    else
        MPI_Isend(c->slots[slot], entries_of(w), entry_type(c), rank + 1, TAG_STRIP,
                  c->s->group->all, &c->requests[PASS + slot]);
}

static void count_all(counter *c)
{
    strip w = first_strip(), next;
    bool more = next_strip(c, &w);

    for (int k = 0; k < AHEAD; k++)
        expect_piece(c, PIECE + k);
    take_strip(c, &w);
    for (next = w; more; w = next) {
        await(c, TAKE, 1);
        more = next_strip(c, &next);
        if (more)
            take_strip(c, &next);
        ease__gram_add_rows(c->d->rows, &c->users, w.from, w.to, c->threads,
                            c->slots[w.number % SLOTS]);
        pulse_did(entries_of(&w));
        pass_strip(c, &w);
    }
    await(c, 0, c->request_count);
}

static double cost_of(const counter *c)
{
    strip w = first_strip();
    double entries = 0;

    while (next_strip(c, &w))
        entries += entries_of(&w);
    return entries * c->s->group->size;
}

static void release(counter *c)
{
    ease__item_users_free(&c->users);
    for (int k = 0; k < SLOTS; k++)
        ease__free(c->slots[k]);
    ease__free(c->halves);
    ease__free(c->requests);
}

static ease_status prepare(counter *c, ease_error *err)
{
    const group *g = c->s->group;
    size_t rows = (size_t)c->d->strip, n = (size_t)c->d->info.items;
    bool is_last = g->rank == c->last, made;

    c->half = rows * padded_row(c->s);
    c->request_count = PUT + (is_last ? HALVES * c->s->columns : 0);
    c->requests = ease__alloc_array((size_t)c->request_count, sizeof(MPI_Request));
    made = c->requests;
    for (int k = 0; c->requests && k < c->request_count; k++)
        c->requests[k] = MPI_REQUEST_NULL;
    for (int k = 0; k < SLOTS; k++) {
        c->slots[k] = ease__alloc_array(rows * n, c->entry);
        made = made && c->slots[k];
    }
    if (is_last)
        c->halves = ease__alloc_zero(HALVES, c->half);
    if (!made || (is_last && !c->halves))
        return ease__fail(err, EASE_E_NOMEM, "rows of %zu items", n);
    return ease__item_users_new(c->d->rows, c->threads, &c->users, err);
}

ease_status counting_fill(const dataset *d, const share *s, int threads,
                          ease_error *err)
{
    counter c = {.d = d,
                 .s = s,
                 .threads = ease__threads(threads),
                 .last = s->group->size - 1,
                 .entry = entry_bytes(d),
                 .coming = first_strip()};
    ease_status status = group_agree(s->group, prepare(&c, err), err);

    if (!status) {
        pulse_stage("counting pairs", cost_of(&c));
        count_all(&c);
        share_mirror(s);
    }
    release(&c);
    return status;
}
