/* A journal that is open for writing: events are appended by many threads, and are on
 * the disk when they are acknowledged.
 *
 *     journal_options o = {.apply = add_to_users, .user = u};
 *     journal *j;
 *
 *     journal_open("feedback", &o, &j, &info, &err);      replays all events
 *     journal_append(j, events, count, &receipt, &err);   returns when they are synced
 *     journal_close(j);
 *
 * One thread of the journal writes: it takes all events that wait, writes them at once,
 * syncs once (group commit), applies them and acknowledges them. A process that is
 * killed at any moment loses nothing that was acknowledged.
 *
 * Failures. If the disk is full, nothing is kept of the events that failed, and later
 * events are accepted again when there is space; the same holds if the file of a new
 * segment cannot be created, since nothing was written. If a write or a sync fails for
 * another reason, what the kernel has kept cannot be known: nothing is written any
 * more, all appends fail, and the process has to be started again (syncing a second
 * time could report success for data that is lost).
 *
 * All functions may be called by any thread, except journal_open and journal_close. */
#ifndef EASE_SERVER_JOURNAL_H
#define EASE_SERVER_JOURNAL_H

#include <sys/types.h>

#include "segments.h"

typedef struct journal journal;

/* The calls by which a journal changes its files, so that tests can make them fail.
 * They behave as those of libc, with errno. */
typedef struct journal_disk {
    ssize_t (*write)(int fd, const void *data, size_t bytes);
    int (*sync)(int fd); /* fdatasync of a segment */
    int (*truncate)(int fd, off_t bytes);
    int (*sync_directory)(int fd); /* fsync */
} journal_disk;

typedef struct journal_options {
    /* Called for each event when it is on the disk, in the order of their sequence: by
     * journal_open for those of the past, then by the writing thread, before the event
     * is acknowledged. NULL: nothing is done. If it fails, the event stays in the
     * journal, and nothing more is appended until a restart. */
    journal_reader apply;
    void *user;
    size_t segment_bytes; /* a new segment begins after so many; 0: 64 MiB */
    size_t most_waiting;  /* bytes of events that may wait; 0: 64 MiB */
    int64_t remembered;   /* number of event ids that are remembered at least, the most
                             recent ones, at 32 to 64 bytes each; 0: 500,000 */
    const journal_disk *disk; /* NULL: that of libc */
} journal_options;

/* Opens the journal in the directory `path`, which is created if it does not exist,
 * replays its events, and cuts off an incomplete record at its end; `info` (may be
 * NULL) says how many bytes that were. `o` may be NULL.
 *
 * Fails as journal_read does, and with EASE_E_IO if another process has the journal
 * open (sys_errno EWOULDBLOCK), or if the directory cannot be written. */
ease_status journal_open(const char *path, const journal_options *o, journal **out,
                         journal_info *info, ease_error *err);

/* What became of the events of one append. */
typedef struct journal_receipt {
    int64_t accepted;   /* written */
    int64_t duplicates; /* ignored: their event_id had been seen before */
    uint64_t sequence;  /* the last event of the journal when all of these are in it */
} journal_receipt;

/* Called once for each successful journal_submit, by the writing thread: it must not
 * wait for the journal. `r` and `err` are valid during the call; `r` is NULL if the
 * status is not EASE_OK. */
typedef void (*journal_done)(void *user, ease_status status, const journal_receipt *r,
                             const ease_error *err);

/* Queues events, which are copied, and returns at once; `done` is called when they are
 * on the disk, or with the failures of journal_append. Of one call either all events
 * are written or none. Fails with EASE_E_ARG for an event that journal_check_event
 * refuses (err->where: its index), EASE_E_TOO_LARGE for events that are more than may
 * wait, EASE_E_MEMORY_LIMIT if too many events wait, EASE_E_NOMEM, or EASE_E_IO if the
 * journal has failed; `done` is then not called. */
ease_status journal_submit(journal *j, const journal_event *events, int64_t count,
                           journal_done done, void *user, ease_error *err);

/* Appends events and waits until they are on the disk. Fails as journal_submit does,
 * and with EASE_E_IO: err->sys_errno says why, see journal_is_full. */
ease_status journal_append(journal *j, const journal_event *events, int64_t count,
                           journal_receipt *out, ease_error *err);

/* True if this is the error of a disk that is full (or of a quota). */
bool journal_is_full(const ease_error *err);

typedef enum journal_state {
    JOURNAL_WRITING, /* it accepts events */
    JOURNAL_FULL,    /* the disk was full when events were last written */
    JOURNAL_FAILED   /* nothing is written any more */
} journal_state;

typedef struct journal_status {
    journal_state state;
    uint64_t last;    /* sequence number of the last event on the disk */
    int64_t segments; /* number of files */
    size_t bytes;     /* of all segments */
    size_t waiting;   /* bytes of events that wait */
    int64_t syncs;    /* since the journal was opened */
    int64_t duplicates;
    ease_error error; /* of the last failure; text "": none */
} journal_status;

void journal_describe(journal *j, journal_status *out);
const char *journal_id(const journal *j);

/* Waits until all events that were submitted are written, and closes the journal; NULL
 * is allowed. */
void journal_close(journal *j);

#endif
