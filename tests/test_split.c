/* Splits: how each protocol divides data, and reading splits again.
 * tests/test_protocols.py compares with NumPy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.h"
#include "data.h"
#include "read/events.h"
#include "read/readers.h"
#include "test.h"
#include "text/moment.h"

/* libomp keeps some memory when teams change their size; it is not ours to free. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libomp.so";
}

/* ---- helpers --------------------------------------------------------------- */

static ease_split_options protocol(const char *name)
{
    ease_split_options o;

    ease_split_options_init(&o);
    o.protocol = name;
    return o;
}

static ease_read_options defaults(void)
{
    ease_read_options o;

    ease_read_options_init(&o);
    return o;
}

/* Valid until the next call. */
static const char *path_in(const char *dir, const char *name)
{
    static char path[1024];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

/* A file of a directory as text; "" if it is not there. */
static const char *text_of(const char *dir, const char *name)
{
    static char text[1 << 16];
    size_t bytes = 0;
    FILE *f = fopen(path_in(dir, name), "r");

    if (f) {
        bytes = fread(text, 1, sizeof(text) - 1, f);
        fclose(f);
    }
    text[bytes] = '\0';
    return text;
}

static bool is_there(const char *dir, const char *name)
{
    return access(path_in(dir, name), F_OK) == 0;
}

static bool has_pair(const ease_interactions *x, const char *user, const char *item)
{
    int64_t u = ease__ids_find(&x->user_ids, user, strlen(user));
    int64_t i = ease__ids_find(&x->item_ids, item, strlen(item));
    ease_row row;

    if (u < 0 || i < 0)
        return false;
    row = ease_interactions_row(x, u);
    for (int32_t k = 0; k < row.count; k++)
        if (row.items[k] == i)
            return true;
    return false;
}

/* How many pairs of a are in b. */
static int64_t common_pairs(const ease_interactions *a, const ease_interactions *b)
{
    int64_t count = 0;

    for (int64_t u = 0; u < a->users; u++) {
        ease_row row = ease_interactions_row(a, u);

        for (int32_t k = 0; k < row.count; k++)
            count += has_pair(b, ease_interactions_user_id(a, u),
                              ease_interactions_item_id(a, row.items[k]));
    }
    return count;
}

static int64_t common_users(const ease_interactions *a, const ease_interactions *b)
{
    int64_t count = 0;

    for (int64_t u = 0; u < a->users; u++) {
        const char *id = ease_interactions_user_id(a, u);

        count += ease__ids_find(&b->user_ids, id, strlen(id)) >= 0;
    }
    return count;
}

/* Users of 1 to 30 items each in any order, with ids that want quotes, and times. */
static void write_visits(const char *path, uint64_t seed, int users)
{
    FILE *f = fopen(path, "w");
    ease__random r;

    if (!f)
        abort();
    ease__random_seed(&r, seed, 0);
    fprintf(f, "user,item,rating,timestamp\n");
    for (int i = 0; i < 15 * users; i++)
        fprintf(f, "\"u,%d\",\"i \"\"%d\"\"\",%d,%d\n",
                (int)ease__random_below(&r, (uint64_t)users),
                (int)ease__random_below(&r, 60), 1 + (int)ease__random_below(&r, 5),
                (int)ease__random_below(&r, 500));
    fclose(f);
}

/* ---- times ----------------------------------------------------------------- */

static void moments_are_numbers_and_dates(test *t)
{
    static const struct {
        const char *text;
        double want;
    } good[] = {{"881250949", 881250949.0},
                {"1.5e9", 1.5e9},
                {"-3", -3.0},
                {" 12 ", 12.0},
                {"1970-01-01", 0.0},
                {"2005-04-02 23:53:47", 1112486027.0},
                {"2005-04-02T23:53:47Z", 1112486027.0},
                {"2005-04-03T01:53:47+02:00", 1112486027.0},
                {"2005-04-02 18:23:47-0530", 1112486027.0},
                {"2005-04-02 23:53", 1112485980.0},
                {"2000-02-29 00:00:00.25", 951782400.25},
                {"2005-04-01 24:00", 1112400000.0},
                {"2005-04-01T24:00:00.0Z", 1112400000.0},
                {"2016-12-31 23:59:60", 1483228800.0}, /* a leap second */
                {"1969-12-31 23:59:59", -1.0}};
    static const char *const bad[] = {"",
                                      "x",
                                      "2005-13-01",
                                      "2005-04",
                                      "05-04-02",
                                      "2005-04-02 ",
                                      "2005-04-02 25:00",
                                      "2005-04-02 10",
                                      "2005-04-02x",
                                      "nan",
                                      "inf",
                                      "2005-04-02 10:00:0",
                                      "2005-00-10",
                                      "2005-04-02 10:00+1",
                                      "0000-01-01",
                                      "2005-04-31",
                                      "2005-02-29",
                                      "1900-02-29",
                                      "2004-02-30",
                                      "2005-04-00",
                                      "2005-04-02 24:59",
                                      "2005-04-02 24:00:01",
                                      "2005-04-02 24:00:00.5"};
    double got;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        check(t, ease__parse_moment(good[i].text, strlen(good[i].text), &got));
        check_near(t, got, good[i].want, 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (!check(t, !ease__parse_moment(bad[i], strlen(bad[i]), &got)))
            printf("  '%s'\n", bad[i]);
}

/* ---- events ---------------------------------------------------------------- */

/* The same users, items and pairs as ease_interactions_read keeps. */
static void check_same_pairs(test *t, const ease__events *e, const ease_interactions *x)
{
    int64_t found = 0;

    check_int(t, e->counts.interactions, x->nnz);
    check_int(t, e->counts.repeated, x->counts.repeated);
    check_int(t, e->counts.filtered, x->counts.filtered);
    check_int(t, e->counts.rows, x->counts.rows);
    for (int64_t i = 0; i < e->count; i++)
        if (e->part[i])
            found += has_pair(x, ease__ids_at(&e->user_ids, e->user[i]),
                              ease__ids_at(&e->item_ids, e->item[i]));
    check_int(t, found, x->nnz);
}

static void events_are_what_reading_keeps(test *t)
{
    const char *path = test_path("visits.csv");
    uint64_t seed = 4;
    ease__random r;

    printf("  seed %llu\n", (unsigned long long)seed);
    ease__random_seed(&r, seed, 0);
    for (int run = 0; run < 30; run++) {
        ease_read_options o = defaults();
        ease_interactions *x = NULL;
        ease__events e = {0};
        ease_error err;
        size_t block = 60 + ease__random_below(&r, 2000);

        write_visits(path, seed + (uint64_t)run, 20);
        o.min_user = (int64_t)ease__random_below(&r, 16);
        o.min_item = (int64_t)ease__random_below(&r, 7);
        o.one_pass = (int)ease__random_below(&r, 2);
        o.repeat = ease__random_below(&r, 2) ? EASE_REPEAT_LAST : EASE_REPEAT_FIRST;
        if (ease__random_below(&r, 2))
            o.min_rating = 3.0;
        if (ease_interactions_read(path, &o, &x, &err)) {
            check_status(t, ease__events_read(path, &o, block, true, false, &e, NULL),
                         EASE_E_DATA);
            continue;
        }
        check_status(t, ease__events_read(path, &o, block, true, false, &e, &err),
                     EASE_OK);
        check(t, e.time != NULL);
        check_same_pairs(t, &e, x);
        ease__events_free(&e);
        ease_interactions_free(x);
    }
}

static void events_keep_order_and_times(test *t)
{
    static const uint32_t user[] = {0, 1, 0, 1, 0}, order[] = {0, 2, 4, 1, 3};
    static const int32_t item[] = {0, 1, 1, 0, 0};
    static const double time[] = {5, -1, 0.5, 1112486027, 4};
    static const uint8_t part[2][5] = {{1, 1, 1, 1, 0}, {0, 1, 1, 1, 1}};
    const char *path = test_path("events.tsv");
    ease_read_options o = defaults();

    test_write_text(path, "time\tuser\titem\n5\ta\tx\n-1\tb\ty\n.5\ta\ty\n"
                          "2005-04-02 23:53:47\tb\tx\n4\ta\tx\n");
    for (int last = 0; last < 2; last++) {
        ease__events e = {0};
        ease_error err = {0};

        o.repeat = last ? EASE_REPEAT_LAST : EASE_REPEAT_FIRST;
        if (!check_status(t, ease__events_read(path, &o, 8, true, false, &e, &err),
                          EASE_OK))
            continue;
        check_text(t, e.recognized,
                   "TSV with header: user = user, item = item, time = time");
        check_int(t, e.count, 5);
        check(t, memcmp(e.user, user, sizeof(user)) == 0);
        check(t, memcmp(e.item, item, sizeof(item)) == 0);
        check(t, memcmp(e.time, time, sizeof(time)) == 0);
        check(t, memcmp(e.order, order, sizeof(order)) == 0);
        check(t, memcmp(e.part, part[last], sizeof(part[last])) == 0);
        check_int(t, e.begin[1], 3);
        ease__events_free(&e);
    }
}

static void times_are_not_looked_at_unless_wanted(test *t)
{
    const char *path = test_path("notime.csv");
    ease__events e = {0};
    ease_read_options o = defaults();
    ease_error err = {0};

    test_write_text(path, "user,item,timestamp\na,x,1\nb,y,noon\n");
    check_status(t, ease__events_read(path, &o, 0, true, false, &e, &err),
                 EASE_E_PARSE);
    check_contains(t, err.text, ":3: 'noon' is not a time");
    check_status(t, ease__events_read(path, &o, 0, false, false, &e, &err), EASE_OK);
    check(t, e.time == NULL);
    ease__events_free(&e);
    o.columns = "user,item";
    check_status(t, ease__events_read(path, &o, 0, true, false, &e, &err), EASE_OK);
    check(t, e.time == NULL);
    ease__events_free(&e);
}

static void columns_can_name_a_time(test *t)
{
    const char *path = test_path("columns.csv");
    ease__events e = {0};
    ease_read_options o = defaults();
    ease_error err = {0};

    test_write_text(path, "a,x,3,70\nb,y,4,80\n");
    o.columns = "1,2,4,3";
    check_status(t, ease__events_read(path, &o, 0, true, false, &e, &err), EASE_OK);
    check(t, e.time && e.time[0] == 3.0 && e.time[1] == 4.0);
    ease__events_free(&e);
    o.columns = "2,1,,4";
    check_status(t, ease__events_read(path, &o, 0, true, false, &e, &err), EASE_OK);
    check(t, e.time && e.time[0] == 70.0 && e.time[1] == 80.0);
    check_text(t, ease__ids_at(&e.user_ids, 0), "x");
    ease__events_free(&e);
    for (const char *const *bad = (const char *const[]){"1,2,", "1,2,,", "1,2,3,3",
                                                        "1,2,3,4,1", "1,2,,1", NULL};
         *bad; bad++) {
        o.columns = *bad;
        check_status(t, ease__events_read(path, &o, 0, true, false, &e, &err),
                     EASE_E_ARG);
    }
}

/* ---- protocols by hand ------------------------------------------------------ */

static void leave_last_takes_the_last_two_by_time(test *t)
{
    const char *data = test_path("last.csv"), *dir = test_path("last");
    ease_split_options o = protocol("leave-last");
    ease_split_info info = {.size = sizeof(info)};
    ease_error err = {0};

    /* User 10 sorts behind 9; its two latest are tied: the lower row is later. */
    test_write_text(data, "user,item,time\n"
                          "10,a,7\n10,b,9\n9,a,1\n10,c,9\n9,b,0\n8,a,5\n10,d,2\n");
    if (!check_status(t, ease_split(data, NULL, &o, dir, &info, &err), EASE_OK)) {
        printf("  %s\n", err.text);
        return;
    }
    check_int(t, info.by_time, 1);
    check_text(t, text_of(dir, "unique_uid.txt"), "8\n9\n10\n");
    check_text(t, text_of(dir, "unique_sid.txt"), "a\nb\nd\nc\n");
    check_text(t, text_of(dir, "train.csv"), "uid,sid\n2,0\n2,1\n1,1\n0,0\n2,2\n");
    check_text(t, text_of(dir, "validation_train.csv"),
               "uid,sid\n2,0\n1,1\n0,0\n2,2\n");
    check_text(t, text_of(dir, "validation_tr.csv"), "uid,sid\n2,0\n2,2\n");
    check_text(t, text_of(dir, "validation_te.csv"), "uid,sid\n2,1\n");
    check_text(t, text_of(dir, "test_tr.csv"), "uid,sid\n1,1\n2,0\n2,1\n2,2\n");
    check_text(t, text_of(dir, "test_te.csv"), "uid,sid\n1,0\n2,3\n");
    check_contains(t, text_of(dir, "split.json"), "\"order\": \"time\"");
    check_int(t, info.test_target.users, 2);
    check_int(t, info.train.interactions, 5);
    check_int(t, info.items, 4);
}

static void leave_last_without_times_takes_the_last_rows(test *t)
{
    const char *data = test_path("rows.txt"), *dir = test_path("rows");
    ease_split_options o = protocol("leave-last");
    ease_split_info info = {.size = sizeof(info)};

    test_write_text(data, "u a b c d\nv c\nw b a x\n");
    check_status(t, ease_split(data, NULL, &o, dir, &info, NULL), EASE_OK);
    check_int(t, info.by_time, 0);
    check_text(t, text_of(dir, "unique_sid.txt"), "a\nb\nc\nd\nx\n");
    check_text(t, text_of(dir, "validation_te.csv"), "uid,sid\n0,2\n2,0\n");
    check_text(t, text_of(dir, "test_te.csv"), "uid,sid\n0,3\n2,4\n");
    check_contains(t, text_of(dir, "split.json"), "\"order\": \"file\"");
}

static void time_cuts_at_one_moment(test *t)
{
    const char *data = test_path("time.csv"), *dir = test_path("time");
    ease_split_options o = protocol("time");
    ease_split_info info = {.size = sizeof(info)};
    ease_error err = {0};

    /* Of ten rows the latest two are wanted, but three share the time 8: from 9 on
     * there is one too few, from 8 on two too many. */
    test_write_text(data, "user,item,time\na,x,1\na,y,2\nb,x,3\nb,y,4\na,z,5\nc,x,6\n"
                          "c,z,8\na,v,8\nb,v,8\nc,v,9\n");
    check_status(t, ease_split(data, NULL, &o, dir, &info, &err), EASE_OK);
    check_contains(t, text_of(dir, "split.json"), "\"test_from\": 9");
    check_int(t, info.test_target.interactions, 1);
    /* Of the other nine one is wanted; three at the time 8 are better than none. */
    check_contains(t, text_of(dir, "split.json"), "\"validation_from\": 8");
    check_int(t, info.validation_target.interactions, 3);
    check_int(t, info.train.interactions, 9);
    o.share = 0.4; /* the latest four exactly, then two of six */
    check_status(t, ease_split(data, NULL, &o, dir, &info, &err), EASE_OK);
    check_contains(t, text_of(dir, "split.json"), "\"test_from\": 8");
    check_int(t, info.test_target.interactions, 4);
    check_contains(t, text_of(dir, "split.json"), "\"validation_from\": 5");
    check_int(t, info.validation_target.interactions, 2);
}

static void one_time_for_all_cannot_be_cut(test *t)
{
    const char *data = test_path("once.csv"), *dir = test_path("once");
    ease_split_options o = protocol("time");
    ease_error err = {0};

    test_write_text(data, "user,item,time\na,x,1\na,y,1\nb,x,1\n");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "too few different times");
    check(t, access(dir, F_OK) != 0);
}

/* The number of items of these interactions that `other` does not have. */
static int32_t items_not_in(const ease_interactions *x, const ease_interactions *other)
{
    int32_t count = 0;

    for (int32_t i = 0; i < x->items; i++) {
        const char *id = ease_interactions_item_id(x, i);

        count += ease__ids_find(&other->item_ids, id, strlen(id)) < 0;
    }
    return count;
}

/* Every user has every item, so that an item is missing in a part only if all its rows
 * are elsewhere: the draws for warm items leave each of them some user. */
static void cold_items_are_held_out_whole(test *t)
{
    const char *data = test_path("cold.csv"), *dir = test_path("cold");
    ease_split_options o = protocol("cold-items");
    ease_split_info info = {.size = sizeof(info)};
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};
    FILE *f = fopen(data, "w");

    fputs("user,item\n", f);
    for (int u = 0; u < 30; u++)
        for (int i = 0; i < 20; i++)
            fprintf(f, "%d,%d\n", u, i);
    fclose(f);
    check_status(t, ease_split(data, NULL, &o, dir, &info, &err), EASE_OK);
    check_int(t, info.cold_items, 2);
    check_status(t, ease_split_open(dir, &p, &err), EASE_OK);
    check_int(t, p.train->items, 18);
    check_int(t, p.validation_train->items, 16);
    check_int(t, items_not_in(p.test_target, p.train), 2);
    check_int(t, items_not_in(p.validation_target, p.validation_train), 2);
    check_int(t, items_not_in(p.validation_target, p.train), 0);
    /* Of 18 rows 3 are drawn for testing. */
    check_int(t, p.test_target->nnz, 30 * (2 + 3));
    check_contains(t, text_of(dir, "split.json"), "\"share\": 0.1,");
    check_contains(t, text_of(dir, "split.json"), "\"cold_items\": 2,");
    ease_split_close(&p);
}

