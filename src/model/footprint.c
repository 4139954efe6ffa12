/* Computes the time, memory and disk space of training before it begins. */
#include "model/footprint.h"

#include <math.h>

#include "core/sized.h"
#include "gram/gram_tags.h"
#include "model/model.h"
#include "model/settings.h"
#include "solve/solve.h"

/* ---- memory ---------------------------------------------------------------------- */

/* Measured: the program with its libraries. */
enum { BASE_BYTES = 6000000 };

/* An id in a table: its offset, its slots and its text, as such tables grow. */
enum { ID_BYTES = 40 };

/* Doubles an item: the check's three vectors, column sums, diagonal, scales, and what
 * the model keeps. */
enum { VECTORS = 12 };

/* Choosing lambda by leaving users out: the solves that the search takes (8 to 13) and
 * that of the model, and bytes for an item (parts of the inverse), a user and an
 * interaction of the sample, and a list of 100 of one of the users of a batch. */
enum {
    SEARCH_SOLVES = 11,
    LEAVING_ITEM = 2200,
    LEAVING_USER = 140,
    LEAVING_ENTRY = 8,
    LEAVING_LIST = 100 * (sizeof(ease_rec) + 1),
    LEAVING_BATCH = 1 << 15
};

/* Doubles an item of the other members of the family: s, t, the pivots, a norm. */
enum { FAMILY_VECTORS = 5 };

ease__element ease__train_element(const ease_gram_info *of, ease_precision precision)
{
    if (precision == EASE_F64 || of->wide)
        return EASE__F64;
    return of->weighted ? EASE__F32 : EASE__U32;
}

