/* A fuzz input as a file without a name. */
#ifndef EASE_FUZZ_INPUT_H
#define EASE_FUZZ_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ease.h"
#include "infos.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A path to the bytes; close *fd afterwards. */
static inline const char *fuzz_path(const uint8_t *data, size_t size, int *fd)
{
    static char path[40];

    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (*fd < 0 || write(*fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
    return path;
}

/* Looks at all that was read, so that a sanitizer sees it too. */
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
        info.rows !=
            seen + info.below_rating + info.zero_weight + info.repeated + info.filtered)
        abort();
}

#endif
