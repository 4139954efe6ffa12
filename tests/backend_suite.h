/* The conformance suite of src/solve/backend.h. It needs a C library and libm only,
 * neither libease nor a BLAS, so that a plugin can be tested wherever it is
 * developed. */
#ifndef EASE_BACKEND_SUITE_H
#define EASE_BACKEND_SUITE_H

#include <stdio.h>

#include "solve/backend.h"

enum { BACKEND_SUITE_UNAVAILABLE = -1 };

/* Runs all checks on a backend. Prints a line to `out` for each check that fails.
 * Returns the number of failed checks. If the backend cannot be used on this machine,
 * prints the reason and returns BACKEND_SUITE_UNAVAILABLE. */
int backend_suite(const ease_backend *b, FILE *out);

#endif
