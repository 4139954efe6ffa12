/* The model file: a container of kind "model", version 1, with these sections, where
 * n is the number of items and all numbers are little-endian:
 *
 *   params      one disk_params, 72 bytes
 *   ids         packed table of n distinct ids: n + 1 offsets (u64) into the bytes that
 *               follow them; the first is 0, and each id ends with a NUL
 *   titles      the same with n titles, "" for none; optional
 *   popularity  n f64: column sums of X
 *   base        n f32: what a score has without any history; optional, taken as 0, but
 *               not where there are no weights
 *   norm        n f32, above 0: q; the similarity of i and j is W_ij q_j / q_i; not
 *               where there are no weights
 *   row_scale   n f32; packed only, optional, taken as 1
 *   col_scale   n f32; packed only
 *   weights     large; not in storage none. f32: n rows of W in f32, each from a multiple of `stride` bytes
 *               on; stride is 4 n rounded up to a multiple of 64, the rest of a row is
 *               zero. f16: the same with IEEE halves and 2 n, and a weight is its
 *               number times `unit`, a power of two. packed: P in f32 as the lower
 *               triangle of square tiles of `edge` rows, tile (i, j) with i >= j
 *               row-major, in the order (0,0) (1,0) (1,1) (2,0) ..., diagonal tiles
 *               whole, rows and columns from n on padding;
 *               W_ij = (P_ij * row_scale_i) * col_scale_j in f32 off the diagonal, 0 on
 *               it, and nothing below 0 if `nonnegative`. edge follows from n.
 *
 * In rows the diagonal is zero and `nonnegative` has been applied. */
#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "model/row_writer.h"

enum { VERSION = 1, ROW_GRAIN = 64 };

typedef struct disk_params {
    int32_t items;
    int32_t kind;                /* ease_gram_kind */
    int32_t precision;           /* ease_precision: that of the solve */
    int32_t storage;             /* ease_storage; none: no weights, lambda is 0 */
    int32_t nonnegative;         /* 0 or 1 */
    int32_t edge;                /* packed, else 0 */
    uint64_t stride;             /* rows: bytes from row to row; else 0 */
    int64_t users, interactions; /* -1: unknown */
    double lambda, residual;
    float unit;      /* f16; else 1 */
    uint32_t method; /* ease__method.number; 0 with `nonnegative` is 1 */
} disk_params;

_Static_assert(sizeof(disk_params) == 72, "as it lies in files");

static size_t row_bytes(int32_t n, ease_storage storage)
{
    size_t bytes = (size_t)n * (storage == EASE_STORE_F16 ? 2 : 4);

    return (bytes + ROW_GRAIN - 1) / ROW_GRAIN * ROW_GRAIN;
}

size_t ease__model_weight_bytes(int32_t n, ease_storage storage)
{
    if (storage == EASE_STORE_PACKED)
        return ease__tiled_bytes(n, EASE__F32);
    if (ease__storage_form(storage) != EASE__DENSE_FORM)
        return 0;
    return ease__size_mul((size_t)n, row_bytes(n, storage));
}

/* ---- saving ---------------------------------------------------------------------- */

typedef struct job {
    const ease_model *model;
    disk_params params;
    ease__container_writer *writer;
    const ease_hooks *hooks;
    ease__underflow loss;
    bool may_lose; /* weights in f16 */
    double done;   /* the share of progress before the weights are written */
} job;

static ease__rows_job rows_job(const job *j, double from, double to)
{
    return (ease__rows_job){.model = j->model,
                            .storage = (ease_storage)j->params.storage,
                            .stride = (size_t)j->params.stride,
                            .unit = j->params.unit,
                            .writer = j->writer,
                            .hooks = j->hooks,
                            .from = from,
                            .to = to};
}

/* The power of two that takes the largest weight to 2^14 .. 2^15: nothing overflows,
 * and weights down to 2^-28 of the largest keep all 11 bits. */
