/* Neighbours: an item adds to the score of those most like it how alike they are. Row by
 * row of X'X, which is never there as a whole: of most catalogs it is nearly empty. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "data/columns.h"
#include "gram/gram.h"
#include "model/topk.h"
#include "rivals/rivals.h"

enum { COSINE, JACCARD, CONDITIONAL };

static const ease_setting settings[] = {EASE__ITEM_ITEM_SETTINGS, {0}};

typedef struct job {
    const ease_interactions *x;
    ease__columns columns;
    int similarity;
    double shrinkage;
    double *diagonal; /* of X'X */
    double *roots;    /* of the diagonal */
    ease__lists lists;
    const ease_hooks *hooks;
    atomic_int done; /* rows */
    atomic_bool cancelled;
} job;

/* A row of X'X, of one thread: zero between rows. */
typedef struct room {
    uint32_t *counts; /* items; or, of weighted data, ... */
    double *sums;
    int32_t *listed; /* items + 1: where a row is not 0, in any order, ... */
    float *scores;   /* ... and how alike those are */
    uint32_t *tally; /* of the scores, BUCKETS and one */
} room;

/* ---- a row ------------------------------------------------------------------------- */

/* How many pairs have to be counted for item i. */
static int64_t pairs_of(const job *j, int32_t i)
{
    int64_t sum = 0;

    for (int64_t k = j->columns.ptr[i]; k < j->columns.ptr[i + 1]; k++) {
        const int64_t *row = j->x->row_ptr + j->columns.users[k];

        sum += row[1] - row[0];
    }
    return sum;
}

/* counts[k] += the users who have both. Where k was 0 is listed, without a branch: that
 * would be hard to foretell. */
static inline __attribute__((always_inline)) int32_t count_row(const job *j, int32_t i,
                                                               bool listing, room *r)
{
    const ease_interactions *x = j->x;
    int32_t listed = 0;

    for (int64_t k = j->columns.ptr[i]; k < j->columns.ptr[i + 1]; k++) {
        int64_t at = x->row_ptr[j->columns.users[k]];
        int64_t end = x->row_ptr[j->columns.users[k] + 1];

        for (; at < end; at++) {
            int32_t item = x->cols[at];
            uint32_t before = r->counts[item];

            if (listing) {
                r->listed[listed] = item;
                listed += before == 0;
            }
            r->counts[item] = before + 1;
        }
    }
    return listed;
}

/* The same for weights, without a list: a sum can come back to 0. */
static void weigh_row(const job *j, int32_t i, room *r)
{
    const ease_interactions *x = j->x;

    for (int64_t k = j->columns.ptr[i]; k < j->columns.ptr[i + 1]; k++) {
        uint32_t user = j->columns.users[k];
        double weight = (double)j->columns.vals[k];

        for (int64_t at = x->row_ptr[user]; at < x->row_ptr[user + 1]; at++)
            r->sums[x->cols[at]] += weight * (double)x->vals[at];
    }
}

/* The same list from all that was summed. */
static int32_t list_row(const job *j, room *r)
{
    int32_t listed = 0;

    for (int32_t k = 0; k < j->x->items; k++) {
        r->listed[listed] = k;
        listed += r->counts ? r->counts[k] != 0 : r->sums[k] != 0;
    }
    return listed;
}

static int32_t make_row(const job *j, int32_t i, room *r)
{
    if (r->counts && pairs_of(j, i) < j->x->items)
        return count_row(j, i, true, r);
    if (r->counts)
        count_row(j, i, false, r);
    else
        weigh_row(j, i, r);
    return list_row(j, r);
}

/* ---- neighbours -------------------------------------------------------------------- */

/* Of G_ik with what is known of both. */
static inline double alike(const job *j, double both, int32_t i, int32_t k)
{
    switch (j->similarity) {
    case COSINE:
        return both / (j->roots[i] * j->roots[k] + j->shrinkage);
    case JACCARD:
        return both / (j->diagonal[i] + j->diagonal[k] - both + j->shrinkage);
    default:
        return both / (j->diagonal[i] + j->shrinkage);
    }
}

