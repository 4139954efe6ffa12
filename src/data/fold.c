/* Sorts rows without comparisons: items are bits of a set, which are read in order,
 * and repeated items meet at the same bit. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "data/draft.h"

/* A set of items in three levels: a bit of a level says that the word below it has
 * one set. */
typedef struct item_set {
    uint64_t *word[3];
    size_t words[3];
    void *memory;
    double *value; /* by item; NULL for sets without weights */
} item_set;

static size_t set_words(int32_t items, size_t words[3])
{
    words[0] = (size_t)items / 64 + 1;
    words[1] = words[0] / 64 + 1;
    words[2] = words[1] / 64 + 1;
    return words[0] + words[1] + words[2];
}

static bool make_set(item_set *s, int32_t items, bool weighted)
{
    size_t words = set_words(items, s->words);

    s->memory = ease__alloc_zero(words, sizeof(uint64_t));
    s->value = NULL;
    if (weighted)
        s->value = ease__alloc_array((size_t)items, sizeof(*s->value));
    if (!s->memory || (weighted && !s->value))
        return false;
    s->word[0] = s->memory;
    s->word[1] = s->word[0] + s->words[0];
    s->word[2] = s->word[1] + s->words[1];
    return true;
}

static void free_set(item_set *s)
{
    ease__free(s->memory);
    ease__free(s->value);
    *s = (item_set){0};
}

/* Adds an item; returns true if it was not in the set. */
static inline bool put_item(item_set *s, uint32_t item)
{
    uint64_t bit = UINT64_C(1) << (item % 64);
    bool fresh = !(s->word[0][item / 64] & bit);

    s->word[0][item / 64] |= bit;
    s->word[1][item / 4096] |= UINT64_C(1) << (item / 64 % 64);
    s->word[2][item / 262144] |= UINT64_C(1) << (item / 4096 % 64);
    return fresh;
}

/* Writes the items in order and empties the set. Returns their number. */
static int32_t take_items(item_set *s, int32_t *to)
{
    int32_t count = 0;

    for (size_t a = 0; a < s->words[2]; a++) {
        for (; s->word[2][a]; s->word[2][a] &= s->word[2][a] - 1) {
            size_t b = 64 * a + (size_t)__builtin_ctzll(s->word[2][a]);

            for (; s->word[1][b]; s->word[1][b] &= s->word[1][b] - 1) {
                size_t c = 64 * b + (size_t)__builtin_ctzll(s->word[1][b]);

                for (uint64_t w = s->word[0][c]; w; w &= w - 1)
                    to[count++] = (int32_t)(64 * c + (size_t)__builtin_ctzll(w));
                s->word[0][c] = 0;
            }
        }
    }
    return count;
}

static void fold_value(double *kept, double value, ease_repeat repeat)
{
    switch (repeat) {
    case EASE_REPEAT_FIRST:
        break;
    case EASE_REPEAT_LAST:
        *kept = value;
        break;
    case EASE_REPEAT_MAX:
        *kept = value > *kept ? value : *kept;
        break;
    case EASE_REPEAT_SUM:
        *kept += value;
        break;
    }
}

typedef struct folding {
    ease_interactions *x;
    ease_repeat repeat;
    int32_t *count; /* length of each row after combining */
    uint8_t *lost_users, *lost_items;
    int64_t zeros, repeated;
    int64_t overflow; /* a user with a sum beyond the range of float, or -1 */
} folding;

static bool is_increasing(const int32_t *items, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (items[i] <= items[i - 1])
            return false;
    return true;
}

/* Combines a row without weights. It has at most `items` distinct items, which fit
 * into its place. */
static void fold_plain(folding *f, item_set *s, int64_t user)
{
    int32_t *cols = f->x->cols + f->x->row_ptr[user];
    int64_t length = f->x->row_ptr[user + 1] - f->x->row_ptr[user];

    if (is_increasing(cols, length)) {
        f->count[user] = (int32_t)length;
        return;
    }
    for (int64_t i = 0; i < length; i++)
        put_item(s, (uint32_t)cols[i]);
    f->count[user] = take_items(s, cols);
}

static void note_zero(folding *f, int64_t user, int32_t item)
{
    if (f->lost_users)
        f->lost_users[user] = 1;
    if (f->lost_items) /* other threads may write the same value */
        __atomic_store_n(&f->lost_items[item], 1, __ATOMIC_RELAXED);
}

/* Combines a row with weights; counted: each record counts as 1 (vals is only
 * written). Returns the number of weights that were zero, or -1 if a sum is beyond
 * the range of float. */
