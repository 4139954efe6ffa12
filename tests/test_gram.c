/* X'X from interactions, and the kinds of Gram matrix made from it. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "gram/gram.h"
#include "oracle.h"
#include "test.h"

static const int32_t border_sizes[] = {1, 2, 15, 16, 17, 511, 512, 513, 1030};
enum { BORDER_SIZES = sizeof(border_sizes) / sizeof(border_sizes[0]), USERS = 40 };

static ease_gram *build(test *t, const ease_interactions *x, ease__element element,
                        int threads)
{
    ease_gram *g = NULL;
    ease_error err = {0};

    if (!check_status(t, ease__gram_build(x, element, threads, NULL, &g, &err),
                      EASE_OK))
        exit(1);
    return g;
}

/* ---- building ----------------------------------------------------------------- */

/* Weights are quarters and sums of their products small, so that even float32 is
 * exact: equality is asked for. */
static void check_gram(test *t, const ease_interactions *x, ease__element element)
{
    size_t n = (size_t)x->items;
    double *dense = dense_interactions(x), *want = malloc(n * n * sizeof(*want));
    ease_gram *g = build(t, x, element, 2);
    bool same = true;

    oracle_gram(dense, x->users, x->items, want);
    for (int32_t i = 0; i < x->items; i++) {
        double sum = 0;

        for (int32_t j = 0; j < x->items; j++)
            same &= ease_gram_at(g, i, j) == want[(size_t)i * n + (size_t)j];
        for (int64_t u = 0; u < x->users; u++)
            sum += dense[u * x->items + i];
        same &= g->sums[i] == sum;
    }
    check(t, same);
    ease_gram_free(g);
    free(want);
    free(dense);
}

static void gram_equals_the_oracle_around_tile_borders(test *t)
{
    for (int k = 0; k < BORDER_SIZES; k++)
        for (int weighted = 0; weighted < 2; weighted++) {
            ease_interactions *x = random_interactions(USERS, border_sizes[k], 0.1,
                                                       weighted, 7);

            check_gram(t, x, weighted ? EASE__F32 : EASE__U32);
            check_gram(t, x, EASE__F64);
            free_interactions(x);
        }
}

static void diagonal_tiles_are_whole_and_padding_is_zero(test *t)
{
    ease_interactions *x = random_interactions(USERS, 37, 0.3, false, 2);
    ease_gram *g = build(t, x, EASE__U32, 2);
    const uint32_t *tile = ease__tile(&g->g, 0, 0);
    int32_t e = g->g.edge;

    check(t, e > 37);
    for (int32_t i = 0; i < e; i++)
        for (int32_t j = 0; j < e; j++)
            check_int(t, tile[i * e + j],
                      i < 37 && j < 37 ? ease_gram_at(g, i, j) : 0.0);
    ease_gram_free(g);
    free_interactions(x);
}

static void gram_has_the_same_bits_at_any_number_of_threads(test *t)
{
    const int threads[] = {2, 3, 5};

    for (int weighted = 0; weighted < 2; weighted++) {
        ease__element element = weighted ? EASE__F32 : EASE__U32;
        ease_interactions *x = random_interactions(200, 600, 0.05, weighted, 3);
        ease_gram *first;

        for (int64_t k = 0; weighted && k < x->nnz; k++)
            x->vals[k] = 1 / (1 + x->vals[k]); /* sums that do round */
        first = build(t, x, element, 1);
        for (int k = 0; k < 3; k++) {
            ease_gram *g = build(t, x, element, threads[k]);

            check(t, memcmp(g->g.data, first->g.data, g->g.bytes) == 0);
            check(t, memcmp(g->sums, first->sums, 600 * sizeof(double)) == 0);
            ease_gram_free(g);
        }
        ease_gram_free(first);
        free_interactions(x);
    }
}

