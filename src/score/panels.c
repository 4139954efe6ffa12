/* Scores many histories by models with rows of weights. The scores of a user in a panel
 * are summed in registers. Only the best k items of each user are kept from panel to
 * panel. */
#include <math.h>
#include <string.h>

#include "score/scoring.h"
#include "score/sweep.h"

static const char STAGE[] = "recommending";

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
    int64_t count;
    state *states; /* of the batch's users */
} batch;

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

static void begin_panel(const batch *b, const ease__panel *given, panel *p)
{
    const ease_model *m = b->model;
    int32_t left = given->left;

    *p = (panel){.left = left, .right = given->right, .weights = given->numbers};
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

static void score_panel(void *user, const ease__panel *given, int64_t from, int64_t to)
{
    batch *b = user;
    panel p;

    begin_panel(b, given, &p);
    for (int64_t u = from; u < to; u++)
        score_user(b, u, &p);
}

/* ---- batches --------------------------------------------------------------------- */

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

static ease_status run_batches(batch *b, ease__sweep *s, ease_error *err)
{
    const ease__list_job *l = b->lists;
    double whole = (double)l->count;
    ease_status status = EASE_OK;

    for (int64_t first = 0; !status && first < l->count; first += EASE__SWEEP_USERS) {
        int64_t left = l->count - first;

        b->first = first;
        b->histories = l->histories + first;
        b->count = left < EASE__SWEEP_USERS ? left : EASE__SWEEP_USERS;
        begin_users(b);
        status = ease__sweep_run(
            s, b->histories, b->count,
            (ease__portion){(double)first / whole, (double)b->count / whole}, err);
        if (status)
            break;
#pragma omp parallel for schedule(dynamic, 64) num_threads(ease__threads(l->o->threads))
        for (int64_t u = 0; u < b->count; u++)
            finish_user(b, u);
    }
    if (status)
        return status;
    return ease__progress(l->o->hooks, STAGE, 1.0) ? ease__cancelled(err) : EASE_OK;
}

ease_status ease__panels_many(const ease__list_job *l, ease_error *err)
{
    const ease__store *store = l->model->form->store;
    int64_t most = l->count < EASE__SWEEP_USERS ? l->count : EASE__SWEEP_USERS;
    batch b = {.lists = l, .model = l->model, .store = store};
    ease__sweep_work work = {.take = store->take,
                             .bytes = store->halves ? sizeof(uint16_t) : sizeof(float),
                             .use = score_panel,
                             .user = &b,
                             .stage = STAGE};
    ease__sweep s;
    ease_status status = ease__sweep_new(l->model, &work, l->o->threads, l->o->hooks,
                                         &s, err);

    b.states = ease__alloc_array((size_t)most, sizeof(*b.states));
    if (!status && !b.states)
        status = ease__fail(err, EASE_E_NOMEM, "scoring %lld histories of %d items",
                            (long long)l->count, (int)l->model->info.items);
    if (!status)
        status = run_batches(&b, &s, err);
    ease__sweep_free(&s);
    ease__free(b.states);
    return status;
}
