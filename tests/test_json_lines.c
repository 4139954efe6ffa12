/* JSON lines: fields by path, escapes, and the errors of bad lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "read/json_rows.h"
#include "read/readers.h"
#include "test.h"

static ease_read_options defaults(void)
{
    ease_read_options o;

    ease_read_options_init(&o);
    return o;
}

/* "a:x=4 b:y=1", or the error */
static const char *read_text(const char *text, const ease_read_options *o)
{
    static char shown[4000];
    const char *path = test_path("input");
    ease_interactions *x = NULL;
    ease_error err = {0};
    size_t used = 0;

    test_write_text(path, text);
    if (ease_interactions_read(path, o, &x, &err)) {
        const char *name = strstr(err.text, "/input");

        snprintf(shown, sizeof(shown), "%s", name ? name + 1 : err.text);
        return shown;
    }
    shown[0] = '\0';
    for (int64_t u = 0; u < ease_interactions_users(x); u++) {
        ease_row row = ease_interactions_row(x, u);

        used += (size_t)snprintf(shown + used, sizeof(shown) - used,
                                 "%s%s:", u ? " " : "",
                                 ease_interactions_user_id(x, u));
        for (int32_t i = 0; i < row.count; i++)
            used += (size_t)snprintf(shown + used, sizeof(shown) - used, "%s%s=%g",
                                     i ? "," : "",
                                     ease_interactions_item_id(x, row.items[i]),
                                     row.weights ? (double)row.weights[i] : 1.0);
    }
    ease_interactions_free(x);
    return shown;
}

static void fields_are_named_by_paths(test *t)
{
    static const char data[] =
        "{\"type\":\"view\",\"who\":{\"id\":1,\"at\":{\"id\":9}},\"what\":{\"id\":"
        "\"x\"}}\n"
        "{\"what\":{\"id\":\"y\"},\"type\":\"buy\",\"who\":{\"at\":{\"id\":8},\"id\":2}"
        "}\n"
        "{\"who.id\":3,\"type\":null,\"what\":{\"more\":[{\"id\":5}],\"id\":\"x\"}}";
    ease_read_options o = defaults();

    o.columns = "who.id,what.id";
    check_text(t, read_text(data, &o), "1:x=1 2:y=1 3:x=1");
    o.columns = "WHO.ID,what.id"; /* as for tables, letters may be of either case */
    check_text(t, read_text(data, &o), "1:x=1 2:y=1 3:x=1");
    o.columns = "who.at.id,what.id";
    check_text(t, read_text(data, &o), "input:3: no 'who.at.id'");
    o.columns = "who,what.id";
    check_contains(t, read_text(data, &o), "no column 'who'");
    check_contains(t, read_text(data, &o), "type, who.id, who.at.id, what.id");
}

static void an_object_is_no_id(test *t)
{
    ease_read_options o = defaults();

    o.columns = "user,item";
    check_text(
        t, read_text("{\"user\":1,\"item\":2}\n{\"user\":{\"id\":1},\"item\":2}\n", &o),
        "input:2: 'user' is an object: name a field of it, as in user.id");
    check_text(t, read_text("{\"user\":1,\"item\":2}\n{\"user\":1,\"item\":[2]}\n", &o),
               "input:2: 'item' is an array, where one value is wanted");
}

static void values_may_be_missing_where_they_are_not_used(test *t)
{
    static const char data[] = "{\"user\":1,\"item\":2,\"rating\":4}\n"
                               "{\"user\":1,\"item\":3,\"rating\":null}\n"
                               "{\"user\":2,\"item\":3}\n{\"item\":2,\"user\":3,"
                               "\"rating\":\"0.5\"}\n";
    ease_read_options o = defaults();

    check_text(t, read_text(data, &o), "1:2=1,3=1 2:3=1 3:2=1");
    o.weights = 1;
    check_text(t, read_text(data, &o), "input:2: no 'rating'");
    o.weights = 0;
    o.min_rating = 1.0;
    check_text(t, read_text(data, &o), "input:2: no 'rating'");
    o.min_rating = (double)NAN;
    check_text(t, read_text("{\"user\":1,\"item\":2}\n{\"user\":null,\"item\":3}", &o),
               "input:2: no 'user'");
    check_text(t, read_text("{\"user\":1,\"item\":2}\n{\"user\":1,\"item\":\"\"}", &o),
               "input:2: 'item' is empty");
}

