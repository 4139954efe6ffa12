/* Tests of every reader, over all entries of the table. A reader is tested with an
 * example of its format below; an entry without an example fails. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "read/events.h"
#include "read/readers.h"
#include "test.h"

enum { MOST_BESIDE = 3, PATH_BYTES = 480, BYTES = 1 << 14, SHOWN_BYTES = 2000 };

typedef struct example {
    const char *format;
    const char *file; /* its name */
    const char *text; /* NULL: the bytes of the file `from` */
    const char *from;
    const char *shown;       /* the rows, with values if the format carries them */
    double first_time, step; /* of its events, in file order; 0: it has no times */
    const char *beside[MOST_BESIDE][2]; /* names and texts of files that it needs */
} example;

static const example examples[] = {
    {.format = "npz",
     .file = "x.npz",
     .from = "tests/corpus/npz/csr_f64_deflated.npz",
     .shown = "0:0=1.5,3=2 1: 2:1=3 3:0=4,1=5,4=0.5"},
    {.format = "mtx",
     .file = "x.mtx",
     .text = "%%MatrixMarket matrix coordinate real general\n% made by hand\n4 5 6\n"
             "1 1 1.5\n1 4 2\n3 2 3\n4 1 4\n4 2 5\n4 5 0.5\n",
     .shown = "1:1=1.5,4=2 2: 3:2=3 4:1=4,2=5,5=0.5"},
    {.format = "netflix",
     .file = "ratings.txt",
     .text = "12:\n1488844,3,2005-09-06\n822109,5,2005-09-07\n8:\n885013,4,2005-09-08\n"
             "822109,1,2005-09-09\n1488844,2,2005-09-10\n",
     .shown = "1488844:12=3,8=2 822109:12=5,8=1 885013:8=4",
     .first_time = 1125964800.0,
     .step = 86400.0},
    {.format = "split",
     .file = "train.csv",
     .text = "uid,sid\n0,0\n0,1\n1,1\n2,0\n2,2\n",
     .shown = "ann:tea,milk bob:milk cem:tea,a cake",
     .beside = {{"unique_uid.txt", "ann\nbob\ncem\n"},
                {"unique_sid.txt", "tea\nmilk\na cake\n"},
                {"split.json", "{\"parts\": {\"train\": {\"users\": 3, \"items\": 3, "
                               "\"interactions\": 5}}}\n"}}},
    {.format = "jsonl",
     .file = "x.jsonl",
     .text = "{\"user\":{\"name\":\"ann\"},\"sku\":\"tea\",\"rating\":4,\"ts\":"
             "1600000000}\n"
             "{\"user\":{\"name\":\"bob\"},\"sku\":\"milk\",\"rating\":3.5,\"ts\":"
             "1600000001}\n"
             "\n"
             "{ \"ts\": 1600000002, \"rating\": \"1\", \"tags\": [1, {\"sku\": 2}], "
             "\"sku\": "
             "\"milk\", \"user\": {\"name\": \"ann\", \"age\": null} }\r\n"
             "{\"user\":{\"name\":\"a-rather-long-name\"},\"sku\":\"sugar, "
             "\\\"br\\u00f6wn\\\"\","
             "\"rating\":2e0,\"ts\":1600000003}\n"
             "{\"user\":{\"name\":\"bob\"},\"sku\":\"tea\",\"rating\":5,\"ts\":"
             "1600000004}\n",
     .shown = "ann:tea=4,milk=1 bob:tea=5,milk=3.5 a-rather-long-name:sugar, "
              "\"br\xc3\xb6wn\"=2",
     .first_time = 1600000000.0,
     .step = 1.0},
    {.format = "adjacency",
     .file = "x.txt",
     .text = "0 17 4 9\n1 4\n2\n3 17 a-long-name 9 4 5\n",
     .shown = "0:17,4,9 1:4 2: 3:17,4,9,a-long-name,5"},
    {.format = "table",
     .file = "x.csv",
     .text =
         "customer,sku,rating,timestamp\nann,tea,4,1600000000\n\"bob\",milk,3.5,"
         "1600000001\nann,milk,1,1600000002\na-rather-long-name,\"sugar, \"\"brown\"\""
         "\",2,1600000003\nbob,tea,5,1600000004\n",
     .shown = "ann:tea=4,milk=1 bob:tea=5,milk=3.5 a-rather-long-name:sugar, "
              "\"brown\"=2",
     .first_time = 1600000000.0,
     .step = 1.0},
#ifdef EASE_TOY_READER /* tests/toy/toy_reader.c is in the table too */
    {.format = "toy",
     .file = "x.toy",
     .text = "#toy\nann|tea\nbob|milk\nann|milk\na-rather-long-name|tea\n",
     .shown = "ann:tea,milk bob:milk a-rather-long-name:tea"},
#endif
};

