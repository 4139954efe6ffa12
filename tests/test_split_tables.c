/* Single tables of a split: they are read with the ids of the data that was split. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "test.h"

/* ---- helpers --------------------------------------------------------------------- */

/* Valid until the next call but three. */
static const char *path_in(const char *dir, const char *name)
{
    static char paths[4][1200];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

static ease_interactions *read_as(test *t, const char *path, const ease_read_options *o)
{
    ease_interactions *x = NULL;
    ease_error err = {0};

    if (!check_status(t, ease_interactions_read(path, o, &x, &err), EASE_OK))
        printf("  %s\n", err.text);
    return x;
}

static bool same_rows(const ease_interactions *a, const ease_interactions *b)
{
    ease_interactions_info x = interactions_info(a), y = interactions_info(b);

    if (x.users != y.users || x.items != y.items || x.interactions != y.interactions)
        return false;
    for (int64_t u = 0; u < x.users; u++) {
        ease_row p = ease_interactions_row(a, u), q = ease_interactions_row(b, u);

        if (strcmp(ease_interactions_user_id(a, u), ease_interactions_user_id(b, u)) !=
                0 ||
            p.count != q.count)
            return false;
        for (int32_t i = 0; i < p.count; i++)
            if (strcmp(ease_interactions_item_id(a, p.items[i]),
                       ease_interactions_item_id(b, q.items[i])) != 0)
                return false;
    }
    return true;
}

static const char *make_split(test *t, const char *name)
{
    const char *data = test_path("data.csv"), *dir = test_path(name);
    ease_split_options o;
    ease_error err = {0};
    FILE *f = fopen(data, "we");

    fprintf(f, "user,item\n");
    for (int i = 0; i < 300; i++)
        fprintf(f, "u%d,i%d\n", 30 - i / 10, (i * 7 + i / 10) % 25);
    fclose(f);
    ease_split_options_init(&o);
    o.protocol = "random";
    if (!check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK))
        printf("  %s\n", err.text);
    return dir;
}

/* What reading says against it; "" if it can be read. */
static const char *refusal(const char *path, const ease_read_options *o)
{
    static ease_error err;
    ease_interactions *x = NULL;
    ease_status status = ease_interactions_read(path, o, &x, &err);

    ease_interactions_free(x);
    return status ? err.text : "";
}

/* ---- recognized --------------------------------------------------------------- */

static void a_table_has_the_ids_of_its_split(test *t)
{
    const char *dir = make_split(t, "ids");
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};

    check_status(t, ease_split_open(dir, &p, &err), EASE_OK);
    const struct {
        const char *name;
        const ease_interactions *part;
    } tables[] = {{"train.csv", p.train},
                  {"validation_train.csv", p.validation_train},
                  {"validation_tr.csv", p.validation_input},
                  {"validation_te.csv", p.validation_target},
                  {"test_tr.csv", p.test_input},
                  {"test_te.csv", p.test_target}};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        ease_interactions *x = read_as(t, path_in(dir, tables[i].name), NULL);

        check(t, same_rows(x, tables[i].part));
        check_text(t, interactions_info(x).recognized,
                   "CSV with header: user = uid, item = sid; part of a split: ids from "
                   "unique_uid.txt, unique_sid.txt");
        ease_interactions_free(x);
    }
    ease_split_close(&p);
}

static void copy_file(const char *from, const char *to, bool compressed)
{
    char text[1 << 16];
    FILE *f = fopen(from, "re");
    size_t bytes = fread(text, 1, sizeof(text), f);

    fclose(f);
    if (compressed) {
        gzFile z = gzopen(to, "wb");

        gzwrite(z, text, (unsigned)bytes);
        gzclose(z);
    } else {
        test_write(to, text, bytes);
    }
}

/* Under another name, compressed, or through a link. */
static void a_copy_in_the_directory_is_as_good(test *t)
{
    const char *dir = make_split(t, "copies"), *link = test_path("link.csv");
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};
    ease_interactions *x;

    check_status(t, ease_split_open(dir, &p, &err), EASE_OK);
    copy_file(path_in(dir, "test_tr.csv"), path_in(dir, "mine.csv"), false);
    copy_file(path_in(dir, "test_tr.csv"), path_in(dir, "test_tr.csv.gz"), true);
    check_int(t, symlink(path_in(dir, "test_tr.csv"), link), 0);
    for (const char *const *path =
             (const char *const[]){path_in(dir, "mine.csv"),
                                   path_in(dir, "test_tr.csv.gz"), link, NULL};
         *path; path++) {
        x = read_as(t, *path, NULL);
        check(t, same_rows(x, p.test_input));
        ease_interactions_free(x);
    }
    ease_split_close(&p);
}

