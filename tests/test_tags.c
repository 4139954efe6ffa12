/* Tags of items: reading them, and keeping them in models. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "models.h"
#include "test.h"

/* ---- reading --------------------------------------------------------------------- */

static ease_tags_info tags_info(const ease_tags *t)
{
    ease_tags_info info = {.size = sizeof(info)};

    ease_tags_describe(t, &info);
    return info;
}

/* All tags as "item: tag tag=weight ...; item: ...", to be freed. */
static char *tags_text(const ease_tags *t)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    for (int32_t i = 0; i < tags_info(t).items; i++) {
        ease_row row = ease_tags_row(t, i);

        fprintf(f, "%s%s:", i ? "; " : "", ease_tags_item_id(t, i));
        for (int32_t k = 0; k < row.count; k++) {
            fprintf(f, " %s", ease_tags_name(t, row.items[k]));
            if (row.weights)
                fprintf(f, "*%g", (double)row.weights[k]);
        }
    }
    fclose(f);
    return text;
}

static void check_read(test *t, const char *content, const char *columns,
                       const char *split, const char *want)
{
    const char *path = test_path("tags.csv");
    ease_tag_options o;
    ease_tags *tags = NULL;
    ease_error err = {0};

    test_write_text(path, content);
    ease_tag_options_init(&o);
    o.columns = columns;
    o.split = split;
    if (check_status(t, ease_tags_read(path, &o, &tags, &err), EASE_OK)) {
        char *text = tags_text(tags);

        check_text(t, text, want);
        free(text);
    } else {
        printf("  %s\n", err.text);
    }
    ease_tags_free(tags);
}

static void tables_of_many_shapes_are_read(test *t)
{
    check_read(t, "1,x\n2,y\n1,y\n", NULL, NULL, "1: tag=x tag=y; 2: tag=y");
    check_read(t, "item,genre\n1,x\n2,y\n", NULL, NULL, "1: genre=x; 2: genre=y");
    check_read(t, "movieId,title,genres\n1,\"A, b\",x|y\n2,c,y\n", NULL, "|",
               "1: genres=x genres=y; 2: genres=y");
    check_read(t, "genres:token_seq\titem_id:token\nx y\t1\n", NULL, " ",
               "1: genres=x genres=y");
    check_read(t, "id,authors,book_id\n7,\"Ann, Bo B.\",3\n", NULL, ", ",
               "3: authors=Ann authors=Bo B.");
    check_read(t, "id,authors,book_id\n7,\"Ann, Bo B.\",3\n", "ID,Authors", ", ",
               "7: authors=Ann authors=Bo B.");
    check_read(t, "1::Toy Story (1995)::Comedy|Drama\n", "1,3", "|",
               "1: tag=Comedy tag=Drama");
    check_read(t, "a\tx\t2\nb\ty\t0.5\n", NULL, NULL, "a: tag=x*2; b: tag=y*0.5");
    check_read(t, "item,tag,count\na,x,2\nb,y,1\n", NULL, NULL,
               "a: tag=x*2; b: tag=y*1");
    check_read(t, "weight,tag,item\n2,x,a\n", "item,tag,weight", NULL, "a: tag=x*2");
    check_read(t, "item,main genre\n1,x\n", NULL, NULL, "1: main_genre=x");
}

static void values_are_trimmed_named_and_folded(test *t)
{
    check_read(t, "item,tag\n1, x |  | y|\n2,\n", NULL, "|", "1: tag=x tag=y");
    check_read(t, "item,tag\n1,author=Ann\n1,a b=c\n1,=d\n", NULL, NULL,
               "1: author=Ann tag=a b=c tag==d");
    check_read(t, "item,tag\n1,x\n1,y\n1,x\n", NULL, NULL, "1: tag=x tag=y");
    check_read(t, "1,x,2\n1,y,0\n1,x,0.5\n", NULL, NULL, "1: tag=x*2.5");
    check_read(t, "item,tag\n1,\xe9t\xe9\n2,\xc3\xa9t\xc3\xa9\n", NULL, NULL,
               "1: tag=\xc3\xa9t\xc3\xa9; 2: tag=\xc3\xa9t\xc3\xa9");
    /* Tags keep the order of first appearance; those of an item ascend. */
    check_read(t, "1,b\n2,a\n1,a\n2,b\n", NULL, NULL, "1: tag=b tag=a; 2: tag=b tag=a");
}

