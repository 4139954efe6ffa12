/* Calling OpenBLAS from many threads.
 *
 * Each call uses one of a fixed number of buffers: twice the number of threads that
 * OpenBLAS was built for (64 in Debian's package). OpenBLAS keeps one for each
 * processor to itself, and a call that finds no free buffer corrupts memory. All calls
 * of this library therefore pass a semaphore that admits as many threads as there are
 * free buffers. */
#ifndef EASE_COMPUTE_BLAS_H
#define EASE_COMPUTE_BLAS_H

#include "core/core.h"

/* The number of threads for a parallel region that calls BLAS: `requested` (0: one for
 * each processor), but no more than there are free buffers. Where that is fewer, the
 * log says so, once in a process (level 1). */
int ease__blas_threads(int requested, const ease_hooks *hooks);

/* Checks, before BLAS is called by `threads` threads, that the address space has
 * space for its buffers, since OpenBLAS retries for ever if it cannot map them.
 * Fails with EASE_E_NOMEM. */
ease_status ease__blas_check_memory(int threads, ease_error *err);

/* To be called by a thread before and after one or more calls of BLAS. The calls do
 * not nest, and there must be no fork() between them, since fork() waits for all of
 * them to end. ease__blas_begin waits while all buffers are in use, which happens
 * only during a fork() or if several threads call the library at the same time. */
void ease__blas_begin(void);
void ease__blas_end(void);

/* The OpenBLAS kernels that are better for a processor with these instructions than
 * the chosen ones; NULL: the choice is right. */
const char *ease__better_core(const char *chosen, bool avx2, bool avx512);

#endif
