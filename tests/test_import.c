/* Triplets from engines: forms, shards, lists of items, and what is wrong with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data.h"
#include "gram/gram.h"
#include "read/blocks.h"
#include "test.h"

static ease_status import(const char *const *paths, int count, const char *items,
                          ease_gram **out, ease_error *err)
{
    *out = NULL;
    return ease_gram_import(paths, count, items, -1, NULL, out, err);
}

/* One shard, `text`, with the list `items` (NULL: none). */
static ease_status import_text(const char *text, const char *items, ease_gram **out,
                               ease_error *err)
{
    const char *path = test_path("shard.csv"), *list = NULL;

    test_write_text(path, text);
    if (items) {
        list = test_path("items.csv");
        test_write_text(list, items);
    }
    return import(&path, 1, list, out, err);
}

static void check_fails(test *t, const char *text, const char *items,
                        ease_status status, const char *part)
{
    ease_error err = {0};
    ease_gram *g = NULL;

    check_status(t, import_text(text, items, &g, &err), status);
    check_contains(t, err.text, part);
    ease_gram_free(g);
}

/* ---- forms -------------------------------------------------------------------- */

static void separators_headers_and_line_ends_are_recognized(test *t)
{
    static const char *const texts[] = {
        "a,a,3\na,b,2\nb,b,4\n",
        "item,other,users\na,a,3\na,b,2\nb,b,4",
        "\xef\xbb\xbfitem,other,users\r\n\"a\",a,3\r\na,\"b\",2\r\n\r\nb,b,4\r\n",
        "x\ty\tn\na\ta\t3\nb\ta\t2\nb\tb\t4\n",
        "a;a;3\na;b;2.0\nb;b;4e0\n",
        "a a 3\na b 2\nb a 2\nb b 4\n",
    };

    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        ease_gram *g = NULL;
        ease_error err = {0};

        if (!check_status(t, import_text(texts[k], NULL, &g, &err), EASE_OK))
            continue;
        check_int(t, g->g.element, EASE__U32);
        check_int(t, g->interactions, 7);
        check_int(t, ease_gram_at(g, 0, 0), 3);
        check_int(t, ease_gram_at(g, 0, 1), 2);
        check_int(t, ease_gram_at(g, 1, 1), 4);
        check_text(t, ease_gram_item_id(g, 0), "a");
        check_text(t, ease_gram_item_id(g, 1), "b");
        ease_gram_free(g);
    }
}

static void ids_are_any_text_on_a_line(test *t)
{
    static const char items[] =
        "\"item\",users,\"all_users\"\r\n\"a,b\",3,9\n\"say \"\"x\"\"\",2,9\n"
        "  c ,1,9\n\xc3\xa9,5,9\n";
    static const char text[] = "item,other,users\n\"a,b\",\"say \"\"x\"\"\",2\n"
                               "\"  c \",\xc3\xa9,1\n";
    ease_gram *g = NULL;
    ease_error err = {0};

    if (!check_status(t, import_text(text, items, &g, &err), EASE_OK))
        return;
    check_int(t, g->users, 9);
    check_int(t, g->interactions, 11);
    check_text(t, ease_gram_item_id(g, 0), "a,b");
    check_text(t, ease_gram_item_id(g, 1), "say \"x\"");
    check_text(t, ease_gram_item_id(g, 2), "  c ");
    check_int(t, ease_gram_at(g, 0, 1), 2);
    check_int(t, ease_gram_at(g, 3, 2), 1);
    check_int(t, ease_gram_at(g, 3, 3), 5);
    ease_gram_free(g);
}

static void a_directory_of_parts_is_one_shard(test *t)
{
    char dir[200], file[240];
    static const char *const names[] = {"part-0", "part-1", "part-2", "_SUCCESS",
                                        ".x.crc"};
    static const char *const texts[] = {"", "i,j,n\na,a,2\na,b,1\n", "i,j,n\nb,b,2\n",
                                        "?", "?"};
    const char *path = dir;
    ease_gram *g = NULL;
    ease_error err = {0};

    snprintf(dir, sizeof(dir), "%s", test_path("parts"));
    mkdir(dir, 0777);
    for (int k = 0; k < 5; k++) {
        snprintf(file, sizeof(file), "%s/%s", dir, names[k]);
        test_write_text(file, texts[k]);
    }
    if (check_status(t, import(&path, 1, NULL, &g, &err), EASE_OK)) {
        check_int(t, g->g.n, 2);
        check_int(t, g->interactions, 4);
    }
    ease_gram_free(g);
    snprintf(file, sizeof(file), "%s/part-3", dir);
    test_write_text(file, "i,j,n\n\nc,c,2\nc,c,oops\n");
    check_status(t, import(&path, 1, NULL, &g, &err), EASE_E_PARSE);
    check_contains(t, err.text, "part-3:4: 'oops' is not a number");
    test_write_text(file, "c,c,2\n\na,a,1\n");
    snprintf(file, sizeof(file), "%s", test_path("list"));
    test_write_text(file, "a\nb\nc\n");
    check_status(t, import(&path, 1, file, &g, &err), EASE_E_PARSE);
    check_contains(t, err.text, "part-3:3: this pair occurs twice");
    snprintf(file, sizeof(file), "%s/deeper", dir);
    mkdir(file, 0777);
    check_status(t, import(&path, 1, NULL, &g, &err), EASE_E_DATA);
    check_contains(t, err.text, "a directory within a directory");
    rmdir(file);
}

