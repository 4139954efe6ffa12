/* Synthetic interactions in any shape.
 *
 * Items belong to tastes and have Zipf-like weights. A user has two tastes and an
 * activity (log-normal), and draws items of these tastes by weight, and some from
 * the whole catalog. Each user has a separate random stream, so that the number of
 * threads does not matter. To make every item occur, items and users, both in the
 * order of tastes, are first assigned to each other evenly, slot by slot. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/budget.h"
#include "core/random.h"
#include "core/sized.h"
#include "data/interactions.h"

enum { MAX_TASTES = 256, PATIENCE = 16 };

static const double share_first = 0.50, share_second = 0.30; /* the rest: any item */

/* Random streams by use; those of users begin at USERS. */
enum { STREAM_ITEMS, STREAM_USERS, USERS };

typedef struct world {
    const ease_synth_options *o;
    int32_t tastes;
    int32_t first[MAX_TASTES + 1]; /* places in `order` where a taste begins */
    int32_t *order;                /* items by taste */
    double *cumulated;             /* items + 1: cumulated weights, in that order */
    uint16_t *main_taste;          /* of each user */
    int64_t *dealt;                /* users + 1, by queue: first place in `order` */
    int64_t *queue;                /* users by taste */
    int64_t *place;                /* of each user in queue */
    ease_interactions *x;
} world;

typedef struct candidate {
    double key;
    int32_t item;
} candidate;

void ease_synth_options_defaults(ease_synth_options *o)
{
    static const ease_synth_options defaults = {.seed = 1};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

static ease_status check_options(const ease_synth_options *o, ease_error *err)
{
    if (ease__threads_check(o->threads, err))
        return EASE_E_ARG;
    if (o->users < 1 || o->items < 1 || o->interactions < 1)
        return ease__fail(err, EASE_E_ARG,
                          "users, items and interactions must be at least 1");
    if (o->users > EASE__MAX_IDS)
        return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^32 - 3 users");
    if (o->interactions < o->users || o->interactions < o->items)
        return ease__fail(err, EASE_E_ARG,
                          "%lld interactions cannot reach each of %lld users and %d "
                          "items",
                          (long long)o->interactions, (long long)o->users,
                          (int)o->items);
    if (o->interactions / o->users > o->items ||
        (o->interactions / o->users == o->items && o->interactions % o->users))
        return ease__fail(
            err, EASE_E_ARG, "%lld users and %d items have fewer than %lld pairs",
            (long long)o->users, (int)o->items, (long long)o->interactions);
    return EASE_OK;
}

static void world_free(world *w)
{
    ease__free(w->order);
    ease__free(w->cumulated);
    ease__free(w->main_taste);
    ease__free(w->dealt);
    ease__free(w->queue);
    ease__free(w->place);
    ease_interactions_free(w->x);
}

/* Checks that the arrays below, those of the threads and the ids fit into the
 * available memory. */
static ease_status check_memory(const ease_synth_options *o, ease_error *err)
{
    size_t users = (size_t)o->users, items = (size_t)o->items,
           threads = (size_t)ease__threads(o->threads), need, limit;
    char needed[EASE__SIZE_CHARS], most[EASE__SIZE_CHARS];

    need = ease__size_mul((size_t)o->interactions, sizeof(int32_t));
    need = ease__size_add(
        need,
        ease__size_mul(users, 4 * sizeof(int64_t) + sizeof(double) + sizeof(uint16_t)));
    need = ease__size_add(
        need,
        ease__size_mul(items, sizeof(int32_t) + sizeof(double) +
                                  threads * (sizeof(int64_t) + sizeof(candidate))));
    need = ease__size_add(need, ease__size_mul(users + items, EASE__DIGITS));
    limit = ease__memory_limit(0);
    if (need <= limit)
        return EASE_OK;
    return ease__fail(err, EASE_E_MEMORY_LIMIT,
                      "%lld synthetic interactions need %s; %s are available",
                      (long long)o->interactions, ease__size_text(need, needed),
                      ease__size_text(limit, most));
}

static ease_status world_alloc(world *w, ease_error *err)
{
    size_t users = (size_t)w->o->users, items = (size_t)w->o->items;
    ease_interactions *x = ease__alloc_zero(1, sizeof(*x));

    w->x = x;
    w->order = ease__alloc_array(items, sizeof(*w->order));
    w->cumulated = ease__alloc_array(items + 1, sizeof(*w->cumulated));
    w->main_taste = ease__alloc_array(users, sizeof(*w->main_taste));
    w->dealt = ease__alloc_array(users + 1, sizeof(*w->dealt));
    w->queue = ease__alloc_array(users, sizeof(*w->queue));
    w->place = ease__alloc_array(users, sizeof(*w->place));
    if (x) {
        x->users = w->o->users;
        x->items = w->o->items;
        x->nnz = w->o->interactions;
        x->row_ptr = ease__alloc_array(users + 1, sizeof(*x->row_ptr));
        x->cols = ease__alloc_array((size_t)x->nnz, sizeof(*x->cols));
    }
    if (!x || !w->order || !w->cumulated || !w->main_taste || !w->dealt || !w->queue ||
        !w->place || !x->row_ptr || !x->cols)
        return ease__fail(err, EASE_E_NOMEM, "%lld synthetic interactions",
                          (long long)w->o->interactions);
    return EASE_OK;
}

/* Shuffles the catalog and cuts it into tastes of about the same number of items.
 * Weights fall as 1 / (rank + 10) over another shuffle, so that each taste has
 * popular items. */
static void make_items(world *w)
{
    int32_t n = w->o->items, tastes = (int32_t)(sqrt((double)n) / 2);
    ease__random r;

    w->tastes = tastes < 1 ? 1 : tastes > MAX_TASTES ? MAX_TASTES : tastes;
    for (int32_t t = 0; t <= w->tastes; t++)
        w->first[t] = (int32_t)((int64_t)n * t / w->tastes);
    ease__random_seed(&r, w->o->seed, STREAM_ITEMS);
    for (int32_t i = 0; i < n; i++) {
        w->order[i] = i;
        w->cumulated[i + 1] = 1.0 / ((double)i + 10);
    }
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t j = (int32_t)ease__random_below(&r, (uint64_t)i + 1);
        int32_t k = (int32_t)ease__random_below(&r, (uint64_t)i + 1);
        int32_t item = w->order[i];
        double weight = w->cumulated[i + 1];

        w->order[i] = w->order[j];
        w->order[j] = item;
        w->cumulated[i + 1] = w->cumulated[k + 1];
        w->cumulated[k + 1] = weight;
    }
    w->cumulated[0] = 0;
    for (int32_t i = 0; i < n; i++)
        w->cumulated[i + 1] += w->cumulated[i];
}

