/* The conformance suite of src/solve/backend.h. It needs a C library and libm only,
 * neither libease nor a BLAS, so that a plugin can be tested wherever it is
 * developed. */
#ifndef EASE_BACKEND_SUITE_H
#define EASE_BACKEND_SUITE_H

#include <stdio.h>

#include "solve/backend.h"

enum { BACKEND_SUITE_UNAVAILABLE = -1 };

/* Runs all checks on a backend; those with matrices of up to 3,000 items only if it has a
 * device. Prints a line to `out` for each check that fails.
 * Returns the number of failed checks. If the backend cannot be used on this machine,
 * prints the reason and returns BACKEND_SUITE_UNAVAILABLE. */
int backend_suite(const ease_backend *b, FILE *out);

/* The same with all matrices, and with at most so many bytes of a device's memory, of
 * which any number suffices for matrices of the suite if the backend can keep a matrix on
 * the host. 0: no limit, and with others in turn where there is a device. */
int backend_suite_larger(const ease_backend *b, size_t device_memory, FILE *out);

#endif
