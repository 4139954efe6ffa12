/* Scores of models of hidden numbers: histories are encoded in blocks, and a block is
 * multiplied with the items' numbers. A block has the same shape whoever asks and
 * however many, empty rows at its end if need be: a product of another shape may round
 * otherwise. */
#include "score/latent.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { ITEMS = 512 }; /* columns that are scored at once */

void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info,
             size_t length);
void spotrs_(const char *uplo, const int *n, const int *nrhs, const float *a,
             const int *lda, float *b, const int *ldb, int *info, size_t length);

/* ---- networks --------------------------------------------------------------------- */

static float length_of(ease_row x)
{
    double sum = 0;

    for (int32_t i = 0; i < x.count; i++)
        sum += x.weights ? (double)x.weights[i] * (double)x.weights[i] : 1;
    return (float)sqrt(sum);
}

static void activate(ease__activation f, float *h, size_t count)
{
    if (f == EASE__TANH)
        for (size_t i = 0; i < count; i++)
            h[i] = tanhf(h[i]);
}

/* The first layer: a sum of few rows. */
static void embed(const ease_model *m, ease_row x, float *h)
{
    const ease__latent *l = &m->latent;
    size_t width = (size_t)l->shape.width[0];
    float length = l->shape.normalize ? length_of(x) : 1;

    memcpy(h, l->dense, width * sizeof(*h));
    for (int32_t i = 0; i < x.count && length > 0; i++)
        m->kernels->add_times(h, l->embedding + (size_t)x.items[i] * width,
                              (x.weights ? x.weights[i] : 1.0f) / length, width);
}

static void run_layers(const ease_model *m, ease__encode_room *room)
{
    const ease__latent_shape *s = &m->latent.shape;
    const float *at = m->latent.dense + s->width[0];
    float *from = room->h, *to = room->other;

    activate((ease__activation)s->activation[0], from,
             (size_t)EASE__HISTORIES * (size_t)s->width[0]);
    for (int32_t l = 1; l < s->layers; l++) {
        int32_t in = s->width[l - 1], out = s->width[l];
        const float *bias = at + (size_t)in * (size_t)out;
        float *spare = from;

        for (int32_t r = 0; r < EASE__HISTORIES; r++)
            memcpy(to + (size_t)r * (size_t)out, bias, (size_t)out * sizeof(*to));
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, EASE__HISTORIES, out, in,
                    1, from, in, at, out, 1, to, out);
        activate((ease__activation)s->activation[l], to,
                 (size_t)EASE__HISTORIES * (size_t)out);
        at = bias + out;
        from = to;
        to = spare;
    }
    room->h = from;
    room->other = to;
}

/* ---- fold-in ---------------------------------------------------------------------- */

/* h = (V'V + sum alpha x v v' + lambda I)^-1 sum (1 + alpha x) v. What does not factor
 * (weights below 0) gives NaN, which is never recommended. */
static void fold_in(const ease_model *m, ease_row x, float *a, float *h)
{
    const ease__latent *l = &m->latent;
    int rank = l->shape.width[0], one = 1, info = 0;
    size_t size = (size_t)rank;

    memcpy(a, l->dense, size * size * sizeof(*a));
    memset(h, 0, size * sizeof(*h));
    for (size_t k = 0; k < size; k++)
        a[k * (size + 1)] += l->shape.lambda;
    for (int32_t i = 0; i < x.count; i++) {
        const float *v = l->decoder + (size_t)x.items[i] * size;
        float more = l->shape.alpha * (x.weights ? x.weights[i] : 1.0f);

        cblas_ssyr(CblasRowMajor, CblasUpper, rank, more, v, 1, a, rank);
        m->kernels->add_times(h, v, 1 + more, size);
    }
    /* The upper half of rows is the lower half of LAPACK's columns. */
    spotrf_("L", &rank, a, &rank, &info, 1);
    if (info == 0)
        spotrs_("L", &rank, &one, a, &rank, h, &rank, &info, 1);
    else
        for (size_t k = 0; k < size; k++)
            h[k] = NAN;
}

