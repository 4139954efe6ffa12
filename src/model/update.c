/* Updates a model by users who come, leave or change, without another inversion.
 * docs/design/updating.md describes how. */
#include <math.h>
#include <string.h>

#include "core/sized.h"
#include "matrix/tiled_change.h"
#include "model/change.h"
#include "solve/backends.h"
#include "solve/rank_update.h"

/* Bound on residuals and deviations; float32 gives 1e-7 to 1e-5. */
static const double ALLOWED = 1e-4;

void ease_update_options_defaults(ease_update_options *o)
{
    static const ease_update_options defaults = {0};

    ease__options_defaults(o, &defaults, sizeof(defaults));
}

static ease_status take_options(const ease_update_options *given,
                                ease_update_options *o, ease_error *err)
{
    ease_status status = EASE__OPTIONS_TAKE(ease_update_options, o, given, err);

    return status ? status : ease__threads_check(o->threads, err);
}

/* An update in progress. */
typedef struct update {
    const ease_model *model;
    const ease_interactions *was;
    ease_update_options o;
    ease__change c;
    ease__tiled inverse; /* of the result */
    bool begun;          /* it has been set from the model's */
    /* The running mean row and mass of a covariance; NULL: not centred. */
    double *mean, *sums, mass;
    double *combine; /* count x (count + 1) of a block */
    double deviation;
} update;

/* ---- blocks of vectors ----------------------------------------------------------- */

/* With M and mu before a row x of weight w is added or removed,
 *
 *     q = sqrt(w M / (M +- w)) (x - mu),   mu <- mu +- w / (M +- w) (x - mu)
 *
 * Writes each q as a combination of the rows and the first mean. */
static bool combine_rows(update *u, const ease__change_vector *v, int32_t count,
                         double sign)
{
    size_t width = (size_t)count + 1;
    double *mean = ease__alloc_zero(width, sizeof(*mean));

    if (!mean)
        return false;
    mean[count] = 1;
    memset(u->combine, 0, (size_t)count * width * sizeof(*u->combine));
    for (int32_t i = 0; i < count; i++) {
        double *row = u->combine + (size_t)i * width, w = v[i].weight;
        double after = u->mass + sign * w, factor, step;

        if (v[i].user < 0) { /* a change of Lambda */
            row[i] = sqrt(w);
            continue;
        }
        factor = sqrt(w * u->mass / after);
        step = sign * w / after;
        for (size_t k = 0; k < width; k++) {
            row[k] = -factor * mean[k];
            mean[k] *= 1 - step;
        }
        row[i] += factor;
        mean[i] += step;
        u->mass = after;
    }
    ease__free(mean);
    return true;
}

/* Updates the running mean after the rows of a block. */
static void move_mean(update *u, const ease__change_vector *v, int32_t count,
                      double sign)
{
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = 0; v[i].user >= 0 && k < v[i].row.count; k++) {
            double value = v[i].row.weights ? (double)v[i].row.weights[k] : 1;

            u->sums[v[i].row.items[k]] += sign * v[i].weight * value;
        }
    for (int32_t j = 0; j < u->c.items; j++)
        u->mean[j] = u->sums[j] / u->mass;
}

/* The scratch arrays of a block. */
typedef struct block {
    ease_row *rows;
    double *factors, *leverage, *deviation;
} block;

static ease_status block_new(int32_t count, block *b, ease_error *err)
{
    b->rows = ease__alloc_array((size_t)count, sizeof(*b->rows));
    b->factors = ease__alloc_array(3 * (size_t)count, sizeof(*b->factors));
    if (!b->rows || !b->factors) {
        ease__free(b->rows);
        ease__free(b->factors);
        return ease__fail(err, EASE_E_NOMEM, "an update by %d rows", (int)count);
    }
    b->leverage = b->factors + count;
    b->deviation = b->leverage + count;
    return EASE_OK;
}

