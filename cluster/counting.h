/* Counts X'X of all users, of whom every process has some, into the tiles of all. */
#ifndef EASE_CLUSTER_COUNTING_H
#define EASE_CLUSTER_COUNTING_H

#include "dataset.h"
#include "share.h"

/* Sets d->strip, for processes that may have this number of threads at most. */
void counting_plan(dataset *d, int threads);
/* Bytes that a process needs for it, beside its tiles and its rows of X. */
size_t counting_bytes(const dataset *d, const share *s, int threads);
/* Sets the tiles of this process; all processes call this. The bits are those of
 * ease__gram_build(), for weights too. */
ease_status counting_fill(const dataset *d, const share *s, int threads,
                          ease_error *err);

#endif
