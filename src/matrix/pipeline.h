/* Processes the tiles of a file: some are read and some written back while others
 * are worked on. */
#ifndef EASE_MATRIX_PIPELINE_H
#define EASE_MATRIX_PIPELINE_H

#include "matrix/tilefile.h"

/* A strip: some tiles from (i, j) on, along a row or down a column. */
typedef struct ease__strip {
    int32_t i, j;
    char *at; /* its tiles, contiguous */
} ease__strip;

typedef struct ease__pipeline {
    const ease__tilefile *file;
    char *ring; /* slots x a tile, at a multiple of EASE__TILE_GRAIN */
    int slots, threads;
    /* Called before each strip, and by the caller's thread (thread 0 of OpenMP) some
     * twenty times a second while it has no work. True ends the run. */
    bool (*stopped)(void *user);
    void *user;
} ease__pipeline;

/* A pass: one operation on each of some strips, in any order. */
typedef struct ease__pass {
    ease__strip *strips;
    size_t count;
    int32_t length; /* tiles of a strip */
    bool down;
    bool resident; /* in memory; else through the ring, length 1 */
    bool read, write;
    void (*work)(void *user, const ease__strip *s);
} ease__pass;

/* Runs a pass. Returns EASE_OK, with strips left undone, if `stopped` says so. */
ease_status ease__pipeline_run(const ease__pipeline *p, const ease__pass *pass,
                               ease_error *err);

/* The number of slots that keeps disk and threads busy. */
int ease__pipeline_slots(int threads);

#endif