static ease_status choose_unit(job *j, ease_error *err)
{
    const ease_model *m = j->model;
    ease__rows_job rows = rows_job(j, 0, 0.5);
    float largest = 0;
    ease_status status;
    int exponent;

    if (m->info.storage == EASE_STORE_F16) { /* nothing is lost that was not */
        j->params.unit = m->unit;
        return EASE_OK;
    }
    status = ease__rows_largest(&rows, &largest, err);
    exponent = largest > 0 ? ilogbf(largest) - 14 : 0;
    if (exponent < -126) /* of a normal float */
        exponent = -126;
    j->params.unit = ldexpf(1.0f, exponent);
    j->may_lose = ease__rows_may_lose(m, j->params.unit);
    j->done = rows.to;
    return status;
}

/* Not of one weight in a thousand or fewer. */
static void tell_loss(const job *j)
{
    double share = j->loss.weights ? (double)j->loss.lost / (double)j->loss.weights : 0;

    if (share > 0.001)
        ease__log(j->hooks, 1,
                  "the values of items are of so different sizes that %.2g %% of the "
                  "weights become 0 in float16: storage f32 keeps them",
                  100 * share);
}

static ease_status put_packed(job *j, ease_error *err)
{
    const ease_model *m = j->model;
    const ease__tiled *p = &m->inverse;
    size_t tile = (size_t)p->edge * (size_t)p->edge * sizeof(float);
    double done = 0, whole = (double)ease__tile_count(p->tiles);
    ease_status status = ease__writer_begin(j->writer, "weights", err);

    for (int32_t row = 0; !status && row < p->tiles; row++) {
        for (int32_t k = 0; !status && k <= row; k++) {
            status = ease__writer_put(j->writer, ease__tile(p, row, k), tile, err);
            if (!status && ease__progress(j->hooks, "writing", ++done / whole))
                status = ease__cancelled(err);
        }
        ease__model_forget(m);
    }
    return status;
}

static ease_status put_weights(job *j, ease_error *err)
{
    const ease_model *m = j->model;
    ease__rows_job rows = rows_job(j, j->done, 1);

    rows.loss = j->may_lose ? &j->loss : NULL;
    switch (ease__storage_form((ease_storage)j->params.storage)) {
    case EASE__BASE_FORM:
        return EASE_OK;
    case EASE__SPARSE_FORM:
        return ease__sparse_write(&m->sparse, m->info.items, j->writer, err);
    case EASE__LATENT_FORM:
        return ease__latent_write(&m->latent, m->info.items, j->writer, err);
    case EASE__KNOWN_FORM:
        return ease__known_write(&m->known, m->info.items, j->writer, err);
    case EASE__DENSE_FORM:
        break;
    }
    switch ((ease_storage)j->params.storage) {
    case EASE_STORE_F32:
    case EASE_STORE_F16:
        return ease__rows_write(&rows, err);
    default:
        return put_packed(j, err);
    }
}

/* An array of n numbers; none if NULL. */
static ease_status put_array(job *j, const char *name, const void *array, size_t size,
                             ease_error *err)
{
    if (!array)
        return EASE_OK;
    return ease__writer_add(j->writer, name, array, (size_t)j->params.items * size,
                            err);
}

static ease_status put_all(job *j, ease_error *err)
{
    const ease_model *m = j->model;
    bool packed = j->params.storage == EASE_STORE_PACKED;
    ease_status status = ease__writer_add(j->writer, "params", &j->params,
                                          sizeof(j->params), err);

    if (!status)
        status = ease__ids_write(&m->ids, j->writer, "ids", err);
    if (!status && m->info.has_titles)
        status = ease__ids_write(&m->titles, j->writer, "titles", err);
    if (!status && m->settings)
        status = ease__writer_add(j->writer, "settings", m->settings,
                                  strlen(m->settings) + 1, err);
    if (!status)
        status = put_array(j, "popularity", m->popularity, sizeof(double), err);
    if (!status)
        status = put_array(j, "base", m->base, sizeof(float), err);
    if (!status)
        status = put_array(j, "norm", m->norm, sizeof(float), err);
    if (!status && packed)
        status = put_array(j, "row_scale", m->row_scale, sizeof(float), err);
    if (!status && packed)
        status = put_array(j, "col_scale", m->col_scale, sizeof(float), err);
    if (!status)
        status = put_weights(j, err);
    return status;
}