static void check_refused(test *t, const char *content, const char *columns,
                          ease_status want, const char *part)
{
    const char *path = test_path("bad.csv");
    ease_tag_options o;
    ease_tags *tags = NULL;
    ease_error err = {0};

    test_write_text(path, content);
    ease_tag_options_init(&o);
    o.columns = columns;
    o.columns_option = "--tag-columns ";
    check_status(t, ease_tags_read(path, &o, &tags, &err), want);
    check_contains(t, err.text, part);
    check(t, tags == NULL);
}

static void bad_tables_are_refused_with_their_line(test *t)
{
    check_refused(t, "1,x,1\n2,y,-1\n", NULL, EASE_E_PARSE, "bad.csv:2: the weight is");
    check_refused(t, "item,tag,weight\n2,y,nan\n", NULL, EASE_E_PARSE, "bad.csv:2: ");
    check_refused(t, "item,tag,weight\n2,y,inf\n", NULL, EASE_E_PARSE, "bad.csv:2: ");
    check_refused(t, "item,tag,weight\n2,y,1e39\n", NULL, EASE_E_PARSE, "too large");
    check_refused(t, "item,tag,weight\n2,y,\n", NULL, EASE_E_PARSE, "not a number");
    check_refused(t, "item,tag\n1,x\n,y\n", NULL, EASE_E_PARSE,
                  ":3: the item is empty");
    check_refused(t, "item,tag\n1,x,y\n", NULL, EASE_E_PARSE, "expected 2 fields");
    check_refused(t, "item,tag\n1,\n2, \n", NULL, EASE_E_DATA, "no row has");
    check_refused(t, "item,tag\n", NULL, EASE_E_DATA, "no row has");
    check_refused(t, "", NULL, EASE_E_DATA, "empty");
    check_refused(t, "1,x,3e38\n1,x,3e38\n", NULL, EASE_E_DATA, "add up to more");
    check_refused(t, "1::Toy Story::Comedy\n", NULL, EASE_E_ARG,
                  "--tag-columns ITEM,TAG");
    check_refused(t, "item,price,colour\n1,2,3\n", NULL, EASE_E_ARG, "--tag-columns");
    check_refused(t, "item,tag\n1,x\n", "item", EASE_E_ARG, "not ITEM,TAG");
    check_refused(t, "item,tag\n1,x\n", "item,item", EASE_E_ARG, "not ITEM,TAG");
    check_refused(t, "item,tag\n1,x\n", "item,tag,", EASE_E_ARG, "not ITEM,TAG");
    check_refused(t, "item,tag\n1,x\n", "item,genre", EASE_E_ARG, "no column 'genre'");
    check_refused(t, "item,tag\n1,x\n", "1,3", EASE_E_ARG, "no column 3");
}

static void the_reader_survives_every_failed_allocation(test *t)
{
    const char *path = test_path("tags.csv");
    ease_tag_options o;
    ease_status status = EASE_E_NOMEM;
    int n = 0;

    test_write_text(path, "item,tag,weight\n1,\"a \"\"b\"\"|\xe9\",2\n2,b,1\n1,b,1\n");
    ease_tag_options_init(&o);
    o.split = "|";
    while (status == EASE_E_NOMEM && n < 1000) {
        ease_tags *tags = NULL;

        alloc_fail_after(n++);
        status = ease_tags_read(path, &o, &tags, NULL);
        alloc_fail_after(-1);
        check_int(t, tags != NULL, status == EASE_OK);
        ease_tags_free(tags);
    }
    check_status(t, status, EASE_OK);
    check(t, n > 10);
}

