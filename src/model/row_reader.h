/* Reads the nonzero weights of a model row by row, at the cost that the form has for
 * them. */
#ifndef EASE_MODEL_ROW_READER_H
#define EASE_MODEL_ROW_READER_H

#include "model/model.h"

typedef struct ease__row_reader {
    const ease_model *model;
    int32_t top; /* 0: all weights are kept */
    float *rows; /* of dense forms: a group of rows that is read at the cost of one */
    ease_rec *recs; /* the weights of the current row, by column; with `top` the largest
                       by magnitude, largest first */
    ease_rec *best; /* scratch, with `top` */
    int32_t count;  /* of recs */
} ease__row_reader;

/* Makes a reader of all nonzero weights, or if top is not 0 of the `top` largest of
 * each row by magnitude. Fails with EASE_E_NOMEM. Free it in any case. */
ease_status ease__row_reader_new(const ease_model *m, int32_t top,
                                 ease__row_reader *out, ease_error *err);
void ease__row_reader_free(ease__row_reader *r);
/* Reads a row: rows must be read in order, from 0 on. Fails if the file of the model is
 * damaged or has changed. */
ease_status ease__row_reader_read(ease__row_reader *r, int32_t row, ease_error *err);

#endif