static disk_params params_of(const ease_model *m, ease_storage storage)
{
    bool rows = storage == EASE_STORE_F32 || storage == EASE_STORE_F16;

    return (disk_params){
        .items = m->info.items,
        .kind = (int32_t)m->info.kind,
        .precision = (int32_t)m->info.precision,
        .storage = (int32_t)storage,
        .nonnegative = m->info.nonnegative,
        .edge = storage == EASE_STORE_PACKED ? m->inverse.edge : 0,
        .stride = rows ? row_bytes(m->info.items, storage) : 0,
        .users = m->info.users,
        .interactions = m->info.interactions,
        .lambda = m->info.lambda,
        .residual = m->info.residual,
        .unit = 1.0f,
        .method = ease__method_find(m->info.method)->number,
    };
}

ease_status ease_model_save(const ease_model *m, const char *path, ease_storage storage,
                            const ease_hooks *hooks, ease_error *err)
{
    job j = {.model = m, .hooks = hooks};
    size_t expect;
    ease_status status;

    if (!m || !path || storage < EASE_STORE_F32 || storage > EASE_STORE_KNOWN)
        return ease__fail(err, EASE_E_ARG,
                          "a model, a path and a storage are required");
    if (ease__storage_form(m->info.storage) != EASE__DENSE_FORM)
        storage = m->info.storage;
    else if (ease__storage_form(storage) != EASE__DENSE_FORM)
        return ease__fail(err, EASE_E_ARG, "%s: the weights have to be stored", path);
    if (storage == EASE_STORE_PACKED && m->info.storage != EASE_STORE_PACKED)
        return ease__fail(err, EASE_E_ARG,
                          "%s: a model of rows cannot be packed: packing needs the "
                          "inverse, which it no longer has",
                          path);
    expect = storage == EASE_STORE_KNOWN
                 ? ease__known_code_bytes(&m->known, m->info.items)
                 : ease__model_weight_bytes(m->info.items, storage);
    j.params = params_of(m, storage);
    status = ease__writer_open(path, "model", VERSION, expect, &j.writer, err);
    if (status)
        return status;
    status = ease__container_need_all(&m->file, m->threads, hooks, err);
    if (!status && storage == EASE_STORE_F16)
        status = choose_unit(&j, err);
    if (!status)
        status = put_all(&j, err);
    if (!status)
        status = ease__container_unchanged(&m->file, err);
    if (!status)
        status = ease__writer_commit(j.writer, err);
    else
        ease__writer_discard(j.writer);
    if (!status)
        tell_loss(&j);
    return status;
}

/* ---- opening --------------------------------------------------------------------- */

/* Whoever uses these has them verified first, or loads them; all others are taken to be
 * in memory. */
static const char *const large_sections[] = {"weights", "columns", "embedding",
                                             "decoder", "scores",  NULL};

static ease_status damaged(const ease_model *m, const char *what, ease_error *err)
{
    return ease__fail(err, EASE_E_FORMAT, "%s: damaged: %s", m->file.path, what);
}

/* Its name, or NULL where nothing can be of that kind. Dense models of the first version
 * say by `nonnegative` alone which of the two they are. */
static const char *method_of(const disk_params *p)
{
    const ease__method *method = ease__method_numbered(p->method);
    const ease__method *dense = ease__dense_method(p->nonnegative != 0);
    ease__form form = ease__storage_form((ease_storage)p->storage);

    if (form == EASE__DENSE_FORM)
        return p->method == 0 || method == dense ? dense->info.name : NULL;
    return method && method->form == form ? method->info.name : NULL;
}

