/* Rows of weights on their way into a file. */
#ifndef EASE_MODEL_ROW_WRITER_H
#define EASE_MODEL_ROW_WRITER_H

#include "model/model.h"

/* Counts what rounding to halves loses. Where the values of items differ in size, so do their
 * weights, and a small one may matter as much as a large one: the similarity
 * W_ij q_j / q_i tells. */
typedef struct ease__underflow {
    int64_t weights; /* not 0 before */
    int64_t lost;    /* 0 after, of a similarity above EASE__NO_SIMILARITY */
} ease__underflow;

/* Similarities are at most 1; those up to this change no ranking to speak of. */
#define EASE__NO_SIMILARITY 0x1p-20f

typedef struct ease__rows_job {
    const ease_model *model;
    bool halves;           /* F16, else F32 */
    size_t stride;         /* bytes from row to row in the file */
    float unit;            /* F16: what is written is a weight divided by this */
    ease__underflow *loss; /* F16: to be counted; NULL: not */
    ease__container_writer *writer;
    const ease_hooks *hooks;
    double from, to; /* progress: what was before, and what will be after */
} ease__rows_job;

/* Finds the largest finite |weight|. */
ease_status ease__rows_largest(const ease__rows_job *j, float *largest,
                               ease_error *err);
/* True if a weight that matters could become 0 in halves. In ordinary data none can, as
 * the least and the largest q show. */
bool ease__rows_may_lose(const ease_model *m, float unit);
/* Writes the section "weights". */
ease_status ease__rows_write(const ease__rows_job *j, ease_error *err);

#endif
