#include "training.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "checkpoint.h"
#include "core/budget.h"
#include "counting.h"
#include "engine.h"
#include "gram/gram_file.h"
#include "model/dense.h"
#include "model/footprint.h"
#include "pulse.h"
#include "reading.h"
#include "save.h"
#include "solve/solve.h"
#include "vectors.h"

/* One attempt, in float32 or float64. */
typedef struct attempt {
    const group *group;
    const train_order *order;
    const ease__gram_file *file;
    dataset *data; /* NULL: the matrix is in the file */
    ease__dense_order dense;
    ease_gram *gram; /* everything but the matrix, whose shape it has */
    share share;
    checkpoint saved;
    ease__dense_vectors vectors;
    ease__check check;
    double residual;
} attempt;

static void note(const attempt *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void note(const attempt *a, const char *fmt, ...)
{
    va_list args;

    if (a->group->rank != 0 || a->order->quiet)
        return;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ---- the plan -------------------------------------------------------------------- */

/* Vectors of n numbers: sums, diagonal, scales, the check, the model, and their ids
 * twice; buffers of OpenBLAS, StarPU and MPI. */
enum { VECTORS = 24, PROCESS_BYTES = 64 << 20 };

static size_t need_of(const attempt *a)
{
    const share *s = &a->share;
    const ease__ids *of = a->data ? &a->data->ids : &a->file->ids;
    size_t ids = 2 * ease__ids_size(s->t.n, ease__ids_bytes(of));
    size_t own = (size_t)share_tiles(s, a->group->rank) * ease__tile_bytes(&s->t);
    size_t work = engine_bytes(s, a->order->threads), counting;

    if (a->data) { /* before the engine has copies of tiles */
        counting = counting_bytes(a->data, s, a->order->threads);
        work = (work > counting ? work : counting) + dataset_bytes(a->data);
    }
    return own + work + ids + (size_t)s->t.n * VECTORS * sizeof(double) + PROCESS_BYTES;
}

/* The processes of a machine share its memory. */
static ease_status check_memory(const attempt *a, ease_error *err)
{
    char need_text[EASE__SIZE_CHARS], have_text[EASE__SIZE_CHARS];
    uint64_t need = need_of(a), most = need, have = ease_memory_available();
    uint64_t held = a->data ? dataset_bytes(a->data) : 0;
    size_t limit = a->order->memory_limit;
    ease_status status = EASE_OK;

    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, a->group->all);
    note(a, "plan: %d items on %d processes (%d x %d), at most %s for each",
         (int)a->share.t.n, a->group->size, a->share.rows, a->share.columns,
         ease__size_text((size_t)most, need_text));
    if (limit && need > limit)
        status = ease__fail(err, EASE_E_MEMORY_LIMIT,
                            "training %d items on %d processes needs %s for each: the "
                            "limit is %s: use more processes",
                            (int)a->share.t.n, a->group->size,
                            ease__size_text((size_t)need, need_text),
                            ease__size_text(limit, have_text));
    MPI_Allreduce(MPI_IN_PLACE, &need, 1, MPI_UINT64_T, MPI_SUM, a->group->machine);
    MPI_Allreduce(MPI_IN_PLACE, &held, 1, MPI_UINT64_T, MPI_SUM, a->group->machine);
    have += have ? held : 0;
    if (!status && have && need > have - have / 32)
        status = ease__fail(err, EASE_E_MEMORY_LIMIT,
                            "training %d items on %d processes needs %s on %s, which "
                            "has %d of them: %s are available: use more machines",
                            (int)a->share.t.n, a->group->size,
                            ease__size_text((size_t)need, need_text), a->group->host,
                            a->group->neighbours,
                            ease__size_text((size_t)have, have_text));
    return group_agree(a->group, status, err);
}

/* ---- the matrix ------------------------------------------------------------------ */

static ease_status read_tiles(attempt *a, ease_error *err)
{
    void *scratch = ease__alloc_array(ease__gram_file_scratch(a->file), 1);
    ease__section_stream s = {0};
    ease_status status = scratch ? ease__stream_open(&a->file->file, "tiles", &s, err)
                                 : ease__fail(err, EASE_E_NOMEM, "reading %s",
                                              a->order->gram);
    int32_t tiles = a->share.t.tiles;

    pulse_stage("reading the Gram matrix", (double)ease__tile_count(tiles));
    for (int32_t i = 0; !status && i < tiles; i++)
        for (int32_t j = 0; !status && j <= i; j++)
            if (share_mine(&a->share, i, j)) {
                status = ease__gram_file_tile(a->file, &s, i, j, scratch, a->gram, err);
                pulse_did(1);
            }
    ease__stream_close(&s);
    ease__free(scratch);
    return group_agree(a->group, status, err);
}

static ease_status count_tiles(const attempt *a, ease_error *err)
{
    double began = ease__seconds();
    uint64_t before = group_sent();
    ease_status status = counting_fill(a->data, &a->share, a->order->threads, err);

    if (!status && a->order->verbose)
        note(a, "counted in %.1f s, sent for it: %.0f bytes", ease__seconds() - began,
             group_sum(a->group, (double)(group_sent() - before)));
    return status;
}

static void set_scales(attempt *a)
{
    const ease__dense_order *d = &a->dense;
    ease__penalty p = {.lambda = d->o.lambda};
    ease__dense_vectors *v = &a->vectors;

    for (int32_t i = 0; i < a->share.t.n; i++)
        ease__scales_set(a->gram, d->o.kind, &p, i, v->diagonal[i], &v->scales);
}

static void take_floats(attempt *a)
{
    if (a->share.t.element == EASE__U32)
        a->share.t.element = EASE__F32;
    a->gram->g = a->share.t;
}

/* Converts X'X to the matrix that is solved, as ease__dense_prepare does. */
static void prepare_tiles(attempt *a)
{
    const ease__dense_order *d = &a->dense;
    ease__dense_vectors *v = &a->vectors;
    ease__tiled *t = &a->share.t;

    share_diagonal(&a->share, v->diagonal);
    set_scales(a);
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(a->order->threads))
    for (int32_t i = 0; i < t->tiles; i++)
        for (int32_t j = 0; j <= i; j++)
            if (share_mine(&a->share, i, j))
                ease__gram_prepare_tile(a->gram, d->o.kind, &v->scales, i, j);
    take_floats(a);
    for (int32_t b = 0; b < t->tiles; b++)
        if (share_mine(&a->share, b, b))
            ease__add_to_diagonal(t, b, v->scales.ridge);
}

