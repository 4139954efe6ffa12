/* Latent models in files. */
#include "model/latent.h"

#include <math.h>

#include "model/model.h"

bool ease__latent_shape_holds(const ease__latent_shape *s)
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

/* ---- files ------------------------------------------------------------------------ */

static ease_status put_matrix(ease__container_writer *w, const char *name,
                              const float *rows, size_t count, ease_error *err)
{
    ease_status status = ease__writer_begin(w, name, err);

    return status ? status : ease__writer_put(w, rows, count * sizeof(*rows), err);
}

ease_status ease__latent_write(const ease__latent *l, int32_t n,
                               ease__container_writer *w, ease_error *err)
{
    const ease__latent_shape *s = &l->shape;
    ease_status status = ease__writer_add(w, "latent", s, sizeof(*s), err);

    if (!status)
        status = ease__writer_add(w, "dense", l->dense,
                                  ease__latent_dense_count(s) * sizeof(*l->dense), err);
    if (!status && l->embedding)
        status = put_matrix(w, "embedding", l->embedding,
                            (size_t)n * (size_t)s->width[0], err);
    if (!status)
        status = put_matrix(w, "decoder", l->decoder,
                            (size_t)n * (size_t)ease__latent_rank(s), err);
    return status;
}

/* NULL unless there are exactly so many floats. */
static const float *take_matrix(const ease__container *file, const char *name,
                                size_t count)
{
    size_t bytes = 0;
    const float *at = ease__container_section(file, name, &bytes);

    return at && bytes == ease__size_mul(count, sizeof(*at)) ? at : NULL;
}

bool ease__latent_take(const ease__container *file, int32_t n, ease__latent *out)
{
    size_t bytes = 0;
    const ease__latent_shape *s = ease__container_section(file, "latent", &bytes);
    ease__latent l;

    if (!s || bytes != sizeof(*s) || !ease__latent_shape_holds(s))
        return false;
    l = (ease__latent){
        .shape = *s,
        .embedding = take_matrix(file, "embedding", (size_t)n * (size_t)s->width[0]),
        .dense = take_matrix(file, "dense", ease__latent_dense_count(s)),
        .decoder = take_matrix(file, "decoder",
                               (size_t)n * (size_t)ease__latent_rank(s)),
    };
    if (!l.dense || !l.decoder ||
        (s->encoder == EASE__NETWORK) != (l.embedding != NULL))
        return false;
    *out = l;
    return true;
}