ease_status ease__train_info(const ease_interactions *x, ease_gram_info *out,
                             ease_error *err)
{
    ease__element element;
    ease_status status = ease__gram_element(x, EASE_F32, &element, err);

    if (!status)
        *out = (ease_gram_info){.users = x->users,
                                .interactions = x->nnz,
                                .items = x->items,
                                .weighted = x->vals != NULL,
                                .has_sums = 1,
                                .wide = element == EASE__F64};
    return status;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The bytes of interactions in memory, by their sizes. */
static size_t estimate_interactions(const ease_gram_info *sizes)
{
    size_t users = (size_t)sizes->users, items = (size_t)sizes->items;

    return ease__size_add(
        ease__size_mul((size_t)sizes->interactions, sizes->weighted ? 8 : 4),
        ease__size_add(ease__size_mul(users, 8 + ID_BYTES), items * ID_BYTES));
}

static size_t rest(size_t of, size_t taken)
{
    return of > taken ? of - taken : 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Plans training with the matrix in a file: `building` and `solving` are the bytes of
 * memory that building and solving the matrix need beside tiles. If the backend
 * inverts in memory only, nothing below f->peak suffices. */
static void plan_work(const ease_backend *backend, size_t building, size_t solving,
                      const ease_train_options *o, ease__footprint *f)
{
    ease__tiled padded = ease__tiled_padded(&f->shape);
    size_t row = ease__size_mul((size_t)padded.tiles, ease__tile_bytes(&padded));
    ease_backend_file_scratch file;
    size_t cross;

    f->least = f->peak;
    if (!backend->invert_file)
        return;
    file = ease__backend_file_scratch(backend, &f->shape, o->threads, 0);
    cross = file.least_bytes;
    f->work = padded.bytes;
    f->least = larger(ease__size_add(building, row), ease__size_add(solving, cross));
    if (!o->workdir || f->allowed == 0 || f->peak <= f->allowed)
        return;
    f->peak = f->least;
    if (f->least > f->allowed)
        return;
    f->band = smaller(rest(f->allowed, building), f->work);
    f->cross = smaller(rest(f->allowed, solving), f->work);
    f->peak = larger(building + f->band, solving + f->cross);
    file = ease__backend_file_scratch(backend, &f->shape, o->threads, f->cross);
    /* The matrix is written once, read for the check before and after the solve, and
     * read twice for saving; each pass of the backend reads and writes it. */
    f->traffic = ease__size_mul(f->work, 5 + 2 * (size_t)file.passes);
}

/* The sample of users that lambda is chosen on. */
typedef struct sample {
    double users, interactions;
} sample;

static sample sample_of(const ease_gram_info *sizes, const ease_train_options *o)
{
    double users = (double)sizes->users, share = 1;

    if (o->lambda_users > 0 && users > o->lambda_users)
        share = o->lambda_users / users;
    return (sample){share * users, share * (double)sizes->interactions};
}

/* The memory that choosing lambda takes beside one matrix: another one, and buffers. */
static size_t choosing_bytes(const ease_gram_info *sizes, size_t matrix,
                             const ease_train_options *o)
{
    sample s = sample_of(sizes, o);

    return ease__size_add(matrix, (size_t)(LEAVING_ITEM * (double)sizes->items +
                                           LEAVING_USER * s.users +
                                           LEAVING_LIST * fmin(s.users, LEAVING_BATCH) +
                                           LEAVING_ENTRY * s.interactions));
}

ease__footprint
ease__train_footprint(const ease_interactions *x, const ease_gram_info *sizes,
                      ease__element element, const ease_train_options *o,
                      const ease_backend *backend, const ease__family *family)
{
    int threads = ease__threads(o->threads);
    bool plain = ease__family_plain(family) && !ease__family_scales(family) &&
                 family->relaxation == 0;
    size_t n = (size_t)sizes->items, held = 0, building = 0, solving;
    size_t vectors = plain ? VECTORS : VECTORS + FAMILY_VECTORS;
    size_t fixed = BASE_BYTES + n * ID_BYTES;
    ease__footprint f = {.shape = ease__tiled_shape(sizes->items,
                                                    ease__tile_edge(sizes->items),
                                                    ease__solve_element(element))};

    f.matrix = f.shape.bytes;
    if (o->tags && ease__method_find(o->method)->finish)
        fixed = ease__size_add(fixed, f.matrix); /* the inverse for tags */
    if (isnan(o->lambda))
        fixed = ease__size_add(fixed, choosing_bytes(sizes, f.matrix, o));
    if (x || sizes->interactions > 0) {
        held = x ? ease__interactions_bytes(x) : estimate_interactions(sizes);
        building = ease__gram_scratch_bytes(sizes->interactions, sizes->items,
                                            sizes->weighted, threads);
    }
    if (family->user_power != 0)
        building = ease__size_add(building,
                                  ease__size_mul((size_t)sizes->users, sizeof(double)));
    solving = ease__size_add(
        ease__backend_scratch(backend, &f.shape, threads, o->device_memory).host_bytes,
        n * vectors * sizeof(double));
    f.data = ease__size_add(ease__size_add(held, building), n * ID_BYTES);
    /* The transpose is freed before the solver begins. */
    fixed = ease__size_add(fixed, held);
    f.peak = ease__size_add(f.matrix, ease__size_add(fixed, larger(building, solving)));
    f.allowed = ease__memory_allowed(o->memory_limit, x ? held : 0);
    if (isnan(o->lambda)) { /* it is chosen in memory */
        f.least = f.peak;
        return f;
    }
    plan_work(backend, ease__size_add(fixed, building), ease__size_add(fixed, solving),
              o, &f);
    return f;
}

/* ---- time ------------------------------------------------------------------------ */

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

/* Assumed rates: counting by a thread, touching and filling the matrix, writing, and a
 * disk that reads and writes at once. */
static const double PAIRS_A_SECOND = 0.4e9, FILLED_BYTES_A_SECOND = 4e9,
                    WRITTEN_BYTES_A_SECOND = 1e9, DISK_BYTES_A_SECOND = 1e9;

/* Assumed rate of sums of rows of the inverse by a thread. */
static const double SUMS_A_SECOND = 2e9;

/* The time of measuring a lambda: both parts of each user's history are summed, and
 * every item is ranked. */
static double leaving_seconds(const ease_gram_info *sizes, const ease_train_options *o,
                              int threads)
{
    const double ranking = 10; /* additions that take as long as ranking an item */
    sample s = sample_of(sizes, o);

    return (double)sizes->items * (2 * s.interactions + ranking * s.users) /
           (SUMS_A_SECOND * threads);
}

/* ---- disk ------------------------------------------------------------------------ */

static size_t model_bytes(int32_t items, ease_storage storage)
{
    size_t beside = (size_t)items * (ID_BYTES + 4 * sizeof(float) + sizeof(double));

    return ease__size_add(ease__form_numbered((int32_t)storage)->weight_bytes(items),
                          beside);
}

/* ---- the plan -------------------------------------------------------------------- */

/* The checked options of a plan. */
typedef struct plan_request {
    ease_train_options o;
    const ease__method *method;
    double values[EASE__MOST_SETTINGS];
    const ease_backend *backend;
    ease__family family;
    double tag_weight;
} plan_request;

/* Choosing lambda takes a model for each, and a copy of the data without some users. */
static void plan_choice(ease_plan *p)
{
    p->solves = SEARCH_SOLVES;
    p->gram_seconds *= SEARCH_SOLVES;
    p->solve_seconds *= SEARCH_SOLVES;
    p->least_bytes = ease__size_add(p->least_bytes, p->data_bytes);
    p->peak_bytes = ease__size_add(p->peak_bytes, p->data_bytes);
    if (p->available_bytes && p->peak_bytes > p->available_bytes)
        p->peak_bytes = p->least_bytes > p->available_bytes ? p->least_bytes
                                                            : p->available_bytes;
}

/* The plan of a method without a matrix. */
static void plan_method(const ease_interactions *x, const ease_gram_info *sizes,
                        const plan_request *r, ease_plan *out)
{
    size_t held = x ? ease__interactions_bytes(x) : estimate_interactions(sizes);
    ease_plan p = {
        .users = sizes->users,
        .interactions = sizes->interactions,
        .items = sizes->items,
        .data_bytes = held,
        .available_bytes = ease__memory_allowed(r->o.memory_limit, x ? held : 0),
        .threads = ease__threads(r->o.threads),
        .solves = 1,
    };

    r->method->plan(sizes, count_pairs(x, sizes), &r->o, r->values, &p);
    if (isnan(r->o.lambda))
        plan_choice(&p);
    p.write_seconds = (double)p.model_bytes / WRITTEN_BYTES_A_SECOND;
    p.flops_a_second = p.solve_seconds > 0 ? p.flops / p.solve_seconds : 0;
    p.fits = p.available_bytes == 0 || p.least_bytes <= p.available_bytes;
    ease__info_give(out, &p, sizeof(p));
}

static ease_status make_plan(const ease_interactions *x, const ease_gram_info *sizes,
                             const plan_request *r, ease_storage storage,
                             ease_plan *out, ease_error *err)
{
    const ease_train_options *o = &r->o;
    const ease_backend *backend = r->backend;
    ease__element element = ease__train_element(sizes, o->precision);
    double n = (double)sizes->items, pairs = count_pairs(x, sizes);
    ease_backend_scratch device;
    ease__footprint f;
    ease_plan p;
    ease_status status;

    if (r->method->plan) {
        plan_method(x, sizes, r, out);
        return EASE_OK;
    }
    status = ease__backend_check_precision(backend, element, err);
    if (status)
        return status;
    f = ease__train_footprint(x, sizes, element, o, backend, &r->family);
    device = ease__backend_scratch(backend, &f.shape, o->threads, o->device_memory);
    p = (ease_plan){
        .users = sizes->users,
        .interactions = sizes->interactions,
        .items = sizes->items,
        .matrix_bytes = f.matrix,
        .data_bytes = f.data,
        .peak_bytes = f.peak,
        .available_bytes = f.allowed,
        .model_bytes = model_bytes(sizes->items, storage),
        .work_bytes = f.work,
        .least_bytes = f.least,
        .traffic_bytes = f.traffic,
        .device_bytes = device.device_bytes,
        .device_available_bytes = device.device_available,
        .flops = n * n * n,
        .threads = ease__threads(o->threads),
        .solves = isnan(o->lambda) ? SEARCH_SOLVES : 1,
        .tile_edge = f.shape.edge,
        .fits = (f.allowed == 0 || f.peak <= f.allowed) &&
                (device.device_available == 0 ||
                 device.device_bytes <= device.device_available),
    };
    status = ease__backend_rate(backend, &f.shape, p.threads, o->device_memory,
                                &p.flops_a_second, err);
    if (status)
        return status;
    p.gram_seconds = pairs / (PAIRS_A_SECOND * p.threads) +
                     (double)f.matrix / FILLED_BYTES_A_SECOND;
    p.solve_seconds = fmax(p.flops / p.flops_a_second,
                           (double)f.traffic / DISK_BYTES_A_SECOND);
    if (isnan(o->lambda))
        p.solve_seconds = SEARCH_SOLVES * p.solve_seconds +
                          (SEARCH_SOLVES - 1) * leaving_seconds(sizes, o, p.threads);
    p.write_seconds = (double)p.model_bytes / WRITTEN_BYTES_A_SECOND;
    ease__info_give(out, &p, sizeof(p));
    return EASE_OK;
}

ease_status ease__train_backend(const ease_train_options *o, const ease_backend **out,
                                ease_error *err)
{
    ease_status status = ease__backend_find(o->backend, out, err);

    return status || !o->workdir ? status : ease__backend_check_file(*out, err);
}

static ease_status take_request(const ease_train_options *given, ease_storage storage,
                                plan_request *out, ease_error *err)
{
    const ease__form *form = ease__form_numbered((int32_t)storage);
    const ease__method *m;
    ease_status status = ease__train_options_take(given, &out->o, err);

    if (!status)
        status = ease__method_take(&out->o, &m, err);
    if (!status && !m->plan)
        status = ease__method_from_gram(m, err);
    if (!status)
        status = ease__method_tags(m, &out->o, err);
    if (!status)
        status = ease__method_like(m, &out->o, err);
    if (!status && !m->plan && (!form || form->trained != m->form))
        status = ease__fail(err, EASE_E_ARG, "%s has no storage %d", m->info.name,
                            (int)storage);
    if (!status && m->finish && storage == EASE_STORE_PACKED)
        status = ease__fail(err, EASE_E_ARG,
                            "a model of %s has two inverses and cannot be packed: save "
                            "it as f16 or f32",
                            m->info.name);
    if (!status)
        status = ease__settings_parse(m->settings, m->info.name, out->o.settings,
                                      out->values, NULL, err);
    if (status)
        return status;
    out->method = m;
    out->family = ease__method_family(m, out->values);
    out->tag_weight = ease__method_tag_weight(m, &out->o, out->values);
    if (isnan(out->o.lambda))
        status = ease__choosing_check(m, &out->o, err);
    if (status || m->plan)
        return status;
    return ease__train_backend(&out->o, &out->backend, err);
}

ease_status ease_plan_sizes(int64_t users, int32_t items, int64_t interactions,
                            const ease_train_options *o, ease_storage storage,
                            ease_plan *out, ease_error *err)
{
    ease_gram_info sizes = {
        .users = users, .interactions = interactions, .items = items, .has_sums = 1};
    plan_request used;
    ease_status status;

    status = ease__info_check(out, "ease_plan", err);
    if (status)
        return status;
    if (items < 1 || users < 0 || interactions < 0)
        return ease__fail(err, EASE_E_ARG, "a plan needs a number of items");
    status = take_request(o, storage, &used, err);
    return status ? status : make_plan(NULL, &sizes, &used, storage, out, err);
}

ease_status ease_plan_data(const ease_interactions *x, const ease_train_options *o,
                           ease_storage storage, ease_plan *out, ease_error *err)
{
    ease_gram_info sizes;
    ease_interactions extended;
    plan_request used;
    ease_status status;

    status = ease__info_check(out, "ease_plan", err);
    if (status)
        return status;
    if (!x)
        return ease__fail(err, EASE_E_ARG, "a plan needs interactions");
    status = take_request(o, storage, &used, err);
    if (!status)
        status = ease__train_info(x, &sizes, err);
    if (status)
        return status;
    if (!(used.tag_weight > 0) && !used.o.like)
        return make_plan(x, &sizes, &used, storage, out, err);
    status = used.o.like ? ease__items_extend(x, &used.o.like->ids, &extended, err)
                         : ease__tags_extend(x, used.o.tags, &extended, err);
    if (status)
        return status;
    sizes.items = extended.items;
    status = make_plan(&extended, &sizes, &used, storage, out, err);
    ease__items_extended_free(&extended);
    return status;
}
