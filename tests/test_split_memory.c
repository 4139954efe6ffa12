/* Splits of interactions in memory: those of a file with the same rows, with weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data.h"
#include "test.h"

enum { USERS = 90, ITEMS = 40, ROWS = 1500, HELD_OUT = 12, PARTS = 6 };

/* ---- helpers --------------------------------------------------------------------- */

/* Ids that are no numbers, in no order; the weights are those of the last rows. */
static ease_interactions *read_ratings(test *t, int weights)
{
    const char *path = test_path("ratings.csv");
    FILE *f = fopen(path, "we");
    ease_interactions *x = NULL;
    ease_read_options o;
    ease_error err = {0};
    ease__random r;

    if (!f)
        abort();
    ease__random_seed(&r, 5, 0);
    fprintf(f, "user,item,rating\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "u%d,i%d,%d.25\n", (int)ease__random_below(&r, USERS),
                (int)ease__random_below(&r, ITEMS), (int)ease__random_below(&r, 5));
    fclose(f);
    ease_read_options_init(&o);
    o.weights = weights;
    o.repeat = EASE_REPEAT_LAST;
    if (!check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_OK))
        printf("  %s\n", err.text);
    return x;
}

static ease_split_options protocol(const char *name)
{
    ease_split_options o;

    ease_split_options_init(&o);
    o.protocol = name;
    o.heldout_users = strcmp(name, "liang18") == 0 ? HELD_OUT : 0;
    return o;
}

/* The same split by way of files. */
static void split_file(test *t, const ease_interactions *x, const ease_split_options *o,
                       ease_split_parts *parts)
{
    const char *data = test_path("data.csv"), *dir = test_path("split");
    ease_read_options r;
    ease_error err = {0};

    ease_read_options_init(&r);
    r.columns = "user,item";
    r.separator = ",";
    r.header = 1;
    r.min_user = o->heldout_users ? 5 : 0;
    if (ease_interactions_write(x, data, NULL, &err) ||
        ease_split(data, &r, o, dir, NULL, &err) || ease_split_open(dir, parts, &err)) {
        check_text(t, err.text, "");
        abort();
    }
}

static void parts_of(const ease_split_parts *p, const ease_interactions *to[PARTS])
{
    to[0] = p->train;
    to[1] = p->validation_train;
    to[2] = p->validation_input;
    to[3] = p->test_input;
    to[4] = p->validation_target;
    to[5] = p->test_target;
}

static float weight_in(const ease_interactions *x, const char *user, const char *item)
{
    ease_row row = ease_interactions_row(x, ease_interactions_find_user(x, user));

    for (int32_t i = 0; i < row.count; i++)
        if (strcmp(ease_interactions_item_id(x, row.items[i]), item) == 0)
            return row.weights ? row.weights[i] : 1.0f;
    return 0.0f;
}

/* The same users with the same items, both in the same order; weights as in `from`, or
 * none. */
static void check_same(test *t, const ease_interactions *got,
                       const ease_interactions *want, const ease_interactions *from)
{
    int64_t users = ease_interactions_users(want), wrong = 0;

    if (!check_int(t, ease_interactions_users(got), users) ||
        !check_int(t, ease_interactions_items(got), ease_interactions_items(want)))
        return;
    for (int64_t u = 0; u < users; u++) {
        ease_row a = ease_interactions_row(got, u), b = ease_interactions_row(want, u);
        const char *user = ease_interactions_user_id(want, u);

        wrong += strcmp(ease_interactions_user_id(got, u), user) != 0 ||
                 a.count != b.count || (a.weights != NULL) != (from != NULL);
        for (int32_t i = 0; !wrong && i < b.count; i++) {
            const char *item = ease_interactions_item_id(want, b.items[i]);

            wrong += a.items[i] != b.items[i] ||
                     strcmp(ease_interactions_item_id(got, a.items[i]), item) != 0 ||
                     (from && a.weights && a.weights[i] != weight_in(from, user, item));
        }
    }
    check_int(t, wrong, 0);
}

