/* The journal of feedback: what is acknowledged is there after any end of the
 * process. */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "test.h"

/* ---- helpers --------------------------------------------------------------------- */

enum { MOST_READ = 4000, ID_SPACE = 48 };

/* Events that were read, with copies of their strings. */
typedef struct events {
    int count;
    journal_event at[MOST_READ];
    char text[MOST_READ][3][ID_SPACE];
} events;

static ease_status keep_event(void *user, const journal_event *e, ease_error *err)
{
    events *all = user;
    char(*text)[ID_SPACE] = all->text[all->count];

    if (all->count == MOST_READ)
        return journal_fail(err, EASE_E_DATA, 0, "too many events");
    snprintf(text[0], ID_SPACE, "%s", e->user);
    snprintf(text[1], ID_SPACE, "%s", e->item);
    snprintf(text[2], ID_SPACE, "%s", e->event_id);
    all->at[all->count] = *e;
    all->at[all->count].user = text[0];
    all->at[all->count].item = text[1];
    all->at[all->count++].event_id = text[2];
    return EASE_OK;
}

static events *new_events(void)
{
    return calloc(1, sizeof(events));
}

static journal_event set(const char *user, const char *item, float weight)
{
    return (journal_event){
        .kind = JOURNAL_SET, .weight = weight, .user = user, .item = item};
}

static journal_event with_id(const char *event_id)
{
    return (journal_event){.kind = JOURNAL_SET,
                           .weight = 1,
                           .user = "u",
                           .item = "i",
                           .event_id = event_id};
}

/* Opens a journal; NULL after a failed check. */
static journal *open_journal(test *t, const char *path, const journal_options *o,
                             journal_info *info)
{
    journal *j = NULL;
    ease_error err = {0};

    if (!check_status(t, journal_open(path, o, &j, info, &err), EASE_OK))
        check_text(t, err.text, "");
    return j;
}

/* Appends one event of "u" and "i" with each number from `first` to `last` as its
 * event_id, each with a sync of its own. */
static void append_numbers(test *t, journal *j, int first, int last)
{
    for (int n = first; n <= last; n++) {
        char id[ID_SPACE];
        journal_event e;

        snprintf(id, sizeof(id), "%d", n);
        e = with_id(id);
        check_status(t, journal_append(j, &e, 1, NULL, NULL), EASE_OK);
    }
}

/* Makes a journal with one segment of `count` events, closed; returns the segment. */
static unsigned char *make_segment_of(test *t, const char *path, int count,
                                      size_t *bytes, char segment[300])
{
    journal *j = open_journal(t, path, NULL, NULL);

    append_numbers(t, j, 1, count);
    journal_close(j);
    snprintf(segment, 300, "%s/0000000001.journal", path);
    return (unsigned char *)test_read(segment, bytes);
}

static uint64_t last_of(test *t, const char *path)
{
    journal_info info = {0};

    check_status(t, journal_read(path, NULL, NULL, &info, NULL), EASE_OK);
    return info.last;
}

/* ---- what goes in comes out ------------------------------------------------------ */

static void events_come_back_as_they_were_appended(test *t)
{
    const journal_event in[] = {
        {JOURNAL_SET, 2.5f, "u\xff\n", "item,\"1\"", "e1", 1234567890123, 0},
        {JOURNAL_REMOVE, 7, "u2", "i2", NULL, -5, 0},
        {JOURNAL_SET, -1, "u", "i", "", 0, 0}};
    events *out = new_events();
    journal_receipt r = {0};
    journal_info info;
    journal *j = open_journal(t, test_path(__func__), NULL, &info);
    int64_t now = (int64_t)time(NULL) * 1000;

    check_int(t, info.segments, 1);
    check_int(t, info.last, 0);
    check_int(t, strlen(info.id), 32);
    check_status(t, journal_append(j, in, 3, &r, NULL), EASE_OK);
    check_int(t, r.accepted, 3);
    check_int(t, r.sequence, 3);
    journal_close(j);
    check_status(t, journal_read(test_path(__func__), keep_event, out, &info, NULL),
                 EASE_OK);
    check_int(t, info.last, 3);
    check_int(t, out->count, 3);
    for (int i = 0; i < out->count; i++) {
        check_int(t, out->at[i].sequence, i + 1);
        check_int(t, out->at[i].kind, in[i].kind);
        check_text(t, out->at[i].user, in[i].user);
        check_text(t, out->at[i].item, in[i].item);
        check_text(t, out->at[i].event_id, in[i].event_id ? in[i].event_id : "");
        check_near(t, (double)out->at[i].weight, i == 1 ? 0 : (double)in[i].weight, 0);
    }
    check_int(t, out->at[0].time, 1234567890123);
    check_int(t, out->at[1].time, -5);
    check(t, out->at[2].time >= now - 60000 && out->at[2].time <= now + 60000);
    free(out);
}

