/* Trains dense models from interactions, a Gram file or a Gram matrix. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gram/gram_file.h"
#include "gram/gram_tags.h"
#include "model/footprint.h"
#include "model/model.h"
#include "solve/solve.h"

/* Takes the options of training from a Gram matrix. */
static ease_status take_options(const ease_train_options *given, ease_train_options *o,
                                const ease_backend **backend, ease_error *err)
{
    const ease__method *m;
    ease_status status = ease__train_options_take(given, o, err);

    if (!status)
        status = ease__method_take(o, &m, err);
    if (!status)
        status = ease__method_from_gram(m, err);
    if (!status)
        status = ease__method_lambda(m, o, err);
    if (!status)
        status = ease__method_tags(m, o, err);
    return status ? status : ease__train_backend(o, backend, err);
}

/* ---- one solve ------------------------------------------------------------------- */

static const double UNSOLVED = -1; /* a residual that was not computed */

/* The vectors that a model is made from, beside the matrix. */
typedef struct vectors {
    double *diagonal; /* of X'X */
    ease__scales scales;
    ease__tag_lists tags; /* to be added; {0}: none */
} vectors;

static void vectors_free(vectors *v)
{
    ease__free(v->diagonal);
    ease__scales_free(&v->scales);
    ease__tag_lists_free(&v->tags);
}

/* True if tags are added to the Gram matrix. */
static bool adds_tags(const ease_train_options *o)
{
    const ease__method *m = ease__method_find(o->method);

    return !m->tag_setting && ease__method_tag_weight(m, o) > 0;
}

static ease_status vectors_new(const ease_gram *g, const ease_train_options *o,
                               vectors *v, ease_error *err)
{
    ease_status status = EASE_OK;

    v->diagonal = ease__alloc_array((size_t)g->g.n, sizeof(*v->diagonal));
    if (!v->diagonal)
        return ease__fail(err, EASE_E_NOMEM, "the diagonal of %d items", (int)g->g.n);
    if (adds_tags(o))
        status = ease__tag_lists_new(g, o->tags, o->tag_weight, o->threads, &v->tags,
                                     err);
    return status ? status : ease__scales_new(g, o->kind, &v->scales, err);
}

/* Converts X'X, or a band of it, to the matrix that is solved. */
static void prepare(ease_gram *g, const ease_train_options *o, vectors *v)
{
    int64_t end = (int64_t)g->g.last * g->g.edge;

    for (int32_t i = g->g.first * g->g.edge; i < g->g.n && i < end; i++)
        v->diagonal[i] = ease__tiled_at(&g->g, i, i);
    if (v->tags.items)
        ease__gram_add_tags(g, &v->tags);
    ease__gram_prepare(g, o->kind, o->lambda, o->threads, &v->scales);
}

/* A weight is at most sqrt(n) max C_ii / lambda: if that is below the smallest normal
 * float, all weights would be 0, and training fails. */
static ease_status check_lambda(const vectors *v, int32_t n,
                                const ease_train_options *o, ease_error *err)
{
    double largest = 0;

    for (int32_t i = 0; i < n; i++)
        largest = fmax(largest, v->diagonal[i]);
    if (largest > 0 && o->kind == EASE_GRAM_CORRELATION)
        largest = 1;
    if (largest > 0 && sqrt(n) * largest / o->lambda < (double)FLT_MIN)
        return ease__fail(
            err, EASE_E_ACCURACY,
            "lambda %g is so large beside the matrix, whose largest entry "
            "is %.3g, that every weight would be 0: lower lambda",
            o->lambda, largest);
    return EASE_OK;
}

/* The solver knows items by number; users know them by id. */
static ease_status name_item(const ease_gram *g, ease__element element,
                             const ease_error *found, ease_error *err)
{
    return ease__fail_at(
        err, EASE_E_NOT_POSDEF, found->where,
        "the matrix is not positive definite at item \"%.200s\" (number %lld): raise "
        "lambda%s",
        ease__ids_at(&g->ids, found->where), (long long)found->where,
        element == EASE__F64 ? "" : " or use float64");
}

static ease_status tell_failure(const ease_gram *g, ease__element element,
                                const ease_error *found, ease_error *err)
{
    if (found->status == EASE_E_NOT_POSDEF && found->where >= 0 &&
        found->where < g->ids.count)
        return name_item(g, element, found, err);
    if (err)
        *err = *found;
    return found->status;
}

static ease_status invert_gram(ease_gram *g, const ease_train_options *o,
                               const ease_backend *backend, vectors *v,
                               double *residual, ease_error *err)
{
    ease_error found = {.where = -1};
    ease_status status = vectors_new(g, o, v, err);

    if (status)
        return status;
    prepare(g, o, v);
    status = check_lambda(v, g->g.n, o, err);
    if (status)
        return status;
    status = ease__solve(&g->g, v->scales.ridge, backend, o->threads, o->hooks,
                         residual, &found);
    return status ? tell_failure(g, g->g.element, &found, err) : EASE_OK;
}

