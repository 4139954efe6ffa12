/* Columns are processed in stripes, and each stripe in panels. The rows of a stripe
 * that the histories need are copied once for thousands of users, in the form that is
 * summed. A panel stays in cache while all users are scored. While one stripe is
 * processed, the next one is copied. */
#include "score/sweep.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

enum {
    PANELS = 4,                    /* of a stripe */
    STRIPE = PANELS * EASE__PANEL, /* columns of a stripe */
    RUN = 64,                      /* rows that are copied together */
    PIECE = 8,                     /* runs that a thread copies at a time */
    /* Bounds on the number of users that a thread scores at a time: enough users to
     * make reading a panel into the thread's cache worthwhile. */
    FEWEST_USERS = 64,
    MOST_USERS = 8192
};

typedef struct ease__sweep_rows {
    int32_t top, bottom;
} run;

typedef struct pass {
    ease__sweep *s;
    const ease_row *histories;
    int64_t count, chunk; /* users, and users that a thread scores at a time */
    int64_t run_count;
    ease__portion portion;
    atomic_bool cancelled;
    ease__failure failure; /* of verifying the weights */
} pass;

/* ---- buffers --------------------------------------------------------------------- */

/* Two stripes, one in use while the other is filled: PANELS panels of n rows each. Only
 * rows of the histories' items are filled. */
static size_t stripe_bytes(int32_t n, size_t number)
{
    return ease__size_mul((size_t)n, STRIPE * number);
}

size_t ease__sweep_bytes(int32_t items, size_t number)
{
    size_t beside = ease__size_mul((size_t)items, sizeof(uint8_t) + sizeof(run));

    return ease__size_add(ease__size_mul(2, stripe_bytes(items, number)), beside);
}

void ease__sweep_free(ease__sweep *s)
{
    ease__free_pages(s->stripe[0], s->stripe_bytes);
    ease__free_pages(s->stripe[1], s->stripe_bytes);
    ease__free(s->used);
    ease__free(s->runs);
    *s = (ease__sweep){0};
}

ease_status ease__sweep_new(const ease_model *m, const ease__sweep_work *work,
                            int threads, const ease_hooks *hooks, ease__sweep *out,
                            ease_error *err)
{
    size_t n = (size_t)m->info.items, bytes = stripe_bytes(m->info.items, work->bytes);

    *out = (ease__sweep){.model = m,
                         .store = m->form->store,
                         .work = *work,
                         .threads = threads,
                         .hooks = hooks,
                         .stripe_bytes = bytes};
    out->stripe[0] = ease__alloc_pages(bytes);
    out->stripe[1] = ease__alloc_pages(bytes);
    out->used = ease__alloc_array(n, sizeof(*out->used));
    out->runs = ease__alloc_array(n, sizeof(*out->runs));
    if (out->stripe[0] && out->stripe[1] && out->used && out->runs)
        return EASE_OK;
    return ease__fail(err, EASE_E_NOMEM, "scoring with %d items", (int)m->info.items);
}

static void *panel_at(const ease__sweep *s, int32_t left)
{
    size_t panel = (size_t)(left % STRIPE / EASE__PANEL);

    return (char *)s->stripe[left / STRIPE % 2] +
           panel * (size_t)s->model->info.items * EASE__PANEL * s->work.bytes;
}

/* ---- before the panels ----------------------------------------------------------- */

/* Rows that some history needs, joined where the storage reads them together anyway:
 * used[item / grain] is 1 if a history has one of the items. */
static void find_runs(pass *p)
{
    ease__sweep *s = p->s;
    int32_t n = s->model->info.items, grain = s->store->grain;

    p->run_count = 0;
    if (s->store->empty)
        return;
    memset(s->used, 0, (size_t)n);
    for (int64_t u = 0; u < p->count; u++)
        for (int32_t h = 0; h < p->histories[u].count; h++)
            s->used[p->histories[u].items[h] / grain] = 1;
    for (int32_t top = 0, bottom; top < n; top = bottom) {
        run *last = p->run_count ? &s->runs[p->run_count - 1] : NULL;

        bottom = n - top > grain ? top + grain : n;
        if (!s->used[top / grain])
            continue;
        if (last && last->bottom == top && bottom - last->top <= RUN)
            last->bottom = bottom;
        else
            s->runs[p->run_count++] = (run){top, bottom};
    }
}

/* Only for the calling thread. Also while a cold file is fetched and verified, which
 * may take minutes. */
static void ask_to_go_on(pass *p, double part)
{
    double done = p->portion.done + p->portion.step * part;

    if (ease__progress(p->s->hooks, p->s->work.stage, done))
        atomic_store(&p->cancelled, true);
}

/* Panels read a little of every row, then a little more of every row: from disk the
 * rows come faster whole, as far as they fit into memory. */