static void events_that_say_nothing_are_refused(test *t)
{
    char *large = calloc(1, 70000);
    journal_event bad[] = {set("", "i", 1),    set("u", NULL, 1),
                           set("u", "i", 0),   set("u", "i", (float)NAN),
                           set("u", large, 1), {.kind = 3, .user = "u", .item = "i"}};
    journal *j = open_journal(t, test_path(__func__), NULL, NULL);
    ease_error err;

    memset(large, 'x', 69999);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const journal_event both[] = {set("u", "i", 1), bad[i]};

        check_status(t, journal_append(j, both, 2, NULL, &err), EASE_E_ARG);
        check_int(t, err.where, 1);
    }
    journal_close(j);
    check_int(t, last_of(t, test_path(__func__)), 0);
    free(large);
}

static void an_event_id_counts_once(test *t)
{
    const journal_event twice[] = {with_id("a"), with_id("b"), with_id("a")};
    journal_receipt r;
    journal *j = open_journal(t, test_path(__func__), NULL, NULL);

    check_status(t, journal_append(j, twice, 3, &r, NULL), EASE_OK);
    check_int(t, r.accepted, 2);
    check_int(t, r.duplicates, 1);
    check_status(t, journal_append(j, twice, 2, &r, NULL), EASE_OK);
    check_int(t, r.accepted, 0);
    check_int(t, r.duplicates, 2);
    check_int(t, r.sequence, 2);
    journal_close(j);
    j = open_journal(t, test_path(__func__), NULL, NULL);
    check_status(t, journal_append(j, twice, 1, &r, NULL), EASE_OK);
    check_int(t, r.duplicates, 1);
    journal_close(j);
    check_int(t, last_of(t, test_path(__func__)), 2);
}

static void the_most_recent_event_ids_are_remembered(test *t)
{
    enum { LEAST = 1024, ALL = 3000 };
    const journal_options o = {.remembered = LEAST};
    journal *j = open_journal(t, test_path(__func__), &o, NULL);
    char ids[ALL][8];
    journal_event *e = calloc(ALL, sizeof(*e));
    journal_receipt r;

    for (int i = 0; i < ALL; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%d", i);
        e[i] = with_id(ids[i]);
    }
    for (int i = 0; i < ALL; i += 100)
        check_status(t, journal_append(j, e + i, 100, NULL, NULL), EASE_OK);
    check_status(t, journal_append(j, e + ALL - LEAST, LEAST, &r, NULL), EASE_OK);
    check_int(t, r.duplicates, LEAST);
    check_status(t, journal_append(j, e, 1, &r, NULL), EASE_OK);
    check_int(t, r.accepted, 1);
    journal_close(j);
    free(e);
}

/* ---- files ----------------------------------------------------------------------- */

static void segments_rotate(test *t)
{
    const journal_options o = {.segment_bytes = 500};
    journal *j = open_journal(t, test_path(__func__), &o, NULL);
    events *out = new_events();
    journal_status s;
    journal_info info;
    char path[300];

    append_numbers(t, j, 1, 40);
    journal_describe(j, &s);
    check(t, s.segments > 3);
    check_int(t, s.last, 40);
    check_int(t, s.syncs, 40);
    journal_close(j);
    j = open_journal(t, test_path(__func__), &o, &info);
    check_int(t, info.segments, s.segments);
    check_int(t, info.bytes, s.bytes);
    append_numbers(t, j, 41, 60);
    journal_close(j);
    check_status(t, journal_read(test_path(__func__), keep_event, out, &info, NULL),
                 EASE_OK);
    check_int(t, out->count, 60);
    for (int i = 0; i < out->count; i++)
        check_int(t, atoi(out->at[i].event_id), i + 1);
    /* The oldest may be deleted, but no other one. */
    snprintf(path, sizeof(path), "%s/0000000001.journal", test_path(__func__));
    check_int(t, remove(path), 0);
    check_status(t, journal_read(test_path(__func__), NULL, NULL, &info, NULL),
                 EASE_OK);
    check(t, info.first > 1 && info.last == 60);
    snprintf(path, sizeof(path), "%s/0000000003.journal", test_path(__func__));
    check_int(t, remove(path), 0);
    check_status(t, journal_read(test_path(__func__), NULL, NULL, NULL, NULL),
                 EASE_E_FORMAT);
    free(out);
}