/* ---- what is wrong ------------------------------------------------------------ */

static void wrong_lines_are_named(test *t)
{
    static const char ab[] = "a\nb\n";

    for (int k = 0; k < 2; k++) {
        const char *items = k ? ab : NULL;

        check_fails(t, "a,a,1\na,b\n", items, EASE_E_PARSE,
                    "shard.csv:2: expected 3 fields, found 2");
        check_fails(t, "a,a,1\na,b,1,1\n", items, EASE_E_PARSE,
                    "shard.csv:2: expected 3 fields, found 4");
        check_fails(t, "a,a,1\n,b,1\n", items, EASE_E_PARSE,
                    "shard.csv:2: the item is empty");
        check_fails(t, "a,a,1\na,b,\n", items, EASE_E_PARSE, ":2: the value is empty");
        check_fails(t, "a,a,nan\n", items, EASE_E_PARSE, ":1: 'nan' is not a number");
        check_fails(t, "a,a,1e999\n", items, EASE_E_PARSE,
                    ":1: '1e999' is out of range");
        check_fails(t, "a,a,1\n\"a,b,1\n", items, EASE_E_PARSE, ":2: a quoted field");
        check_fails(t, "\n", items, EASE_E_DATA, "no entries");
        check_fails(t, "item,other,users\n", items, EASE_E_DATA, "no entries");
        check_fails(t, "a,b,1\n", items, EASE_E_DATA, "no entry of the diagonal");
        check_fails(t, "a,a,1\nb,b,1\na,b,2\n", items, EASE_E_DATA, "has alone");
        check_fails(t, "a,a,3\nb,b,3\na,b,2\nb,a,1\n", items, EASE_E_DATA,
                    "not symmetric");
        check_fails(t, "a,a,-1\nb,b,1\n", items, EASE_E_DATA, "negative");
        check_fails(t, "a,a,4294967296\nb,b,1\n", items, EASE_E_DATA,
                    "a count exceeds 2^32 - 1");
    }
    check_fails(t, "a,a,1\nb,b,1\nc,a,1\nb\n", ab, EASE_E_DATA,
                "shard.csv:3: item 'c' is not in the list of items");
    check_fails(t, "a,a,1\nb,b,1\na,a,1\nb\n", ab, EASE_E_PARSE,
                "shard.csv:3: this pair occurs twice");
    check_fails(t, "a,a,1\na,a,1\n", NULL, EASE_E_PARSE, "\"a\" and \"a\": this pair");
}

static void wrong_lists_of_items_are_named(test *t)
{
    static const char text[] = "a,a,2\nb,b,2\n";
    static const char head[] = "item,users,all_users\n";
    static const struct {
        const char *rows;
        ease_status status;
        const char *part;
    } wrong[] = {
        {"a,2,5\nb,2\n", EASE_E_PARSE, "items.csv:3: not a row"},
        {"a,2,5\nb,x,5\n", EASE_E_PARSE, "items.csv:3: a number of users"},
        {"a,2,5\nb,4294967296,5\n", EASE_E_PARSE, "items.csv:3: a number of users"},
        {"a,2,5\n\"\",2,5\n", EASE_E_PARSE, "items.csv:3: an empty item"},
        {"a,2,5\na,2,5\n", EASE_E_PARSE, "items.csv:3: an item occurs twice"},
        {"a,2,5\n\"b,2,5\n", EASE_E_PARSE, "items.csv:3: a quoted field"},
        {"a,2,5\nb,2,6\n", EASE_E_DATA, "items.csv:3: 6 users in all, but 5"},
        {"a,2,5\nb,3,5\n", EASE_E_DATA, "\"b\" has 2 users, but 3 in the list"},
        {"a,2,5\nb,2,5\nc,1,5\n", EASE_E_DATA, "\"c\" has 0 users, but 1"},
        {"a,2,1\nb,2,1\n", EASE_E_DATA, "more than there are users"},
        {"", EASE_E_DATA, "no items"},
    };

    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        char items[200];

        snprintf(items, sizeof(items), "%s%s", head, wrong[k].rows);
        check_fails(t, text, items, wrong[k].status, wrong[k].part);
    }
}

