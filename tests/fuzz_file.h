/* Functions that the fuzz targets of model and Gram files share: they write the input
 * to a file and correct its checksums, so that the code behind the checksums is
 * reached. */
#ifndef EASE_FUZZ_FILE_H
#define EASE_FUZZ_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/container.h"
#include "infos.h"

enum { FUZZ_PATH = 48 };

/* Writes the bytes to an unnamed file. Returns its descriptor; `path` is valid until
 * the descriptor is closed. */
static inline int fuzz_file(const void *data, size_t size, char path[FUZZ_PATH])
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

static inline bool fuzz_inside(const ease__disk_section *s, size_t size)
{
    return s->offset <= size && s->bytes <= size - s->offset;
}

/* Corrects the block hashes of a large section, as far as they fit into its companion
 * section. */
static inline void fuzz_fix_blocks(unsigned char *file, size_t size,
                                   const ease__disk_header *h,
                                   const ease__disk_section *large)
{
    for (uint32_t i = 0; i < h->sections && i < EASE__SECTIONS; i++) {
        const ease__disk_section *s = &h->section[i];
        size_t length = strnlen(large->name, sizeof(large->name));
        uint64_t hash;

        if (length > 14 || ease__is_large(s) ||
            memcmp(s->name, large->name, length) != 0 || s->name[length] != '#' ||
            !fuzz_inside(s, size) || !fuzz_inside(large, size))
            continue;
        for (size_t at = 0; at < large->bytes && at / EASE__BLOCK * 8 + 8 <= s->bytes;
             at += EASE__BLOCK) {
            size_t left = (size_t)large->bytes - at;

            hash = XXH3_64bits(file + large->offset + at,
                               left < EASE__BLOCK ? left : EASE__BLOCK);
            memcpy(file + s->offset + at / EASE__BLOCK * 8, &hash, 8);
        }
    }
}

static inline void fuzz_fix_checksums(unsigned char *file, size_t size)
{
    ease__disk_header h;

    if (size < EASE__PAGE)
        return;
    memcpy(&h, file, sizeof(h));
    h.file_bytes = size;
    for (uint32_t i = 0; i < h.sections && i < EASE__SECTIONS; i++)
        if (ease__is_large(&h.section[i]))
            fuzz_fix_blocks(file, size, &h, &h.section[i]);
    for (uint32_t i = 0; i < h.sections && i < EASE__SECTIONS; i++) {
        ease__disk_section *s = &h.section[i];

        if (!ease__is_large(s) && s->offset >= EASE__PAGE && fuzz_inside(s, size))
            s->hash = XXH3_64bits(file + s->offset, (size_t)s->bytes);
    }
    h.hash = 0;
    h.hash = XXH3_64bits(&h, sizeof(h));
    memcpy(file, &h, sizeof(h));
}

#endif
