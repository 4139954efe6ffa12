/* The segment of a journal. Its checksums are corrected, so that the code behind them
 * is reached, except in every third input. What can be read can be opened and appended
 * to, and has one event more afterwards. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "journal.h"

enum { ID = 16, ID_BYTES = 16, HEADER_HASH = 56 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/fuzz_journal.XXXXXX", segment[80];

static void remove_directory(void)
{
    unlink(segment);
    rmdir(dir);
}

static void start(void)
{
    if (*segment)
        return;
    if (!mkdtemp(dir) || atexit(remove_directory))
        abort();
    snprintf(segment, sizeof(segment), "%s/0000000001.journal", dir);
}

static void put_segment(const uint8_t *data, size_t size)
{
    int fd = open(segment, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
}

static void fix_checksums(uint8_t *data, size_t size)
{
    char id[JOURNAL_ID_CHARS];
    uint64_t hash, seed;
    uint32_t bytes;

    if (size < JOURNAL_HEADER_BYTES)
        return;
    hash = XXH3_64bits(data, HEADER_HASH);
    memcpy(data + HEADER_HASH, &hash, sizeof(hash));
    for (int i = 0; i < ID_BYTES; i++)
        snprintf(id + 2 * i, 3, "%02x", data[ID + i]);
    seed = XXH3_64bits(id, JOURNAL_ID_CHARS - 1);
    for (size_t at = JOURNAL_HEADER_BYTES; at + JOURNAL_RECORD_BYTES <= size;
         at += JOURNAL_RECORD_BYTES + bytes) {
        memcpy(&bytes, data + at + sizeof(hash), sizeof(bytes));
        if (bytes > size - at - JOURNAL_RECORD_BYTES)
            return;
        hash = XXH3_64bits_withSeed(data + at + sizeof(hash),
                                    JOURNAL_RECORD_BYTES - sizeof(hash) + bytes, seed);
        memcpy(data + at, &hash, sizeof(hash));
    }
}

/* What a reader is promised; counts the events. */
static ease_status look(void *user, const journal_event *e, ease_error *err)
{
    if (journal_check_event(e, err) || strlen(e->event_id) > JOURNAL_MOST_ID)
        abort();
    ++*(int64_t *)user;
    return EASE_OK;
}

static void append_one(const journal_info *before)
{
    const journal_event e = {
        .kind = JOURNAL_SET, .weight = 1, .user = "u", .item = "i"};
    int64_t count = 0;
    const journal_options o = {.apply = look, .user = &count};
    journal_info info;
    journal_receipt r;
    journal *j;

    if (journal_open(dir, &o, &j, &info, NULL) || info.last != before->last ||
        info.torn != before->torn || journal_append(j, &e, 1, &r, NULL))
        abort();
    journal_close(j);
    if (r.sequence != before->last + 1 ||
        count != (int64_t)(r.sequence - before->first + 1) ||
        journal_read(dir, NULL, NULL, &info, NULL) || info.torn ||
        info.last != r.sequence)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    journal_info info;
    int64_t count = 0;

    start();
    memcpy(copy, data, size);
    if (size % 3 != 1)
        fix_checksums(copy, size);
    put_segment(copy, size);
    if (journal_read(dir, look, &count, &info, NULL) == EASE_OK) {
        if (count != (int64_t)(info.last + 1 - info.first) || info.torn > size)
            abort();
        append_one(&info);
    }
    free(copy);
    return 0;
}
