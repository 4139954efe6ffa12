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
    float *sizes;     /* whichever of these the similarity divides by, or neither */
    ease__lists lists;
    const ease_hooks *hooks;
    atomic_int done; /* rows */
    atomic_bool cancelled;
} job;

/* A row of X'X, of one thread: zero between rows. */
typedef struct room {
    uint32_t *counts; /* items; or, of weighted data, ... */
    double *sums;
    uint8_t *bytes; /* the counts of a row that a byte is enough for: the same memory */
    int32_t *listed; /* items + 1: where a row is not 0, in any order, ... */
    uint32_t *both;  /* ... the counts there, ... */
    float *scores;   /* ... and how alike those are, of counts but for rounding */
    uint32_t *tally; /* of the scores, BUCKETS */
    int32_t *near;   /* items + 1: places in the list that may be kept */
    ease_rec *recs;  /* those that are, before they are in order */
    uint64_t *marks; /* a bit an item, and ... */
    uint64_t *words; /* ... one for each 64 of those; zero between rows */
    float *kept;     /* scores of what is marked, by item */
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

/* Few users cannot be counted past a byte: a row of bytes is nearer to the processor. */
static inline bool is_narrow(const job *j, int32_t i)
{
    return j->columns.ptr[i + 1] - j->columns.ptr[i] <= UINT8_MAX;
}

/* counts[k] += the users who have both. Where k was 0 is listed, without a branch: that
 * would be hard to foretell. */
static inline __attribute__((always_inline)) int32_t
count_as(const job *j, int32_t i, bool narrow, bool listing, room *r)
{
    const int32_t *cols = j->x->cols;
    const int64_t *rows = j->x->row_ptr;
    const uint32_t *users = j->columns.users;
    int32_t *list = r->listed, listed = 0;
    uint8_t *bytes = r->bytes; /* a local one, for bytes may overlap anything */
    uint32_t *counts = r->counts;
    int64_t last = j->columns.ptr[i + 1];

    for (int64_t k = j->columns.ptr[i]; k < last; k++) {
        int64_t end = rows[users[k] + 1];

        if (k + 2 < last) /* histories lie anywhere */
            __builtin_prefetch(cols + rows[users[k + 2]]);
        for (int64_t at = rows[users[k]]; at < end; at++) {
            int32_t item = cols[at];
            uint32_t before = narrow ? bytes[item] : counts[item];

            if (listing) {
                list[listed] = item;
                listed += before == 0;
            }
            if (narrow)
                bytes[item] = (uint8_t)(before + 1);
            else
                counts[item] = before + 1;
        }
    }
    return listed;
}

static int32_t count_row(const job *j, int32_t i, bool listing, room *r)
{
    if (is_narrow(j, i))
        return listing ? count_as(j, i, true, true, r) : count_as(j, i, true, false, r);
    return listing ? count_as(j, i, false, true, r) : count_as(j, i, false, false, r);
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
static int32_t list_row(const job *j, int32_t i, room *r)
{
    bool narrow = is_narrow(j, i);
    int32_t *list = r->listed, listed = 0;

    for (int32_t k = 0; k < j->x->items; k++) {
        list[listed] = k;
        listed += r->sums  ? r->sums[k] != 0
                  : narrow ? r->bytes[k] != 0
                           : r->counts[k] != 0;
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
    return list_row(j, i, r);
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

/* By exponent and five bits of the fraction: rises with the score. What is below 2^-31
 * is in the first, what is 2 or more in the last. */
enum { BUCKETS = 1024, BUCKET_SHIFT = 18, FIRST_BUCKET = (127 - 31) * 32 };

static inline int32_t bucket_of(float score)
{
    int32_t bits, bucket;

    memcpy(&bits, &score, sizeof(bits));
    bucket = (bits >> BUCKET_SHIFT) - FIRST_BUCKET;
    bucket = bucket < 0 ? 0 : bucket;
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The least score of a bucket that is neither the first nor past the last. */
static float bucket_floor(int32_t bucket)
{
    int32_t bits = (bucket + FIRST_BUCKET) << BUCKET_SHIFT;
    float score;

    memcpy(&score, &bits, sizeof(score));
    return score;
}

/* The counts of what is listed, 0 for the item itself, and of what their divisors are
 * made; the row is cleared. */
static inline __attribute__((always_inline)) void
take_row(const job *j, int32_t i, bool narrow, int32_t listed, room *r)
{
    const int32_t *list = r->listed;
    const float *sizes = j->sizes;
    uint8_t *bytes = r->bytes;
    uint32_t *counts = r->counts, *both = r->both;
    float *scores = r->scores;

    if (narrow)
        bytes[i] = 0;
    else
        counts[i] = 0;
    for (int32_t t = 0; t < listed; t++) {
        int32_t k = list[t];

        both[t] = narrow ? bytes[k] : counts[k];
        scores[t] = sizes[k];
        if (narrow)
            bytes[k] = 0;
        else
            counts[k] = 0;
    }
}

/* Scores of what is listed, in floats and by vectors, and their tally. Most of the list
 * is not kept, and only what may be is worth a double. */
static void score_counts(const job *j, int32_t i, int32_t listed, room *r)
{
    bool cosine = j->similarity == COSINE, jaccard = j->similarity == JACCARD;
    float factor = cosine ? (float)j->roots[i] : jaccard ? 1.0f : 0.0f;
    float part = (float)(j->shrinkage + (cosine ? 0 : j->diagonal[i]));
    float less = jaccard ? 1.0f : 0.0f;
    const uint32_t *restrict both = r->both;
    float *restrict scores = r->scores;

    if (is_narrow(j, i))
        take_row(j, i, true, listed, r);
    else
        take_row(j, i, false, listed, r);
    for (int32_t t = 0; t < listed; t++)
        scores[t] = (float)both[t] /
                    (factor * scores[t] + part - less * (float)both[t]);
    for (int32_t t = 0; t < listed; t++)
        r->tally[bucket_of(scores[t])]++;
}

/* The same for weights, at once as they are kept; 0 is not. */
static void score_sums(const job *j, int32_t i, int32_t listed, room *r)
{
    r->sums[i] = 0; /* itself */
    for (int32_t t = 0; t < listed; t++) {
        int32_t k = r->listed[t];
        float score = (float)alike(j, r->sums[k], i, k);

        r->sums[k] = 0;
        r->scores[t] = score > -INFINITY ? score : 0;
        r->tally[bucket_of(r->scores[t])]++;
    }
}

/* The bucket of which only some can be kept, all of those above being kept. */
static int32_t find_bucket(const uint32_t *tally, int32_t most)
{
    int32_t bucket = BUCKETS - 1;

    while (bucket > 0 && (int32_t)tally[bucket] <= most)
        most -= (int32_t)tally[bucket--];
    return bucket;
}

/* Lists what is at least `least` in r->near, without a branch. */
static int32_t find_near(int32_t listed, float least, room *r)
{
    int32_t near = 0;

    for (int32_t t = 0; t < listed; t++) {
        r->near[near] = t;
        near += r->scores[t] >= least;
    }
    return near;
}

/* Of equal ones the smaller item is nearer, in whatever order they come. */
static void offer(ease__topk *best, ease_rec rec)
{
    float least = ease__topk_least(best);

    if (rec.score > least || (rec.score == least && rec.item < best->recs[0].item))
        ease__topk_add(best, rec);
}

/* Into r->recs what is kept, in any order. What rounding cannot bring into the bucket is
 * kept as it comes; the heap is for what is in the bucket or beside it. */
static int32_t keep_best(const job *j, int32_t i, int32_t listed, room *r)
{
    const float beside = 0x1p-18f;
    int32_t bucket = find_bucket(r->tally, j->lists.room), kept = 0, left = 0;
    float least = bucket > 0 ? bucket_floor(bucket) * (1 - beside) : -INFINITY;
    float sure = bucket < BUCKETS - 1 ? bucket_floor(bucket + 1) * (1 + beside)
                                      : INFINITY;
    int32_t near = find_near(listed, least, r);
    ease__topk best;

    for (int32_t t = 0; t < near; t++) {
        int32_t at = r->near[t], k = r->listed[at];
        float score = r->counts ? (float)alike(j, r->both[at], i, k) : r->scores[at];

        if (score == 0)
            continue;
        if (r->scores[at] > sure) {
            r->recs[kept++] = (ease_rec){k, score};
        } else {
            r->near[left] = k;
            r->scores[left++] = score;
        }
    }
    best = (ease__topk){.recs = r->recs + kept, .room = j->lists.room - kept};
    for (int32_t t = 0; best.room > 0 && t < left; t++)
        offer(&best, (ease_rec){r->near[t], r->scores[t]});
    return kept + best.count;
}

/* Row i of the lists from r->recs, its items rising. Marks cost less than comparisons. */
static void put_row(job *j, int32_t i, int32_t count, room *r)
{
    size_t at = (size_t)i * (size_t)j->lists.room;

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

static void choose(job *j, int32_t i, room *r)
{
    int32_t listed = make_row(j, i, r);

    memset(r->tally, 0, BUCKETS * sizeof(*r->tally));
    if (r->counts)
        score_counts(j, i, listed, r);
    else
        score_sums(j, i, listed, r);
    put_row(j, i, keep_best(j, i, listed, r), r);
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
        ease__free(rooms[t].both);
        ease__free(rooms[t].scores);
        ease__free(rooms[t].tally);
        ease__free(rooms[t].near);
        ease__free(rooms[t].recs);
        ease__free(rooms[t].marks);
        ease__free(rooms[t].words);
        ease__free(rooms[t].kept);
    }
    ease__free(rooms);
}

static bool room_make(const ease_interactions *x, room *r)
{
    size_t n = (size_t)x->items;

    if (x->vals)
        r->sums = ease__alloc_zero(n, sizeof(*r->sums));
    else
        r->counts = ease__alloc_zero(n, sizeof(*r->counts));
    r->bytes = (uint8_t *)r->counts;
    r->listed = ease__alloc_array(n + 1, sizeof(*r->listed));
    r->both = ease__alloc_array(n, sizeof(*r->both));
    r->scores = ease__alloc_array(n, sizeof(*r->scores));
    r->tally = ease__alloc_array(BUCKETS, sizeof(*r->tally));
    r->near = ease__alloc_array(n + 1, sizeof(*r->near));
    r->recs = ease__alloc_array(n, sizeof(*r->recs));
    r->marks = ease__alloc_zero(n / 64 + 1, sizeof(*r->marks));
    r->words = ease__alloc_zero(n / 4096 + 1, sizeof(*r->words));
    r->kept = ease__alloc_array(n, sizeof(*r->kept));
    return (r->sums || r->counts) && r->listed && r->both && r->scores && r->tally &&
           r->near && r->recs && r->marks && r->words && r->kept;
}

static room *rooms_new(const ease_interactions *x, int threads)
{
    room *rooms = ease__alloc_zero((size_t)threads, sizeof(*rooms));

    for (int t = 0; rooms && t < threads; t++)
        if (!room_make(x, &rooms[t])) {
            rooms_free(rooms, threads);
            return NULL;
        }
    return rooms;
}

static ease_status measure(job *j, ease_error *err)
{
    size_t n = (size_t)j->x->items;

    j->diagonal = ease__alloc_zero(n, sizeof(*j->diagonal));
    j->roots = ease__alloc_array(n, sizeof(*j->roots));
    j->sizes = ease__alloc_array(n, sizeof(*j->sizes));
    if (!j->diagonal || !j->roots || !j->sizes)
        return ease__fail(err, EASE_E_NOMEM, "squares of %zu items", n);
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
    room *rooms = rooms_new(j->x, threads);

    if (!rooms)
        return ease__fail(err, EASE_E_NOMEM, "rows of %d threads", threads);
    choose_all(j, threads, rooms);
    rooms_free(rooms, threads);
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
    if (!status && ease__progress(j.hooks, "choosing neighbours", 1))
        status = ease__cancelled(err);
    ease__columns_free(&j.columns);
    ease__lists_free(&j.lists);
    ease__free(j.diagonal);
    ease__free(j.roots);
    ease__free(j.sizes);
    return status;
}

const ease__rival ease__item_item = {
    .settings = settings,
    .grid = "similarity=cosine|jaccard|conditional,neighbours=5|10|20|50|100|200,"
            "shrinkage=0|10|100",
    .train = train};
