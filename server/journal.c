#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "seen.h"

static const size_t SEGMENT_BYTES = 64 << 20, MOST_WAITING = 64 << 20;
static const int64_t REMEMBERED = 500000;
static const char unfinished[] = "new.part"; /* a segment that has no name yet */

/* The events of one journal_submit, with the result. */
typedef struct batch {
    struct batch *next;
    journal_done done;
    void *user;
    int64_t count;
    size_t bytes;
    journal_receipt receipt;
    unsigned char records[];
} batch;

struct journal {
    char *path;
    int dir;      /* open and locked */
    bool created; /* the directory, by this process */
    journal_options o;
    journal_disk disk;
    char id[JOURNAL_ID_CHARS];

    pthread_mutex_t lock; /* for the members up to `status` */
    pthread_cond_t work;  /* there are batches, or closing */
    batch *first, **last;
    bool closing;
    journal_status status;

    /* Used by the writing thread alone, and by journal_open and journal_close. */
    pthread_t writer;
    bool started;
    int fd; /* the last segment */
    int64_t number, segments, syncs;
    size_t end;   /* bytes of the last segment that are synced: complete records */
    size_t bytes; /* of all segments */
    uint64_t last_sequence;
    seen *ids;
    unsigned char *group; /* the records that are written at once */
    size_t group_space;
};

bool journal_is_full(const ease_error *err)
{
    return err && (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT);
}

/* ---- the disk -------------------------------------------------------------------- */

static const journal_disk libc_disk = {write, fdatasync, ftruncate, fsync};

static ease_status fail_disk(const journal *j, const char *what, ease_error *err)
{
    return journal_fail(err, EASE_E_IO, errno, "%.300s: cannot %s the journal", j->path,
                        what);
}

/* Writes all bytes, or fails with errno. */
static bool write_all(const journal *j, int fd, const unsigned char *at, size_t bytes)
{
    while (bytes) {
        ssize_t put = j->disk.write(fd, at, bytes);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            errno = put < 0 ? errno : EIO;
            return false;
        }
        at += put;
        bytes -= (size_t)put;
    }
    return true;
}

/* Writes a file with a header alone and gives it its name, so that a segment exists
 * with its header or not at all. *for_good is set if it cannot be known what is on the
 * disk. */
