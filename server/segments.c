#include "segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- the format: little-endian machines only ------------------------------------- */

enum { VERSION = 1, ID_BYTES = 16 };

static const char magic[8] = "\x89"
                             "easejl\n";
static const uint32_t byte_order = 0x01020304;

typedef struct disk_header {
    char magic[8];
    uint32_t version, byte_order;
    unsigned char id[ID_BYTES];
    uint64_t number, first;
    uint64_t reserved;
    uint64_t hash; /* XXH3 of the bytes before it */
} disk_header;

typedef struct disk_record {
    uint64_t hash; /* XXH3 of the bytes behind it, with a seed from the journal's id */
    uint32_t bytes, place; /* of the event; among the records written at once */
    uint64_t sequence;
} disk_record;

typedef struct disk_event {
    int64_t time;
    float weight;
    uint16_t kind, user, item, event_id; /* lengths of the strings, without their NUL */
    uint32_t reserved;
} disk_event; /* then the three strings, each with its NUL */

_Static_assert(sizeof(disk_header) == JOURNAL_HEADER_BYTES, "no gaps");
_Static_assert(sizeof(disk_record) == JOURNAL_RECORD_BYTES, "no gaps");
_Static_assert(sizeof(disk_event) == JOURNAL_EVENT_BYTES, "no gaps");

enum {
    MOST_EVENT = JOURNAL_EVENT_BYTES + 3 * (JOURNAL_MOST_ID + 1),
    LEAST_EVENT = JOURNAL_EVENT_BYTES + 5, /* ids of one byte, an empty event_id */
    WINDOW = 1 << 20
};

/* ---- errors ---------------------------------------------------------------------- */

void journal_note_error(ease_error *err, ease_status status, int sys_errno,
                        const char *fmt, ...)
{
    char text[sizeof(err->text)], reason[128];
    va_list args;

    if (!err)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    *err = (ease_error){.status = status, .sys_errno = sys_errno, .where = -1};
    if (sys_errno)
        snprintf(err->text, sizeof(err->text), "%.340s: %s", text,
                 strerror_r(sys_errno, reason, sizeof(reason)));
    else
        memcpy(err->text, text, sizeof(text));
}

/* ---- records --------------------------------------------------------------------- */

static ease_status check_id(const char *what, const char *id, ease_error *err)
{
    if (!id || !*id)
        return journal_fail(err, EASE_E_ARG, 0, "an event needs %s", what);
    if (strnlen(id, JOURNAL_MOST_ID + 1) > JOURNAL_MOST_ID)
        return journal_fail(err, EASE_E_ARG, 0, "%s of an event has at most %d bytes",
                            what, (int)JOURNAL_MOST_ID);
    return EASE_OK;
}

ease_status journal_check_event(const journal_event *e, ease_error *err)
{
    ease_status status = check_id("the id of a user", e->user, err);

    if (!status)
        status = check_id("the id of an item", e->item, err);
    if (!status && e->event_id && *e->event_id)
        status = check_id("the event_id", e->event_id, err);
    if (status)
        return status;
    if (e->kind != JOURNAL_SET && e->kind != JOURNAL_REMOVE)
        return journal_fail(err, EASE_E_ARG, 0, "an event sets or removes an item");
    if (e->kind == JOURNAL_SET && (!isfinite(e->weight) || e->weight == 0))
        return journal_fail(err, EASE_E_ARG, 0,
                            "the weight of an event is a finite number other than 0: "
                            "to take an item away, remove it");
    return EASE_OK;
}

static const char *event_id_of(const journal_event *e)
{
    return e->event_id ? e->event_id : "";
}

size_t journal_record_bytes(const journal_event *e)
{
    return sizeof(disk_record) + sizeof(disk_event) + strlen(e->user) +
           strlen(e->item) + strlen(event_id_of(e)) + 3;
}