static void filters_see_ids(test *t)
{
    const char *dir = make_split(t, "filters");
    ease_interactions *x;
    ease_interactions_info info = {.size = sizeof(info)};
    ease_read_options o;

    ease_read_options_init(&o);
    o.min_item = 8;
    x = read_as(t, path_in(dir, "train.csv"), &o);
    info = interactions_info(x);
    check(t, info.filtered > 0 && info.items > 0);
    for (int64_t u = 0; u < info.users; u++)
        check(t, *ease_interactions_user_id(x, u) == 'u');
    for (int32_t i = 0; i < info.items; i++)
        check(t, *ease_interactions_item_id(x, i) == 'i');
    ease_interactions_free(x);
}

static void a_table_can_be_split_again(test *t)
{
    const char *dir = make_split(t, "again"), *second = test_path("second");
    ease_split_parts p = {.size = sizeof(p)};
    ease_split_options o;
    ease_error err = {0};
    ease_interactions *train = read_as(t, path_in(dir, "train.csv"), NULL);
    int64_t users;

    ease_split_options_init(&o);
    o.protocol = "random";
    check_status(t, ease_split(path_in(dir, "train.csv"), NULL, &o, second, NULL, &err),
                 EASE_OK);
    check_status(t, ease_split_open(second, &p, &err), EASE_OK);
    users = interactions_info(p.train).users;
    check_int(t, users, interactions_info(train).users);
    for (int64_t u = 0; u < users; u++)
        check(t, *ease_interactions_user_id(p.train, u) == 'u');
    ease_split_close(&p);
    ease_interactions_free(train);
}

static void the_published_code_lists_items_alone(test *t)
{
    const char *dir = test_path("published");
    ease_interactions *x;
    ease_row row;

    mkdir(dir, 0777);
    test_write_text(path_in(dir, "unique_sid.txt"), "30\n10\n20\n");
    test_write_text(path_in(dir, "test_te.csv"), "uid,sid\r\n7,2\r\n");
    x = read_as(t, path_in(dir, "test_te.csv"), NULL);
    row = ease_interactions_row(x, 0);
    check_text(t, ease_interactions_user_id(x, 0), "7");
    check_text(t, ease_interactions_item_id(x, row.items[0]), "20");
    check_contains(t, interactions_info(x).recognized,
                   "; part of a split: ids from unique_sid.txt");
    ease_interactions_free(x);
}

/* ---- not recognized ----------------------------------------------------------- */

static void check_numbers(test *t, const char *path, const ease_read_options *o)
{
    ease_interactions *x = read_as(t, path, o);

    check_text(t, ease_interactions_user_id(x, 0), "0");
    check(t, !strstr(interactions_info(x).recognized, "split"));
    ease_interactions_free(x);
}

static void what_is_said_is_taken_at_its_word(test *t)
{
    const char *dir = test_path("said"), *path = path_in(dir, "train.csv");
    ease_interactions *x;
    ease_read_options o;

    mkdir(dir, 0777);
    test_write_text(path_in(dir, "unique_sid.txt"), "a\nb\nc\n");
    test_write_text(path_in(dir, "unique_uid.txt"), "x\ny\nz\n");
    test_write_text(path, "uid,sid\n0,2\n1,1\n2,0\n");
    ease_read_options_init(&o);
    o.columns = "uid,sid";
    check_numbers(t, path, &o);
    ease_read_options_init(&o);
    o.format = "table";
    check_numbers(t, path, &o);
    ease_read_options_init(&o);
    o.separator = ","; /* says nothing new */
    o.header = 1;
    x = read_as(t, path, &o);
    check_contains(t, interactions_info(x).recognized, "part of a split");
    ease_interactions_free(x);
}