static void cold_items_need_items_to_train_on(test *t)
{
    const char *data = test_path("two.csv"), *dir = test_path("two");
    ease_split_options o = protocol("cold-items");
    ease_error err = {0};

    test_write_text(data, "user,item\na,x\na,y\nb,x\n");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "2 items, where 2 x 1 to hold out");
    check(t, access(dir, F_OK) != 0);
    test_write_text(data, "user,item\na,x\na,y\na,z\n");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
    o.share = 0.49; /* still one of three */
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
}

/* ---- properties -------------------------------------------------------------- */

static void check_strong(test *t, const ease_split_parts *p)
{
    check(t, p->validation_train == NULL);
    check_int(t, common_users(p->train, p->validation_input), 0);
    check_int(t, common_users(p->train, p->test_input), 0);
    check_int(t, common_users(p->validation_input, p->test_input), 0);
    check_int(t, common_pairs(p->validation_input, p->validation_target), 0);
    check_int(t, common_pairs(p->test_input, p->test_target), 0);
    check_int(t, common_users(p->test_target, p->test_input), p->test_target->users);
    check_int(t, p->train->users, 40 - 2 * 12);
    check_int(t, p->validation_input->users, 12);
    check_int(t, p->test_input->users, 12);
    for (int32_t i = 0; i < p->test_target->items; i++) {
        const char *id = ease_interactions_item_id(p->test_target, i);

        check(t, ease__ids_find(&p->train->item_ids, id, strlen(id)) >= 0);
    }
}