/* The matrix is prepared, and some steps of the sweep are done. */
static void resume(attempt *a)
{
    set_scales(a);
    take_floats(a);
    note(a, "going on from the checkpoint in %s: %d of %d steps are done",
         a->order->workdir, (int)a->saved.step, (int)a->share.t.tiles);
}

static ease_status load(attempt *a, ease_error *err)
{
    ease_status status;

    a->gram = ease__alloc_zero(1, sizeof(*a->gram));
    if (!a->gram)
        status = ease__fail(err, EASE_E_NOMEM, "a Gram matrix");
    else
        status = a->data ? dataset_head(a->data, a->gram, err)
                         : ease__gram_file_head(a->file, a->gram, err);
    if (!status)
        status = share_reserve(&a->share, err);
    if (!status) {
        a->gram->g = a->share.t;
        status = ease__dense_vectors_new(a->gram, &a->dense, &a->vectors, err);
    }
    if (!status)
        status = ease__check_new(a->share.t.n, &a->check, err);
    status = group_agree(a->group, status, err);
    if (!status)
        status = checkpoint_load(&a->saved, &a->share, a->vectors.diagonal, a->check.w,
                                 err);
    if (!status && !a->saved.step)
        status = a->data ? count_tiles(a, err) : read_tiles(a, err);
    if (status)
        return status;
    if (a->saved.step)
        resume(a);
    else
        prepare_tiles(a);
    return ease__dense_check_scale(&a->vectors, a->share.t.n, &a->dense, err);
}

/* ---- solving --------------------------------------------------------------------- */

/* For --verbose. Values of getrusage are in KiB. */
static void note_traffic(const attempt *a, uint64_t sent)
{
    struct rusage used;
    double all = group_sum(a->group, (double)sent);
    int64_t peak;

    getrusage(RUSAGE_SELF, &used);
    peak = group_most(a->group, (int64_t)used.ru_maxrss * 1024);
    note(a, "sent in the sweep: %.0f bytes; peak memory of a process: %lld bytes", all,
         (long long)peak);
}