static ease_status make_segment(journal *j, int64_t number, uint64_t first,
                                bool *for_good, ease_error *err)
{
    unsigned char header[JOURNAL_HEADER_BYTES];
    char name[JOURNAL_NAME_CHARS];
    ease_status status = EASE_OK;
    int fd = openat(j->dir, unfinished,
                    O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);

    journal_segment_name(number, name);
    journal_header_put(j->id, number, first, header);
    if (fd < 0 || !write_all(j, fd, header, sizeof(header))) {
        status = fail_disk(j, "begin a segment of", err);
        *for_good = fd >= 0 && !journal_is_full(err);
    } else if (j->disk.sync(fd) != 0 ||
               renameat(j->dir, unfinished, j->dir, name) != 0 ||
               j->disk.sync_directory(j->dir) != 0) {
        status = fail_disk(j, "begin a segment of", err);
        *for_good = true;
    }
    if (status) {
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (j->fd >= 0)
        close(j->fd);
    j->fd = fd;
    j->number = number;
    j->end = sizeof(header);
    j->segments++;
    j->bytes += sizeof(header);
    return EASE_OK;
}

/* ---- writing a group: everything that waits, by the writing thread --------------- */

static bool is_duplicate(journal *j, const unsigned char *record)
{
    journal_event e = journal_record_event(record);

    return *e.event_id && !seen_add(j->ids, e.event_id);
}

static size_t bytes_of_record(const unsigned char *record)
{
    journal_event e = journal_record_event(record);

    return journal_record_bytes(&e);
}

static ease_status reserve(journal *j, const batch *group, ease_error *err)
{
    size_t most = 0;
    int64_t count = 0;

    for (const batch *b = group; b; b = b->next) {
        most += b->bytes;
        count += b->count;
    }
    if (most > j->group_space) {
        unsigned char *larger = realloc(j->group, most);

        if (!larger)
            return journal_fail(err, EASE_E_NOMEM, 0, "%zu bytes of events", most);
        j->group = larger;
        j->group_space = most;
    }
    return seen_begin(j->ids, count, err);
}

/* Copies the records of a group to j->group, without duplicates, and seals them.
 * Returns their bytes. */
static size_t gather(journal *j, batch *group, uint64_t *last)
{
    uint32_t place = 0;
    size_t used = 0;

    for (batch *b = group; b; b = b->next) {
        b->receipt = (journal_receipt){0};
        for (size_t at = 0, size; at < b->bytes; at += size) {
            size = bytes_of_record(b->records + at);
            if (is_duplicate(j, b->records + at)) {
                b->receipt.duplicates++;
                continue;
            }
            memcpy(j->group + used, b->records + at, size);
            used += journal_seal(j->group + used, j->id, ++*last, place++);
            b->receipt.accepted++;
        }
    }
    for (batch *b = group; b; b = b->next)
        b->receipt.sequence = *last; /* they are all synced at once */
    return used;
}

/* Writes and syncs j->group. */
static ease_status put(journal *j, size_t bytes, bool *for_good, ease_error *err)
{
    ease_status status;

    if (!write_all(j, j->fd, j->group, bytes)) {
        status = fail_disk(j, "write to", err);
        /* If a part was written, it has not been synced: without it, a full disk can be
         * tried again. */
        *for_good = !journal_is_full(err);
        if (j->disk.truncate(j->fd, (off_t)j->end) != 0)
            *for_good = true;
        return status;
    }
    if (j->disk.sync(j->fd) != 0) {
        status = fail_disk(j, "sync", err);
        *for_good = true;
        /* A restart shall not read from the cache what may not be on the disk. */
        (void)!j->disk.truncate(j->fd, (off_t)j->end);
        return status;
    }
    j->end += bytes;
    j->bytes += bytes;
    j->syncs++;
    return EASE_OK;
}

static ease_status apply(const journal *j, size_t bytes, ease_error *err)
{
    ease_status status = EASE_OK;

    for (size_t at = 0; !status && j->o.apply && at < bytes;) {
        journal_event e = journal_record_event(j->group + at);

        status = j->o.apply(j->o.user, &e, err);
        at += journal_record_bytes(&e);
    }
    return status;
}

/* Writes, syncs and applies a group. */
static ease_status write_group(journal *j, batch *group, bool *for_good,
                               ease_error *err)
{
    uint64_t last = j->last_sequence;
    size_t bytes = 0;
    ease_error late;
    ease_status status = EASE_OK;

    if (j->end >= j->o.segment_bytes)
        status = make_segment(j, j->number + 1, last + 1, for_good, err);
    if (!status)
        status = reserve(j, group, err);
    if (status)
        return status;
    bytes = gather(j, group, &last);
    if (bytes)
        status = put(j, bytes, for_good, err);
    if (status) {
        seen_undo(j->ids);
        return status;
    }
    j->last_sequence = last;
    if (apply(j, bytes, &late)) { /* the events are in the journal nevertheless */
        *for_good = true;
        *err = late;
    }
    return EASE_OK;
}

/* Publishes the state after a group. */
static void note_group(journal *j, const batch *group, ease_status status,
                       bool for_good, const ease_error *err)
{
    journal_status *s = &j->status;

    pthread_mutex_lock(&j->lock);
    s->last = j->last_sequence;
    s->segments = j->segments;
    s->bytes = j->bytes;
    s->syncs = j->syncs;
    for (const batch *b = group; b; b = b->next) {
        s->waiting -= b->bytes;
        s->duplicates += status ? 0 : b->receipt.duplicates;
    }
    if (status || for_good)
        s->error = *err;
    if (for_good)
        s->state = JOURNAL_FAILED;
    else if (status && journal_is_full(err))
        s->state = JOURNAL_FULL;
    else if (!status)
        s->state = JOURNAL_WRITING;
    pthread_mutex_unlock(&j->lock);
}

static void acknowledge(batch *group, ease_status status, const ease_error *err)
{
    while (group) {
        batch *next = group->next;

        group->done(group->user, status, status ? NULL : &group->receipt, err);
        free(group);
        group = next;
    }
}

/* Waits for batches. Returns NULL when the journal is closing and nothing waits. */
static batch *take_group(journal *j, bool *failed, ease_error *err)
{
    batch *group;

    pthread_mutex_lock(&j->lock);
    while (!j->first && !j->closing)
        pthread_cond_wait(&j->work, &j->lock);
    group = j->first;
    j->first = NULL;
    j->last = &j->first;
    *failed = j->status.state == JOURNAL_FAILED;
    *err = j->status.error;
    pthread_mutex_unlock(&j->lock);
    return group;
}

static void *run(void *data)
{
    journal *j = data;
    batch *group;
    bool failed;
    ease_error err;

    while ((group = take_group(j, &failed, &err))) {
        ease_status status = failed ? err.status : write_group(j, group, &failed, &err);

        note_group(j, group, status, failed, &err);
        acknowledge(group, status, &err);
    }
    return NULL;
}

/* ---- appending ------------------------------------------------------------------- */

static int64_t now_in_milliseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Copies events into a new batch of at most `most` bytes. */
static ease_status pack(const journal_event *events, int64_t count, size_t most,
                        batch **out, ease_error *err)
{
    int64_t now = now_in_milliseconds();
    size_t bytes = 0, at = 0;
    batch *b;

    for (int64_t i = 0; i < count; i++) {
        ease_status status = journal_check_event(&events[i], err);

        if (status && err)
            err->where = i;
        if (status)
            return status;
        bytes += journal_record_bytes(&events[i]);
    }
    if (bytes > most)
        return journal_fail(err, EASE_E_TOO_LARGE, 0,
                            "%lld events take %zu bytes, at most %zu can be written at "
                            "once: send fewer at once",
                            (long long)count, bytes, most);
    b = malloc(sizeof(*b) + bytes);
    if (!b)
        return journal_fail(err, EASE_E_NOMEM, 0, "%zu bytes of events", bytes);
    *b = (batch){.count = count, .bytes = bytes};
    for (int64_t i = 0; i < count; i++) {
        journal_event e = events[i];

        e.time = e.time ? e.time : now;
        journal_record_put(&e, b->records + at);
        at += journal_record_bytes(&e);
    }
    *out = b;
    return EASE_OK;
}

ease_status journal_submit(journal *j, const journal_event *events, int64_t count,
                           journal_done done, void *user, ease_error *err)
{
    batch *b = NULL;
    ease_status status;

    if (!j || !done || count < 0 || (count && !events))
        return journal_fail(err, EASE_E_ARG, 0, "a journal and events are required");
    status = pack(events, count, j->o.most_waiting, &b, err);
    if (status)
        return status;
    b->done = done;
    b->user = user;
    pthread_mutex_lock(&j->lock);
    if (j->status.state == JOURNAL_FAILED) {
        status = j->status.error.status;
        if (err)
            *err = j->status.error;
    } else if (b->bytes > j->o.most_waiting - j->status.waiting) {
        status = journal_fail(err, EASE_E_MEMORY_LIMIT, 0,
                              "too many events wait for the disk: try again later");
    } else {
        *j->last = b;
        j->last = &b->next;
        j->status.waiting += b->bytes;
        pthread_cond_signal(&j->work);
    }
    pthread_mutex_unlock(&j->lock);
    if (status)
        free(b);
    return status; /* NOLINT(clang-analyzer-unix.Malloc): the queue has it */
}

/* A thread that waits for its events. */
typedef struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    ease_status status;
    journal_receipt receipt;
    ease_error *err;
} waiting;

