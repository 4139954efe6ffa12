/* Writes a fuzz input to an unnamed file, and reads interactions from it. */
#ifndef EASE_FUZZ_INPUT_H
#define EASE_FUZZ_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "infos.h"
#include "read/readers.h"

enum { FUZZ_THREADS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes the bytes to an unnamed file and returns its path; close *fd afterwards. */
static inline const char *fuzz_path(const uint8_t *data, size_t size, int *fd)
{
    static char path[40];

    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (*fd < 0 || write(*fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
    return path;
}

/* Accesses all data that was read, so that sanitizers check it. */
static inline void fuzz_look(const ease_interactions *x)
{
    ease_interactions_info info = interactions_info(x);
    int64_t seen = 0;

    for (int64_t u = 0; u < info.users; u++) {
        ease_row r = ease_interactions_row(x, u);

        if (!ease_interactions_user_id(x, u))
            abort();
        for (int32_t i = 0; i < r.count; i++) {
            if (r.items[i] < 0 || r.items[i] >= info.items ||
                (i && r.items[i] <= r.items[i - 1]) ||
                !*ease_interactions_item_id(x, r.items[i]))
                abort();
            seen++;
        }
    }
    if (seen != info.interactions || seen == 0 ||
        info.rows != seen + info.below_rating + info.zero_weight + info.repeated +
                         info.filtered + info.outside_time)
        abort();
}

static inline void fuzz_same(const ease_interactions *a, const ease_interactions *b)
{
    if (a->users != b->users || a->items != b->items || a->nnz != b->nnz ||
        !a->vals != !b->vals ||
        memcmp(a->row_ptr, b->row_ptr, ((size_t)a->users + 1) * sizeof(*a->row_ptr)) !=
            0 ||
        memcmp(a->cols, b->cols, (size_t)a->nnz * sizeof(*a->cols)) != 0 ||
        (a->vals && memcmp(a->vals, b->vals, (size_t)a->nnz * sizeof(*a->vals)) != 0))
        abort();
    for (int64_t u = 0; u < a->users; u++)
        if (strcmp(ease_interactions_user_id(a, u), ease_interactions_user_id(b, u)))
            abort();
    for (int32_t i = 0; i < a->items; i++)
        if (strcmp(ease_interactions_item_id(a, i), ease_interactions_item_id(b, i)))
            abort();
    if (!a->doubt != !b->doubt || (a->doubt && strcmp(a->doubt, b->doubt) != 0))
        abort();
}

/* Reads a file by one thread in one block, and by several threads in blocks of a size
 * that the input's length chooses: the result or the message must be the same. */
static inline void fuzz_read(const char *path, size_t size, ease_read_options *o)
{
    ease_interactions *x = NULL, *y = NULL;
    ease_error first = {0}, second = {0};
    ease_status alone, together;

    o->threads = 1;
    alone = ease__interactions_read(path, o, 0, &x, &first);
    o->threads = FUZZ_THREADS;
    together = ease__interactions_read(path, o, 1 + size % 40, &y, &second);
    /* More threads need more memory. */
    if (together != EASE_E_MEMORY_LIMIT || alone == EASE_E_MEMORY_LIMIT) {
        if (together != alone || strcmp(first.text, second.text) != 0)
            abort();
        if (!alone) {
            fuzz_look(x);
            fuzz_same(x, y);
        }
    }
    ease_interactions_free(x);
    ease_interactions_free(y);
}

#endif
