/* Output files, containers, id tables, memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/container.h"
#include "core/random.h"
#include "data.h"
#include "data/ids.h"
#include "test.h"

static size_t file_bytes(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static void status_list_has_names_and_texts(test *t)
{
    check_text(t, ease_status_name(EASE_E_PARSE), "EASE_E_PARSE");
    check_text(t, ease_status_text(EASE_OK), "ok");
    check_text(t, ease_status_text(EASE_E_ACCURACY), "numerically unusable result");
    check_text(t, ease_status_name((ease_status)99), "unknown");
}

/* ---- output -------------------------------------------------------------------- */

static void an_output_is_seen_only_after_commit(test *t)
{
    const char *path = test_path("seen");
    ease__output out;
    ease_error err;

    check_status(t, ease__output_open(path, 0, &out, &err), EASE_OK);
    check_status(t, ease__output_write(&out, "hello", 5, &err), EASE_OK);
    check(t, access(path, F_OK) != 0);
    check_status(t, ease__output_commit(&out, &err), EASE_OK);
    check_int(t, file_bytes(path), 5);
}

static void a_discarded_output_leaves_the_old_file(test *t)
{
    const char *path = test_path("kept");
    ease__output out;
    ease_error err;

    test_write_text(path, "old");
    check_status(t, ease__output_open(path, 0, &out, &err), EASE_OK);
    check_status(t, ease__output_write(&out, "longer", 6, &err), EASE_OK);
    ease__output_discard(&out);
    check_int(t, file_bytes(path), 3);
}

static void an_output_keeps_links_and_permissions(test *t)
{
    char target[512], link[512];
    struct stat st;
    ease__output out;

    strcpy(target, test_path("target"));
    strcpy(link, test_path("link"));
    test_write_text(target, "old");
    check_int(t, chmod(target, 0640), 0);
    check_int(t, symlink(target, link), 0);
    check_status(t, ease__output_open(link, 0, &out, NULL), EASE_OK);
    check_status(t, ease__output_write(&out, "newer", 5, NULL), EASE_OK);
    check_status(t, ease__output_commit(&out, NULL), EASE_OK);
    check_int(t, lstat(link, &st) == 0 && S_ISLNK(st.st_mode), 1);
    check_int(t, file_bytes(target), 5);
    check_int(t, stat(target, &st) == 0 ? st.st_mode & 0777 : 0, 0640);
}

static void outputs_that_cannot_be_say_why(test *t)
{
    ease__output out;
    ease_error err;

    check_status(t, ease__output_open("/no/such/dir/x", 0, &out, &err), EASE_E_IO);
    check_contains(t, err.text,
                   "/no/such/dir/x: cannot write to the directory '/no/such/dir': "
                   "No such file");
    check_status(t, ease__output_open(test_path(""), 0, &out, &err), EASE_E_IO);
    check_contains(t, err.text, "Is a directory");
    check_status(t, ease__output_open(test_path("big"), SIZE_MAX / 2, &out, &err),
                 EASE_E_IO);
    check_contains(t, err.text, " are free");
    check_status(t, ease__output_open("/dev/full", 0, &out, &err), EASE_OK);
    check_status(t, ease__output_write(&out, "x", 1, &err), EASE_E_IO);
    check_contains(t, err.text, "No space left");
    ease__output_discard(&out);
}

static void a_long_name_fits_and_a_pipe_is_no_place_for_a_container(test *t)
{
    char name[256];
    ease__container_writer *w = NULL;
    ease__output out;
    ease_error err;
    int ends[2];

    memset(name, 'a', 250);
    name[250] = '\0';
    check_status(t, ease__output_open(test_path(name), 0, &out, &err), EASE_OK);
    check_status(t, ease__output_commit(&out, &err), EASE_OK);
    check_int(t, pipe(ends), 0);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[1]);
    check_status(t, ease__writer_open(name, "model", 1, 0, &w, &err), EASE_E_IO);
    check_contains(t, err.text, "a pipe");
    close(ends[0]);
    close(ends[1]);
}

