/* item-item: an item adds its similarity to the score of each of its neighbours. X'X
 * is computed row by row and never kept as a whole: for most catalogs it is nearly
 * empty. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "compute/topk.h"
#include "data/item_users.h"
#include "gram/gram.h"
#include "methods/methods.h"

enum { COSINE, JACCARD, CONDITIONAL };

static const ease_setting settings[] = {EASE__ITEM_ITEM_SETTINGS, {0}};

typedef struct job {
    const ease_interactions *x;
    ease__item_users columns;
    int similarity;
    double shrinkage;
    double *diagonal; /* of X'X */
    double *roots;    /* of the diagonal */
    float *sizes;     /* the root for cosine, else the diagonal, as float */
    double history;   /* mean length of the history of an interaction */
    ease__lists lists;
    const ease_hooks *hooks;
    atomic_int done; /* rows */
    atomic_bool cancelled;
} job;

/* Packed candidate: low 32 bits the item, high 32 bits the co-occurrence count (0
 * for weighted data). One number is one store. */
typedef uint64_t found;

static inline int32_t item_of(found f)
{
    return (int32_t)(f & UINT32_MAX);
}

static inline uint32_t both_of(found f)
{
    return (uint32_t)(f >> 32);
}

/* Scratch of one thread: a row of X'X, zero between rows, and its candidates. */
typedef struct scratch {
    uint32_t *counts; /* items; for weighted data ... */
    double *sums;
    uint8_t *bytes;  /* counts below 256, in the same memory */
    int32_t *listed; /* items + 1: the nonzero places of a row, in any order */
    found *found;    /* items + 1: candidates, ... */
    float *scores;   /* ... and their scores (counts: rounded to float) */
    uint32_t *tally; /* histogram of the scores, BUCKETS */
    int32_t *near;   /* items + 1: places of candidates that may be kept */
    ease_rec *recs;  /* chosen neighbours, unsorted */
    uint64_t *marks; /* a bit for each item, and ... */
    uint64_t *words; /* ... a bit for each word of marks; zero between rows */
    float *kept;     /* scores of the marked items, by item */
} scratch;

/* A counted row: the listed places, or all items. */
typedef struct counted {
    bool narrow; /* counted in bytes */
    bool whole;  /* there is no list */
    int32_t length;
} counted;

/* ---- a row -------------------------------------------------------------------- */

/* True if fewer pairs than items are expected for item i: then most of the row is 0,
 * and a list of the nonzero places pays off. */
static bool is_sparse(const job *j, int32_t i)
{
    double users = (double)(j->columns.ptr[i + 1] - j->columns.ptr[i]);

    return users * j->history < j->x->items;
}

/* True if counts fit into a byte because the item has few users: a row of bytes
 * needs less cache. */
static inline bool is_narrow(const job *j, int32_t i)
{
    return j->columns.ptr[i + 1] - j->columns.ptr[i] <= UINT8_MAX;
}

/* How many users ahead histories, and their row pointers, are prefetched: both are
 * scattered in memory. Those of the next item are included. */
enum { SOON = 4, LATER = 8 };

static inline void fetch_ahead(const job *j, const uint32_t *users)
{
    const int64_t *row = j->x->row_ptr + users[SOON];

    __builtin_prefetch(j->x->row_ptr + users[LATER]);
    for (int64_t at = row[0]; at < row[1]; at += 16) /* for each cache line */
        __builtin_prefetch(j->x->cols + at);
}

/* counts[k] += number of users who have both items. Places that were 0 are listed
 * without a branch, which would be hard to predict. */
