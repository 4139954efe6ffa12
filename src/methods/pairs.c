#include "methods/pairs.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

/* ---- scratch --------------------------------------------------------------------- */

size_t ease__pair_scratch_bytes(int32_t items)
{
    return (size_t)items * (2 * sizeof(int32_t) + sizeof(double)) +
           ((size_t)items / 64 + 1) * sizeof(uint64_t);
}

void ease__pair_scratch_free(ease__pair_scratch *s)
{
    ease__free(s->marks);
    ease__free(s->places);
    ease__free(s->hits);
    ease__free(s->sums);
    *s = (ease__pair_scratch){0};
}

ease_status ease__pair_scratch_new(int32_t items, ease__pair_scratch *out,
                                   ease_error *err)
{
    size_t n = (size_t)items;
    ease__pair_scratch s = {
        .marks = ease__alloc_zero(n / 64 + 1, sizeof(*s.marks)),
        .places = ease__alloc_array(n, sizeof(*s.places)),
        .hits = ease__alloc_array(n + 1, sizeof(*s.hits)),
        .sums = ease__alloc_zero(n, sizeof(*s.sums)),
    };

    *out = s;
    if (s.marks && s.places && s.hits && s.sums)
        return EASE_OK;
    ease__pair_scratch_free(out);
    return ease__fail(err, EASE_E_NOMEM, "rows of %d items", (int)items);
}

/* Users and hits that are remembered; beyond them histories are searched again. */
enum { MOST_LISTS = 1 << 16, MOST_HITS = 1 << 18 };

size_t ease__pair_memo_bytes(int64_t users, int32_t most)
{
    return (size_t)users * sizeof(int32_t) +
           MOST_LISTS * (sizeof(uint32_t) + sizeof(int32_t)) +
           (MOST_HITS + (size_t)most) * sizeof(ease__pair_hit);
}

void ease__pair_memo_free(ease__pair_memo *m)
{
    ease__free(m->numbers);
    ease__free(m->users);
    ease__free(m->starts);
    ease__free(m->hits);
    *m = (ease__pair_memo){0};
}

ease_status ease__pair_memo_new(int64_t users, int32_t most, ease__pair_memo *out,
                                ease_error *err)
{
    ease__pair_memo m = {
        .numbers = ease__alloc_zero((size_t)users, sizeof(*m.numbers)),
        .users = ease__alloc_array(MOST_LISTS, sizeof(*m.users)),
        .starts = ease__alloc_zero(MOST_LISTS + 1, sizeof(*m.starts)),
        .hits = ease__alloc_array(MOST_HITS + (size_t)most, sizeof(*m.hits)),
    };

    *out = m;
    if (m.numbers && m.users && m.starts && m.hits)
        return EASE_OK;
    ease__pair_memo_free(out);
    return ease__fail(err, EASE_E_NOMEM, "histories of a support");
}

static inline bool is_marked(const uint64_t *marks, int32_t rank)
{
    return marks[(uint32_t)rank / 64] >> (uint32_t)rank % 64 & 1;
}

static inline void mark(uint64_t *marks, int32_t rank)
{
    marks[(uint32_t)rank / 64] |= UINT64_C(1) << (uint32_t)rank % 64;
}

/* ---- rows that are kept ---------------------------------------------------------- */

/* Sums the row of a rank over the ranks below `limit`, without itself. */
static inline __attribute__((always_inline)) int32_t
sum_row(const ease__ranked *x, int32_t rank, int32_t limit, ease__pair_scratch *s)
{
    int64_t end = ease__ranked_to(x, rank);
    int32_t found = 0;

    for (int64_t at = ease__ranked_from(x, rank); at < end; at++) {
        int64_t k = x->x->row_ptr[x->columns.users[at]];
        int64_t last = x->x->row_ptr[x->columns.users[at] + 1];
        double factor = ease__ranked_factor(x, at);

        for (; k < last && x->cols[k] < limit; k++) {
            int32_t partner = x->cols[k];

            s->hits[found] = partner;
            found += !is_marked(s->marks, partner);
            mark(s->marks, partner);
            s->sums[partner] += x->vals ? factor * (double)x->vals[k] : factor;
        }
    }
    return found;
}

int32_t ease__pairs_row(const ease__ranked *x, int32_t rank, ease__pair_scratch *s)
{
    int32_t found;

    mark(s->marks, rank);
    found = sum_row(x, rank, INT32_MAX, s);
    s->marks[rank / 64] &= ~(UINT64_C(1) << rank % 64);
    s->sums[rank] = 0;
    return found;
}