/* Rows from .. to-1 of X'X from the users of both parts, one after the other. */
static void check_rows(test *t, const ease_interactions *x, int64_t middle,
                       int32_t from, int32_t to)
{
    ease_gram *g = build(t, x, x->vals ? EASE__F64 : EASE__U32, 2);
    size_t entry = x->vals ? sizeof(double) : sizeof(uint32_t);
    char *rows = calloc((size_t)(to - from) * (size_t)to, entry);
    double *wide = malloc((size_t)to * sizeof(*wide));
    ease_error err;

    for (int part = 0; part < 2; part++) {
        ease_interactions some = *x;
        ease__item_users users;

        some.users = part ? x->users - middle : middle;
        some.row_ptr = malloc(((size_t)some.users + 1) * sizeof(int64_t));
        for (int64_t u = 0; u <= some.users; u++)
            some.row_ptr[u] = x->row_ptr[part ? middle + u : u] -
                              (part ? x->row_ptr[middle] : 0);
        some.nnz = some.row_ptr[some.users];
        some.cols += part ? x->row_ptr[middle] : 0;
        if (x->vals)
            some.vals += part ? x->row_ptr[middle] : 0;
        if (check_status(t, ease__item_users_new(&some, 2, &users, &err), EASE_OK)) {
            ease__gram_add_rows(&some, &users, from, to, 2, rows);
            ease__item_users_free(&users);
        }
        free(some.row_ptr);
    }
    for (int32_t i = from; i < to; i++) {
        ease__gram_store(EASE__F64, x->vals != NULL,
                         rows + (size_t)(i - from) * (size_t)to * entry, (size_t)i + 1,
                         wide);
        for (int32_t j = 0; j <= i; j++)
            check(t, wide[j] == ease_gram_at(g, i, j));
    }
    free(wide);
    free(rows);
    ease_gram_free(g);
}

static void users_in_parts_give_the_bits_of_all_at_once(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        ease_interactions *x = random_interactions(200, 600, 0.05, weighted, 3);

        for (int64_t k = 0; weighted && k < x->nnz; k++)
            x->vals[k] = 1 / (1 + x->vals[k]);
        check_rows(t, x, 70, 0, 600);
        check_rows(t, x, 199, 300, 307);
        check_rows(t, x, 0, 599, 600);
        free_interactions(x);
    }
}

static void weights_round_once(test *t)
{
    ease_interactions *x = random_interactions(300, 5, 1, true, 3);
    ease_gram *wide, *narrow;

    for (int64_t k = 0; k < x->nnz; k++)
        x->vals[k] = 1 / (1 + x->vals[k]);
    wide = build(t, x, EASE__F64, 2);
    narrow = build(t, x, EASE__F32, 2);
    for (int32_t i = 0; i < 5; i++)
        for (int32_t j = 0; j < 5; j++)
            check(t,
                  (float)ease_gram_at(narrow, i, j) == (float)ease_gram_at(wide, i, j));
    ease_gram_free(wide);
    ease_gram_free(narrow);
    free_interactions(x);
}

static void users_without_items_change_nothing(test *t)
{
    int64_t row_ptr[] = {0, 0, 2, 2, 3, 3};
    int32_t cols[] = {0, 2, 2};
    ease_interactions x = {
        .users = 5, .items = 3, .nnz = 3, .row_ptr = row_ptr, .cols = cols};

    check_gram(t, &x, EASE__U32);
    x.nnz = 0;
    memset(row_ptr, 0, sizeof(row_ptr));
    check_gram(t, &x, EASE__U32);
    x.users = 0;
    check_gram(t, &x, EASE__U32);
}

static void description_and_ids_follow_the_data(test *t)
{
    ease_interactions *x = random_interactions(USERS, 3, 0.5, true, 3);
    ease_gram_options o;
    ease_gram *g = NULL;
    ease_gram_info info = {.size = sizeof(info)};

    ease_gram_options_init(&o);
    o.precision = EASE_F64;
    check_status(t, ease_gram_build(x, &o, &g, NULL), EASE_OK);
    info = gram_info(g);
    check_int(t, info.users, USERS);
    check_int(t, info.interactions, x->nnz);
    check_int(t, info.items, 3);
    check(t, info.weighted && info.has_sums && info.wide);
    check_text(t, ease_gram_item_id(g, 2), "2");
    check(t, ease_gram_item_id(g, 3) == NULL && isnan(ease_gram_at(g, 0, 3)));
    ease_gram_free(g);

    ease__ids_add(&x->item_ids, "ant", 3);
    ease__ids_add(&x->item_ids, "bee", 3);
    ease__ids_add(&x->item_ids, "cow", 3);
    check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_OK);
    info = gram_info(g);
    check_int(t, info.wide, false);
    check_text(t, ease_gram_item_id(g, 1), "bee");
    ease_gram_free(g);
    ease_gram_free(NULL);
    free_interactions(x);
}