static void check_weak(test *t, const ease_split_parts *p, const ease_interactions *all)
{
    check_int(t, common_pairs(p->train, p->test_target), 0);
    check_int(t, common_pairs(p->validation_train, p->validation_target), 0);
    check_int(t, p->train->nnz + p->test_target->nnz, all->nnz);
    check_int(t, common_pairs(p->train, all), p->train->nnz);
    check_int(t, common_pairs(p->test_target, all), p->test_target->nnz);
    check_int(t, p->validation_train->nnz + p->validation_target->nnz, p->train->nnz);
    check_int(t, common_pairs(p->validation_train, p->train), p->validation_train->nnz);
    check_int(t, common_pairs(p->validation_target, p->train),
              p->validation_target->nnz);
    check_int(t, common_pairs(p->validation_input, p->validation_train),
              p->validation_input->nnz);
    check_int(t, common_pairs(p->test_input, p->train), p->test_input->nnz);
    check_int(t, common_users(p->test_input, p->test_target), p->test_input->users);
    check_int(t, common_users(p->validation_input, p->validation_target),
              p->validation_input->users);
}

static void parts_do_not_overlap(test *t)
{
    static const char *const names[] = {"liang18",    "volkovs15", "random",
                                        "leave-last", "time",      "cold-items"};
    const char *data = test_path("many.csv"), *dir = test_path("many");
    ease_interactions *all = NULL;

    write_visits(data, 11, 40);
    check_status(t, ease_interactions_read(data, NULL, &all, NULL), EASE_OK);
    for (size_t i = 0; i < 6; i++) { /* each replaces the one before */
        ease_split_options o = protocol(names[i]);
        ease_split_parts p = {.size = sizeof(p)};
        ease_error err = {0};

        if (i == 0)
            o.heldout_users = 12;
        check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
        check_status(t, ease_split_open(dir, &p, &err), EASE_OK);
        if (err.status)
            printf("  %s: %s\n", names[i], err.text);
        else if (i == 0)
            check_strong(t, &p);
        else
            check_weak(t, &p, all);
        check_int(t, is_there(dir, "validation_train.csv"), i > 0);
        ease_split_close(&p);
    }
    ease_interactions_free(all);
}

