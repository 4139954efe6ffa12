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

/* ---- networks -------------------------------------------------------------- */

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

static void pack_rows(ease__encoding *e, int32_t rows, int32_t width)
{
    ease__pack((ease__operand){e->h, ease__padded(width), false}, rows, width, NULL,
               e->packed);
}

static void run_layers(const ease_model *m, int32_t rows, ease__encoding *e)
{
    const ease__latent_shape *s = &m->latent.shape;
    const float *at = m->latent.dense + s->width[0];

    activate((ease__activation)s->activation[0], e->h, rows, s->width[0]);
    for (int32_t l = 1; l < s->layers; l++) {
        int32_t in = s->width[l - 1], out = s->width[l];
        size_t ld = ease__padded(out);
        const float *bias = at + (size_t)in * (size_t)out;

        pack_rows(e, rows, in);
        for (int32_t r = 0; r < rows; r++)
            memcpy(e->h + (size_t)r * ld, bias, (size_t)out * sizeof(*bias));
        ease__product(m->kernels, e->packed, rows, in,
                      (ease__operand){at, (size_t)out, false}, out, e->h, ld);
        activate((ease__activation)s->activation[l], e->h, rows, out);
        at = bias + out;
    }
}

/* ---- fold-in --------------------------------------------------------------- */

/* The matrix += sum alpha x v v', on and above the diagonal, and h += sum (1 + alpha x)
 * v over some items of a history, at most TOGETHER. */
static void add_items(const ease_model *m, ease_row x, ease__encoding *e, float *h)
{
    const ease__latent *l = &m->latent;
    int32_t rank = l->shape.width[0];
    size_t size = (size_t)rank, ld = ease__padded(rank);
    float more[TOGETHER];

    for (int32_t i = 0; i < x.count; i++) {
        const float *v = l->decoder + (size_t)x.items[i] * size;

        more[i] = l->shape.alpha * (x.weights ? x.weights[i] : 1.0f);
        memcpy(e->rows + (size_t)i * size, v, size * sizeof(*v));
        m->kernels->add_times(h, v, 1 + more[i], size);
    }
    ease__pack((ease__operand){e->rows, size, true}, rank, x.count, more, e->packed);
    ease__product_upper(m->kernels, e->packed, rank, x.count,
                        (ease__operand){e->rows, size, false}, e->square, ld);
}

/* h = (V'V + sum alpha x v v' + lambda I)^-1 sum (1 + alpha x) v. What does not factor
 * (weights below 0) gives NaN, which is never recommended. */
static void fold_in(const ease_model *m, ease_row x, ease__encoding *e, float *h)
{
    const ease__latent *l = &m->latent;
    int32_t rank = l->shape.width[0];
    size_t size = (size_t)rank, ld = ease__padded(rank);
    float *a = e->square;

    memset(h, 0, size * sizeof(*h));
    for (size_t k = 0; k < size; k++) {
        memcpy(a + k * ld, l->dense + k * size, size * sizeof(*a));
        a[k * (ld + 1)] += l->shape.lambda;
    }
    for (int32_t from = 0; from < x.count; from += TOGETHER) {
        int32_t count = x.count - from < TOGETHER ? x.count - from : TOGETHER;

        add_items(
            m, (ease_row){x.items + from, x.weights ? x.weights + from : NULL, count},
            e, h);
    }
    if (ease__cholesky(m->kernels, a, rank, e->packed))
        ease__cholesky_solve(m->kernels, a, rank, h);
    else
        for (size_t k = 0; k < size; k++)
            h[k] = NAN;
}

/* ---- both ------------------------------------------------------------------ */

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

static void encoding_free(void *scratch)
{
    ease__encoding *e = scratch;

    if (!e)
        return;
    ease__free(e->h);
    ease__free(e->packed);
    ease__free(e->square);
    ease__free(e->rows);
    ease__free(e->scores);
    ease__free(e->row);
    ease__free(e);
}

static bool allocate(const ease__latent_shape *s, ease__encoding *e)
{
    bool folds = s->encoder == EASE__FOLD_IN;
    int32_t width = widest(s);
    size_t ld = ease__padded(width);
    size_t packed = ease__packed_count(EASE__HISTORIES, width);

    if (folds)
        packed = larger(packed, larger(ease__packed_count(width, TOGETHER),
                                       ease__cholesky_scratch(width)));
    e->h = ease__alloc_zero(EASE__HISTORIES * ld, sizeof(float));
    e->packed = ease__alloc_array(packed, sizeof(float));
    e->square = ease__alloc_zero(folds ? ld * (size_t)width : 1, sizeof(float));
    e->rows = ease__alloc_array(folds ? TOGETHER * (size_t)width : 1, sizeof(float));
    e->scores = ease__alloc_array((size_t)EASE__HISTORIES * ITEMS, sizeof(float));
    e->row = ease__alloc_array(ITEMS, sizeof(float));
    return e->h && e->packed && e->square && e->rows && e->scores && e->row;
}