/* The last place whose cumulated weight is at most `at`, within from .. to-1. */
static int32_t find_place(const double *cumulated, int32_t from, int32_t to, double at)
{
    while (to - from > 1) {
        int32_t middle = from + (to - from) / 2;

        if (cumulated[middle] <= at)
            from = middle;
        else
            to = middle;
    }
    return from;
}

static int32_t draw_place(const world *w, ease__random *r, int32_t from, int32_t to)
{
    double low = w->cumulated[from], high = w->cumulated[to];

    return find_place(w->cumulated, from, to,
                      low + ease__random_unit(r) * (high - low));
}

static int32_t taste_of_place(const world *w, int32_t place)
{
    int32_t t = (int32_t)((int64_t)place * w->tastes / w->o->items);

    while (place < w->first[t])
        t--;
    while (place >= w->first[t + 1])
        t++;
    return t;
}

/* The number of items of a user of activity `a` at this scale, 1 .. items. */
static int64_t degree(double a, double scale, int32_t items)
{
    double d = 1 + floor(a * scale);

    return d < items ? (int64_t)d : items;
}

static int64_t total_degree(const double *activity, int64_t users, double scale,
                            int32_t items)
{
    int64_t sum = 0;

    for (int64_t u = 0; u < users; u++)
        sum += degree(activity[u], scale, items);
    return sum;
}

/* The largest scale, to many bits, at which the users together have at most the
 * requested number of interactions. */
static double fit_scale(const double *activity, const ease_synth_options *o)
{
    double low = 0, high = 1;

    while (high < 1e18 &&
           total_degree(activity, o->users, high, o->items) <= o->interactions)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);

        if (total_degree(activity, o->users, middle, o->items) <= o->interactions)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Draws the tastes and the numbers of items of all users; row_ptr is final
 * afterwards. */
