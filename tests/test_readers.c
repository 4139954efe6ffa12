/* Readers: every format, the guesses, and the errors of bad input. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "read/readers.h"
#include "read/small_table.h"
#include "read/titles.h"
#include "test.h"
#include "text/number.h"

/* ---- helpers --------------------------------------------------------------- */

static ease_read_options defaults(void)
{
    ease_read_options o;

    ease_read_options_init(&o);
    return o;
}

static ease_interactions *read_as(test *t, const char *text, const ease_read_options *o)
{
    const char *path = test_path("input");
    ease_interactions *x = NULL;
    ease_error err = {0};

    test_write_text(path, text);
    if (!check_status(t, ease_interactions_read(path, o, &x, &err), EASE_OK))
        printf("    %s\n", err.text);
    return x;
}

/* "a:x,y b:z" or with weights "a:x=2,y=3" */
static const char *shown(const ease_interactions *x)
{
    static char text[4096];
    size_t used = 0;
    ease_interactions_info info = {.size = sizeof(info)};

    text[0] = '\0';
    if (!x)
        return "(none)";
    info = interactions_info(x);
    for (int64_t u = 0; u < info.users; u++) {
        ease_row row = ease_interactions_row(x, u);

        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s%s:", u ? " " : "",
                                 ease_interactions_user_id(x, u));
        for (int32_t i = 0; i < row.count; i++) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                     i ? "," : "",
                                     ease_interactions_item_id(x, row.items[i]));
            if (row.weights)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "=%g",
                                         (double)row.weights[i]);
        }
    }
    return text;
}

static void check_read_with(test *t, const char *text, const ease_read_options *o,
                            const char *want, const char *recognized)
{
    ease_interactions *x = read_as(t, text, o);

    if (x) {
        check_text(t, shown(x), want);
        if (recognized)
            check_text(t, interactions_info(x).recognized, recognized);
    }
    ease_interactions_free(x);
}

static void check_read(test *t, const char *text, const char *want,
                       const char *recognized)
{
    check_read_with(t, text, NULL, want, recognized);
}

static void check_fails_bytes(test *t, const char *text, size_t bytes,
                              const ease_read_options *o, ease_status want,
                              const char *part, int64_t where)
{
    const char *path = test_path("input");
    ease_interactions *x = NULL;
    ease_error err = {0};

    test_write(path, text, bytes);
    check_status(t, ease_interactions_read(path, o, &x, &err), want);
    check_contains(t, err.text, part);
    check_contains(t, err.text, "input");
    check_int(t, err.where, where);
    check(t, x == NULL);
    ease_interactions_free(x);
}

static void check_fails(test *t, const char *text, const ease_read_options *o,
                        ease_status want, const char *part, int64_t where)
{
    check_fails_bytes(t, text, strlen(text), o, want, part, where);
}

/* ---- forms that are recognized --------------------------------------------- */

static void csv_with_header_is_recognized(test *t)
{
    check_read(t, "userId,movieId,rating,timestamp\nu,a,3,9\nu,b,4.5,9\nv,a,1,9\n",
               "u:a,b v:a",
               "CSV with header: user = userId, item = movieId, value = rating");
    check_read(t, "book_id,user_id,rating\n7,u,3\n8,u,1\n7,v,1\n", "u:7,8 v:7",
               "CSV with header: user = user_id, item = book_id, value = rating");
    check_read(t, "uid,sid\nu,a\n", "u:a", "CSV with header: user = uid, item = sid");
}

static void tables_without_header_go_by_place(test *t)
{
    check_read(t, "1\t2\n1\t3\n4\t2\n", "1:2,3 4:2",
               "TSV without header: user = column 1, item = column 2");
    check_read(
        t, "196\t242\t3\t881250949\n186\t302\t3\t891717742\n", "196:242 186:302",
        "TSV without header: user = column 1, item = column 2, value = column 3");
    check_read(t, "1::1193::5::978300760\n1::661::3::978302109\n", "1:1193,661",
               "table separated by '::' without header: user = column 1, item = column "
               "2, value = column 3");
    check_read(
        t, "a;b;x\na;c;y\n", "a:b,c",
        "table separated by ';' without header: user = column 1, item = column 2");
    check_read(
        t, "a|b\nc|d\n", "a:b c:d",
        "table separated by '|' without header: user = column 1, item = column 2");
    check_read(
        t, "a b\nc d\n", "a:b c:d",
        "space-separated table without header: user = column 1, item = column 2");
    check_read(
        t, "1 2 3.5\n1  3 4\n", "1:2,3",
        "space-separated table without header: user = column 1, item = column 2, "
        "value = column 3");
}

static void recbole_headers_are_recognized(test *t)
{
    check_read(
        t,
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
        "u\ta\t4\t1\nv\tb\t5\t2\n",
        "u:a v:b",
        "RecBole .inter with header: user = user_id:token, item = item_id:token, "
        "value = rating:float");
}

static void words_above_numbers_are_a_header(test *t)
{
    check_read(t, "who,what,how\n1,2,3\n2,3,4\n", "1:2 2:3",
               "CSV with header: user = who, item = what, value = how");
    check_read(t, "who,movieId\n1,2\n", "1:2",
               "CSV with header: user = who, item = movieId");
    check_read(t, "movieId,who\n1,2\n", "2:1",
               "CSV with header: user = who, item = movieId");
    /* Words above words are not. */
    check_read(t, "ann,apple\nbob,pear\n", "ann:apple bob:pear",
               "CSV without header: user = column 1, item = column 2");
}

