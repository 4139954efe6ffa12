/* CSV (RFC 4180) into a file that appears whole or not at all. */
#ifndef EASE_CORE_CSV_H
#define EASE_CORE_CSV_H

#include "core/output.h"

typedef struct ease__csv {
    ease__output out;
    char *buffer;
    size_t used;
    bool within;        /* a field was put into this row */
    ease_status status; /* of the first thing that failed; what follows does nothing */
    ease_error *err;
} ease__csv;

/* "-" is standard output. End with ease__csv_close in any case. */
void ease__csv_open(ease__csv *w, const char *path, ease_error *err);
/* Quoted where a reader would stumble. */
void ease__csv_text(ease__csv *w, const char *field);
/* Digits that give the double back, with a point in every locale. */
void ease__csv_real(ease__csv *w, double value);
void ease__csv_end_row(ease__csv *w);
/* The file takes its name, or there is none. */
ease_status ease__csv_close(ease__csv *w);

#endif