/* ---- shards ------------------------------------------------------------------- */

static void shards_add_up_exactly_or_not_at_all(test *t)
{
    char one[200], two[200];
    const char *paths[] = {one, two};
    ease_gram *g = NULL;
    ease_error err = {0};

    snprintf(one, sizeof(one), "%s", test_path("one.csv"));
    snprintf(two, sizeof(two), "%s", test_path("two.csv"));
    test_write_text(one, "a,a,2147483648\na,b,16777216\nb,b,16777217\n");
    test_write_text(two, "b,a,1\na,a,2147483647\nc,c,1\nb,b,1\n");
    if (check_status(t, import(paths, 2, NULL, &g, &err), EASE_OK)) {
        check(t, ease_gram_at(g, 0, 0) == 4294967295.0);
        check(t, ease_gram_at(g, 0, 1) == 16777217.0);
        check(t, ease_gram_at(g, 1, 1) == 16777218.0);
        check(t, ease_gram_at(g, 2, 2) == 1.0);
        check_int(t, g->g.element, EASE__U32);
    }
    ease_gram_free(g);
    test_write_text(two, "a,a,2147483648\n");
    check_status(t, import(paths, 2, NULL, &g, &err), EASE_E_DATA);
    check_contains(t, err.text, "4294967296 for \"a\" and \"a\": a count exceeds");
    test_write_text(two, "a,b,1\nb,a,1\n");
    check_status(t, import(paths, 2, NULL, &g, &err), EASE_E_PARSE);
    check_contains(t, err.text, "both orders");
}

static void numbers_that_are_no_counts_are_weights(test *t)
{
    /* The fraction comes late: entries begin as integers. */
    ease_gram *g = NULL;
    ease_error err = {0};
    char *text = malloc(100000), *at = text;

    for (int i = 0; i < 2000; i++)
        at += sprintf(at, "%d,%d,%d\n", i, i, i + 1);
    strcpy(at, "0,1,0.25\n5000,5000,5e9\n6000,6000,1e20\n"); /* past any int64_t */
    if (check_status(t, import_text(text, NULL, &g, &err), EASE_OK)) {
        check_int(t, g->weighted, 1);
        check_int(t, g->g.element, EASE__F32);
        check(t, ease_gram_at(g, 0, 1) == 0.25);
        check(t, ease_gram_at(g, 1999, 1999) == 2000.0);
        check(t, ease_gram_at(g, 2000, 2000) == 5e9);
        check_int(t, g->interactions, -1);
    }
    ease_gram_free(g);
    free(text);
}

static void entries_beyond_float32_stay_in_float64(test *t)
{
    static const char *const texts[] = {"a,a,1e60\na,b,1e20\nb,b,0.5\n",
                                        "a,a,1e-60\na,b,1e-40\nb,b,0.5\n"};

    for (int i = 0; i < 2; i++) {
        ease_gram *g = NULL;
        ease_error err = {0};

        if (!check_status(t, import_text(texts[i], NULL, &g, &err), EASE_OK))
            continue;
        check_int(t, g->g.element, EASE__F64);
        check(t, ease_gram_at(g, 0, 1) == (i ? 1e-40 : 1e20));
        ease_gram_free(g);
    }
}

/* ---- blocks ------------------------------------------------------------------- */

typedef struct taken {
    double sum;
    size_t count;
    uint64_t order; /* a hash of all, in order */
} taken;

static ease_status take(void *user, const uint32_t *records, size_t count, size_t *bad,
                        char what[EASE__BLOCK_WHAT])
{
    taken *to = user;

    (void)what;
    *bad = 0;
    for (size_t k = 0; k < count; k++, records += EASE__TRIPLET_WORDS) {
        double value;

        memcpy(&value, records + 2, sizeof(value));
        to->sum += value;
        to->order = (to->order ^ records[0]) * 0x9e3779b97f4a7c15u;
        to->order = (to->order ^ records[1]) * 0x9e3779b97f4a7c15u + (uint64_t)value;
    }
    to->count += count;
    return EASE_OK;
}

static ease_status read_in_blocks(const char *path, size_t bytes, int threads,
                                  taken *to, int64_t *ids, ease_error *err)
{
    ease__ids known = {0};
    ease__triplets triplets = {.ids = &known, .take = take, .user = to};
    ease__splitter comma;
    ease__input *in = NULL;
    ease_read_options o;
    ease_status status = ease__splitter_make(",", &comma, err);

    *to = (taken){0};
    ease_read_options_init(&o);
    o.threads = threads;
    if (!status)
        status = ease__input_open(path, NULL, &in, err);
    if (!status)
        status = ease__triplets_read(in, &comma, bytes, &o, &triplets, err);
    *ids = known.count;
    ease__input_close(in);
    ease__ids_free(&known);
    return status;
}

