/* A symmetric matrix as the lower triangle of square tiles.
 *
 * Tile (i, j), i >= j, is edge x edge, row-major and contiguous; tiles lie in the
 * order (0,0) (1,0) (1,1) (2,0) ... Diagonal tiles are kept whole, both halves
 * valid unless a kernel says otherwise. Rows and columns from n on are padding:
 * zero, and one on the diagonal of what is to be factored. The edge depends on n
 * alone, so that a file made on one machine is the same on another.
 *
 * If memory is short, only a band is in memory: tile rows first .. last-1. */
#ifndef EASE_MATRIX_TILED_H
#define EASE_MATRIX_TILED_H

#include "core/core.h"

typedef enum ease__element { EASE__U32, EASE__F32, EASE__F64 } ease__element;

typedef struct ease__tiled {
    int32_t n, edge, tiles; /* tiles a side */
    int32_t first, last;    /* the tile rows that are here; all: 0, tiles */
    ease__element element;
    size_t stride; /* elements from tile to tile */
    void *data;    /* whole pages; NULL: none */
    size_t bytes;
} ease__tiled;

int32_t ease__tile_edge(int32_t n);
size_t ease__element_bytes(ease__element e);
/* Bytes of the tiles; SIZE_MAX on overflow. */
size_t ease__tiled_bytes(int32_t n, ease__element e);
/* The shape of a whole matrix without data, from n, the edge and the element type. */
ease__tiled ease__tiled_shape(int32_t n, int32_t edge, ease__element e);
/* Allocates a matrix of zeros. */
ease_status ease__tiled_new(int32_t n, ease__element e, ease__tiled *out,
                            ease_error *err);
void ease__tiled_free(ease__tiled *t);

/* ---- bands ---------------------------------------------------------------------- */

enum { EASE__TILE_GRAIN = 4096 }; /* bytes: the unit of direct access to a disk */

/* The shape with tiles padded to begin at multiples of EASE__TILE_GRAIN bytes. */
ease__tiled ease__tiled_padded(const ease__tiled *shape);
size_t ease__tile_bytes(const ease__tiled *t); /* from tile to tile */
/* Allocates `bytes` bytes, at least those of the last tile row, for bands of this
 * shape. The first band is set by ease__tiled_next_band. */
ease_status ease__tiled_new_band(const ease__tiled *shape, size_t bytes,
                                 ease__tiled *out, ease_error *err);
/* Moves the band to the tile rows that follow, as many as fit; false after the last
 * one. */
bool ease__tiled_next_band(ease__tiled *t);

static inline size_t ease__tile_count(int32_t tiles)
{
    return (size_t)tiles * ((size_t)tiles + 1) / 2;
}

/* The offset of tile (i, j), i >= j, in elements. */
static inline size_t ease__tile_offset(const ease__tiled *t, int32_t i, int32_t j)
{
    return (ease__tile_count(i) - ease__tile_count(t->first) + (size_t)j) * t->stride;
}

static inline void *ease__tile(const ease__tiled *t, int32_t i, int32_t j)
{
    return (char *)t->data +
           ease__tile_offset(t, i, j) * (t->element == EASE__F64 ? 8 : 4);
}

/* Entry (i, j); i may be smaller than j. */
double ease__tiled_at(const ease__tiled *t, int32_t i, int32_t j);

/* A rectangle: rows top .. bottom-1, columns left .. right-1. */
typedef struct ease__window {
    int32_t top, bottom, left, right;
} ease__window;

/* Transposes a square of EASE__TILED_GRAIN rows: out_ji = in_ij. Reading this many
 * rows of a window together costs no more than reading one, since they share cache
 * lines. */
enum { EASE__TILED_GRAIN = 16 };
typedef void ease__transpose(const float *in, size_t in_ld, float *out, size_t out_ld);

/* Copies a window of a matrix with entries of 4 bytes, whose diagonal tiles are
 * whole; row r of the window goes to out + r * ld. */
void ease__tiled_copy(const ease__tiled *t, ease__window w, void *out, size_t ld,
                      ease__transpose *transpose);

/* Converts F64 in place to F32, or to U32 if all entries are such integers; the
 * second half of the memory is freed. */
void ease__tiled_narrow(ease__tiled *t, ease__element to);

/* Copies the lower half of diagonal tile k, or of all of them, to the upper half. */
void ease__tiled_mirror_tile(const ease__tiled *t, int32_t k);
void ease__tiled_mirror_diagonal(ease__tiled *t, int threads);

#endif