/* A pivot that is not positive: the row cannot be removed, as it is not there. */
static ease_status tell_pivot(const update *u, const ease__change_vector *v,
                              bool remove, ease_error *err)
{
    if (remove && v->user >= 0)
        return ease__fail(err, EASE_E_DATA,
                          "the row of user \"%.200s\" is not a part of the model's "
                          "data: it cannot be removed",
                          ease_interactions_user_id(u->was, v->user));
    return ease__fail(err, EASE_E_ACCURACY,
                      "the update is numerically impossible: train the model again");
}

/* Passes on the checks of removed rows. */
static ease_status check_removals(update *u, const ease__change_vector *v,
                                  int32_t count, const block *b, ease_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        if (v[i].user >= 0 && u->o.removals)
            u->o.removals[v[i].user] = (ease_removal){b->leverage[i], b->deviation[i]};
        if (!(b->deviation[i] <= u->deviation) && !isnan(u->deviation))
            u->deviation = b->deviation[i];
    }
    if (u->deviation <= ALLOWED) /* NaN is not */
        return EASE_OK;
    return ease__fail(err, EASE_E_ACCURACY,
                      "a removal is not exact enough (deviation %.1e, at most %.0e is "
                      "allowed): train the model again",
                      u->deviation, ALLOWED);
}

static ease_status apply_block(update *u, const ease__change_vector *v, int32_t count,
                               bool remove, ease_error *err)
{
    ease_error found = {.where = -1};
    block b;
    ease__rank_change r = {.count = count, .remove = remove};
    ease_status status = block_new(count, &b, err);

    if (status)
        return status;
    for (int32_t i = 0; i < count; i++) {
        b.rows[i] = v[i].row;
        b.factors[i] = sqrt(v[i].weight);
    }
    r.rows = b.rows;
    r.factors = b.factors;
    if (u->mean) {
        r.mean = u->mean;
        r.combine = u->combine;
        if (!combine_rows(u, v, count, remove ? -1 : 1))
            status = ease__fail(err, EASE_E_NOMEM, "an update by %d rows", (int)count);
    }
    if (!status) {
        status = ease__rank_update(
            u->begun ? &u->inverse : &u->model->inverse, &u->inverse, &r, b.leverage,
            remove ? b.deviation : NULL, u->o.threads, u->o.hooks, &found);
        u->begun = true;
        if (status == EASE_E_NOT_POSDEF && found.where >= 0 && found.where < count)
            status = tell_pivot(u, &v[found.where], remove, err);
        else if (status && err)
            *err = found;
    }
    if (!status && remove)
        status = check_removals(u, v, count, &b, err);
    if (!status && u->mean)
        move_mean(u, v, count, remove ? -1 : 1);
    ease__free(b.rows);
    ease__free(b.factors);
    return status;
}

static ease_status apply_side(update *u, const ease__change_side *s, bool remove,
                              ease_error *err)
{
    ease_status status = EASE_OK;

    for (int64_t at = 0, next; !status && at < s->count; at = next) {
        next = s->count - at > EASE__MOST_RANK ? at + EASE__MOST_RANK : s->count;
        status = apply_block(u, s->vectors + at, (int32_t)(next - at), remove, err);
    }
    return status;
}

/* ---- the inverse ----------------------------------------------------------------- */

/* 1 / Lambda_j for all items; NULL: no memory. */
static double *lone_entries(const ease__change *c)
{
    double *entries = ease__alloc_array((size_t)c->items, sizeof(*entries));

    for (int32_t j = 0; entries && j < c->items; j++)
        entries[j] = 1 / c->lambda[j];
    return entries;
}

/* Allocates the inverse of the result. It is copied from that of the model, unless the
 * first block of vectors can do that on its way. */
