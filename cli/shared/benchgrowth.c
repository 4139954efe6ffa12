/* Growth of time with size. */
#include <math.h>
#include <stdlib.h>

#include "benching.h"

/* The slope of log(seconds) over log(size), by least squares. */
static double exponent_of(const bench_growth *g)
{
    double x = 0, y = 0, xx = 0, xy = 0;

    for (int i = 0; i < GROWTH_SIZES; i++) {
        double u = log(g->size[i]), v = log(g->seconds[i]);

        x += u;
        y += v;
        xx += u * u;
        xy += u * v;
    }
    return (GROWTH_SIZES * xy - x * y) / (GROWTH_SIZES * xx - x * x);
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* A sparse matrix is enough: the time depends on n alone. */
static int grow_solve(const bench *b, int64_t items, double *best)
{
    ease_interactions *x = NULL;
    double seconds = 0, bytes;
    int code = bench_draw(b, items, items, 10 * items, &x);

    for (int i = 0; !code && i < b->repeat; i++) {
        ease_model *m = NULL;

        code = bench_solve_once(b, x, &m, &seconds, &bytes);
        *best = i ? smaller(*best, seconds) : seconds;
        ease_model_free(m);
    }
    ease_interactions_free(x);
    return code;
}

static int grow_read(const bench *b, int64_t lines, double *best)
{
    ease_interactions *x = NULL;
    double share = (double)lines / (double)b->interactions, seconds = 0;
    char *path = NULL;
    int code = bench_draw(b, (int64_t)((double)b->users * share) + 1, b->items, lines,
                          &x);

    if (!code)
        code = bench_data_file(b, x, &path);
    for (int i = 0; !code && i < b->repeat; i++) {
        code = bench_read_once(b, path, &seconds);
        *best = i ? smaller(*best, seconds) : seconds;
    }
    ease_interactions_free(x);
    free(path);
    return code;
}

/* Sizes up to the given one, each `step` times the one before; best of the runs. */
static int grow(bench *b, const char *name, const char *unit, int64_t largest,
                double step, int (*measure)(const bench *, int64_t, double *))
{
    bench_growth *g = &b->growth[b->growth_count++];
    int code = EXIT_DONE;

    *g = (bench_growth){.name = name, .unit = unit};
    for (int i = 0; !code && i < GROWTH_SIZES; i++) {
        int64_t size = (int64_t)((double)largest / pow(step, GROWTH_SIZES - 1 - i));

        g->size[i] = (double)size;
        code = measure(b, size, &g->seconds[i]);
    }
    g->exponent = exponent_of(g);
    return code;
}

int bench_grow(bench *b)
{
    int code = b->work ? EXIT_DONE : bench_make_work(b);

    if (!code && b->wanted[BENCH_solve])
        code = grow(b, "solve", "items", b->items, 1.5, grow_solve);
    if (!code && b->wanted[BENCH_read])
        code = grow(b, "read", "lines", b->interactions, 2.0, grow_read);
    return code;
}
