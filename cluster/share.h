/* A symmetric matrix whose tiles lie in the memory of several processes. */
#ifndef EASE_CLUSTER_SHARE_H
#define EASE_CLUSTER_SHARE_H

#include "gram/gram.h"
#include "group.h"

/* The address space of the whole matrix, of which a process uses only the pages of its
 * own tiles, so that the functions for matrices in memory find them. */
typedef struct share {
    const group *group;
    int rows, columns; /* of the grid of processes */
    ease__tiled t;
    size_t reserved;
} share;

/* Tiles are dealt out in two dimensions, in turn. */
static inline int share_owner(const share *s, int32_t i, int32_t j)
{
    return (int)(i % s->rows) * s->columns + (int)(j % s->columns);
}

static inline bool share_mine(const share *s, int32_t i, int32_t j)
{
    return share_owner(s, i, j) == s->group->rank;
}

/* A share without memory. */
share share_of(const group *g, int32_t n, ease__element element);
/* The tiles that one process has. */
int64_t share_tiles(const share *s, int rank);
/* Reserves address space, of zeros. */
ease_status share_reserve(share *s, ease_error *err);
void share_free(share *s);
/* Converts the tiles of this process from float64 to float32, where they are. */
void share_narrow(share *s, int threads);
/* Copies the lower half of the diagonal tiles of this process to the upper half. */
void share_mirror(const share *s);
/* The diagonal of the matrix, n numbers, in every process. */
void share_diagonal(const share *s, double *diagonal);

#endif
