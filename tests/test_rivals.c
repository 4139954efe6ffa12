/* The other systems: what they have in common, and each against its definition. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "model/model.h"
#include "model/settings.h"
#include "test.h"

static ease_interactions *some_data(int64_t users, int32_t items, bool weighted)
{
    ease_interactions *x = random_interactions(users, items, 0.15, weighted, 5);
    ease_interactions *copy = NULL;

    if (ease_interactions_from_csr(x->users, x->items, x->row_ptr, x->cols, x->vals,
                                   &copy, NULL))
        abort();
    free_interactions(x);
    return copy;
}

static ease_model *train(test *t, const ease_interactions *x, const char *method,
                         const char *settings, int threads)
{
    ease_train_options o;
    ease_model *m = NULL;
    ease_error err;

    ease_train_options_init(&o);
    o.settings = settings;
    o.threads = threads;
    if (!check_status(t, train_method(x, method, &o, &m, &err), EASE_OK))
        abort();
    return m;
}

/* ---- settings ------------------------------------------------------------------- */

static const ease_setting some[] = {
    {.name = "rank", .value = 64, .least = 1, .most = 1000, .whole = 1},
    {.name = "alpha", .value = 0.5, .most = 10},
    {.name = "how", .value = 1, .most = 2, .whole = 1, .words = "one|two|three"},
    {0}};

static void settings_are_read_and_printed(test *t)
{
    char text[EASE__SETTINGS_CHARS];
    double value[3];

    check_status(t, ease__settings_parse(some, "m", NULL, value, NULL, NULL), EASE_OK);
    ease__settings_print(some, value, NULL, text);
    check_text(t, text, "rank=64,alpha=0.5,how=two");
    check_status(t,
                 ease__settings_parse(some, "m", "how=three,rank=7", value, NULL, NULL),
                 EASE_OK);
    ease__settings_print(some, value, NULL, text);
    check_text(t, text, "rank=7,alpha=0.5,how=three");
    check_status(t, ease__settings_parse(some, "m", text, value, NULL, NULL), EASE_OK);
}

static void wrong_settings_are_refused(test *t)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"rang=3", "no setting 'rang': there are rank, alpha, how"},
                 {"rank=3,rank=4", "given twice"},
                 {"rank", "NAME=VALUE"},
                 {"rank=2.5", "whole number from 1 to 1000"},
                 {"rank=0", "not '0'"},
                 {"alpha=nan", "a number from 0 to 10"},
                 {"alpha=", "not ''"},
                 {"how=four", "one of one|two|three"},
                 {"=1", "no setting ''"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ease_error err = {0};
        double value[3];

        check_status(t,
                     ease__settings_parse(some, "m", cases[i].text, value, NULL, &err),
                     EASE_E_ARG);
        check_contains(t, err.text, cases[i].says);
    }
}

/* ---- item-item ---------------------------------------------------------------- */

/* G_ij by the definition. */
static double both(const ease_interactions *x, int32_t i, int32_t j)
{
    double sum = 0;

    for (int64_t u = 0; u < x->users; u++) {
        double left = 0, right = 0;

        for (int64_t at = x->row_ptr[u]; at < x->row_ptr[u + 1]; at++) {
            double value = x->vals ? (double)x->vals[at] : 1;

            if (x->cols[at] == i)
                left = value;
            if (x->cols[at] == j)
                right = value;
        }
        sum += left * right;
    }
    return sum;
}

static double expected(const char *how, double ij, double ii, double jj, double shrink)
{
    if (strcmp(how, "cosine") == 0)
        return ij / (sqrt(ii * jj) + shrink);
    if (strcmp(how, "jaccard") == 0)
        return ij / (ii + jj - ij + shrink);
    return ij / (ii + shrink);
}