static unsigned char *put_string(unsigned char *to, const char *s, uint16_t length)
{
    memcpy(to, s, (size_t)length + 1);
    return to + length + 1;
}

void journal_record_put(const journal_event *e, unsigned char *to)
{
    disk_record r = {.bytes = (uint32_t)(journal_record_bytes(e) - sizeof(r))};
    disk_event d = {
        .time = e->time,
        .weight = e->kind == JOURNAL_SET ? e->weight : 0,
        .kind = (uint16_t)e->kind,
        .user = (uint16_t)strlen(e->user),
        .item = (uint16_t)strlen(e->item),
        .event_id = (uint16_t)strlen(event_id_of(e)),
    };

    memcpy(to, &r, sizeof(r));
    memcpy(to + sizeof(r), &d, sizeof(d));
    to = put_string(to + sizeof(r) + sizeof(d), e->user, d.user);
    to = put_string(to, e->item, d.item);
    put_string(to, event_id_of(e), d.event_id);
}

/* A seed makes records of other journals invalid here. */
static uint64_t seed_of(const char *id)
{
    return XXH3_64bits(id, JOURNAL_ID_CHARS - 1);
}

static uint64_t record_hash(const unsigned char *record, uint32_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(record + sizeof(uint64_t),
                                sizeof(disk_record) - sizeof(uint64_t) + bytes, seed);
}

size_t journal_seal(unsigned char *record, const char *id, uint64_t sequence,
                    uint32_t place)
{
    disk_record r;

    memcpy(&r, record, sizeof(r));
    r.sequence = sequence;
    r.place = place;
    memcpy(record, &r, sizeof(r));
    r.hash = record_hash(record, r.bytes, seed_of(id));
    memcpy(record, &r.hash, sizeof(r.hash));
    return sizeof(r) + r.bytes;
}

journal_event journal_record_event(const unsigned char *record)
{
    const char *strings = (const char *)record + sizeof(disk_record) +
                          sizeof(disk_event);
    disk_record r;
    disk_event d;

    memcpy(&r, record, sizeof(r));
    memcpy(&d, record + sizeof(r), sizeof(d));
    return (journal_event){
        .kind = (journal_kind)d.kind,
        .weight = d.weight,
        .user = strings,
        .item = strings + d.user + 1,
        .event_id = strings + d.user + d.item + 2,
        .time = d.time,
        .sequence = r.sequence,
    };
}

/* Whether the bytes of an event, whose checksum is right, are one. */
static bool event_is_valid(const unsigned char *record, uint32_t bytes)
{
    const unsigned char *strings = record + sizeof(disk_record) + sizeof(disk_event);
    disk_event d;
    journal_event e;

    memcpy(&d, record + sizeof(disk_record), sizeof(d));
    if (bytes != sizeof(d) + (size_t)d.user + d.item + d.event_id + 3 ||
        memchr(strings, '\0', bytes - sizeof(d)) != strings + d.user ||
        memchr(strings + d.user + 1, '\0', (size_t)d.item + 1) !=
            strings + d.user + 1 + d.item ||
        memchr(strings + d.user + d.item + 2, '\0', (size_t)d.event_id + 1) !=
            strings + d.user + d.item + 2 + d.event_id)
        return false;
    e = journal_record_event(record);
    return journal_check_event(&e, NULL) == EASE_OK;
}

/* ---- names and headers ----------------------------------------------------------- */

static const char suffix[] = ".journal";
enum { DIGITS = 10 };

void journal_segment_name(int64_t number, char name[JOURNAL_NAME_CHARS])
{
    snprintf(name, JOURNAL_NAME_CHARS, "%0*lld%s", DIGITS, (long long)number, suffix);
}

/* The number of a segment, or 0 for another name. */
static int64_t segment_number(const char *name)
{
    int64_t number = 0;

    for (int i = 0; i < DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9')
            return 0;
        number = 10 * number + (name[i] - '0');
    }
    return strcmp(name + DIGITS, suffix) == 0 ? number : 0;
}