static void the_same_split_at_any_number_of_threads(test *t)
{
    const char *data = test_path("threads.csv");
    char *first = NULL;

    write_visits(data, 12, 200);
    for (int threads = 1; threads <= 3; threads++) {
        const char *dir = test_path("threads");
        ease_split_options o = protocol("random");
        ease_read_options r = defaults();

        r.threads = threads;
        check_status(t, ease_split(data, &r, &o, dir, NULL, NULL), EASE_OK);
        if (!first)
            first = strdup(text_of(dir, "train.csv"));
        check_text(t, text_of(dir, "train.csv"), first);
    }
    free(first);
}

/* ---- directories -------------------------------------------------------------- */

static const struct {
    const char *name, *text;
} published[] = {{"unique_sid.txt", "30\r\n10\r\n20\r\n"},
                 {"train.csv", "uid,sid\n0,0\n0,1\n1,2\n"},
                 {"validation_tr.csv", "uid,sid\n2,0\n2,1\n"},
                 {"validation_te.csv", "uid,sid\n2,2\n"},
                 {"test_tr.csv", "uid,sid\n3,2\n"},
                 {"test_te.csv", "uid,sid\n3,0\n"}};

static void write_into(const char *dir, const char *name, const char *text)
{
    test_write_text(path_in(dir, name), text);
}