static void a_write_past_the_limit_keeps_the_old_file(test *t)
{
    const char *path = test_path("limited");
    struct rlimit old, low;
    ease__output out;
    ease_error err;
    char data[8192] = {0};

    test_write_text(path, "old");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 4096;
    check_status(t, ease__output_open(path, 0, &out, &err), EASE_OK);
    setrlimit(RLIMIT_FSIZE, &low);
    check_status(t, ease__output_write(&out, data, sizeof(data), &err), EASE_E_IO);
    setrlimit(RLIMIT_FSIZE, &old);
    check_contains(t, err.text, "File too large");
    ease__output_discard(&out);
    check_int(t, file_bytes(path), 3);
}

/* ---- containers ---------------------------------------------------------------- */

enum { LARGE = 2 * EASE__BLOCK + 12345 };

static unsigned char large_byte(size_t i)
{
    return (unsigned char)(i * 31 + i / 251);
}

static ease_status write_container(const char *path, size_t large, ease_error *err)
{
    ease__container_writer *w = NULL;
    unsigned char part[1000];
    ease_status status = ease__writer_open(path, "model", 1, 0, &w, err);

    if (status)
        return status;
    status = ease__writer_add(w, "small", "some text", 9, err);
    if (!status)
        status = ease__writer_begin(w, "bulk", err);
    for (size_t at = 0; !status && at < large; at += sizeof(part)) {
        size_t count = large - at < sizeof(part) ? large - at : sizeof(part);

        for (size_t i = 0; i < count; i++)
            part[i] = large_byte(at + i);
        status = ease__writer_put(w, part, count, err);
    }
    if (!status)
        status = ease__writer_add(w, "after", "", 0, err);
    if (!status)
        return ease__writer_commit(w, err);
    ease__writer_discard(w);
    return status;
}

static void a_container_gives_back_what_was_put_in(test *t)
{
    const char *path = test_path("container");
    ease__container c = EASE__CONTAINER_NONE;
    ease__section_stream s;
    unsigned char *read = malloc(LARGE);
    size_t bytes = 0, wrong = 0;
    const void *small;

    check_status(t, write_container(path, LARGE, NULL), EASE_OK);
    check_status(t, ease__container_open(path, "model", 1, &c, NULL), EASE_OK);
    small = ease__container_section(&c, "small", &bytes);
    check_int(t, bytes, 9);
    check(t, small && memcmp(small, "some text", 9) == 0);
    check(t, !ease__container_section(&c, "absent", &bytes));
    check_status(t, ease__stream_open(&c, "bulk", &s, NULL), EASE_OK);
    check_status(t, ease__stream_read(&s, read, 777, NULL), EASE_OK);
    check_status(t, ease__stream_read(&s, read + 777, LARGE - 777, NULL), EASE_OK);
    check_status(t, ease__stream_read(&s, read, 1, NULL), EASE_E_FORMAT);
    for (size_t i = 0; i < LARGE; i++)
        wrong += read[i] != large_byte(i);
    check_int(t, wrong, 0);
    ease__stream_close(&s);
    ease__container_close(&c);
    free(read);
    check_status(t, ease_file_verify(path, NULL, NULL), EASE_OK);
}

static void a_container_of_another_kind_or_version_is_refused(test *t)
{
    const char *path = test_path("kinds");
    ease__container c = EASE__CONTAINER_NONE;
    ease_file_kind kind;
    ease_error err;

    check_status(t, write_container(path, 10, NULL), EASE_OK);
    check_status(t, ease__container_open(path, "gram", 1, &c, &err), EASE_E_FORMAT);
    check_contains(t, err.text, "a model file where a gram file is needed");
    check_status(t, ease__container_open(path, "model", 0, &c, &err), EASE_E_VERSION);
    check_contains(t, err.text, "newer ease");
    check_status(t, ease_file_recognize(path, &kind, NULL), EASE_OK);
    check_int(t, kind, EASE_FILE_MODEL);
    test_write_text(path, "user,item\n");
    check_status(t, ease__container_open(path, "gram", 1, &c, &err), EASE_E_FORMAT);
    check_contains(t, err.text, "not an ease gram file");
    check_status(t, ease_file_recognize(path, &kind, NULL), EASE_OK);
    check_int(t, kind, EASE_FILE_OTHER);
}