static void expect_runs(pass *p)
{
    const ease__sweep *s = p->s;
    const ease_model *m = s->model;

    if (!m->file.watch || m->info.bytes > ease_memory_available() / 2)
        return;
    for (int64_t r = 0; !atomic_load(&p->cancelled) && r < p->run_count; r++) {
        s->store->expect(m, s->runs[r].top, s->runs[r].bottom);
        ask_to_go_on(p, 0);
    }
}

/* Verifies the weights that the runs read, each thread its share of the blocks. False:
 * a block is damaged, or the call was cancelled. */
static bool verify_runs(pass *p)
{
    const ease__sweep *s = p->s;
    const ease_model *m = s->model;
    ease__share share = {omp_get_thread_num(), omp_get_num_threads()};
    ease_error err = {0};
    ease_status status = EASE_OK;
    int64_t count = m->file.watch ? p->run_count : 0;

    for (int64_t r = 0; !status && !atomic_load(&p->cancelled) && r < count; r++) {
        run rows = s->runs[r];

        status = s->store->need(
            m, (ease__window){rows.top, rows.bottom, 0, m->info.items}, share, &err);
        if (share.index == 0)
            ask_to_go_on(p, 0);
    }
    if (status)
        ease__failure_note(&p->failure, status, &err);
#pragma omp barrier
    return !p->failure.status && !atomic_load(&p->cancelled);
}

/* ---- panels ---------------------------------------------------------------------- */

/* Copies some runs of the stripe that begins at column `first`. */
static void copy_piece(pass *p, int32_t first, int64_t piece)
{
    const ease__sweep *s = p->s;
    const ease_model *m = s->model;
    int32_t n = m->info.items, end = n - first > STRIPE ? first + STRIPE : n;

    for (int64_t r = piece * PIECE; r < p->run_count && r < (piece + 1) * PIECE; r++) {
        run rows = s->runs[r];

        for (int32_t left = first, right; left < end; left = right) {
            size_t at = (size_t)rows.top * EASE__PANEL * s->work.bytes;

            right = end - left > EASE__PANEL ? left + EASE__PANEL : end;
            s->work.take(m, (ease__window){rows.top, rows.bottom, left, right},
                         (char *)panel_at(s, left) + at, EASE__PANEL);
        }
    }
}

/* Uses the stripe that begins at column `first` for some users. */
static void use_chunk(pass *p, int32_t first, int64_t chunk)
{
    const ease__sweep *s = p->s;
    int32_t n = s->model->info.items, end = n - first > STRIPE ? first + STRIPE : n;
    int64_t from = chunk * p->chunk, to = from + p->chunk;

    if (to > p->count)
        to = p->count;
    for (int32_t left = first, right; left < end; left = right) {
        right = n - left > EASE__PANEL ? left + EASE__PANEL : n;
        s->work.use(s->work.user, &(ease__panel){panel_at(s, left), left, right}, from,
                    to);
    }
}

/* Every thread of the team runs this. */
static void work(pass *p)
{
    int32_t n = p->s->model->info.items;
    int64_t pieces = (p->run_count + PIECE - 1) / PIECE;
    int64_t chunks = (p->count + p->chunk - 1) / p->chunk;

    if (!verify_runs(p))
        return;
#pragma omp for schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; piece++)
        copy_piece(p, 0, piece);
    for (int32_t first = 0, next; first < n; first = next) {
        bool last = n - first <= STRIPE;
        int64_t copies = last ? 0 : pieces;

        next = last ? n : first + STRIPE;
#pragma omp master
        ask_to_go_on(p, (double)first / (double)n);
#pragma omp barrier
        if (atomic_load(&p->cancelled))
            return;
#pragma omp for schedule(dynamic)
        for (int64_t t = 0; t < copies + chunks; t++) {
            if (t < copies)
                copy_piece(p, next, t);
            else
                use_chunk(p, first, t - copies);
        }
    }
}

static int64_t choose_chunk(int64_t users, int threads)
{
    int64_t chunk = users / (2 * (int64_t)threads);

    if (chunk < FEWEST_USERS)
        return FEWEST_USERS;
    return chunk < MOST_USERS ? chunk : MOST_USERS;
}

ease_status ease__sweep_run(ease__sweep *s, const ease_row *histories, int64_t count,
                            ease__portion portion, ease_error *err)
{
    int threads = ease__threads(s->threads);
    pass p = {.s = s,
              .histories = histories,
              .count = count,
              .chunk = choose_chunk(count, threads),
              .portion = portion};
    ease_status status = ease__container_unchanged(&s->model->file, err);

    if (status)
        return status;
    find_runs(&p);
    if (portion.done == 0)
        expect_runs(&p);
#pragma omp parallel num_threads(threads)
    work(&p);
    if (atomic_load(&p.cancelled))
        return ease__cancelled(err);
    status = ease__failure_take(&p.failure, err);
    return status ? status : ease__container_unchanged(&s->model->file, err);
}