static const char *write_published(const char *name)
{
    const char *dir = test_path(name);

    mkdir(dir, 0777);
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
        write_into(dir, published[i].name, published[i].text);
    return dir;
}

static void a_published_directory_opens(test *t)
{
    const char *dir = write_published("published");
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};

    if (!check_status(t, ease_split_open(dir, &p, &err), EASE_OK)) {
        printf("  %s\n", err.text);
        return;
    }
    check(t, p.validation_train == NULL);
    check(t, has_pair(p.train, "0", "30") && has_pair(p.train, "1", "20"));
    check(t, has_pair(p.test_target, "3", "30"));
    check_int(t, p.train->nnz, 3);
    ease_split_close(&p);
    check(t, p.train == NULL);
    ease_split_close(&p);
    ease_split_close(NULL);
}

static void lists_may_be_missing_or_wrong(test *t)
{
    const char *dir = write_published("lists");
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};

    write_into(dir, "unique_uid.txt", "ann\nbob\ncy\ndee");
    check_status(t, ease_split_open(dir, &p, &err), EASE_OK);
    check(t, has_pair(p.test_input, "dee", "20"));
    ease_split_close(&p);
    write_into(dir, "unique_uid.txt", "ann\nbob\ncy\n");
    check_status(t, ease_split_open(dir, &p, &err), EASE_E_DATA);
    check_contains(t, err.text, "test_tr.csv: '3' is not a number of 0 .. 2");
    write_into(dir, "unique_uid.txt", "ann\nbob\nann\ndee\n");
    check_status(t, ease_split_open(dir, &p, &err), EASE_E_PARSE);
    check_contains(t, err.text, "unique_uid.txt:3: the id of line 1 again");
    write_into(dir, "unique_uid.txt", "ann\n\ncy\ndee\n");
    check_status(t, ease_split_open(dir, &p, &err), EASE_E_PARSE);
    check_contains(t, err.text, "unique_uid.txt:2: expected an id");
    write_into(dir, "unique_uid.txt", "");
    check_status(t, ease_split_open(dir, &p, &err), EASE_E_DATA);
    write_into(dir, "unique_uid.txt", "ann\nbob\ncy\ndee\n");
    write_into(dir, "test_te.csv", "uid,sid\n3,0\n03,1\n");
    check_status(t, ease_split_open(dir, &p, &err), EASE_E_DATA);
    check_contains(t, err.text, "number 3 is written in two ways");
    write_into(dir, "test_te.csv", "uid,sid\n3,x\n");
    check_status(t, ease_split_open(dir, &p, &err), EASE_E_DATA);
    check(t, p.train == NULL);
}