static ease_status solve(attempt *a, ease_error *err)
{
    int threads = a->order->threads;
    ease_error found = {.where = -1};
    uint64_t sent;
    ease_status status = EASE_OK;

    if (!a->saved.step) /* the checkpoint has w */
        status = vectors_times(&a->share, a->check.v, a->check.w, &found);
    sent = group_sent();
    if (!status)
        status = engine_invert(&a->share, threads, &a->saved, &found);
    sent = group_sent() - sent;
    if (!status && a->order->verbose)
        note_traffic(a, sent);
    if (!status)
        status = vectors_times(&a->share, a->check.w, a->check.back, &found);
    if (status)
        return ease__dense_tell_failure(a->gram, a->share.t.element, &found, err);
    return ease__check_residual(&a->check, &a->share.t, &a->residual, err);
}

/* ---- the model ------------------------------------------------------------------- */

static ease_status set_base(const attempt *a, const ease__model_parts *r, ease_model *m,
                            ease_error *err)
{
    int32_t n = a->share.t.n;
    float *base;
    double *sums;
    ease_status status = EASE_OK;

    if (r->kind == EASE_GRAM_COUNTS)
        return EASE_OK;
    base = ease__alloc_array((size_t)n, sizeof(*base));
    sums = ease__alloc_array((size_t)n, sizeof(*sums));
    m->base = base;
    if (!base || !sums)
        status = ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)n);
    status = group_agree(a->group, status, err);
    if (!status)
        status = vectors_centre(&a->share, m, r->centre, sums, err);
    for (int32_t j = 0; !status && j < n; j++)
        base[j] = (float)((r->centre[j] - sums[j]) / r->mass);
    ease__free(sums);
    return status ? status : ease__model_check_base(m, err);
}

/* Makes the model of this process: the same in all of them, but for the tiles. */
static ease_status make_model(attempt *a, ease_model **out, ease_error *err)
{
    int32_t n = a->share.t.n;
    ease__tiled inverse;
    double *pivots = ease__alloc_array((size_t)n, sizeof(*pivots));
    ease__model_parts r = ease__dense_parts(a->gram, &a->dense, &a->vectors,
                                            a->share.t.element, a->residual);
    ease_status status =
        pivots ? EASE_OK : ease__fail(err, EASE_E_NOMEM, "model of %d items", (int)n);

    status = group_agree(a->group, status, err);
    if (status) {
        ease__free(pivots);
        return status;
    }
    share_diagonal(&a->share, pivots);
    share_narrow(&a->share, a->order->threads);
    share_mirror(&a->share);
    inverse = a->share.t;
    r.pivots = pivots;
    r.apart = true;
    status = group_agree(a->group, ease__model_from_inverse(&inverse, &r, out, err),
                         err);
    if (!status)
        status = set_base(a, &r, *out, err);
    ease__free(pivots);
    return status;
}

/* ---- training -------------------------------------------------------------------- */

/* The tiles belong to the share. */
static void free_model(ease_model *m)
{
    if (m)
        m->inverse = (ease__tiled){0};
    ease_model_free(m);
}

static void release(attempt *a)
{
    if (a->gram)
        a->gram->g = (ease__tiled){0};
    ease_gram_free(a->gram);
    ease__dense_vectors_free(&a->vectors);
    ease__free(a->check.v);
    share_free(&a->share);
    a->gram = NULL;
    a->check = (ease__check){0};
}

static ease_status write_model(attempt *a, double began, ease_error *err)
{
    const train_order *o = a->order;
    char size[EASE__SIZE_CHARS];
    ease_model *m = NULL;
    size_t bytes = 0;
    ease_status status = make_model(a, &m, err);

    if (!status)
        status = save_model(m, &a->share, o->output, o->storage, o->threads, &bytes,
                            err);
    if (!status)
        note(a, "trained in %.1f s, residual %.1g, wrote %s, %s",
             ease__seconds() - began, a->residual, o->output,
             ease__size_text(bytes, size));
    free_model(m);
    return status;
}

static int32_t items_of(const attempt *a)
{
    return a->data ? a->data->info.items : a->file->params.items;
}

static ease_status try_once(attempt *a, ease__element element, ease_error *err)
{
    ease_status status;

    a->share = share_of(a->group, items_of(a), element);
    a->residual = EASE__UNSOLVED;
    status = check_memory(a, err);
    if (!status)
        status = checkpoint_check_space(&a->saved, &a->share, err);
    if (!status)
        status = load(a, err);
    return status ? status : solve(a, err);
}