static void triplets_are_the_same_in_any_blocks_by_any_threads(test *t)
{
    enum { ROWS = 3000, ITEMS = 400 };
    const char *path = test_path("blocks.csv");
    char *text = malloc((size_t)ROWS * 40), *at = text;
    taken whole = {0}, got;
    int64_t ids = 0;
    ease_error err = {0};

    at += sprintf(at, "item,other,users\n");
    for (unsigned k = 0; k < ROWS; k++)
        at += sprintf(at, k % 3 ? "\"i%u\",long item %u,%u\n" : "%u,\"q\"\"%u\",%u\n%s",
                      k * 7919 % ITEMS, k * 104729 % ITEMS, k, k % 50 ? "" : "\n");
    test_write_text(path, text);
    check_status(t, read_in_blocks(path, 0, 1, &whole, &ids, &err), EASE_OK);
    check_int(t, whole.count, ROWS);
    for (size_t bytes = 40; bytes < 5000; bytes = bytes * 7 / 3)
        for (int threads = 1; threads <= 5; threads += 2) {
            int64_t same = 0;

            check_status(t, read_in_blocks(path, bytes, threads, &got, &same, &err),
                         EASE_OK);
            check_int(t, got.count, ROWS);
            check(t, got.order == whole.order && got.sum == whole.sum && same == ids);
        }
    strcpy(at, "a,b\n");
    test_write_text(path, text);
    for (size_t bytes = 40; bytes < 5000; bytes = bytes * 7 / 3) {
        check_status(t, read_in_blocks(path, bytes, 3, &got, &ids, &err), EASE_E_PARSE);
        check_int(t, err.where, 1 + ROWS + ROWS / 150 + 1);
    }
    free(text);
}

static void import_survives_every_failed_allocation(test *t)
{
    static const char text[] = "a,a,2\n\"b\"\"\",a,1.5\n\"b\"\"\",\"b\"\"\",4\n";
    static const char list[] = "item,users,all_users\na,2,5\n\"b\"\"\",4,5\n";
    char path[200], items[200];
    const char *paths[] = {path};
    ease_gram_options o;

    snprintf(path, sizeof(path), "%s", test_path("fail.csv"));
    snprintf(items, sizeof(items), "%s", test_path("fail-items.csv"));
    test_write_text(path, text);
    test_write_text(items, list);
    ease_gram_options_init(&o);
    o.threads = 1;
    for (int k = 0; k < 2; k++) {
        ease_status st;
        int n = 0;

        do {
            ease_gram *g = NULL;

            alloc_fail_after(n++);
            st = ease_gram_import(paths, 1, k ? items : NULL, -1, &o, &g, NULL);
            alloc_fail_after(-1);
            check_int(t, g != NULL, st == EASE_OK);
            ease_gram_free(g);
        } while (st == EASE_E_NOMEM && n < 10000);
        check_status(t, st, EASE_OK);
    }
}

static void memory_is_refused_before_the_work(test *t)
{
    const char *path = test_path("many.csv"), *list = test_path("many.txt");
    FILE *f = fopen(list, "w");
    ease_gram_options o;
    ease_gram *g = NULL;
    ease_error err = {0};

    for (int i = 0; i < 20000; i++)
        fprintf(f, "%d\n", i);
    fclose(f);
    test_write_text(path, "0,0,1\n");
    ease_gram_options_init(&o);
    o.memory_limit = (size_t)600 << 20;
    check_status(t, ease_gram_import(&path, 1, list, -1, &o, &g, &err),
                 EASE_E_MEMORY_LIMIT);
    check_contains(t, err.text, "importing 20000 items takes 0.8");
}

static const test_case cases[] = {
    TEST(separators_headers_and_line_ends_are_recognized),
    TEST(ids_are_any_text_on_a_line),
    TEST(a_directory_of_parts_is_one_shard),
    TEST(wrong_lines_are_named),
    TEST(wrong_lists_of_items_are_named),
    TEST(shards_add_up_exactly_or_not_at_all),
    TEST(numbers_that_are_no_counts_are_weights),
    TEST(entries_beyond_float32_stay_in_float64),
    TEST(triplets_are_the_same_in_any_blocks_by_any_threads),
    TEST(import_survives_every_failed_allocation),
    TEST(memory_is_refused_before_the_work),
};

TEST_MAIN(cases)
