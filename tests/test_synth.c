/* Synthetic data: exact counts, full coverage, long tails, tastes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/interactions.h"
#include "test.h"

static ease_interactions *make(test *t, int64_t users, int32_t items, int64_t count,
                               uint64_t seed, int threads)
{
    ease_synth_options o;
    ease_interactions *x = NULL;
    ease_error err = {0};

    ease_synth_options_init(&o);
    o.users = users;
    o.items = items;
    o.interactions = count;
    o.seed = seed;
    o.threads = threads;
    check_status(t, ease_interactions_synth(&o, &x, &err), EASE_OK);
    return x;
}

/* Every promise of the header, for one shape. */
static void check_shape(test *t, int64_t users, int32_t items, int64_t count)
{
    ease_interactions *x = make(t, users, items, count, 7, 2);
    char *seen = calloc((size_t)items, 1);
    int64_t total = 0, empty = 0, unordered = 0, missing = 0;

    for (int64_t u = 0; x && u < users; u++) {
        ease_row row = ease_interactions_row(x, u);

        total += row.count;
        empty += row.count == 0;
        for (int32_t i = 0; i < row.count; i++) {
            unordered += i > 0 && row.items[i] <= row.items[i - 1];
            seen[row.items[i]] = 1;
        }
    }
    for (int32_t i = 0; i < items; i++)
        missing += !seen[i];
    check_int(t, total, count);
    check_int(t, empty, 0);
    check_int(t, unordered, 0);
    check_int(t, missing, 0);
    free(seen);
    ease_interactions_free(x);
}

static void every_shape_has_exactly_its_pairs(test *t)
{
    check_shape(t, 1, 1, 1);
    check_shape(t, 1, 50, 50);
    check_shape(t, 50, 1, 50);
    check_shape(t, 40, 30, 40);
    check_shape(t, 30, 40, 40);
    check_shape(t, 30, 40, 1200); /* every pair */
    check_shape(t, 30, 40, 1199);
    check_shape(t, 1000, 300, 20000);
    check_shape(t, 300, 1000, 200000);
    check_shape(t, 5000, 2000, 5000);
}

static void the_same_seed_gives_the_same_pairs_at_any_thread_count(test *t)
{
    ease_interactions *a = make(t, 2000, 500, 40000, 3, 1);
    ease_interactions *b = make(t, 2000, 500, 40000, 3, 5);
    ease_interactions *c = make(t, 2000, 500, 40000, 4, 5);
    size_t bytes = 40000 * sizeof(*a->cols);

    check(t, a && b && memcmp(a->cols, b->cols, bytes) == 0);
    check(t, a && c && memcmp(a->cols, c->cols, bytes) != 0);
    ease_interactions_free(a);
    ease_interactions_free(b);
    ease_interactions_free(c);
}

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* The share of all interactions that the top tenth has. */
static double top_tenth(int64_t *counts, int64_t n)
{
    double top = 0, all = 0;

    qsort(counts, (size_t)n, sizeof(*counts), descending);
    for (int64_t i = 0; i < n; i++) {
        all += (double)counts[i];
        top += i < n / 10 ? (double)counts[i] : 0;
    }
    return top / all;
}

static void users_and_items_are_long_tailed(test *t)
{
    ease_interactions *x = make(t, 5000, 1000, 200000, 1, 0);
    int64_t *users = calloc(5000, sizeof(*users)),
            *items = calloc(1000, sizeof(*items));

    for (int64_t u = 0; x && u < 5000; u++) {
        ease_row row = ease_interactions_row(x, u);

        users[u] = row.count;
        for (int32_t i = 0; i < row.count; i++)
            items[row.items[i]]++;
    }
    check(t, top_tenth(users, 5000) > 0.3);
    check(t, top_tenth(items, 1000) > 0.3);
    free(users);
    free(items);
    ease_interactions_free(x);
}

static void impossible_shapes_are_refused(test *t)
{
    static const int64_t shapes[][3] = {{10, 10, 9}, {10, 10, 101}, {0, 1, 1},
                                        {1, 0, 1},   {1, 1, 0},     {3, 20, 19}};

    ease_synth_options many;

    ease_synth_options_init(&many);
    many.users = many.items = 1;
    many.interactions = 1;
    many.threads = 100000;
    check_status(t, ease_interactions_synth(&many, &(ease_interactions *){NULL}, NULL),
                 EASE_E_ARG);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        ease_synth_options o;
        ease_interactions *x = NULL;

        ease_synth_options_init(&o);
        o.users = shapes[i][0];
        o.items = (int32_t)shapes[i][1];
        o.interactions = shapes[i][2];
        check_status(t, ease_interactions_synth(&o, &x, NULL), EASE_E_ARG);
    }
}

static int cancel_at_once(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)stage;
    (void)fraction;
    return 1;
}

static void synth_can_be_cancelled_and_starved(test *t)
{
    ease_synth_options o;
    ease_interactions *x = NULL;
    ease_status status;
    int n = 0;

    ease_synth_options_init(&o);
    o.users = 300;
    o.items = 40;
    o.interactions = 2000;
    o.hooks = &(ease_hooks){.progress = cancel_at_once};
    check_status(t, ease_interactions_synth(&o, &x, NULL), EASE_E_CANCELLED);
    o.hooks = NULL;
    do {
        x = NULL;
        alloc_fail_after(n++);
        status = ease_interactions_synth(&o, &x, NULL);
        alloc_fail_after(-1);
        check_int(t, x != NULL, status == EASE_OK);
        ease_interactions_free(x);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 8);
}

static const test_case cases[] = {
    TEST(every_shape_has_exactly_its_pairs),
    TEST(the_same_seed_gives_the_same_pairs_at_any_thread_count),
    TEST(users_and_items_are_long_tailed),
    TEST(impossible_shapes_are_refused),
    TEST(synth_can_be_cancelled_and_starved),
};

TEST_MAIN(cases)