static ease__model_parts recipe_of(ease_gram *g, const ease_train_options *o,
                                   const vectors *v, ease__element element,
                                   double residual)
{
    return (ease__model_parts){
        .method = ease__method_find(o->method),
        .kind = o->kind,
        .precision = element == EASE__F64 ? EASE_F64 : EASE_F32,
        .lambda = o->lambda,
        .residual = residual,
        .threads = o->threads,
        .users = g->users,
        .interactions = g->interactions,
        .sums = g->sums,
        .scale = v->scales.plain ? NULL : v->scales.scale,
        .diagonal = v->diagonal,
        .ids = &g->ids,
    };
}

/* Consumes g. After a failure *residual is UNSOLVED unless the solver was at fault. */
static ease_status fit(ease_gram *g, const ease_train_options *o,
                       const ease_backend *backend, double *residual, ease_model **out,
                       ease_error *err)
{
    vectors v = {0};
    ease_status status = invert_gram(g, o, backend, &v, residual, err);

    if (!status) {
        ease__model_parts r = recipe_of(g, o, &v, g->g.element, *residual);

        status = ease__model_from_inverse(&g->g, &r, out, err);
        if (status)
            *residual = UNSOLVED;
    }
    vectors_free(&v);
    ease_gram_free(g);
    return status;
}

/* ---- from a source that can be read again ---------------------------------------- */

typedef struct source source;

struct source {
    ease_status (*load)(const source *s, ease__element element,
                        const ease__bands *bands, const ease_train_options *o,
                        ease_gram **out, ease_error *err);
    const ease_interactions *x; /* or */
    const char *path;
    int32_t new_items;   /* of the path: items that only have tags */
    ease_gram_info info; /* with them */
    const ease_backend *backend;
};

static ease_status load_interactions(const source *s, ease__element element,
                                     const ease__bands *bands,
                                     const ease_train_options *o, ease_gram **out,
                                     ease_error *err)
{
    return ease__gram_build_bands(s->x, element, bands, o->threads, o->hooks, out, err);
}

