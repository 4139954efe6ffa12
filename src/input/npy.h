/* NumPy's .npy format: its header, and elements as numbers. */
#ifndef EASE_INPUT_NPY_H
#define EASE_INPUT_NPY_H

#include "core/core.h"

typedef struct ease__npy {
    char kind;   /* b, i, u, f, S or U */
    size_t size; /* bytes of an element, below 100 */
    int dimensions;
    size_t shape[2]; /* of the first two dimensions; 1 for a missing one */
    bool by_columns; /* Fortran order */
} ease__npy;

/* Reads exactly `bytes` bytes of the header, or fails. */
typedef ease_status ease__npy_source(void *from, void *to, size_t bytes,
                                     ease_error *err);

/* Parses a header; `name` is for messages. Fails with EASE_E_PARSE, or as the source
 * does. */
ease_status ease__npy_head(ease__npy_source *source, void *from, const char *name,
                           ease__npy *out, ease_error *err);

/* Writes a header of version 1.0, for a type such as "<f4" and a shape such as "(2,)";
 * data follow it. */
enum { EASE__NPY_HEAD = 128 };
void ease__npy_write_head(char to[EASE__NPY_HEAD], const char *type, const char *shape);

bool ease__npy_is_integer(const ease__npy *a);
bool ease__npy_is_number(const ease__npy *a);
/* The value of an integer element of 1 to 8 bytes; -1 if it is beyond int64. */
int64_t ease__npy_integer(const ease__npy *a, const unsigned char *element);
double ease__npy_double(const ease__npy *a, const unsigned char *element);

#endif
