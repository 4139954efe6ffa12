/* What the backend cuda predicts on the host: the flops of its products, from which
 * progress comes, and the speed of GPUs. tests/gpu_calls.cpp compares the flops with the
 * products that the plugin submits. */
#include <math.h>

#include "cuda/cost.h"
#include "test.h"

/* Rows of block i, which are the columns of block column i. */
static double height(layout l, int32_t i)
{
    int32_t left = l.padded - i * l.block;

    return left < l.block ? left : l.block;
}

/* Flops of the sweep, block by block, in the order of the table in cuda/sweep.cu. The
 * products of a whole block column begin with its diagonal block. */
static double plain_sweep(layout l)
{
    double sum = 0;

    for (int32_t k = 0; k < l.blocks; k++) {
        double w = height(l, k);

        for (int32_t i = k + 1; i < l.blocks; i++)
            sum += 2 * 2 * height(l, i) * w * w; /* L = A W', -L W */
        for (int32_t i = k + 1; i < l.blocks; i++)
            for (int32_t j = k + 1; j <= i; j++)
                sum += 2 * height(l, i) * height(l, j) * w;
        for (int32_t i = k + 1; i < l.blocks; i++)
            for (int32_t j = 0; j < k; j++)
                sum += 2 * height(l, i) * height(l, j) * w;
        for (int32_t j = 0; j < k; j++)
            sum += 2 * 2 * w * height(l, j) * w; /* R = W A, W' R */
        for (int32_t i = 0; i < k; i++)
            for (int32_t j = 0; j <= i; j++)
                sum += 2 * height(l, i) * height(l, j) * w;
        sum += 2 * w * w * w; /* W' W */
    }
    return sum;
}

static void the_flops_of_the_sweep_are_those_of_its_blocks(test *t)
{
    static const int32_t items[] = {1,     63,    64,    1000,  1024,  1025,  2500,
                                    20108, 41140, 65535, 65536, 91599, 200000};

    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        layout l = layout_of(items[i]);
        double want = plain_sweep(l), n = items[i];

        check_near(t, cost_sweep(l), want, 1e-9 * want);
        check(t, cost_sweep(l) >= n * n * n);
    }
}

/* Diagonal blocks are computed as squares: less of it, the more blocks there are. */
static void the_sweep_takes_little_more_than_the_cube_of_the_items(test *t)
{
    double n = 20108, more = 41140;

    check(t, cost_sweep(layout_of(20108)) < 1.16 * n * n * n);
    check(t, cost_sweep(layout_of(41140)) < 1.08 * more * more * more);
}

/* The same with tiles, whose diagonal ones are passed as squares. */
static double plain_outofcore(int32_t tiles, double edge, int32_t columns)
{
    double sum = 0;

    for (int32_t from = 0; from < tiles; from += columns) {
        int32_t to = tiles - from < columns ? tiles : from + columns;
        double w = (to - from) * edge;

        for (int32_t i = 0; i < tiles; i++)
            if (i < from || i >= to)
                sum += 2 * 2 * edge * w * w;
        for (int32_t i = 0; i < tiles; i++)
            for (int32_t j = 0; j <= i; j++)
                if ((i < from || i >= to) && (j < from || j >= to))
                    sum += 2 * edge * edge * w;
        sum += 2 * w * w * w;
    }
    return sum;
}

static void the_flops_out_of_core_are_those_of_its_tiles(test *t)
{
    for (int32_t tiles = 1; tiles <= 23; tiles++)
        for (int32_t columns = 1; columns <= tiles; columns++) {
            double want = plain_outofcore(tiles, 896, columns);

            check_near(t, cost_outofcore(tiles, 896, columns), want, 1e-9 * want);
        }
}

static void peaks_are_those_of_the_data_sheets(test *t)
{
    /* 132 multiprocessors at 1.83 GHz, 108 at 1.41, 128 at 2.52: TFLOP/s of halves. */
    check_near(t, cost_rates_of(90).halves * 132 * 1.83e-3, 989, 2);
    check_near(t, cost_rates_of(80).halves * 108 * 1.41e-3, 312, 1);
    check_near(t, cost_rates_of(89).halves * 128 * 2.52e-3, 165.2, 0.2);
    check_near(t, cost_rates_of(80).wide * 108 * 1.41e-3, 19.5, 0.1);
}

static void a_gpu_that_is_not_known_is_taken_for_a_slow_one(test *t)
{
    static const int known[] = {75, 80, 86, 89, 90, 100, 103, 120};
    cost_rates other = cost_rates_of(130);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cost_rates r = cost_rates_of(known[i]);

        check_int(t, r.capability, known[i]);
        check(t, other.halves <= r.halves && other.single <= r.single &&
                     other.wide <= r.wide && other.wide > 0);
    }
}

static const test_case cases[] = {
    TEST(the_flops_of_the_sweep_are_those_of_its_blocks),
    TEST(the_sweep_takes_little_more_than_the_cube_of_the_items),
    TEST(the_flops_out_of_core_are_those_of_its_tiles),
    TEST(peaks_are_those_of_the_data_sheets),
    TEST(a_gpu_that_is_not_known_is_taken_for_a_slow_one),
};

TEST_MAIN(cases)
