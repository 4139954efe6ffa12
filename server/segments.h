/* The files of a journal: a directory with the segments 0000000001.journal,
 * 0000000002.journal, ..., each a header and records, one for each event of feedback.
 * docs/file-formats.md describes them byte by byte. This file reads and makes segments;
 * journal.h appends to them.
 *
 * Events are records of what a user did: "user u1 has item express with weight 1", or
 * "user u1 does not have item express any more". The last event of a user and an item
 * wins. Sequence numbers count events from 1 on, without gaps; a journal whose oldest
 * segments were deleted begins with a larger one.
 *
 * The functions need nothing but libc, xxHash and ease.h. */
#ifndef EASE_SERVER_SEGMENTS_H
#define EASE_SERVER_SEGMENTS_H

#include <stdbool.h>

#include "ease.h"

typedef enum journal_kind { JOURNAL_SET = 1, JOURNAL_REMOVE = 2 } journal_kind;

enum { JOURNAL_MOST_ID = 65535 }; /* bytes of an id */

/* An event. Ids are strings of any bytes except NUL; user and item are not empty. */
typedef struct journal_event {
    journal_kind kind;
    float weight; /* JOURNAL_SET: finite and not 0 */
    const char *user, *item;
    const char *event_id; /* chosen by the client, so that it can send an event again;
                             NULL or "": none */
    int64_t time;         /* milliseconds since 1970; 0: now */
    uint64_t sequence;    /* set by the journal */
} journal_event;

/* Called for each event of a journal, in the order of their sequence. Strings are valid
 * during the call only. Any status but EASE_OK ends the reading, which then fails with
 * it. */
typedef ease_status (*journal_reader)(void *user, const journal_event *e,
                                      ease_error *err);

enum { JOURNAL_ID_CHARS = 33 };

typedef struct journal_info {
    char id[JOURNAL_ID_CHARS]; /* of the journal: 32 random hexadecimal digits */
    uint64_t first, last;      /* sequence numbers; last = first - 1: no event */
    int64_t segments;          /* number of files */
    size_t bytes;              /* of all segments */
    size_t torn;               /* bytes of an incomplete record at the end, which were
                                   never acknowledged: not read, and cut off by
                                   journal_open */
    char torn_path[256];       /* the segment with these bytes; "": there is none */
} journal_info;

/* Fills in `err` (may be NULL) and evaluates to the status, so that it can be returned.
 * With `sys_errno` (0: none), its text ends the message. A macro, so that static
 * analysis sees that the value is a failure. */
#define journal_fail(err, status, sys_errno, ...) \
    (journal_note_error((err), (status), (sys_errno), __VA_ARGS__), (status))

void journal_note_error(ease_error *err, ease_status status, int sys_errno,
                        const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Checks the kind, the weight and the ids of an event. Fails with EASE_E_ARG. */
ease_status journal_check_event(const journal_event *e, ease_error *err);

/* Reads all events of the journal in the directory `path`, also while a server appends
 * to it: what is read is on the disk. `read` may be NULL: the journal is only checked.
 * `info` may be NULL.
 *
 * An incomplete record at the end is the trace of a write that a crash interrupted, and
 * is no failure. Damage anywhere else is: EASE_E_FORMAT. Also fails with EASE_E_IO,
 * EASE_E_VERSION, EASE_E_NOMEM, and as `read` does. */
ease_status journal_read(const char *path, journal_reader read, void *user,
                         journal_info *info, ease_error *err);

/* ---- for the server ------------------------------------------------------------- */

enum { JOURNAL_HEADER_BYTES = 64, JOURNAL_RECORD_BYTES = 24, JOURNAL_EVENT_BYTES = 24 };

/* The bytes of the record of an event that journal_check_event accepts, and writing
 * it to `to`. journal_seal then sets its sequence number, its place among the records
 * that are written at once (0: the first) and its checksum. */
size_t journal_record_bytes(const journal_event *e);
void journal_record_put(const journal_event *e, unsigned char *to);
/* Returns the bytes of the record. */
size_t journal_seal(unsigned char *record, const char *id, uint64_t sequence,
                    uint32_t place);
/* Reads the event of a sealed record; strings lie in the record. */
journal_event journal_record_event(const unsigned char *record);

/* The state of the last segment, to which is appended. */
typedef struct journal_end {
    int64_t number; /* of the segment; 0: there is none yet */
    size_t bytes;   /* of its header and its complete records */
} journal_end;

/* Does what journal_read does in an open directory whose only writer is the caller. */
ease_status journal_scan(int dir, const char *path, journal_reader read, void *user,
                         journal_info *info, journal_end *end, ease_error *err);

/* The name of a segment. */
enum { JOURNAL_NAME_CHARS = 32 };
void journal_segment_name(int64_t number, char name[JOURNAL_NAME_CHARS]);

/* Writes the header of segment `number`, whose first record will be `first`. */
void journal_header_put(const char *id, int64_t number, uint64_t first,
                        unsigned char to[JOURNAL_HEADER_BYTES]);

#endif
