#include "share.h"

#include <string.h>
#include <sys/mman.h>

share share_of(const group *g, int32_t n, ease__element element)
{
    ease__tiled shape = ease__tiled_shape(n, ease__tile_edge(n), element);
    share s = {.group = g, .rows = 1, .t = ease__tiled_padded(&shape)};

    for (int r = 1; r * r <= g->size; r++)
        if (g->size % r == 0)
            s.rows = r;
    s.columns = g->size / s.rows;
    return s;
}

int64_t share_tiles(const share *s, int rank)
{
    int64_t count = 0;

    for (int32_t i = 0; i < s->t.tiles; i++)
        for (int32_t j = 0; j <= i; j++)
            count += share_owner(s, i, j) == rank;
    return count;
}

ease_status share_reserve(share *s, ease_error *err)
{
    void *p = mmap(NULL, s->t.bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return ease__fail(err, EASE_E_NOMEM,
                          "%zu MB of address space for the matrix of %d items",
                          s->t.bytes / 1000000, (int)s->t.n);
    (void)madvise(p, s->t.bytes, MADV_NOHUGEPAGE); /* of tiles of others */
    s->t.data = p;
    s->reserved = s->t.bytes;
    return EASE_OK;
}

void share_free(share *s)
{
    if (s->reserved)
        munmap(s->t.data, s->reserved);
    s->t.data = NULL;
    s->reserved = 0;
}

static void narrow(double *tile, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        float value = (float)tile[k];

        memcpy((char *)tile + k * sizeof(float), &value, sizeof(value));
    }
}

/* A tile of floats has the place of one of doubles, and begins where that began. */
void share_narrow(share *s, int threads)
{
    size_t count = (size_t)s->t.edge * (size_t)s->t.edge;

    if (s->t.element != EASE__F64)
        return;
#pragma omp parallel for schedule(dynamic) num_threads(ease__threads(threads))
    for (int32_t i = 0; i < s->t.tiles; i++)
        for (int32_t j = 0; j <= i; j++)
            if (share_mine(s, i, j))
                narrow(ease__tile(&s->t, i, j), count);
    s->t.element = EASE__F32;
    s->t.stride *= 2;
}

void share_mirror(const share *s)
{
    for (int32_t b = 0; b < s->t.tiles; b++)
        if (share_mine(s, b, b))
            ease__tiled_mirror_tile(&s->t, b);
}

void share_diagonal(const share *s, double *diagonal)
{
    memset(diagonal, 0, (size_t)s->t.n * sizeof(*diagonal));
    for (int32_t i = 0; i < s->t.n; i++)
        if (share_mine(s, i / s->t.edge, i / s->t.edge))
            diagonal[i] = ease__tiled_at(&s->t, i, i);
    group_join(s->group, diagonal, (size_t)s->t.n);
}
