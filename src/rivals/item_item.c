/* Neighbours: an item adds to the score of those most like it how alike they are. */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>

#include "gram/gram.h"
#include "model/topk.h"
#include "rivals/rivals.h"

enum { COSINE, JACCARD, CONDITIONAL };

static const ease_setting settings[] = {EASE__ITEM_ITEM_SETTINGS, {0}};

typedef struct job {
    const ease_gram *gram;
    const double *settings;
    double *diagonal;
    ease__lists lists;
    const ease_hooks *hooks;
    atomic_int done; /* rows */
    atomic_bool cancelled;
} job;

/* Of G_ij with G_ii and G_jj. */
static double alike(const job *j, double both, double one, double other)
{
    double shrinkage = j->settings[EASE__SHRINKAGE], divisor;

    switch ((int)j->settings[EASE__SIMILARITY]) {
    case COSINE:
        divisor = sqrt(one * other);
        break;
    case JACCARD:
        divisor = one + other - both;
        break;
    default:
        divisor = one;
        break;
    }
    return both != 0 ? both / (divisor + shrinkage) : 0;
}

/* One row of G, in bits of uint32 or float, into the list of its item. */
static void choose(job *j, int32_t i, const void *row, float *scores)
{
    const ease__tiled *g = &j->gram->g;
    ease__topk best = {.recs = j->lists.recs + (size_t)i * (size_t)j->lists.room,
                       .room = j->lists.room};

    for (int32_t k = 0; k < g->n; k++) {
        double both = g->element == EASE__U32 ? (double)((const uint32_t *)row)[k]
                                              : (double)((const float *)row)[k];
        float score = (float)alike(j, both, j->diagonal[i], j->diagonal[k]);

        scores[k] = k != i && score != 0 ? score : -INFINITY;
    }
    if (best.room > 0)
        ease__topk_offer(&best, scores, 0, g->n, NULL);
    j->lists.counts[i] = best.count;
}

static void report(job *j, int32_t rows)
{
    int done = atomic_fetch_add_explicit(&j->done, rows, memory_order_relaxed);

    if (omp_get_thread_num() == 0 &&
        ease__progress(j->hooks, "choosing neighbours",
                       (double)done / (double)j->gram->g.n))
        atomic_store_explicit(&j->cancelled, true, memory_order_relaxed);
}

/* `room` is, for each thread, a few rows of G and one of scores. */
static void choose_all(job *j, int threads, float *room)
{
    int32_t n = j->gram->g.n;
    size_t each = ((size_t)EASE__TILED_GRAIN + 1) * (size_t)n;

#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int32_t block = 0; block < (n + EASE__TILED_GRAIN - 1) / EASE__TILED_GRAIN;
         block++) {
        float *rows = room + (size_t)omp_get_thread_num() * each;
        int32_t top = block * EASE__TILED_GRAIN, left = n - top;
        int32_t count = left < EASE__TILED_GRAIN ? left : EASE__TILED_GRAIN;

        if (atomic_load_explicit(&j->cancelled, memory_order_relaxed))
            continue;
        ease__tiled_copy(&j->gram->g, (ease__window){top, top + count, 0, n}, rows,
                         (size_t)n, ease__kernels_best()->turn);
        for (int32_t r = 0; r < count; r++)
            choose(j, top + r, rows + (size_t)r * (size_t)n,
                   rows + (size_t)EASE__TILED_GRAIN * (size_t)n);
        report(j, count);
    }
}

static ease_status find_neighbours(job *j, int threads, ease_model *m, ease_error *err)
{
    size_t n = (size_t)j->gram->g.n;
    size_t each = ease__size_mul((size_t)EASE__TILED_GRAIN + 1, n);
    float *room = ease__alloc_array(ease__size_mul((size_t)threads, each),
                                    sizeof(*room));
    ease_status status = EASE_OK;

    j->diagonal = ease__alloc_array(n, sizeof(*j->diagonal));
    if (!room || !j->diagonal) {
        status = ease__fail(err, EASE_E_NOMEM, "rows of %zu items", n);
    } else {
        for (size_t i = 0; i < n; i++)
            j->diagonal[i] = ease__tiled_at(&j->gram->g, (int32_t)i, (int32_t)i);
        choose_all(j, threads, room);
        status = atomic_load(&j->cancelled) ? ease__cancelled(err)
                                            : ease__lists_store(&j->lists, m, err);
    }
    ease__free(j->diagonal);
    ease__free(room);
    return status;
}

/* `gram`: it is still to be made, beside all else. */
static ease_status check_memory(const ease_interactions *x, const ease_train_options *o,
                                int32_t room, bool gram, ease_error *err)
{
    int threads = ease__threads(o->threads);
    size_t n = (size_t)x->items, held = ease__interactions_bytes(x);
    size_t lists = ease__size_mul(ease__size_mul(n, (size_t)room),
                                  2 * sizeof(ease_rec));
    size_t peak = ease__size_add(lists, held);

    if (gram) {
        peak = ease__size_add(peak, ease__tiled_bytes(x->items, EASE__F32));
        peak = ease__size_add(
            peak, ease__gram_scratch_bytes(x->nnz, x->items, x->vals != NULL, threads));
    }
    return ease__memory_check("item-item for", x->items, peak,
                              ease__memory_allowed(o->memory_limit, held), err);
}

static int32_t room_for(const ease_interactions *x, const double *given)
{
    return given[EASE__NEIGHBOURS] < x->items ? (int32_t)given[EASE__NEIGHBOURS]
                                              : x->items;
}

static ease_status choose_from(const ease_interactions *x, const ease_gram *g,
                               const ease_train_options *o, const double *given,
                               ease_model *m, ease_error *err)
{
    job j = {.gram = g, .settings = given, .hooks = &o->hooks};
    ease_status status = ease__lists_new(x->items, room_for(x, given) - 1, &j.lists,
                                         err);

    if (!status)
        status = find_neighbours(&j, ease__threads(o->threads), m, err);
    ease__lists_free(&j.lists);
    return status;
}

static ease_status train_gram(const ease_interactions *x, const ease_gram *g,
                              const ease_train_options *o, const double *given,
                              ease_model *m, ease_error *err)
{
    ease_status status = check_memory(x, o, room_for(x, given), false, err);

    return status ? status : choose_from(x, g, o, given, m, err);
}

static ease_status train(const ease_interactions *x, const ease_train_options *o,
                         const double *given, ease_model *m, ease_error *err)
{
    ease_gram *gram = NULL;
    ease_status status = check_memory(x, o, room_for(x, given), true, err);

    if (!status)
        status = ease__gram_build(x, x->vals ? EASE__F32 : EASE__U32,
                                  ease__threads(o->threads), &o->hooks, &gram, err);
    if (!status)
        status = choose_from(x, gram, o, given, m, err);
    ease_gram_free(gram);
    return status;
}

const ease__rival ease__item_item = {
    .settings = settings,
    .grid = "similarity=cosine|jaccard|conditional,neighbours=5|10|20|50|100|200,"
            "shrinkage=0|10|100",
    .train = train,
    .train_gram = train_gram};