static const example no_example = {
    .format = "none", .file = "none", .text = "", .shown = ""};

enum { EXAMPLES = sizeof(examples) / sizeof(examples[0]) };

static const int threads[] = {1, 2, 3, 8};
static const size_t blocks[] = {0, 1, 7, 16, 64, 1000};

/* ---- examples as files ----------------------------------------------------- */

static const example *example_of(const ease__reader *r)
{
    for (int i = 0; i < EXAMPLES; i++)
        if (strcmp(examples[i].format, r->format.name) == 0)
            return &examples[i];
    return &no_example;
}

static size_t bytes_of(const example *e, unsigned char bytes[BYTES])
{
    size_t size = e->text ? strlen(e->text) : 0;
    FILE *f;

    if (e->text) {
        memcpy(bytes, e->text, size);
        return size;
    }
    f = fopen(e->from, "rb");
    if (!f)
        abort();
    size = fread(bytes, 1, BYTES, f);
    fclose(f);
    return size;
}

/* Writes the bytes under the example's name and `ending`, with the files beside it. */
static void put_example(const example *e, const void *bytes, size_t size,
                        const char *ending, char path[PATH_BYTES])
{
    char dir[PATH_BYTES - 80];

    snprintf(dir, sizeof(dir), "%s", test_path(e->format));
    mkdir(dir, 0777);
    for (int i = 0; i < MOST_BESIDE && e->beside[i][0]; i++) {
        snprintf(path, PATH_BYTES, "%s/%s", dir, e->beside[i][0]);
        test_write_text(path, e->beside[i][1]);
    }
    snprintf(path, PATH_BYTES, "%s/%s%s", dir, e->file, ending);
    test_write(path, bytes, size);
}

static void put_plain(const example *e, char path[PATH_BYTES])
{
    unsigned char bytes[BYTES];
    size_t size = bytes_of(e, bytes);

    put_example(e, bytes, size, "", path);
}

/* ---- reading --------------------------------------------------------------- */

static ease_read_options options_of(const ease__reader *r)
{
    ease_read_options o;

    ease_read_options_init(&o);
    o.weights = r->format.values;
    o.threads = 1;
    return o;
}

/* "a:x,y b:z", or with weights "a:x=2,y=3" */
static void show(const ease_interactions *x, char text[SHOWN_BYTES])
{
    size_t used = 0;

    text[0] = '\0';
    for (int64_t u = 0; u < x->users; u++) {
        used += (size_t)snprintf(text + used, SHOWN_BYTES - used, "%s%s:", u ? " " : "",
                                 ease_interactions_user_id(x, u));
        for (int64_t i = x->row_ptr[u]; i < x->row_ptr[u + 1]; i++) {
            used += (size_t)snprintf(text + used, SHOWN_BYTES - used, "%s%s",
                                     i > x->row_ptr[u] ? "," : "",
                                     ease_interactions_item_id(x, x->cols[i]));
            if (x->vals)
                used += (size_t)snprintf(text + used, SHOWN_BYTES - used, "=%g",
                                         (double)x->vals[i]);
        }
    }
}

static void check_same(test *t, const ease_interactions *x, const ease_interactions *y)
{
    char first[SHOWN_BYTES], second[SHOWN_BYTES];
    ease_interactions_info a = interactions_info(x), b = interactions_info(y);

    show(x, first);
    show(y, second);
    check_text(t, second, first);
    check_int(t, b.items, a.items);
    check_int(t, b.rows, a.rows);
    check_int(t, b.weighted, a.weighted);
    for (int32_t i = 0; i < a.items && i < b.items; i++)
        check_text(t, ease_interactions_item_id(y, i), ease_interactions_item_id(x, i));
}

/* NULL after a failed check. */
static ease_interactions *read_file(test *t, const char *path,
                                    const ease_read_options *o, size_t block_bytes)
{
    ease_interactions *x = NULL;
    ease_error err = {0};

    if (!check_status(t, ease__interactions_read(path, o, block_bytes, &x, &err),
                      EASE_OK))
        printf("    %s\n", err.text);
    return x;
}

