/* Time, memory and disk of training, known before it begins. */
#include "model/plan.h"

#include "model/model.h"

/* ---- memory ------------------------------------------------------------------------
 */

/* Measured: the program with its libraries, and what OpenBLAS and the OpenMP runtime
 * keep for each thread that multiplies. */
enum { BASE_BYTES = 6000000, THREAD_BYTES = 3000000 };

/* An id in a table: its offset, its slots and its text, as such tables grow. */
enum { ID_BYTES = 40 };

/* Doubles an item: the check's three vectors, column sums, diagonal, scale, and what
 * the model keeps. */
enum { VECTORS = 10 };

ease__element ease__train_element(const ease_gram_info *of, ease_precision precision)
{
    if (precision == EASE_F64 || of->wide)
        return EASE__F64;
    return of->weighted ? EASE__F32 : EASE__U32;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Interactions as they lie in memory, by their sizes. */
static size_t estimate_interactions(const ease_gram_info *sizes)
{
    size_t users = (size_t)sizes->users, items = (size_t)sizes->items;

    return ease__size_add(
        ease__size_mul((size_t)sizes->interactions, sizes->weighted ? 8 : 4),
        ease__size_add(ease__size_mul(users, 8 + ID_BYTES), items * ID_BYTES));
}

ease__footprint ease__train_footprint(const ease_interactions *x,
                                      const ease_gram_info *sizes,
                                      ease__element element,
                                      const ease_train_options *o)
{
    int threads = ease__threads(o->threads);
    size_t n = (size_t)sizes->items, held = 0, building = 0, solving;
    ease__footprint f = {.matrix = ease__tiled_bytes(sizes->items, element)};

    if (x || sizes->interactions > 0) {
        held = x ? ease__interactions_bytes(x) : estimate_interactions(sizes);
        building = ease__gram_scratch_bytes(sizes->interactions, sizes->items,
                                            sizes->weighted, threads);
    }
    solving = (size_t)threads * THREAD_BYTES + n * VECTORS * sizeof(double);
    f.data = ease__size_add(ease__size_add(held, building), n * ID_BYTES);
    /* The transpose is gone when the solver begins. */
    f.peak = ease__size_add(ease__size_add(f.matrix, held),
                            BASE_BYTES + n * ID_BYTES + larger(building, solving));
    f.allowed = ease__memory_allowed(o->memory_limit, x ? held : 0);
    return f;
}

/* ---- time --------------------------------------------------------------------------
 */

/* Pairs of items within a user's history, exactly or by averages: in real data the
 * mean of the squared lengths is 1.6 to 2.9 times the squared mean. */
static double count_pairs(const ease_interactions *x, const ease_gram_info *sizes)
{
    const double tail = 2.5;
    double pairs = 0, mean;

    if (!x) {
        if (sizes->users < 1 || sizes->interactions < 1)
            return 0;
        mean = (double)sizes->interactions / (double)sizes->users;
        return (double)sizes->interactions * (tail * mean + 1) / 2;
    }
    for (int64_t u = 0; u < x->users; u++) {
        double length = (double)(x->row_ptr[u + 1] - x->row_ptr[u]);

        pairs += length * (length + 1) / 2;
    }
    return pairs;
}

/* A product small enough to be measured before every training. */
enum { MEASURED_EDGE = 512 };
static const double MEASURED_SECONDS = 0.025;

/* Assumed rates: counting by a thread, touching and filling the matrix, writing. */
static const double PAIRS_A_SECOND = 0.4e9, FILLED_BYTES_A_SECOND = 4e9,
                    WRITTEN_BYTES_A_SECOND = 1e9;

/* ---- disk
 * ---------------------------------------------------------------------------- */

static size_t model_bytes(int32_t items, ease_storage storage)
{
    size_t beside = (size_t)items * (ID_BYTES + 4 * sizeof(float) + sizeof(double));

    return ease__size_add(ease__model_weight_bytes(items, storage), beside);
}

/* ---- the plan
 * ------------------------------------------------------------------------ */

static ease_status make_plan(const ease_interactions *x, const ease_gram_info *sizes,
                             const ease_train_options *o, ease_storage storage,
                             ease_plan *out, ease_error *err)
{
    ease__element element = ease__train_element(sizes, o->precision);
    ease__footprint f = ease__train_footprint(x, sizes, element, o);
    double n = (double)sizes->items, pairs = count_pairs(x, sizes);
    ease_plan p = {
        .users = sizes->users,
        .interactions = sizes->interactions,
        .items = sizes->items,
        .matrix_bytes = f.matrix,
        .data_bytes = f.data,
        .peak_bytes = f.peak,
        .available_bytes = f.allowed,
        .model_bytes = model_bytes(sizes->items, storage),
        .flops = n * n * n,
        .threads = ease__threads(o->threads),
        .fits = f.allowed == 0 || f.peak <= f.allowed,
    };
    ease_status status = ease_measure_product(
        MEASURED_EDGE, element == EASE__F64 ? EASE_F64 : EASE_F32, p.threads,
        MEASURED_SECONDS, &p.flops_a_second, err);

    if (status)
        return status;
    p.gram_seconds = pairs / (PAIRS_A_SECOND * p.threads) +
                     (double)f.matrix / FILLED_BYTES_A_SECOND;
    p.solve_seconds = p.flops / p.flops_a_second;
    p.write_seconds = (double)p.model_bytes / WRITTEN_BYTES_A_SECOND;
    *out = p;
    return EASE_OK;
}

static ease_status check_request(const ease_train_options *o, ease_storage storage,
                                 ease_error *err)
{
    ease_status status = ease__train_options_check(o, err);

    if (!status && (storage < EASE_STORE_F32 || storage > EASE_STORE_NONE))
        status = ease__fail(err, EASE_E_ARG, "unknown storage: %d", (int)storage);
    return status;
}

ease_status ease_plan_sizes(int64_t users, int32_t items, int64_t interactions,
                            const ease_train_options *o, ease_storage storage,
                            ease_plan *out, ease_error *err)
{
    ease_gram_info sizes = {
        .users = users, .interactions = interactions, .items = items, .has_sums = 1};
    ease_train_options defaults;
    ease_status status;

    if (!out || items < 1 || users < 0 || interactions < 0)
        return ease__fail(err, EASE_E_ARG, "a plan needs a number of items");
    if (!o) {
        ease_train_options_init(&defaults);
        o = &defaults;
    }
    status = check_request(o, storage, err);
    return status ? status : make_plan(NULL, &sizes, o, storage, out, err);
}

ease_status ease_plan_data(const ease_interactions *x, const ease_train_options *o,
                           ease_storage storage, ease_plan *out, ease_error *err)
{
    ease_gram_info sizes;
    ease_train_options defaults;
    ease_status status;

    if (!x || !out)
        return ease__fail(err, EASE_E_ARG, "a plan needs interactions");
    if (!o) {
        ease_train_options_init(&defaults);
        o = &defaults;
    }
    status = check_request(o, storage, err);
    if (status)
        return status;
    sizes = (ease_gram_info){.users = x->users,
                             .interactions = x->nnz,
                             .items = x->items,
                             .weighted = x->vals != NULL,
                             .has_sums = 1};
    return make_plan(x, &sizes, o, storage, out, err);
}