static inline __attribute__((always_inline)) int32_t
count_as(const job *j, int32_t i, bool narrow, bool listing, scratch *r)
{
    const int32_t *cols = j->x->cols;
    const int64_t *rows = j->x->row_ptr;
    const uint32_t *users = j->columns.users;
    int32_t *end_of_list = r->listed;
    uint8_t *bytes = r->bytes; /* local: bytes may alias anything */
    uint32_t *counts = r->counts;
    int64_t last = j->columns.ptr[i + 1];

    for (int64_t k = j->columns.ptr[i]; k < last; k++) {
        const int32_t *at = cols + rows[users[k]], *end = cols + rows[users[k] + 1];

        if (k + LATER < j->x->nnz)
            fetch_ahead(j, users + k);
        for (; at < end; at++) {
            uint32_t item = (uint32_t)*at;
            uint32_t before = narrow ? bytes[item] : counts[item];

            if (listing) {
                *end_of_list = (int32_t)item;
                end_of_list += before == 0;
            }
            if (narrow)
                bytes[item] = (uint8_t)(before + 1);
            else
                counts[item] = before + 1;
        }
    }
    return (int32_t)(end_of_list - r->listed);
}

/* Counts row i of X'X without the item itself. */
static counted count_row(const job *j, int32_t i, scratch *r)
{
    counted c = {.narrow = is_narrow(j, i), .whole = !is_sparse(j, i)};

    if (c.narrow && c.whole)
        count_as(j, i, true, false, r);
    else if (c.narrow)
        c.length = count_as(j, i, true, true, r);
    else if (c.whole)
        count_as(j, i, false, false, r);
    else
        c.length = count_as(j, i, false, true, r);
    if (c.whole)
        c.length = j->x->items;
    if (c.narrow)
        r->bytes[i] = 0;
    else
        r->counts[i] = 0;
    return c;
}

/* Sums row i of weighted data. Nonzero places are listed after all additions, since
 * a sum can return to 0. */
static int32_t weigh_row(const job *j, int32_t i, scratch *r)
{
    const ease_interactions *x = j->x;
    int32_t listed = 0;

    for (int64_t k = j->columns.ptr[i]; k < j->columns.ptr[i + 1]; k++) {
        uint32_t user = j->columns.users[k];
        double weight = (double)j->columns.vals[k];

        for (int64_t at = x->row_ptr[user]; at < x->row_ptr[user + 1]; at++)
            r->sums[x->cols[at]] += weight * (double)x->vals[at];
    }
    for (int32_t k = 0; k < x->items; k++) {
        r->listed[listed] = k;
        listed += r->sums[k] != 0;
    }
    return listed;
}

/* ---- neighbours --------------------------------------------------------------- */

/* The similarity of items i and k, from G_ik and the diagonal. */
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

/* Buckets of scores, by the exponent and five bits of the fraction, ascending.
 * Scores below 2^-31 are in the first, scores from 2 on in the last. */
#define BESIDE 0x1p-18f /* an upper bound of the relative rounding error of a score */
enum { BUCKETS = 1024, BUCKET_SHIFT = 18, FIRST_BUCKET = (127 - 31) * 32 };