static void a_time_is_no_value(test *t)
{
    ease_interactions *x = read_as(t, "user,item,timestamp\nu,a,now\n", NULL);

    check_text(t, interactions_info(x).recognized,
               "CSV with header: user = user, item = item");
    ease_interactions_free(x);
}

static void adjacency_lines_are_recognized(test *t)
{
    check_read(t, "0 1 2 3\n1 2\n2 \n3 9 1 \r\n", "0:1,2,3 1:2 2: 3:1,9",
               "adjacency lines");
    check_read(t, "0 1 2 3 4 5\n1 2 3 4 5 6\n", "0:1,2,3,4,5 1:2,3,4,5,6",
               "adjacency lines");
    check_read(t, "a\tx\ty\tz\nb\tx\nc\tx\ty\nd\n",
               "a:x,y,z b:x c:x,y d:", "adjacency lines");
    check_read(t, "lone\nb x y\n", "lone: b:x,y", "adjacency lines");
}

static void adjacency_lines_with_tabs_keep_spaces(test *t)
{
    ease_read_options o = defaults();
    const char *tabs = "an a\tgreen tea\trye\nb\trye\nc\tgreen tea\trye\toil\t\nd\t\n"
                       "e\n";
    const char *want = "an a:green tea,rye b:rye c:green tea,rye,oil d: e:";

    check_read(t, tabs, want, "adjacency lines");
    o.format = "adjacency";
    check_read_with(t, tabs, &o, want, "adjacency lines");
    /* A tab after the user alone: the items are separated by spaces. */
    check_read_with(t, "a\tx y\nb\ty\nc\tz x\n", &o, "a:x,y b:y c:x,z",
                    "adjacency lines");
    check_fails(t, "a\tx\t\ty\nb\tx\nc\tx\ty\n", &o, EASE_E_PARSE, "item", 1);
}

static void each_guess_can_be_overridden(test *t)
{
    ease_read_options o = defaults();

    o.format = "adjacency";
    check_read_with(t, "a b\nc d e\n", &o, "a:b c:d,e", "adjacency lines");
    o.separator = ",";
    check_read_with(t, "a,b\nc,d,e\n", &o, "a:b c:d,e", "adjacency lines");
    o = defaults();
    o.header = 0;
    check_read_with(t, "user,item\na,b\n", &o, "user:item a:b", NULL);
    o.header = 1;
    check_read_with(t, "x,y\na,b\n", &o, "a:b", NULL);
    o = defaults();
    o.columns = "3,1";
    check_read_with(t, "a,5,u\nb,6,u\n", &o, "u:a,b", NULL);
    o.columns = "what,WHO,n";
    check_read_with(t, "n,who,what\n1,2,3\n", &o, "3:2",
                    "CSV with header: user = what, item = who, value = n");
    o.columns = "item_id,user_id";
    check_read_with(t, "user_id:token\titem_id:token\nu\ta\n", &o, "a:u", NULL);
    o = defaults();
    o.separator = "--";
    check_read_with(t, "a--b-c\nd--e\n", &o, "a:b-c d:e", NULL);
    o.separator = "\\t";
    check_read_with(t, "a\tb,c\n", &o, "a:b,c", NULL);
}

static void columns_that_do_not_exist_are_named(test *t)
{
    ease_read_options o = defaults();

    o.columns = "user,film";
    check_fails(t, "user,movie,rating\n1,2,3\n", &o, EASE_E_ARG,
                "no column 'film' in the header: user, movie, rating", -1);
    o.columns = "1,4";
    check_fails(t, "1,2,3\n", &o, EASE_E_ARG, "no column 4: there are 3", -1);
    o.columns = "user,item";
    check_fails(t, "1,2,3\n", &o, EASE_E_ARG, "columns are numbers from 1", -1);
}

static void quotes_and_line_ends_follow_rfc_4180(test *t)
{
    check_read(t, "\xef\xbb\xbfuser,item\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n\r\nc,d",
               "a,b:say \"hi\" c:d", "CSV with header: user = user, item = item");
    check_read(t, "user,item,rating\n\"a\",b,\"3\"\n", "a:b", NULL);
    check_read(t, "\n\nuser,item\n\n1,2\n\n", "1:2", NULL);
    /* In a TSV a quote is a byte like others. */
    check_read(t, "\"a\t\"\"b\nc\td\n", "\"a:\"\"b c:d", NULL);
}

static void ids_may_have_any_length_and_bytes(test *t)
{
    static const char rest[] =
        ",i\n\xff\xfe,\x01\n1234567,i\n12345678,i\n123456789,i\n";
    size_t length = 3000000;
    char *text = malloc(length + sizeof(rest));
    ease_interactions *x = NULL;
    const char *path = test_path("long");

    memset(text, 'x', length);
    memcpy(text + length, rest, sizeof(rest));
    test_write(path, text, length + sizeof(rest) - 1);
    check_status(t, ease_interactions_read(path, NULL, &x, NULL), EASE_OK);
    if (x) {
        check_int(t, interactions_info(x).users, 5);
        check_int(t, strlen(ease_interactions_user_id(x, 0)), length);
        check_text(t, ease_interactions_user_id(x, 1), "\xff\xfe");
        check_text(t, ease_interactions_user_id(x, 4), "123456789");
    }
    ease_interactions_free(x);
    free(text);
}