/* A solve that fails does so in every run. */
static bool is_numerical(const attempt *a, ease_status status)
{
    return status == EASE_E_NOT_POSDEF ||
           (status == EASE_E_ACCURACY && a->residual != EASE__UNSOLVED);
}

static ease_status find_checkpoint(attempt *a, ease__element element, ease_error *err)
{
    const train_order *o = a->order;
    int32_t n = items_of(a);
    checkpoint_training training = {.matrix = a->data ? a->data->hash
                                                      : a->file->file.header.hash,
                                    .lambda = a->dense.o.lambda,
                                    .items = n,
                                    .edge = ease__tile_edge(n),
                                    .kind = (uint32_t)a->dense.o.kind,
                                    .wide = element == EASE__F64};

    a->saved = (checkpoint){.group = a->group,
                            .dir.path = o->workdir,
                            .seconds = 60 * o->checkpoint_minutes,
                            .verbose = o->verbose};
    return checkpoint_begin(&a->saved, &training, err);
}

static ease_status train(attempt *a, ease_error *err)
{
    ease_gram_info info = {.size = sizeof(info)};
    double began = ease__seconds();
    ease__element element;
    ease_status status = EASE_OK;

    if (a->data)
        info = a->data->info;
    else
        status = group_agree(a->group, ease_gram_peek(a->order->gram, &info, err), err);
    if (status)
        return status;
    element = ease__train_element(&info, a->dense.o.precision);
    status = find_checkpoint(a, element, err);
    if (!status && checkpoint_is_wide(&a->saved))
        element = EASE__F64; /* float32 has failed */
    if (!status)
        status = try_once(a, element, err);
    if (element != EASE__F64 && is_numerical(a, status)) {
        note(a, "float32 is not enough here: solving again in float64");
        release(a);
        checkpoint_remove(&a->saved);
        status = try_once(a, EASE__F64, err);
    }
    if (!status)
        status = write_model(a, began, err);
    if (!status || is_numerical(a, status))
        checkpoint_remove(&a->saved);
    checkpoint_end(&a->saved);
    release(a);
    return status;
}

/* All processes must see the same file: its header has a checksum of all its parts. */
static ease_status check_same(const group *g, const ease__gram_file *f, ease_error *err)
{
    uint64_t mine = f->file.header.hash, first = mine;
    ease_status status = EASE_OK;

    MPI_Bcast(&first, 1, MPI_UINT64_T, 0, g->all);
    if (mine != first)
        status = ease__fail(err, EASE_E_DATA,
                            "%s: process %d on %s sees another file than process 0",
                            f->file.path, g->rank, g->host);
    return group_agree(g, status, err);
}

static ease_status open_gram(const attempt *a, ease__gram_file *file, ease_error *err)
{
    const group *g = a->group;
    ease_status status = ease__gram_file_open(a->order->gram, file, err);

    status = group_agree(g, status, err);
    return status ? status : check_same(g, file, err);
}

static ease_status read_data(const attempt *a, ease_error *err)
{
    const train_order *o = a->order;
    ease_status status = dataset_read(a->data, o->data, &o->reading, err);

    if (!status)
        counting_plan(a->data, (int)group_most(a->group, o->threads));
    return status;
}

ease_status train_cluster(const group *g, const train_order *order, ease_error *err)
{
    ease__gram_file file = {.file = EASE__CONTAINER_NONE};
    dataset data = {.group = g, .quiet = order->quiet};
    attempt a = {
        .group = g, .order = order, .file = &file, .data = order->gram ? NULL : &data};
    ease_train_options o;
    ease_status status = ease_train_options_check(&order->options, 1, err);

    if (!status)
        status = ease__train_options_take(&order->options, &o, err);
    if (!status)
        status = ease__dense_order_take(&o, &a.dense, err);
    if (!status && g->rank == 0)
        status = reading_check_output(order->output, a.data ? order->data : order->gram,
                                      order->reading.more, err);
    if (!status && g->rank == 0)
        status = ease_output_check(order->output, 0, err);
    status = group_agree(g, status, err);
    if (!status)
        status = a.data ? read_data(&a, err) : open_gram(&a, &file, err);
    if (!status)
        status = group_agree(g, engine_begin(g, order->threads, err), err);
    if (!status) {
        status = train(&a, err);
        engine_end();
    }
    ease__gram_file_close(&file);
    dataset_free(&data);
    return status;
}