/* ---- tests ----------------------------------------------------------------------- */

static void they_are_those_of_a_file(test *t)
{
    static const char *const names[] = {"liang18", "volkovs15", "random", "cold-items"};

    for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
        int weights = i % 2 == 0;
        ease_split_options o = protocol(names[i / 2]);
        ease_interactions *x = read_ratings(t, weights);
        ease_split_parts got = {.size = sizeof(got)}, want = {.size = sizeof(want)};
        const ease_interactions *a[PARTS], *b[PARTS];
        ease_error err = {0};

        if (!check_status(t, ease_interactions_split(x, &o, &got, &err), EASE_OK))
            printf("  %s\n", err.text);
        split_file(t, x, &o, &want);
        parts_of(&got, a);
        parts_of(&want, b);
        for (int k = 0; k < PARTS; k++) {
            check_int(t, a[k] != NULL, b[k] != NULL);
            if (a[k] && b[k])
                check_same(t, a[k], b[k], weights && k < 4 ? x : NULL);
        }
        ease_split_close(&got);
        ease_split_close(&want);
        ease_interactions_free(x);
    }
}

static void what_memory_does_not_have_is_refused(test *t)
{
    ease_interactions *x = read_ratings(t, 0);
    ease_split_parts parts = {.size = sizeof(parts)};
    ease_split_options o = protocol("time");
    ease_error err = {0};

    check_status(t, ease_interactions_split(x, &o, &parts, &err), EASE_E_ARG);
    check_contains(t, err.text, "the protocol time divides by times");
    o = protocol("leave-last");
    check_status(t, ease_interactions_split(x, &o, &parts, &err), EASE_E_ARG);
    o = protocol("liang18");
    o.heldout_users = USERS;
    check_status(t, ease_interactions_split(x, &o, &parts, &err), EASE_E_DATA);
    o.heldout_users = HELD_OUT;
    check_status(t, ease_interactions_split(NULL, &o, &parts, &err), EASE_E_ARG);
    check_status(t, ease_interactions_split(x, NULL, &parts, &err), EASE_E_ARG);
    check_status(t, ease_interactions_split(x, &o, NULL, &err), EASE_E_ARG);
    parts.size = 0;
    check_status(t, ease_interactions_split(x, &o, &parts, &err), EASE_E_ARG);
    ease_interactions_free(x);
}

static void a_part_that_would_be_empty_is_refused(test *t)
{
    static const int64_t row_ptr[] = {0, 2, 4};
    static const int32_t cols[] = {0, 1, 0, 2};
    ease_split_parts parts = {.size = sizeof(parts)};
    ease_split_options o = protocol("random");
    ease_interactions *x = NULL;
    ease_error err = {0};

    check_status(t, ease_interactions_from_csr(2, 3, row_ptr, cols, NULL, &x, &err),
                 EASE_OK);
    check_status(t, ease_interactions_split(x, &o, &parts, &err), EASE_E_DATA);
    check_contains(t, err.text, "would be empty");
    check(t, !parts.train);
    ease_interactions_free(x);
}

static void it_survives_every_failed_allocation(test *t)
{
    ease_interactions *x = read_ratings(t, 1);
    ease_split_options o = protocol("random");
    ease_status st;
    int n = 0;

    do {
        ease_split_parts parts = {.size = sizeof(parts)};

        alloc_fail_after(n);
        st = ease_interactions_split(x, &o, &parts, NULL);
        alloc_fail_after(-1);
        check_int(t, parts.train != NULL, st == EASE_OK);
        ease_split_close(&parts);
        n += n < 60 ? 1 : 7;
    } while (st == EASE_E_NOMEM);
    check_status(t, st, EASE_OK);
    ease_interactions_free(x);
}

static const test_case cases[] = {
    TEST(they_are_those_of_a_file),
    TEST(what_memory_does_not_have_is_refused),
    TEST(a_part_that_would_be_empty_is_refused),
    TEST(it_survives_every_failed_allocation),
};
TEST_MAIN(cases)