/* ---- compressed ------------------------------------------------------------ */

static size_t gzip_text(const char *text, unsigned char *to, size_t capacity)
{
    z_stream z = {0};

    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = to;
    z.avail_out = (uInt)capacity;
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return capacity - z.avail_out;
}

static void check_bytes(test *t, const unsigned char *bytes, size_t count,
                        const char *want, const char *recognized)
{
    const char *path = test_path("packed");
    ease_interactions *x = NULL;
    ease_error err = {0};

    test_write(path, bytes, count);
    if (!check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_OK))
        printf("    %s\n", err.text);
    check_text(t, shown(x), want);
    if (x)
        check_text(t, interactions_info(x).recognized, recognized);
    ease_interactions_free(x);
}

static void gzip_and_zstd_are_seen_through(test *t)
{
    unsigned char packed[4096];
    size_t first = gzip_text("a,b\n", packed, sizeof(packed)), second;

    second = gzip_text("c,d\n", packed + first, sizeof(packed) - first);
    check_bytes(t, packed, first + second, "a:b c:d",
                "gzip, CSV without header: user = column 1, item = column 2");
    memset(packed + first + second, 0, 512);
    check_bytes(t, packed, first + second + 512, "a:b c:d",
                "gzip, CSV without header: user = column 1, item = column 2");
    first = ZSTD_compress(packed, sizeof(packed), "a,b\n", 4, 3);
    second = ZSTD_compress(packed + first, sizeof(packed) - first, "c,d\n", 4, 3);
    check_bytes(t, packed, first + second, "a:b c:d",
                "zstd, CSV without header: user = column 1, item = column 2");
}

static void damaged_streams_say_so(test *t)
{
    unsigned char packed[4096];
    size_t bytes = gzip_text("a,b\nc,d\ne,f\n", packed, sizeof(packed));
    ease_interactions *x = NULL;
    const char *path = test_path("packed");
    ease_error err = {0};

    test_write(path, packed, bytes - 6);
    check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_E_PARSE);
    check_contains(t, err.text, "packed: truncated gzip stream");
    packed[14] ^= 0x55;
    test_write(path, packed, bytes);
    check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_E_PARSE);
    check_contains(t, err.text, "damaged gzip stream");
    bytes = ZSTD_compress(packed, sizeof(packed), "a,b\nc,d\ne,f\n", 12, 3);
    test_write(path, packed, bytes - 1);
    check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_E_PARSE);
    check_contains(t, err.text, "truncated zstd stream");
    packed[5] ^= 0xff;
    test_write(path, packed, bytes);
    check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_E_PARSE);
    check_contains(t, err.text, "zstd stream");
}

/* ---- bad input ------------------------------------------------------------- */

static void bad_lines_are_named(test *t)
{
    check_fails(t, "user,item,rating\na,b,3\n\na,b\n", NULL, EASE_E_PARSE,
                "input:4: expected 3 fields, found 2", 4);
    check_fails(t, "user,item,rating\na,b,3\na,b,3,4,5\n", NULL, EASE_E_PARSE,
                "input:3: expected 3 fields, found 5", 3);
    check_fails(t, "user,item\n,b\n", NULL, EASE_E_PARSE, "input:2: the user is empty",
                2);
    check_fails(t, "user,item\na,\n", NULL, EASE_E_PARSE, "input:2: the item is empty",
                2);
    check_fails(t, "user,item\n\"a,b\nc,d\n", NULL, EASE_E_PARSE,
                "input:2: a quoted field does not end on its line", 2);
    check_fails(t, "user,item\n\"a\nb\",c\n", NULL, EASE_E_PARSE,
                "input:2: a quoted field does not end on its line", 2);
    check_fails(t, "user,item\n\"a\"b,c\n", NULL, EASE_E_PARSE,
                "input:2: text behind a closing quote", 2);
}

static void values_must_be_finite_numbers(test *t)
{
    static const char *const bad[] = {"x",         "",     "nan", "inf",
                                      "-Infinity", "0x10", "1e",  "1.2.3",
                                      "1e999",     "--1",  "1 2", "5,"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]) - 1; i++) {
        char text[128];

        snprintf(text, sizeof(text), "user,item,rating\na,b,3\na,c,%s\n", bad[i]);
        check_fails(t, text, NULL, EASE_E_PARSE, "input:3: ", 3);
    }
    check_fails(t, "user,item,rating\na,b,3\na,c,four\n", NULL, EASE_E_PARSE,
                "'four' is not a number", 3);
    check_fails(t, "user,item,rating\na,b,1e400\n", NULL, EASE_E_PARSE,
                "'1e400' is out of range", 2);
    check_fails(t, "1,2,3\n1,3,nan\n", NULL, EASE_E_PARSE,
                "input:2: 'nan' is not a number", 2);
}

