#include "matrix/tiled.h"

#include <string.h>

/* Edges are multiples of GRAIN: whole vectors and cache lines in each row. */
enum { GRAIN = 16 };

/* The bounds of the edge by n. Products of tiles get faster up to an edge of some
 * 640, and slower from 1024 on; with few tiles a side, the work that is not a plain
 * product counts for more, and so does the padding. */
static const struct {
    int32_t from, least, most;
} edges[] = {{12288, 640, 896}, {4096, 512, 640}, {0, 512, 512}};

/* Of the edges within the bounds the one with the least padding, and of these the
 * largest: padding costs time by its cube. */
int32_t ease__tile_edge(int32_t n)
{
    int64_t best = GRAIN, least_size = INT64_MAX;
    int row = 0;

    while (n < edges[row].from)
        row++;
    for (int64_t tiles = (n + (int64_t)edges[row].most - 1) / edges[row].most;
         tiles > 0 && tiles <= (n + (int64_t)edges[row].least - 1) / edges[row].least;
         tiles++) {
        int64_t edge = ((n + tiles - 1) / tiles + GRAIN - 1) / GRAIN * GRAIN;

        if (tiles * edge < least_size) {
            least_size = tiles * edge;
            best = edge;
        }
    }
    return (int32_t)best;
}

size_t ease__element_bytes(ease__element e)
{
    return e == EASE__F64 ? 8 : 4;
}

static int32_t tiles_a_side(int32_t n, int32_t edge)
{
    return (int32_t)(((int64_t)n + edge - 1) / edge);
}

size_t ease__tiled_bytes(int32_t n, ease__element e)
{
    int32_t edge = ease__tile_edge(n);
    size_t tile = (size_t)edge * (size_t)edge * ease__element_bytes(e);

    return ease__size_mul(ease__tile_count(tiles_a_side(n, edge)), tile);
}

ease__tiled ease__tiled_shape(int32_t n, int32_t edge, ease__element e)
{
    ease__tiled t = {
        .n = n,
        .edge = edge,
        .tiles = tiles_a_side(n, edge),
        .element = e,
        .stride = (size_t)edge * (size_t)edge,
    };

    t.last = t.tiles;
    t.bytes = ease__size_mul(ease__tile_count(t.tiles), ease__tile_bytes(&t));
    return t;
}

ease_status ease__tiled_new(int32_t n, ease__element e, ease__tiled *out,
                            ease_error *err)
{
    ease__tiled t = ease__tiled_shape(n, ease__tile_edge(n), e);

    t.data = ease__alloc_pages(t.bytes);
    if (!t.data)
        return ease__fail(err, EASE_E_NOMEM, "%zu MB for the matrix of %d items",
                          t.bytes / 1000000, (int)n);
    *out = t;
    return EASE_OK;
}

void ease__tiled_free(ease__tiled *t)
{
    ease__free_pages(t->data, t->bytes);
    *t = (ease__tiled){0};
}

/* ---- bands ---------------------------------------------------------------------- */

size_t ease__tile_bytes(const ease__tiled *t)
{
    return t->stride * ease__element_bytes(t->element);
}

ease__tiled ease__tiled_padded(const ease__tiled *shape)
{
    ease__tiled t = *shape;
    size_t grain = EASE__TILE_GRAIN / ease__element_bytes(t.element);

    t.stride = ((size_t)t.edge * (size_t)t.edge + grain - 1) / grain * grain;
    t.bytes = ease__size_mul(ease__tile_count(t.tiles), ease__tile_bytes(&t));
    t.data = NULL;
    return t;
}

ease_status ease__tiled_new_band(const ease__tiled *shape, size_t bytes,
                                 ease__tiled *out, ease_error *err)
{
    ease__tiled t = ease__tiled_padded(shape);

    t.first = t.last = 0;
    if (t.bytes > bytes)
        t.bytes = bytes;
    t.data = ease__alloc_pages(t.bytes);
    if (!t.data)
        return ease__fail(err, EASE_E_NOMEM, "%zu MB for rows of the matrix",
                          t.bytes / 1000000);
    *out = t;
    return EASE_OK;
}

bool ease__tiled_next_band(ease__tiled *t)
{
    size_t most = t->bytes / ease__tile_bytes(t);

    t->first = t->last;
    while (t->last < t->tiles &&
           ease__tile_count(t->last + 1) - ease__tile_count(t->first) <= most)
        t->last++;
    return t->first < t->last;
}

/* ---- entries -------------------------------------------------------------------- */

static size_t place(const ease__tiled *t, int32_t i, int32_t j)
{
    size_t row = (size_t)(i % t->edge), column = (size_t)(j % t->edge);

    return ease__tile_offset(t, i / t->edge, j / t->edge) + row * (size_t)t->edge +
           column;
}

