/* Times of rows: since, until, weights by age, splits by date. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "data/age.h"
#include "read/readers.h"
#include "test.h"
#include "text/moment.h"

static ease_read_options defaults(void)
{
    ease_read_options o;

    ease_read_options_init(&o);
    return o;
}

static double time_of(test *t, const char *text)
{
    double seconds = 0.0;

    check_status(t, ease_time_parse(text, &seconds, NULL), EASE_OK);
    return seconds;
}

static ease_interactions *read_text(test *t, const char *text,
                                    const ease_read_options *o)
{
    const char *path = test_path("input");
    ease_interactions *x = NULL;
    ease_error err = {0};

    test_write_text(path, text);
    if (!check_status(t, ease_interactions_read(path, o, &x, &err), EASE_OK))
        printf("    %s\n", err.text);
    return x;
}

/* "a:x=1,y=0.5 b:z=1" */
static const char *shown(const ease_interactions *x)
{
    static char text[1 << 16];
    size_t used = 0;

    text[0] = '\0';
    for (int64_t u = 0; u < ease_interactions_users(x); u++) {
        ease_row row = ease_interactions_row(x, u);

        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s%s:", u ? " " : "",
                                 ease_interactions_user_id(x, u));
        for (int32_t i = 0; i < row.count; i++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s=%g",
                                     i ? "," : "",
                                     ease_interactions_item_id(x, row.items[i]),
                                     row.weights ? (double)row.weights[i] : 1.0);
    }
    return text;
}

static void check_shown(test *t, const char *data, const ease_read_options *o,
                        const char *want)
{
    ease_interactions *x = read_text(t, data, o);

    check_text(t, shown(x), want);
    ease_interactions_free(x);
}

/* ---- weights --------------------------------------------------------------- */

/* The sum has 14 terms of decreasing size, the last steps being exact scalings: its
 * error is below 4 units of 2^-53, so that the float next to the exact result is right
 * except within 4 x 2^-53 of the middle between two floats. */
static void aged_values_are_rounded_from_the_exact_result(test *t)
{
    const double near = 4.0 * DBL_EPSILON;
    ease__random r;
    int wrong = 0;

    ease__random_seed(&r, 7, 0);
    for (int i = 0; i < 200000; i++) {
        float value = (float)(1.0 + 9.0 * ease__random_unit(&r));
        double age = 120.0 * ease__random_unit(&r);
        long double exact = (long double)value * exp2l(-(long double)age);
        float low = (float)(exact * (1.0L - (long double)near)),
              high = (float)(exact * (1.0L + (long double)near)),
              got = ease__aged_value(value, age, 1.0);

        wrong += got < low || got > high;
    }
    check_int(t, wrong, 0);
}

static void aged_values_have_exact_powers_and_an_end(test *t)
{
    check(t, ease__aged_value(3.0f, 0.0, 17.0) == 3.0f);
    check(t, ease__aged_value(3.0f, 17.0, 17.0) == 1.5f);
    check(t, ease__aged_value(-3.0f, 34.0, 17.0) == -0.75f);
    check(t, ease__aged_value(1.0f, 126.0, 1.0) == FLT_MIN);
    check(t, ease__aged_value(1.0f, 126.001, 1.0) == 0.0f);
    check(t, ease__aged_value(FLT_MAX, 1e6, 1.0) == 0.0f);
    check(t, ease__aged_value(1.0f, 1e300, 1e-300) == 0.0f);
}

/* ---- reading --------------------------------------------------------------- */

static const char dates[] = "user,item,rating,date\nann,tea,4,2024-01-01\n"
                            "bob,tea,2,2024-01-31T00:00:00Z\nann,milk,1,2024-03-01\n"
                            "cem,tea,5,2024-03-31T02:00+02:00\n";

static void bounds_drop_rows_by_date(test *t)
{
    ease_read_options o = defaults();
    ease_interactions *x;
    ease_interactions_info info;

    o.since = time_of(t, "2024-01-31");
    check_shown(t, dates, &o, "bob:tea=1 ann:milk=1 cem:tea=1");
    o.until = time_of(t, "2024-03-31"); /* is not included */
    x = read_text(t, dates, &o);
    check_text(t, shown(x), "bob:tea=1 ann:milk=1");
    info = interactions_info(x);
    check_int(t, info.rows, 4);
    check_int(t, info.outside_time, 2);
    check_int(t, info.weighted, 0);
    check(t, info.oldest == o.since && info.newest == time_of(t, "2024-03-01"));
    check(t, info.age_from == 0.0);
    ease_interactions_free(x);
}

