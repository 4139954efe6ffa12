/* Scores many histories by models with rows of weights. The columns of weights are
 * processed in stripes, and each stripe in panels. The rows of a stripe that the
 * histories need are copied once for thousands of users, in the form that is summed. A
 * panel stays in cache while all users are scored, and the scores of a user in a panel
 * are summed in registers. Only the best k items of each user are kept from panel to
 * panel. While one stripe is processed, the next one is copied. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "score/scoring.h"

enum {
    USERS = 1 << 17,               /* of a batch; each batch reads all weights */
    PANELS = 4,                    /* of a stripe */
    STRIPE = PANELS * EASE__PANEL, /* columns of a stripe */
    RUN = 64,                      /* rows that are copied together */
    PIECE = 8,                     /* runs that a thread copies at a time */
    /* Bounds on the number of users that a thread scores at a time: enough users to
     * make reading a panel into the thread's cache worthwhile. */
    FEWEST_USERS = 64,
    MOST_USERS = 8192
};

typedef struct run {
    int32_t top, bottom;
} run;

/* The state of a user's list. */
typedef struct state {
    float least;   /* only scores above it are considered */
    int32_t next;  /* the next item of the history, which must not be chosen */
    int32_t place; /* index of `next` in the history */
    int32_t count; /* length of the list so far */
} state;

typedef struct batch {
    const ease__list_job *lists;
    const ease_model *model;
    const ease__store *store;
    int64_t first;             /* the number of its first user */
    const ease_row *histories; /* of this batch */
    int64_t count, chunk;      /* users, and users that a thread scores at a time */
    /* Two stripes, one in use while the other is filled: PANELS panels of n rows each,
     * in floats or halves. Only rows of the batch's items are filled. */
    void *stripe[2];
    uint8_t *used; /* by item / grain: 1: a history of the batch has one of the items */
    run *runs;     /* the rows of used items, at most RUN in each */
    int64_t run_count;
    state *states;     /* of the batch's users */
    double done, step; /* progress, and its increment for a batch */
    atomic_bool cancelled;
    ease__failure failure; /* of verifying the weights */
} batch;

static size_t weight_bytes(const ease__store *store)
{
    return store->halves ? sizeof(uint16_t) : sizeof(float);
}

static void *panel_at(const batch *b, int32_t left)
{
    size_t panel = (size_t)(left % STRIPE / EASE__PANEL);

    return (char *)b->stripe[left / STRIPE % 2] +
           panel * (size_t)b->model->info.items * EASE__PANEL * weight_bytes(b->store);
}

/* ---- before the panels ----------------------------------------------------------- */

/* Rows that some history needs, joined where the storage reads them together anyway. */
static void find_runs(batch *b)
{
    int32_t n = b->model->info.items, grain = b->store->grain;

    b->run_count = 0;
    if (b->store->empty)
        return;
    memset(b->used, 0, (size_t)n);
    for (int64_t u = 0; u < b->count; u++)
        for (int32_t h = 0; h < b->histories[u].count; h++)
            b->used[b->histories[u].items[h] / grain] = 1;
    for (int32_t top = 0, bottom; top < n; top = bottom) {
        run *last = b->run_count ? &b->runs[b->run_count - 1] : NULL;

        bottom = n - top > grain ? top + grain : n;
        if (!b->used[top / grain])
            continue;
        if (last && last->bottom == top && bottom - last->top <= RUN)
            last->bottom = bottom;
        else
            b->runs[b->run_count++] = (run){top, bottom};
    }
}

/* Only for the calling thread. Also while a cold file is fetched and verified, which
 * may take minutes. */
static void ask_to_go_on(batch *b, double part)
{
    if (ease__progress(b->lists->o->hooks, "recommending", b->done + b->step * part))
        atomic_store(&b->cancelled, true);
}

/* Panels read a little of every row, then a little more of every row: from disk the
 * rows come faster whole, as far as they fit into memory. */
static void expect_runs(batch *b)
{
    const ease_model *m = b->model;

    if (!m->file.watch || m->info.bytes > ease_memory_available() / 2)
        return;
    for (int64_t r = 0; !atomic_load(&b->cancelled) && r < b->run_count; r++) {
        b->store->expect(m, b->runs[r].top, b->runs[r].bottom);
        ask_to_go_on(b, 0);
    }
}

/* Users without a history get `least` = infinity: their lists are made elsewhere. */
static void begin_users(batch *b)
{
    for (int64_t u = 0; u < b->count; u++) {
        ease_row row = b->histories[u];

        b->states[u] = (state){.least = -INFINITY, .next = INT32_MAX};
        if (row.count == 0)
            b->states[u].least = INFINITY;
        else if (!b->lists->o->keep_seen)
            b->states[u].next = row.items[0];
    }
}

/* ---- panels ---------------------------------------------------------------------- */

