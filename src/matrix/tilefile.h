/* A tiled matrix in a nameless file, for when memory is short. */
#ifndef EASE_MATRIX_TILEFILE_H
#define EASE_MATRIX_TILEFILE_H

#include "matrix/tiled.h"

typedef struct ease__tilefile {
    ease__tiled shape; /* whole and padded; no data */
    int fd;            /* -1: none */
    bool direct;       /* the page cache is passed by */
    char *dir;         /* for messages */
} ease__tilefile;

#define EASE__TILEFILE_NONE ((ease__tilefile){.fd = -1})

/* Makes the file in `dir`, all its bytes reserved, so that a full disk is known at
 * once. It has no name: it is gone with the process, however that ends. */
ease_status ease__tilefile_new(const char *dir, const ease__tiled *shape,
                               ease__tilefile *out, ease_error *err);
void ease__tilefile_free(ease__tilefile *f);

/* `count` tiles from (i, j) on, as they follow each other, from or to memory at a
 * multiple of EASE__TILE_GRAIN. From any thread. */
ease_status ease__tilefile_read(const ease__tilefile *f, int32_t i, int32_t j,
                                size_t count, void *to, ease_error *err);
ease_status ease__tilefile_write(const ease__tilefile *f, int32_t i, int32_t j,
                                 size_t count, const void *from, ease_error *err);

/* The rows of a band, by all threads. */
ease_status ease__tilefile_read_band(const ease__tilefile *f, ease__tiled *band,
                                     int threads, ease_error *err);
ease_status ease__tilefile_write_band(const ease__tilefile *f, const ease__tiled *band,
                                      int threads, ease_error *err);
/* Only its diagonal tiles. */
ease_status ease__tilefile_write_diagonal(const ease__tilefile *f,
                                          const ease__tiled *band, ease_error *err);

/* F64 becomes F32, each tile in its place. */
ease_status ease__tilefile_narrow(ease__tilefile *f, ease_error *err);

/* The whole matrix, read-only; freed with ease__tiled_free. What has been looked at
 * stays in memory until it is forgotten. */
ease_status ease__tilefile_map(const ease__tilefile *f, ease__tiled *out,
                               ease_error *err);
void ease__tilefile_forget(const ease__tilefile *f, const ease__tiled *map);

#endif
