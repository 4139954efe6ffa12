/* Interactions from arrays in memory, and arrays that models read and write. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "test.h"

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libomp.so";
}

static bool same(const ease_interactions *a, const ease_interactions *b)
{
    ease_interactions_info x = interactions_info(a), y = interactions_info(b);

    if (x.users != y.users || x.items != y.items || x.interactions != y.interactions ||
        x.weighted != y.weighted || x.rows != y.rows || x.repeated != y.repeated ||
        x.below_rating != y.below_rating || x.filtered != y.filtered)
        return false;
    for (int32_t i = 0; i < x.items; i++)
        if (strcmp(ease_interactions_item_id(a, i), ease_interactions_item_id(b, i)))
            return false;
    for (int64_t u = 0; u < x.users; u++) {
        ease_row r = ease_interactions_row(a, u), s = ease_interactions_row(b, u);
        size_t n = (size_t)r.count;

        if (strcmp(ease_interactions_user_id(a, u), ease_interactions_user_id(b, u)) ||
            r.count != s.count || memcmp(r.items, s.items, n * sizeof(*r.items)) != 0 ||
            (r.weights && memcmp(r.weights, s.weights, n * sizeof(*r.weights)) != 0))
            return false;
    }
    return true;
}

/* ---- a table --------------------------------------------------------------- */

enum { ROWS = 6000, TEXT = 16 };

/* The same rows as numbers, as strings, and in a file. */
typedef struct table {
    int64_t users[ROWS], items[ROWS], user_ends[ROWS + 1], item_ends[ROWS + 1];
    double values[ROWS];
    char user_text[ROWS * TEXT], item_text[ROWS * TEXT];
} table;

static int64_t add_text(char *to, int64_t at, int64_t id)
{
    return at + snprintf(to + at, TEXT, "%lld", (long long)id);
}

static void make_table(table *t, uint64_t seed, const char *path)
{
    ease__random r;
    FILE *f = fopen(path, "w");

    ease__random_seed(&r, seed, 0);
    fputs("user,item,rating\n", f);
    t->user_ends[0] = t->item_ends[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        t->users[i] = (int64_t)(ease__random_next(&r) % 200) - 20;
        t->items[i] = (int64_t)(ease__random_next(&r) % 60) * 1000003;
        t->values[i] = (double)(ease__random_next(&r) % 10) / 2.0 + 0.5;
        t->user_ends[i + 1] = add_text(t->user_text, t->user_ends[i], t->users[i]);
        t->item_ends[i + 1] = add_text(t->item_text, t->item_ends[i], t->items[i]);
        fprintf(f, "%lld,%lld,%.1f\n", (long long)t->users[i], (long long)t->items[i],
                t->values[i]);
    }
    fclose(f);
}

static void check_table(test *t, const table *rows, const char *path,
                        const ease_read_options *o)
{
    ease_id_column users = {.numbers = rows->users}, items = {.numbers = rows->items};
    ease_id_column user_text = {NULL, rows->user_text, rows->user_ends},
                   item_text = {NULL, rows->item_text, rows->item_ends};
    ease_interactions *x = NULL, *y = NULL, *z = NULL;

    check_status(t, ease_interactions_read(path, o, &x, NULL), EASE_OK);
    check_status(
        t,
        ease_interactions_from_table(ROWS, &users, &items, rows->values, o, &y, NULL),
        EASE_OK);
    check_status(t,
                 ease_interactions_from_table(ROWS, &user_text, &item_text,
                                              rows->values, o, &z, NULL),
                 EASE_OK);
    check(t, same(x, y));
    check(t, same(x, z));
    for (int64_t u = 0; u < interactions_info(x).users; u++)
        check_int(t, ease_interactions_find_user(y, ease_interactions_user_id(y, u)),
                  u);
    check_int(t, ease_interactions_find_user(y, "nobody"), EASE_NO_USER);
    ease_interactions_free(x);
    ease_interactions_free(y);
    ease_interactions_free(z);
}

static void a_table_in_memory_is_taken_as_one_in_a_file(test *t)
{
    const char *path = test_path("rows.csv");
    table *rows = malloc(sizeof(*rows));

    for (uint64_t seed = 1; seed <= 4; seed++) {
        ease_read_options o;

        make_table(rows, seed, path);
        ease_read_options_init(&o);
        check_table(t, rows, path, &o);
        o.min_rating = 3.0;
        o.min_user = 7;
        o.min_item = 20;
        check_table(t, rows, path, &o);
        o.weights = 1;
        for (int repeat = EASE_REPEAT_FIRST; repeat <= EASE_REPEAT_SUM; repeat++) {
            o.repeat = (ease_repeat)repeat;
            check_table(t, rows, path, &o);
        }
    }
    free(rows);
}