static void weights_must_fit_a_float(test *t)
{
    ease_read_options o = defaults();

    check_read(t, "user,item,rating\na,b,1e300\n", "a:b", NULL);
    o.weights = 1;
    check_fails(t, "user,item,rating\na,b,1e300\n", &o, EASE_E_PARSE,
                "'1e300' is out of range", 2);
    o.repeat = EASE_REPEAT_SUM;
    check_fails(t, "user,item,rating\na,input,3e38\na,input,3e38\n", &o, EASE_E_DATA,
                "sum of repeated rows", -1);
}

static void empty_and_foreign_files_are_refused(test *t)
{
    check_fails(t, "", NULL, EASE_E_DATA, "input: empty", -1);
    check_fails(t, "\n \r\n\n", NULL, EASE_E_DATA, "input: empty", -1);
    check_fails(t, "userId,movieId,rating\n", NULL, EASE_E_DATA, "a header and no rows",
                -1);
    check_fails(t, "justonecolumn\nanother\n", NULL, EASE_E_PARSE,
                "a user and an item are needed, found 1 field", 1);
    check_fails_bytes(t, "a,b\n\0\1\2", 7, NULL, EASE_E_PARSE,
                      "looks like a binary file", -1);
    check_fails(t,
                "\xff\xfe"
                "a,b",
                NULL, EASE_E_PARSE, "damaged or truncated UTF-16 text", -1);
    check_fails(t, "1\ta\r2\tb\r1\tc\r", NULL, EASE_E_PARSE, "lines end with CR alone",
                1);
    check_fails_bytes(t,
                      "\x89"
                      "EASE\r\n\x1amodel\0\0\0",
                      16, NULL, EASE_E_DATA, "a model file of ours", -1);
    check_fails_bytes(t,
                      "\x89"
                      "EASE\r\n\x1agram\0\0\0\0",
                      16, NULL, EASE_E_DATA, "a Gram file of ours", -1);
}

static void paths_that_cannot_be_read_say_why(test *t)
{
    ease_interactions *x = NULL;
    ease_error err = {0};

    check_status(t, ease_interactions_read(test_path("none"), NULL, &x, &err),
                 EASE_E_IO);
    check_contains(t, err.text, "none: cannot open: No such file");
    check_int(t, err.sys_errno, ENOENT);
    check_status(t, ease_interactions_read("/dev", NULL, &x, &err), EASE_E_DATA);
    check_contains(t, err.text, "/dev: a directory without a data set");
    check_status(t, ease_interactions_read("", NULL, &x, &err), EASE_E_ARG);
    check_status(t, ease_interactions_read(NULL, NULL, &x, NULL), EASE_E_ARG);
}

/* However the files of a list fall into blocks. */
static void files_of_a_list_are_read_as_one(test *t)
{
    static const char *const texts[] = {
        "1:\n5,3,2005-09-06\n7,5,2005-05-13\n19,5,2005-05-13\n", "2:\n7,4,2005-10-19",
        "3:\n", "", "5:\n5,1,2003-12-26\n6:\n5,1,2003-12-26\n123456789012,2,x\n"};
    static const size_t blocks[] = {1, 7, 16, 30, 64, 100, 0};
    static const char bad[] = "6:\n5,1,2003-12-26\n5,z,2003-12-26\n";
    char dir[400], path[440], want[480];
    ease_read_options o;
    ease_error err = {0};

    snprintf(dir, sizeof(dir), "%s", test_path("movies"));
    check_int(t, mkdir(dir, 0777), 0);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "%s/mv_%07d.txt", dir, i + 1);
        test_write_text(path, texts[i]);
    }
    ease_read_options_init(&o);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        ease_interactions *x = NULL;

        o.threads = 1 + (int)i % 3;
        if (!check_status(t, ease__interactions_read(dir, &o, blocks[i], &x, NULL),
                          EASE_OK))
            continue;
        check_int(t, x->users, 4);
        check_int(t, x->items, 4);
        check_int(t, x->nnz, 7);
        check_text(t, ease_interactions_user_id(x, 3), "123456789012");
        check_text(t, ease_interactions_item_id(x, 3), "6");
        check_int(t, ease_interactions_row(x, 0).count, 3);
        ease_interactions_free(x);
    }
    snprintf(path, sizeof(path), "%s/mv_0000006.txt", dir);
    test_write_text(path, bad);
    snprintf(want, sizeof(want), "%s:3: 'z' is not a number", path);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        ease_interactions *x = NULL;

        check_status(t, ease__interactions_read(dir, &o, blocks[i], &x, &err),
                     EASE_E_PARSE);
        check_text(t, err.text, want);
        check_int(t, err.where, 3);
    }
}

static void a_format_that_is_wrong_is_named(test *t)
{
    ease_read_options o = defaults();

    o.format = "npz";
    check_fails(t, "user,item\na,b\n", &o, EASE_E_PARSE, "not a .npz file", -1);
    o.format = "mtx";
    check_fails(t, "user,item\na,b\n", &o, EASE_E_PARSE, "not a head of MatrixMarket",
                1);
    o.format = "split";
    check_fails(t, "user,item\na,b\n", &o, EASE_E_DATA, "not a table of a split", -1);
}