static void strings_are_unescaped(test *t)
{
    ease_read_options o = defaults();

    check_text(
        t,
        read_text("{\"user\":\"a\\u00e9\\u20ac\\ud83d\\ude00\",\"item\":\"\\\"\\\\"
                  "\\/\\b\\f\\t\"}\n{\"\\u0075ser\":\"b\",\"item\":\"x\"}\n",
                  &o),
        "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80:\"\\/\b\f\t=1 b:x=1");
}

static void the_last_of_two_equal_names_counts(test *t)
{
    ease_read_options o = defaults();

    check_text(t,
               read_text("{\"user\":1,\"item\":2,\"user\":3}\n"
                         "{\"user\":4,\"item\":5,\"user\":6}\n",
                         &o),
               "3:2=1 6:5=1");
}

static void bad_lines_are_named(test *t)
{
    static const struct {
        const char *line, *want;
    } bad[] = {
        {"x", "no JSON object: each line needs one"},
        {"7", "no JSON object: each line needs one"},
        {"{\"user\":1,\"item\":2", "the object does not end on its line"},
        {"{\"user\":1,\"item\":", "the object does not end on its line"},
        {"{\"user\":1,", "the object does not end on its line"},
        {"{", "the object does not end on its line"},
        {"{\"user\":1,\"x\":[2", "the object does not end on its line"},
        {"{\"user\":1,\"item\":\"2", "a string that does not end on its line"},
        {"{\"user\":1,\"item\":2}}", "text behind the object"},
        {"{\"user\":1,\"item\":2} {}", "text behind the object"},
        {"{\"user\":1 \"item\":2}", "',' or an end is expected behind a value"},
        {"{\"user\":1,\"x\":[2}", "',' or an end is expected behind a value"},
        {"{\"user\":1,\"item\":2,}", "the name of a field is expected"},
        {"{user:1,\"item\":2}", "the name of a field is expected"},
        {"{\"user\" 1,\"item\":2}", "':' is expected behind the name of a field"},
        {"{\"user\":01,\"item\":2}", "',' or an end is expected behind a value"},
        {"{\"user\":1.,\"item\":2}", "a value that is no JSON"},
        {"{\"user\":+1,\"item\":2}", "a value that is no JSON"},
        {"{\"user\":1e,\"item\":2}", "a value that is no JSON"},
        {"{\"user\":NaN,\"item\":2}", "a value that is no JSON"},
        {"{\"user\":'a',\"item\":2}", "a value that is no JSON"},
        {"{\"user\":1,\"x\":[2,]}", "a value that is no JSON"},
        {"{\"user\":\"\\x\",\"item\":2}",
         "a backslash in a string that begins no escape"},
        {"{\"user\":\"\\u12g4\",\"item\":2}",
         "a backslash in a string that begins no escape"},
        {"{\"user\":\"\\ud800\",\"item\":2}", "an escape that is no character"},
        {"{\"user\":\"\\udc00\\ud800\",\"item\":2}", "an escape that is no character"},
        {"{\"user\":\"\\ud800\\u0041\",\"item\":2}", "an escape that is no character"},
        {"{\"user\":\"\\u0000\",\"item\":2}", "an escape that is no character"},
        {"{\"user\":\"a\tb\",\"item\":2}", "a control character in a string"},
        {"{\"user\":1,\"item\":2,\"rating\":\"much\"}", "'much' is not a number"},
    };
    char text[400], want[400];
    ease_read_options o = defaults();

    o.format = "jsonl";
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(
            text, sizeof(text),
            "{\"user\":1,\"item\":2,\"rating\":3}\n\n%s\n{\"user\":1,\"item\":2}\n",
            bad[i].line);
        snprintf(want, sizeof(want), "input:3: %s", bad[i].want);
        check_text(t, read_text(text, &o), want);
    }
    check_text(t, read_text("\n{\"user\":1\n", &o),
               "input:2: the object does not end on its line");
    check_contains(t, read_text("[\n {\"user\":1}]", &o), "jq -c '.[]'");
    check_contains(t, read_text("{}\n{}", &o), "input:");
}

