/* Trains dense models from interactions, a Gram file or a Gram matrix. */
#include <math.h>
#include <string.h>

#include "gram/gram_file.h"
#include "model/dense.h"
#include "model/footprint.h"
#include "solve/solve.h"

/* Fails if the settings give users weights, which a Gram matrix cannot. */
static ease_status check_users(const ease__method *m, ease__family f, ease_error *err)
{
    if (f.user_power == 0)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "the user power of %s needs the interactions: X'X does not tell "
                      "which user an entry comes from",
                      m->info.name);
}

static ease_status check_given(const ease_train_options *o, ease_error *err)
{
    if (!isnan(o->lambda))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "lambda is required: it is chosen by leaving users out, and a "
                      "Gram matrix does not tell them apart");
}

/* Takes the options of training from a Gram matrix alone. */
static ease_status take_options(const ease_train_options *given, ease__dense_order *out,
                                ease_error *err)
{
    ease_train_options o;
    ease_status status = ease__train_options_take(given, &o, err);

    if (!status)
        status = check_given(&o, err);
    if (!status)
        status = ease__dense_order_take(&o, out, err);
    return status ? status : check_users(out->method, out->family, err);
}

static ease_status check_updatable(const ease__method *m, const double *settings,
                                   const ease_train_options *o, ease_error *err)
{
    ease__family f = ease__method_family(m, settings);

    return ease__living_check(m, &f, o->kind,
                              ease__method_tag_weight(m, o, settings) > 0, err);
}

static ease_status check_lambda(const ease__method *m, const ease_train_options *o,
                                int from_gram, ease_error *err)
{
    if (!m->info.has_lambda || !isnan(o->lambda))
        return ease__method_lambda(m, o, err);
    return from_gram ? check_given(o, err) : ease__choosing_check(m, o, err);
}

ease_status ease_train_options_check(const ease_train_options *given, int from_gram,
                                     ease_error *err)
{
    double values[EASE__MOST_SETTINGS];
    const ease__method *m = NULL;
    const ease_backend *backend;
    ease_train_options o;
    ease_status status = ease__train_options_take(given, &o, err);

    if (!status)
        status = ease__method_take(&o, &m, err);
    if (status)
        return status;
    if (from_gram)
        status = ease__method_from_gram(m, err);
    if (!status)
        status = check_lambda(m, &o, from_gram, err);
    if (!status)
        status = ease__settings_parse(m->settings, m->info.name, o.settings, values,
                                      NULL, err);
    if (!status && from_gram)
        status = check_users(m, ease__method_family(m, values), err);
    if (!status && o.updatable)
        status = check_updatable(m, values, &o, err);
    if (!status && m->info.from_gram)
        status = ease__train_backend(&o, &backend, err);
    return status;
}

/* Solves once. Takes over g. */
static ease_status fit(ease_gram *g, const ease__dense_order *order, double *residual,
                       ease_model **out, ease_error *err)
{
    ease__dense d = {0};
    ease_status status = ease__dense_solve(g, order, &d, err);

    *residual = d.residual;
    *out = d.model;
    d.model = NULL;
    if (!status)
        ease__dense_free(&d);
    return status;
}

/* ---- items that the data lack ---------------------------------------------------- */

/* True if the model may have items that the data lack: those of the tags that it learns
 * from, or of the model to train like. */
static bool extends(const ease__dense_order *d)
{
    return d->tag_weight > 0 || d->o.like;
}

static ease_status extend(const ease_interactions *x, const ease__dense_order *d,
                          ease_interactions *out, ease_error *err)
{
    ease_status status;

    if (d->o.like)
        return ease__items_extend(x, &d->o.like->ids, out, err);
    status = ease__tags_extend(x, d->o.tags, out, err);
    if (!status)
        ease__tags_tell_new(&out->item_ids, x->items, d->o.hooks);
    return status;
}

static ease_status extend_gram(ease_gram *g, const ease__dense_order *d,
                               ease_error *err)
{
    int32_t before = g->g.n;
    ease_status status;

    if (d->o.like)
        return ease__items_extend_gram(g, &d->o.like->ids, d->o.memory_limit, err);
    status = ease__tags_extend_gram(g, d->o.tags, d->o.memory_limit, err);
    if (!status)
        ease__tags_tell_new(&g->ids, before, d->o.hooks);
    return status;
}

/* ---- from a source that can be read again ---------------------------------------- */

typedef struct source source;

struct source {
    ease_status (*load)(const source *s, ease__element element,
                        const ease__bands *bands, ease_gram **out, ease_error *err);
    const ease_interactions *x; /* or */
    const char *path;
    int32_t new_items;   /* that the file at the path lacks */
    ease_gram_info info; /* with them */
    ease__dense_order order;
};