static void check_read(test *t, const example *e, const char *path,
                       const ease_read_options *o, size_t block_bytes)
{
    ease_interactions *x = read_file(t, path, o, block_bytes);
    char text[SHOWN_BYTES];

    if (!x)
        return;
    show(x, text);
    if (!check_text(t, text, e->shown))
        printf("    %s, threads %d, blocks %zu\n", e->format, o->threads, block_bytes);
    ease_interactions_free(x);
}

/* ---- the contract ---------------------------------------------------------- */

static void entries_are_complete(test *t)
{
    int count = 0;

    for (; ease__readers[count]; count++) {
        const ease__reader *r = ease__readers[count];

        check(t, r->format.name && r->format.name[0]);
        check(t, r->format.about && r->format.about[0]);
        check(t, r->recognize && r->read);
        check(t, ease__reader_named(r->format.name) == r); /* no other has its name */
        check(t, ease_format_at(count) == &r->format);
        if (!check(t, example_of(r) != &no_example))
            printf("    no example of the format %s\n", r->format.name);
    }
    check_int(t, EXAMPLES, count);
    check(t, !ease_format_at(count) && !ease_format_at(-1) && !ease_format_at(1 << 30));
}

static void examples_are_recognized(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        const example *e = example_of(ease__readers[i]);
        ease_read_options o = options_of(ease__readers[i]);
        ease__budget budget;
        ease__draft draft = {.budget = &budget};
        ease_interactions *x = ease__alloc_zero(1, sizeof(*x));
        ease__reading r = {.o = &o, .draft = &draft, .x = x};
        char path[PATH_BYTES];

        put_plain(e, path);
        r.path = path;
        ease__budget_start(&budget, 0);
        check_status(t, ease__reading_open(&r, NULL), EASE_OK);
        check_status(t, ease__reading_run(&r, NULL), EASE_OK);
        check(t, r.reader == ease__readers[i]);
        check(t, x->row_ptr ? x->recognized != NULL : draft.recognized != NULL);
        ease__reading_close(&r);
        ease__draft_free(&draft);
        ease_interactions_free(x);
    }
}

static void recognizing_consumes_nothing(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        const example *e = example_of(ease__readers[i]);
        ease_read_options o = options_of(ease__readers[i]);
        ease__reading r = {.o = &o};
        char path[PATH_BYTES], first[4] = "";
        size_t got = 0;
        bool is;

        put_plain(e, path);
        r.path = path;
        check_status(t, ease__reading_open(&r, NULL), EASE_OK);
        check_status(t, ease__input_peek(r.in, BYTES, &r.sample, &r.sample_bytes, NULL),
                     EASE_OK);
        r.whole = true;
        memcpy(first, r.sample, sizeof(first));
        for (int k = 0; ease__readers[k]; k++) {
            check_status(t, ease__readers[k]->recognize(&r, &is, NULL), EASE_OK);
            check(t, k < i ? !is : k > i || is); /* none before it, and itself */
        }
        check_status(t, ease__input_peek(r.in, sizeof(first), &r.sample, &got, NULL),
                     EASE_OK);
        check(t, got >= sizeof(first) && memcmp(first, r.sample, sizeof(first)) == 0);
        ease__reading_close(&r);
    }
}

static void threads_and_blocks_do_not_matter(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        const example *e = example_of(ease__readers[i]);
        ease_read_options o = options_of(ease__readers[i]);
        ease_interactions *first, *x;
        char path[PATH_BYTES];

        put_plain(e, path);
        check_read(t, e, path, &o, 0);
        first = read_file(t, path, &o, 0);
        for (size_t k = 0; first && k < sizeof(threads) / sizeof(threads[0]); k++)
            for (size_t b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++) {
                o.threads = threads[k];
                o.format = NULL;
                check_read(t, e, path, &o, blocks[b]);
                o.format = e->format;
                x = read_file(t, path, &o, blocks[b]);
                if (x)
                    check_same(t, first, x);
                ease_interactions_free(x);
            }
        ease_interactions_free(first);
    }
}