static void a_half_life_weighs_rows_by_age(test *t)
{
    ease_read_options o = defaults();
    ease_interactions *x;

    o.half_life = 30.0;
    check_shown(t, dates, &o, "ann:tea=0.125,milk=0.5 bob:tea=0.25 cem:tea=1");
    o.weights = 1;
    check_shown(t, dates, &o, "ann:tea=0.5,milk=0.5 bob:tea=0.5 cem:tea=5");
    o.min_rating = 2; /* of the value, whatever its age */
    check_shown(t, dates, &o, "ann:tea=0.5 bob:tea=0.5 cem:tea=5");
    o = defaults();
    o.half_life = 30.0;
    o.until = time_of(t, "2024-03-31"); /* ages count from there */
    check_shown(t, dates, &o, "ann:tea=0.125,milk=0.5 bob:tea=0.25");
    o.until = time_of(t, "2024-04-30");
    x = read_text(t, dates, &o);
    check_text(t, shown(x), "ann:tea=0.0625,milk=0.25 bob:tea=0.125 cem:tea=0.5");
    check(t, interactions_info(x).age_from == o.until);
    ease_interactions_free(x);
}

static void repeated_rows_are_combined_by_their_weights(test *t)
{
    static const char data[] = "user,item,date\nann,tea,2024-01-01\n"
                               "ann,tea,2024-03-01\nann,tea,2024-01-31\n";
    static const char *const want[] = {"ann:tea=0.25", "ann:tea=0.5", "ann:tea=1",
                                       "ann:tea=1.75"};
    ease_read_options o = defaults();

    o.half_life = 30.0;
    for (int repeat = EASE_REPEAT_FIRST; repeat <= EASE_REPEAT_SUM; repeat++) {
        o.repeat = (ease_repeat)repeat;
        check_shown(t, data, &o, want[repeat]);
    }
    o.repeat = EASE_REPEAT_FIRST;
    o.min_user = 2; /* counts items, whatever their weights */
    check_shown(t,
                "user,item,date\nann,tea,2024-01-01\nann,milk,2024-01-31\n"
                "bob,tea,2024-01-31\n",
                &o, "ann:tea=0.5,milk=1");
}

static void weights_of_nothing_are_dropped(test *t)
{
    ease_read_options o = defaults();
    ease_interactions *x;

    o.half_life = 0.5;
    x = read_text(t, dates, &o);
    check_text(t, shown(x), "ann:milk=8.67362e-19 bob:tea=7.52316e-37 cem:tea=1");
    check_int(t, interactions_info(x).zero_weight, 1);
    ease_interactions_free(x);
}

/* One and the same three days in each unit. */
static void units_are_told_apart_by_their_size(test *t)
{
    static const char *const units[] = {
        "u,i,t\na,x,2024-02-01\nb,x,2024-02-02\nc,x,2024-02-03\n",
        "u,i,t\na,x,20240201\nb,x,20240202\nc,x,20240203\n",
        "u,i,t\na,x,1706745600\nb,x,1706832000\nc,x,1706918400\n",
        "u,i,t\na,x,1706745600.0\nb,x,1.706832e9\nc,x,1706918400\n",
        "u,i,t\na,x,1706745600000\nb,x,1706832000000\nc,x,1706918400000\n",
        "u,i,t\na,x,1706745600000000\nb,x,1706832000000000\nc,x,1706918400000000\n",
        ("u,i,t\na,x,1706745600000000000\nb,x,1706832000000000000\n"
         "c,x,1706918400000000000\n")};
    ease_read_options o = defaults();

    o.columns = "u,i,,t";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        o.since = (double)NAN;
        o.half_life = 1.0;
        check_shown(t, units[i], &o, "a:x=0.25 b:x=0.5 c:x=1");
        o.since = time_of(t, "2024-02-02T00:00");
        o.half_life = 0.0;
        check_shown(t, units[i], &o, "b:x=1 c:x=1");
    }
}

static void threads_and_blocks_do_not_matter(test *t)
{
    enum { ROWS = 3000, CHARS = 40 };
    const char *path = test_path("many");
    char *text = calloc(ROWS, CHARS);
    size_t used = 0;
    char *first = NULL;
    ease__random r;

    ease__random_seed(&r, 3, 0);
    for (int i = 0; text && i < ROWS; i++)
        used += (size_t)snprintf(text + used, CHARS, "%d\t%d\t%d\t%d\n",
                                 (int)ease__random_below(&r, 9),
                                 (int)ease__random_below(&r, 40), 1,
                                 1600000000 + (int)ease__random_below(&r, 30000000));
    test_write_text(path, text ? text : "");
    for (int threads = 1; threads <= 3; threads++)
        for (size_t block = 64; block < 100000; block *= 30) {
            ease_read_options o = defaults();
            ease_interactions *x = NULL;

            o.columns = "1,2,3,4";
            o.half_life = 50.0;
            o.since = 1601000000.0;
            o.repeat = EASE_REPEAT_SUM;
            o.threads = threads;
            check_status(t, ease__interactions_read(path, &o, block, &x, NULL),
                         EASE_OK);
            if (!first)
                first = strdup(shown(x));
            check_text(t, shown(x), first);
            ease_interactions_free(x);
        }
    free(first);
    free(text);
}