static void options_for_tables_are_refused_elsewhere(test *t)
{
    const char *mtx = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n";
    ease_read_options o = defaults();

    o.format = "adjacency";
    o.columns = "2,1";
    check_fails(t, "a b\nc d e\n", &o, EASE_E_ARG, "columns are for tables", -1);
    o.columns = NULL;
    o.header = 1;
    check_fails(t, "a b\nc d e\n", &o, EASE_E_ARG, "this is adjacency lines", -1);
    o = defaults();
    o.columns = "1,2";
    check_fails(t, mtx, &o, EASE_E_ARG, "this is MatrixMarket", -1);
    o = defaults();
    o.separator = " ";
    check_fails(t, mtx, &o, EASE_E_ARG, "a separator is for tables", -1);
    o = defaults();
    o.header = 1;
    check_fails(t, mtx, &o, EASE_E_ARG, "a header is for tables", -1);
    o.format = "npz";
    check_fails(t, "PK", &o, EASE_E_ARG, "this is .npz", -1);
}

static void options_that_make_no_sense_are_refused(test *t)
{
    ease_read_options o = defaults();
    ease_interactions *x = NULL;
    const char *path = test_path("input");

    test_write_text(path, "a b c d e\n");
    o.weights = 1;
    check_fails(t, "a b c d e\n", &o, EASE_E_ARG, "weights need a column of values",
                -1);
    o = defaults();
    o.min_rating = 3.0;
    check_fails(t, "user,item\na,b\n", &o, EASE_E_ARG, "a minimal rating needs", -1);
    o = defaults();
    o.format = "xls";
    check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_E_ARG);
    o = defaults();
    o.size = 3;
    check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_E_ARG);
    o = defaults();
    o.repeat = (ease_repeat)9;
    check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_E_ARG);
    o = defaults();
    o.separator = "\n";
    check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_E_ARG);
    check(t, x == NULL);
}

/* ---- .npz and .mtx --------------------------------------------------------- */

static void matrix_market_is_read(test *t)
{
    ease_read_options o = defaults();

    check_read(t,
               "%%MatrixMarket matrix coordinate pattern general\n% words\n3 4 3\n"
               "1 2\n3 4\n1 1\n",
               "1:1,2 2: 3:4", "MatrixMarket coordinate pattern, 3 x 4");
    o.weights = 1;
    check_read_with(t,
                    "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0.5\n"
                    "2 1 -3e0\n",
                    &o, "1:2=0.5 2:1=-3", "MatrixMarket coordinate, 2 x 2");
    o.min_user = 1;
    check_read_with(t,
                    "%%MatrixMarket matrix coordinate integer general\n3 2 1\n"
                    "2 2 7\n",
                    &o, "2:2=7", NULL);
}

static void bad_matrix_market_is_named(test *t)
{
    ease_read_options o = defaults();

    check_fails(t, "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n",
                NULL, EASE_E_PARSE, "input:1: only general", 1);
    check_fails(t, "%%MatrixMarket matrix array real general\n1 1\n1\n", NULL,
                EASE_E_PARSE, "only MatrixMarket matrices of coordinates", 1);
    check_fails(t, "%%MatrixMarket matrix coordinate complex general\n", NULL,
                EASE_E_PARSE, "real, integer or pattern", 1);
    check_fails(t, "%%MatrixMarket matrix coordinate real general\n% x\n1 1\n", NULL,
                EASE_E_PARSE, "input:3: expected the numbers", 3);
    check_fails(t, "%%MatrixMarket matrix coordinate real general\n", NULL,
                EASE_E_PARSE, "ends within its head", 2);
    check_fails(t,
                "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n",
                NULL, EASE_E_PARSE, "input:4: row '3' is not a number of 1 .. 2", 4);
    check_fails(t, "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 0 1\n",
                NULL, EASE_E_PARSE, "input:3: column '0'", 3);
    check_fails(t, "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1\n", NULL,
                EASE_E_PARSE, "input:3: expected 3 fields, found 2", 3);
    check_fails(t, "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",
                NULL, EASE_E_PARSE, "1 entries where its head says 2", -1);
    o.memory_limit = 1000000;
    check_fails(
        t, "%%MatrixMarket matrix coordinate real general\n2000000000 9 1\n1 1 1\n", &o,
        EASE_E_MEMORY_LIMIT, "the limit is 1 MB", -1);
    check_fails(
        t, "%%MatrixMarket matrix coordinate real general\n9 3000000000 1\n1 1 1\n",
        NULL, EASE_E_TOO_LARGE, "too large", -1);
}

/* The seeds of the fuzz target are real files of SciPy. */
static void npz_files_of_scipy_are_read(test *t)
{
    static const struct {
        const char *name, *want;
    } files[] = {
        {"csr_f64_deflated.npz", "0:0=1.5,3=2 1: 2:1=3 3:0=4,1=5,4=0.5"},
        {"csr_f32_stored.npz", "0:0=1.5,3=2 1: 2:1=3 3:0=4,1=5,4=0.5"},
        {"csr_f16.npz", "0:0=1.5,3=2 1: 2:1=3 3:0=4,1=5,4=0.5"},
        {"csr_i64_index64.npz", "0:0=1,3=2 1: 2:1=3 3:0=4,1=5"},
        {"csr_u8.npz", "0:0=1,3=2 1: 2:1=3 3:0=4,1=5"},
        {"csr_bool.npz", "0:0=1,3=1 1: 2:1=1 3:0=1,1=1,4=1"},
        {"csr_unsorted.npz", "0:1=2,3=1"},
    };
    ease_read_options o = defaults();

    o.weights = 1;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[256];
        ease_interactions *x = NULL;
        ease_error err = {0};

        snprintf(path, sizeof(path), "tests/corpus/npz/%s", files[i].name);
        if (!check_status(t, ease_interactions_read(path, &o, &x, &err), EASE_OK))
            printf("    %s\n", err.text);
        check_text(t, shown(x), files[i].want);
        if (x)
            check_contains(t, interactions_info(x).recognized, "SciPy CSR .npz, ");
        ease_interactions_free(x);
    }
}