static void values_are_carried_or_refused(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        const ease__reader *r = ease__readers[i];
        ease_read_options o = options_of(r);
        ease_interactions *x = NULL;
        ease_error err = {0};
        char path[PATH_BYTES];

        put_plain(example_of(r), path);
        check(t, (strchr(example_of(r)->shown, '=') != NULL) == r->format.values);
        o.weights = 1;
        check_status(t, ease_interactions_read(path, &o, &x, &err),
                     r->format.values ? EASE_OK : EASE_E_ARG);
        if (!r->format.values)
            check_contains(t, err.text, "a column of values");
        ease_interactions_free(x);
        x = NULL;
        o.weights = 0;
        o.min_rating = 0.0;
        check_status(t, ease_interactions_read(path, &o, &x, &err),
                     r->format.values ? EASE_OK : EASE_E_ARG);
        ease_interactions_free(x);
    }
}

static void times_are_carried_in_file_order(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        const example *e = example_of(ease__readers[i]);
        ease_read_options o = options_of(ease__readers[i]);
        ease__events events = {0};
        char path[PATH_BYTES];

        put_plain(e, path);
        check_int(t, e->step > 0.0, ease__readers[i]->format.times);
        o.weights = 0;
        for (size_t b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++) {
            o.threads = threads[b % (sizeof(threads) / sizeof(threads[0]))];
            check_status(
                t, ease__events_read(path, &o, blocks[b], true, false, &events, NULL),
                EASE_OK);
            check_int(t, events.time != NULL, ease__readers[i]->format.times);
            for (int64_t k = 0; events.time && k < events.count; k++)
                check_near(t, events.time[k], e->first_time + e->step * (double)k, 0.0);
            ease__events_free(&events);
        }
    }
}

static void options_of_tables_are_refused_by_others(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        ease_read_options o = options_of(ease__readers[i]);
        ease_interactions *x = NULL;
        char path[PATH_BYTES];

        if (ease__readers[i] == &ease__table_reader)
            continue;
        put_plain(example_of(ease__readers[i]), path);
        o.format = ease__readers[i]->format.name;
        o.columns = "1,2";
        check_status(t, ease_interactions_read(path, &o, &x, NULL), EASE_E_ARG);
        check(t, x == NULL);
    }
}

static void every_failed_allocation_is_survived(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        ease_read_options o = options_of(ease__readers[i]);
        char path[PATH_BYTES];

        put_plain(example_of(ease__readers[i]), path);
        for (o.threads = 1; o.threads <= 3; o.threads += 2) {
            ease_status status;
            int n = 0;

            do {
                ease_interactions *x = NULL;

                alloc_fail_after(n++);
                status = ease__interactions_read(path, &o, 16, &x, NULL);
                alloc_fail_after(-1);
                check_int(t, x != NULL, status == EASE_OK);
                ease_interactions_free(x);
            } while (status == EASE_E_NOMEM);
            check_status(t, status, EASE_OK);
            check(t, n > 10);
        }
    }
}

static int cancel_when_counted(void *user, const char *stage, double fraction)
{
    int *left = user;

    return stage && fraction <= 1.0 && --*left < 0;
}

/* At the first call of the hook, at the second, ... */
static void reading_is_cancelled(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        ease_read_options o = options_of(ease__readers[i]);
        ease_status status;
        char path[PATH_BYTES];
        int calls = 0, left;

        put_plain(example_of(ease__readers[i]), path);
        o.hooks = &(ease_hooks){.progress = cancel_when_counted, .user = &left};
        o.threads = 3;
        do {
            ease_interactions *x = NULL;

            left = calls++;
            status = ease__interactions_read(path, &o, 16, &x, NULL);
            check_int(t, x != NULL, status == EASE_OK);
            ease_interactions_free(x);
        } while (status == EASE_E_CANCELLED);
        check_status(t, status, EASE_OK);
        check(t, calls > 1);
    }
}

static void truncated_files_give_an_error_or_fewer_rows(test *t)
{
    for (int i = 0; ease__readers[i]; i++) {
        const example *e = example_of(ease__readers[i]);
        ease_read_options o = options_of(ease__readers[i]);
        unsigned char bytes[BYTES];
        size_t size = bytes_of(e, bytes);
        char path[PATH_BYTES];
        ease_interactions *all;
        int64_t most;

        put_plain(e, path);
        all = read_file(t, path, &o, 0);
        most = all ? all->counts.rows : 0;
        ease_interactions_free(all);
        o.threads = 3;
        for (size_t cut = 0; cut < 2 * size; cut++) {
            ease_interactions *x = NULL;
            ease_error err = {0};
            ease_status status;

            o.format = cut < size ? e->format : NULL;
            o.weights = cut < size && ease__readers[i]->format.values;
            put_example(e, bytes, cut % size, "", path);
            status = ease__interactions_read(path, &o, 16, &x, &err);
            check_int(t, x != NULL, status == EASE_OK);
            check(t, status ? err.text[0] != '\0' : x->counts.rows <= most);
            ease_interactions_free(x);
        }
    }
}