static void wake(void *user, ease_status status, const journal_receipt *r,
                 const ease_error *err)
{
    waiting *w = user;

    pthread_mutex_lock(&w->lock);
    w->status = status;
    if (r)
        w->receipt = *r;
    if (status && w->err)
        *w->err = *err;
    w->done = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

ease_status journal_append(journal *j, const journal_event *events, int64_t count,
                           journal_receipt *out, ease_error *err)
{
    waiting w = {.lock = PTHREAD_MUTEX_INITIALIZER,
                 .changed = PTHREAD_COND_INITIALIZER,
                 .err = err};
    ease_status status = journal_submit(j, events, count, wake, &w, err);

    if (!status) {
        pthread_mutex_lock(&w.lock);
        while (!w.done)
            pthread_cond_wait(&w.changed, &w.lock);
        pthread_mutex_unlock(&w.lock);
        status = w.status;
    }
    pthread_mutex_destroy(&w.lock);
    pthread_cond_destroy(&w.changed);
    if (!status && out)
        *out = w.receipt;
    return status;
}

void journal_describe(journal *j, journal_status *out)
{
    pthread_mutex_lock(&j->lock);
    *out = j->status;
    pthread_mutex_unlock(&j->lock);
}

const char *journal_id(const journal *j)
{
    return j->id;
}

/* ---- opening --------------------------------------------------------------------- */

static void make_id(char id[JOURNAL_ID_CHARS])
{
    unsigned char bytes[16] = {0};

    (void)!getrandom(bytes, sizeof(bytes), 0);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
}

/* Makes the name of the directory durable. A directory that somebody else has made,
 * where this process cannot read, is theirs to sync. */
static ease_status sync_parent(const journal *j, ease_error *err)
{
    int fd = openat(j->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool theirs = fd < 0 && errno == EACCES && !j->created;
    bool synced = fd >= 0 && j->disk.sync_directory(fd) == 0;
    ease_status status = synced || theirs ? EASE_OK
                                          : fail_disk(j, "sync the directory of", err);

    if (fd >= 0)
        close(fd);
    return status;
}

static ease_status open_directory(journal *j, ease_error *err)
{
    j->created = mkdir(j->path, 0777) == 0;
    if (!j->created && errno != EEXIST)
        return journal_fail(err, EASE_E_IO, errno, "%s: cannot create the journal",
                            j->path);
    j->dir = open(j->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->dir < 0)
        return journal_fail(err, EASE_E_IO, errno, "%s: cannot open the journal",
                            j->path);
    if (flock(j->dir, LOCK_EX | LOCK_NB) != 0)
        return journal_fail(err, EASE_E_IO, errno,
                            errno == EWOULDBLOCK
                                ? "%s: another process writes this journal"
                                : "%s: cannot lock the journal",
                            j->path);
    return EASE_OK;
}

/* Replays one event: remembers its id and applies it. */
static ease_status replay(void *user, const journal_event *e, ease_error *err)
{
    journal *j = user;
    ease_status status = EASE_OK;

    if (*e->event_id) {
        status = seen_begin(j->ids, 1, err);
        if (!status)
            (void)seen_add(j->ids, e->event_id);
    }
    return status || !j->o.apply ? status : j->o.apply(j->o.user, e, err);
}

/* Opens the last segment, and cuts off an incomplete record. */
static ease_status open_last(journal *j, const journal_info *info,
                             const journal_end *end, ease_error *err)
{
    char name[JOURNAL_NAME_CHARS];

    journal_segment_name(end->number, name);
    j->fd = openat(j->dir, name, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (j->fd < 0)
        return fail_disk(j, "open the last segment of", err);
    if (info->torn &&
        (j->disk.truncate(j->fd, (off_t)end->bytes) != 0 || j->disk.sync(j->fd) != 0))
        return fail_disk(j, "cut an incomplete event off", err);
    /* Its name may be that of a process which was killed before it synced the name. */
    if (j->disk.sync_directory(j->dir) != 0)
        return fail_disk(j, "sync the names of segments in", err);
    j->number = end->number;
    j->end = end->bytes;
    j->segments = info->segments;
    j->bytes = info->bytes - info->torn;
    return EASE_OK;
}

static ease_status open_segments(journal *j, journal_info *info, ease_error *err)
{
    journal_end end;
    bool for_good;
    ease_status status = journal_scan(j->dir, j->path, replay, j, info, &end, err);

    if (status)
        return status;
    j->last_sequence = info->last;
    if (end.number) {
        memcpy(j->id, info->id, sizeof(j->id));
        return open_last(j, info, &end, err);
    }
    /* This process, or one that was killed, has created the directory: it is durable
     * before the first segment exists. */
    make_id(j->id);
    status = sync_parent(j, err);
    if (!status)
        status = make_segment(j, 1, 1, &for_good, err);
    memcpy(info->id, j->id, sizeof(j->id));
    info->segments = j->segments;
    info->bytes = j->bytes;
    return status;
}

static ease_status start(journal *j, ease_error *err)
{
    int failed = pthread_create(&j->writer, NULL, run, j);

    if (failed)
        return journal_fail(err, EASE_E_NOMEM, failed, "%s: starting a thread",
                            j->path);
    j->started = true;
    return EASE_OK;
}

static void take_options(journal *j, const journal_options *o)
{
    if (o)
        j->o = *o;
    if (!j->o.segment_bytes)
        j->o.segment_bytes = SEGMENT_BYTES;
    if (!j->o.most_waiting)
        j->o.most_waiting = MOST_WAITING;
    if (!j->o.remembered)
        j->o.remembered = REMEMBERED;
    j->disk = j->o.disk ? *j->o.disk : libc_disk;
}

ease_status journal_open(const char *path, const journal_options *o, journal **out,
                         journal_info *info, ease_error *err)
{
    journal_info found;
    journal *j;
    ease_status status;

    if (!path || !*path || !out)
        return journal_fail(err, EASE_E_ARG, 0,
                            "the directory of a journal is required");
    j = calloc(1, sizeof(*j));
    if (!j)
        return journal_fail(err, EASE_E_NOMEM, 0, "opening %s", path);
    j->dir = j->fd = -1;
    j->last = &j->first;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->work, NULL);
    take_options(j, o);
    j->path = strdup(path);
    status = j->path ? seen_new(j->o.remembered, &j->ids, err)
                     : journal_fail(err, EASE_E_NOMEM, 0, "opening %s", path);
    if (!status)
        status = open_directory(j, err);
    if (!status)
        status = open_segments(j, &found, err);
    if (!status) {
        note_group(j, NULL, EASE_OK, false, NULL);
        status = start(j, err);
    }
    if (status) {
        journal_close(j);
        return status;
    }
    *out = j;
    if (info)
        *info = found;
    return EASE_OK;
}

void journal_close(journal *j)
{
    if (!j)
        return;
    if (j->started) {
        pthread_mutex_lock(&j->lock);
        j->closing = true;
        pthread_cond_signal(&j->work);
        pthread_mutex_unlock(&j->lock);
        pthread_join(j->writer, NULL);
    }
    if (j->fd >= 0)
        close(j->fd);
    if (j->dir >= 0)
        close(j->dir); /* unlocks it */
    seen_free(j->ids);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->work);
    free(j->group);
    free(j->path);
    free(j);
}