static ease_status load_interactions(const source *s, ease__element element,
                                     const ease__bands *bands, ease_gram **out,
                                     ease_error *err)
{
    return ease__dense_load(s->x, &s->order, element, bands, out, err);
}

static ease_status load_file(const source *s, ease__element element,
                             const ease__bands *bands, ease_gram **out, ease_error *err)
{
    const ease_train_options *o = &s->order.o;
    ease_gram *g = NULL;
    ease_status status;

    if (bands && s->new_items)
        return ease__fail(err, EASE_E_MEMORY_LIMIT,
                          "%s: items that only %s cannot be added to a Gram file that "
                          "does not fit into memory",
                          s->path, o->like ? "the model has" : "have tags");
    status = ease__gram_read_bands(s->path, element, bands, o->hooks, &g, err);
    if (!status && s->new_items)
        status = extend_gram(g, &s->order, err);
    if (status)
        ease_gram_free(g);
    else
        *out = g;
    return status;
}

/* ---- one solve in a work file ---------------------------------------------------- */

typedef struct spill {
    const ease__dense_order *order;
    ease__tilefile *file;
    ease__dense_vectors v;
} spill;

static ease_status spill_band(void *user, ease_gram *g, ease_error *err)
{
    spill *s = user;
    ease_status status = EASE_OK;

    if (g->g.first == 0)
        status = ease__dense_vectors_new(g, s->order, &s->v, err);
    if (status)
        return status;
    ease__dense_prepare(g, s->order, &s->v);
    return ease__tilefile_write_band(s->file, &g->g, s->order->o.threads, err);
}

static ease_status solve_spilled(const spill *s, const ease_gram *g, size_t memory,
                                 double *residual, ease_error *err)
{
    const ease_train_options *o = &s->order->o;
    ease_error found = {.where = -1};
    ease_status status = ease__dense_check_scale(&s->v, s->file->shape.n, s->order,
                                                 err);

    if (status)
        return status;
    status = ease__solve_file(s->file, s->v.scales.ridge, s->order->backend, memory,
                              o->threads, o->hooks, residual, &found);
    return status ? ease__dense_tell_failure(g, s->file->shape.element, &found, err)
                  : EASE_OK;
}

/* On success the model takes over the file. */
static ease_status model_of_file(spill *s, ease_gram *g, double residual,
                                 ease_model **out, ease_error *err)
{
    ease__model_parts r = ease__dense_parts(g, s->order, &s->v, s->file->shape.element,
                                            residual);
    ease__tiled inverse;
    ease_status status = ease__tilefile_map(s->file, &inverse, err);

    if (status)
        return status;
    r.work = s->file;
    s->file = NULL;
    return ease__dense_model(&inverse, &r, s->order, out, err);
}

static ease_status make_work_file(const source *s, ease__element element, spill *p,
                                  ease_error *err)
{
    const ease_train_options *o = &p->order->o;
    int32_t n = s->info.items;
    ease__tiled shape = ease__tiled_shape(n, ease__tile_edge(n),
                                          ease__solve_element(element));
    ease_status status;

    p->file = ease__alloc_array(1, sizeof(*p->file));
    if (!p->file)
        return ease__fail(err, EASE_E_NOMEM, "a work file");
    *p->file = EASE__TILEFILE_NONE;
    status = ease__tilefile_new(o->workdir, &shape, p->file, err);
    if (!status)
        ease__log(o->hooks, 2, "the matrix is in a work file in %s, %s", o->workdir,
                  p->file->direct
                      ? "past the page cache"
                      : "through the page cache, which is emptied behind it");
    return status;
}

static ease_status fit_in_file(const source *s, ease__element element,
                               const ease__footprint *f, double *residual,
                               ease_model **out, ease_error *err)
{
    spill p = {.order = &s->order};
    ease__bands bands = {.bytes = f->band, .take = spill_band, .user = &p};
    ease_gram *g = NULL;
    ease_status status = make_work_file(s, element, &p, err);

    if (!status)
        status = s->load(s, element, &bands, &g, err);
    ease__tag_lists_free(&p.v.tags);
    if (!status)
        status = solve_spilled(&p, g, f->cross, residual, err);
    if (!status) {
        status = model_of_file(&p, g, *residual, out, err);
        if (status)
            *residual = EASE__UNSOLVED;
    }
    if (p.file)
        ease__tilefile_free(p.file);
    ease__free(p.file);
    ease__dense_vectors_free(&p.v);
    ease_gram_free(g);
    return status;
}

/* ---- training -------------------------------------------------------------------- */