/* ---- compressed ------------------------------------------------------------ */

static size_t pack_gzip(const unsigned char *from, size_t bytes,
                        unsigned char to[BYTES])
{
    z_stream z = {0};

    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = (unsigned char *)from;
    z.avail_in = (unsigned)bytes;
    z.next_out = to;
    z.avail_out = BYTES;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&z);
    return z.total_out;
}

static size_t pack_zstd(const unsigned char *from, size_t bytes,
                        unsigned char to[BYTES])
{
    size_t packed = ZSTD_compress(to, BYTES, from, bytes, 3);

    if (ZSTD_isError(packed))
        abort();
    return packed;
}

static unsigned char *put_number(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

/* What the entry and its copy in the directory share: version, flags, method 0, time,
 * date, checksum, sizes, lengths of the name and of nothing else. */
static unsigned char *put_zip_entry(unsigned char *to, uint32_t crc, size_t bytes)
{
    to = put_number(to, 20, 2);
    to = put_number(to, 0, 2 + 2 + 2 + 2);
    to = put_number(to, crc, 4);
    to = put_number(to, bytes, 4);
    to = put_number(to, bytes, 4);
    to = put_number(to, 1, 2);
    return put_number(to, 0, 2);
}

/* A zip file with one stored file in it, of the name "x". */
static size_t pack_zip(const unsigned char *from, size_t bytes, unsigned char to[BYTES])
{
    uint32_t crc = (uint32_t)crc32(crc32(0, NULL, 0), from, (unsigned)bytes);
    unsigned char *at = put_number(to, 0x04034b50, 4), *directory;

    at = put_zip_entry(at, crc, bytes);
    *at++ = 'x';
    memcpy(at, from, bytes);
    directory = at + bytes;
    at = put_number(directory, 0x02014b50, 4);
    at = put_number(at, 20, 2);
    at = put_zip_entry(at, crc, bytes);
    at = put_number(at, 0, 2 + 2 + 2);
    at = put_number(at, 0, 4 + 4);
    *at++ = 'x';
    bytes = (size_t)(at - directory);
    at = put_number(at, 0x06054b50, 4);
    at = put_number(at, 0, 2 + 2);
    at = put_number(at, 1, 2);
    at = put_number(at, 1, 2);
    at = put_number(at, bytes, 4);
    at = put_number(at, (uint64_t)(directory - to), 4);
    return (size_t)(put_number(at, 0, 2) - to);
}

static void compressed_files_are_read_as_plain_ones(test *t)
{
    static const struct {
        const char *ending;
        size_t (*pack)(const unsigned char *from, size_t bytes, unsigned char *to);
    } packers[] = {{".gz", pack_gzip}, {".zst", pack_zstd}, {".zip", pack_zip}};

    for (int i = 0; ease__readers[i]; i++)
        for (size_t k = 0; k < sizeof(packers) / sizeof(packers[0]); k++) {
            const example *e = example_of(ease__readers[i]);
            ease_read_options o = options_of(ease__readers[i]);
            unsigned char plain[BYTES], packed[BYTES];
            size_t size = packers[k].pack(plain, bytes_of(e, plain), packed);
            char path[PATH_BYTES];

            put_example(e, packed, size, packers[k].ending, path);
            check_read(t, e, path, &o, 0);
            o.format = e->format;
            o.threads = 3;
            check_read(t, e, path, &o, 16);
        }
}

static const test_case cases[] = {
    TEST(entries_are_complete),
    TEST(examples_are_recognized),
    TEST(recognizing_consumes_nothing),
    TEST(threads_and_blocks_do_not_matter),
    TEST(values_are_carried_or_refused),
    TEST(times_are_carried_in_file_order),
    TEST(options_of_tables_are_refused_by_others),
    TEST(every_failed_allocation_is_survived),
    TEST(reading_is_cancelled),
    TEST(truncated_files_give_an_error_or_fewer_rows),
    TEST(compressed_files_are_read_as_plain_ones),
};

TEST_MAIN(cases)