static ease_status begin(update *u, const double *lone, ease_error *err)
{
    const ease__tiled *from = &u->model->inverse;
    const ease__change *c = &u->c;
    ease_status status;

    if (c->info.new_items) {
        status = ease__tiled_grow(from, c->items, lone, u->model->kernels->transpose,
                                  u->o.threads, &u->inverse, err);
    } else {
        status = ease__tiled_new(c->items, EASE__F32, &u->inverse, err);
        if (!status && c->info.rank > 0 && c->before_count == 0)
            return EASE_OK;
        if (!status)
            ease__tiled_copy_all(from, &u->inverse, u->o.threads);
    }
    if (status)
        return status;
    u->begun = true;
    return ease__tiled_isolate(&u->inverse, c->before, c->before_count, lone,
                               u->o.threads, err);
}

static ease_status begin_mean(update *u, ease_error *err)
{
    const ease__living *l = &u->model->living;
    size_t n = (size_t)u->c.items, width = EASE__MOST_RANK + 1;

    if (u->model->info.kind == EASE_GRAM_COUNTS)
        return EASE_OK;
    u->mean = ease__alloc_zero(2 * n, sizeof(*u->mean));
    u->combine = ease__alloc_array((width - 1) * width, sizeof(*u->combine));
    if (!u->mean || !u->combine)
        return ease__fail(err, EASE_E_NOMEM, "means of %zu items", n);
    u->sums = u->mean + n;
    u->mass = l->mass;
    memcpy(u->sums, l->sums, (size_t)u->model->info.items * sizeof(*u->sums));
    move_mean(u, NULL, 0, 1);
    return EASE_OK;
}

static ease_status change_inverse(update *u, ease_error *err)
{
    const ease__change *c = &u->c;
    double *lone = lone_entries(c);
    ease_status status = lone ? EASE_OK
                              : ease__fail(err, EASE_E_NOMEM, "entries of %d items",
                                           (int)c->items);

    if (!status)
        status = begin(u, lone, err);
    if (!status)
        status = begin_mean(u, err);
    if (!status)
        status = apply_side(u, &c->added, false, err);
    if (!status)
        status = apply_side(u, &c->removed, true, err);
    if (!status)
        status = ease__tiled_isolate(&u->inverse, c->after, c->after_count, lone,
                                     u->o.threads, err);
    ease__free(lone);
    return status;
}

/* ---- the model ------------------------------------------------------------------- */

/* Scales of the covariance: 0 for constant columns, else 1. NULL for counts. */
static ease_status column_scales(const ease__change *c, double **out, ease_error *err)
{
    double *scale;

    *out = NULL;
    if (c->model->info.kind == EASE_GRAM_COUNTS)
        return EASE_OK;
    scale = ease__alloc_array((size_t)c->items, sizeof(*scale));
    if (!scale)
        return ease__fail(err, EASE_E_NOMEM, "scales of %d items", (int)c->items);
    for (int32_t j = 0; j < c->items; j++)
        scale[j] = ease__living_constant(&c->living, j) ? 0 : 1;
    *out = scale;
    return EASE_OK;
}

static ease_status make_model(update *u, ease_model **out, ease_error *err)
{
    const ease_model *m = u->model;
    ease__change *c = &u->c;
    ease__model_parts r = {
        .method = ease__method_find(m->info.method),
        .kind = m->info.kind,
        .precision = m->info.precision,
        .lambda = m->info.lambda,
        .threads = m->threads,
        .users = c->users,
        .interactions = c->interactions,
        .sums = c->popularity,
        .centre = c->living.sums,
        .mass = c->living.mass,
        .ridge = c->lambda,
        .diagonal = c->living.diagonal,
        .relaxation = c->family.relaxation,
        .settings = m->info.settings,
        .living = c->living,
        .ids = &c->ids,
    };
    double *scale, *factors = NULL;
    ease_status status = column_scales(c, &scale, err);

    r.scale = scale;
    if (!status && ease__family_scales(&c->family)) {
        factors = ease__alloc_array(2 * (size_t)c->items, sizeof(*factors));
        if (factors)
            ease__family_factors(&c->family, c->living.counts, c->items, factors,
                                 factors + c->items);
        else
            status = ease__fail(err, EASE_E_NOMEM, "scales of %d items", (int)c->items);
        r.input = factors;
        r.output = factors ? factors + c->items : NULL;
    }
    if (!status)
        status = ease__model_from_inverse(&u->inverse, &r, out, err);
    ease__free(scale);
    ease__free(factors);
    return status;
}

