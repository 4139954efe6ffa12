/* A panel of B, DEPTH of its rows at a time, is copied into the order in which tiles
 * read it, and stays in the first-level cache while all rows of A are multiplied
 * with it. Storing and loading sums in between does not change their bits. */
#include "compute/product.h"

#include <string.h>

enum { DEPTH = 128 };

size_t ease__padded(int32_t count)
{
    return ((size_t)count + EASE__PANEL - 1) / EASE__PANEL * EASE__PANEL;
}

/* ---- packing ------------------------------------------------------------------ */

size_t ease__packed_count(int32_t rows, int32_t depth)
{
    size_t groups = ((size_t)rows + EASE__TILE_ROWS - 1) / EASE__TILE_ROWS;

    return groups * EASE__TILE_ROWS * (size_t)depth;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

void ease__pack(ease__operand a, int32_t rows, int32_t depth, const float *scale,
                float *packed)
{
    size_t down = a.transposed ? 1 : a.ld, along = a.transposed ? a.ld : 1;

    for (int32_t top = 0; top < rows; top += EASE__TILE_ROWS) {
        size_t height = (size_t)smaller(EASE__TILE_ROWS, rows - top);
        const float *at = a.at + (size_t)top * down;

        for (size_t k = 0; k < (size_t)depth; k++, packed += EASE__TILE_ROWS)
            for (size_t i = 0; i < height; i++)
                packed[i] = at[i * down + k * along] * (scale ? scale[k] : 1);
    }
}

/* Copies a column of a transposed operand to a row of a panel. */
static void gather(const float *column, size_t ld, int32_t width, float *row)
{
    for (int32_t j = 0; j < width; j++)
        row[j] = column[(size_t)j * ld];
}

/* Copies `depth` rows of `width` columns of B to a panel, whose other columns become
 * 0. */
static void pack_panel(const ease__kernels *kernels, ease__operand b, int32_t depth,
                       int32_t width, float *panel)
{
    int32_t whole = width < EASE__PANEL || !b.transposed
                        ? 0
                        : depth - depth % EASE__TRANSPOSE_EDGE;

    if (width < EASE__PANEL)
        memset(panel, 0, (size_t)depth * EASE__PANEL * sizeof(*panel));
    for (int32_t k = 0; k < whole; k += EASE__TRANSPOSE_EDGE)
        for (int32_t j = 0; j < EASE__PANEL; j += EASE__TRANSPOSE_EDGE)
            kernels->transpose(b.at + (size_t)j * b.ld + (size_t)k, b.ld,
                               panel + (size_t)k * EASE__PANEL + (size_t)j,
                               EASE__PANEL);
    for (int32_t k = whole; k < depth; k++)
        if (b.transposed)
            gather(b.at + (size_t)k, b.ld, width, panel + (size_t)k * EASE__PANEL);
        else
            memcpy(panel + (size_t)k * EASE__PANEL, b.at + (size_t)k * b.ld,
                   (size_t)width * sizeof(*panel));
}

/* ---- products ----------------------------------------------------------------- */

static ease__operand from(ease__operand b, int32_t row, int32_t column)
{
    size_t i = (size_t)row, j = (size_t)column;

    b.at += b.transposed ? j * b.ld + i : i * b.ld + j;
    return b;
}

/* Computes one panel of C; b and c begin at its first column. */
static void multiply_panel(const ease__kernels *kernels, const float *packed,
                           int32_t rows, int32_t depth, ease__operand b, int32_t width,
                           float *c, size_t ldc)
{
    _Alignas(64) float panel[DEPTH * EASE__PANEL];

    for (int32_t k = 0, step; k < depth; k += step) {
        step = smaller(DEPTH, depth - k);
        pack_panel(kernels, from(b, k, 0), step, width, panel);
        for (int32_t top = 0; top < rows; top += EASE__TILE_ROWS)
            kernels->tile(packed + (size_t)top * (size_t)depth +
                              (size_t)k * EASE__TILE_ROWS,
                          panel, (size_t)step, smaller(EASE__TILE_ROWS, rows - top),
                          c + (size_t)top * ldc, ldc);
    }
}

void ease__product(const ease__kernels *kernels, const float *packed, int32_t rows,
                   int32_t depth, ease__operand b, int32_t columns, float *c,
                   size_t ldc)
{
    for (int32_t left = 0; left < columns; left += EASE__PANEL)
        multiply_panel(kernels, packed, rows, depth, from(b, 0, left),
                       smaller(EASE__PANEL, columns - left), c + left, ldc);
}

void ease__product_upper(const ease__kernels *kernels, const float *packed,
                         int32_t rows, int32_t depth, ease__operand b, float *c,
                         size_t ldc)
{
    for (int32_t left = 0; left < rows; left += EASE__PANEL) {
        int32_t right = left + smaller(EASE__PANEL, rows - left);

        multiply_panel(kernels, packed, right, depth, from(b, 0, left), right - left,
                       c + left, ldc);
    }
}