static bool params_hold(const disk_params *p)
{
    bool dense = ease__storage_form((ease_storage)p->storage) == EASE__DENSE_FORM;
    int exponent;

    if (p->items < 1 || p->kind < EASE_GRAM_COUNTS || p->kind > EASE_GRAM_CORRELATION ||
        p->precision < EASE_F32 || p->precision > EASE_F64 ||
        p->storage < EASE_STORE_F32 || p->storage > EASE_STORE_KNOWN ||
        p->nonnegative < 0 || p->nonnegative > 1 || !method_of(p))
        return false;
    if (p->users < -1 || p->interactions < -1 || !isfinite(p->lambda) ||
        !(dense ? p->lambda > 0 : p->lambda == 0) || !isfinite(p->residual) ||
        !(p->residual >= 0))
        return false;
    if (!isnormal(p->unit) || frexpf(p->unit, &exponent) != 0.5f ||
        (p->storage != EASE_STORE_F16 && p->unit != 1.0f))
        return false;
    if (!dense)
        return p->edge == 0 && p->stride == 0;
    if (p->storage == EASE_STORE_PACKED)
        return p->edge == ease__tile_edge(p->items) && p->stride == 0;
    return p->edge == 0 && p->stride == row_bytes(p->items, (ease_storage)p->storage);
}

static ease_status take_params(ease_model *m, disk_params *p, ease_error *err)
{
    size_t bytes = 0;
    const void *at = ease__container_section(&m->file, "params", &bytes);

    if (!at || bytes != sizeof(*p))
        return damaged(m, "its parameters", err);
    memcpy(p, at, sizeof(*p));
    if (!params_hold(p))
        return damaged(m, "its parameters", err);
    m->info = (ease_model_info){
        .method = method_of(p),
        .settings = "",
        .items = p->items,
        .users = p->users,
        .interactions = p->interactions,
        .lambda = p->lambda,
        .residual = p->residual,
        .kind = (ease_gram_kind)p->kind,
        .precision = (ease_precision)p->precision,
        .storage = (ease_storage)p->storage,
        .nonnegative = p->nonnegative,
        .bytes = m->file.bytes,
    };
    m->stride = (size_t)p->stride;
    m->unit = p->unit;
    return EASE_OK;
}

static ease_status take_tables(ease_model *m, ease_error *err)
{
    size_t bytes = 0;
    const void *at = ease__container_section(&m->file, "ids", &bytes);
    ease_status status = ease__ids_borrow(&m->ids, at, bytes, m->info.items, true,
                                          m->file.path, err);

    if (status)
        return status;
    at = ease__container_section(&m->file, "titles", &bytes);
    if (!at)
        return EASE_OK;
    m->info.has_titles = 1;
    return ease__ids_borrow(&m->titles, at, bytes, m->info.items, false, m->file.path,
                            err);
}

/* n finite floats; *out stays NULL if there is no such section. */
static ease_status take_floats(ease_model *m, const char *name, const float **out,
                               ease_error *err)
{
    size_t n = (size_t)m->info.items, bytes = 0;
    const float *at = ease__container_section(&m->file, name, &bytes);

    if (!at)
        return EASE_OK;
    if (bytes != n * sizeof(*at))
        return damaged(m, name, err);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(at[i]))
            return damaged(m, name, err);
    *out = at;
    return EASE_OK;
}

static ease_status take_norm(ease_model *m, ease_error *err)
{
    ease_status status;

    if (ease__storage_form(m->info.storage) != EASE__DENSE_FORM)
        return EASE_OK;
    status = take_floats(m, "norm", &m->norm, err);
    if (status)
        return status;
    if (!m->norm)
        return damaged(m, "norm", err);
    for (int32_t i = 0; i < m->info.items; i++)
        if (!(m->norm[i] > 0))
            return damaged(m, "norm", err);
    return EASE_OK;
}

static ease_status take_popularity(ease_model *m, ease_error *err)
{
    size_t n = (size_t)m->info.items, bytes = 0;
    const double *at = ease__container_section(&m->file, "popularity", &bytes);

    if (!at || bytes != n * sizeof(*at))
        return damaged(m, "popularity", err);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(at[i]))
            return damaged(m, "popularity", err);
    m->popularity = at;
    return EASE_OK;
}

