/* A tiled matrix in a file without a name, for a matrix that does not fit into
 * memory. */
#ifndef EASE_MATRIX_TILEFILE_H
#define EASE_MATRIX_TILEFILE_H

#include "matrix/tiled.h"

typedef struct ease__tilefile {
    ease__tiled shape; /* whole and padded; no data */
    int fd;            /* -1: none */
    bool direct;       /* it bypasses the page cache (O_DIRECT) */
    char *dir;         /* for messages */
} ease__tilefile;

#define EASE__TILEFILE_NONE ((ease__tilefile){.fd = -1})

/* Creates the file in `dir` with all its bytes reserved, so that a full disk is
 * detected at once. It has no name, so that it disappears with the process. */
ease_status ease__tilefile_new(const char *dir, const ease__tiled *shape,
                               ease__tilefile *out, ease_error *err);
void ease__tilefile_free(ease__tilefile *f);

/* Reads or writes `count` tiles from (i, j) on, in storage order; the memory is
 * aligned to EASE__TILE_GRAIN. Any thread may call them. */
ease_status ease__tilefile_read(const ease__tilefile *f, int32_t i, int32_t j,
                                size_t count, void *to, ease_error *err);
ease_status ease__tilefile_write(const ease__tilefile *f, int32_t i, int32_t j,
                                 size_t count, const void *from, ease_error *err);

/* Reads or writes the tile rows of a band, by all threads. */
ease_status ease__tilefile_read_band(const ease__tilefile *f, ease__tiled *band,
                                     int threads, ease_error *err);
ease_status ease__tilefile_write_band(const ease__tilefile *f, const ease__tiled *band,
                                      int threads, ease_error *err);
/* Writes only the diagonal tiles of a band. */
ease_status ease__tilefile_write_diagonal(const ease__tilefile *f,
                                          const ease__tiled *band, ease_error *err);

/* Converts F64 to F32, each tile in its place. */
ease_status ease__tilefile_narrow(ease__tilefile *f, ease_error *err);

/* Maps the whole matrix read-only; freed with ease__tiled_free. Pages that were read
 * stay in memory until they are dropped. */
ease_status ease__tilefile_map(const ease__tilefile *f, ease__tiled *out,
                               ease_error *err);
void ease__tilefile_forget(const ease__tilefile *f, const ease__tiled *map);

#endif
