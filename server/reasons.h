/* Why an item is in a list: the contributions of the items of the history. */
#ifndef EASE_SERVER_REASONS_H
#define EASE_SERVER_REASONS_H

#include "json.h"

typedef struct reasons {
    const ease_model *model;
    ease_scorer *scorer;
    ease_row row;
    ease_rec *found; /* one for each item of the history */
} reasons;

/* Allocates; false: no memory. */
bool reasons_start(reasons *r, arena *a);
/* Finds all reasons for the score of an item, the strongest first. */
ease_status reasons_find(const reasons *r, int32_t item, float *base, float *score,
                         ease_error *err);
/* Writes the first reasons that were found, of at most `most`. */
void reasons_write(const reasons *r, json_writer *w, int64_t most);
/* Finds and writes "reasons" and, if the model has one, "base". */
void reasons_put(const reasons *r, json_writer *w, int32_t item, int64_t most);

#endif