static ease__footprint footprint_of(const source *s, ease__element element)
{
    return ease__train_footprint(s->x, &s->info, element, &s->order.o, s->order.backend,
                                 &s->order.family);
}

static ease_status train_once(const source *s, ease__element element, double *residual,
                              ease_model **out, ease_error *err)
{
    const ease_backend *backend = s->order.backend;
    ease__footprint f;
    ease_gram *g = NULL;
    ease_status status = ease__backend_check_precision(backend, element, err);

    if (status)
        return status;
    f = footprint_of(s, element);
    status = ease__memory_check("training", s->info.items, f.peak, f.allowed, err);
    if (!status)
        status = ease__backend_check(backend, &f.shape, s->order.o.threads,
                                     s->order.o.device_memory, err);
    if (!status && f.cross)
        return fit_in_file(s, element, &f, residual, out, err);
    if (!status)
        status = s->load(s, element, NULL, &g, err);
    if (!status)
        status = fit(g, &s->order, residual, out, err);
    return status;
}

/* True if the arithmetic was at fault: a more accurate one may do. */
static bool is_numerical(ease_status status, double residual)
{
    return status == EASE_E_NOT_POSDEF ||
           (status == EASE_E_ACCURACY && residual != EASE__UNSOLVED);
}

/* Tells which arithmetic has failed with `first`, and what follows. */
static void tell_again(const source *s, const char *failed, const ease_error *first,
                       double residual, const char *next)
{
    if (first->status == EASE_E_ACCURACY)
        ease__log(s->order.o.hooks, 1, "%s not enough here (residual %.1e): %s", failed,
                  residual, next);
    else
        ease__log(s->order.o.hooks, 1,
                  "%s not enough here (a pivot failed at item %lld): %s", failed,
                  (long long)first->where, next);
}

/* Solves again in float64 if memory allows, after float32 has failed with `first`. */
static ease_status train_wide(const source *s, const ease_error *first, double residual,
                              ease_model **out, ease_error *err)
{
    ease__footprint f;

    if (ease__backend_check_precision(s->order.backend, EASE__F64, NULL))
        return ease__fail_at(err, first->status, first->where,
                             "%.300s (which backend %.40s does not have)", first->text,
                             s->order.backend->name);
    f = footprint_of(s, EASE__F64);
    if (ease__memory_check("", s->info.items, f.peak, f.allowed, NULL))
        return ease__fail_at(err, first->status, first->where,
                             "%.300s (which takes %.2f GB: %.2f GB are available)",
                             first->text, (double)f.peak / 1e9,
                             (double)f.allowed / 1e9);
    tell_again(s, "float32 is", first, residual, "solving again in float64");
    return train_once(s, EASE__F64, &residual, out, err);
}

/* The backend that solves again without its fast arithmetic; NULL: there is none. Work
 * files are inverted without such arithmetic. */
static const ease_backend *careful_backend(const source *s, ease__element element)
{
    const ease_train_options *o = &s->order.o;
    ease__footprint f = footprint_of(s, element);

    return f.cross ? NULL
                   : ease__backend_careful(s->order.backend, &f.shape, o->threads,
                                           o->device_memory);
}

/* Solves in float32 and, if the backend has a fast arithmetic that is not enough,
 * without that. If only the second attempt fails for another reason, such as a device
 * that is full, the failure is that of the first one, so that float64 is tried. */
static ease_status train_narrow(const source *s, ease__element element,
                                double *residual, ease_model **out, ease_error *err)
{
    ease_error first = {0}, second = {0};
    ease_status status = train_once(s, element, residual, out, &first), repeated;
    double reached = *residual;
    source again = *s;

    if (status)
        *err = first;
    if (!is_numerical(status, reached))
        return status;
    again.order.backend = careful_backend(s, element);
    if (!again.order.backend)
        return status;
    tell_again(s, "the backend's fast arithmetic is", &first, reached,
               "solving again in plain float32");
    *residual = EASE__UNSOLVED;
    repeated = train_once(&again, element, residual, out, &second);
    if (!repeated || repeated == EASE_E_CANCELLED ||
        is_numerical(repeated, *residual)) {
        *err = second;
        return repeated;
    }
    ease__log(s->order.o.hooks, 1, "that failed: %s", second.text);
    *residual = reached;
    return status;
}

static ease_status train(const source *s, ease_model **out, ease_error *err)
{
    ease__element element = ease__train_element(&s->info, s->order.o.precision);
    ease_error first = {0};
    double residual = EASE__UNSOLVED;
    ease_model *m = NULL;
    ease_status status;

    if (element == EASE__U32 && s->order.family.user_power != 0)
        element = EASE__F32; /* the matrix has fractions */
    status = element == EASE__F64 ? train_once(s, element, &residual, &m, &first)
                                  : train_narrow(s, element, &residual, &m, &first);
    if (element != EASE__F64 && is_numerical(status, residual))
        status = train_wide(s, &first, residual, &m, err);
    else if (status && err)
        *err = first;
    if (!status)
        *out = m;
    return status;
}