static ease_status load_file(const source *s, ease__element element,
                             const ease__bands *bands, const ease_train_options *o,
                             ease_gram **out, ease_error *err)
{
    ease_status status;

    if (bands && s->new_items)
        return ease__fail(
            err, EASE_E_ARG,
            "%s: items that only have tags cannot be added to a Gram file "
            "that does not fit into memory",
            s->path);
    status = ease__gram_read_bands(s->path, element, bands, o->hooks, out, err);
    if (status || !s->new_items)
        return status;
    status = ease__tags_extend_gram(*out, o->tags, o->memory_limit, err);
    if (status) {
        ease_gram_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- one solve in a work file ---------------------------------------------------- */

typedef struct spill {
    const ease_train_options *o;
    ease__tilefile *file;
    vectors v;
} spill;

static ease_status spill_band(void *user, ease_gram *g, ease_error *err)
{
    spill *s = user;
    ease_status status = EASE_OK;

    if (g->g.first == 0)
        status = vectors_new(g, s->o, &s->v, err);
    if (status)
        return status;
    prepare(g, s->o, &s->v);
    return ease__tilefile_write_band(s->file, &g->g, s->o->threads, err);
}

static ease_status solve_spilled(const spill *s, const ease_gram *g,
                                 const ease_backend *backend, size_t memory,
                                 double *residual, ease_error *err)
{
    ease_error found = {.where = -1};
    ease_status status = check_lambda(&s->v, s->file->shape.n, s->o, err);

    if (status)
        return status;
    status = ease__solve_file(s->file, s->v.scales.ridge, backend, memory,
                              s->o->threads, s->o->hooks, residual, &found);
    return status ? tell_failure(g, s->file->shape.element, &found, err) : EASE_OK;
}

/* On success the model takes over the file. */
static ease_status model_of_file(spill *s, ease_gram *g, double residual,
                                 ease_model **out, ease_error *err)
{
    ease__model_parts r = recipe_of(g, s->o, &s->v, s->file->shape.element, residual);
    ease__tiled inverse;
    ease_status status = ease__tilefile_map(s->file, &inverse, err);

    if (status)
        return status;
    r.work = s->file;
    s->file = NULL;
    return ease__model_from_inverse(&inverse, &r, out, err);
}

static ease_status make_work_file(const source *s, ease__element element, spill *p,
                                  ease_error *err)
{
    int32_t n = s->info.items;
    ease__tiled shape = ease__tiled_shape(n, ease__tile_edge(n),
                                          ease__solve_element(element));
    ease_status status;

    p->file = ease__alloc_array(1, sizeof(*p->file));
    if (!p->file)
        return ease__fail(err, EASE_E_NOMEM, "a work file");
    *p->file = EASE__TILEFILE_NONE;
    status = ease__tilefile_new(p->o->workdir, &shape, p->file, err);
    if (!status)
        ease__log(
            p->o->hooks, 2, "the matrix is in a work file in %s, %s", p->o->workdir,
            p->file->direct ? "past the page cache"
                            : "through the page cache, which is emptied behind it");
    return status;
}

static ease_status fit_in_file(const source *s, ease__element element,
                               const ease__footprint *f, const ease_train_options *o,
                               double *residual, ease_model **out, ease_error *err)
{
    spill p = {.o = o};
    ease__bands bands = {.bytes = f->band, .take = spill_band, .user = &p};
    ease_gram *g = NULL;
    ease_status status = make_work_file(s, element, &p, err);

    if (!status)
        status = s->load(s, element, &bands, o, &g, err);
    if (!status)
        status = solve_spilled(&p, g, s->backend, f->cross, residual, err);
    if (!status) {
        status = model_of_file(&p, g, *residual, out, err);
        if (status)
            *residual = UNSOLVED;
    }
    if (p.file)
        ease__tilefile_free(p.file);
    ease__free(p.file);
    vectors_free(&p.v);
    ease_gram_free(g);
    return status;
}

/* ---- training -------------------------------------------------------------------- */

static ease_status train_once(const source *s, ease__element element,
                              const ease_train_options *o, double *residual,
                              ease_model **out, ease_error *err)
{
    ease__footprint f;
    ease_gram *g = NULL;
    ease_status status = ease__backend_check_precision(s->backend, element, err);

    if (status)
        return status;
    f = ease__train_footprint(s->x, &s->info, element, o, s->backend);
    status = ease__memory_check("training", s->info.items, f.peak, f.allowed, err);
    if (!status)
        status = ease__backend_check(s->backend, &f.shape, o->threads, err);
    if (!status && f.cross)
        return fit_in_file(s, element, &f, o, residual, out, err);
    if (!status)
        status = s->load(s, element, NULL, o, &g, err);
    if (!status)
        status = fit(g, o, s->backend, residual, out, err);
    return status;
}

/* Solves again in float64 if memory allows, after float32 has failed with `first`. */
static ease_status train_wide(const source *s, const ease_train_options *o,
                              const ease_error *first, double residual,
                              ease_model **out, ease_error *err)
{
    ease__footprint f;

    if (ease__backend_check_precision(s->backend, EASE__F64, NULL))
        return ease__fail_at(err, first->status, first->where,
                             "%.300s (which backend %.40s does not have)", first->text,
                             s->backend->name);
    f = ease__train_footprint(s->x, &s->info, EASE__F64, o, s->backend);
    if (ease__memory_check("", s->info.items, f.peak, f.allowed, NULL))
        return ease__fail_at(err, first->status, first->where,
                             "%.300s (which takes %.2f GB: %.2f GB are available)",
                             first->text, (double)f.peak / 1e9,
                             (double)f.allowed / 1e9);
    if (first->status == EASE_E_ACCURACY)
        ease__log(
            o->hooks, 1,
            "float32 is not enough here (residual %.1e): solving again in float64",
            residual);
    else
        ease__log(o->hooks, 1,
                  "float32 is not enough here (a pivot failed at item %lld): solving "
                  "again in float64",
                  (long long)first->where);
    return train_once(s, EASE__F64, o, &residual, out, err);
}

static ease_status train(const source *s, const ease_train_options *o, ease_model **out,
                         ease_error *err)
{
    ease__element element = ease__train_element(&s->info, o->precision);
    ease_error first = {0};
    double residual = UNSOLVED;
    ease_status status = train_once(s, element, o, &residual, out, &first);

    if (element != EASE__F64 && (status == EASE_E_NOT_POSDEF ||
                                 (status == EASE_E_ACCURACY && residual != UNSOLVED)))
        return train_wide(s, o, &first, residual, out, err);
    if (status && err)
        *err = first;
    return status;
}

/* Float32 may be enough for X'X, and not for the tags that are added. */
static void widen_for_tags(ease_gram_info *info, const ease_train_options *o)
{
    if (adds_tags(o) && ease__beyond_float(ease__tags_diagonal(o->tags, o->tag_weight)))
        info->wide = 1;
}

static ease_status train_data(const ease_interactions *x, const ease_train_options *o,
                              ease_model **out, ease_error *err)
{
    source s = {.load = load_interactions, .x = x};
    ease_status status = ease__train_backend(o, &s.backend, err);

    if (!status)
        status = ease__train_info(x, &s.info, err);
    if (status)
        return status;
    widen_for_tags(&s.info, o);
    if (s.info.wide && o->precision != EASE_F64)
        ease__log(o->hooks, 1,
                  "some values are too large or too small for float32: solving in "
                  "float64");
    return train(&s, o, out, err);
}

ease_status ease__train_dense(const ease_interactions *x, const ease_train_options *o,
                              ease_model **out, ease_error *err)
{
    ease_interactions extended;
    ease_status status;

    if (!(ease__method_tag_weight(ease__method_find(o->method), o) > 0))
        return train_data(x, o, out, err);
    status = ease__tags_extend(x, o->tags, &extended, err);
    if (status)
        return status;
    status = train_data(&extended, o, out, err);
    ease__tags_extended_free(&extended);
    return status;
}

/* Counts the items that only the tags have. */
static ease_status find_new_items(source *s, const ease_train_options *o,
                                  ease_error *err)
{
    ease__gram_file f = {.file = EASE__CONTAINER_NONE};
    ease_status status;

    if (!(ease__method_tag_weight(ease__method_find(o->method), o) > 0))
        return EASE_OK;
    status = ease__gram_file_open(s->path, &f, err);
    if (status)
        return status;
    s->new_items = ease__tags_new_items(o->tags, &f.ids);
    ease__gram_file_close(&f);
    if (s->info.items > INT32_MAX - 2 - s->new_items)
        return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^31 - 2 items");
    s->info.items += s->new_items;
    widen_for_tags(&s->info, o);
    return EASE_OK;
}

ease_status ease_train_gram_file(const char *path, const ease_train_options *given,
                                 ease_model **out, ease_error *err)
{
    source s = {.load = load_file, .path = path, .info = {.size = sizeof(s.info)}};
    ease_train_options o;
    ease_model *m = NULL;
    ease_status status;

    if (!path || !out)
        return ease__fail(err, EASE_E_ARG, "a Gram file is required");
    status = take_options(given, &o, &s.backend, err);
    if (!status)
        status = ease_gram_peek(path, &s.info, err);
    if (!status)
        status = find_new_items(&s, &o, err);
    if (status)
        return status;
    s.info.users = s.info.interactions = 0; /* no interactions are in memory */
    status = train(&s, &o, &m, err);
    return status ? status : ease__train_finish(m, &o, out, err);
}

/* ---- from a Gram matrix in memory ------------------------------------------------ */

static void widen_tile(const ease__tiled *from, size_t count, size_t at, double *to)
{
    if (from->element == EASE__U32)
        for (size_t k = 0; k < count; k++)
            to[at + k] = (double)((const uint32_t *)from->data)[at + k];
    else
        for (size_t k = 0; k < count; k++)
            to[at + k] = (double)((const float *)from->data)[at + k];
}

static ease_status widen(ease__tiled *g, const ease_train_options *o, ease_error *err)
{
    size_t tile = (size_t)g->edge * (size_t)g->edge;
    int64_t tiles = (int64_t)ease__tile_count(g->tiles);
    size_t peak = ease__size_add(g->bytes, ease__tiled_bytes(g->n, EASE__F64));
    ease__tiled wide;
    ease_status status = ease__memory_check(
        "float64 for", g->n, peak, ease__memory_allowed(o->memory_limit, g->bytes),
        err);

    if (!status)
        status = ease__tiled_new(g->n, EASE__F64, &wide, err);
    if (status)
        return status;
#pragma omp parallel for schedule(static) num_threads(ease__threads(o->threads))
    for (int64_t t = 0; t < tiles; t++)
        widen_tile(g, tile, (size_t)t * tile, wide.data);
    ease__tiled_free(g);
    *g = wide;
    return EASE_OK;
}

ease_status ease_gram_solve(ease_gram **g, const ease_train_options *given,
                            ease_model **out, ease_error *err)
{
    const ease_backend *backend;
    ease_train_options o;
    ease_gram *taken;
    ease_model *m = NULL;
    double residual = UNSOLVED;
    ease_status status;

    if (!g || !*g)
        return ease__fail(err, EASE_E_ARG, "a Gram matrix is required");
    taken = *g;
    *g = NULL;
    status = out ? take_options(given, &o, &backend, err)
                 : ease__fail(err, EASE_E_ARG, "a place for the model is required");
    if (!status && ease__method_tag_weight(ease__method_find(o.method), &o) > 0)
        status = ease__tags_extend_gram(taken, o.tags, o.memory_limit, err);
    if (!status && o.precision == EASE_F64 && taken->g.element != EASE__F64)
        status = widen(&taken->g, &o, err);
    if (status) {
        ease_gram_free(taken);
        return status;
    }
    status = fit(taken, &o, backend, &residual, &m, err);
    return status ? status : ease__train_finish(m, &o, out, err);
}
