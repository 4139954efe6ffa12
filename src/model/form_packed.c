/* The packed form of dense models: the lower triangle of the inverse P in tiles, as
 * training computes it; about half as large as rows of float32. */
#include <string.h>

#include "model/model.h"

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

void ease__packed_scale(const ease_model *m, int32_t i, int32_t left, int32_t count,
                        float *row)
{
    const float *scale = m->col_scale + left;

    if (m->row_scale)
        for (int32_t j = 0; j < count; j++)
            row[j] *= m->row_scale[i];
    for (int32_t j = 0; j < count; j++)
        row[j] *= scale[j];
    if (m->info.nonnegative)
        for (int32_t j = 0; j < count; j++)
            row[j] = row[j] > 0 ? row[j] : 0;
    if (i >= left && i - left < count)
        row[i - left] = 0;
}

static void read_packed(const ease_model *m, ease__window w, float *out, size_t ld)
{
    ease__tiled_copy(&m->inverse, w, out, ld, m->kernels->transpose);
    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        ease__packed_scale(m, i, w.left, w.right - w.left, out);
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

int32_t ease__packed_largest(const ease_model *m, const float *tile, int32_t i,
                             int32_t j)
{
    int32_t edge = m->inverse.edge, top = i * edge, left = j * edge, largest = 0;

    for (int32_t r = 0; r < edge && top + r < m->inverse.n; r++) {
        int32_t here = largest_pair(m, tile + (size_t)r * (size_t)edge, top + r, left,
                                    i == j ? r : edge, m->row_scale != NULL,
                                    m->info.nonnegative);

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

/* Above the diagonal, the transposed tile is read. */
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

/* A row of P consists of a tile row up to the diagonal and a tile column below it. Only
 * the tile row is fetched: the tile rows of all rows are the whole matrix. */
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

static const ease__store store_packed = {.read = read_packed,
                                         .take = take_packed,
                                         .need = need_packed,
                                         .largest = largest_packed,
                                         .expect = expect_packed,
                                         .grain = EASE__TILED_GRAIN};

/* ---- memory ---------------------------------------------------------------------- */

static size_t packed_bytes(int32_t n)
{
    return ease__tiled_bytes(n, EASE__F32);
}

static size_t packed_held(const ease_model *m)
{
    /* norms and scales of an item */
    size_t numbers = 2u + (m->row_scale != NULL) + (m->norm_to != NULL);

    return (m->work ? 0 : m->inverse.bytes) +
           numbers * (size_t)m->info.items * sizeof(float);
}

static void free_packed(ease_model *m)
{
    if (m->file.map)
        return;
    ease__tiled_free(&m->inverse);
    if (m->work)
        ease__tilefile_free(m->work);
    ease__free(m->work);
    ease__free_const(m->row_scale);
    ease__free_const(m->col_scale);
    ease__free_const(m->norm);
    ease__free_const(m->norm_to);
}

/* ---- files ----------------------------------------------------------------------- */

static ease_status prepare_packed(ease__saving *s, const char *path, ease_error *err)
{
    if (s->model->form == &ease__form_blended)
        return ease__fail(
            err, EASE_E_ARG,
            "%s: a model of %s has two inverses and cannot be packed: save "
            "it as f16 or f32",
            path, s->model->info.method);
    if (s->model->form != s->form)
        return ease__fail(err, EASE_E_ARG,
                          "%s: a model of rows cannot be packed: packing needs the "
                          "inverse, which it no longer has",
                          path);
    s->params.edge = s->model->inverse.edge;
    return EASE_OK;
}

static ease_status write_tiles(const ease__saving *s, ease_error *err)
{
    const ease__tiled *p = &s->model->inverse;
    size_t tile = (size_t)p->edge * (size_t)p->edge * sizeof(float);
    double done = 0, whole = (double)ease__tile_count(p->tiles);
    ease_status status = ease__writer_begin(s->writer, "weights", err);

    for (int32_t row = 0; !status && row < p->tiles; row++) {
        for (int32_t k = 0; !status && k <= row; k++) {
            status = ease__writer_put(s->writer, ease__tile(p, row, k), tile, err);
            if (!status && ease__progress(s->hooks, "writing", ++done / whole))
                status = ease__cancelled(err);
        }
        ease__model_forget(s->model);
    }
    return status;
}

static ease_status write_small(const ease__saving *s, ease_error *err)
{
    const ease_model *m = s->model;
    ease_status status = ease__save_norm(s, err);

    if (!status)
        status = ease__save_array(s, "row_scale", m->row_scale, sizeof(float), err);
    if (!status)
        status = ease__save_array(s, "col_scale", m->col_scale, sizeof(float), err);
    return status ? status : ease__living_save(s, err);
}

static ease_status write_packed(const ease__saving *s, ease_error *err)
{
    ease_status status = write_small(s, err);

    return status ? status : write_tiles(s, err);
}

static ease_status open_packed(ease_model *m, const ease__model_params *p,
                               ease_error *err)
{
    const void *tiles = ease__take_section(&m->file, "weights", packed_bytes(p->items));
    ease_status status;

    if (p->edge != ease__tile_edge(p->items) || p->stride != 0 || p->unit != 1.0f)
        return ease__model_damaged(m, "its parameters", err);
    status = ease__take_norm(m, err);
    if (!status)
        status = ease__take_floats(m, "row_scale", &m->row_scale, err);
    if (!status)
        status = ease__take_floats(m, "col_scale", &m->col_scale, err);
    if (status)
        return status;
    if (!m->col_scale)
        return ease__model_damaged(m, "col_scale", err);
    if (!tiles)
        return ease__model_damaged(m, "its weights have another size than they should",
                                   err);
    m->inverse = ease__tiled_shape(p->items, p->edge, EASE__F32);
    m->inverse.data = (void *)(uintptr_t)tiles;
    return ease__living_open(m, err);
}

static const ease__section_rule sections[] = {
    EASE__COMMON_SECTIONS, {"norm", false},
    {"norm_to", false},    {"row_scale", false},
    {"col_scale", false},  EASE__LIVING_SECTIONS,
    {"weights", true},     {0}};

const ease__form ease__form_packed = {
    .name = "packed",
    .number = EASE_STORE_PACKED,
    .trained = &ease__form_packed,
    .on_request = true,
    .store = &store_packed,
    .scoring = &ease__scoring_rows,
    .sections = sections,
    .weight_bytes = packed_bytes,
    .held = packed_held,
    .free = free_packed,
    .prepare = prepare_packed,
    .write_small = write_small,
    .write = write_packed,
    .open = open_packed,
};