double ease__tiled_at(const ease__tiled *t, int32_t i, int32_t j)
{
    size_t at = i >= j ? place(t, i, j) : place(t, j, i);

    switch (t->element) {
    case EASE__U32:
        return (double)((const uint32_t *)t->data)[at];
    case EASE__F32:
        return (double)((const float *)t->data)[at];
    case EASE__F64:
        break;
    }
    return ((const double *)t->data)[at];
}

/* Converts through small buffers, front to back: what is written never reaches what
 * is still to be read. */
void ease__tiled_narrow(ease__tiled *t, ease__element to)
{
    enum { CHUNK = 1024, PAGE = 4096 };
    double wide[CHUNK];
    uint32_t narrow[CHUNK];
    size_t count = t->bytes / sizeof(double), keep = count * sizeof(float);
    size_t whole = (keep + PAGE - 1) / PAGE * PAGE;
    char *data = t->data;

    for (size_t at = 0; at < count; at += CHUNK) {
        size_t part = count - at < CHUNK ? count - at : CHUNK;

        memcpy(wide, data + at * sizeof(double), part * sizeof(double));
        for (size_t i = 0; i < part; i++) {
            float rounded = (float)wide[i];

            if (to == EASE__U32)
                narrow[i] = (uint32_t)wide[i];
            else
                memcpy(&narrow[i], &rounded, sizeof(rounded));
        }
        memcpy(data + at * sizeof(float), narrow, part * sizeof(float));
    }
    if (whole < t->bytes)
        ease__free_pages(data + whole, t->bytes - whole);
    t->bytes = keep;
    t->element = to;
}

void ease__tiled_mirror_tile(const ease__tiled *t, int32_t k)
{
    size_t e = (size_t)t->edge;
    double *wide = ease__tile(t, k, k);
    uint32_t *narrow = ease__tile(t, k, k); /* copies bits of any 4-byte type */

    for (size_t i = 0; i < e; i++)
        for (size_t j = i + 1; j < e; j++) {
            if (t->element == EASE__F64)
                wide[i * e + j] = wide[j * e + i];
            else
                narrow[i * e + j] = narrow[j * e + i];
        }
}

void ease__tiled_mirror_diagonal(ease__tiled *t, int threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (int32_t k = t->first; k < t->last; k++)
        ease__tiled_mirror_tile(t, k);
}

/* ---- windows ------------------------------------------------------------------ */

enum { BLOCK = EASE__TILED_GRAIN };

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Copies a window that lies within a tile. */
static void copy_straight(const float *tile, size_t edge, ease__window w, float *out,
                          size_t ld)
{
    size_t bytes = (size_t)(w.right - w.left) * sizeof(float);

    for (int32_t i = w.top; i < w.bottom; i++, out += ld)
        memcpy(out, tile + (size_t)i * edge + (size_t)w.left, bytes);
}

/* Transposes a corner that is smaller than a block. */
static void transpose_part(const float *in, size_t in_ld, int32_t rows, int32_t columns,
                           float *out, size_t out_ld)
{
    for (int32_t j = 0; j < columns; j++)
        for (int32_t i = 0; i < rows; i++)
            out[(size_t)j * out_ld + (size_t)i] = in[(size_t)i * in_ld + (size_t)j];
}

/* Copies a window of the upper triangle from the tile below the diagonal: entry (i,
 * j) is at (j, i). */
static void copy_transposed(ease__transpose *transpose, const float *tile, size_t edge,
                            ease__window w, float *out, size_t ld)
{
    for (int32_t top = w.top; top < w.bottom; top += BLOCK)
        for (int32_t left = w.left; left < w.right; left += BLOCK) {
            const float *in = tile + (size_t)left * edge + (size_t)top;
            float *to = out + (size_t)(top - w.top) * ld + (size_t)(left - w.left);
            int32_t rows = smaller(BLOCK, w.right - left);
            int32_t columns = smaller(BLOCK, w.bottom - top);

            if (rows == BLOCK && columns == BLOCK)
                transpose(in, edge, to, ld);
            else
                transpose_part(in, edge, rows, columns, to, ld);
        }
}

void ease__tiled_copy(const ease__tiled *t, ease__window w, void *out, size_t ld,
                      ease__transpose *transpose)
{
    int32_t e = t->edge;
    size_t edge = (size_t)e;

    for (int32_t i = w.top / e; i * (int64_t)e < w.bottom; i++)
        for (int32_t j = w.left / e; j * (int64_t)e < w.right; j++) {
            int32_t top = i * e, left = j * e; /* both below n */
            ease__window part = {
                .top = w.top > top ? w.top - top : 0,
                .bottom = smaller(w.bottom - top, e),
                .left = w.left > left ? w.left - left : 0,
                .right = smaller(w.right - left, e),
            };
            float *to = (float *)out + (size_t)(top + part.top - w.top) * ld +
                        (size_t)(left + part.left - w.left);

            if (i >= j)
                copy_straight(ease__tile(t, i, j), edge, part, to, ld);
            else
                copy_transposed(transpose, ease__tile(t, j, i), edge, part, to, ld);
        }
}
