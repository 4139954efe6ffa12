/* Calling OpenBLAS from many threads.
 *
 * A call takes one of a fixed number of buffers, twice the threads that OpenBLAS was
 * built for (Debian's: 64), of which it keeps one for each processor. Calls that find none
 * left corrupt its memory. So all calls of this library pass a gate that lets in as many
 * at a time as there are buffers. */
#ifndef EASE_BLAS_H
#define EASE_BLAS_H

#include "core/core.h"

/* How many threads may call BLAS: `requested` (0: all), or as many as there are buffers.
 * The log is told of the latter (level 1), once in a process. */
int ease__blas_threads(int requested, const ease_hooks *hooks);

/* EASE_E_NOMEM where OpenBLAS could not map its buffers for so many threads: it would
 * try for ever. To be asked before calling it. */
ease_status ease__blas_room(int threads, ease_error *err);

/* Around one or some calls of a thread; not nested, and without a fork() in between,
 * which waits for all to end. Beginning waits while all buffers are in use, which only
 * concurrent calls of the library can bring about, and forks. */
void ease__blas_begin(void);
void ease__blas_end(void);

#endif