static void other_tables_are_not_of_a_split(test *t)
{
    const char *dir = test_path("others"), *path = path_in(dir, "train.csv");

    mkdir(dir, 0777);
    test_write_text(path, "uid,sid\n0,2\n1,1\n2,0\n");
    check_numbers(t, path, NULL); /* nothing beside it */
    test_write_text(path_in(dir, "unique_sid.txt"), "a\nb\nc\n");
    for (const char *const *text =
             (const char *const[]){"user,item\n0,2\n1,1\n2,0\n", "0,2\n1,1\n2,0\n",
                                   "uid,sid,rating\n0,2,5\n1,1,5\n2,0,4\n", NULL};
         *text; text++) {
        test_write_text(path, *text);
        check_numbers(t, path, NULL);
    }
}

/* ---- refused ------------------------------------------------------------------ */

static void damaged_splits_are_refused(test *t)
{
    const char *dir = make_split(t, "damaged"), *path = path_in(dir, "test_te.csv");
    ease_read_options o;

    ease_read_options_init(&o);
    o.weights = 1;
    check_contains(t, refusal(path, &o), "weights need a column of values");
    test_write_text(path, "uid,sid\n0,1\n");
    check_contains(t, refusal(path, NULL),
                   "test_te.csv: 1 interactions, where split.json has ");
    test_write_text(path_in(dir, "mine.csv"), "uid,sid\n0,25\n");
    check_contains(
        t, refusal(path_in(dir, "mine.csv"), NULL),
        "mine.csv: '25' is not a number of 0 .. 24, as unique_sid.txt has it");
    test_write_text(path_in(dir, "split.json"), "{\"unfinished\": true}\n");
    check_contains(t, refusal(path, NULL), "split.json: unfinished");
    dir = make_split(t, "lost");
    path = path_in(dir, "test_te.csv");
    unlink(path_in(dir, "unique_uid.txt"));
    check_contains(t, refusal(path, NULL), "unique_uid.txt: cannot open");
    unlink(path_in(dir, "unique_sid.txt"));
    check_contains(t, refusal(path, NULL), "unique_uid.txt: cannot open");
}

static void reading_survives_every_failed_allocation(test *t)
{
    const char *dir = make_split(t, "survive");
    ease_read_options o;
    ease_status st;
    int n = 0, step = 1;

#ifdef SANITIZED
    step = 7;
#endif
    ease_read_options_init(&o);
    o.threads = 1;
    do {
        ease_interactions *x = NULL;

        alloc_fail_after(n);
        st = ease_interactions_read(path_in(dir, "train.csv"), &o, &x, NULL);
        alloc_fail_after(-1);
        if (!st) /* not as if it were something else */
            check_contains(t, interactions_info(x).recognized, "of a split");
        ease_interactions_free(x);
        n += step;
    } while (st == EASE_E_NOMEM);
    check_status(t, st, EASE_OK);
}

/* While a table is read another split comes into its place. */
static int replace_split(void *user, const char *stage, double fraction)
{
    const char *const *dirs = user;
    char away[1200];

    (void)stage;
    (void)fraction;
    snprintf(away, sizeof(away), "%s.away", dirs[0]);
    if (rename(dirs[0], away) == 0 && rename(dirs[1], dirs[0]) != 0)
        return 1;
    return 0;
}

static void a_table_of_a_split_that_is_replaced_is_refused(test *t)
{
    const char *dirs[] = {make_split(t, "before"), make_split(t, "behind")},
               *path = path_in(dirs[0], "test_te.csv");
    ease_read_options o;

    ease_read_options_init(&o);
    check_text(t, refusal(path, &o), "");
    o.hooks = &(ease_hooks){.progress = replace_split, .user = dirs};
    check_contains(t, refusal(path, &o), "was replaced while it was read");
    o.hooks = NULL;
    check_text(t, refusal(path, &o), "");
}

static const test_case cases[] = {
    TEST(a_table_has_the_ids_of_its_split),
    TEST(a_copy_in_the_directory_is_as_good),
    TEST(filters_see_ids),
    TEST(a_table_can_be_split_again),
    TEST(the_published_code_lists_items_alone),
    TEST(what_is_said_is_taken_at_its_word),
    TEST(other_tables_are_not_of_a_split),
    TEST(damaged_splits_are_refused),
    TEST(a_table_of_a_split_that_is_replaced_is_refused),
    TEST(reading_survives_every_failed_allocation),
};
TEST_MAIN(cases)