static void rename_section(const char *path, uint32_t section, const char *name)
{
    ease__disk_header h = read_header(path);

    memset(h.section[section].name, 0, sizeof(h.section[section].name));
    memcpy(h.section[section].name, name, strlen(name));
    write_header(path, h);
}

static void names_of_sections_are_distinct_and_printable(test *t)
{
    static const char *const names[] = {"bulk",      "after", "\x1b[31m",
                                        "two words", "",      "exactly_16_chars"};
    const char *path = test_path("names");
    ease__container c = EASE__CONTAINER_NONE;
    ease__disk_header h;
    ease_error err;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        check_status(t, write_container(path, 10, NULL), EASE_OK);
        rename_section(path, 0, "other");
        check_status(t, ease__container_open(path, "model", 1, &c, NULL), EASE_OK);
        ease__container_close(&c);
        rename_section(path, 0, names[i]);
        check_status(t, ease__container_open(path, "model", 1, &c, &err),
                     EASE_E_FORMAT);
        check_contains(t, err.text, "damaged: the name of a section");
        check_status(t, ease_file_verify(path, NULL, NULL), EASE_E_FORMAT);
    }
    h = read_header(path);
    memcpy(h.kind, "\x1b[31m", 6);
    write_header(path, h);
    check_status(t, ease__container_open(path, "model", 1, &c, &err), EASE_E_FORMAT);
    check_contains(t, err.text, "not an ease model file");
}

/* Opens and verifies; true if both were fine. */
static bool whole(const char *path)
{
    ease__container c = EASE__CONTAINER_NONE;
    ease_status status = ease__container_open(path, "model", 1, &c, NULL);

    ease__container_close(&c);
    return !status && !ease_file_verify(path, NULL, NULL);
}

static void every_truncation_of_a_container_is_found(test *t)
{
    const char *path = test_path("truncated");
    size_t bytes;

    check_status(t, write_container(path, 5000, NULL), EASE_OK);
    bytes = file_bytes(path);
    check(t, whole(path));
    while (bytes > 0) {
        bytes = bytes > 4200 ? bytes - 1 : bytes - bytes / 8 - 1;
        check_int(t, truncate(path, (off_t)bytes), 0);
        if (!check(t, !whole(path)))
            return;
    }
}

static void every_flipped_bit_is_found_or_harmless(test *t)
{
    const char *path = test_path("flipped");
    size_t bytes, missed = 0;
    unsigned char *data;
    ease__container c = EASE__CONTAINER_NONE;
    ease__disk_header h;
    FILE *f;

    check_status(t, write_container(path, 3000, NULL), EASE_OK);
    check_status(t, ease__container_open(path, NULL, 1, &c, NULL), EASE_OK);
    h = c.header;
    ease__container_close(&c);
    bytes = file_bytes(path);
    data = malloc(bytes);
    f = fopen(path, "rb");
    check_int(t, fread(data, 1, bytes, f), bytes);
    fclose(f);
    for (size_t i = 0; i < bytes; i++) {
        bool inside = i < EASE__PAGE;

        for (uint32_t s = 0; s < h.sections; s++)
            inside |= i >= h.section[s].offset &&
                      i < h.section[s].offset + h.section[s].bytes;
        if (!inside)
            continue; /* between sections: nothing is there */
        data[i] ^= (unsigned char)(1u << i % 8);
        test_write(path, data, bytes);
        data[i] ^= (unsigned char)(1u << i % 8);
        missed += whole(path);
    }
    check_int(t, missed, 0);
    free(data);
}