/* Scores of what is listed, the item itself and zeros having minus infinity; the row is
 * cleared. */
static void score_row(const job *j, int32_t i, int32_t listed, room *r)
{
    for (int32_t t = 0; t < listed; t++) {
        int32_t k = r->listed[t];
        double both = r->counts ? (double)r->counts[k] : r->sums[k];
        float score = (float)alike(j, both, i, k);

        r->scores[t] = score != 0 && k != i ? score : -INFINITY;
        if (r->counts)
            r->counts[k] = 0;
        else
            r->sums[k] = 0;
    }
}

/* By exponent and three bits of the fraction: rises with the score. What is below 2^-31
 * is in the first, what is 2 or more in the last, and minus infinity in none. */
enum { BUCKETS = 256, BUCKET_SHIFT = 20, FIRST_BUCKET = (127 - 31) * 8 };

static inline int32_t bucket_of(float score)
{
    int32_t bits, bucket;

    memcpy(&bits, &score, sizeof(bits));
    bucket = (bits >> BUCKET_SHIFT) - FIRST_BUCKET;
    bucket = bucket < 0 ? 0 : bucket >= BUCKETS ? BUCKETS - 1 : bucket;
    return score > -INFINITY ? bucket : BUCKETS;
}

/* The bucket of which only some can be kept; *above: how many are in better ones. */
static int32_t find_bucket(int32_t listed, int32_t most, room *r, int32_t *above)
{
    int32_t bucket = BUCKETS - 1;

    memset(r->tally, 0, (BUCKETS + 1) * sizeof(*r->tally));
    for (int32_t t = 0; t < listed; t++)
        r->tally[bucket_of(r->scores[t])]++;
    *above = 0;
    while (bucket > 0 && *above + (int32_t)r->tally[bucket] <= most)
        *above += (int32_t)r->tally[bucket--];
    return bucket;
}

/* Of equal ones the smaller item is nearer, in whatever order they come. */
static void offer(ease__topk *best, int32_t item, float score)
{
    float least = ease__topk_least(best);

    if (score > least || (score == least && item < best->recs[0].item))
        ease__topk_add(best, (ease_rec){item, score});
}

/* What is in better buckets is kept as it comes; the heap is for one bucket. */
static int32_t keep_best(int32_t listed, int32_t most, room *r, ease_rec *recs)
{
    int32_t above, kept = 0, bucket = find_bucket(listed, most, r, &above);
    ease__topk best = {.recs = recs + above, .room = most - above};

    for (int32_t t = 0; t < listed; t++) {
        int32_t own = bucket_of(r->scores[t]);

        if (own < bucket || own == BUCKETS)
            continue;
        if (own > bucket)
            recs[kept++] = (ease_rec){r->listed[t], r->scores[t]};
        else if (best.room > 0)
            offer(&best, r->listed[t], r->scores[t]);
    }
    return kept + best.count;
}

static void choose(job *j, int32_t i, room *r)
{
    int32_t listed = make_row(j, i, r), most = j->lists.room;

    score_row(j, i, listed, r);
    if (most > 0)
        j->lists.counts[i] = keep_best(listed, most, r,
                                       j->lists.recs + (size_t)i * (size_t)most);
    ease__lists_sort(&j->lists, i);
}

static void report(job *j)
{
    int done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);

    if (omp_get_thread_num() == 0 && done % 16 == 0 &&
        ease__progress(j->hooks, "choosing neighbours",
                       (double)done / (double)j->x->items))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
}

static void choose_all(job *j, int threads, room *rooms)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int32_t i = 0; i < j->x->items; i++) {
        if (atomic_load_explicit(&j->cancelled, memory_order_relaxed))
            continue;
        choose(j, i, &rooms[omp_get_thread_num()]);
        report(j);
    }
}

/* ---- training ---------------------------------------------------------------------- */

static void rooms_free(room *rooms, int threads)
{
    for (int t = 0; rooms && t < threads; t++) {
        ease__free(rooms[t].counts);
        ease__free(rooms[t].sums);
        ease__free(rooms[t].listed);
        ease__free(rooms[t].scores);
        ease__free(rooms[t].tally);
    }
    ease__free(rooms);
}