static ease_status take_dense(ease_model *m, const disk_params *p, ease_error *err)
{
    size_t bytes = 0;
    const void *at = ease__container_section(&m->file, "weights", &bytes);

    if (!at || bytes != ease__model_weight_bytes(p->items, m->info.storage))
        return damaged(m, "its weights have another size than they should", err);
    m->rows = at;
    if (m->info.storage != EASE_STORE_PACKED) {
        m->store = m->info.storage == EASE_STORE_F32 ? &ease__store_f32
                                                     : &ease__store_f16;
        return EASE_OK;
    }
    if (!m->col_scale || p->edge < 1)
        return damaged(m, "col_scale", err);
    m->store = &ease__store_packed;
    m->inverse = ease__tiled_shape(p->items, p->edge, EASE__F32);
    m->inverse.data = (void *)(uintptr_t)at;
    return EASE_OK;
}

static ease_status take_weights(ease_model *m, const disk_params *p, ease_error *err)
{
    switch (ease__storage_form(m->info.storage)) {
    case EASE__DENSE_FORM:
        return take_dense(m, p, err);
    case EASE__SPARSE_FORM:
        m->store = &ease__store_sparse;
        return ease__sparse_take(&m->file, p->items, &m->sparse, err);
    case EASE__LATENT_FORM:
        m->store = &ease__store_none;
        return ease__latent_take(&m->file, p->items, &m->latent)
                   ? EASE_OK
                   : damaged(m, "its factors", err);
    case EASE__KNOWN_FORM:
        m->store = &ease__store_none;
        return ease__known_take(&m->file, p->users, p->items, &m->known, err);
    case EASE__BASE_FORM:
        break;
    }
    m->store = &ease__store_none;
    return m->base ? EASE_OK : damaged(m, "base", err);
}

/* Text with its end. */
static ease_status take_settings(ease_model *m, ease_error *err)
{
    size_t bytes = 0;
    const char *at = ease__container_section(&m->file, "settings", &bytes);

    if (at && (bytes == 0 || memchr(at, '\0', bytes) != at + bytes - 1))
        return damaged(m, "its settings", err);
    m->settings = at;
    m->info.settings = at ? at : "";
    return EASE_OK;
}

static ease_status take_all(ease_model *m, ease_error *err)
{
    disk_params p = {0};
    ease_status status = take_params(m, &p, err);

    if (!status)
        status = take_tables(m, err);
    if (!status)
        status = take_settings(m, err);
    if (!status)
        status = take_popularity(m, err);
    if (!status)
        status = take_floats(m, "base", &m->base, err);
    if (!status)
        status = take_norm(m, err);
    if (!status)
        status = take_floats(m, "row_scale", &m->row_scale, err);
    if (!status)
        status = take_floats(m, "col_scale", &m->col_scale, err);
    if (!status)
        status = take_weights(m, &p, err);
    m->info.has_base = m->base != NULL;
    return status;
}

void ease_open_options_defaults(ease_open_options *o)
{
    static const ease_open_options defaults = {.verify = EASE_VERIFY_USE};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

ease_status ease_model_open(const char *path, const ease_open_options *given,
                            ease_model **out, ease_error *err)
{
    ease_open_options o;
    ease_model *m;
    ease_status status = EASE__OPTIONS_TAKE(ease_open_options, &o, given, err);

    if (status)
        return status;
    if (!path || !out)
        return ease__fail(err, EASE_E_ARG, "a path is required");
    if (o.verify < EASE_VERIFY_USE || o.verify > EASE_VERIFY_NEVER)
        return ease__fail(err, EASE_E_ARG, "unknown time to verify: %d", (int)o.verify);
    m = ease__alloc_zero(1, sizeof(*m));
    if (!m)
        return ease__fail(err, EASE_E_NOMEM, "opening %s", path);
    m->file = EASE__CONTAINER_NONE;
    m->kernels = ease__kernels_best();
    status = ease__container_open(path, "model", VERSION, &m->file, err);
    if (!status)
        status = ease__container_allow_large(&m->file, large_sections, err);
    if (!status)
        status = ease__container_attach(&m->file, o.verify, o.hooks, err);
    if (!status)
        status = take_all(m, err);
    if (status) {
        ease_model_free(m);
        return status;
    }
    *out = m;
    return EASE_OK;
}