static void writing_survives_every_failed_allocation(test *t)
{
    ease_status status;
    int n = 0;

    do {
        const char *path = test_path("starved");

        unlink(path);
        alloc_fail_after(n++);
        status = write_container(path, 5000, NULL);
        alloc_fail_after(-1);
        check_int(t, access(path, F_OK) == 0, status == EASE_OK);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 2);
}

/* ---- ids ------------------------------------------------------------------------- */

/* "first", "first + 1", ... one by one, against the table that prints them on
 * demand. */
static void check_numbers(test *t, int first, int64_t count)
{
    ease__ids numbered = {0}, plain = {0};
    size_t bytes;
    char *a, *b;

    check_status(t, ease__ids_number(&numbered, first, count, NULL), EASE_OK);
    for (int64_t i = 0; i < count; i++) {
        char id[24];
        size_t length = (size_t)snprintf(id, sizeof(id), "%lld",
                                         (long long)(first + i));

        ease__ids_add(&plain, id, length);
        check_text(t, ease__ids_at(&numbered, i), id);
        check_int(t, (int64_t)ease__ids_length(&numbered, i), (int64_t)length);
        check_int(t, ease__ids_find(&numbered, id, length), i);
    }
    bytes = ease__ids_bytes(&plain);
    check_int(t, (int64_t)ease__ids_bytes(&numbered), (int64_t)bytes);
    a = calloc(bytes, 1);
    b = calloc(bytes, 1);
    ease__ids_pack(&numbered, a);
    ease__ids_pack(&plain, b);
    check_int(t, memcmp(a, b, bytes), 0);
    free(a);
    free(b);
    ease__ids_free(&numbered);
    ease__ids_free(&plain);
}

static void consecutive_numbers_are_ids_like_others(test *t)
{
    static const char *const others[] = {"",   "00", "01", "-1",          "+1",
                                         "1 ", "x",  "10", "99999999999", "4294967296"};
    ease__ids ids = {0};

    check_numbers(t, 0, 0);
    check_numbers(t, 0, 1);
    check_numbers(t, 1, 9);
    check_numbers(t, 0, 1000);
    check_numbers(t, 1, 12345);
    check_status(t, ease__ids_number(&ids, 0, 10, NULL), EASE_OK);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        check_int(t, ease__ids_find(&ids, others[i], strlen(others[i])), EASE__NO_ID);
    ease__ids_free(&ids);
    check_status(t, ease__ids_number(&ids, 0, EASE__MAX_IDS + 1, NULL), EASE_E_NOMEM);
}

static void many_threads_look_at_one_number(test *t)
{
    ease__ids ids = {0};
    int wrong = 0;

    check_status(t, ease__ids_number(&ids, 0, 5000, NULL), EASE_OK);
#pragma omp parallel for schedule(static, 1) num_threads(4) reduction(+ : wrong)
    for (int i = 0; i < 20000; i++)
        wrong += atoi(ease__ids_at(&ids, i / 4)) != i / 4;
    check_int(t, wrong, 0);
    ease__ids_free(&ids);
}

static void ids_that_nobody_looks_at_cost_nothing(test *t)
{
    struct rusage before, after;
    ease__ids ids = {0}, copy = {0};

    getrusage(RUSAGE_SELF, &before);
    check_status(t, ease__ids_number(&ids, 0, 100000000, NULL), EASE_OK);
    check_status(t, ease__ids_copy(&copy, &ids, NULL), EASE_OK);
    check_text(t, ease__ids_at(&copy, 99999999), "99999999");
    check_int(t, ease__ids_find(&copy, "99999999", 8), 99999999);
    check_int(t, ease__ids_find(&copy, "100000000", 9), EASE__NO_ID);
    getrusage(RUSAGE_SELF, &after);
#if !defined(SANITIZED) && !defined(EMULATED) /* which have memory of their own */
    check(t, after.ru_maxrss - before.ru_maxrss < 10000);
#endif
    ease__ids_free(&ids);
    ease__ids_free(&copy);
}