/* ---- both ------------------------------------------------------------------------- */

static int32_t widest(const ease__latent_shape *s)
{
    int32_t most = 0;

    for (int32_t l = 0; l < s->layers; l++)
        if (s->width[l] > most)
            most = s->width[l];
    return most;
}

ease_status ease__encode_room_new(const ease_model *m, ease__encode_room *out,
                                  ease_error *err)
{
    const ease__latent_shape *s = &m->latent.shape;
    size_t layer = ease__size_mul(EASE__HISTORIES, (size_t)widest(s));
    size_t square = (size_t)s->width[0] * (size_t)s->width[0];
    size_t other = s->encoder == EASE__FOLD_IN && square > layer ? square : layer;
    ease__encode_room room = {
        .h = ease__alloc_array(layer, sizeof(float)),
        .other = ease__alloc_array(other, sizeof(float)),
        .scores = ease__alloc_array((size_t)EASE__HISTORIES * ITEMS, sizeof(float)),
        .row = ease__alloc_array(ITEMS, sizeof(float)),
    };

    if (!room.h || !room.other || !room.scores || !room.row) {
        ease__encode_room_free(&room);
        return ease__fail(err, EASE_E_NOMEM, "encoding %d histories",
                          (int)EASE__HISTORIES);
    }
    *out = room;
    return EASE_OK;
}

void ease__encode_room_free(ease__encode_room *room)
{
    ease__free(room->h);
    ease__free(room->other);
    ease__free(room->scores);
    ease__free(room->row);
}

ease_status ease__encode_need(const ease_model *m, ease_row history, ease_error *err)
{
    const ease__latent *l = &m->latent;
    size_t rank = (size_t)ease__latent_rank(&l->shape),
           width = (size_t)l->shape.width[0];
    ease_status status = ease__container_unchanged(&m->file, err);

    if (!status)
        status = ease__container_need(&m->file, l->decoder,
                                      (size_t)m->info.items * rank * sizeof(float),
                                      EASE__WHOLE, err);
    for (int32_t i = 0; !status && l->embedding && i < history.count; i++)
        status = ease__container_need(&m->file,
                                      l->embedding + (size_t)history.items[i] * width,
                                      width * sizeof(float), EASE__WHOLE, err);
    return status;
}

void ease__encode(const ease_model *m, const ease_row *histories, int32_t count,
                  ease__encode_room *room)
{
    size_t width = (size_t)m->latent.shape.width[0];

    memset(room->h, 0, EASE__HISTORIES * width * sizeof(*room->h));
    for (int32_t r = 0; r < count; r++) {
        float *h = room->h + (size_t)r * width;

        if (m->latent.shape.encoder == EASE__FOLD_IN)
            fold_in(m, histories[r], room->other, h);
        else
            embed(m, histories[r], h);
    }
    if (m->latent.shape.encoder == EASE__NETWORK)
        run_layers(m, room);
}

int32_t ease__decode(const ease_model *m, ease__encode_room *room, int32_t left)
{
    const ease__latent *l = &m->latent;
    int32_t rank = ease__latent_rank(&l->shape), n = m->info.items;
    int32_t count = n - left > ITEMS ? ITEMS : n - left;

    if (m->base)
        for (int32_t r = 0; r < EASE__HISTORIES; r++)
            memcpy(room->scores + (size_t)r * ITEMS, m->base + left,
                   (size_t)count * sizeof(*room->scores));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, EASE__HISTORIES, count, rank,
                1, room->h, rank, l->decoder + (size_t)left * (size_t)rank, rank,
                m->base ? 1 : 0, room->scores, ITEMS);
    return count;
}

const float *ease__decoded(const ease__encode_room *room, int32_t history)
{
    return room->scores + (size_t)history * ITEMS;
}