static void netflix_rows_have_dates(test *t)
{
    ease_read_options o = defaults();

    o.half_life = 1.0;
    check_shown(t, "1:\n5,3,2005-09-06\n6,5,2005-09-07\n", &o, "5:1=0.5 6:1=1");
    o.since = time_of(t, "2005-09-07");
    check_shown(t, "1:\n5,3,2005-09-06\n6,5,2005-09-07\n", &o, "6:1=1");
}

/* ---- tables in memory ------------------------------------------------------ */

static void tables_in_memory_follow_the_same_rules(test *t)
{
    static const int64_t users[] = {1, 2, 1, 3}, items[] = {7, 7, 8, 7};
    double times[] = {1704067200e3, 1706659200.0, 20240301.0, 1711843200e6};
    ease_id_column user = {.numbers = users}, item = {.numbers = items};
    ease_read_options o = defaults();
    ease_interactions *x = NULL;
    ease_error err = {0};

    o.half_life = 30.0;
    check_status(t, ease_interactions_from_table(4, &user, &item, NULL, &o, &x, &err),
                 EASE_E_ARG);
    check_contains(t, err.text, "a half-life needs a column of times");
    o.times = times;
    check_status(t, ease_interactions_from_table(4, &user, &item, NULL, &o, &x, &err),
                 EASE_OK);
    check_text(t, shown(x), "1:7=0.125,8=0.5 2:7=0.25 3:7=1");
    ease_interactions_free(x);
    x = NULL;
    o.until = time_of(t, "2024-03-01");
    check_status(t, ease_interactions_from_table(4, &user, &item, NULL, &o, &x, &err),
                 EASE_OK);
    check_text(t, shown(x), "1:7=0.25 2:7=0.5");
    check_int(t, interactions_info(x).outside_time, 2);
    ease_interactions_free(x);
    times[1] = (double)NAN;
    check_status(t, ease_interactions_from_table(4, &user, &item, NULL, &o, &x, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "row 1: the time is not finite");
    times[1] = 20240230;
    check_status(t, ease_interactions_from_table(4, &user, &item, NULL, &o, &x, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "row 1: 20240230 is not a date");
}

/* ---- what is refused ------------------------------------------------------- */

static void check_refused(test *t, const char *text, const ease_read_options *o,
                          ease_status status, const char *words)
{
    const char *path = test_path("input");
    ease_interactions *x = NULL;
    ease_error err = {0};

    test_write_text(path, text);
    check_status(t, ease_interactions_read(path, o, &x, &err), status);
    check_contains(t, err.text, words);
}

static void data_without_dates_are_refused(test *t)
{
    ease_read_options o = defaults();

    o.half_life = 1.0;
    check_refused(t, "user,item\na,x\n", &o, EASE_E_ARG,
                  "a half-life needs a column of times");
    check_refused(t, "1 2 3 4 5 6\n1 2\n", &o, EASE_E_ARG,
                  "a half-life needs a column of times");
    check_refused(t, "user,item,time\na,x,2003\nb,x,2004\n", &o, EASE_E_DATA,
                  "times below 100,000,000");
    check_refused(t, "user,item,time\na,x,2003-01-01\nb,x,\n", &o, EASE_E_PARSE,
                  ":3: the time is empty");
    check_refused(t, "user,item,time\na,x,2024-02-29\nb,x,2024-02-30\n", &o,
                  EASE_E_PARSE, ":3: '2024-02-30' is not a time");
    check_refused(t, "user,item,time\na,x,20240229\nb,x,20230229\n", &o, EASE_E_PARSE,
                  ":3: '20230229' is not a time");
    o.half_life = 0.0;
    o.since = 0.0;
    check_refused(t, "user,item\na,x\n", &o, EASE_E_ARG,
                  "since and until need a column of times");
    o.since = time_of(t, "2005-01-01");
    check_refused(t, "user,item,time\na,x,2003-01-01\nb,x,2004-01-01\n", &o,
                  EASE_E_DATA, "2 not between the times");
}

static void options_are_checked(test *t)
{
    static const double bad[] = {-1.0, (double)NAN, (double)INFINITY};
    ease_read_options o = defaults();

    for (int i = 0; i < 3; i++) {
        o.half_life = bad[i];
        check_refused(t, dates, &o, EASE_E_ARG, "a half-life is a number of days");
    }
    o.half_life = 0.0;
    o.since = o.until = 5.0;
    check_refused(t, dates, &o, EASE_E_ARG, "`since` is not before `until`");
}

static void times_are_parsed_and_refused(test *t)
{
    static const char *const bad[] = {"",
                                      "yesterday",
                                      "2024-13-01",
                                      "2024-1-1",
                                      "31.01.2024",
                                      "2024-01-31T25:00",
                                      "2024-02-30",
                                      "20240230",
                                      "20230229",
                                      "20241301",
                                      "19000100",
                                      "21000229",
                                      "2024-01-31T24:01"};
    double seconds;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_status(t, ease_time_parse(bad[i], &seconds, NULL), EASE_E_ARG);
    check(t, time_of(t, "1970-01-02") == 86400.0);
    check(t, time_of(t, "2024-02-29T12:30:15.5+01:00") == 1709206215.5);
    check(t, time_of(t, "1709206215500") == 1709206215.5);
    check(t, time_of(t, "20240229") == time_of(t, "2024-02-29"));
    check(t, time_of(t, "20000229") == time_of(t, "2000-02-28T24:00"));
    check(t, time_of(t, "18991301") == 18991301.0); /* seconds */
}

/* ---- splits ---------------------------------------------------------------- */

static const char visits[] =
    "user,item,time\n1,a,2024-01-01\n1,b,2024-02-01\n1,c,2024-03-01\n2,a,2024-01-05\n"
    "2,b,2024-02-05\n2,c,2024-03-05\n3,a,2024-01-09\n3,c,2024-04-01\n";

static void a_split_by_date_begins_there(test *t)
{
    const char *path = test_path("visits");
    char dir[400];
    ease_read_options r = defaults();
    ease_split_options o;
    ease_split_info info = {.size = sizeof(info)};
    ease_error err = {0};

    snprintf(dir, sizeof(dir), "%s", test_path("by-date"));
    test_write_text(path, visits);
    ease_split_options_init(&o);
    o.protocol = "time";
    o.test_from = time_of(t, "2024-03-01");
    o.validation_from = time_of(t, "2024-02-01");
    if (!check_status(t, ease_split(path, &r, &o, dir, &info, &err), EASE_OK))
        printf("    %s\n", err.text);
    check_int(t, info.validation_train.interactions, 3);
    check_int(t, info.validation_target.interactions, 2);
    check_int(t, info.train.interactions, 5);
    check_int(t, info.test_target.interactions, 3);
    r.until = time_of(t, "2024-04-01");
    check_status(t, ease_split(path, &r, &o, dir, &info, &err), EASE_OK);
    check_int(t, info.test_target.interactions, 2);
    o.test_from = time_of(t, "2025-03-01");
    check_status(t, ease_split(path, &r, &o, dir, &info, &err), EASE_E_DATA);
    check_contains(t, err.text, "the test data would be empty");
    o.test_from = time_of(t, "2024-01-01");
    o.validation_from = (double)NAN;
    check_status(t, ease_split(path, &r, &o, dir, &info, &err), EASE_E_DATA);
    check_contains(t, err.text, "the training data would be empty");
    o.validation_from = o.test_from;
    check_status(t, ease_split(path, &r, &o, dir, &info, &err), EASE_E_ARG);
    o.validation_from = (double)NAN;
    o.protocol = "random";
    check_status(t, ease_split(path, &r, &o, dir, &info, &err), EASE_E_ARG);
    o.test_from = (double)NAN;
    r.half_life = 3.0;
    check_status(t, ease_split(path, &r, &o, dir, &info, &err), EASE_E_ARG);
    check_contains(t, err.text, "half-life");
}

static const test_case cases[] = {
    TEST(aged_values_are_rounded_from_the_exact_result),
    TEST(aged_values_have_exact_powers_and_an_end),
    TEST(bounds_drop_rows_by_date),
    TEST(a_half_life_weighs_rows_by_age),
    TEST(repeated_rows_are_combined_by_their_weights),
    TEST(weights_of_nothing_are_dropped),
    TEST(units_are_told_apart_by_their_size),
    TEST(threads_and_blocks_do_not_matter),
    TEST(netflix_rows_have_dates),
    TEST(tables_in_memory_follow_the_same_rules),
    TEST(data_without_dates_are_refused),
    TEST(options_are_checked),
    TEST(times_are_parsed_and_refused),
    TEST(a_split_by_date_begins_there),
};

TEST_MAIN(cases)