static void other_npz_files_are_refused(test *t)
{
    static const struct {
        const char *name, *part;
    } files[] = {
        {"csc.npz", "format 'csc': save it as CSR"},
        {"coo.npz", "format 'coo'"},
        {"not_sparse.npz", "no sparse matrix of SciPy: no format.npy"},
        {"nan.npz", "data.npy: a value that is not finite"},
        {"truncated.npz", "damaged zip file"},
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[256];
        ease_interactions *x = NULL;
        ease_error err = {0};

        snprintf(path, sizeof(path), "tests/corpus/npz/%s", files[i].name);
        check_status(t, ease_interactions_read(path, NULL, &x, &err), EASE_E_PARSE);
        check_contains(t, err.text, files[i].part);
        ease_interactions_free(x);
    }
}

static void npz_drops_low_ratings_and_keeps_users(test *t)
{
    ease_read_options o = defaults();
    ease_interactions *x = NULL;

    o.min_rating = 2.5;
    check_status(
        t,
        ease_interactions_read("tests/corpus/npz/csr_f64_deflated.npz", &o, &x, NULL),
        EASE_OK);
    check_text(t, shown(x), "0: 1: 2:1 3:0,1");
    if (x) {
        check_int(t, interactions_info(x).rows, 6);
        check_int(t, interactions_info(x).below_rating, 3);
        check_int(t, interactions_info(x).items, 5);
    }
    ease_interactions_free(x);
}

/* ---- standard input -------------------------------------------------------- */

static void a_pipe_can_be_read(test *t)
{
    int ends[2], saved = dup(STDIN_FILENO);
    ease_interactions *x = NULL;
    static const char text[] = "a,b\nc,d\n";

    if (pipe(ends) != 0 || write(ends[1], text, sizeof(text) - 1) < 0)
        abort();
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    check_status(t, ease_interactions_read("-", NULL, &x, NULL), EASE_OK);
    check_text(t, shown(x), "a:b c:d");
    dup2(saved, STDIN_FILENO);
    close(ends[0]);
    close(saved);
    ease_interactions_free(x);
}

static int cancel_at_once(void *user, const char *stage, double fraction)
{
    ++*(int *)user;
    return stage && fraction <= 1.0;
}

static void a_silent_pipe_can_be_cancelled(test *t)
{
    int ends[2], saved = dup(STDIN_FILENO), calls = 0;
    ease_read_options o = defaults();
    ease_interactions *x = NULL;

    o.hooks = &(ease_hooks){.progress = cancel_at_once, .user = &calls};
    if (pipe(ends) != 0)
        abort();
    dup2(ends[0], STDIN_FILENO);
    check_status(t, ease_interactions_read("-", &o, &x, NULL), EASE_E_CANCELLED);
    check_int(t, calls, 1);
    dup2(saved, STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    close(saved);
}

static void reading_a_file_can_be_cancelled(test *t)
{
    ease_read_options o = defaults();
    ease_interactions *x = NULL;
    int calls = 0;
    const char *path = test_path("input");

    test_write_text(path, "a,b\nc,d\n");
    o.hooks = &(ease_hooks){.progress = cancel_at_once, .user = &calls};
    check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_E_CANCELLED);
    check_int(t, calls, 1);
    check(t, x == NULL);
}

/* ---- numbers --------------------------------------------------------------- */

static void numbers_read_as_strtod_does(test *t)
{
    static const char *const numbers[] = {
        "0",
        "-0",
        "1",
        "4.5",
        ".5",
        "5.",
        "1e3",
        "1E-3",
        "+7",
        "123456789012345678901",
        "9007199254740993",
        "0.1",
        "1e22",
        "1e23",
        "2.2250738585072011e-308",
        "5e-324",
        "2e-324",
        "1.7976931348623157e308",
        "0.000000000000000000000000000001",
        "9007199254740992.9999999999999999999999999999999999999",
        "179769313486231570814527423731704356798070e267",
        "1e-400",
        "0e999999999999",
        "100000000000000000000000000000000000000000e-41",
        " 3 "};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        double got = -1.0;

        check_int(t, ease__parse_double(numbers[i], strlen(numbers[i]), &got),
                  EASE__NUMBER_OK);
        if (!check(t, got == strtod(numbers[i], NULL)))
            printf("    %s: %.17g\n", numbers[i], got);
    }
}

static void long_numbers_round_correctly(test *t)
{
    char text[2000] = "9007199254740993.";
    double got = 0.0;

    /* Exactly half way, then by a hair above it. */
    memset(text + 17, '0', 1500);
    check_int(t, ease__parse_double(text, 1517, &got), EASE__NUMBER_OK);
    check(t, got == 9007199254740992.0);
    text[1516] = '1';
    check_int(t, ease__parse_double(text, 1517, &got), EASE__NUMBER_OK);
    check(t, got == 9007199254740994.0);
}