static ease_status encoding_new(const ease_model *m, void **out, ease_error *err)
{
    ease__encoding *e = ease__alloc_zero(1, sizeof(*e));

    if (!e || !allocate(&m->latent.shape, e)) {
        encoding_free(e);
        return ease__fail(err, EASE_E_NOMEM, "encoding %d histories",
                          (int)EASE__HISTORIES);
    }
    *out = e;
    return EASE_OK;
}

/* Must be called before a history is encoded and decoded: verifies the weights that
 * this reads. */
static ease_status need_history(const ease_model *m, ease_row history, ease_error *err)
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
                  ease__encoding *e)
{
    const ease__latent_shape *s = &m->latent.shape;
    size_t ld = ease__padded(s->width[0]);

    for (int32_t r = 0; r < count; r++)
        if (s->encoder == EASE__FOLD_IN)
            fold_in(m, histories[r], e, e->h + (size_t)r * ld);
        else
            embed(m, histories[r], e->h + (size_t)r * ld);
    if (s->encoder == EASE__NETWORK)
        run_layers(m, count, e);
    pack_rows(e, count, ease__latent_rank(s));
    e->count = count;
}

int32_t ease__decode(const ease_model *m, ease__encoding *e, int32_t left)
{
    const ease__latent *l = &m->latent;
    int32_t rank = ease__latent_rank(&l->shape), n = m->info.items;
    int32_t count = n - left > ITEMS ? ITEMS : n - left;
    size_t bytes = (size_t)count * sizeof(*e->scores);

    for (int32_t r = 0; r < e->count; r++)
        if (m->base)
            memcpy(e->scores + (size_t)r * ITEMS, m->base + left, bytes);
        else
            memset(e->scores + (size_t)r * ITEMS, 0, bytes);
    ease__product(
        m->kernels, e->packed, e->count, rank,
        (ease__operand){l->decoder + (size_t)left * (size_t)rank, (size_t)rank, true},
        count, e->scores, ITEMS);
    return count;
}

const float *ease__decoded(const ease__encoding *e, int32_t history)
{
    return e->scores + (size_t)history * ITEMS;
}

/* ---- the form -------------------------------------------------------------- */

static ease_status score_history(ease_scorer *s, ease_row history, int64_t user,
                                 ease_error *err)
{
    const ease_model *m = s->model;
    int32_t n = m->info.items;
    ease_status status = need_history(m, history, err);

    (void)user;
    if (status)
        return status;
    ease__encode(m, &history, 1, s->scratch);
    for (int32_t left = 0, step; left < n; left += step) {
        step = ease__decode(m, s->scratch, left);
        memcpy(s->scores + left, ease__decoded(s->scratch, 0),
               (size_t)step * sizeof(*s->scores));
    }
    return ease__container_unchanged(&m->file, err);
}

/* The cosine of the items' factors. */
static void cosines(const ease_model *m, int32_t item, float *out)
{
    size_t rank = (size_t)ease__latent_rank(&m->latent.shape);
    const float *own = m->latent.decoder + (size_t)item * rank;

    for (int32_t j = 0; j < m->info.items; j++) {
        const float *v = m->latent.decoder + (size_t)j * rank;
        double dot = 0, left = 0, right = 0, size;

        for (size_t k = 0; k < rank; k++) {
            dot += (double)own[k] * (double)v[k];
            left += (double)own[k] * (double)own[k];
            right += (double)v[k] * (double)v[k];
        }
        size = sqrt(left) * sqrt(right);
        out[j] = size > 0 ? (float)(dot / size) : 0;
    }
}

static ease_status similar(const ease_model *m, int32_t item, float *out,
                           ease_error *err)
{
    ease_status status = need_history(m, (ease_row){0}, err);

    if (status)
        return status;
    cosines(m, item, out);
    return ease__container_unchanged(&m->file, err);
}

const ease__scoring ease__scoring_latent = {
    .scratch_new = encoding_new,
    .scratch_free = encoding_free,
    .score = score_history,
    .many = ease__latent_many,
    .similar = similar,
};
