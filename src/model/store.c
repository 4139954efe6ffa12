/* The storage forms: how a rectangle of weights is read from each. */
#include <math.h>
#include <string.h>

#include "model/model.h"

/* ---- rows ----------------------------------------------------------------------- */

static const void *row_at(const ease_model *m, int32_t row)
{
    return (const char *)m->rows + (size_t)row * m->stride;
}

static void read_f32(const ease_model *m, ease__window w, float *out, size_t ld)
{
    size_t bytes = (size_t)(w.right - w.left) * sizeof(float);

    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        memcpy(out, (const float *)row_at(m, i) + w.left, bytes);
}

static void read_f16(const ease_model *m, ease__window w, float *out, size_t ld)
{
    size_t count = (size_t)(w.right - w.left);

    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        m->kernels->from_half((const uint16_t *)row_at(m, i) + w.left, m->unit, out,
                              count);
}

static void take_f32(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_f32(m, w, out, ld);
}

static void take_f16(const ease_model *m, ease__window w, void *out, size_t ld)
{
    size_t bytes = (size_t)(w.right - w.left) * sizeof(uint16_t);
    uint16_t *to = out;

    for (int32_t i = w.top; i < w.bottom; i++, to += ld)
        memcpy(to, (const uint16_t *)row_at(m, i) + w.left, bytes);
}

/* Whole rows are contiguous in the file. */
static ease_status need_rows(const ease_model *m, ease__window w, ease__share share,
                             ease_error *err)
{
    size_t size = m->store->halves ? sizeof(uint16_t) : sizeof(float);
    size_t left = (size_t)w.left * size, right = (size_t)w.right * size;
    ease_status status = EASE_OK;

    if (w.left == 0 && w.right == m->info.items)
        return ease__container_need(&m->file, row_at(m, w.top),
                                    (size_t)(w.bottom - w.top) * m->stride, share, err);
    for (int32_t i = w.top; !status && i < w.bottom; i++)
        status = ease__container_need(&m->file, (const char *)row_at(m, i) + left,
                                      right - left, share, err);
    return status;
}

static void expect_rows(const ease_model *m, int32_t top, int32_t bottom)
{
    ease__container_expect(&m->file, row_at(m, top),
                           (size_t)(bottom - top) * m->stride);
}

/* ---- packed: P, of which one triangle of tiles is there -------------------------- */

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static void read_packed(const ease_model *m, ease__window w, float *out, size_t ld)
{
    int32_t count = w.right - w.left;
    const float *scale = m->col_scale + w.left;

    ease__tiled_copy(&m->inverse, w, out, ld, m->kernels->transpose);
    for (int32_t i = w.top; i < w.bottom; i++, out += ld) {
        if (m->row_scale)
            for (int32_t j = 0; j < count; j++)
                out[j] *= m->row_scale[i];
        for (int32_t j = 0; j < count; j++)
            out[j] *= scale[j];
        if (m->info.nonnegative)
            for (int32_t j = 0; j < count; j++)
                out[j] = out[j] > 0 ? out[j] : 0;
        if (i >= w.left && i < w.right)
            out[i - w.left] = 0;
    }
}

/* The bits of |weight|, 0 for what is not finite; floats above 0 are ordered as their
 * bits are. */
static inline int32_t size_bits(float weight, bool nonnegative)
{
    int32_t bits;

    memcpy(&bits, &weight, sizeof(bits));
    bits = nonnegative && bits < 0 ? 0 : bits & 0x7fffffff;
    return bits < 0x7f800000 ? bits : 0;
}

/* P_ij gives W_ij and W_ji, made as read_packed makes them. */
static inline int32_t largest_pair(const ease_model *m, const float *p, int32_t i,
                                   int32_t left, int32_t count, bool scaled,
                                   bool nonnegative)
{
    const float *scale = m->col_scale + left,
                *rows = scaled ? m->row_scale + left : NULL;
    float column = m->col_scale[i], row = scaled ? m->row_scale[i] : 1;
    int32_t largest = 0;

    for (int32_t j = 0; j < count; j++) {
        int32_t here = size_bits(p[j] * row * scale[j], nonnegative);
        int32_t mirror = size_bits(p[j] * (scaled ? rows[j] : 1) * column, nonnegative);

        here = mirror > here ? mirror : here;
        largest = here > largest ? here : largest;
    }
    return largest;
}