static inline int32_t bucket_of(float score)
{
    int32_t bits, bucket;

    memcpy(&bits, &score, sizeof(bits));
    bucket = (bits >> BUCKET_SHIFT) - FIRST_BUCKET;
    bucket = bucket < 0 ? 0 : bucket;
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The smallest score of a bucket that is neither the first nor beyond the last. */
static float bucket_floor(int32_t bucket)
{
    int32_t bits = (bucket + FIRST_BUCKET) << BUCKET_SHIFT;
    float score;

    memcpy(&score, &bits, sizeof(score));
    return score;
}

/* The bucket of which only a part can be kept, while all buckets above it are kept. */
static int32_t find_bucket(const uint32_t *tally, int32_t most)
{
    int32_t bucket = BUCKETS - 1;

    while (bucket > 0 && (int32_t)tally[bucket] <= most)
        most -= (int32_t)tally[bucket--];
    return bucket;
}

/* The coefficients of alike() in floats: both / (factor * size + part - less *
 * both). */
typedef struct rough {
    float factor, part, less;
} rough;

static rough rough_of(const job *j, int32_t i)
{
    switch (j->similarity) {
    case COSINE:
        return (rough){(float)j->roots[i], (float)j->shrinkage, 0};
    case JACCARD:
        return (rough){1, (float)(j->diagonal[i] + j->shrinkage), 1};
    default:
        return (rough){0, (float)(j->diagonal[i] + j->shrinkage), 0};
    }
}

static inline float divisor(rough by, float size, float both)
{
    return by.factor * size + by.part - by.less * both;
}

/* Estimates, from a sample of the row, a bucket such that it and those above hold
 * somewhat more candidates than can be kept; 0 if an estimate would not pay off. */
static int32_t guess_bucket(const job *j, counted c, rough by, scratch *r)
{
    enum { STEP = 8, SAMPLE = 256 };
    int32_t step = c.length / SAMPLE > STEP ? c.length / SAMPLE : STEP;
    double expected = (double)j->lists.capacity / step;

    if (c.length / 4 < j->lists.capacity)
        return 0;
    memset(r->tally, 0, BUCKETS * sizeof(*r->tally));
    for (int32_t t = 0; t < c.length; t += step) {
        int32_t k = c.whole ? t : r->listed[t];
        float both = (float)(c.narrow ? r->bytes[k] : r->counts[k]);

        if (both > 0)
            r->tally[bucket_of(both / divisor(by, j->sizes[k], both))]++;
    }
    return find_bucket(r->tally, (int32_t)(expected + 3 * sqrt(expected)) + 2);
}

/* Stores candidates with a score above `least` in r->found, without a branch, and
 * clears the row. The inequality is solved for the count, so that there is only one
 * division. */
static inline __attribute__((always_inline)) int32_t take_as(const job *j, counted c,
                                                             bool narrow, bool whole,
                                                             rough by, float least,
                                                             scratch *r)
{
    float factor = least * by.factor / (1 + least * by.less);
    float part = least * by.part / (1 + least * by.less);
    const float *sizes = j->sizes;
    const int32_t *list = r->listed;
    found *taken = r->found;
    uint8_t *bytes = r->bytes;
    uint32_t *counts = r->counts;

    for (int32_t t = 0; t < c.length; t++) {
        uint32_t k = (uint32_t)(whole ? t : list[t]),
                 both = narrow ? bytes[k] : counts[k];

        *taken = (uint64_t)both << 32 | k;
        taken += (float)both > factor * sizes[k] + part;
        if (narrow)
            bytes[k] = 0;
        else
            counts[k] = 0;
    }
    return (int32_t)(taken - r->found);
}

static int32_t take_row(const job *j, counted c, rough by, float least, scratch *r)
{
    if (c.narrow)
        return c.whole ? take_as(j, c, true, true, by, least, r)
                       : take_as(j, c, true, false, by, least, r);
    return c.whole ? take_as(j, c, false, true, by, least, r)
                   : take_as(j, c, false, false, by, least, r);
}

/* Computes the scores of the candidates by vector instructions, and their histogram.
 * Most candidates are not kept, so that only those that may be are computed in
 * double later. */
static void score_counts(const job *j, rough by, int32_t taken, scratch *r)
{
    const found *restrict from = r->found;
    float *restrict scores = r->scores;

    memset(r->tally, 0, BUCKETS * sizeof(*r->tally));
    for (int32_t t = 0; t < taken; t++)
        scores[t] = j->sizes[item_of(from[t])];
    for (int32_t t = 0; t < taken; t++)
        scores[t] = (float)both_of(from[t]) /
                    divisor(by, scores[t], (float)both_of(from[t]));
    for (int32_t t = 0; t < taken; t++)
        r->tally[bucket_of(scores[t])]++;
}

/* Collects the candidates with a score in bucket `from` or above. Returns their
 * number; sets *bucket to the bucket that can be kept only in part, or 0 if all can
 * be kept. */
static int32_t take_from(const job *j, int32_t i, counted c, int32_t from, scratch *r,
                         int32_t *bucket)
{
    rough by = rough_of(j, i);
    float least = from > 0 ? bucket_floor(from) * (1 - 2 * BESIDE) : 0;
    int32_t taken = take_row(j, c, by, least, r);

    *bucket = 0;
    if (taken > j->lists.capacity) {
        score_counts(j, by, taken, r);
        *bucket = find_bucket(r->tally, j->lists.capacity);
    }
    return taken;
}

static int32_t find_counts(const job *j, int32_t i, scratch *r, int32_t *bucket)
{
    counted c = count_row(j, i, r);
    int32_t guess = guess_bucket(j, c, rough_of(j, i), r);
    int32_t taken = take_from(j, i, c, guess, r, bucket);

    if (*bucket >= guess)
        return taken;
    /* The sample was misleading: count the row again. */
    return take_from(j, i, count_row(j, i, r), 0, r, bucket);
}

/* Collects the candidates of weighted data; their final scores are computed at once.
 * Scores of 0 are not kept. */
static int32_t find_sums(const job *j, int32_t i, scratch *r, int32_t *bucket)
{
    int32_t listed = weigh_row(j, i, r);

    memset(r->tally, 0, BUCKETS * sizeof(*r->tally));
    r->sums[i] = 0; /* the item itself */
    for (int32_t t = 0; t < listed; t++) {
        int32_t k = r->listed[t];
        float score = (float)alike(j, r->sums[k], i, k);

        r->sums[k] = 0;
        r->found[t] = (uint32_t)k;
        r->scores[t] = score > -INFINITY ? score : 0;
        r->tally[bucket_of(r->scores[t])]++;
    }
    *bucket = find_bucket(r->tally, j->lists.capacity);
    return listed;
}

/* Lists the places of scores of at least `least` in r->near, without a branch. */
static int32_t find_near(int32_t taken, float least, scratch *r)
{
    int32_t near = 0;

    for (int32_t t = 0; t < taken; t++) {
        r->near[near] = t;
        near += r->scores[t] >= least;
    }
    return near;
}

/* The final score of a candidate. */
static inline float score_at(const job *j, int32_t i, int32_t at, const scratch *r)
{
    found f = r->found[at];

    return r->counts ? (float)alike(j, both_of(f), i, item_of(f)) : r->scores[at];
}

/* Stores all candidates except zeros in r->recs. */
static int32_t keep_all(const job *j, int32_t i, int32_t taken, scratch *r)
{
    int32_t kept = 0;

    for (int32_t t = 0; t < taken; t++) {
        r->recs[kept] = (ease_rec){item_of(r->found[t]), score_at(j, i, t, r)};
        kept += r->recs[kept].score != 0;
    }
    return kept;
}

/* Stores the best candidates in r->recs, unsorted. Those that are above the bucket
 * by more than rounding are kept directly; a heap chooses among the others. */
static int32_t keep_best(const job *j, int32_t i, int32_t taken, int32_t bucket,
                         scratch *r)
{
    int32_t kept = 0, left = 0;
    float least = bucket > 0 ? bucket_floor(bucket) * (1 - BESIDE) : -INFINITY;
    float sure = bucket < BUCKETS - 1 ? bucket_floor(bucket + 1) * (1 + BESIDE)
                                      : INFINITY;
    int32_t near = find_near(taken, least, r);
    ease__topk best;

    for (int32_t t = 0; t < near; t++) {
        int32_t at = r->near[t], k = item_of(r->found[at]);
        float score = score_at(j, i, at, r);

        bool is_sure = r->scores[at] > sure;

        r->recs[kept] = (ease_rec){k, score};
        kept += is_sure;
        r->near[left] = k;
        r->scores[left] = score;
        left += !is_sure & (score != 0);
    }
    best = (ease__topk){.recs = r->recs + kept, .capacity = j->lists.capacity - kept};
    for (int32_t t = 0; best.capacity > 0 && t < left; t++)
        ease__topk_offer_one(&best, (ease_rec){r->near[t], r->scores[t]});
    return kept + best.count;
}

/* Stores r->recs as row i of the lists, sorted by item. Marking bits is cheaper than
 * comparing. */
static void put_row(job *j, int32_t i, int32_t count, scratch *r)
{
    size_t at = (size_t)i * (size_t)j->lists.capacity;

    for (int32_t t = 0; t < count; t++) {
        uint32_t k = (uint32_t)r->recs[t].item;

        r->marks[k / 64] |= UINT64_C(1) << k % 64;
        r->words[k / 4096] |= UINT64_C(1) << k / 64 % 64;
        r->kept[k] = r->recs[t].score;
    }
    for (int32_t w = 0; w <= j->x->items / 4096; w++) {
        for (; r->words[w]; r->words[w] &= r->words[w] - 1) {
            int32_t word = w * 64 + __builtin_ctzll(r->words[w]);

            for (; r->marks[word]; r->marks[word] &= r->marks[word] - 1) {
                int32_t k = word * 64 + __builtin_ctzll(r->marks[word]);

                j->lists.columns[at] = k;
                j->lists.weights[at++] = r->kept[k];
            }
        }
    }
    j->lists.counts[i] = count;
}

static void choose(job *j, int32_t i, scratch *r)
{
    int32_t bucket;
    int32_t taken = r->counts ? find_counts(j, i, r, &bucket)
                              : find_sums(j, i, r, &bucket);

    put_row(j, i,
            taken > j->lists.capacity ? keep_best(j, i, taken, bucket, r)
                                      : keep_all(j, i, taken, r),
            r);
}

static void report(job *j)
{
    int done = atomic_fetch_add_explicit(&j->done, 1, memory_order_relaxed);

    if (omp_get_thread_num() == 0 && done % 16 == 0 &&
        ease__progress(j->hooks, "choosing neighbours",
                       (double)done / (double)j->x->items))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
}

static void choose_all(job *j, int threads, scratch *scratches)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (int32_t i = 0; i < j->x->items; i++) {
        if (atomic_load_explicit(&j->cancelled, memory_order_relaxed))
            continue;
        choose(j, i, &scratches[omp_get_thread_num()]);
        report(j);
    }
}

