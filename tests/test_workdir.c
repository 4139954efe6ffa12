/* Matrices in a file of tiles: the same bits as in memory. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data.h"
#include "matrix/pipeline.h"
#include "solve/solve.h"
#include "test.h"

/* ---- files of tiles ------------------------------------------------------------------
 */

static const char *work_dir(void)
{
    const char *dir = test_path("work");

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        abort();
    return dir;
}

static ease__tilefile file_of(test *t, const ease__tiled *a)
{
    ease__tilefile f = EASE__TILEFILE_NONE;
    void *tile;

    check_status(t, ease__tilefile_new(work_dir(), a, &f, NULL), EASE_OK);
    tile = aligned_alloc(EASE__TILE_GRAIN, ease__tile_bytes(&f.shape));
    memset(tile, 0, ease__tile_bytes(&f.shape));
    for (int32_t i = 0; i < a->tiles; i++)
        for (int32_t j = 0; j <= i; j++) {
            memcpy(tile, ease__tile(a, i, j), ease__tile_bytes(a));
            check_status(t, ease__tilefile_write(&f, i, j, 1, tile, NULL), EASE_OK);
        }
    free(tile);
    return f;
}

/* The lower triangle, without the upper halves of diagonal tiles. */
static bool same_bits(const ease__tiled *a, const ease__tiled *b)
{
    size_t size = ease__element_bytes(a->element), e = (size_t)a->edge;

    for (int32_t i = 0; i < a->tiles; i++)
        for (int32_t j = 0; j <= i; j++)
            for (size_t r = 0; r < e; r++)
                if (memcmp((char *)ease__tile(a, i, j) + r * e * size,
                           (char *)ease__tile(b, i, j) + r * e * size,
                           (i == j ? r + 1 : e) * size) != 0)
                    return false;
    return true;
}

/* What memory holds a cross of so many columns, exactly. */
static size_t memory_for(const ease__tiled *a, int32_t columns, int threads)
{
    size_t memory = ease__invert_file_least(a, threads), step = EASE__TILE_GRAIN;

    while (ease__invert_file_columns(a, threads, memory) < columns)
        memory += step;
    return memory;
}

static void check_invert(test *t, const ease__tiled *a, const ease__tiled *want,
                         int32_t columns, int threads)
{
    const ease__tile_kernels *kernels = a->element == EASE__F64 ? &ease__blas_f64
                                                                : &ease__blas_f32;
    ease__tilefile f = file_of(t, a);
    ease__tiled got;

    check_status(t,
                 ease__invert_file(&f, kernels, memory_for(a, columns, threads),
                                   threads, NULL, NULL),
                 EASE_OK);
    check_status(t, ease__tilefile_map(&f, &got, NULL), EASE_OK);
    if (!check(t, same_bits(want, &got)))
        printf("  %d items, edge %d, %d columns, %d threads\n", a->n, a->edge, columns,
               threads);
    ease__tiled_free(&got);
    ease__tilefile_free(&f);
}

static void inverses_have_the_bits_of_memory(test *t)
{
    static const struct {
        int32_t n, edge;
        ease__element element;
    } sizes[] = {{150, 16, EASE__F32}, {150, 16, EASE__F64}, {30, 16, EASE__F32},
                 {16, 16, EASE__F32},  {431, 48, EASE__F32}, {300, 64, EASE__F64}};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        double largest;
        ease__tiled a = random_definite(sizes[s].n, sizes[s].edge, sizes[s].element, 3,
                                        &largest);
        ease__tiled want = random_definite(sizes[s].n, sizes[s].edge, sizes[s].element,
                                           3, &largest);

        check_status(t,
                     ease__invert_tiles(&want,
                                        a.element == EASE__F64 ? &ease__blas_f64
                                                               : &ease__blas_f32,
                                        2, NULL, NULL),
                     EASE_OK);
        for (int32_t columns = 1; columns <= a.tiles; columns++)
            for (int threads = 1; threads <= 4; threads += columns == 3 ? 1 : 3)
                check_invert(t, &a, &want, columns, threads);
        ease__tiled_free(&a);
        ease__tiled_free(&want);
    }
}

static const test_case cases[] = {
    TEST(inverses_have_the_bits_of_memory),
};

TEST_MAIN(cases)