/* Copies some runs of the stripe that begins at column `first`. */
static void copy_piece(batch *b, int32_t first, int64_t piece)
{
    const ease_model *m = b->model;
    int32_t n = m->info.items, end = n - first > STRIPE ? first + STRIPE : n;

    for (int64_t r = piece * PIECE; r < b->run_count && r < (piece + 1) * PIECE; r++) {
        run rows = b->runs[r];

        for (int32_t left = first, right; left < end; left = right) {
            size_t at = (size_t)rows.top * EASE__PANEL * weight_bytes(b->store);

            right = end - left > EASE__PANEL ? left + EASE__PANEL : end;
            b->store->take(m, (ease__window){rows.top, rows.bottom, left, right},
                           (char *)panel_at(b, left) + at, EASE__PANEL);
        }
    }
}

/* The data of a panel that is the same for all users: the columns that exist and are
 * allowed, and the initial values of their scores. */
typedef struct panel {
    _Alignas(64) float start[EASE__PANEL];
    const void *weights;
    int32_t left, right;
    uint32_t allowed;     /* a bit for each column */
    const float *factors; /* of the columns from `left` on; NULL: all 1 */
    double above, below; /* 1 / the largest and 1 / the smallest factor, with margins */
} panel;

/* Sets the factors of a panel, which has columns from left to right - 1. */
static void begin_factors(const float *factors, panel *p)
{
    float smallest = INFINITY, largest = 0;

    for (int32_t j = p->left; j < p->right; j++) {
        smallest = factors[j] < smallest ? factors[j] : smallest;
        largest = factors[j] > largest ? factors[j] : largest;
    }
    p->factors = factors + p->left;
    p->above = (1 - 1e-6) / (double)largest;
    p->below = (1 + 1e-6) / (double)smallest;
}

/* A bound for sums: a score, the product of a sum and a factor of the panel, can only
 * be above `least` if the sum is above the bound. Rounding changes the product by at
 * most 6e-8 of it, or 1e-45 where floats are subnormal, and the bound likewise: the
 * margins are wider. */
static float bound_of_sums(const panel *p, float least)
{
    double bound;

    if (least > 0) {
        bound = ((double)least - 1e-44) * p->above;
        return bound > 1e-37 ? (float)bound : 0;
    }
    if (least < 0) {
        bound = ((double)least - 1e-44) * p->below;
        return bound < -1e-37 ? (float)bound : -1e-37f;
    }
    return 0;
}

static void begin_panel(const batch *b, int32_t left, panel *p)
{
    const ease_model *m = b->model;
    int32_t n = m->info.items;

    *p = (panel){.left = left, .weights = panel_at(b, left)};
    p->right = n - left > EASE__PANEL ? left + EASE__PANEL : n;
    if (m->base)
        memcpy(p->start, m->base + left, (size_t)(p->right - left) * sizeof(float));
    for (int32_t j = left; j < p->right; j++)
        if (!b->lists->o->allowed || b->lists->o->allowed[j])
            p->allowed |= (uint32_t)1 << (j - left);
    if (b->lists->o->factors)
        begin_factors(b->lists->o->factors, p);
}

/* Offers the columns in `bits`, whose sums are given, to the user's list. */
static void choose(batch *b, int64_t u, const panel *p, const float *sums,
                   uint32_t bits)
{
    state *s = &b->states[u];
    ease__topk best = {.recs = ease__list_at(b->lists, b->first + u),
                       .capacity = ease__list_length(b->model, b->lists->o),
                       .count = s->count};

    for (; bits; bits &= bits - 1) {
        int j = __builtin_ctz(bits);
        float score = p->factors ? sums[j] * p->factors[j] : sums[j];

        if (score > s->least) {
            ease__topk_add(&best, (ease_rec){p->left + j, score});
            s->least = ease__topk_least(&best);
        }
    }
    s->count = best.count;
}

static void score_user(batch *b, int64_t u, const panel *p)
{
    _Alignas(64) float sums[EASE__PANEL];
    const ease_model *m = b->model;
    ease_row row = b->histories[u];
    state *s = &b->states[u];
    float least = p->factors ? bound_of_sums(p, s->least) : s->least;
    ease__rows rows = {row.items, row.weights, b->store->empty ? 0 : row.count,
                       p->start};
    uint32_t bits = b->store->halves
                        ? m->kernels->sum_halves(p->weights, m->unit, rows, least, sums)
                        : m->kernels->sum_floats(p->weights, rows, least, sums);

    bits &= p->allowed;
    while (s->next < p->right) {
        bits &= ~((uint32_t)1 << (s->next - p->left));
        s->place++;
        s->next = s->place < row.count ? row.items[s->place] : INT32_MAX;
    }
    if (bits)
        choose(b, u, p, sums, bits);
}

/* Scores some users in the stripe that begins at column `first`. */
static void score_chunk(batch *b, int32_t first, int64_t chunk)
{
    int32_t n = b->model->info.items, end = n - first > STRIPE ? first + STRIPE : n;
    int64_t from = chunk * b->chunk, to = from + b->chunk;
    panel p;

    if (to > b->count)
        to = b->count;
    for (int32_t left = first; left < end; left = p.right) {
        begin_panel(b, left, &p);
        for (int64_t u = from; u < to; u++)
            score_user(b, u, &p);
    }
}