static void ids_are_numbered_as_they_come(test *t)
{
    ease__ids ids = {0}, copy = {0}, borrowed = {0};
    void *packed;

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 20000; i++) {
            char id[32];
            int length = snprintf(id, sizeof(id), "item-%d", i * 7919 % 20011);

            if (!check_int(t, ease__ids_add(&ids, id, (size_t)length), i))
                break;
        }
    check_int(t, ids.count, 20000);
    check_int(t, ease__ids_find(&ids, "item-7919", 9), 1);
    check_int(t, ease__ids_find(&ids, "item-7919", 5), EASE__NO_ID);
    check_status(t, ease__ids_copy(&copy, &ids, NULL), EASE_OK);
    packed = malloc(ease__ids_bytes(&copy));
    ease__ids_pack(&copy, packed);
    check_status(t,
                 ease__ids_borrow(&borrowed, packed, ease__ids_bytes(&copy), 20000,
                                  true, "packed", NULL),
                 EASE_OK);
    check_text(t, ease__ids_at(&borrowed, 1), "item-7919");
    check_int(t, ease__ids_find(&borrowed, "item-7919", 9), 1);
    ease__ids_free(&ids);
    ease__ids_free(&copy);
    ease__ids_free(&borrowed);
    free(packed);
}

static void damaged_id_tables_are_refused(test *t)
{
    uint64_t table[5];
    ease__ids ids = {0};
    ease__random r;

    /* Two ids, "a" and "b": offsets 0 2 4, then the bytes. */
    table[0] = 0;
    table[1] = 2;
    table[2] = 4;
    memcpy(&table[3], "a\0b\0", 4);
    check_status(t, ease__ids_borrow(&ids, table, 28, 2, true, "x", NULL), EASE_OK);
    ease__ids_free(&ids);
    memcpy(&table[3], "a\0a\0", 4);
    check_status(t, ease__ids_borrow(&ids, table, 28, 2, true, "x", NULL),
                 EASE_E_FORMAT);
    memcpy(&table[3], "a\0b\0", 4);
    check_status(t, ease__ids_borrow(&ids, table, 27, 2, true, "x", NULL),
                 EASE_E_FORMAT);
    check_status(t, ease__ids_borrow(&ids, table, 28, INT64_MAX, true, "x", NULL),
                 EASE_E_FORMAT);
    ease__random_seed(&r, 5, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t copy[5];

        memcpy(copy, table, sizeof(copy));
        ((unsigned char *)copy)[ease__random_below(&r, 28)] =
            (unsigned char)ease__random_next(&r);
        (void)ease__ids_borrow(&ids, copy, 28, 2, true, "x", NULL);
        ease__ids_free(&ids);
    }
}

static void available_memory_is_known_here(test *t)
{
    size_t bytes = ease_memory_available();

    check(t, bytes > (size_t)1 << 24);
    check(t, bytes < (size_t)1 << 50);
}

static const test_case cases[] = {
    TEST(status_list_has_names_and_texts),
    TEST(an_output_is_seen_only_after_commit),
    TEST(a_discarded_output_leaves_the_old_file),
    TEST(an_output_keeps_links_and_permissions),
    TEST(outputs_that_cannot_be_say_why),
    TEST(a_long_name_fits_and_a_pipe_is_no_place_for_a_container),
    TEST(a_write_past_the_limit_keeps_the_old_file),
    TEST(a_container_gives_back_what_was_put_in),
    TEST(a_container_of_another_kind_or_version_is_refused),
    TEST(names_of_sections_are_distinct_and_printable),
    TEST(every_truncation_of_a_container_is_found),
    TEST(every_flipped_bit_is_found_or_harmless),
    TEST(writing_survives_every_failed_allocation),
    TEST(ids_are_numbered_as_they_come),
    TEST(consecutive_numbers_are_ids_like_others),
    TEST(many_threads_look_at_one_number),
    TEST(ids_that_nobody_looks_at_cost_nothing),
    TEST(damaged_id_tables_are_refused),
    TEST(available_memory_is_known_here),
};

TEST_MAIN(cases)