static void item_item_follows_its_definition(test *t)
{
    static const char *const words[] = {"cosine", "jaccard", "conditional"};

    for (int round = 0; round < 6; round++) {
        ease_interactions *x = some_data(60, 40, round >= 3);
        const char *how = words[round % 3];
        char settings[80];
        ease_model *m;
        float row[40];

        snprintf(settings, sizeof(settings), "similarity=%s,shrinkage=2,neighbours=40",
                 how);
        m = train(t, x, "item-item", settings, 2);
        for (int32_t i = 0; i < 40; i++) {
            check_status(t, ease_model_row(m, i, row, NULL), EASE_OK);
            for (int32_t j = 0; j < 40; j++) {
                double ij = both(x, i, j);
                double want = i == j || ij == 0
                                  ? 0
                                  : expected(how, ij, both(x, i, i), both(x, j, j), 2);

                check_near(t, row[j], want, 1e-6 * fabs(want) + 1e-7);
            }
        }
        ease_model_free(m);
        ease_interactions_free(x);
    }
}

static void item_item_keeps_the_nearest(test *t)
{
    ease_interactions *x = some_data(80, 50, false);
    ease_model *all = train(t, x, "item-item", "neighbours=50", 1);
    ease_model *few = train(t, x, "item-item", "neighbours=6", 3);
    ease_model *none = train(t, x, "item-item", "neighbours=1", 1);
    float whole[50], kept[50];

    for (int32_t i = 0; i < 50; i++) {
        float least = INFINITY;
        int count = 0, there = 0; /* some items have nobody */

        check_status(t, ease_model_row(all, i, whole, NULL), EASE_OK);
        check_status(t, ease_model_row(few, i, kept, NULL), EASE_OK);
        for (int32_t j = 0; j < 50; j++)
            there += whole[j] != 0;
        for (int32_t j = 0; j < 50; j++)
            if (kept[j] != 0) {
                check(t, kept[j] == whole[j]);
                least = kept[j] < least ? kept[j] : least;
                count++;
            }
        check_int(t, count, there < 5 ? there : 5);
        for (int32_t j = 0; j < 50; j++)
            check(t, kept[j] != 0 || whole[j] <= least);
        check_status(t, ease_model_row(none, i, kept, NULL), EASE_OK);
        for (int32_t j = 0; j < 50; j++)
            check(t, kept[j] == 0);
    }
    ease_model_free(all);
    ease_model_free(few);
    ease_model_free(none);
    ease_interactions_free(x);
}

/* ---- slim --------------------------------------------------------------------- */

static float *all_weights(const ease_model *m, int32_t items)
{
    size_t n = (size_t)items;
    float *w = malloc(n * n * sizeof(*w));

    if (!w)
        abort();
    for (int32_t i = 0; i < items; i++)
        if (ease_model_row(m, i, w + (size_t)i * n, NULL) != EASE_OK)
            abort();
    return w;
}

/* The conditions that only the minimum fulfils, in each column j: with the pull
 * p_i = x_i . (x_j - X w) - l2 w_i, p_i = l1 sign(w_i) where w_i is not 0, else |p_i| <=
 * l1, or p_i <= l1 where weights cannot be below 0. */
static void check_minimum(test *t, const ease_interactions *x, const ease_model *m,
                          double l1, double l2, bool unbound)
{
    int32_t n = x->items;
    float *w = all_weights(m, n);
    double *g = malloc((size_t)n * (size_t)n * sizeof(*g));
    double slack = 0;

    if (!g)
        abort();
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            g[i * n + j] = both(x, i, j);
            slack = fmax(slack, 1e-5 * g[i * n + j]); /* weights are floats */
        }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            double pull = g[i * n + j] - l2 * (double)w[i * n + j];

            for (int32_t k = 0; k < n; k++)
                pull -= g[i * n + k] * (double)w[k * n + j];
            if (i == j)
                check(t, w[i * n + j] == 0);
            else if (w[i * n + j] != 0)
                check_near(t, pull, w[i * n + j] > 0 ? l1 : -l1, slack);
            else
                check(t, pull <= l1 + slack && (!unbound || pull >= -l1 - slack));
            check(t, unbound || w[i * n + j] >= 0);
        }
    free(g);
    free(w);
}