static void replace_in(const char *dir, const char *name, const char *old,
                       const char *new)
{
    char *text = strdup(text_of(dir, name)), *at = strstr(text, old);
    size_t length = strlen(text);
    char *changed = calloc(length + strlen(new) + 1, 1);

    if (!at)
        abort();
    memcpy(changed, text, (size_t)(at - text));
    strcat(strcat(changed, new), at + strlen(old));
    write_into(dir, name, changed);
    free(changed);
    free(text);
}

static void counts_of_the_record_are_checked(test *t)
{
    static const struct {
        const char *name, *old, *new, *says;
    } wrong[] = {
        {"train.csv", "0,0\n", "", "train.csv: 4 interactions, where split.json has 5"},
        {"test_te.csv", "2,3\n", "1,3\n",
         "test_te.csv: 1 users, where split.json has "},
        {"test_te.csv", "2,3\n", "2,0\n",
         "test_te.csv: 1 items, where split.json has "},
        {"split.json", "\"parts\"", "\"part\"",
         "split.json: not the record of a split"},
        {"split.json", "\n}\n", "", "split.json: not the record of a split"},
        {"split.json", "{\"users\": 3", "{\"users\": -3", "not the record"},
        {"split.json", "\"seed\": 98765", "\"seed\": [{\"a\": \"]\\\"\"}, 1]", NULL},
        {"split.json", "{", "{\"unfinished\": true,", "split.json: unfinished"}};
    const char *data = test_path("counts.csv"), *dir = test_path("counts");
    ease_split_options o = protocol("leave-last");
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};

    test_write_text(data, "user,item,time\n"
                          "10,a,7\n10,b,9\n9,a,1\n10,c,9\n9,b,0\n8,a,5\n10,d,2\n");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ease_status st;

        check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
        replace_in(dir, wrong[i].name, wrong[i].old, wrong[i].new);
        st = ease_split_open(dir, &p, &err);
        if (wrong[i].says) {
            check(t, st == EASE_E_DATA || st == EASE_E_PARSE);
            check_contains(t, err.text, wrong[i].says);
        } else {
            check_status(t, st, EASE_OK);
        }
        ease_split_close(&p);
    }
}

static void what_the_record_names_must_be_there(test *t)
{
    const char *data = test_path("named.csv"), *dir = test_path("named");
    ease_split_options o = protocol("random");
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};

    write_visits(data, 3, 30);
    for (const char *const *name =
             (const char *const[]){"validation_train.csv", "train.csv",
                                   "unique_uid.txt", "unique_sid.txt", NULL};
         *name; name++) {
        check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
        unlink(path_in(dir, *name));
        check_status(t, ease_split_open(dir, &p, &err), EASE_E_IO);
        check_contains(t, err.text, *name);
    }
    o = protocol("liang18");
    o.heldout_users = 5;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
    write_into(dir, "validation_train.csv", "uid,sid\n0,0\n");
    check_status(t, ease_split_open(dir, &p, &err), EASE_E_DATA);
    check_contains(t, err.text, "validation_train.csv: not a part of this split");
}

static void a_missing_file_is_named(test *t)
{
    ease_split_parts p = {.size = sizeof(p)};
    ease_error err = {0};

    for (size_t i = 1; i < sizeof(published) / sizeof(published[0]); i++) {
        const char *dir = write_published("missing");

        unlink(path_in(dir, published[i].name));
        check_status(t, ease_split_open(dir, &p, &err), EASE_E_IO);
        check_contains(t, err.text, published[i].name);
    }
    check_status(t, ease_split_open(test_path("nowhere"), &p, &err), EASE_E_IO);
    check_contains(t, err.text, "cannot open the split");
    test_write_text(test_path("file"), "x");
    check_status(t, ease_split_open(test_path("file"), &p, &err), EASE_E_IO);
    check_status(t, ease_split_open(NULL, &p, &err), EASE_E_ARG);
    check_status(t, ease_split_open(test_path("missing"), NULL, &err), EASE_E_ARG);
}

static void a_foreign_directory_is_refused(test *t)
{
    const char *data = test_path("x.csv"), *dir = test_path("mine");
    ease_split_options o = protocol("random");
    ease_error err = {0};

    write_visits(data, 5, 20);
    mkdir(dir, 0777);
    write_into(dir, "thesis.tex", "\\documentclass{article}");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_IO);
    check_contains(t, err.text, "'thesis.tex'");
    check_text(t, text_of(dir, "thesis.tex"), "\\documentclass{article}");
    check(t, !is_there(dir, "train.csv"));
    dir = test_path("yours");
    mkdir(dir, 0777);
    write_into(dir, "train.csv", "user,item\n");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_IO);
    check_contains(t, err.text, "tables, but no unique_sid.txt");
    check_text(t, text_of(dir, "train.csv"), "user,item\n");
    dir = test_path("no/where");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_IO);
    check_status(t, ease_split(data, NULL, &o, data, NULL, &err), EASE_E_IO);
}

static void data_is_not_replaced_by_its_split(test *t)
{
    const char *data = test_path("x.csv"), *dir = test_path("again");
    ease_split_options o = protocol("random");
    ease_error err = {0};
    char *before;

    write_visits(data, 5, 20);
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
    before = strdup(text_of(dir, "train.csv"));
    check_status(t, ease_split(path_in(dir, "train.csv"), NULL, &o, dir, NULL, &err),
                 EASE_E_IO);
    check_contains(t, err.text, "the data is in the directory");
    check_text(t, text_of(dir, "train.csv"), before);
    free(before);
}