static void bad_tables_are_refused(test *t)
{
    static const int64_t one[] = {7, 7, 8}, ends[] = {0, 1, 1, 2};
    static const int64_t far[] = {INT64_MIN, INT64_MAX, 0};
    static const double bad[] = {1.0, (double)NAN, 1.0}, low[] = {1.0, 2.0, 1.0};
    ease_id_column numbers = {.numbers = one}, text = {NULL, "ab", ends};
    ease_id_column nul = {NULL, "a\0", (const int64_t[]){0, 1, 2, 2}}, none = {0};
    ease_id_column edges = {.numbers = far};
    ease_interactions *x = NULL;
    ease_read_options o;
    ease_error err = {0};

    ease_read_options_init(&o);
    check_status(t,
                 ease_interactions_from_table(3, &numbers, &text, NULL, &o, &x, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "row 1: the item is empty");
    check_status(t, ease_interactions_from_table(3, &nul, &numbers, NULL, &o, &x, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "zero byte");
    o.weights = 1;
    check_status(t,
                 ease_interactions_from_table(3, &numbers, &numbers, bad, &o, &x, &err),
                 EASE_E_DATA);
    o.weights = 0;
    check_status(t,
                 ease_interactions_from_table(3, &none, &numbers, NULL, &o, &x, &err),
                 EASE_E_ARG);
    check_status(
        t, ease_interactions_from_table(0, &numbers, &numbers, NULL, &o, &x, &err),
        EASE_E_DATA);
    o.min_rating = 5.0;
    check_status(t,
                 ease_interactions_from_table(3, &numbers, &numbers, low, &o, &x, &err),
                 EASE_E_DATA);
    check_status(
        t, ease_interactions_from_table(3, &numbers, &numbers, NULL, &o, &x, &err),
        EASE_E_ARG);
    check(t, x == NULL);
    check_status(t,
                 ease_interactions_from_table(3, &edges, &edges, NULL, NULL, &x, &err),
                 EASE_OK);
    check_text(t, ease_interactions_user_id(x, 0), "-9223372036854775808");
    check_text(t, ease_interactions_user_id(x, 1), "9223372036854775807");
    ease_interactions_free(x);
}

static void a_table_keeps_to_the_limit(test *t)
{
    enum { MANY = 200000 };
    int64_t *ids = malloc(MANY * sizeof(*ids));
    ease_id_column column = {.numbers = ids};
    ease_interactions *x = NULL;
    ease_read_options o;
    ease_error err;

    for (int64_t i = 0; i < MANY; i++)
        ids[i] = i;
    ease_read_options_init(&o);
    o.memory_limit = 1000000;
    check_status(
        t, ease_interactions_from_table(MANY, &column, &column, NULL, &o, &x, &err),
        EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "; the limit is 1 MB");
    for (int i = 0; i < 2; i++) {
        o.memory_limit = i ? SIZE_MAX : 0;
        check_status(
            t, ease_interactions_from_table(MANY, &column, &column, NULL, &o, &x, &err),
            EASE_OK);
        ease_interactions_free(x);
    }
    free(ids);
}

static void tables_survive_every_failed_allocation(test *t)
{
    static const int64_t users[] = {1, 1, 2}, items[] = {5, 6, 5};
    ease_id_column u = {.numbers = users}, i = {.numbers = items};
    ease_status status = EASE_E_NOMEM;

    for (int n = 0; status == EASE_E_NOMEM && n < 1000; n++) {
        ease_interactions *x = NULL;

        alloc_fail_after(n);
        status = ease_interactions_from_table(3, &u, &i, NULL, NULL, &x, NULL);
        alloc_fail_after(-1);
        check_int(t, x != NULL, status == EASE_OK);
        ease_interactions_free(x);
    }
    check_status(t, status, EASE_OK);
}

/* ---- a matrix -------------------------------------------------------------- */

static const int64_t tiny_ptr[] = {0, 2, 2, 4};
static const int32_t tiny_cols[] = {0, 2, 1, 3};
static const float tiny_vals[] = {1.0f, 2.5f, -1.0f, 4.0f};

static void a_borrowed_matrix_is_the_same_as_a_copy(test *t)
{
    for (int weighted = 0; weighted < 2; weighted++) {
        const float *vals = weighted ? tiny_vals : NULL;
        ease_interactions *x = NULL, *y = NULL;

        check_status(
            t, ease_interactions_from_csr(3, 4, tiny_ptr, tiny_cols, vals, &x, NULL),
            EASE_OK);
        check_status(
            t, ease_interactions_borrow_csr(3, 4, tiny_ptr, tiny_cols, vals, &y, NULL),
            EASE_OK);
        check(t, same(x, y));
        check(t, ease_interactions_row(y, 0).items == tiny_cols);
        ease_interactions_free(x);
        ease_interactions_free(y);
    }
}

static ease_interactions *named_rows(void)
{
    static const int64_t ends[] = {0, 3, 6, 9};
    static const int64_t numbers[] = {7, 5, 7};
    const ease_id_column users = {.bytes = "annbobann", .offsets = ends};
    const ease_id_column items = {.numbers = numbers};
    ease_interactions *x = NULL;

    if (ease_interactions_from_table(3, &users, &items, NULL, NULL, &x, NULL))
        abort();
    return x;
}

static void a_matrix_takes_the_ids_of_others(test *t)
{
    static const int64_t row_ptr[] = {0, 2, 2}, wide[] = {0, 1, 2};
    static const int32_t cols[] = {1, 0}, two[] = {2, 0}, twice[] = {1, 1};
    static const float vals[] = {0.5f, 2};
    ease_interactions *x = named_rows(), *plain = NULL, *out = NULL;
    ease_status st;
    int n = 0;

    do {
        alloc_fail_after(n++);
        st = ease_interactions_from_csr_ids(x, x, row_ptr, cols, vals, &out, NULL);
        alloc_fail_after(-1);
        check_int(t, out != NULL, st == EASE_OK);
    } while (st == EASE_E_NOMEM);
    if (!check_status(t, st, EASE_OK))
        return;
    check_int(t, interactions_info(out).users, 2);
    check_text(t, ease_interactions_user_id(out, 1), "bob");
    check_text(t, ease_interactions_item_id(out, 0), "7");
    check_int(t, ease_interactions_find_user(out, "ann"), 0);
    check_int(t, ease_interactions_row(out, 0).items[0], 0);
    check(t, ease_interactions_row(out, 0).weights[0] == 2);
    check_int(t, ease_interactions_row(out, 1).count, 0);
    ease_interactions_free(out);
    out = NULL;
    if (!check_status(t,
                      ease_interactions_from_csr(2, 3, wide, two, NULL, &plain, NULL),
                      EASE_OK))
        return;
    check_status(t,
                 ease_interactions_from_csr_ids(x, plain, wide, two, NULL, &out, NULL),
                 EASE_OK);
    check_text(t, ease_interactions_user_id(out, 0), "ann");
    check_text(t, ease_interactions_item_id(out, 2), "2");
    ease_interactions_free(out);
    out = NULL;
    check_status(t, ease_interactions_from_csr_ids(x, x, wide, two, NULL, &out, NULL),
                 EASE_E_ARG);
    check_status(t,
                 ease_interactions_from_csr_ids(x, x, row_ptr, twice, NULL, &out, NULL),
                 EASE_E_ARG);
    check_status(
        t, ease_interactions_from_csr_ids(NULL, x, row_ptr, cols, NULL, &out, NULL),
        EASE_E_ARG);
    check(t, out == NULL);
    ease_interactions_free(plain);
    ease_interactions_free(x);
}

static void only_what_is_x_already_can_be_borrowed(test *t)
{
    static const int32_t unsorted[] = {2, 0, 1, 3}, twice[] = {0, 2, 1, 1};
    static const float zero[] = {1.0f, 0.0f, 1.0f, 1.0f};
    static const float infinite[] = {1.0f, 1.0f, INFINITY, 1.0f};
    ease_interactions *x = NULL;

    check_status(t,
                 ease_interactions_borrow_csr(3, 4, tiny_ptr, unsorted, NULL, &x, NULL),
                 EASE_E_ARG);
    check_status(t, ease_interactions_borrow_csr(3, 4, tiny_ptr, twice, NULL, &x, NULL),
                 EASE_E_ARG);
    check_status(
        t, ease_interactions_borrow_csr(3, 4, tiny_ptr, tiny_cols, zero, &x, NULL),
        EASE_E_ARG);
    check_status(
        t, ease_interactions_borrow_csr(3, 4, tiny_ptr, tiny_cols, infinite, &x, NULL),
        EASE_E_ARG);
    check_status(
        t, ease_interactions_borrow_csr(3, 3, tiny_ptr, tiny_cols, NULL, &x, NULL),
        EASE_E_ARG);
    check(t, x == NULL);
}

static void borrowing_survives_every_failed_allocation(test *t)
{
    ease_status status = EASE_E_NOMEM;

    for (int n = 0; status == EASE_E_NOMEM && n < 1000; n++) {
        ease_interactions *x = NULL;

        alloc_fail_after(n);
        status = ease_interactions_borrow_csr(3, 4, tiny_ptr, tiny_cols, tiny_vals, &x,
                                              NULL);
        alloc_fail_after(-1);
        check_int(t, x != NULL, status == EASE_OK);
        ease_interactions_free(x);
    }
    check_status(t, status, EASE_OK);
}

/* ---- models and Gram matrices ---------------------------------------------- */

static ease_model *tiny_model(test *t)
{
    ease_interactions *x = NULL;
    ease_model *m = NULL;
    ease_train_options o;

    ease_train_options_init(&o);
    o.lambda = 2.0;
    check_status(
        t, ease_interactions_borrow_csr(3, 4, tiny_ptr, tiny_cols, NULL, &x, NULL),
        EASE_OK);
    check_status(t, ease_train(x, &o, &m, NULL), EASE_OK);
    ease_interactions_free(x);
    return m;
}

static void rows_of_a_file_are_there_to_look_at(test *t)
{
    ease_model *m = tiny_model(t), *file = NULL;
    const char *path = test_path("rows.ease");
    const float *rows = &(float){0};
    const char *bytes;
    size_t stride = 0;
    float row[4];

    check_status(t, ease_model_rows(m, &rows, &stride, NULL), EASE_OK);
    check(t, rows == NULL);
    check_status(t, ease_model_save(m, path, EASE_STORE_F32, NULL, NULL), EASE_OK);
    check_status(t, ease_model_open(path, NULL, &file, NULL), EASE_OK);
    check_status(t, ease_model_rows(file, &rows, &stride, NULL), EASE_OK);
    bytes = (const char *)rows;
    check(t, bytes != NULL);
    for (int32_t i = 0; bytes && i < 4; i++) {
        check_status(t, ease_model_row(m, i, row, NULL), EASE_OK);
        check(t, memcmp(row, bytes + (size_t)i * stride, sizeof(row)) == 0);
    }
    ease_model_free(file);
    ease_model_free(m);
}

static void titles_from_memory_are_kept_and_saved(test *t)
{
    const char *first[] = {"Heat", NULL, "", "Am\xc3\xa9lie"};
    const char *second[] = {"a", "b", "c", "d"};
    ease_model *m = tiny_model(t), *file = NULL;
    const char *path = test_path("titles.ease");
    ease_status status = EASE_E_NOMEM;

    check_status(t, ease_model_set_titles(m, second, NULL), EASE_OK);
    for (int n = 0; status == EASE_E_NOMEM && n < 100; n++) {
        alloc_fail_after(n);
        status = ease_model_set_titles(m, first, NULL);
        alloc_fail_after(-1);
        check_text(t, ease_model_title(m, 0), status ? "a" : "Heat");
    }
    check_status(t, status, EASE_OK);
    check_status(t, ease_model_set_titles(m, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_model_save(m, path, EASE_STORE_F16, NULL, NULL), EASE_OK);
    check_status(t, ease_model_open(path, NULL, &file, NULL), EASE_OK);
    check_text(t, ease_model_title(file, 3), "Am\xc3\xa9lie");
    check(t, ease_model_title(file, 1) == NULL);
    check(t, ease_model_title(file, 2) == NULL);
    ease_model_free(file);
    ease_model_free(m);
}

static void a_copy_of_a_gram_matrix_outlives_its_solve(test *t)
{
    ease_interactions *x = NULL;
    ease_gram *g = NULL, *copy = NULL;
    ease_model *m = NULL;
    ease_train_options o;

    ease_train_options_init(&o);
    o.lambda = 2.0;
    check_status(
        t, ease_interactions_borrow_csr(3, 4, tiny_ptr, tiny_cols, NULL, &x, NULL),
        EASE_OK);
    check_status(t, ease_gram_build(x, NULL, &g, NULL), EASE_OK);
    check_status(t, ease_gram_copy(g, &copy, NULL), EASE_OK);
    check_status(t, ease_gram_copy(NULL, &copy, NULL), EASE_E_ARG);
    check_status(t, ease_gram_solve(&copy, &o, &m, NULL), EASE_OK);
    check(t, copy == NULL);
    check_near(t, ease_gram_at(g, 0, 2), 1.0, 0);
    ease_model_free(m);
    ease_gram_free(g);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(a_table_in_memory_is_taken_as_one_in_a_file),
    TEST(bad_tables_are_refused),
    TEST(a_table_keeps_to_the_limit),
    TEST(tables_survive_every_failed_allocation),
    TEST(a_borrowed_matrix_is_the_same_as_a_copy),
    TEST(a_matrix_takes_the_ids_of_others),
    TEST(only_what_is_x_already_can_be_borrowed),
    TEST(borrowing_survives_every_failed_allocation),
    TEST(rows_of_a_file_are_there_to_look_at),
    TEST(titles_from_memory_are_kept_and_saved),
    TEST(a_copy_of_a_gram_matrix_outlives_its_solve),
};
TEST_MAIN(cases)
