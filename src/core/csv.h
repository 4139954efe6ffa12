/* Writes CSV (RFC 4180) into a file that appears complete or not at all. */
#ifndef EASE_CORE_CSV_H
#define EASE_CORE_CSV_H

#include "core/output.h"

typedef struct ease__csv {
    ease__output out;
    char *buffer;
    size_t used;
    bool within;        /* the current row has a field */
    ease_status status; /* the first failure; calls after it do nothing */
    ease_error *err;
} ease__csv;

/* Opens a file for writing; "-" is standard output. ease__csv_close must be called
 * in any case. */
void ease__csv_open(ease__csv *w, const char *path, ease_error *err);
/* Writes a field, quoted if it needs to be. */
void ease__csv_text(ease__csv *w, const char *field);
/* Writes the digits that read back as the same double, with a decimal point in every
 * locale. */
void ease__csv_real(ease__csv *w, double value);
void ease__csv_end_row(ease__csv *w);
/* Gives the file its name, or removes it if anything failed. */
ease_status ease__csv_close(ease__csv *w);

#endif
