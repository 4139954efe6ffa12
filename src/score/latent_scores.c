/* Scoring with latent models: histories are encoded in blocks, and a block is
 * multiplied by the factors of the items. Products are those of product.h: the scores
 * of a history have the same bits alone and in any block. */
#include "score/latent_scores.h"

#include <math.h>
#include <string.h>

#include "compute/cholesky.h"
#include "compute/exponential.h"

enum {
    ITEMS = 512,   /* columns that are scored at once */
    TOGETHER = 128 /* items of a history that are added to its matrix at once */
};

/* ---- networks --------------------------------------------------------------------- */

static float length_of(ease_row x)
{
    double sum = 0;

    for (int32_t i = 0; i < x.count; i++)
        sum += x.weights ? (double)x.weights[i] * (double)x.weights[i] : 1;
    return (float)sqrt(sum);
}

static void activate(ease__activation f, float *h, int32_t rows, int32_t width)
{
    if (f == EASE__TANH)
        for (int32_t r = 0; r < rows; r++)
            ease__tanh(h + (size_t)r * ease__padded(width), (size_t)width);
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

static void pack_rows(ease__encode_room *room, int32_t rows, int32_t width)
{
    ease__pack((ease__operand){room->h, ease__padded(width), false}, rows, width, NULL,
               room->packed);
}

static void run_layers(const ease_model *m, int32_t rows, ease__encode_room *room)
{
    const ease__latent_shape *s = &m->latent.shape;
    const float *at = m->latent.dense + s->width[0];

    activate((ease__activation)s->activation[0], room->h, rows, s->width[0]);
    for (int32_t l = 1; l < s->layers; l++) {
        int32_t in = s->width[l - 1], out = s->width[l];
        size_t ld = ease__padded(out);
        const float *bias = at + (size_t)in * (size_t)out;

        pack_rows(room, rows, in);
        for (int32_t r = 0; r < rows; r++)
            memcpy(room->h + (size_t)r * ld, bias, (size_t)out * sizeof(*bias));
        ease__product(m->kernels, room->packed, rows, in,
                      (ease__operand){at, (size_t)out, false}, out, room->h, ld);
        activate((ease__activation)s->activation[l], room->h, rows, out);
        at = bias + out;
    }
}

/* ---- fold-in ---------------------------------------------------------------------- */

/* The matrix += sum alpha x v v', on and above the diagonal, and h += sum (1 + alpha x)
 * v over some items of a history, at most TOGETHER. */
static void add_items(const ease_model *m, ease_row x, ease__encode_room *room,
                      float *h)
{
    const ease__latent *l = &m->latent;
    int32_t rank = l->shape.width[0];
    size_t size = (size_t)rank, ld = ease__padded(rank);
    float more[TOGETHER];

    for (int32_t i = 0; i < x.count; i++) {
        const float *v = l->decoder + (size_t)x.items[i] * size;

        more[i] = l->shape.alpha * (x.weights ? x.weights[i] : 1.0f);
        memcpy(room->rows + (size_t)i * size, v, size * sizeof(*v));
        m->kernels->add_times(h, v, 1 + more[i], size);
    }
    ease__pack((ease__operand){room->rows, size, true}, rank, x.count, more,
               room->packed);
    ease__product_upper(m->kernels, room->packed, rank, x.count,
                        (ease__operand){room->rows, size, false}, room->square, ld);
}

/* h = (V'V + sum alpha x v v' + lambda I)^-1 sum (1 + alpha x) v. What does not factor
 * (weights below 0) gives NaN, which is never recommended. */
static void fold_in(const ease_model *m, ease_row x, ease__encode_room *room, float *h)
{
    const ease__latent *l = &m->latent;
    int32_t rank = l->shape.width[0];
    size_t size = (size_t)rank, ld = ease__padded(rank);
    float *a = room->square;

    memset(h, 0, size * sizeof(*h));
    for (size_t k = 0; k < size; k++) {
        memcpy(a + k * ld, l->dense + k * size, size * sizeof(*a));
        a[k * (ld + 1)] += l->shape.lambda;
    }
    for (int32_t from = 0; from < x.count; from += TOGETHER) {
        int32_t count = x.count - from < TOGETHER ? x.count - from : TOGETHER;

        add_items(
            m, (ease_row){x.items + from, x.weights ? x.weights + from : NULL, count},
            room, h);
    }
    if (ease__cholesky(m->kernels, a, rank, room->packed))
        ease__cholesky_solve(m->kernels, a, rank, h);
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

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

ease_status ease__encode_room_new(const ease_model *m, ease__encode_room *out,
                                  ease_error *err)
{
    const ease__latent_shape *s = &m->latent.shape;
    bool folds = s->encoder == EASE__FOLD_IN;
    int32_t width = widest(s);
    size_t ld = ease__padded(width);
    size_t packed = ease__packed_count(EASE__HISTORIES, width);
    ease__encode_room room = {.scores = NULL};

    if (folds)
        packed = larger(packed, larger(ease__packed_count(width, TOGETHER),
                                       ease__cholesky_scratch(width)));
    room.h = ease__alloc_zero(EASE__HISTORIES * ld, sizeof(float));
    room.packed = ease__alloc_array(packed, sizeof(float));
    room.square = ease__alloc_zero(folds ? ld * (size_t)width : 1, sizeof(float));
    room.rows = ease__alloc_array(folds ? TOGETHER * (size_t)width : 1, sizeof(float));
    room.scores = ease__alloc_array((size_t)EASE__HISTORIES * ITEMS, sizeof(float));
    room.row = ease__alloc_array(ITEMS, sizeof(float));
    if (!room.h || !room.packed || !room.square || !room.rows || !room.scores ||
        !room.row) {
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
    ease__free(room->packed);
    ease__free(room->square);
    ease__free(room->rows);
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
    const ease__latent_shape *s = &m->latent.shape;
    size_t ld = ease__padded(s->width[0]);

    for (int32_t r = 0; r < count; r++)
        if (s->encoder == EASE__FOLD_IN)
            fold_in(m, histories[r], room, room->h + (size_t)r * ld);
        else
            embed(m, histories[r], room->h + (size_t)r * ld);
    if (s->encoder == EASE__NETWORK)
        run_layers(m, count, room);
    pack_rows(room, count, ease__latent_rank(s));
    room->count = count;
}

int32_t ease__decode(const ease_model *m, ease__encode_room *room, int32_t left)
{
    const ease__latent *l = &m->latent;
    int32_t rank = ease__latent_rank(&l->shape), n = m->info.items;
    int32_t count = n - left > ITEMS ? ITEMS : n - left;
    size_t bytes = (size_t)count * sizeof(*room->scores);

    for (int32_t r = 0; r < room->count; r++)
        if (m->base)
            memcpy(room->scores + (size_t)r * ITEMS, m->base + left, bytes);
        else
            memset(room->scores + (size_t)r * ITEMS, 0, bytes);
    ease__product(
        m->kernels, room->packed, room->count, rank,
        (ease__operand){l->decoder + (size_t)left * (size_t)rank, (size_t)rank, true},
        count, room->scores, ITEMS);
    return count;
}

const float *ease__decoded(const ease__encode_room *room, int32_t history)
{
    return room->scores + (size_t)history * ITEMS;
}