/* ---- training ----------------------------------------------------------------- */

static void scratches_free(scratch *scratches, int threads)
{
    for (int t = 0; scratches && t < threads; t++) {
        ease__free(scratches[t].counts);
        ease__free(scratches[t].sums);
        ease__free(scratches[t].listed);
        ease__free(scratches[t].found);
        ease__free(scratches[t].scores);
        ease__free(scratches[t].tally);
        ease__free(scratches[t].near);
        ease__free(scratches[t].recs);
        ease__free(scratches[t].marks);
        ease__free(scratches[t].words);
        ease__free(scratches[t].kept);
    }
    ease__free(scratches);
}

static bool scratch_make(const ease_interactions *x, scratch *r)
{
    size_t n = (size_t)x->items;

    if (x->vals)
        r->sums = ease__alloc_zero(n, sizeof(*r->sums));
    else
        r->counts = ease__alloc_zero(n, sizeof(*r->counts));
    r->bytes = (uint8_t *)r->counts;
    r->listed = ease__alloc_array(n + 1, sizeof(*r->listed));
    r->found = ease__alloc_array(n + 1, sizeof(*r->found));
    r->scores = ease__alloc_array(n, sizeof(*r->scores));
    r->tally = ease__alloc_array(BUCKETS, sizeof(*r->tally));
    r->near = ease__alloc_array(n + 1, sizeof(*r->near));
    r->recs = ease__alloc_array(n, sizeof(*r->recs));
    r->marks = ease__alloc_zero(n / 64 + 1, sizeof(*r->marks));
    r->words = ease__alloc_zero(n / 4096 + 1, sizeof(*r->words));
    r->kept = ease__alloc_array(n, sizeof(*r->kept));
    return (r->sums || r->counts) && r->listed && r->found && r->scores && r->tally &&
           r->near && r->recs && r->marks && r->words && r->kept;
}