static void wrong_options_are_refused(test *t)
{
    ease_interactions *x = random_interactions(USERS, 600, 0.1, false, 3);
    ease_gram *g = NULL;
    ease_error err = {0};
    ease_gram_options good, o;

    ease_gram_options_init(&good);
    o = good;
    check_status(t, ease_gram_build(NULL, &o, &g, &err), EASE_E_ARG);
    o.size = 1;
    check_status(t, ease_gram_build(x, &o, &g, &err), EASE_E_ARG);
    o = good;
    o.threads = -1;
    check_status(t, ease_gram_build(x, &o, &g, &err), EASE_E_ARG);
    o.threads = 1000000;
    check_status(t, ease_gram_build(x, &o, &g, &err), EASE_E_ARG);
    o = good;
    o.precision = (ease_precision)7;
    check_status(t, ease_gram_build(x, &o, &g, &err), EASE_E_ARG);
    o = good;
    o.memory_limit = 100000;
    check_status(t, ease_gram_build(x, &o, &g, &err), EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "600 items");
    check(t, g == NULL);
    free_interactions(x);
}

static int cancel_at_once(void *user, const char *stage, double fraction)
{
    check_text((test *)user, stage, "counting pairs");
    return fraction >= 0;
}

static void building_can_be_cancelled(test *t)
{
    ease_interactions *x = random_interactions(USERS, 600, 0.1, false, 3);
    ease_gram_options o;
    ease_gram *g = NULL;

    ease_gram_options_init(&o);
    o.hooks = &(ease_hooks){.progress = cancel_at_once, .user = t};
    check_status(t, ease_gram_build(x, &o, &g, NULL), EASE_E_CANCELLED);
    check(t, g == NULL);
    free_interactions(x);
}

static void building_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = random_interactions(USERS, 60, 0.1, true, 3);
    ease_status status;
    int n = 0;

    do {
        ease_gram *g = NULL;

        alloc_fail_after(n++);
        status = ease_gram_build(x, NULL, &g, NULL);
        alloc_fail_after(-1);
        check_int(t, g != NULL, status == EASE_OK);
        ease_gram_free(g);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 6);
    free_interactions(x);
}

/* ---- kinds -------------------------------------------------------------------- */

/* C of dense X by its definition: centre the columns, multiply. */
static double *dense_covariance(const ease_interactions *x)
{
    double *dense = dense_interactions(x);
    double *c = malloc((size_t)x->items * (size_t)x->items * sizeof(*c));

    for (int32_t i = 0; i < x->items; i++) {
        double mean = 0;

        for (int64_t u = 0; u < x->users; u++)
            mean += dense[u * x->items + i] / (double)x->users;
        for (int64_t u = 0; u < x->users; u++)
            dense[u * x->items + i] -= mean;
    }
    oracle_gram(dense, x->users, x->items, c);
    free(dense);
    return c;
}

static ease__scales prepare(test *t, ease_gram *g, ease_gram_kind kind)
{
    ease__scales scales = {0};

    check_status(t, ease__scales_new(g, kind, &scales, NULL), EASE_OK);
    ease__gram_prepare(g, kind, &(ease__penalty){.lambda = 1}, 3, &scales);
    return scales;
}

static void check_kind(test *t, const ease_interactions *x, ease__element element,
                       ease_gram_kind kind)
{
    ease_gram *g = build(t, x, element, 2);
    ease__scales scales = prepare(t, g, kind);
    double *c = dense_covariance(x), *scale = scales.scale;
    double eps = element == EASE__F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    bool scaled = kind == EASE_GRAM_CORRELATION;
    size_t n = (size_t)x->items;

    check(t, g->g.element == (element == EASE__F64 ? EASE__F64 : EASE__F32));
    check(t, scale != NULL);
    for (int32_t i = 0; i < x->items; i++) {
        double ci = c[(size_t)i * (n + 1)];

        check_near(t, scale[i],
                   i == 1 || i == 2 ? 0
                   : scaled         ? sqrt(ci)
                                    : 1,
                   1e-12 * sqrt(ci));
        for (int32_t j = 0; j < x->items; j++) {
            double cj = c[(size_t)j * (n + 1)], want = c[(size_t)i * n + (size_t)j];
            /* G_ij and the product taken from it round to within their size. */
            double most = 25 * (double)x->users;

            if (i == 1 || i == 2 || j == 1 || j == 2) { /* constant columns */
                check_near(t, ease_gram_at(g, i, j), 0, 0);
                continue;
            }
            if (scaled) {
                want /= sqrt(ci) * sqrt(cj);
                most /= sqrt(ci) * sqrt(cj);
            }
            check_near(t, ease_gram_at(g, i, j), want, 2 * eps * most);
        }
    }
    ease__scales_free(&scales);
    ease_gram_free(g);
    free(c);
}

