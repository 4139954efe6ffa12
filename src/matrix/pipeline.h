/* Tiles of a file on their way through memory: read, worked on and written back at the
 * same time, some by one and some by another. */
#ifndef EASE_MATRIX_PIPELINE_H
#define EASE_MATRIX_PIPELINE_H

#include "matrix/tilefile.h"

/* Some tiles from (i, j) on, along a row or down a column. */
typedef struct ease__strip {
    int32_t i, j;
    char *at; /* where its tiles lie, one after the other */
} ease__strip;

typedef struct ease__pipeline {
    const ease__tilefile *file;
    char *ring; /* slots x a tile, at a multiple of EASE__TILE_GRAIN */
    int slots, threads;
    /* Asked before each strip, and by the caller's thread, which is OpenMP's 0, some
     * twenty times a second while there is nothing to work on. */
    bool (*stopped)(void *user);
    void *user;
} ease__pipeline;

/* The same for each of some strips, in any order. */
typedef struct ease__pass {
    ease__strip *strips;
    size_t count;
    int32_t length; /* tiles a strip */
    bool down;
    bool
        resident; /* they have their place; else they pass through the ring: length 1 */
    bool read, write;
    void (*work)(void *user, const ease__strip *s);
} ease__pass;

/* Ends early, and well, when stopped. */
ease_status ease__pipeline_run(const ease__pipeline *p, const ease__pass *pass,
                               ease_error *err);

/* Slots that keep disk and threads busy. */
int ease__pipeline_slots(int threads);

#endif