/* The bytes of the values of a row, and of their places. */
static size_t values_bytes(const ease__pair_row *row)
{
    return ((size_t)row->count + 1) * sizeof(*row->values);
}

static size_t places_bytes(const ease__pair_row *row, int32_t rank)
{
    switch (row->form) {
    case EASE__PAIRS_LIST:
        return (size_t)row->count * sizeof(int32_t);
    case EASE__PAIRS_BITS:
        return ((size_t)rank / 32 + 1) * sizeof(ease__bit_block);
    default:
        return 0;
    }
}

/* Chooses the form of a row of `found` partners, and returns its bytes. Lists take the
 * least memory for few partners, but have to be searched. */
static size_t choose_form(int32_t rank, int32_t found, ease__pair_row *row)
{

    row->form = found >= rank / 2    ? EASE__PAIRS_WHOLE
                : found >= rank / 32 ? EASE__PAIRS_BITS
                                     : EASE__PAIRS_LIST;
    row->count = row->form == EASE__PAIRS_WHOLE ? rank : found;
    return values_bytes(row) + places_bytes(row, rank);
}

/* Every value and place takes 4 bytes: all of them are aligned. */
_Static_assert(sizeof(ease__bit_block) == 8 && _Alignof(ease__bit_block) == 4,
               "rows follow each other without gaps");

static void place_row(char *at, ease__pair_row *row)
{
    row->values = (float *)(void *)at;
    row->places = at + values_bytes(row);
    row->values[row->count] = 0;
}

/* The three forms are written from the sums and the marks; the sums are cleared. */
static void write_whole(int32_t rank, ease__pair_row *row, ease__pair_scratch *s)
{
    for (int32_t k = 0; k < rank; k++)
        row->values[k] = (float)s->sums[k];
    memset(s->sums, 0, (size_t)rank * sizeof(*s->sums));
}

static void write_values(int32_t rank, ease__pair_row *row, ease__pair_scratch *s)
{
    int32_t *list = row->form == EASE__PAIRS_LIST ? row->places : NULL, count = 0;

    for (int32_t w = 0; w <= rank / 64; w++)
        for (uint64_t left = s->marks[w]; left; left &= left - 1) {
            int32_t k = w * 64 + __builtin_ctzll(left);

            if (list)
                list[count] = k;
            row->values[count++] = (float)s->sums[k];
            s->sums[k] = 0;
        }
}

static void write_blocks(int32_t rank, const ease__pair_row *row,
                         const ease__pair_scratch *s)
{
    ease__bit_block *blocks = row->places;
    uint32_t before = 0;

    for (int32_t b = 0; b <= rank / 32; b++) {
        uint32_t bits = (uint32_t)(s->marks[b / 2] >> b % 2 * 32);

        blocks[b] = (ease__bit_block){bits, before};
        before += (uint32_t)__builtin_popcount(bits);
    }
}

static void forget_row(int32_t found, ease__pair_scratch *s)
{
    for (int32_t t = 0; t < found; t++) {
        s->sums[s->hits[t]] = 0;
        s->marks[s->hits[t] / 64] = 0;
    }
}

typedef struct keeping {
    ease__pairs *pairs;
    atomic_size_t used; /* bytes of the block */
    atomic_int done;
    atomic_bool full, cancelled;
    const ease_hooks *hooks;
} keeping;

static void keep_row(keeping *k, int32_t rank, ease__pair_scratch *s)
{
    int32_t found = sum_row(k->pairs->x, rank, rank, s);
    ease__pair_row row = {0};
    size_t bytes = choose_form(rank, found, &row);
    size_t at = atomic_fetch_add(&k->used, bytes);

    if (at + bytes > k->pairs->block_bytes) {
        atomic_store(&k->full, true);
        forget_row(found, s);
        return;
    }
    place_row(k->pairs->block + at, &row);
    k->pairs->rows[rank] = row;
    if (row.form == EASE__PAIRS_BITS)
        write_blocks(rank, &row, s);
    if (row.form == EASE__PAIRS_WHOLE)
        write_whole(rank, &row, s);
    else
        write_values(rank, &row, s);
    memset(s->marks, 0, ((size_t)rank / 64 + 1) * sizeof(*s->marks));
}