static void finish_user(batch *b, int64_t u)
{
    const ease__list_job *l = b->lists;
    ease__topk best = {.recs = ease__list_at(l, b->first + u),
                       .count = b->states[u].count};

    if (b->histories[u].count == 0) {
        ease__list_popular(l, b->first + u);
        return;
    }
    ease__topk_sort(&best);
    l->counts[b->first + u] = best.count;
}

/* Verifies the weights that the runs read, each thread its share of the blocks. False:
 * a block is damaged, or the call was cancelled. */
static bool verify_runs(batch *b)
{
    const ease_model *m = b->model;
    ease__share share = {omp_get_thread_num(), omp_get_num_threads()};
    ease_error err = {0};
    ease_status status = EASE_OK;
    int64_t count = m->file.watch ? b->run_count : 0;

    for (int64_t r = 0; !status && !atomic_load(&b->cancelled) && r < count; r++) {
        run rows = b->runs[r];

        status = b->store->need(
            m, (ease__window){rows.top, rows.bottom, 0, m->info.items}, share, &err);
        if (share.index == 0)
            ask_to_go_on(b, 0);
    }
    if (status)
        ease__failure_note(&b->failure, status, &err);
#pragma omp barrier
    return !b->failure.status && !atomic_load(&b->cancelled);
}

/* Scores all users of the batch in all stripes. Every thread of the team runs this. */
static void work(batch *b)
{
    int32_t n = b->model->info.items;
    int64_t pieces = (b->run_count + PIECE - 1) / PIECE;
    int64_t chunks = (b->count + b->chunk - 1) / b->chunk;

    if (!verify_runs(b))
        return;
#pragma omp for schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; piece++)
        copy_piece(b, 0, piece);
    for (int32_t first = 0, next; first < n; first = next) {
        bool last = n - first <= STRIPE;
        int64_t copies = last ? 0 : pieces;

        next = last ? n : first + STRIPE;
#pragma omp master
        ask_to_go_on(b, (double)first / (double)n);
#pragma omp barrier
        if (atomic_load(&b->cancelled))
            return;
#pragma omp for schedule(dynamic)
        for (int64_t t = 0; t < copies + chunks; t++) {
            if (t < copies)
                copy_piece(b, next, t);
            else
                score_chunk(b, first, t - copies);
        }
    }
#pragma omp for schedule(dynamic, 64)
    for (int64_t u = 0; u < b->count; u++)
        finish_user(b, u);
}

/* ---- batches --------------------------------------------------------------------- */

static int64_t choose_chunk(int64_t users, int threads)
{
    int64_t chunk = users / (2 * (int64_t)threads);

    if (chunk < FEWEST_USERS)
        return FEWEST_USERS;
    return chunk < MOST_USERS ? chunk : MOST_USERS;
}

static ease_status run_batches(batch *b, ease_error *err)
{
    int64_t count = b->lists->count;
    int threads = ease__threads(b->lists->o->threads);
    ease_status status = ease__container_unchanged(&b->model->file, err);

    for (int64_t first = 0; !status && first < count; first += USERS) {
        b->first = first;
        b->histories = b->lists->histories + first;
        b->count = count - first < USERS ? count - first : USERS;
        b->chunk = choose_chunk(b->count, threads);
        b->done = (double)first / (double)count;
        b->step = (double)b->count / (double)count;
        begin_users(b);
        find_runs(b);
        if (first == 0)
            expect_runs(b);
#pragma omp parallel num_threads(threads)
        work(b);
        if (atomic_load(&b->cancelled))
            return ease__cancelled(err);
        status = ease__failure_take(&b->failure, err);
        if (!status)
            status = ease__container_unchanged(&b->model->file, err);
    }
    if (status)
        return status;
    return ease__progress(b->lists->o->hooks, "recommending", 1.0)
               ? ease__cancelled(err)
               : EASE_OK;
}

static ease_status no_memory(const ease__list_job *l, ease_error *err)
{
    return ease__fail(err, EASE_E_NOMEM, "scoring %lld histories of %d items",
                      (long long)l->count, (int)l->model->info.items);
}

ease_status ease__panels_many(const ease__list_job *l, ease_error *err)
{
    size_t n = (size_t)l->model->info.items;
    batch whole = {.lists = l, .model = l->model, .store = l->model->form->store},
          *b = &whole;
    size_t stripe_bytes = ease__size_mul(n, STRIPE * weight_bytes(b->store));
    ease_status status;

    b->stripe[0] = ease__alloc_pages(stripe_bytes);
    b->stripe[1] = ease__alloc_pages(stripe_bytes);
    b->used = ease__alloc_array(n, sizeof(*b->used));
    b->runs = ease__alloc_array(n, sizeof(*b->runs));
    b->states = ease__alloc_array((size_t)(l->count < USERS ? l->count : USERS),
                                  sizeof(*b->states));
    if (b->stripe[0] && b->stripe[1] && b->used && b->runs && b->states)
        status = run_batches(b, err);
    else
        status = no_memory(l, err);
    ease__free_pages(b->stripe[0], stripe_bytes);
    ease__free_pages(b->stripe[1], stripe_bytes);
    ease__free(b->used);
    ease__free(b->runs);
    ease__free(b->states);
    return status;
}
