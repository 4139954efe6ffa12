/* Changes the items of a symmetric matrix in tiles. */
#include <string.h>

#include "matrix/tiled_change.h"

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Tile t of the order in which tiles lie: (*i, *j). */
static void tile_place(size_t t, int32_t *i, int32_t *j)
{
    int32_t row = 0;

    while (ease__tile_count(row + 1) <= t)
        row++;
    *i = row;
    *j = (int32_t)(t - ease__tile_count(row));
}

void ease__tiled_copy_all(const ease__tiled *from, ease__tiled *to, int threads)
{
    size_t e = (size_t)to->edge;

#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (size_t t = 0; t < ease__tile_count(to->tiles); t++) {
        int32_t i, j;

        tile_place(t, &i, &j);
        memcpy(ease__tile(to, i, j), ease__tile(from, i, j), e * e * sizeof(float));
    }
}

/* Fills tile (i, j), which is zero. */
static void grow_tile(const ease__tiled *from, const double *diagonal,
                      ease__transpose *transpose, ease__tiled *to, int32_t i, int32_t j)
{
    float *tile = ease__tile(to, i, j);
    int32_t e = to->edge;
    ease__window w = {.top = i * e,
                      .bottom = smaller((i + 1) * e, from->n),
                      .left = j * e,
                      .right = smaller((j + 1) * e, from->n)};

    if (w.top < w.bottom && w.left < w.right)
        ease__tiled_copy(from, w, tile, (size_t)e, transpose);
    for (int32_t k = w.top; i == j && k < w.top + e; k++)
        if (k >= from->n)
            tile[(size_t)(k - w.top) * ((size_t)e + 1)] = k < to->n ? (float)diagonal[k]
                                                                    : 1.0f;
}

ease_status ease__tiled_grow(const ease__tiled *from, int32_t items,
                             const double *diagonal, ease__transpose *transpose,
                             int threads, ease__tiled *out, ease_error *err)
{
    ease__tiled to;
    ease_status status = ease__tiled_new(items, EASE__F32, &to, err);

    if (status)
        return status;
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (size_t t = 0; t < ease__tile_count(to.tiles); t++) {
        int32_t i, j;

        tile_place(t, &i, &j);
        grow_tile(from, diagonal, transpose, &to, i, j);
    }
    *out = to;
    return EASE_OK;
}

/* The places of the first item of each row of tiles among the ascending items; the last
 * one is the number of items. */
static void find_starts(const ease__tiled *t, const int32_t *items, int32_t count,
                        int32_t *starts)
{
    int32_t at = 0;

    for (int32_t i = 0; i < t->tiles; i++) {
        while (at < count && items[at] < i * t->edge)
            at++;
        starts[i] = at;
    }
    starts[t->tiles] = count;
}

static void isolate_tile(const ease__tiled *t, const int32_t *items,
                         const int32_t *starts, const double *diagonal, int32_t i,
                         int32_t j)
{
    float *tile = ease__tile(t, i, j);
    size_t e = (size_t)t->edge;

    for (int32_t k = starts[i]; k < starts[i + 1]; k++)
        memset(tile + (size_t)(items[k] - i * t->edge) * e, 0, e * sizeof(*tile));
    for (int32_t k = starts[j]; k < starts[j + 1]; k++) {
        size_t column = (size_t)(items[k] - j * t->edge);

        for (size_t row = 0; row < e; row++)
            tile[row * e + column] = 0;
        if (i == j)
            tile[column * (e + 1)] = (float)diagonal[items[k]];
    }
}

ease_status ease__tiled_isolate(ease__tiled *t, const int32_t *items, int32_t count,
                                const double *diagonal, int threads, ease_error *err)
{
    int32_t *starts;

    if (count == 0)
        return EASE_OK;
    starts = ease__alloc_array((size_t)t->tiles + 1, sizeof(*starts));
    if (!starts)
        return ease__fail(err, EASE_E_NOMEM, "rows of %d tiles", (int)t->tiles);
    find_starts(t, items, count, starts);
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (size_t k = 0; k < ease__tile_count(t->tiles); k++) {
        int32_t i, j;

        tile_place(k, &i, &j);
        isolate_tile(t, items, starts, diagonal, i, j);
    }
    ease__free(starts);
    return EASE_OK;
}
