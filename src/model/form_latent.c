/* The form of latent models: an encoder, and factors of items. */
#include "model/latent.h"

#include <math.h>

#include "model/model.h"

bool ease__latent_shape_valid(const ease__latent_shape *s)
{
    bool fold_in = s->encoder == EASE__FOLD_IN;

    if (s->encoder < EASE__NETWORK || s->encoder > EASE__FOLD_IN || s->normalize < 0 ||
        s->normalize > !fold_in || s->layers < 1 ||
        s->layers > (fold_in ? 1 : EASE__MOST_LAYERS))
        return false;
    for (int32_t l = 0; l < EASE__MOST_LAYERS; l++) {
        bool used = l < s->layers;

        if (used ? s->width[l] < 1 || s->width[l] > EASE__MOST_WIDTH : s->width[l] != 0)
            return false;
        if (s->activation[l] < EASE__LINEAR ||
            s->activation[l] > (used && !fold_in ? EASE__TANH : EASE__LINEAR))
            return false;
    }
    return fold_in ? isfinite(s->alpha) && s->alpha >= 0 && isfinite(s->lambda) &&
                         s->lambda > 0
                   : s->alpha == 0 && s->lambda == 0;
}

size_t ease__latent_dense_count(const ease__latent_shape *s)
{
    size_t count = (size_t)s->width[0];

    if (s->encoder == EASE__FOLD_IN)
        return count * count;
    for (int32_t l = 1; l < s->layers; l++)
        count += ((size_t)s->width[l - 1] + 1) * (size_t)s->width[l];
    return count;
}

/* ---- memory ---------------------------------------------------------------------- */

static size_t latent_held(const ease_model *m)
{
    const ease__latent *l = &m->latent;
    size_t n = (size_t)m->info.items, floats;

    if (!l->decoder)
        return 0;
    floats = n * (size_t)ease__latent_rank(&l->shape) +
             ease__latent_dense_count(&l->shape);
    if (l->embedding)
        floats += n * (size_t)l->shape.width[0];
    return floats * sizeof(float);
}

static void free_latent(ease_model *m)
{
    if (m->file.map)
        return;
    ease__free_const(m->latent.embedding);
    ease__free_const(m->latent.dense);
    ease__free_const(m->latent.decoder);
}

/* ---- files ----------------------------------------------------------------------- */

static ease_status write_latent(const ease__saving *to, ease_error *err)
{
    const ease__latent *l = &to->model->latent;
    const ease__latent_shape *s = &l->shape;
    size_t n = (size_t)to->params.items;
    ease_status status = ease__writer_add(to->writer, "latent", s, sizeof(*s), err);

    if (!status)
        status = ease__writer_add(to->writer, "dense", l->dense,
                                  ease__latent_dense_count(s) * sizeof(float), err);
    if (!status && l->embedding)
        status = ease__save_large(to, "embedding", l->embedding,
                                  n * (size_t)s->width[0] * sizeof(float), err);
    if (!status)
        status = ease__save_large(to, "decoder", l->decoder,
                                  n * (size_t)ease__latent_rank(s) * sizeof(float),
                                  err);
    return status;
}

/* Returns the section, or NULL unless it has exactly `count` floats. */
static const float *take_matrix(const ease_model *m, const char *name, size_t count)
{
    return ease__take_section(&m->file, name, ease__size_mul(count, sizeof(float)));
}

/* Fails for a shape with numbers that only a later version could know. */
static ease_status check_newer(const ease_model *m, const ease__latent_shape *s,
                               ease_error *err)
{
    if (s->encoder > EASE__FOLD_IN)
        return ease__model_newer(m, "encoder", "", s->encoder, err);
    for (int l = 0; l < EASE__MOST_LAYERS; l++)
        if (s->activation[l] > EASE__TANH)
            return ease__model_newer(m, "activation", "", s->activation[l], err);
    return EASE_OK;
}

static ease_status open_latent(ease_model *m, const ease__model_params *p,
                               ease_error *err)
{
    const ease__latent_shape *s = ease__take_section(&m->file, "latent", sizeof(*s));
    size_t n = (size_t)p->items;
    ease_status status = s ? check_newer(m, s, err) : EASE_OK;
    ease__latent l;

    if (status)
        return status;
    if (!ease__params_plain(p))
        return ease__model_damaged(m, "its parameters", err);
    if (!s || !ease__latent_shape_valid(s))
        return ease__model_damaged(m, "its factors", err);
    l = (ease__latent){
        .shape = *s,
        .embedding = take_matrix(m, "embedding", n * (size_t)s->width[0]),
        .dense = take_matrix(m, "dense", ease__latent_dense_count(s)),
        .decoder = take_matrix(m, "decoder", n * (size_t)ease__latent_rank(s)),
    };
    if (!l.dense || !l.decoder ||
        (s->encoder == EASE__NETWORK) != (l.embedding != NULL))
        return ease__model_damaged(m, "its factors", err);
    m->latent = l;
    return EASE_OK;
}

static const ease__section_rule sections[] = {
    EASE__COMMON_SECTIONS, {"latent", false}, {"dense", false},
    {"embedding", true},   {"decoder", true}, {0}};

const ease__form ease__form_latent = {
    .name = "latent",
    .number = EASE_STORE_LATENT,
    .trained = &ease__form_latent,
    .store = &ease__store_none,
    .scoring = &ease__scoring_latent,
    .sections = sections,
    .held = latent_held,
    .free = free_latent,
    .write = write_latent,
    .open = open_latent,
};