static void reading_stays_within_its_memory_limit(test *t)
{
    const char *path = test_path("large.csv");
    FILE *f = fopen(path, "w");
    ease_tag_options o;
    ease_tags *tags = NULL;
    ease_error err = {0};

    for (int i = 0; i < 200000; i++)
        fprintf(f, "item%d,tag%d\n", i, i % 1000);
    fclose(f);
    ease_tag_options_init(&o);
    o.memory_limit = 4 << 20;
    check_status(t, ease_tags_read(path, &o, &tags, &err), EASE_E_MEMORY_LIMIT);
    check(t, tags == NULL);
    o.memory_limit = (size_t)1 << 30;
    check_status(t, ease_tags_read(path, &o, &tags, &err), EASE_OK);
    check_int(t, tags_info(tags).items, 200000);
    check_int(t, tags_info(tags).tags, 1000);
    ease_tags_free(tags);
}

static void arrays_give_the_tags_of_a_table(test *t)
{
    static const int64_t numbers[] = {1, 2, 1}, offsets[] = {0, 1, 2, 5};
    static const double weights[] = {1, 2, 0.5}, bad[] = {1, NAN, 1}, negative[] = {-1};
    const ease_id_column items = {.numbers = numbers};
    const ease_id_column tags = {.bytes = "xy y ", .offsets = offsets};
    ease_tags *made = NULL;
    ease_error err = {0};
    char *text;

    check_status(t,
                 ease_tags_from_table(3, &items, &tags, weights, "genre", &made, &err),
                 EASE_OK);
    text = tags_text(made);
    check_text(t, text, "1: genre=x*1 genre=y*0.5; 2: genre=y*2");
    free(text);
    ease_tags_free(made);
    made = NULL;
    check_status(t, ease_tags_from_table(2, &tags, &items, NULL, NULL, &made, &err),
                 EASE_OK);
    text = tags_text(made);
    check_text(t, text, "x: tag=1; y: tag=2");
    free(text);
    ease_tags_free(made);
    made = NULL;
    check_status(t, ease_tags_from_table(3, &items, &tags, bad, NULL, &made, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "row 1: ");
    check_status(t, ease_tags_from_table(1, &items, &tags, negative, NULL, &made, NULL),
                 EASE_E_DATA);
    check_status(t, ease_tags_from_table(0, &items, &tags, NULL, NULL, &made, NULL),
                 EASE_E_DATA);
    check_status(t, ease_tags_from_table(1, &items, NULL, NULL, NULL, &made, NULL),
                 EASE_E_ARG);
    check(t, made == NULL);
}

static void check_real_tags(test *t, const char *file, const char *columns,
                            const char *split, int32_t items, int32_t tags,
                            const char *first)
{
    char path[256];
    ease_tag_options o;
    ease_tags *made = NULL;
    ease_error err = {0};

    snprintf(path, sizeof(path), "../shared/data/%s", file);
    if (access(path, R_OK) != 0) {
        test_skip(t, file);
        return;
    }
    ease_tag_options_init(&o);
    o.columns = columns;
    o.split = split;
    if (!check_status(t, ease_tags_read(path, &o, &made, &err), EASE_OK))
        printf("  %s\n", err.text);
    check_int(t, tags_info(made).items, items);
    check_int(t, tags_info(made).tags, tags);
    check_text(t, ease_tags_name(made, 0), first);
    ease_tags_free(made);
}

static void real_tables_are_read(test *t)
{
    check_real_tags(t, "ml-1m/movies.dat", "1,3", "|", 3883, 18, "tag=Animation");
    check_real_tags(t, "goodbooks/books.csv", "id,authors", ", ", 10000, 5841,
                    "authors=Suzanne Collins");
}

/* ---- in models ------------------------------------------------------------------- */

static ease_tags *letter_tags(bool weighted)
{
    const char *path = test_path("letters.csv");
    ease_tags *tags = NULL;

    test_write_text(path, weighted ? "item,genre,weight\nzz,no,1\nb,x,2\nc,y,1\nb,y,3\n"
                                   : "item,genre\nzz,no\nb,x\nc,y\nb,y\n");
    if (ease_tags_read(path, NULL, &tags, NULL) != EASE_OK)
        abort();
    return tags;
}

static void check_letter_tags(test *t, const ease_model *m, bool weighted)
{
    ease_row b = ease_model_item_tags(m, 1), c = ease_model_item_tags(m, 2);

    check_int(t, ease_model_tags(m), 2);
    check_text(t, ease_model_tag(m, 0), "genre=x");
    check_text(t, ease_model_tag(m, 1), "genre=y");
    check(t, !ease_model_tag(m, 2) && !ease_model_tag(m, -1));
    check_int(t, ease_model_find_tag(m, "genre=y"), 1);
    check_int(t, ease_model_find_tag(m, "genre=no"), EASE_NO_TAG);
    check_int(t, ease_model_find_tag(m, NULL), EASE_NO_TAG);
    check_int(t, ease_model_item_tags(m, 0).count, 0);
    check_int(t, ease_model_item_tags(m, -1).count, 0);
    check_int(t, ease_model_item_tags(m, 1000000).count, 0);
    if (check_int(t, b.count, 2) && check_int(t, c.count, 1)) {
        check_int(t, b.items[0], 0);
        check_int(t, b.items[1], 1);
        check_int(t, c.items[0], 1);
        check(t, (b.weights != NULL) == weighted);
        if (weighted)
            check(t, b.weights[0] == 2 && b.weights[1] == 3 && c.weights[0] == 1);
    }
}

/* A model of the items "a" .. "e". */
static ease_model *letter_model(void)
{
    return random_model(5, 3, false, EASE_GRAM_COUNTS, false);
}

static void tags_come_back_from_files_of_every_storage(test *t)
{
    static const ease_storage storages[] = {EASE_STORE_F32, EASE_STORE_F16,
                                            EASE_STORE_PACKED};

    for (int form = 0; form < 3; form++)
        for (int weighted = 0; weighted < 2; weighted++) {
            ease_model *m = letter_model(), *back, *again;
            ease_tags *tags = letter_tags(weighted);
            int32_t matched = 0;

            check_int(t, ease_model_tags(m), 0);
            check_int(t, ease_model_item_tags(m, 1).count, 0);
            check_status(t, ease_model_set_tags(m, tags, &matched, NULL), EASE_OK);
            check_int(t, matched, 2);
            check_letter_tags(t, m, weighted);
            back = reopened(t, m, storages[form]);
            check_letter_tags(t, back, weighted);
            again = reopened(t, back, storages[form]);
            check_letter_tags(t, again, weighted);
            ease_model_free(again);
            ease_tags_free(tags);
            tags = letter_tags(!weighted); /* replaces those of the file */
            check_status(t, ease_model_set_tags(back, tags, NULL, NULL), EASE_OK);
            check_letter_tags(t, back, !weighted);
            ease_model_free(back);
            ease_tags_free(tags);
            ease_model_free(m);
        }
}

static void tags_without_a_known_item_are_refused(test *t)
{
    const char *path = test_path("foreign.csv");
    ease_model *m = letter_model();
    ease_tags *tags = NULL;
    ease_error err = {0};

    test_write_text(path, "item,tag\nzz,x\n");
    check_status(t, ease_tags_read(path, NULL, &tags, NULL), EASE_OK);
    check_status(t, ease_model_set_tags(m, tags, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "\"zz\"");
    check_status(t, ease_model_set_tags(NULL, tags, NULL, NULL), EASE_E_ARG);
    check_status(t, ease_model_set_tags(m, NULL, NULL, NULL), EASE_E_ARG);
    check_int(t, ease_model_tags(m), 0);
    ease_tags_free(tags);
    ease_model_free(m);
}

static void setting_tags_survives_every_failed_allocation(test *t)
{
    ease_model *m = letter_model();
    ease_tags *tags = letter_tags(true);
    ease_status status = EASE_E_NOMEM;

    for (int n = 0; status == EASE_E_NOMEM && n < 1000; n++) {
        alloc_fail_after(n);
        status = ease_model_set_tags(m, tags, NULL, NULL);
        alloc_fail_after(-1);
        check_int(t, ease_model_tags(m) > 0, status == EASE_OK);
    }
    check_status(t, status, EASE_OK);
    ease_tags_free(tags);
    ease_model_free(m);
}

/* Sections that are wrong, with right checksums. */
static void damaged_tags_are_found(test *t)
{
    static const int64_t no_tags[] = {0, 3}, many[] = {INT64_MAX, 3}, more[] = {2, 4},
                         huge[] = {2, INT64_MAX};
    static const uint64_t descending[] = {0, 2, 1, 3, 3, 3},
                          outside[] = {0, 0, 2, 3, 3, 9},
                          short_starts[] = {0, 0, 2, 3, 3};
    static const int32_t twice[] = {1, 1, 1}, beyond[] = {0, 2, 1},
                         below[] = {-1, 1, 1};
    static const float nan[] = {1, NAN, 1}, negative[] = {1, -1, 1}, two[] = {1, 1};
    static const struct {
        const char *name;
        const void *data;
        size_t bytes;
    } bad[] = {
        {"tags", no_tags, sizeof(no_tags)},
        {"tags", many, sizeof(many)},
        {"tags", more, sizeof(more)},
        {"tags", huge, sizeof(huge)},
        {"tags", more, 8},
        {"tag_starts", descending, sizeof(descending)},
        {"tag_starts", outside, sizeof(outside)},
        {"tag_starts", short_starts, sizeof(short_starts)},
        {"tag_numbers", twice, sizeof(twice)},
        {"tag_numbers", beyond, sizeof(beyond)},
        {"tag_numbers", below, sizeof(below)},
        {"tag_weights", nan, sizeof(nan)},
        {"tag_weights", negative, sizeof(negative)},
        {"tag_weights", two, sizeof(two)},
        {"tag_names", "", 1},
    };
    char path[256], changed[256];
    ease_model *m = letter_model(), *back = NULL;
    ease_tags *tags = letter_tags(true);

    snprintf(path, sizeof(path), "%s", test_path("tags.ease"));
    snprintf(changed, sizeof(changed), "%s", test_path("changed.ease"));
    check_status(t, ease_model_set_tags(m, tags, NULL, NULL), EASE_OK);
    check_status(t, ease_model_save(m, path, EASE_STORE_F32, NULL, NULL), EASE_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        section_change change = {bad[i].name, bad[i].data, bad[i].bytes, 0};

        copy_changed(path, change, changed);
        check_status(t, ease_model_open(changed, NULL, &back, NULL), EASE_E_FORMAT);
        check(t, back == NULL);
    }
    ease_tags_free(tags);
    ease_model_free(m);
}

static const test_case cases[] = {
    TEST(tables_of_many_shapes_are_read),
    TEST(values_are_trimmed_named_and_folded),
    TEST(bad_tables_are_refused_with_their_line),
    TEST(the_reader_survives_every_failed_allocation),
    TEST(reading_stays_within_its_memory_limit),
    TEST(arrays_give_the_tags_of_a_table),
    TEST(real_tables_are_read),
    TEST(tags_come_back_from_files_of_every_storage),
    TEST(tags_without_a_known_item_are_refused),
    TEST(setting_tags_survives_every_failed_allocation),
    TEST(damaged_tags_are_found),
};
TEST_MAIN(cases)
