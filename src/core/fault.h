/* Mapped files that can no longer be read: one that becomes shorter, or a disk that
 * fails, makes the kernel send SIGBUS to whoever reads the pages. The library handles
 * no signals; a program that does passes the address to ease_handle_fault(). */
#ifndef EASE_CORE_FAULT_H
#define EASE_CORE_FAULT_H

#include <stdatomic.h>

#include "core/core.h"

/* Faults in these bytes are ours from now on: *lost becomes true and the pages zero.
 * Pages that are only partly within the bytes are replaced one by one. A table of fixed
 * size: past 256 mappings at once, a fault ends the process as it would without. */
void ease__fault_watch(const void *from, size_t bytes, atomic_bool *lost);
/* Before the bytes are unmapped or lent; nothing happens if they are not watched. */
void ease__fault_forget(const void *from);

#endif
