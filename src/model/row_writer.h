/* Rows of weights on their way into a file. */
#ifndef EASE_MODEL_ROW_WRITER_H
#define EASE_MODEL_ROW_WRITER_H

#include "model/model.h"

typedef struct ease__rows_job {
    const ease_model *model;
    ease_storage storage; /* F32 or F16 */
    size_t stride;        /* bytes from row to row in the file */
    float unit;           /* F16: what is written is a weight divided by this */
    ease__container_writer *writer;
    const ease_hooks *hooks;
    double from, to; /* progress: what was before, and what will be after */
} ease__rows_job;

/* The largest |weight| that is finite. */
ease_status ease__rows_largest(const ease__rows_job *j, float *largest,
                               ease_error *err);
/* The section "weights". */
ease_status ease__rows_write(const ease__rows_job *j, ease_error *err);

#endif