static void id_to_bytes(const char *id, unsigned char to[ID_BYTES])
{
    for (size_t i = 0; i < ID_BYTES; i++) {
        const char pair[3] = {id[2 * i], id[2 * i + 1], '\0'};

        to[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
}

static void id_to_text(const unsigned char id[ID_BYTES], char to[JOURNAL_ID_CHARS])
{
    for (size_t i = 0; i < ID_BYTES; i++)
        snprintf(to + 2 * i, 3, "%02x", id[i]);
}

static uint64_t header_hash(const disk_header *h)
{
    return XXH3_64bits(h, offsetof(disk_header, hash));
}

void journal_header_put(const char *id, int64_t number, uint64_t first,
                        unsigned char to[JOURNAL_HEADER_BYTES])
{
    disk_header h = {.version = VERSION,
                     .byte_order = byte_order,
                     .number = (uint64_t)number,
                     .first = first};

    memcpy(h.magic, magic, sizeof(magic));
    id_to_bytes(id, h.id);
    h.hash = header_hash(&h);
    memcpy(to, &h, sizeof(h));
}

/* ---- reading a segment ----------------------------------------------------------- */

/* A reading in progress. */
typedef struct scan {
    const char *path; /* of the directory */
    journal_reader read;
    void *user;
    journal_info info;
    uint64_t seed;
    /* The segment, and the window of it that is in memory. */
    int fd;
    char name[JOURNAL_NAME_CHARS];
    size_t bytes;
    unsigned char *window;
    size_t from, filled;
} scan;

static ease_status damaged(const scan *s, size_t at, const char *what, ease_error *err)
{
    ease_status status = journal_fail(err, EASE_E_FORMAT, 0, "%.200s/%s: damaged: %s",
                                      s->path, s->name, what);

    if (err)
        err->where = (int64_t)at;
    return status;
}

/* Reads so many bytes at an offset into the window. */
static ease_status fill(scan *s, size_t at, size_t bytes, ease_error *err)
{
    s->from = at;
    s->filled = 0;
    while (s->filled < bytes) {
        ssize_t got = pread(s->fd, s->window + s->filled, bytes - s->filled,
                            (off_t)(at + s->filled));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return journal_fail(err, EASE_E_IO, errno, "%.200s/%s: cannot read",
                                s->path, s->name);
        if (got == 0)
            return damaged(s, at, "it became shorter while it was read", err);
        s->filled += (size_t)got;
    }
    return EASE_OK;
}

enum { WINDOW_BYTES = WINDOW + JOURNAL_RECORD_BYTES + MOST_EVENT };

/* Sets *at to `bytes` bytes (at most a record's) at an offset, or to NULL if the
 * segment ends before. */
static ease_status look(scan *s, size_t offset, size_t bytes, const unsigned char **at,
                        ease_error *err)
{
    ease_status status = EASE_OK;
    size_t left = s->bytes - offset;

    *at = NULL;
    if (bytes > left)
        return EASE_OK;
    if (offset < s->from || offset + bytes > s->from + s->filled)
        status = fill(s, offset, left < WINDOW_BYTES ? left : WINDOW_BYTES, err);
    if (!status)
        *at = s->window + (offset - s->from);
    return status;
}

/* Sets *record to the valid record at an offset with a sequence number of least ..
 * most, or to NULL if there is none. */
static ease_status find_record(scan *s, size_t offset, uint64_t least, uint64_t most,
                               disk_record *head, const unsigned char **record,
                               ease_error *err)
{
    ease_status status = look(s, offset, sizeof(*head), record, err);

    if (status || !*record)
        return status;
    memcpy(head, *record, sizeof(*head));
    *record = NULL;
    if (head->bytes < LEAST_EVENT || head->bytes > MOST_EVENT ||
        head->sequence < least || head->sequence > most)
        return EASE_OK;
    status = look(s, offset, sizeof(*head) + head->bytes, record, err);
    if (!status && *record &&
        (record_hash(*record, head->bytes, s->seed) != head->hash ||
         !event_is_valid(*record, head->bytes)))
        *record = NULL;
    return status;
}

/* There is no valid record of event `next` at an offset. That is the trace of a write
 * that was interrupted, unless a record lies behind it that was written later. Records
 * that are written at once may reach the disk in any order; `place` tells them from
 * later ones. */
static ease_status check_torn(scan *s, size_t offset, uint64_t next, ease_error *err)
{
    char text[120];

    for (size_t at = offset + 1; at < s->bytes; at++) {
        const unsigned char *record;
        disk_record head;
        ease_status status = find_record(s, at, next, next + s->bytes, &head, &record,
                                         err);

        if (status)
            return status;
        if (record && head.sequence - head.place > next) {
            snprintf(text, sizeof(text),
                     "event %llu at byte %zu, although valid events lie behind it",
                     (unsigned long long)next, offset);
            return damaged(s, offset, text, err);
        }
    }
    return EASE_OK;
}

/* Calls the reader for each record. *end is set to the end of the last one. */
static ease_status read_records(scan *s, bool last, size_t *end, ease_error *err)
{
    size_t at = JOURNAL_HEADER_BYTES;
    ease_status status = EASE_OK;

    while (at < s->bytes) {
        uint64_t next = s->info.last + 1;
        const unsigned char *record;
        disk_record head;

        status = find_record(s, at, 0, UINT64_MAX, &head, &record, err);
        if (status)
            return status;
        if (!record)
            break;
        if (head.sequence != next)
            return damaged(s, at, "its events are not in their order", err);
        if (s->read) {
            journal_event e = journal_record_event(record);

            status = s->read(s->user, &e, err);
            if (status)
                return status;
        }
        s->info.last = next;
        at += sizeof(head) + head.bytes;
    }
    *end = at;
    if (at == s->bytes)
        return EASE_OK;
    if (!last)
        return damaged(s, at, "an event in a segment that others follow", err);
    s->info.torn = s->bytes - at;
    snprintf(s->info.torn_path, sizeof(s->info.torn_path), "%.200s/%s", s->path,
             s->name);
    return check_torn(s, at, s->info.last + 1, err);
}

static ease_status read_header(scan *s, int64_t number, bool first, ease_error *err)
{
    const unsigned char *at;
    disk_header h;
    char id[JOURNAL_ID_CHARS];
    ease_status status = look(s, 0, sizeof(h), &at, err);

    if (status)
        return status;
    if (!at || memcmp(at, magic, sizeof(magic)) != 0)
        return journal_fail(err, EASE_E_FORMAT, 0, "%.200s/%s: not a journal of ease",
                            s->path, s->name);
    memcpy(&h, at, sizeof(h));
    if (h.byte_order != byte_order)
        return journal_fail(err, EASE_E_FORMAT, 0,
                            "%.200s/%s: written on a machine of the other byte order",
                            s->path, s->name);
    if (h.version != VERSION)
        return journal_fail(err, EASE_E_VERSION, 0,
                            "%.200s/%s: version %u, written by a newer ease", s->path,
                            s->name, (unsigned)h.version);
    if (h.hash != header_hash(&h) || h.first == 0 || h.first > INT64_MAX)
        return damaged(s, 0, "wrong checksum of the header", err);
    id_to_text(h.id, id);
    if (h.number != (uint64_t)number || (!first && strcmp(id, s->info.id) != 0))
        return damaged(s, 0, "it is a segment of another journal, or was renamed", err);
    if (first) {
        memcpy(s->info.id, id, sizeof(id));
        s->seed = seed_of(id);
        s->info.first = h.first;
        s->info.last = h.first - 1;
    } else if (h.first != s->info.last + 1) {
        return damaged(s, 0, "events before it are missing", err);
    }
    return EASE_OK;
}

/* Opens a segment, and syncs what will be read: an event that has been read and then is
 * lost by a power failure would leave its number to another one. */
static ease_status open_segment(scan *s, int dir, int64_t number, ease_error *err)
{
    struct stat st;

    journal_segment_name(number, s->name);
    s->filled = 0;
    s->fd = openat(dir, s->name, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0 && errno == ENOENT)
        return journal_fail(err, EASE_E_FORMAT, 0, "%.200s: segment %s is missing",
                            s->path, s->name);
    if (s->fd < 0 || fstat(s->fd, &st) != 0)
        return journal_fail(err, EASE_E_IO, errno, "%.200s/%s: cannot open", s->path,
                            s->name);
    if (!S_ISREG(st.st_mode))
        return journal_fail(err, EASE_E_IO, 0, "%.200s/%s: not a regular file", s->path,
                            s->name);
    if (fdatasync(s->fd) != 0 && errno != EINVAL && errno != EROFS)
        return journal_fail(err, EASE_E_IO, errno, "%.200s/%s: cannot sync", s->path,
                            s->name);
    s->bytes = (size_t)st.st_size;
    s->info.bytes += s->bytes;
    return EASE_OK;
}

/* The numbers of the first and the last segment, and how many there are. */
static ease_status list_segments(int dir, const char *path, int64_t *first,
                                 int64_t *last, int64_t *count, ease_error *err)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    *first = *last = *count = 0;
    if (!d) {
        ease_status status = journal_fail(err, EASE_E_IO, errno, "%s: cannot read",
                                          path);

        if (fd >= 0)
            close(fd);
        return status;
    }
    while ((entry = readdir(d))) {
        int64_t number = segment_number(entry->d_name);

        if (!number)
            continue;
        ++*count;
        if (!*first || number < *first)
            *first = number;
        if (number > *last)
            *last = number;
    }
    closedir(d);
    return EASE_OK;
}

ease_status journal_scan(int dir, const char *path, journal_reader read, void *user,
                         journal_info *info, journal_end *end, ease_error *err)
{
    scan s = {.path = path, .read = read, .user = user, .info = {.first = 1}, .fd = -1};
    journal_end found = {0};
    int64_t first, last, count;
    ease_status status = list_segments(dir, path, &first, &last, &count, err);

    s.window = status ? NULL : malloc(WINDOW_BYTES);
    if (!status && !s.window)
        status = journal_fail(err, EASE_E_NOMEM, 0, "%s: reading the journal", path);
    for (int64_t number = first; !status && count && number <= last; number++) {
        status = open_segment(&s, dir, number, err);
        if (!status)
            status = read_header(&s, number, number == first, err);
        if (!status)
            status = read_records(&s, number == last, &found.bytes, err);
        if (s.fd >= 0)
            close(s.fd);
        s.fd = -1;
    }
    free(s.window);
    if (status)
        return status;
    s.info.segments = count;
    found.number = last;
    if (info)
        *info = s.info;
    if (end)
        *end = found;
    return EASE_OK;
}

ease_status journal_read(const char *path, journal_reader read, void *user,
                         journal_info *info, ease_error *err)
{
    journal_info found;
    int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    ease_status status;

    if (!path)
        return journal_fail(err, EASE_E_ARG, 0, "a path is required");
    if (dir < 0 && errno == ENOTDIR)
        return journal_fail(err, EASE_E_FORMAT, 0,
                            "%s: not a journal, which is a directory", path);
    if (dir < 0)
        return journal_fail(err, EASE_E_IO, errno, "%s: cannot open", path);
    status = journal_scan(dir, path, read, user, &found, NULL, err);
    close(dir);
    if (status)
        return status;
    if (!found.segments)
        return journal_fail(err, EASE_E_FORMAT, 0,
                            "%s: not a journal: it has no segment (0000000001.journal)",
                            path);
    if (info)
        *info = found;
    return EASE_OK;
}