static void keep_rows(keeping *k, int threads, ease__pair_scratch *scratches)
{
    int32_t n = k->pairs->x->x->items;
    double told = ease__seconds();

#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int32_t rank = 0; rank < n; rank++) {
        int done;

        if (atomic_load_explicit(&k->full, memory_order_relaxed) ||
            atomic_load_explicit(&k->cancelled, memory_order_relaxed))
            continue;
        keep_row(k, rank, &scratches[omp_get_thread_num()]);
        done = atomic_fetch_add_explicit(&k->done, 1, memory_order_relaxed);
        if (omp_get_thread_num() == 0 && ease__is_due(done, &told) &&
            ease__progress(k->hooks, "counting pairs", (double)done / (double)n))
            atomic_store(&k->cancelled, true);
    }
}

static ease_status keep_all(keeping *k, int threads, ease_error *err)
{
    ease__pair_scratch *scratches = ease__alloc_zero((size_t)threads,
                                                     sizeof(*scratches));
    ease_status status = EASE_OK;

    if (!scratches)
        return ease__fail(err, EASE_E_NOMEM, "rows of %d threads", threads);
    for (int t = 0; !status && t < threads; t++)
        status = ease__pair_scratch_new(k->pairs->x->x->items, &scratches[t], err);
    if (!status)
        keep_rows(k, threads, scratches);
    for (int t = 0; t < threads; t++)
        ease__pair_scratch_free(&scratches[t]);
    ease__free(scratches);
    if (!status && atomic_load(&k->cancelled))
        return ease__cancelled(err);
    return status;
}

/* The budget, unless all rows take less: in no form more than 12 bytes for each pair of
 * a history, and 32 for each row. Pages that are not used take no memory, but may be
 * counted by the system all the same. */
static size_t bytes_within(const ease__ranked *x, size_t budget)
{
    size_t all = (size_t)x->x->items * 32;

    for (int64_t u = 0; u < x->x->users; u++) {
        size_t length = (size_t)(x->x->row_ptr[u + 1] - x->x->row_ptr[u]);

        all = ease__size_add(all, ease__size_mul(length * length, 6));
    }
    return all < budget ? all : budget;
}

ease_status ease__pairs_new(const ease__ranked *x, size_t budget, int threads,
                            const ease_hooks *hooks, ease__pairs *out, ease_error *err)
{
    size_t n = (size_t)x->x->items;
    ease__pairs p = {.x = x,
                     .rows = ease__alloc_zero(n, sizeof(*p.rows)),
                     .block_bytes = bytes_within(x, budget),
                     .kernels = ease__kernels_best()};
    keeping k = {.pairs = &p, .hooks = hooks};
    ease_status status;

    /* Kept rows save time only: a system that grants less address space gets by with
     * fewer of them. */
    while (!(p.block = ease__alloc_pages(p.block_bytes)) && p.block_bytes > 0)
        p.block_bytes = p.block_bytes > 4096 ? p.block_bytes / 2 : 0;
    if (p.rows && p.block)
        status = keep_all(&k, threads, err);
    else
        status = ease__fail(err, EASE_E_NOMEM, "rows of %zu items", n);
    if (status)
        ease__pairs_free(&p);
    else
        *out = p;
    return status;
}

void ease__pairs_free(ease__pairs *p)
{
    ease__free_pages(p->block, p->block_bytes);
    ease__free(p->rows);
    *p = (ease__pairs){0};
}

/* ---- gathering ------------------------------------------------------------------- */

/* Searches a history for marked ranks up to `limit`; writes the hits, ascending by
 * rank, and returns their number. */
static int32_t search_history(const ease__ranked *x, int64_t user, int32_t limit,
                              ease__pair_scratch *s, ease__pair_hit *hits)
{
    const int32_t *history = x->cols + x->x->row_ptr[user];
    int32_t size = (int32_t)(x->x->row_ptr[user + 1] - x->x->row_ptr[user]), found = 0;

    for (int32_t k = 0; k < size && history[k] <= limit; k++) {
        s->hits[found] = k;
        found += is_marked(s->marks, history[k]);
    }
    for (int32_t t = 0; t < found; t++)
        hits[t] = (ease__pair_hit){s->places[history[s->hits[t]]], s->hits[t]};
    return found;
}

/* The hits of a user: remembered, or else searched for, and remembered if there is
 * memory. They are valid until the next call. */
static const ease__pair_hit *find_hits(const ease__ranked *x, uint32_t user,
                                       int32_t limit, ease__pair_scratch *s,
                                       ease__pair_memo *memo, int32_t *count)
{
    int32_t list = memo->numbers[user] - 1, start = memo->starts[memo->lists];

    if (list >= 0) {
        *count = memo->starts[list + 1] - memo->starts[list];
        return memo->hits + memo->starts[list];
    }
    *count = search_history(x, user, limit, s, memo->hits + start);
    if (memo->lists < MOST_LISTS && start + *count <= MOST_HITS) {
        memo->users[memo->lists++] = user;
        memo->numbers[user] = memo->lists;
        memo->starts[memo->lists] = start + *count;
    }
    return memo->hits + start;
}