/* Copies titles and tags, which new items do not have. */
static ease_status copy_rest(const ease_model *from, ease_model *to, ease_error *err)
{
    ease_status status = ease__item_tags_copy(from, to, err);
    const char **titles;

    if (status || !from->info.has_titles)
        return status;
    titles = ease__alloc_zero((size_t)to->info.items, sizeof(*titles));
    if (!titles)
        return ease__fail(err, EASE_E_NOMEM, "titles of %d items", (int)to->info.items);
    for (int32_t i = 0; i < from->info.items; i++)
        titles[i] = ease_model_title(from, i);
    status = ease_model_set_titles(to, titles, err);
    ease__free(titles);
    return status;
}

static ease_status check_residual(update *u, ease_model *m, ease_error *err)
{
    double residual;
    ease_status status = ease__proof_residual(m, u->o.threads, &residual, err);

    if (status)
        return status;
    m->info.residual = residual;
    if (!(residual <= ALLOWED))
        return ease__fail(err, EASE_E_ACCURACY,
                          "the residual of the updated model is %.1e, at most %.0e is "
                          "allowed: train the model again",
                          residual, ALLOWED);
    return EASE_OK;
}

/* ---- the update ------------------------------------------------------------------ */

static size_t scratch_bytes(int32_t items, int64_t rank, int threads)
{
    int32_t most = rank < EASE__MOST_RANK ? (int32_t)rank : EASE__MOST_RANK;

    return ease__size_add(ease__rank_update_bytes(items, most, threads),
                          ease__size_mul((size_t)items, 16 * sizeof(double)));
}

static size_t peak_bytes(int32_t items, int64_t rank, int threads)
{
    return ease__size_add(ease__tiled_bytes(items, EASE__F32),
                          scratch_bytes(items, rank, threads));
}

static ease_status run(update *u, ease_model **out, ease_error *err)
{
    const ease_model *m = u->model;
    size_t held = ease__model_held(m);
    ease_model *made = NULL;
    ease_status status = ease__memory_check(
        "updating", u->c.items,
        ease__size_add(held, peak_bytes(u->c.items, u->c.info.rank, u->o.threads)),
        ease__memory_allowed(u->o.memory_limit, held), err);

    if (!status)
        status = ease__container_need_all(&m->file, u->o.threads, u->o.hooks, err);
    if (!status)
        status = change_inverse(u, err);
    if (!status)
        status = ease__container_unchanged(&m->file, err);
    if (!status)
        status = make_model(u, &made, err);
    if (!status)
        status = check_residual(u, made, err);
    if (!status)
        status = copy_rest(m, made, err);
    if (status)
        ease_model_free(made);
    else
        *out = made;
    return status;
}

static ease_status check_arguments(const ease_model *m, const ease_interactions *was,
                                   const ease_interactions *now, ease_error *err)
{
    if (!m || (!was && !now))
        return ease__fail(err, EASE_E_ARG, "a model and a change are required");
    return ease__living_required(m, err);
}

static void no_removals(const update *u)
{
    for (int64_t i = 0; u->o.removals && u->was && i < u->was->users; i++)
        u->o.removals[i] = (ease_removal){(double)NAN, (double)NAN};
}