static ease_status make_users(world *w, ease_error *err)
{
    const ease_synth_options *o = w->o;
    int64_t *ptr = w->x->row_ptr, missing = o->interactions;
    double *activity = ease__alloc_array((size_t)o->users, sizeof(*activity));
    double scale;
    ease__random r;

    if (!activity)
        return ease__fail(err, EASE_E_NOMEM, "%lld synthetic users",
                          (long long)o->users);
    ease__random_seed(&r, o->seed, STREAM_USERS);
    for (int64_t u = 0; u < o->users; u++) {
        double normal = -6;

        for (int i = 0; i < 12; i++)
            normal += ease__random_unit(&r);
        activity[u] = exp(1.1 * normal);
        w->main_taste[u] = (uint16_t)taste_of_place(w, draw_place(w, &r, 0, o->items));
    }
    scale = fit_scale(activity, o);
    ptr[0] = 0;
    for (int64_t u = 0; u < o->users; u++) {
        ptr[u + 1] = degree(activity[u], scale, o->items);
        missing -= ptr[u + 1];
    }
    while (missing > 0)
        for (int64_t u = 0; u < o->users && missing > 0; u++)
            if (ptr[u + 1] < o->items) {
                ptr[u + 1]++;
                missing--;
            }
    for (int64_t u = 0; u < o->users; u++)
        ptr[u + 1] += ptr[u];
    ease__free(activity);
    return EASE_OK;
}

/* Assigns every place of `order` to one user: place p gets slot (2p + 1) M / 2n of
 * the M slots that the users, by taste, have together. Slots differ since M >= n. */
static void deal_items(world *w)
{
    const ease_synth_options *o = w->o;
    const int64_t *ptr = w->x->row_ptr;
    int64_t start[MAX_TASTES + 1] = {0}, end = 0;
    int64_t p = 0;

    for (int64_t u = 0; u < o->users; u++)
        start[w->main_taste[u] + 1]++;
    for (int32_t t = 0; t < w->tastes; t++)
        start[t + 1] += start[t];
    for (int64_t u = 0; u < o->users; u++) {
        w->place[u] = start[w->main_taste[u]]++;
        w->queue[w->place[u]] = u;
    }
    w->dealt[0] = 0;
    for (int64_t q = 0; q < o->users; q++) {
        int64_t u = w->queue[q];

        end += ptr[u + 1] - ptr[u];
        while (p < o->items && (int64_t)((__int128)(2 * p + 1) * o->interactions /
                                         (2 * (__int128)o->items)) < end)
            p++;
        w->dealt[q + 1] = p;
    }
}

/* The two tastes of a user as ranges of places, and their shares of the draws. */
typedef struct wish {
    int32_t from[3], to[3];
    double share[3];
} wish;

static wish make_wish(const world *w, int64_t user, ease__random *r)
{
    int32_t t1 = w->main_taste[user];
    int32_t t2 = (int32_t)ease__random_below(r, (uint64_t)w->tastes);

    return (wish){{w->first[t1], w->first[t2], 0},
                  {w->first[t1 + 1], w->first[t2 + 1], w->o->items},
                  {share_first, share_second, 1 - share_first - share_second}};
}

/* Moves the `count` smallest keys to the front. */
static void select_smallest(candidate *c, int64_t n, int64_t count)
{
    int64_t low = 0, high = n - 1;

    while (low < high) {
        double pivot = c[low + (high - low) / 2].key;
        int64_t i = low, j = high;

        while (i <= j) {
            while (c[i].key < pivot)
                i++;
            while (c[j].key > pivot)
                j--;
            if (i <= j) {
                candidate swap = c[i];

                c[i++] = c[j];
                c[j--] = swap;
            }
        }
        if (count <= j + 1)
            high = j;
        else if (count >= i + 1)
            low = i;
        else
            return;
    }
}

/* Draws the rest of a large history at once, without replacement: the items of the
 * smallest exponential variates over weight (Efraimidis and Spirakis). */