static int64_t fold_weighted(folding *f, item_set *s, int64_t user, bool counted)
{
    int64_t start = f->x->row_ptr[user], length = f->x->row_ptr[user + 1] - start;
    int32_t *cols = f->x->cols + start, distinct, kept = 0;
    float *vals = f->x->vals + start;

    for (int64_t i = 0; i < length; i++) {
        double value = counted ? 1.0 : (double)vals[i];

        if (put_item(s, (uint32_t)cols[i]))
            s->value[cols[i]] = value;
        else
            fold_value(&s->value[cols[i]], value, f->repeat);
    }
    distinct = take_items(s, cols);
    for (int32_t i = 0; i < distinct; i++) {
        float value = (float)s->value[cols[i]];

        if (!isfinite(value))
            return -1;
        if (value == 0.0f) {
            note_zero(f, user, cols[i]);
            continue;
        }
        cols[kept] = cols[i];
        vals[kept++] = value;
    }
    f->count[user] = kept;
    return distinct - kept;
}

/* Removes the gaps between rows; updates row_ptr and nnz. */
static void close_rows(ease_interactions *x, const int32_t *count)
{
    int64_t at = 0;

    for (int64_t u = 0; u < x->users; u++) {
        int64_t from = x->row_ptr[u];

        x->row_ptr[u] = at;
        if (at != from && count[u]) {
            memmove(x->cols + at, x->cols + from, (size_t)count[u] * sizeof(*x->cols));
            if (x->vals)
                memmove(x->vals + at, x->vals + from,
                        (size_t)count[u] * sizeof(*x->vals));
        }
        at += count[u];
    }
    x->row_ptr[x->users] = at;
    x->nnz = at;
}

/* The number of threads: a set with values takes 8 bytes for each item and thread,
 * and all sets at most 64 MiB. */
static int fold_threads(int threads, int32_t items, bool weighted)
{
    int64_t most = weighted ? ((int64_t)64 << 20) / (8 * ((int64_t)items + 1))
                            : threads;

    return most < 1 ? 1 : most < threads ? (int)most : threads;
}

static void fold_all(folding *f, item_set *sets, int threads, bool counted)
{
    int64_t zeros = 0, overflow = INT64_MAX;
    ease_interactions *x = f->x;

#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) \
    reduction(+ : zeros) reduction(min : overflow)
    for (int64_t u = 0; u < x->users; u++) {
        item_set *s = &sets[omp_get_thread_num()];

        if (!x->vals) {
            fold_plain(f, s, u);
        } else {
            int64_t dropped = fold_weighted(f, s, u, counted);

            if (dropped < 0 && u < overflow)
                overflow = u;
            else
                zeros += dropped;
        }
    }
    f->zeros = zeros;
    f->overflow = overflow == INT64_MAX ? -1 : overflow;
}

static ease_status fold_with_sets(folding *f, item_set *sets, int threads, bool counted,
                                  ease_error *err)
{
    ease_interactions *x = f->x;
    int64_t before = x->nnz;

    for (int i = 0; i < threads; i++)
        if (!make_set(&sets[i], x->items, x->vals != NULL))
            return ease__fail(err, EASE_E_NOMEM, "sorting rows of %d items",
                              (int)x->items);
    fold_all(f, sets, threads, counted);
    if (f->overflow >= 0)
        return ease__fail(
            err, EASE_E_DATA, "user '%.80s': the sum of repeated rows is not a float",
            x->user_ids.count ? ease__ids_at(&x->user_ids, f->overflow) : "");
    close_rows(x, f->count);
    x->counts.zero_weight += f->zeros;
    x->counts.repeated += before - x->nnz - f->zeros;
    return EASE_OK;
}

ease_status ease__fold_rows(ease_interactions *x, ease_repeat repeat, int threads,
                            uint8_t *lost_users, uint8_t *lost_items, ease_error *err)
{
    bool counted = !x->vals && repeat == EASE_REPEAT_SUM;
    folding f = {
        .x = x, .repeat = repeat, .lost_users = lost_users, .lost_items = lost_items};
    item_set *sets = NULL;
    ease_status status;

    if (counted) {
        x->vals = ease__alloc_array((size_t)x->nnz, sizeof(*x->vals));
        if (!x->vals)
            return ease__fail(err, EASE_E_NOMEM, "counts of %lld rows",
                              (long long)x->nnz);
    }
    threads = fold_threads(threads, x->items, x->vals != NULL);
    f.count = ease__alloc_zero((size_t)x->users, sizeof(*f.count));
    sets = ease__alloc_zero((size_t)threads, sizeof(*sets));
    if (!f.count || !sets)
        status = ease__fail(err, EASE_E_NOMEM, "sorting rows of %lld users",
                            (long long)x->users);
    else
        status = fold_with_sets(&f, sets, threads, counted, err);
    for (int i = 0; sets && i < threads; i++)
        free_set(&sets[i]);
    ease__free(sets);
    ease__free(f.count);
    return status;
}
