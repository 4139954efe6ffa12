/* Gram files: their small sections, and iteration over their tiles. */
#ifndef EASE_GRAM_GRAM_FILE_H
#define EASE_GRAM_GRAM_FILE_H

#include "core/container.h"
#include "gram/gram.h"

/* Section "params". The others are "ids" (packed), "sums" (float64 for each item;
 * absent if unknown) and the large section "tiles": the matrix as in memory. */
typedef struct ease__gram_params {
    int64_t users, interactions; /* -1: unknown */
    int32_t items, edge;
    uint32_t element; /* ease__element */
    uint32_t weighted;
} ease__gram_params;

typedef struct ease__gram_file {
    ease__container file;
    ease__gram_params params;
    ease__ids ids;      /* borrowed from the file */
    const double *sums; /* likewise; NULL: unknown */
} ease__gram_file;

ease_status ease__gram_file_open(const char *path, ease__gram_file *out,
                                 ease_error *err);
void ease__gram_file_close(ease__gram_file *f);

/* Calls `take` for every tile in order. `tile` is edge x edge: uint32 if the file
 * has counts, otherwise float64. */
typedef ease_status ease__take_tile(void *user, int32_t i, int32_t j, const void *tile,
                                    ease_error *err);
ease_status ease__gram_file_tiles(const ease__gram_file *f, ease__take_tile *take,
                                  void *user, const ease_hooks *hooks, ease_error *err);

/* Copies everything but the tiles. */
ease_status ease__gram_file_head(const ease__gram_file *f, ease_gram *g,
                                 ease_error *err);
/* Reads tile (i, j) to its place in g->g, whose element type is U32 only if the file
 * has counts. `s` is the open section "tiles", scratch has ease__gram_file_scratch
 * bytes; threads with a scratch of their own may call this at the same time. */
ease_status ease__gram_file_tile(const ease__gram_file *f,
                                 const ease__section_stream *s, int32_t i, int32_t j,
                                 void *scratch, ease_gram *g, ease_error *err);
size_t ease__gram_file_scratch(const ease__gram_file *f);

#endif