static void nesting_has_a_limit(test *t)
{
    char text[600] = "{\"user\":1,\"item\":2,\"x\":";
    ease_read_options o = defaults();

    for (int depth = 62; depth <= 64; depth++) {
        char line[600];
        size_t used = (size_t)snprintf(line, sizeof(line), "%s", text);

        memset(line + used, '[', (size_t)depth);
        memset(line + used + depth, ']', (size_t)depth);
        snprintf(line + used + 2 * depth, 3, "}\n");
        check_text(t, read_text(line, &o),
                   depth < 64 ? "1:2=1"
                              : "input:1: more than 64 objects and arrays within each "
                                "other");
    }
}

static bool ignore(void *to, const ease__json_value *v, char *what)
{
    (void)to;
    (void)v;
    (void)what;
    return true;
}

/* A line of a known shape is read as it is without the shape, whatever changes in it. */
static void shapes_change_nothing(test *t)
{
    static const char line[] =
        "{\"user\": 17, \"a\":\"b\\\"c\", \"item\":\"x\", \"n\":{\"r\":-1.5e3,"
        "\"f\":false},\"l\":[1,\"2\"],\"ts\":12345678901} \r\n";
    enum { ROOM = 300, TRIALS = 200000 };
    static const ease__json_fields fields = {{"user", "item", "n.r", "ts"}};
    const size_t length = sizeof(line) - 1;
    char first[ROOM] = "", other[ROOM], again[ROOM], what[EASE__JSON_WHAT];
    ease__json_shape shape = {.values = 0};
    ease__name found[2][EASE__JSON_FIELDS];
    const char *at = first;
    ease__random r;
    int matched = 0, differ = 0, good = 0;

    ease__random_seed(&r, 11, 0);
    memcpy(first, line, length);
    check(t, ease__json_row(&fields, &shape, &at, first + length, found[0], what));
    check_int(t, shape.values, 6);
    for (int i = 0; i < TRIALS; i++) {
        static const char bytes[] = "\"\\{}[],: 0123456789-+.eEtrufalsnx\n\r";
        ease__json_shape known = shape, none = {.values = 0};
        const char *ends[2];
        char *copies[] = {other, again};
        bool is[2];

        memset(other, 0, sizeof(other));
        memcpy(other, line, length);
        for (int k = 0; k < 1 + i % 2; k++)
            other[ease__random_below(&r, length - 1)] =
                bytes[ease__random_below(&r, sizeof(bytes) - 1)];
        memcpy(again, other, sizeof(again));
        for (int k = 0; k < 2; k++) {
            ends[k] = copies[k];
            is[k] = ease__json_row(&fields, k ? &none : &known, &ends[k],
                                   copies[k] + length, found[k], what);
        }
        if (is[0] != is[1] || (is[0] && ends[0] - other != ends[1] - again)) {
            differ++;
            continue;
        }
        good += is[0];
        matched += is[0] && memcmp(&known, &shape, sizeof(shape)) == 0;
        for (int f = 0; is[0] && f < EASE__JSON_FIELDS; f++)
            differ += found[0][f].length != found[1][f].length ||
                      (found[0][f].length && memcmp(found[0][f].text, found[1][f].text,
                                                    found[0][f].length) != 0);
    }
    check_int(t, differ, 0);
    check(t, good > TRIALS / 10 && matched > TRIALS / 20);
    at = line;
    check(t, ease__json_line(&at, line + length, ignore, NULL, what));
    check(t, at == line + length);
}

static void options_of_tables_are_refused(test *t)
{
    ease_read_options o = defaults();

    o.separator = ";";
    check_contains(t, read_text("{\"user\":1,\"item\":2}\n", &o), "this is JSON lines");
    o.separator = NULL;
    o.header = 1;
    check_contains(t, read_text("{\"user\":1,\"item\":2}\n", &o), "this is JSON lines");
}

static const test_case cases[] = {
    TEST(fields_are_named_by_paths),
    TEST(an_object_is_no_id),
    TEST(values_may_be_missing_where_they_are_not_used),
    TEST(strings_are_unescaped),
    TEST(the_last_of_two_equal_names_counts),
    TEST(bad_lines_are_named),
    TEST(nesting_has_a_limit),
    TEST(shapes_change_nothing),
    TEST(options_of_tables_are_refused),
};

TEST_MAIN(cases)