static scratch *scratches_new(const ease_interactions *x, int threads)
{
    scratch *scratches = ease__alloc_zero((size_t)threads, sizeof(*scratches));

    for (int t = 0; scratches && t < threads; t++)
        if (!scratch_make(x, &scratches[t])) {
            scratches_free(scratches, threads);
            return NULL;
        }
    return scratches;
}

/* The mean length of users' histories, each weighted by its length. */
static double mean_history(const ease_interactions *x)
{
    double squares = 0;

    for (int64_t u = 0; u < x->users; u++) {
        double length = (double)(x->row_ptr[u + 1] - x->row_ptr[u]);

        squares += length * length;
    }
    return x->nnz > 0 ? squares / (double)x->nnz : 0;
}

static ease_status measure(job *j, ease_error *err)
{
    size_t n = (size_t)j->x->items;

    j->diagonal = ease__alloc_zero(n, sizeof(*j->diagonal));
    j->roots = ease__alloc_array(n, sizeof(*j->roots));
    j->sizes = ease__alloc_array(n, sizeof(*j->sizes));
    if (!j->diagonal || !j->roots || !j->sizes)
        return ease__fail(err, EASE_E_NOMEM, "squares of %zu items", n);
    j->history = mean_history(j->x);
    for (int64_t at = 0; j->x->vals && at < j->x->nnz; at++) {
        double value = (double)j->x->vals[at];

        j->diagonal[j->x->cols[at]] += value * value;
    }
    for (size_t i = 0; i < n; i++) {
        if (!j->x->vals)
            j->diagonal[i] = (double)(j->columns.ptr[i + 1] - j->columns.ptr[i]);
        j->roots[i] = sqrt(j->diagonal[i]);
        j->sizes[i] = (float)(j->similarity == COSINE ? j->roots[i] : j->diagonal[i]);
    }
    return EASE_OK;
}

