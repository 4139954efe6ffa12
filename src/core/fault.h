/* Faults in mapped files: the kernel sends SIGBUS to a thread that reads a page of a
 * mapping after the file was truncated or its disk has failed. The library installs no
 * signal handler; a program's handler passes the address to ease_handle_fault(). */
#ifndef EASE_CORE_FAULT_H
#define EASE_CORE_FAULT_H

#include <stdatomic.h>

#include "core/core.h"

/* Registers a range of mapped bytes with ease_handle_fault(): a fault in it sets *lost
 * and replaces the pages by zeros. A page that lies only partly in the range is
 * replaced only if it is the one that faulted. The table has 256 entries; if it is
 * full, the range is not registered and a fault in it is not handled. */
void ease__fault_watch(const void *from, size_t bytes, atomic_bool *lost);
/* Removes a range from the table, before it is unmapped or read by others. Does nothing
 * if the range is not registered. */
void ease__fault_forget(const void *from);

#endif