static void a_journal_has_one_writer(test *t)
{
    journal *j = open_journal(t, test_path(__func__), NULL, NULL), *second = NULL;
    ease_error err;

    check_status(t, journal_open(test_path(__func__), NULL, &second, NULL, &err),
                 EASE_E_IO);
    check_contains(t, err.text, "another process writes this journal");
    append_numbers(t, j, 1, 3);
    check_int(t, last_of(t, test_path(__func__)), 3); /* readers need no lock */
    journal_close(j);
    j = open_journal(t, test_path(__func__), NULL, NULL);
    journal_close(j);
}

static void what_is_no_journal_is_refused(test *t)
{
    ease_error err;
    journal *j = NULL;

    check_status(t, journal_read(test_path("none"), NULL, NULL, NULL, &err), EASE_E_IO);
    check_int(t, err.sys_errno, ENOENT);
    test_write_text(test_path("file"), "text");
    check_status(t, journal_read(test_path("file"), NULL, NULL, NULL, &err),
                 EASE_E_FORMAT);
    check_status(t, journal_open(test_path("file"), NULL, &j, NULL, &err), EASE_E_IO);
    check_int(t, mkdir(test_path("empty"), 0700), 0);
    check_status(t, journal_read(test_path("empty"), NULL, NULL, NULL, &err),
                 EASE_E_FORMAT);
    test_write_text(test_path("empty/0000000001.journal"), "text");
    check_status(t, journal_read(test_path("empty"), NULL, NULL, NULL, &err),
                 EASE_E_FORMAT);
    check_contains(t, err.text, "not a journal of ease");
}

/* ---- damage ---------------------------------------------------------------------- */

enum { FEW = 5 };

static void an_incomplete_last_event_is_cut_off(test *t)
{
    char segment[300];
    size_t bytes;
    unsigned char *file = make_segment_of(t, test_path(__func__), FEW, &bytes, segment);
    size_t record = (bytes - JOURNAL_HEADER_BYTES) / FEW;

    for (size_t length = JOURNAL_HEADER_BYTES; length <= bytes; length++) {
        uint64_t complete = (length - JOURNAL_HEADER_BYTES) / record;
        journal_info info = {0};
        journal *j;

        test_write(segment, file, length);
        check_int(t, last_of(t, test_path(__func__)), complete);
        j = open_journal(t, test_path(__func__), NULL, &info);
        check_int(t, info.last, complete);
        check_int(t, info.torn, (length - JOURNAL_HEADER_BYTES) % record);
        append_numbers(t, j, 100, 101);
        journal_close(j);
        if (!check_int(t, last_of(t, test_path(__func__)), complete + 2))
            break;
    }
    free(file);
}

static void damage_before_valid_events_is_refused(test *t)
{
    char segment[300];
    size_t bytes;
    unsigned char *file = make_segment_of(t, test_path(__func__), FEW, &bytes, segment);
    size_t last = bytes - (bytes - JOURNAL_HEADER_BYTES) / FEW;
    ease_error err;

    for (size_t at = 0; at < bytes; at++) {
        ease_status want = at < last ? EASE_E_FORMAT : EASE_OK;
        journal *j = NULL;
        ease_status got;

        file[at] ^= 0x10;
        test_write(segment, file, bytes);
        file[at] ^= 0x10;
        got = journal_open(test_path(__func__), NULL, &j, NULL, &err);
        journal_close(j);
        if (at >= 8 && at < 12) /* the version */
            want = EASE_E_VERSION;
        if (!check_status(t, got, want))
            break;
    }
    free(file);
}

static void zeros_at_the_end_are_cut_off(test *t)
{
    char segment[300];
    size_t bytes;
    unsigned char *file = make_segment_of(t, test_path(__func__), FEW, &bytes, segment);
    unsigned char *more = calloc(1, bytes + 5000);

    memcpy(more, file, bytes);
    test_write(segment, more, bytes + 5000);
    journal_close(open_journal(t, test_path(__func__), NULL, NULL));
    check_int(t, last_of(t, test_path(__func__)), FEW);
    free(file);
    free(more);
}