static ease_status find_neighbours(job *j, int threads, ease_model *m, ease_error *err)
{
    scratch *scratches = scratches_new(j->x, threads);

    if (!scratches)
        return ease__fail(err, EASE_E_NOMEM, "rows of %d threads", threads);
    choose_all(j, threads, scratches);
    scratches_free(scratches, threads);
    if (atomic_load(&j->cancelled))
        return ease__cancelled(err);
    return ease__lists_store(&j->lists, m, err);
}

static ease_status check_memory(const ease_interactions *x, const ease_train_options *o,
                                int32_t neighbours, int threads, ease_error *err)
{
    size_t n = (size_t)x->items, held = ease__interactions_bytes(x);
    size_t lists = ease__size_mul(ease__size_mul(n, (size_t)neighbours),
                                  sizeof(ease_rec));
    size_t rows = ease__size_mul((size_t)threads + 1, 5 * sizeof(double) * n);
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
             .hooks = o->hooks};
    ease_status status = check_memory(x, o, (int32_t)most, threads, err);

    if (!status)
        status = ease__item_users_new(x, threads, &j.columns, err);
    if (!status)
        status = measure(&j, err);
    if (!status)
        status = ease__lists_new(x->items, (int32_t)most - 1, &j.lists, err);
    if (!status)
        status = find_neighbours(&j, threads, m, err);
    if (!status && ease__progress(j.hooks, "choosing neighbours", 1))
        status = ease__cancelled(err);
    ease__item_users_free(&j.columns);
    ease__lists_free(&j.lists);
    ease__free(j.diagonal);
    ease__free(j.roots);
    ease__free(j.sizes);
    return status;
}

const ease__method ease__item_item = {
    .info =
        {
            .name = "item-item",
            .about = "neighbours by the users they share (Sarwar et al., WWW 2001)",
            .grid =
                "similarity=cosine|jaccard|conditional,neighbours=5|10|20|50|100|200,"
                "shrinkage=0|10|100",
        },
    .number = 3,
    .settings = settings,
    .form = &ease__form_sparse,
    .fill = train,
};
