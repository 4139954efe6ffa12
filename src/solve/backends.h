/* The table of backends, and calling one of them with the library's own types. */
#ifndef EASE_SOLVE_BACKENDS_H
#define EASE_SOLVE_BACKENDS_H

#include "matrix/tilefile.h"
#include "solve/backend.h"

/* The backends that are built in, a line each; the first is the default. Each is a
 * constant of this name in a file of its own. */
#define EASE__BACKENDS(BACKEND) BACKEND(ease__cpu)

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
 * EASE_E_BACKEND where it cannot be loaded, is no plugin of this ABI, or its table is
 * incomplete. Does not probe it. */
ease_status ease__backend_load(const char *path, const ease_backend **out,
                               ease_error *err);

/* Checks, before a matrix of this shape is made, that the backend has its precision and
 * the memory on its device. Fails with EASE_E_BACKEND or EASE_E_MEMORY_LIMIT. */
ease_status ease__backend_check(const ease_backend *b, const ease__tiled *shape,
                                int threads, ease_error *err);
/* The first of these checks alone: a backend is not asked about memory or time in a
 * precision that it lacks. */
ease_status ease__backend_check_precision(const ease_backend *b, ease__element element,
                                          ease_error *err);
/* Fails with EASE_E_BACKEND if the backend inverts in memory only. */
ease_status ease__backend_check_file(const ease_backend *b, ease_error *err);

/* The functions of a table. Failures have the matching ease_status, and for
 * EASE_E_NOT_POSDEF err->where is the item. */
ease_backend_scratch ease__backend_scratch(const ease_backend *b,
                                           const ease__tiled *shape, int threads);
ease_backend_file_scratch ease__backend_file_scratch(const ease_backend *b,
                                                     const ease__tiled *shape,
                                                     int threads, size_t memory);
ease_status ease__backend_rate(const ease_backend *b, const ease__tiled *shape,
                               int threads, double *flops_a_second, ease_error *err);
ease_status ease__backend_invert(const ease_backend *b, const ease__tiled *a,
                                 int threads, const ease_hooks *hooks, ease_error *err);
ease_status ease__backend_invert_file(const ease_backend *b, const ease__tilefile *f,
                                      size_t memory, int threads,
                                      const ease_hooks *hooks, ease_error *err);

/* The status of the contract for one of the library, and back. What the contract has no
 * name for is EASE_BACKEND_FAILED, and that is EASE_E_BACKEND. */
int32_t ease__backend_status_from(ease_status status);
ease_status ease__backend_status_to(int32_t status);

#endif