/* From the rows as far as the diagonal, in the order in which they lie in memory. */
static int32_t largest_packed(const ease_model *m, int32_t top, int32_t bottom)
{
    const ease__tiled *t = &m->inverse;
    bool nonnegative = m->info.nonnegative;
    int32_t largest = 0;

    for (int32_t b = 0; b * (int64_t)t->edge < bottom; b++)
        for (int32_t i = top; i < bottom; i++) {
            int32_t left = b * t->edge, count = smaller(i - left, t->edge), here;
            const float *p;

            if (count <= 0)
                continue;
            p = (const float *)ease__tile(t, i / t->edge, b) +
                (size_t)(i % t->edge) * (size_t)t->edge;
            here = m->row_scale
                       ? largest_pair(m, p, i, left, count, true, nonnegative)
                       : largest_pair(m, p, i, left, count, false, nonnegative);
            largest = here > largest ? here : largest;
        }
    return largest;
}

/* Verifies whole rows of a tile: a window of some columns reads all rows anyway. */
static ease_status need_tile(const ease_model *m, int32_t i, int32_t j, int32_t top,
                             int32_t bottom, ease__share share, ease_error *err)
{
    const ease__tiled *t = &m->inverse;
    size_t edge = (size_t)t->edge;
    int32_t first = top - i * t->edge > 0 ? top - i * t->edge : 0;
    int32_t last = smaller(bottom - i * t->edge, t->edge);

    return ease__container_need(
        &m->file, (const float *)ease__tile(t, i, j) + (size_t)first * edge,
        (size_t)(last - first) * edge * sizeof(float), share, err);
}

/* Above the diagonal the tile's mirror image is read. */
static ease_status need_packed(const ease_model *m, ease__window w, ease__share share,
                               ease_error *err)
{
    int32_t e = m->inverse.edge;
    ease_status status = EASE_OK;

    for (int32_t i = w.top / e; !status && i * (int64_t)e < w.bottom; i++)
        for (int32_t j = w.left / e; !status && j * (int64_t)e < w.right; j++)
            status = i >= j ? need_tile(m, i, j, w.top, w.bottom, share, err)
                            : need_tile(m, j, i, w.left, w.right, share, err);
    return status;
}

static void take_packed(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_packed(m, w, out, ld);
}

/* A row lies in a tile row and in a column of tiles: that of the lower half is fetched,
 * which for all rows is everything. */
static void expect_packed(const ease_model *m, int32_t top, int32_t bottom)
{
    const ease__tiled *p = &m->inverse;
    size_t edge = (size_t)p->edge;

    for (int32_t i = top / p->edge; i * (int64_t)p->edge < bottom; i++) {
        int32_t first = top - i * p->edge > 0 ? top - i * p->edge : 0;
        int32_t last = smaller(bottom - i * p->edge, p->edge);

        for (int32_t j = 0; j <= i; j++)
            ease__container_expect(
                &m->file, (const float *)ease__tile(p, i, j) + (size_t)first * edge,
                (size_t)(last - first) * edge * sizeof(float));
    }
}

static void read_none(const ease_model *m, ease__window w, float *out, size_t ld)
{
    (void)m;
    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        memset(out, 0, (size_t)(w.right - w.left) * sizeof(float));
}

static void take_none(const ease_model *m, ease__window w, void *out, size_t ld)
{
    read_none(m, w, out, ld);
}

static ease_status need_none(const ease_model *m, ease__window w, ease__share share,
                             ease_error *err)
{
    (void)m, (void)w, (void)share, (void)err;
    return EASE_OK;
}

