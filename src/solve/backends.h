/* The table of backends, and calls of a backend with the types of the library. */
#ifndef EASE_SOLVE_BACKENDS_H
#define EASE_SOLVE_BACKENDS_H

#include "matrix/tilefile.h"
#include "solve/backend.h"

/* The built-in backends, one in a line; the first is the default. Each is a constant in
 * its own file. */
#define EASE__BACKENDS(BACKEND) \
    BACKEND(ease__cpu)          \
    BACKEND(ease__cuda)         \
    BACKEND(ease__auto)

#define EASE__DECLARE_BACKEND(backend) extern const ease_backend backend;
EASE__BACKENDS(EASE__DECLARE_BACKEND)
extern const ease_backend *const ease__backends[]; /* all of them, then NULL */

/* The backend of this name, or the default for NULL, after a successful probe. Fails
 * with EASE_E_ARG if there is none of this name, EASE_E_BACKEND if it cannot be used
 * here. */
ease_status ease__backend_find(const char *name, const ease_backend **out,
                               ease_error *err);

/* Probes a backend. Fails with EASE_E_BACKEND and its reason. */
ease_status ease__backend_probe(const ease_backend *b, ease_error *err);

/* Loads a plugin, a shared object at an absolute path; it stays loaded. Fails with
 * EASE_E_BACKEND if it cannot be loaded, is not a plugin of this ABI, or has an
 * incomplete table. Does not probe it. */
ease_status ease__backend_load(const char *path, const ease_backend **out,
                               ease_error *err);

/* Checks, before a matrix of this shape is made, that the backend has its precision and
 * the memory on its device. Fails with EASE_E_BACKEND or EASE_E_MEMORY_LIMIT. */
ease_status ease__backend_check(const ease_backend *b, const ease__tiled *shape,
                                int threads, size_t device_memory, ease_error *err);
/* Checks the precision only: the functions of a backend must not be called with a
 * precision that it lacks. */
ease_status ease__backend_check_precision(const ease_backend *b, ease__element element,
                                          ease_error *err);
/* Fails with EASE_E_BACKEND if the backend inverts in memory only. */
ease_status ease__backend_check_file(const ease_backend *b, ease_error *err);

/* Call the functions of a backend; device_memory: see ease_backend_call. Failures have
 * the matching ease_status; for EASE_E_NOT_POSDEF err->where is the item. */
ease_backend_scratch ease__backend_scratch(const ease_backend *b,
                                           const ease__tiled *shape, int threads,
                                           size_t device_memory);
/* NULL: there is no more accurate one in this precision. */
const ease_backend *ease__backend_careful(const ease_backend *b,
                                          const ease__tiled *shape, int threads,
                                          size_t device_memory);
ease_backend_file_scratch ease__backend_file_scratch(const ease_backend *b,
                                                     const ease__tiled *shape,
                                                     int threads, size_t memory);
ease_status ease__backend_rate(const ease_backend *b, const ease__tiled *shape,
                               int threads, size_t device_memory,
                               double *flops_a_second, ease_error *err);
ease_status ease__backend_invert(const ease_backend *b, const ease__tiled *a,
                                 int threads, size_t device_memory,
                                 const ease_hooks *hooks, ease_error *err);
ease_status ease__backend_invert_file(const ease_backend *b, const ease__tilefile *f,
                                      size_t memory, int threads,
                                      const ease_hooks *hooks, ease_error *err);

/* Convert between statuses of the library and of backends. A status of the library that
 * backends lack becomes EASE_BACKEND_FAILED, which becomes EASE_E_BACKEND. */
int32_t ease__backend_status_from(ease_status status);
ease_status ease__backend_status_to(int32_t status);

#endif
