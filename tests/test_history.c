#include <math.h>
#include <stdlib.h>

#include "data.h"
#include "test.h"

/* A model of the items "0", "1", ... "5". */
static ease_model *small_model(void)
{
    const int64_t starts[] = {0, 6};
    const int32_t items[] = {0, 1, 2, 3, 4, 5};
    ease_interactions *x = NULL;
    ease_model *m = NULL;

    if (ease_interactions_from_csr(1, 6, starts, items, NULL, &x, NULL) ||
        train_method(x, "popularity", NULL, &m, NULL))
        abort();
    ease_interactions_free(x);
    return m;
}

static void ids_in_any_order_become_a_row(test *t)
{
    static const char *const ids[] = {"4", "nobody", "0", "4", "2", "", NULL, "0"};
    ease_model *m = small_model();
    ease_history *h = NULL;
    ease_row row;

    check_status(t, ease_history_new(m, ids, NULL, 8, &h, NULL), EASE_OK);
    row = ease_history_row(h);
    check_int(t, ease_history_unknown(h), 3);
    check(t, row.weights == NULL);
    if (check_int(t, row.count, 3)) {
        check_int(t, row.items[0], 0);
        check_int(t, row.items[1], 2);
        check_int(t, row.items[2], 4);
    }
    ease_history_free(h);
    ease_model_free(m);
}

static void weights_of_the_same_item_add_up(test *t)
{
    static const char *const ids[] = {"4", "nobody", "0", "4"};
    static const float weights[] = {1.5f, 9, -1, 2};
    ease_model *m = small_model();
    ease_history *h = NULL;
    ease_row row;

    check_status(t, ease_history_new(m, ids, weights, 4, &h, NULL), EASE_OK);
    row = ease_history_row(h);
    check_int(t, ease_history_unknown(h), 1);
    if (check_int(t, row.count, 2)) {
        check_near(t, (double)row.weights[0], -1, 0);
        check_near(t, (double)row.weights[1], 3.5, 0);
    }
    ease_history_free(h);
    ease_model_free(m);
}

static void an_empty_history_is_one(test *t)
{
    static const char *const ids[] = {"nobody"};
    ease_model *m = small_model();

    for (int64_t count = 0; count <= 1; count++) {
        ease_history *h = NULL;

        check_status(t, ease_history_new(m, count ? ids : NULL, NULL, count, &h, NULL),
                     EASE_OK);
        check_int(t, ease_history_row(h).count, 0);
        check_int(t, ease_history_unknown(h), count);
        ease_history_free(h);
    }
    ease_model_free(m);
}

static void wrong_arguments_are_refused(test *t)
{
    static const char *const ids[] = {"1", "2"};
    const float weights[] = {1, NAN};
    ease_model *m = small_model();
    ease_history *h = NULL;
    ease_error err = {0};

    check_status(t, ease_history_new(NULL, ids, NULL, 2, &h, NULL), EASE_E_ARG);
    check_status(t, ease_history_new(m, NULL, NULL, 2, &h, NULL), EASE_E_ARG);
    check_status(t, ease_history_new(m, ids, NULL, -1, &h, NULL), EASE_E_ARG);
    check_status(t, ease_history_new(m, ids, NULL, 2, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_history_new(m, ids, weights, 2, &h, &err), EASE_E_ARG);
    check_int(t, err.where, 1);
    check(t, h == NULL);
    ease_model_free(m);
}

static void histories_survive_every_failed_allocation(test *t)
{
    static const char *const ids[] = {"1", "2"};
    static const float weights[] = {1, 2};
    ease_model *m = small_model();
    ease_status status;
    int n = 0;

    do {
        ease_history *h = NULL;

        alloc_fail_after(n++);
        status = ease_history_new(m, ids, weights, 2, &h, NULL);
        alloc_fail_after(-1);
        check_int(t, h != NULL, status == EASE_OK);
        ease_history_free(h);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 3);
    ease_model_free(m);
}

static const test_case cases[] = {
    TEST(ids_in_any_order_become_a_row),
    TEST(weights_of_the_same_item_add_up),
    TEST(an_empty_history_is_one),
    TEST(wrong_arguments_are_refused),
    TEST(histories_survive_every_failed_allocation),
};

TEST_MAIN(cases)
