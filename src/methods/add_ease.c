/* Add-EASE: the weights of EASE on the interactions, plus those of EASE on the tags of
 * the items, where a tag takes the place of a user:
 *
 *     B = (1 - blend) B(X) + blend B(T)
 */
#include "gram/gram_tags.h"
#include "methods/methods.h"
#include "model/dense.h"

enum { BLEND, TAG_LAMBDA };

static const ease_setting settings[] = {
    {.name = "blend",
     .about = "share of the weights that come from tags",
     .value = 0.2,
     .most = 1},
    {.name = "tag-lambda",
     .about = "lambda of the weights from tags",
     .value = 10,
     .least = 1e-6,
     .most = 1e12},
    {0}};

/* T'T with the items of the model. */
static ease_status tag_gram(const ease_model *m, const ease_tags *t,
                            ease__element element, int threads, ease_gram **out,
                            ease_error *err)
{
    ease__tag_lists lists = {0};
    ease_gram *g = ease__alloc_zero(1, sizeof(*g));
    ease_status status;

    if (!g)
        return ease__fail(err, EASE_E_NOMEM, "tags of %d items", (int)m->info.items);
    g->weighted = true;
    g->users = g->interactions = -1;
    status = ease__ids_copy(&g->ids, &m->ids, err);
    if (!status)
        status = ease__gram_tiles_new(g, m->info.items, element, NULL, err);
    if (!status)
        status = ease__tag_lists_new(g, t, 1, threads, &lists, err);
    if (!status)
        ease__gram_add_tags(g, &lists);
    ease__tag_lists_free(&lists);
    if (status)
        ease_gram_free(g);
    else
        *out = g;
    return status;
}

static ease_status solve_tags(const ease_model *m, const ease_train_options *o,
                              double lambda, ease__element element, ease_model **out,
                              ease_error *err)
{
    ease_train_options used = {.method = ease__ease.info.name,
                               .lambda = lambda,
                               .precision = element == EASE__F64 ? EASE_F64 : EASE_F32,
                               .backend = o->backend,
                               .threads = o->threads,
                               .hooks = o->hooks};
    ease__dense_order order;
    ease__dense d = {0};
    ease_gram *g = NULL;
    ease_status status = ease__dense_order_take(&used, &order, err);

    if (!status)
        status = tag_gram(m, o->tags, element, o->threads, &g, err);
    if (!status)
        status = ease__dense_solve(g, &order, &d, err);
    if (status)
        return status;
    *out = d.model;
    d.model = NULL;
    ease__dense_free(&d);
    return EASE_OK;
}

static bool is_numerical(ease_status status)
{
    return status == EASE_E_ACCURACY || status == EASE_E_NOT_POSDEF;
}

/* Solves in the precision of the model, and in float64 if float32 fails. */
static ease_status train_on_tags(const ease_model *m, const ease_train_options *o,
                                 double lambda, ease_model **out, ease_error *err)
{
    bool wide = m->info.precision == EASE_F64;
    ease_error found = {0};
    ease_status status = solve_tags(m, o, lambda, wide ? EASE__F64 : EASE__F32, out,
                                    &found);

    if (!wide && is_numerical(status)) {
        ease__log(o->hooks, 1,
                  "float32 is not enough for the tags: solving in float64");
        status = solve_tags(m, o, lambda, EASE__F64, out, &found);
    }
    return status ? ease__fail_at(err, status, found.where, "weights from tags: %.400s",
                                  found.text)
                  : EASE_OK;
}

static ease_status blend(ease_model *m, const ease_train_options *o,
                         const double *values, ease_error *err)
{
    ease_model *second = m->second;
    ease_status status = EASE_OK;

    if (!(values[BLEND] > 0)) {
        ease__model_blend(m, NULL, 0);
        return EASE_OK;
    }
    if (!second || second->info.lambda != values[TAG_LAMBDA]) {
        ease__model_blend(m, NULL, 0); /* before the memory is needed again */
        status = train_on_tags(m, o, values[TAG_LAMBDA], &second, err);
    }
    if (!status)
        ease__model_blend(m, second, (float)values[BLEND]);
    return status;
}

/* The inverse of X'X is that of EASE. */
static void plain(const double *values, ease__family *f)
{
    (void)values;
    *f = (ease__family){0};
}

static const ease__axis axes[] = {
    {.setting = BLEND, .start = 0.2, .step = 1, .odds = true}, {.step = 0}};

static ease_status fit(const ease_interactions *x, const ease_train_options *o,
                       ease_model **out, ease_error *err)
{
    return ease__train_dense(x, o, out, err);
}

static const ease_gram_kind counts = EASE_GRAM_COUNTS;

const ease__method ease__add_ease = {
    .info =
        {
            .name = "add-ease",
            .about = "EASE plus EASE on tags of items (Jeunen et al., RecSys 2020)",
            .has_lambda = 1,
            .from_gram = 1,
            .planned = 1,
            .needs_tags = 1,
            .kind = &counts,
        },
    .number = 20,
    .settings = settings,
    .form = &ease__form_packed,
    .family = plain,
    .axes = axes,
    .tag_setting = "blend",
    .finish = blend,
    .fit = fit,
};
