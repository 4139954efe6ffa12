/* Writes rows of weights to a model file. */
#ifndef EASE_MODEL_ROW_WRITER_H
#define EASE_MODEL_ROW_WRITER_H

#include "model/model.h"

/* Counts of weights that rounding to float16 sets to 0. If the values of items differ
 * in magnitude, so do their weights, and a small weight may matter as much as a large
 * one: the similarity W_ij q_j / q_i measures that. */
typedef struct ease__underflow {
    int64_t weights; /* nonzero before rounding */
    int64_t lost;    /* 0 after it, with a similarity above EASE__NO_SIMILARITY */
} ease__underflow;

/* Similarities are at most 1; those up to this have no noticeable effect on
 * rankings. */
#define EASE__NO_SIMILARITY 0x1p-20f

typedef struct ease__rows_job {
    const ease_model *model;
    bool halves;           /* F16, else F32 */
    size_t stride;         /* bytes from row to row in the file */
    float unit;            /* F16: weights are divided by this */
    ease__underflow *loss; /* F16: receives the counts; NULL: nothing is counted */
    ease__container_writer *writer;
    const ease_hooks *hooks;
    double from, to; /* progress of the whole call before and after this job */
} ease__rows_job;

/* Finds the largest finite |weight|. */
ease_status ease__rows_largest(const ease__rows_job *j, float *largest,
                               ease_error *err);
/* True if a weight that matters could become 0 in float16. For ordinary data the
 * smallest and the largest q show that none can. */
bool ease__rows_may_lose(const ease_model *m, float unit);
/* Writes the section "weights". */
ease_status ease__rows_write(const ease__rows_job *j, ease_error *err);

#endif