static void draw_rest(const world *w, const wish *v, ease__random *r,
                      const int64_t *taken, int64_t mark, candidate *scratch,
                      int32_t *out, int64_t count)
{
    int64_t n = 0;

    for (int32_t p = 0; p < w->o->items; p++) {
        double weight = 0;

        if (taken[w->order[p]] == mark)
            continue;
        for (int i = 0; i < 3; i++)
            if (p >= v->from[i] && p < v->to[i])
                weight += v->share[i] /
                          (w->cumulated[v->to[i]] - w->cumulated[v->from[i]]);
        weight *= w->cumulated[p + 1] - w->cumulated[p];
        scratch[n].key = -log(1 - ease__random_unit(r)) / weight;
        scratch[n++].item = w->order[p];
    }
    select_smallest(scratch, n, count);
    for (int64_t i = 0; i < count; i++)
        out[i] = scratch[i].item;
}

/* Fills the free places of a user's row; `taken` marks the items that the user has. */
static void fill_row(const world *w, int64_t user, int64_t *taken, candidate *scratch)
{
    int32_t *row = w->x->cols + w->x->row_ptr[user];
    int64_t count = w->x->row_ptr[user + 1] - w->x->row_ptr[user], have = 0;
    int64_t mark = user + 1, tries, q = w->place[user];
    ease__random r;
    wish v;

    ease__random_seed(&r, w->o->seed, (uint64_t)USERS + (uint64_t)user);
    v = make_wish(w, user, &r);
    for (int64_t p = w->dealt[q]; p < w->dealt[q + 1]; p++) {
        row[have] = w->order[p];
        taken[row[have++]] = mark;
    }
    for (tries = PATIENCE * count; have < count && tries > 0; tries--) {
        double u = ease__random_unit(&r);
        int i = u < v.share[0] ? 0 : u < v.share[0] + v.share[1] ? 1 : 2;
        int32_t item = w->order[draw_place(w, &r, v.from[i], v.to[i])];

        if (taken[item] != mark) {
            taken[item] = mark;
            row[have++] = item;
        }
    }
    if (have < count)
        draw_rest(w, &v, &r, taken, mark, scratch, row + have, count - have);
}

static int compare_items(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static ease_status fill_rows(world *w, ease_error *err)
{
    int64_t users = w->o->users;
    size_t items = (size_t)w->o->items;
    atomic_int failure = EASE_OK;

#pragma omp parallel num_threads(ease__threads(w->o->threads))
    {
        int64_t *taken = ease__alloc_zero(items, sizeof(*taken));
        candidate *scratch = ease__alloc_array(items, sizeof(*scratch));

        if (!taken || !scratch)
            atomic_store(&failure, EASE_E_NOMEM);
#pragma omp for schedule(dynamic, 256)
        for (int64_t u = 0; u < users; u++) {
            int64_t from = w->x->row_ptr[u];

            if (atomic_load_explicit(&failure, memory_order_relaxed))
                continue;
            if (omp_get_thread_num() == 0 && u % 256 == 0 &&
                ease__progress(w->o->hooks, "drawing", (double)u / (double)users)) {
                atomic_store(&failure, EASE_E_CANCELLED);
                continue;
            }
            fill_row(w, u, taken, scratch);
            qsort(w->x->cols + from, (size_t)(w->x->row_ptr[u + 1] - from),
                  sizeof(*w->x->cols), compare_items);
        }
        ease__free(taken);
        ease__free(scratch);
    }
    if (failure == EASE_E_NOMEM)
        return ease__fail(err, EASE_E_NOMEM, "synthetic interactions");
    if (failure || ease__progress(w->o->hooks, "drawing", 1))
        return ease__cancelled(err);
    return EASE_OK;
}

ease_status ease_interactions_synth(const ease_synth_options *given,
                                    ease_interactions **out, ease_error *err)
{
    ease_synth_options o;
    world w = {.o = &o};
    ease_status status;

    if (!given || !out)
        return ease__fail(err, EASE_E_ARG, "options are required");
    status = EASE__OPTIONS_TAKE(ease_synth_options, &o, given, err);
    if (!status)
        status = check_options(&o, err);
    if (!status)
        status = check_memory(&o, err);
    if (!status)
        status = world_alloc(&w, err);
    if (!status) {
        make_items(&w);
        status = make_users(&w, err);
    }
    if (!status) {
        deal_items(&w);
        status = fill_rows(&w, err);
    }
    if (!status)
        status = ease__ids_number(&w.x->user_ids, 0, o.users, err);
    if (!status)
        status = ease__ids_number(&w.x->item_ids, 0, o.items, err);
    if (!status) {
        w.x->counts.rows = o.interactions;
        *out = w.x;
        w.x = NULL;
    }
    world_free(&w);
    return status;
}