static int stop_writing(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)fraction;
    return strcmp(stage, "writing") == 0;
}

static void a_failed_split_leaves_the_old_one(test *t)
{
    const char *data = test_path("old.csv"), *dir = test_path("old");
    ease_split_options o = protocol("liang18");
    ease_error err = {0};
    char *before;

    write_visits(data, 6, 30);
    o.heldout_users = 5;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
    before = strdup(text_of(dir, "train.csv"));
    o.hooks = &(ease_hooks){.progress = stop_writing};
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_CANCELLED);
    o = protocol("random");
    o.hooks = &(ease_hooks){.progress = stop_writing};
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_CANCELLED);
    check_text(t, text_of(dir, "train.csv"), before);
    check_contains(t, text_of(dir, "split.json"), "liang18");
    free(before);
    dir = test_path("new");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_CANCELLED);
    check(t, access(dir, F_OK) != 0);
}

/* ---- refusals -------------------------------------------------------------------- */

static void wrong_options_are_refused(test *t)
{
    const char *data = test_path("some.csv"), *dir = test_path("some");
    ease_split_options o = protocol("leave-first");
    ease_read_options r = defaults();
    ease_error err = {0};

    write_visits(data, 7, 20);
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    check_contains(t, err.text, "not liang18, volkovs15");
    o.protocol = NULL;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    o = protocol("liang18");
    o.heldout_users = -1;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    for (int i = 0; i < 4; i++) {
        o = protocol("random");
        o.share = (const double[]){-0.1, 1.0, 2.0, (double)NAN}[i];
        check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    }
    o = protocol("volkovs15");
    o.share = 0.2;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    o = protocol("cold-items");
    o.share = 0.5;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    check_contains(t, err.text, "below 0.5");
    o = protocol("random");
    o.heldout_users = 3;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    o = protocol("random");
    r.weights = 1;
    check_status(t, ease_split(data, &r, &o, dir, NULL, &err), EASE_E_ARG);
    r = defaults();
    r.repeat = EASE_REPEAT_SUM;
    check_status(t, ease_split(data, &r, &o, dir, NULL, &err), EASE_E_ARG);
    o.size = 0;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    check_status(t, ease_split(data, NULL, NULL, dir, NULL, &err), EASE_E_ARG);
    check(t, access(dir, F_OK) != 0);
}

static void too_little_data_is_refused(test *t)
{
    const char *data = test_path("few.csv"), *dir = test_path("few");
    ease_split_options o = protocol("liang18");
    ease_read_options r = defaults();
    ease_error err = {0};

    test_write_text(data, "user,item\na,x\na,y\na,z\nb,x\nb,y\nc,x\nc,z\n");
    o.heldout_users = 1;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "no interactions left"); /* of 5 items a user */
    o.heldout_users = 2;
    check_status(t, ease_split(data, &r, &o, dir, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "3 users, where 2 x 2 to hold out");
    o.heldout_users = 1;
    check_status(t, ease_split(data, &r, &o, dir, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "validation_te.csv would be empty");
    o = protocol("time");
    check_status(t, ease_split(data, &r, &o, dir, NULL, &err), EASE_E_ARG);
    check_contains(t, err.text, "needs a column of times; this is CSV with header");
    check(t, access(dir, F_OK) != 0);
}

static void recipes_fill_what_is_not_said(test *t)
{
    const char *data = test_path("rated.csv"), *dir = test_path("rated");
    const ease_recipe *recipe = ease_recipe_find("ml-20m");
    ease_split_options o = protocol(NULL);
    ease_read_options r = defaults();
    ease_interactions_info read = {.size = sizeof(read)};
    ease_split_info info = {.size = sizeof(info), .data = &read};
    ease_error err = {0};
    FILE *f = fopen(data, "we");

    fputs("user,item,rating\n", f);
    for (int i = 0; i < 400; i++)
        fprintf(f, "%d,%d,%s\n", i / 20, i % 20, i % 4 ? "4.0" : "3.5");
    fclose(f);
    check(t, recipe == ease_recipe_at(0) && !ease_recipe_find("ml-1m"));
    check(t, !ease_recipe_at(-1) && !ease_recipe_at(4));
    o.recipe = "ml-20m";
    o.heldout_users = 3;
    check_status(t, ease_split(data, NULL, &o, dir, &info, &err), EASE_OK);
    check_int(t, read.below_rating, 100);
    check_int(t, read.interactions, 300);
    check_status(t, ease_split(data, &r, &o, dir, &info, &err), EASE_OK);
    check_int(t, read.interactions, 400);
    o.heldout_users = 0;
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "2 x 10000 to hold out");
    o.protocol = "random";
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    check_contains(t, err.text, "recipe ml-20m is for the protocol liang18");
    o.recipe = "ml-1m";
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_ARG);
    check_contains(t, err.text, "no recipe 'ml-1m'");
}