static void forget_hits(ease__pair_memo *memo)
{
    for (int32_t k = 0; k < memo->lists; k++)
        memo->numbers[memo->users[k]] = 0;
    memo->lists = 0;
}

/* Sums the entries of ranks[i] with the ranks behind it, which are marked with their
 * places, into sums, by place. */
static void sum_marked(const ease__ranked *x, const int32_t *ranks, int32_t i,
                       ease__pair_scratch *s, ease__pair_memo *memo, double *sums)
{
    int64_t end = ease__ranked_to(x, ranks[i]);

    for (int64_t at = ease__ranked_from(x, ranks[i]); at < end; at++) {
        uint32_t user = x->columns.users[at];
        const float *values = x->vals ? x->vals + x->x->row_ptr[user] : NULL;
        double factor = ease__ranked_factor(x, at);
        int32_t count;
        const ease__pair_hit *hits = find_hits(x, user, ranks[0], s, memo, &count);

        for (int32_t t = 0; t < count && hits[t].place > i; t++)
            sums[hits[t].place] += values ? factor * (double)values[hits[t].at]
                                          : factor;
    }
}

static void search_list(const ease__pair_row *row, ease__pair_scratch *s, float *a)
{
    const int32_t *partners = row->places;
    int32_t found = 0;

    for (int32_t t = 0; t < row->count; t++) {
        s->hits[found] = t;
        found += is_marked(s->marks, partners[t]);
    }
    for (int32_t t = 0; t < found; t++)
        a[s->places[partners[s->hits[t]]]] = row->values[s->hits[t]];
}

static void mark_all(const int32_t *ranks, int32_t count, ease__pair_scratch *s)
{
    for (int32_t i = 0; i < count; i++) {
        mark(s->marks, ranks[i]);
        s->places[ranks[i]] = i;
    }
}

static void unmark_all(const int32_t *ranks, int32_t count, ease__pair_scratch *s)
{
    for (int32_t i = 0; i < count; i++)
        s->marks[ranks[i] / 64] = 0;
}

/* Writes the entries of ranks[i] with the ranks behind it to a, by place. */
static void gather_row(const ease__pairs *p, const int32_t *ranks, int32_t i,
                       int32_t count, ease__pair_scratch *s, ease__pair_memo *memo,
                       float *a)
{
    const ease__pair_row *row = &p->rows[ranks[i]];
    size_t left = (size_t)(count - i - 1);

    switch (row->form) {
    case EASE__PAIRS_WHOLE:
        for (int32_t k = i + 1; k < count; k++)
            a[k] = row->values[ranks[k]];
        return;
    case EASE__PAIRS_BITS:
        p->kernels->look_up(row->places, row->values, ranks + i + 1, a + i + 1, left);
        return;
    case EASE__PAIRS_LIST:
        memset(a + i + 1, 0, left * sizeof(*a));
        search_list(row, s, a);
        return;
    case EASE__PAIRS_NONE:
        sum_marked(p->x, ranks, i, s, memo, s->sums);
        for (int32_t k = i + 1; k < count; k++)
            a[k] = (float)s->sums[k];
        memset(s->sums, 0, (size_t)count * sizeof(*s->sums));
        return;
    }
}

void ease__pairs_gather(const ease__pairs *p, const int32_t *ranks, int32_t count,
                        ease__pair_scratch *s, ease__pair_memo *memo, float *a,
                        size_t ld)
{
    mark_all(ranks, count, s);
    for (int32_t i = 0; i < count; i++)
        gather_row(p, ranks, i, count, s, memo, a + (size_t)i * ld);
    forget_hits(memo);
    unmark_all(ranks, count, s);
}

void ease__pairs_gather_wide(const ease__pairs *p, const int32_t *ranks, int32_t count,
                             ease__pair_scratch *s, ease__pair_memo *memo, double *a,
                             size_t ld)
{
    mark_all(ranks, count, s);
    for (int32_t i = 0; i < count; i++, a += ld) {
        memset(a + i, 0, (size_t)(count - i) * sizeof(*a));
        sum_marked(p->x, ranks, i, s, memo, a);
    }
    forget_hits(memo);
    unmark_all(ranks, count, s);
}