/* A disk may write the pages of one write in any order before the power fails. */
static void events_of_one_write_may_be_lost_in_any_order(test *t)
{
    const journal_event three[] = {set("u", "a", 1), set("u", "b", 1),
                                   set("u", "c", 1)};
    char segment[300];
    size_t bytes;
    unsigned char *file = make_segment_of(t, test_path(__func__), FEW, &bytes, segment),
                  *all;
    journal *j = open_journal(t, test_path(__func__), NULL, NULL);
    size_t more;

    check_status(t, journal_append(j, three, 3, NULL, NULL), EASE_OK);
    journal_close(j);
    all = (unsigned char *)test_read(segment, &more);
    memset(all + bytes + 4, 0, 30); /* in the first of the three */
    test_write(segment, all, more);
    check_int(t, last_of(t, test_path(__func__)), FEW);
    /* One event later, and the three were certainly on the disk. */
    all[bytes] ^= 0;
    free(all);
    test_write(segment, file, bytes);
    j = open_journal(t, test_path(__func__), NULL, NULL);
    check_status(t, journal_append(j, three, 3, NULL, NULL), EASE_OK);
    append_numbers(t, j, 100, 100);
    journal_close(j);
    all = (unsigned char *)test_read(segment, &more);
    memset(all + bytes + 4, 0, 30);
    test_write(segment, all, more);
    check_status(t, journal_read(test_path(__func__), NULL, NULL, NULL, NULL),
                 EASE_E_FORMAT);
    free(all);
    free(file);
}

static void segments_of_other_journals_are_refused(test *t)
{
    const journal_options o = {.segment_bytes = 300};
    char from[300], to[300];
    size_t bytes;
    char *other;
    ease_error err;

    for (int i = 0; i < 2; i++) {
        journal *j = open_journal(t, test_path(i ? "b" : "a"), &o, NULL);

        append_numbers(t, j, 1, 12);
        journal_close(j);
    }
    snprintf(from, sizeof(from), "%s/0000000002.journal", test_path("a"));
    snprintf(to, sizeof(to), "%s/0000000002.journal", test_path("b"));
    other = test_read(from, &bytes);
    test_write(to, other, bytes);
    check_status(t, journal_read(test_path("b"), NULL, NULL, NULL, &err),
                 EASE_E_FORMAT);
    check_contains(t, err.text, "another journal");
    free(other);
}

/* ---- a disk that fails ----------------------------------------------------------- */

/* What the disk does: `writes` and `syncs` succeed, then `reason` is the error. */
static struct {
    int writes, syncs, calls;
    size_t partial; /* bytes that a failing write puts all the same */
    int reason;
} fate;

static ssize_t faulty_write(int fd, const void *data, size_t bytes)
{
    fate.calls++;
    if (fate.writes-- > 0)
        return write(fd, data, bytes);
    if (fate.partial && fate.partial < bytes) {
        size_t part = fate.partial;

        fate.partial = 0;
        return write(fd, data, part);
    }
    errno = fate.reason;
    return -1;
}

static int faulty_sync(int fd)
{
    fate.calls++;
    if (fate.syncs-- > 0)
        return fdatasync(fd);
    errno = fate.reason;
    return -1;
}

static const journal_disk faulty = {faulty_write, faulty_sync, ftruncate, fsync};

static void never_fail(void)
{
    fate.writes = fate.syncs = 1000000;
    fate.partial = 0;
}

static void a_failed_sync_is_not_tried_again(test *t)
{
    const journal_options o = {.disk = &faulty};
    journal_event e = with_id("later");
    journal_status s;
    ease_error err = {0};
    journal *j;

    never_fail();
    j = open_journal(t, test_path(__func__), &o, NULL);
    append_numbers(t, j, 1, 4);
    fate.syncs = 0;
    fate.reason = EIO;
    check_status(t, journal_append(j, &e, 1, NULL, &err), EASE_E_IO);
    check_int(t, err.sys_errno, EIO);
    check(t, !journal_is_full(&err));
    never_fail();
    fate.calls = 0;
    check_status(t, journal_append(j, &e, 1, NULL, &err), EASE_E_IO);
    check_contains(t, err.text, "cannot sync");
    check_int(t, fate.calls, 0);
    journal_describe(j, &s);
    check_int(t, s.state, JOURNAL_FAILED);
    check_int(t, s.waiting, 0);
    check_int(t, s.last, 4);
    journal_close(j);
    j = open_journal(t, test_path(__func__), NULL, NULL);
    append_numbers(t, j, 5, 6);
    journal_close(j);
    check_int(t, last_of(t, test_path(__func__)), 6);
}

static void a_full_disk_is_told_and_tried_again(test *t)
{
    const journal_options o = {.disk = &faulty};
    const journal_event two[] = {with_id("x"), with_id("y")};
    journal_status s;
    journal_receipt r = {0};
    ease_error err = {0};
    journal *j;

    never_fail();
    j = open_journal(t, test_path(__func__), &o, NULL);
    append_numbers(t, j, 1, 4);
    fate.writes = 0;
    fate.partial = 37;
    fate.reason = ENOSPC;
    check_status(t, journal_append(j, two, 2, NULL, &err), EASE_E_IO);
    check(t, journal_is_full(&err));
    journal_describe(j, &s);
    check_int(t, s.state, JOURNAL_FULL);
    check_int(t, last_of(t, test_path(__func__)), 4);
    never_fail();
    /* The events that failed are no duplicates. */
    check_status(t, journal_append(j, two, 2, &r, NULL), EASE_OK);
    check_int(t, r.accepted, 2);
    check_int(t, r.sequence, 6);
    journal_describe(j, &s);
    check_int(t, s.state, JOURNAL_WRITING);
    journal_close(j);
    check_int(t, last_of(t, test_path(__func__)), 6);
}