static void integers_keep_to_64_bits(test *t)
{
    int64_t got = 0;

    check_int(t, ease__parse_int("-9223372036854775808", 20, &got), EASE__NUMBER_OK);
    check_int(t, got, INT64_MIN);
    check_int(t, ease__parse_int("9223372036854775807", 19, &got), EASE__NUMBER_OK);
    check_int(t, got, INT64_MAX);
    check_int(t, ease__parse_int("9223372036854775808", 19, &got), EASE__NUMBER_RANGE);
    check_int(t, ease__parse_int("1x", 2, &got), EASE__NUMBER_BAD);
    check_int(t, ease__parse_int("", 0, &got), EASE__NUMBER_BAD);
    check_int(t, ease__parse_int("-", 1, &got), EASE__NUMBER_BAD);
}

/* ---- tables and titles ----------------------------------------------------- */

static void tables_are_read_row_by_row(test *t)
{
    const char *path = test_path("table.csv");
    ease__table *table = NULL;
    const ease__field *f = NULL;
    size_t count = 0;
    ease_error err = {0};

    test_write_text(path, "id,title\r\n1,\"two\nlines, \"\"quoted\"\"\"\n\n2,\n3,x");
    check_status(t, ease__table_open(path, NULL, -1, NULL, &table, &err), EASE_OK);
    if (!table)
        return;
    check_int(t, ease__table_columns(table), 2);
    check(t, ease__table_header(table) != NULL);
    check_status(t, ease__table_next(table, &f, &count, &err), EASE_OK);
    check_int(t, ease__table_line(table), 2);
    check_int(t, count, 2);
    check(t, f[1].length == 19 && memcmp(f[1].text, "two\nlines, \"quoted\"", 19) == 0);
    check_status(t, ease__table_next(table, &f, &count, &err), EASE_OK);
    check_int(t, ease__table_line(table), 5);
    check_int(t, f[1].length, 0);
    check_status(t, ease__table_next(table, &f, &count, &err), EASE_OK);
    check_int(t, f[1].length, 1);
    check_status(t, ease__table_next(table, &f, &count, &err), EASE_OK);
    check_int(t, count, 0);
    ease__table_close(table);
}

static void bad_rows_of_tables_are_named(test *t)
{
    const char *path = test_path("table.csv");
    ease__table *table = NULL;
    const ease__field *f = NULL;
    size_t count = 0;
    ease_error err = {0};

    test_write_text(path, "a,b\nc,d\n\"e\n\",f\ng\n");
    check_status(t, ease__table_open(path, NULL, 0, NULL, &table, &err), EASE_OK);
    for (int i = 0; i < 3; i++)
        check_status(t, ease__table_next(table, &f, &count, &err), EASE_OK);
    check_status(t, ease__table_next(table, &f, &count, &err), EASE_E_PARSE);
    check_contains(t, err.text, "table.csv:5: expected 2 fields, found 1");
    check_int(t, err.where, 5);
    ease__table_close(table);
}

static ease__ids ids_of(const char *const *names, int count)
{
    ease__ids ids = {0};

    for (int i = 0; i < count; i++)
        ease__ids_add(&ids, names[i], strlen(names[i]));
    return ids;
}

static void check_titles(test *t, const char *text, const char *first,
                         const char *second, int matched)
{
    static const char *const names[] = {"1", "22", "missing"};
    const char *path = test_path("titles");
    ease__ids items = ids_of(names, 3), titles = {0};
    void *packed = NULL;
    size_t bytes = 0;
    int32_t got = -1;
    ease_error err = {0};

    test_write_text(path, text);
    if (!check_status(t, ease__titles_read(path, &items, &packed, &bytes, &got, &err),
                      EASE_OK))
        printf("    %s\n", err.text);
    else if (check_status(
                 t, ease__ids_borrow(&titles, packed, bytes, 3, false, "titles", &err),
                 EASE_OK)) {
        check_int(t, got, matched);
        check_text(t, ease__ids_at(&titles, 0), first);
        check_text(t, ease__ids_at(&titles, 1), second);
        check_text(t, ease__ids_at(&titles, 2), "");
    }
    ease__ids_free(&titles);
    ease__ids_free(&items);
    ease__free(packed);
}

static void titles_find_their_columns(test *t)
{
    check_titles(t, "1::Toy Story (1995)::Animation|Comedy\n22::Caf\xe9::Drama\n",
                 "Toy Story (1995)", "Caf\xc3\xa9", 2);
    check_titles(t, "1|Toy Story|01-Jan-1995||0\n22|Caf\xc3\xa9|x||1\n", "Toy Story",
                 "Caf\xc3\xa9", 2);
    check_titles(
        t, "n,id,original_title,title\n7,1,Un,\"One, \"\"1\"\"\"\n8,22,Deux,Two\n",
        "One, \"1\"", "Two", 2);
    check_titles(t, "movieId,title\n5,Five\n22,Late\n22,Later\n", "", "Late", 1);
    check_titles(t, "asin,name\n1,a\n22,b\n", "a", "b", 2);
    check_titles(t, "id,title\r\n1,a\r\n22,b\r", "a", "b", 2);
    check_titles(t, "id,title\r\n1,a\r\n22,\"b\"\r", "a", "b", 2);
}