static room *rooms_new(const ease_interactions *x, int threads)
{
    size_t n = (size_t)x->items;
    room *rooms = ease__alloc_zero((size_t)threads, sizeof(*rooms));

    for (int t = 0; rooms && t < threads; t++) {
        room *r = &rooms[t];

        if (x->vals)
            r->sums = ease__alloc_zero(n, sizeof(*r->sums));
        else
            r->counts = ease__alloc_zero(n, sizeof(*r->counts));
        r->listed = ease__alloc_array(n + 1, sizeof(*r->listed));
        r->scores = ease__alloc_array(n, sizeof(*r->scores));
        r->tally = ease__alloc_array(BUCKETS + 1, sizeof(*r->tally));
        if ((!r->sums && !r->counts) || !r->listed || !r->scores || !r->tally) {
            rooms_free(rooms, threads);
            return NULL;
        }
    }
    return rooms;
}

static ease_status measure(job *j, ease_error *err)
{
    size_t n = (size_t)j->x->items;

    j->diagonal = ease__alloc_zero(n, sizeof(*j->diagonal));
    j->roots = ease__alloc_array(n, sizeof(*j->roots));
    if (!j->diagonal || !j->roots)
        return ease__fail(err, EASE_E_NOMEM, "squares of %zu items", n);
    for (int64_t at = 0; at < j->x->nnz; at++) {
        double value = j->x->vals ? (double)j->x->vals[at] : 1;

        j->diagonal[j->x->cols[at]] += value * value;
    }
    for (size_t i = 0; i < n; i++)
        j->roots[i] = sqrt(j->diagonal[i]);
    return EASE_OK;
}

static ease_status find_neighbours(job *j, int threads, ease_model *m, ease_error *err)
{
    room *rooms = rooms_new(j->x, threads);

    if (!rooms)
        return ease__fail(err, EASE_E_NOMEM, "rows of %d threads", threads);
    choose_all(j, threads, rooms);
    rooms_free(rooms, threads);
    return atomic_load(&j->cancelled) ? ease__cancelled(err)
                                      : ease__lists_store(&j->lists, m, err);
}

static ease_status check_memory(const ease_interactions *x, const ease_train_options *o,
                                int32_t neighbours, int threads, ease_error *err)
{
    size_t n = (size_t)x->items, held = ease__interactions_bytes(x);
    size_t lists = ease__size_mul(ease__size_mul(n, (size_t)neighbours),
                                  2 * sizeof(ease_rec));
    size_t rows = ease__size_mul((size_t)threads + 3, 2 * sizeof(double) * n);
    size_t peak = ease__size_add(
        held, ease__gram_scratch_bytes(x->nnz, x->items, x->vals != NULL, threads));

    peak = ease__size_add(peak, ease__size_add(lists, rows));
    return ease__memory_check("item-item for", x->items, peak,
                              ease__memory_allowed(o->memory_limit, held), err);
}

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    int threads = ease__threads(o->threads);
    double most = given[EASE__NEIGHBOURS] < x->items ? given[EASE__NEIGHBOURS]
                                                     : x->items;
    job j = {.x = x,
             .similarity = (int)given[EASE__SIMILARITY],
             .shrinkage = given[EASE__SHRINKAGE],
             .hooks = &o->hooks};
    ease_status status = check_memory(x, o, (int32_t)most, threads, err);

    if (!status)
        status = ease__columns_new(x, threads, &j.columns, err);
    if (!status)
        status = measure(&j, err);
    if (!status)
        status = ease__lists_new(x->items, (int32_t)most - 1, &j.lists, err);
    if (!status)
        status = find_neighbours(&j, threads, m, err);
    ease__columns_free(&j.columns);
    ease__lists_free(&j.lists);
    ease__free(j.diagonal);
    ease__free(j.roots);
    return status;
}

const ease__rival ease__item_item = {
    .settings = settings,
    .grid = "similarity=cosine|jaccard|conditional,neighbours=5|10|20|50|100|200,"
            "shrinkage=0|10|100",
    .train = train};