/* Float32 may be enough for X'X, and not for the tags that are added. */
static void widen_for_tags(source *s)
{
    const ease_train_options *o = &s->order.o;

    if (s->order.tag_weight > 0 && !s->order.method->tag_setting &&
        ease__tags_diagonal(o->tags, o->tag_weight) > EASE__MOST_NARROW)
        s->info.wide = 1;
}

/* Trains on s->x. */
static ease_status train_data(source *s, ease_model **out, ease_error *err)
{
    const ease_train_options *o = &s->order.o;
    ease_status status = ease__train_info(s->x, &s->info, err);

    if (status)
        return status;
    widen_for_tags(s);
    if (s->info.wide && o->precision != EASE_F64)
        ease__log(o->hooks, 1,
                  "some values are too large or too small for float32: solving in "
                  "float64");
    return train(s, out, err);
}

/* Checks the memory for the items of s->x, before their ids are copied: a matrix may
 * have far more columns than can be trained. */
static ease_status check_items(source *s, ease_error *err)
{
    ease__footprint f;
    ease_status status = ease__train_info(s->x, &s->info, err);

    if (status)
        return status;
    f = footprint_of(s, ease__train_element(&s->info, s->order.o.precision));
    return ease__memory_check("training", s->info.items, f.peak, f.allowed, err);
}

ease_status ease__train_dense(const ease_interactions *x, const ease_train_options *o,
                              ease_model **out, ease_error *err)
{
    source s = {.load = load_interactions, .x = x};
    ease_interactions extended;
    ease_status status = ease__dense_order_take(o, &s.order, err);

    if (status || !extends(&s.order))
        return status ? status : train_data(&s, out, err);
    status = check_items(&s, err);
    if (!status)
        status = extend(x, &s.order, &extended, err);
    if (status)
        return status;
    s.x = &extended;
    status = train_data(&s, out, err);
    ease__items_extended_free(&extended);
    return status;
}

/* Counts the items that the file lacks. */
static ease_status find_new_items(source *s, ease_error *err)
{
    const ease_train_options *o = &s->order.o;
    ease__gram_file f = {.file = EASE__CONTAINER_NONE};
    ease_status status;

    if (!extends(&s->order))
        return EASE_OK;
    status = ease__gram_file_open(s->path, &f, err);
    if (status)
        return status;
    s->new_items = ease__items_missing(&f.ids,
                                       o->like ? &o->like->ids : &o->tags->items);
    ease__gram_file_close(&f);
    if (s->info.items > INT32_MAX - 2 - s->new_items)
        return ease__fail(err, EASE_E_TOO_LARGE, "more than 2^31 - 2 items");
    s->info.items += s->new_items;
    widen_for_tags(s);
    return EASE_OK;
}

ease_status ease_train_gram_file(const char *path, const ease_train_options *given,
                                 ease_model **out, ease_error *err)
{
    source s = {.load = load_file, .path = path, .info = {.size = sizeof(s.info)}};
    ease_status status;

    if (!path || !out)
        return ease__fail(err, EASE_E_ARG, "a Gram file is required");
    status = take_options(given, &s.order, err);
    if (!status)
        status = ease_gram_peek(path, &s.info, err);
    if (!status)
        status = find_new_items(&s, err);
    if (status)
        return status;
    s.info.users = s.info.interactions = 0; /* no interactions are in memory */
    return train(&s, out, err);
}

/* ---- from a Gram matrix in memory ------------------------------------------------ */

ease_status ease_gram_solve(ease_gram **g, const ease_train_options *given,
                            ease_model **out, ease_error *err)
{
    ease__dense_order order;
    ease_model *m = NULL;
    ease_gram *taken;
    double residual;
    ease_status status;

    if (!g || !*g)
        return ease__fail(err, EASE_E_ARG, "a Gram matrix is required");
    taken = *g;
    *g = NULL;
    status = out ? take_options(given, &order, err)
                 : ease__fail(err, EASE_E_ARG, "a place for the model is required");
    if (!status && extends(&order))
        status = extend_gram(taken, &order, err);
    if (!status && order.o.precision == EASE_F64)
        status = ease__gram_widen(taken, &order.o, err);
    if (status) {
        ease_gram_free(taken);
        return status;
    }
    status = fit(taken, &order, &residual, &m, err);
    if (!status)
        *out = m;
    return status;
}