static void slim_finds_the_minimum(test *t)
{
    static const struct {
        double l1, l2;
    } cases[] = {{0.5, 3}, {0, 2}, {2, 0}, {30, 1}};

    for (int round = 0; round < 16; round++) {
        ease_interactions *x = some_data(60, 40, round & 1);
        double l1 = cases[round / 4].l1, l2 = cases[round / 4].l2;
        bool unbound = round & 2;
        char settings[100];
        ease_model *m;

        snprintf(settings, sizeof(settings),
                 "l1=%g,l2=%g,tolerance=1e-9,iterations=1000000", l1, l2);
        m = train(t, x, unbound ? "slim-free" : "slim", settings, 2);
        check_minimum(t, x, m, l1, l2, unbound);
        ease_model_free(m);
        ease_interactions_free(x);
    }
}

static void slim_keeps_the_largest_into_an_item(test *t)
{
    ease_interactions *x = some_data(80, 50, false);

    for (int unbound = 0; unbound < 2; unbound++) {
        const char *method = unbound ? "slim-free" : "slim";
        ease_model *all = train(t, x, method, "l1=0.1,l2=1", 1);
        ease_model *few = train(t, x, method, "l1=0.1,l2=1,top=5", 3);
        float *whole = all_weights(all, 50), *kept = all_weights(few, 50);

        for (int j = 0; j < 50; j++) {
            float least = INFINITY;
            int count = 0, there = 0;

            for (int i = 0; i < 50; i++) {
                there += whole[i * 50 + j] != 0;
                if (kept[i * 50 + j] == 0)
                    continue;
                check(t, kept[i * 50 + j] == whole[i * 50 + j]);
                least = fminf(least, fabsf(kept[i * 50 + j]));
                count++;
            }
            check_int(t, count, there < 5 ? there : 5);
            for (int i = 0; i < 50; i++)
                check(t, kept[i * 50 + j] != 0 || fabsf(whole[i * 50 + j]) <= least);
        }
        free(whole);
        free(kept);
        ease_model_free(all);
        ease_model_free(few);
    }
    ease_interactions_free(x);
}

static void slim_gives_the_same_bits_with_any_threads(test *t)
{
    ease_interactions *x = some_data(200, 60, true);

    for (int unbound = 0; unbound < 2; unbound++) {
        const char *method = unbound ? "slim-free" : "slim";
        ease_model *one = train(t, x, method, "top=20", 1);
        ease_model *many = train(t, x, method, "top=20", 5);
        float *left = all_weights(one, 60), *right = all_weights(many, 60);

        check(t, memcmp(left, right, 60 * 60 * sizeof(*left)) == 0);
        free(left);
        free(right);
        ease_model_free(one);
        ease_model_free(many);
    }
    ease_interactions_free(x);
}

/* ---- failing ------------------------------------------------------------------ */

static ease_status try_training(const ease_interactions *x, const char *method,
                                const ease_train_options *o, ease_error *err)
{
    ease_model *m = NULL;
    ease_status status = train_method(x, method, o, &m, err);

    ease_model_free(m);
    return status;
}

static void slim_refuses_what_cannot_be_fitted(test *t)
{
    static const int64_t ptr[] = {0, 2, 4};
    static const int32_t cols[] = {0, 1, 0, 1};
    static const float vals[] = {1e-30F, 1e30F, 1e-30F, 1e30F};
    ease_interactions *x = NULL;
    ease_train_options o;
    ease_error err;

    check_status(t, ease_interactions_from_csr(2, 2, ptr, cols, vals, &x, NULL),
                 EASE_OK);
    ease_train_options_init(&o);
    o.settings = "l1=0,l2=0";
    check_status(t, try_training(x, "slim", &o, &err), EASE_E_ARG);
    check_contains(t, err.text, "l1 or l2 must be above 0");
    o.settings = "l1=0,l2=1e-70";
    check_status(t, try_training(x, "slim-free", &o, &err), EASE_E_DATA);
    check_contains(t, err.text, "beyond the range of float");
    ease_interactions_free(x);
}