ease_status ease_model_update(const ease_model *m, const ease_interactions *was,
                              const ease_interactions *now,
                              const ease_update_options *o, ease_model **out,
                              ease_update_info *info, ease_error *err)
{
    update u = {.model = m, .was = was};
    ease_model *made = NULL;
    ease_status status = check_arguments(m, was, now, err);

    if (!status && !out)
        status = ease__fail(err, EASE_E_ARG, "a place for the model is required");
    if (!status)
        status = take_options(o, &u.o, err);
    if (!status)
        status = ease__change_new(m, was, now, &u.c, err);
    if (status)
        return status;
    no_removals(&u);
    status = run(&u, &made, err);
    if (!status) {
        u.c.info.residual_before = m->info.residual;
        u.c.info.residual = made->info.residual;
        u.c.info.deviation = u.deviation;
        ease__info_give(info, &u.c.info, sizeof(u.c.info));
        *out = made;
    }
    ease__tiled_free(&u.inverse);
    ease__free(u.mean);
    ease__free(u.combine);
    ease__change_free(&u.c);
    return status;
}

/* Passes on what a change would do. */
static ease_status describe(const ease_model *m, const ease_interactions *was,
                            const ease_interactions *now, ease_update_info *out,
                            ease_error *err)
{
    ease__change c;
    ease_status status = check_arguments(m, was, now, err);

    if (!status)
        status = ease__change_new(m, was, now, &c, err);
    if (status)
        return status;
    *out = c.info;
    out->residual_before = out->residual = out->deviation = (double)NAN;
    ease__change_free(&c);
    return EASE_OK;
}

ease_status ease_model_describe_change(const ease_model *m,
                                       const ease_interactions *was,
                                       const ease_interactions *now,
                                       ease_update_info *info, ease_error *err)
{
    ease_update_info own;
    ease_status status = ease__info_check(info, "ease_update_info", err);

    if (!status)
        status = describe(m, was, now, &own, err);
    if (!status)
        ease__info_give(info, &own, sizeof(own));
    return status;
}

ease_status ease_model_update_rank(const ease_model *m, const ease_interactions *was,
                                   const ease_interactions *now, int64_t *rank,
                                   ease_error *err)
{
    ease_update_info info;
    ease_status status = rank ? describe(m, was, now, &info, err)
                              : ease__fail(err, EASE_E_ARG,
                                           "a place for the rank is required");

    if (!status)
        *rank = info.rank;
    return status;
}

/* ---- the plan -------------------------------------------------------------------- */

/* Assumed: the speed of a copy in memory, and the additions that a thread makes for the
 * products of P with rows of so many interactions. */
static const double COPIED_BYTES_A_SECOND = 4e9, ADDITIONS_A_SECOND = 1e9;
enum { ROW_LENGTH = 100, PASSES = 4 };

ease_status ease_update_plan_sizes(int32_t items, int64_t rank,
                                   const ease_update_options *given,
                                   ease_update_plan *out, ease_error *err)
{
    ease_update_options o;
    ease_update_plan p = {.size = sizeof(p)};
    ease__tiled shape;
    const ease_backend *backend;
    double rate, n = (double)items, k = (double)rank;
    ease_status status = ease__info_check(out, "ease_update_plan", err);

    if (!status)
        status = take_options(given, &o, err);
    if (!status && (items < 1 || rank < 0))
        status = ease__fail(err, EASE_E_ARG,
                            "a plan needs a number of items and a rank");
    if (!status)
        status = ease__backend_find(NULL, &backend, err);
    if (status)
        return status;
    shape = ease__tiled_shape(items, ease__tile_edge(items), EASE__F32);
    status = ease__backend_rate(backend, &shape, o.threads, 0, &rate, err);
    if (status)
        return status;
    p.peak_bytes = peak_bytes(items, rank, o.threads);
    p.available_bytes = ease__memory_allowed(o.memory_limit, 0);
    p.solve_seconds = n * n * n / rate;
    p.update_seconds = n * n * k / rate +
                       PASSES * (double)shape.bytes / COPIED_BYTES_A_SECOND +
                       2 * n * k * ROW_LENGTH /
                           (ADDITIONS_A_SECOND * ease__threads(o.threads));
    ease__info_give(out, &p, sizeof(p));
    return EASE_OK;
}