static void titles_without_a_match_are_refused(test *t)
{
    static const char *const names[] = {"1"};
    ease__ids items = ids_of(names, 1);
    const char *path = test_path("titles");
    void *packed = NULL;
    size_t bytes = 0;
    ease_error err = {0};

    test_write_text(path, "id,title\n2,b\n");
    check_status(t, ease__titles_read(path, &items, &packed, &bytes, NULL, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "no column has ids of the items");
    test_write_text(path, "id,n\n1,2\n");
    check_status(t, ease__titles_read(path, &items, &packed, &bytes, NULL, &err),
                 EASE_E_DATA);
    check_contains(t, err.text, "no column of titles");
    check(t, packed == NULL);
    ease__ids_free(&items);
}

static void a_long_line_survives_every_failed_allocation(test *t)
{
    enum { LONG = 3 << 20 };
    char *text = malloc(LONG + 64);
    ease_status status;
    int n = 0;

    strcpy(text, "u,i\na,x\nb,y\nc,");
    memset(text + 14, 'z', LONG);
    strcpy(text + 14 + LONG, "\nd,x\n");
    test_write_text(test_path("long.csv"), text);
    free(text);
    do {
        ease_interactions *x = NULL;

        alloc_fail_after(n++);
        status = ease_interactions_read(test_path("long.csv"), NULL, &x, NULL);
        alloc_fail_after(-1);
        check_int(t, x != NULL, status == EASE_OK);
        ease_interactions_free(x);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
}

static void a_list_of_files_survives_every_failed_allocation(test *t)
{
    char dir[400], path[440];
    ease_read_options o;
    ease_status status;
    int n = 0;

    snprintf(dir, sizeof(dir), "%s", test_path("list"));
    check_int(t, mkdir(dir, 0777), 0);
    for (int i = 1; i <= 20; i++) {
        snprintf(path, sizeof(path), "%s/mv_%07d.txt", dir, i);
        test_write_text(path, "17:\n1234567890,5,x\n");
    }
    ease_read_options_init(&o);
    o.threads = 1;
    do {
        ease_interactions *x = NULL;

        alloc_fail_after(n++);
        status = ease_interactions_read(dir, &o, &x, NULL);
        alloc_fail_after(-1);
        check_int(t, x != NULL, status == EASE_OK);
        ease_interactions_free(x);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
}

static void nonsense_options_are_refused(test *t)
{
    ease_read_options o;
    ease_interactions *x = NULL;

    test_write_text(test_path("tiny.csv"), "a,x\nb,y\n");
    ease_read_options_init(&o);
    o.threads = 1 << 30;
    check_status(t, ease_interactions_read(test_path("tiny.csv"), &o, &x, NULL),
                 EASE_E_ARG);
    memset(&o, 0xff, sizeof(o));
    check_status(t, ease_interactions_read(test_path("tiny.csv"), &o, &x, NULL),
                 EASE_E_ARG);
}

static const test_case cases[] = {
    TEST(a_long_line_survives_every_failed_allocation),
    TEST(a_list_of_files_survives_every_failed_allocation),
    TEST(nonsense_options_are_refused),
    TEST(csv_with_header_is_recognized),
    TEST(tables_without_header_go_by_place),
    TEST(recbole_headers_are_recognized),
    TEST(words_above_numbers_are_a_header),
    TEST(a_time_is_no_value),
    TEST(adjacency_lines_are_recognized),
    TEST(adjacency_lines_with_tabs_keep_spaces),
    TEST(each_guess_can_be_overridden),
    TEST(columns_that_do_not_exist_are_named),
    TEST(quotes_and_line_ends_follow_rfc_4180),
    TEST(ids_may_have_any_length_and_bytes),
    TEST(gzip_and_zstd_are_seen_through),
    TEST(damaged_streams_say_so),
    TEST(bad_lines_are_named),
    TEST(values_must_be_finite_numbers),
    TEST(weights_must_fit_a_float),
    TEST(empty_and_foreign_files_are_refused),
    TEST(paths_that_cannot_be_read_say_why),
    TEST(files_of_a_list_are_read_as_one),
    TEST(a_format_that_is_wrong_is_named),
    TEST(options_for_tables_are_refused_elsewhere),
    TEST(options_that_make_no_sense_are_refused),
    TEST(matrix_market_is_read),
    TEST(bad_matrix_market_is_named),
    TEST(npz_files_of_scipy_are_read),
    TEST(other_npz_files_are_refused),
    TEST(npz_drops_low_ratings_and_keeps_users),
    TEST(a_pipe_can_be_read),
    TEST(a_silent_pipe_can_be_cancelled),
    TEST(reading_a_file_can_be_cancelled),
    TEST(numbers_read_as_strtod_does),
    TEST(long_numbers_round_correctly),
    TEST(integers_keep_to_64_bits),
    TEST(tables_are_read_row_by_row),
    TEST(bad_rows_of_tables_are_named),
    TEST(titles_find_their_columns),
    TEST(titles_without_a_match_are_refused),
};
TEST_MAIN(cases)