static void slim_stays_within_its_memory(test *t)
{
    ease_interactions *x = some_data(300, 200, false);
    ease_train_options o;
    ease_error err;
    size_t least = 0;

    ease_train_options_init(&o);
    o.threads = 2;
    for (size_t limit = 1 << 10; limit < 1 << 24; limit += limit / 8) {
        o.memory_limit = limit;
        o.settings = "l1=0.01,top=1";
        if (try_training(x, "slim", &o, &err) == EASE_OK) {
            least = limit;
            break;
        }
    }
    check(t, least > 0);
    o.settings = "l1=0.01";
    check_status(t, try_training(x, "slim", &o, &err), EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "slim for 200 items");
    ease_interactions_free(x);
}

static int cancel(void *user, const char *stage, double fraction)
{
    (void)fraction;
    return strcmp(stage, user) == 0;
}

static void slim_can_be_cancelled(test *t)
{
    ease_interactions *x = some_data(60, 40, false);
    char stage[] = "fitting";
    ease_train_options o;

    ease_train_options_init(&o);
    o.threads = 8; /* whether or not the caller's one has an item */
    o.hooks = &(ease_hooks){.progress = cancel, .user = stage};
    check_status(t, try_training(x, "slim", &o, NULL), EASE_E_CANCELLED);
    ease_interactions_free(x);
}

static void slim_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = some_data(30, 12, true);
    ease_train_options o;
    ease_status status;
    int n = 0;

    ease_train_options_init(&o);
    o.threads = 1;
    do {
        alloc_fail_after(n++);
        status = try_training(x, "slim-free", &o, NULL);
        alloc_fail_after(-1);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 20);
    ease_interactions_free(x);
}

/* ---- files -------------------------------------------------------------------- */

static void sparse_models_come_back_from_files(test *t)
{
    ease_interactions *x = some_data(80, 50, true);
    ease_model *m = train(t, x, "item-item", "neighbours=6,shrinkage=1.5", 1),
               *back = NULL;
    const char *path = test_path("sparse.ease");
    ease_model_info info = {.size = sizeof(info)};
    float before[50], after[50];

    check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), EASE_OK);
    check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK);
    if (check_status(t, ease_model_open(path, NULL, &back, NULL), EASE_OK)) {
        info = model_info(back);
        check_text(t, info.method, "item-item");
        check_text(t, info.settings, "similarity=cosine,neighbours=6,shrinkage=1.5");
        check_int(t, info.storage, EASE_STORE_SPARSE);
        for (int32_t i = 0; i < 50; i++) {
            check_status(t, ease_model_row(m, i, before, NULL), EASE_OK);
            check_status(t, ease_model_row(back, i, after, NULL), EASE_OK);
            check(t, memcmp(before, after, sizeof(before)) == 0);
        }
    }
    ease_model_free(back);
    ease_model_free(m);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(settings_are_read_and_printed),
    TEST(wrong_settings_are_refused),
    TEST(item_item_follows_its_definition),
    TEST(item_item_keeps_the_nearest),
    TEST(slim_finds_the_minimum),
    TEST(slim_keeps_the_largest_into_an_item),
    TEST(slim_gives_the_same_bits_with_any_threads),
    TEST(slim_refuses_what_cannot_be_fitted),
    TEST(slim_stays_within_its_memory),
    TEST(slim_can_be_cancelled),
    TEST(slim_survives_every_failed_allocation),
    TEST(sparse_models_come_back_from_files),
};

TEST_MAIN(cases)