static void kinds_equal_their_formulas(test *t)
{
    const ease_gram_kind kinds[] = {EASE_GRAM_COVARIANCE, EASE_GRAM_CORRELATION};

    for (int weighted = 0; weighted < 2; weighted++)
        for (int k = 0; k < 2; k++) {
            ease_interactions *x = random_interactions(USERS, 50, 0.3, weighted, 8);

            check_kind(t, x, weighted ? EASE__F32 : EASE__U32, kinds[k]);
            check_kind(t, x, EASE__F64, kinds[k]);
            free_interactions(x);
        }
}

static void kinds_reach_every_tile(test *t)
{
    ease_interactions *x = random_interactions(USERS, 1030, 0.1, false, 8);
    ease_gram *g = build(t, x, EASE__U32, 2);
    ease__scales scales = prepare(t, g, EASE_GRAM_COVARIANCE);
    double *c = dense_covariance(x);

    for (int32_t i = 3; i < 1030; i++)
        for (int32_t j = 3; j < 1030; j++)
            if (!check_near(t, ease_gram_at(g, i, j), c[i * 1030 + j],
                            2 * USERS * (double)FLT_EPSILON))
                i = j = 1030;
    free(c);
    ease__scales_free(&scales);
    ease_gram_free(g);
    free_interactions(x);
}

static void counts_become_floats_in_place(test *t)
{
    ease_interactions *x = random_interactions(USERS, 50, 0.3, false, 8);
    ease_gram *g = build(t, x, EASE__U32, 2), *want = build(t, x, EASE__U32, 2);
    ease__scales scales = prepare(t, g, EASE_GRAM_COUNTS);

    check(t, g->g.element == EASE__F32 && scales.plain);
    for (int32_t i = 0; i < 50; i++)
        for (int32_t j = 0; j < 50; j++)
            check_near(t, ease_gram_at(g, i, j), ease_gram_at(want, i, j), 0);
    ease__scales_free(&scales);
    ease_gram_free(g);
    ease_gram_free(want);
    free_interactions(x);
}

static void centring_needs_sums_and_users(test *t)
{
    ease_interactions *x = random_interactions(USERS, 6, 0.3, false, 8);
    ease_gram *g = build(t, x, EASE__U32, 1);
    ease_error err = {0};
    ease__scales scales = {0};

    g->users = -1;
    check_status(t, ease__scales_new(g, EASE_GRAM_COVARIANCE, &scales, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "covariance needs the number of users");
    g->users = USERS;
    ease__free(g->sums);
    g->sums = NULL;
    check_status(t, ease__scales_new(g, EASE_GRAM_CORRELATION, &scales, &err),
                 EASE_E_DATA);
    ease_gram_free(g);
    free_interactions(x);
}

static const test_case cases[] = {
    TEST(gram_equals_the_oracle_around_tile_borders),
    TEST(diagonal_tiles_are_whole_and_padding_is_zero),
    TEST(gram_has_the_same_bits_at_any_number_of_threads),
    TEST(users_in_parts_give_the_bits_of_all_at_once),
    TEST(weights_round_once),
    TEST(users_without_items_change_nothing),
    TEST(description_and_ids_follow_the_data),
    TEST(wrong_options_are_refused),
    TEST(building_can_be_cancelled),
    TEST(building_survives_every_failed_allocation),
    TEST(kinds_equal_their_formulas),
    TEST(kinds_reach_every_tile),
    TEST(counts_become_floats_in_place),
    TEST(centring_needs_sums_and_users),
};

TEST_MAIN(cases)