static void a_full_disk_may_stop_a_new_segment(test *t)
{
    const journal_options o = {.disk = &faulty, .segment_bytes = 100};
    journal_event e = with_id("x");
    ease_error err = {0};
    journal *j;

    never_fail();
    j = open_journal(t, test_path(__func__), &o, NULL);
    append_numbers(t, j, 1, 1);
    fate.writes = 0;
    fate.reason = ENOSPC;
    check_status(t, journal_append(j, &e, 1, NULL, &err), EASE_E_IO);
    check(t, journal_is_full(&err));
    never_fail();
    append_numbers(t, j, 2, 4);
    journal_close(j);
    check_int(t, last_of(t, test_path(__func__)), 4);
}

/* Nothing of the segment exists when its file cannot be created. */
static void a_short_time_without_descriptors_does_no_harm(test *t)
{
    const journal_options o = {.segment_bytes = 100};
    journal_event e = with_id("2");
    struct rlimit all, none;
    journal_status s;
    ease_error err = {0};
    journal *j = open_journal(t, test_path(__func__), &o, NULL);

    append_numbers(t, j, 1, 1);
    check_int(t, getrlimit(RLIMIT_NOFILE, &all), 0);
    none = all;
    none.rlim_cur = 0;
    for (int i = 0; i < 2; i++) {
        check_int(t, setrlimit(RLIMIT_NOFILE, &none), 0);
        check_status(t, journal_append(j, &e, 1, NULL, &err), EASE_E_IO);
        check_int(t, setrlimit(RLIMIT_NOFILE, &all), 0);
        check_int(t, err.sys_errno, EMFILE);
        journal_describe(j, &s);
        check_int(t, s.state, JOURNAL_WRITING);
        check_int(t, s.waiting, 0);
    }
    append_numbers(t, j, 2, 4);
    journal_describe(j, &s);
    check_int(t, s.duplicates, 0);
    journal_close(j);
    check_int(t, last_of(t, test_path(__func__)), 4);
}

static ease_status refuse_third(void *user, const journal_event *e, ease_error *err)
{
    (void)user;
    return e->sequence == 3 ? journal_fail(err, EASE_E_NOMEM, 0, "no memory for it")
                            : EASE_OK;
}

/* It is in the journal: a restart applies it. */
static void an_event_that_cannot_be_applied_is_kept(test *t)
{
    const journal_options o = {.apply = refuse_third};
    journal_event e = with_id("4");
    journal *j = open_journal(t, test_path(__func__), &o, NULL);
    ease_error err;

    append_numbers(t, j, 1, 3);
    check_status(t, journal_append(j, &e, 1, NULL, &err), EASE_E_NOMEM);
    journal_close(j);
    check_int(t, last_of(t, test_path(__func__)), 3);
    check_status(t, journal_open(test_path(__func__), &o, &j, NULL, &err),
                 EASE_E_NOMEM);
}

static void every_failed_allocation_is_survived(test *t)
{
    ease_status status;
    int n = 0;
    char path[300];

    snprintf(path, sizeof(path), "%s", test_path(__func__));
    do {
        const journal_event e = set("u", "i", 1);
        journal *j = NULL;

        alloc_fail_after(n++);
        status = journal_open(path, NULL, &j, NULL, NULL);
        if (!status)
            status = journal_append(j, &e, 1, NULL, NULL);
        alloc_fail_after(-1);
        journal_close(j);
    } while (status == EASE_E_NOMEM);
    check_status(t, status, EASE_OK);
    check(t, n > 5);
    check_int(t, last_of(t, path), 1);
}

/* ---- many threads ---------------------------------------------------------------- */

enum { THREADS = 8, APPENDS = 30 };

typedef struct appender {
    journal *j;
    int number, failed;
} appender;

static void *append_many(void *data)
{
    appender *a = data;
    uint64_t before = 0;

    for (int i = 0; i < APPENDS; i++) {
        char id[ID_SPACE];
        journal_event e;
        journal_receipt r = {0};

        snprintf(id, sizeof(id), "%d-%d", a->number, i);
        e = with_id(id);
        a->failed += journal_append(a->j, &e, 1, &r, NULL) != EASE_OK ||
                     r.accepted != 1 || r.sequence <= before;
        before = r.sequence;
    }
    return NULL;
}

