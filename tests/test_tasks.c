/* The parallel task graph, with kernels that ThreadSanitizer can see into: in the tsan
 * preset a data race ends this program with an error. The argument "seeded-race" causes
 * one, to prove that it would be detected. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "gram/gram.h"
#include "kernels.h"
#include "models.h"
#include "oracle.h"
#include "test.h"

enum { THREADS = 4 };

static void check_graph(test *t, const ease__tile_kernels *kernels,
                        ease__element element)
{
    double largest, *want;
    ease__tiled a = random_definite(150, 16, element, 3, &largest);
    size_t n = 150;

    want = dense_matrix(&a);
    oracle_invert(want, 150);
    check_status(t, ease__invert_tiles(&a, kernels, THREADS, NULL, NULL), EASE_OK);
    for (int32_t i = 0; i < 150; i++)
        for (int32_t j = 0; j <= i; j++)
            check_near(t, ease__tiled_at(&a, i, j), want[(size_t)i * n + (size_t)j],
                       (element == EASE__F64 ? 1e-12 : 1e-3));
    free(want);
    ease__tiled_free(&a);
}

static void the_task_graph_has_no_race(test *t)
{
    check_graph(t, &plain_f32, EASE__F32);
    check_graph(t, &plain_f64, EASE__F64);
}

static int cancel_soon(void *user, const char *stage, double fraction)
{
    (void)stage;
    (void)fraction;
    return ++*(int *)user == 2;
}

static void cancelling_and_failing_have_no_race(test *t)
{
    double largest;
    int count = 0;
    ease_hooks hooks = {.progress = cancel_soon, .user = &count};
    ease__tiled a = random_definite(640, 32, EASE__F32, 3, &largest);
    ease_status status = ease__invert_tiles(&a, &plain_f32, THREADS, &hooks, NULL);

    check_status(t, status, EASE_E_CANCELLED);
    ease__tiled_free(&a);

    a = random_definite(150, 16, EASE__F32, 3, &largest);
    set_entry(&a, 70, 70, -1);
    check_status(t, ease__invert_tiles(&a, &plain_f32, THREADS, NULL, NULL),
                 EASE_E_NOT_POSDEF);
    ease__tiled_free(&a);
}

static void products_have_no_race(test *t)
{
    double largest, x[150], y[150];
    ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);

    for (int i = 0; i < 150; i++)
        x[i] = 1;
    ease__tiled_times(&a, x, y, THREADS);
    check(t, isfinite(y[0]));
    ease__tiled_free(&a);
}

static void counting_pairs_has_no_race(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = random_interactions(200, 600, 0.05, weighted, 3);
        ease_gram *g = NULL;
        ease__scales scales = {0};

        check_status(t,
                     ease__gram_build(x, weighted ? EASE__F32 : EASE__U32, THREADS,
                                      NULL, &g, NULL),
                     EASE_OK);
        check_status(t, ease__scales_new(g, EASE_GRAM_CORRELATION, &scales, NULL),
                     EASE_OK);
        ease__gram_prepare(g, EASE_GRAM_CORRELATION, &(ease__penalty){.lambda = 1},
                           THREADS, &scales);
        ease__scales_free(&scales);
        ease_gram_free(g);
        free_interactions(x);
    }
}

static void the_sweep_over_a_file_has_no_race(test *t)
{
    for (int columns = 1; columns < 10; columns += 3) {
        double largest;
        ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);
        ease__tilefile f = EASE__TILEFILE_NONE;
        ease__tiled band = {0}, got = {0};
        size_t memory = ease__invert_file_least(&a, THREADS);

        while (ease__invert_file_columns(&a, THREADS, memory) < columns)
            memory += EASE__TILE_GRAIN;
        check_status(t, ease__tilefile_new("/tmp", &a, &f, NULL), EASE_OK);
        check_status(t, ease__tiled_new_band(&a, SIZE_MAX, &band, NULL), EASE_OK);
        check(t, ease__tiled_next_band(&band));
        for (int32_t i = 0; i < a.tiles; i++)
            for (int32_t j = 0; j <= i; j++)
                memcpy(ease__tile(&band, i, j), ease__tile(&a, i, j),
                       ease__tile_bytes(&a));
        check_status(t, ease__tilefile_write_band(&f, &band, THREADS, NULL), EASE_OK);
        check_status(t, ease__invert_file(&f, &plain_f32, memory, THREADS, NULL, NULL),
                     EASE_OK);
        check_status(t, ease__invert_tiles(&a, &plain_f32, THREADS, NULL, NULL),
                     EASE_OK);
        check_status(t, ease__tilefile_map(&f, &got, NULL), EASE_OK);
        for (int32_t i = 0; i < a.n; i++)
            check_near(t, ease__tiled_at(&got, i, 0), ease__tiled_at(&a, i, 0), 0);
        ease__tiled_free(&got);
        ease__tiled_free(&band);
        ease__tiled_free(&a);
        ease__tilefile_free(&f);
    }
}

/* Several stripes of columns, more users than one thread takes, and more than one unit
 * of what is written. */
static void recommending_and_saving_have_no_race(test *t)
{
    enum { ITEMS = 1101, USERS = 1000, K = 7 };
    static ease_row histories[USERS];
    static ease_rec recs[USERS * K];
    static int32_t items[USERS][3], counts[USERS];
    const ease_storage storages[] = {EASE_STORE_F32, EASE_STORE_F16, EASE_STORE_PACKED};
    ease_model *m = random_model(ITEMS, 4, false, EASE_GRAM_COVARIANCE, false);
    ease_recommend_options o;

    for (int u = 0; u < USERS; u++) {
        for (int h = 0; h < 3; h++)
            items[u][h] = u + 40 * h;
        histories[u] = (ease_row){.items = items[u], .count = u % 4};
    }
    ease_recommend_options_init(&o);
    o.k = K;
    o.threads = THREADS;
    check_status(t, ease_model_set_threads(m, THREADS, NULL), EASE_OK);
    for (int s = 0; s < 3; s++) {
        ease_model *back = reopened(t, m, storages[s]);

        check_status(
            t, ease_recommend_many(back, histories, USERS, &o, recs, counts, NULL),
            EASE_OK);
        check_int(t, counts[1], K);
        ease_model_free(back);
    }
    ease_model_free(m);
}

/* ---- the seeded race ---------------------------------------------------------- */

/* Tasks of one step write different tiles, so that this is the only thing they all
 * write, and nothing orders it. */
static int64_t unguarded;

static void racing_trail(void *c, const void *a, const void *b, int32_t e)
{
    unguarded++;
    plain_f32.trail(c, a, b, e);
}

static int run_seeded_race(void)
{
    double largest;
    ease__tile_kernels kernels = plain_f32;
    ease__tiled a = random_definite(150, 16, EASE__F32, 3, &largest);
    ease_status status;

    kernels.trail = racing_trail;
    status = ease__invert_tiles(&a, &kernels, THREADS, NULL, NULL);
    ease__tiled_free(&a);
    printf("%s after %lld products\n", ease_status_text(status), (long long)unguarded);
    return 0;
}

static const test_case cases[] = {
    TEST(the_task_graph_has_no_race),
    TEST(cancelling_and_failing_have_no_race),
    TEST(products_have_no_race),
    TEST(counting_pairs_has_no_race),
    TEST(the_sweep_over_a_file_has_no_race),
    TEST(recommending_and_saving_have_no_race),
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "seeded-race") == 0)
        return run_seeded_race();
    return test_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