static void ids_that_a_list_cannot_hold_are_refused(test *t)
{
    const char *data = test_path("cr.csv"), *dir = test_path("cr");
    ease_split_options o = protocol("leave-last");
    ease_error err = {0};

    test_write_text(data, "user,item\na,\"x\r\"\na,y\na,z\n");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_E_DATA);
    check_contains(t, err.text, "a line end in it");
    test_write_text(data, "user,item\na,\"x\ry\"\na,\"\"\"\"\na,z\n");
    check_status(t, ease_split(data, NULL, &o, dir, NULL, &err), EASE_OK);
    check_text(t, text_of(dir, "unique_sid.txt"), "x\ry\n\"\nz\n");
}

static void the_record_is_json_whatever_the_name(test *t)
{
    const char *data = test_path("q\"\\\x01\xff\xc3\xa9.csv"), *dir = test_path("rec");
    ease_split_options o = protocol("random");
    ease_read_options r = defaults();

    write_visits(data, 8, 20);
    o.share = 0.3;
    r.min_rating = 2.5;
    check_status(t, ease_split(data, &r, &o, dir, NULL, NULL), EASE_OK);
    check_contains(t, text_of(dir, "split.json"),
                   "\"source\": \"q\\u0022\\u005c\\u0001\xef\xbf\xbd\xc3\xa9.csv\"");
    check_contains(t, text_of(dir, "split.json"), "\"share\": 0.3,");
    check_contains(t, text_of(dir, "split.json"), "\"min_rating\": 2.5,");
}

/* ---- memory ------------------------------------------------------------------- */

/* The split is what it was, and nothing is left beside it. */
static bool is_as_before(test *t, const char *around, const char *dir,
                         const char *before)
{
    char *now = test_snapshot(dir), *names = test_snapshot(around);
    bool same = before ? now && strcmp(now, before) == 0 : !now;

    same = check(t, same) && check_text(t, names, before ? "[s]\n" : "");
    free(now);
    free(names);
    return same;
}

static void splitting_survives_every_failed_allocation(test *t)
{
    const char *data = test_path("alloc.csv"), *around = test_path("alloc");
    const char *dir = test_path("alloc/s");
    char *before = NULL;
    static const char *const names[] = {"liang18", "time", "cold-items"};
    int step = 1;

#ifdef SANITIZED
    step = 7;
#endif
    write_visits(data, 9, 30);
    mkdir(around, 0777);
    for (int k = 0; k < 3; k++) {
        ease_split_options o = protocol(names[k]);
        ease_read_options r = defaults();
        ease_status st;
        int n = 0;

        r.threads = 1;
        o.heldout_users = k == 0 ? 8 : 0;
        do {
            alloc_fail_after(n);
            st = ease_split(data, &r, &o, dir, NULL, NULL);
            alloc_fail_after(-1);
            n += step;
        } while (st == EASE_E_NOMEM && is_as_before(t, around, dir, before));
        check_status(t, st, EASE_OK);
        free(before);
        before = test_snapshot(dir);
    }
    free(before);
}

static void opening_survives_every_failed_allocation(test *t)
{
    const char *dir = write_published("survive");
    ease_split_parts p = {.size = sizeof(p)};
    ease_status st;
    int n = 0, step = 1;

#ifdef SANITIZED
    step = 7;
#endif
    write_into(dir, "unique_uid.txt", "ann\nbob\ncy\ndee\n");
    do {
        alloc_fail_after(n);
        st = ease_split_open(dir, &p, NULL);
        alloc_fail_after(-1);
        check_int(t, p.train != NULL, st == EASE_OK);
        n += step;
    } while (st == EASE_E_NOMEM);
    check_status(t, st, EASE_OK);
    ease_split_close(&p);
}

static const test_case cases[] = {
    TEST(moments_are_numbers_and_dates),
    TEST(events_are_what_reading_keeps),
    TEST(events_keep_order_and_times),
    TEST(times_are_not_looked_at_unless_wanted),
    TEST(columns_can_name_a_time),
    TEST(leave_last_takes_the_last_two_by_time),
    TEST(leave_last_without_times_takes_the_last_rows),
    TEST(time_cuts_at_one_moment),
    TEST(one_time_for_all_cannot_be_cut),
    TEST(cold_items_are_held_out_whole),
    TEST(cold_items_need_items_to_train_on),
    TEST(parts_do_not_overlap),
    TEST(the_same_split_at_any_number_of_threads),
    TEST(a_published_directory_opens),
    TEST(lists_may_be_missing_or_wrong),
    TEST(counts_of_the_record_are_checked),
    TEST(what_the_record_names_must_be_there),
    TEST(a_missing_file_is_named),
    TEST(a_foreign_directory_is_refused),
    TEST(data_is_not_replaced_by_its_split),
    TEST(a_failed_split_leaves_the_old_one),
    TEST(wrong_options_are_refused),
    TEST(too_little_data_is_refused),
    TEST(recipes_fill_what_is_not_said),
    TEST(ids_that_a_list_cannot_hold_are_refused),
    TEST(the_record_is_json_whatever_the_name),
    TEST(splitting_survives_every_failed_allocation),
    TEST(opening_survives_every_failed_allocation),
};
TEST_MAIN(cases)