static void events_of_many_threads_keep_their_order(test *t)
{
    events *applied = new_events(), *out = new_events();
    const journal_options o = {.apply = keep_event, .user = applied};
    journal *j = open_journal(t, test_path(__func__), &o, NULL);
    pthread_t thread[THREADS];
    appender a[THREADS];
    int next[THREADS] = {0};
    journal_status s;

    for (int i = 0; i < THREADS; i++) {
        a[i] = (appender){j, i, 0};
        pthread_create(&thread[i], NULL, append_many, &a[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        check_int(t, a[i].failed, 0);
    }
    journal_describe(j, &s);
    check_int(t, s.last, THREADS * APPENDS);
    journal_close(j);
    check_status(t, journal_read(test_path(__func__), keep_event, out, NULL, NULL),
                 EASE_OK);
    check_int(t, out->count, THREADS * APPENDS);
    check_int(t, applied->count, out->count);
    for (int i = 0; i < out->count; i++) {
        int thread_number = 0, n = -1;

        sscanf(out->at[i].event_id, "%d-%d", &thread_number, &n);
        check_int(t, n, next[thread_number]++); /* the order of each thread */
        check_text(t, applied->at[i].event_id, out->at[i].event_id);
    }
    free(applied);
    free(out);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static int waiting_sync(int fd)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return fdatasync(fd);
}

static void count_done(void *user, ease_status status, const journal_receipt *r,
                       const ease_error *err)
{
    (void)err;
    if (!status && r->accepted == 1)
        ++*(int *)user;
}

static void what_waits_is_written_at_once_and_bounded(test *t)
{
    const journal_disk slow = {write, waiting_sync, ftruncate, fsync};
    const journal_options o = {.disk = &slow, .most_waiting = 1000};
    const journal_event e = set("u", "i", 1);
    ease_status status = EASE_OK;
    int done = 0, submitted = 0;
    journal_status s;
    ease_error err = {0};
    journal *j = open_journal(t, test_path(__func__), &o, NULL);

    pthread_mutex_lock(&held);
    while (!status) {
        status = journal_submit(j, &e, 1, count_done, &done, &err);
        submitted += !status;
    }
    check_status(t, status, EASE_E_MEMORY_LIMIT);
    journal_describe(j, &s);
    check(t, s.waiting <= 1000 && submitted > 5);
    pthread_mutex_unlock(&held);
    do /* what waited has to be written first */
        status = journal_append(j, &e, 1, NULL, &err);
    while (status == EASE_E_MEMORY_LIMIT);
    check_status(t, status, EASE_OK);
    journal_describe(j, &s);
    /* The first event alone, those that came meanwhile, and the last. */
    check(t, s.syncs <= 3);
    journal_close(j);
    check_int(t, done, submitted);
    check_int(t, last_of(t, test_path(__func__)), submitted + 1);
}

/* Such a batch could never wait; nor may others behind it. */
static void events_beyond_what_may_wait_are_refused(test *t)
{
    const journal_options o = {.most_waiting = 1000};
    journal_event e[20];
    journal_status s;
    ease_error err = {0};
    journal *j = open_journal(t, test_path(__func__), &o, NULL);

    for (int i = 0; i < 20; i++)
        e[i] = set("u", "i", 1);
    check_status(t, journal_append(j, e, 20, NULL, &err), EASE_E_TOO_LARGE);
    check_contains(t, err.text, "at most 1000");
    check_status(t, journal_append(j, e, 10, NULL, NULL), EASE_OK);
    journal_describe(j, &s);
    check_int(t, s.state, JOURNAL_WRITING);
    check_int(t, s.last, 10);
    journal_close(j);
}

/* ---- killed processes ------------------------------------------------------------ */

enum { KILL_THREADS = 4, RESENT = 10 };

/* The program "test_journal --append DIR ROUND": appends until it is killed, and prints
 * each event_id that is acknowledged. */
typedef struct client {
    journal *j;
    int round, number;
} client;

static void send_pair(const client *c, int round, int n)
{
    char id[2][ID_SPACE], line[2 * ID_SPACE + 2];
    journal_event e[2];
    int count = 1 + n % 2, length = 0;

    for (int i = 0; i < count; i++) {
        snprintf(id[i], sizeof(id[i]), "%d-%d-%d-%d", round, c->number, n, i);
        e[i] = with_id(id[i]);
        length += snprintf(line + length, sizeof(line) - (size_t)length, "%s\n", id[i]);
    }
    if (journal_append(c->j, e, count, NULL, NULL) == EASE_OK)
        (void)!write(STDOUT_FILENO, line, (size_t)length); /* short, so atomic */
}

static void *run_client(void *data)
{
    const client *c = data;

    /* A client that was not answered sends its events again. */
    for (int n = 0; c->round > 0 && n < RESENT; n++)
        send_pair(c, c->round - 1, n);
    for (int n = 0;; n++)
        send_pair(c, c->round, n);
    return NULL;
}

static int append_until_killed(char **argv)
{
    const journal_options o = {.segment_bytes = 4000};
    static client c[KILL_THREADS];
    pthread_t thread;
    journal *j;
    ease_error err;

    if (journal_open(argv[2], &o, &j, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    (void)!write(STDOUT_FILENO, "\n", 1); /* it has begun */
    for (int i = 0; i < KILL_THREADS; i++) {
        c[i] = (client){j, atoi(argv[3]), i};
        pthread_create(&thread, NULL, run_client, &c[i]);
    }
    for (;;)
        pause();
}

/* Starts the program, kills it some ms after it has begun, or one time in four after it
 * was started, and adds what it prints to `text`. */
static bool run_and_kill(const char *dir, int round, unsigned ms, char **text,
                         size_t *length)
{
    char number[12], buffer[4096];
    int pipes[2], status = 0;
    const struct timespec wait = {.tv_nsec = (long)ms * 1000000};
    ssize_t got;
    pid_t child;

    snprintf(number, sizeof(number), "%d", round);
    if (pipe(pipes) != 0)
        return false;
    child = fork();
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        execl("/proc/self/exe", "test_journal", "--append", dir, number, NULL);
        _exit(127);
    }
    close(pipes[1]);
    if (round % 4 != 3 && read(pipes[0], buffer, 1) != 1)
        return false;
    nanosleep(&wait, NULL);
    kill(child, SIGKILL);
    while ((got = read(pipes[0], buffer, sizeof(buffer))) > 0) {
        *text = realloc(*text, *length + (size_t)got + 1);
        memcpy(*text + *length, buffer, (size_t)got);
        *length += (size_t)got;
        (*text)[*length] = '\0';
    }
    close(pipes[0]);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status);
}

/* A sorted list of strings. */
typedef struct names {
    char **at;
    size_t count, space;
} names;

static void add_name(names *n, const char *name)
{
    if (n->count == n->space) {
        n->space = n->space ? 2 * n->space : 1024;
        n->at = realloc(n->at, n->space * sizeof(*n->at));
    }
    n->at[n->count++] = strdup(name);
}

static ease_status name_event(void *user, const journal_event *e, ease_error *err)
{
    (void)err;
    add_name(user, e->event_id);
    return EASE_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->at[i]);
    free(n->at);
}

/* Every acknowledged event is in the journal, and none twice. */
static void check_journal(test *t, const char *dir, const char *acknowledged)
{
    names found = {0};
    size_t lost = 0, repeated = 0, lines = 0;
    char *copy = strdup(acknowledged), *rest = copy, *line;

    check_status(t, journal_read(dir, name_event, &found, NULL, NULL), EASE_OK);
    qsort(found.at, found.count, sizeof(*found.at), compare_names);
    for (size_t i = 1; i < found.count; i++)
        repeated += strcmp(found.at[i - 1], found.at[i]) == 0;
    while ((line = strsep(&rest, "\n"))) {
        lines += *line != '\0';
        lost += *line && !bsearch(&line, found.at, found.count, sizeof(*found.at),
                                  compare_names);
    }
    check_int(t, lost, 0);
    check_int(t, repeated, 0);
    check(t, found.count >= lines / 2); /* RESENT ones are acknowledged twice */
    free(copy);
    free_names(&found);
}

static void kills_lose_nothing_that_was_acknowledged(test *t)
{
    const char *wanted = getenv("EASE_KILLS");
    int kills = wanted ? atoi(wanted) : 10;
    uint64_t seed = (uint64_t)time(NULL);
    char *text = calloc(1, 1), dir[300];
    size_t length = 0;
    ease__random r;

    snprintf(dir, sizeof(dir), "%s", test_path(__func__));
    ease__random_seed(&r, seed, 0);
    for (int round = 0; round < kills; round++) {
        unsigned ms = 5 + (unsigned)ease__random_below(&r, 60);

        if (!check(t, run_and_kill(dir, round, ms, &text, &length)))
            printf("round %d of seed %llu\n", round, (unsigned long long)seed);
        if (round % 20 == 9)
            check_journal(t, dir, text);
    }
    check_journal(t, dir, text);
    check(t, length > 100);
    free(text);
}

static ino_t synced_directories[8];
static int directory_syncs;

static int note_directory(int fd)
{
    struct stat st;

    if (directory_syncs < 8 && fstat(fd, &st) == 0)
        synced_directories[directory_syncs++] = st.st_ino;
    return fsync(fd);
}

/* A process that was killed before it made a segment has left a directory whose name may
 * not be on the disk. */
static void names_are_durable_before_events_are_appended(test *t)
{
    const journal_disk disk = {write, fdatasync, ftruncate, note_directory};
    const journal_options o = {.disk = &disk};
    const char *path = test_path(__func__);
    char parent[4096];
    struct stat own, above;
    journal *j = NULL;

    snprintf(parent, sizeof(parent), "%s/..", path);
    check_int(t, mkdir(path, 0700), 0);
    check_int(t, stat(path, &own) | stat(parent, &above), 0);
    directory_syncs = 0;
    check_status(t, journal_open(path, &o, &j, NULL, NULL), EASE_OK);
    check_int(t, directory_syncs, 2);
    check_int(t, (int64_t)synced_directories[0], (int64_t)above.st_ino);
    check_int(t, (int64_t)synced_directories[1], (int64_t)own.st_ino);
    journal_close(j);
    /* A process that was killed after a renaming has not synced the name of its last
     * segment; that of the directory is durable if there is a segment. */
    check_status(t, journal_open(path, &o, &j, NULL, NULL), EASE_OK);
    check_int(t, directory_syncs, 3);
    check_int(t, (int64_t)synced_directories[2], (int64_t)own.st_ino);
    journal_close(j);
}

enum { NOBODY = 65534 };

/* Opens the journal at `name`, relative to `parent`, as somebody who can enter the
 * parent, but not read it. */
static ease_status open_within(const char *parent, const char *name, ease_error *err)
{
    bool is_root = geteuid() == 0;
    int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    journal *j = NULL;
    ease_status status;

    if (chdir(parent) != 0 || chmod(".", is_root ? 0733 : 0300) != 0 ||
        (is_root && seteuid(NOBODY) != 0))
        abort();
    status = journal_open(name, NULL, &j, NULL, err);
    journal_close(j);
    if ((is_root && seteuid(0) != 0) || fchdir(back) != 0)
        abort();
    close(back);
    return status;
}

/* Such as a directory that was made for the server's user. */
static void a_directory_may_stand_where_nobody_can_read(test *t)
{
    const char *parent = test_path(__func__);
    char given[4096];
    ease_error err = {0};

    snprintf(given, sizeof(given), "%s/given", parent);
    check_int(t, mkdir(parent, 0700) | mkdir(given, 0700), 0);
    if (geteuid() == 0)
        check_int(t, chown(given, NOBODY, NOBODY), 0);
    check_status(t, open_within(parent, "given", &err), EASE_OK);
    /* Nobody else syncs the name of one that the journal itself creates. */
    check_status(t, open_within(parent, "made", &err), EASE_E_IO);
    check_int(t, err.sys_errno, EACCES);
    check_int(t, chmod(parent, 0700), 0);
}

static const test_case cases[] = {
    TEST(a_directory_may_stand_where_nobody_can_read),
    TEST(names_are_durable_before_events_are_appended),
    TEST(events_come_back_as_they_were_appended),
    TEST(events_that_say_nothing_are_refused),
    TEST(an_event_id_counts_once),
    TEST(the_most_recent_event_ids_are_remembered),
    TEST(segments_rotate),
    TEST(a_journal_has_one_writer),
    TEST(what_is_no_journal_is_refused),
    TEST(an_incomplete_last_event_is_cut_off),
    TEST(damage_before_valid_events_is_refused),
    TEST(zeros_at_the_end_are_cut_off),
    TEST(events_of_one_write_may_be_lost_in_any_order),
    TEST(segments_of_other_journals_are_refused),
    TEST(a_failed_sync_is_not_tried_again),
    TEST(a_full_disk_is_told_and_tried_again),
    TEST(a_full_disk_may_stop_a_new_segment),
    TEST(a_short_time_without_descriptors_does_no_harm),
    TEST(an_event_that_cannot_be_applied_is_kept),
    TEST(every_failed_allocation_is_survived),
    TEST(events_of_many_threads_keep_their_order),
    TEST(what_waits_is_written_at_once_and_bounded),
    TEST(events_beyond_what_may_wait_are_refused),
    TEST(kills_lose_nothing_that_was_acknowledged),
};

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--append") == 0)
        return append_until_killed(argv);
    return test_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