static void expect_none(const ease_model *m, int32_t top, int32_t bottom)
{
    (void)m, (void)top, (void)bottom;
}

const ease__store ease__store_f32 = {.read = read_f32,
                                     .take = take_f32,
                                     .need = need_rows,
                                     .expect = expect_rows,
                                     .grain = 1};
const ease__store ease__store_f16 = {.read = read_f16,
                                     .take = take_f16,
                                     .need = need_rows,
                                     .expect = expect_rows,
                                     .halves = true,
                                     .grain = 1};
const ease__store ease__store_packed = {.read = read_packed,
                                        .take = take_packed,
                                        .need = need_packed,
                                        .largest = largest_packed,
                                        .expect = expect_packed,
                                        .grain = EASE__TILED_GRAIN};
const ease__store ease__store_none = {.read = read_none,
                                      .take = take_none,
                                      .need = need_none,
                                      .expect = expect_none,
                                      .grain = 1,
                                      .empty = true};

/* ---- what is made of them ---------------------------------------------------------
 */

enum { PIECE = 1024 };

void ease__model_add_row(const ease_model *m, int32_t item, float weight, int32_t from,
                         int32_t to, float *scores)
{
    float scratch[PIECE];

    while (from < to) {
        int32_t end = to - from > PIECE ? from + PIECE : to;
        size_t count = (size_t)(end - from);
        const float *piece = scratch;

        if (m->info.storage == EASE_STORE_F32)
            piece = (const float *)row_at(m, item) + from;
        else
            m->store->read(m, (ease__window){item, item + 1, from, end}, scratch,
                           PIECE);
        if (weight == 1.0f)
            m->kernels->add(scores, piece, count);
        else
            m->kernels->add_times(scores, piece, weight, count);
        scores += count;
        from = end;
    }
}

float ease__model_weight(const ease_model *m, int32_t i, int32_t j)
{
    float weight;

    m->store->read(m, (ease__window){i, i + 1, j, j + 1}, &weight, 1);
    return weight;
}

ease_status ease__model_need(const ease_model *m, ease__window w, ease_error *err)
{
    ease_status status = ease__container_unchanged(&m->file, err);

    return status ? status : m->store->need(m, w, EASE__WHOLE, err);
}

ease_status ease__model_need_history(const ease_model *m, ease_row history,
                                     ease_error *err)
{
    ease_status status = ease__container_unchanged(&m->file, err);

    for (int32_t h = 0; m->stride && h < history.count; h++)
        ease__container_fetch(&m->file, row_at(m, history.items[h]), m->stride);
    for (int32_t h = 0; !status && h < history.count; h++) {
        int32_t i = history.items[h];

        status = m->store->need(m, (ease__window){i, i + 1, 0, m->info.items},
                                EASE__WHOLE, err);
    }
    return status;
}

ease_status ease_model_rows(const ease_model *m, const float **rows, size_t *stride,
                            ease_error *err)
{
    ease_status status;

    if (!m || !rows || !stride)
        return ease__fail(err, EASE_E_ARG, "a model is required");
    if (m->store != &ease__store_f32) {
        *rows = NULL;
        return EASE_OK;
    }
    status = ease__container_need_all(&m->file, m->threads, NULL, err);
    if (!status)
        status = ease__container_unchanged(&m->file, err);
    if (status)
        return status;
    ease__container_lend(&m->file);
    *stride = m->stride;
    *rows = m->rows;
    return EASE_OK;
}

ease_status ease_model_row(const ease_model *m, int32_t item, float *out,
                           ease_error *err)
{
    int32_t n = m->info.items;
    ease__window w = {.top = item, .right = n};
    ease_status status;

    if (item < 0 || item >= n) {
        for (int32_t j = 0; j < n; j++)
            out[j] = NAN;
        return EASE_OK;
    }
    w.bottom = item + 1;
    status = ease__model_need(m, w, err);
    if (status)
        return status;
    m->store->read(m, w, out, 0);
    return ease__container_unchanged(&m->file, err);
}
