/* The tasks on tiles, run by StarPU over the processes of a group. Tasks that write one
 * tile run in the order of submission, which is that of one machine: the bits are the
 * same for any number of processes. */
#ifndef EASE_CLUSTER_ENGINE_H
#define EASE_CLUSTER_ENGINE_H

#include "checkpoint.h"

/* Starts StarPU with this number of worker threads; all processes call it. */
ease_status engine_begin(const group *g, int threads, ease_error *err);
void engine_end(void);

/* Bytes that a process needs at most beside its tiles. */
size_t engine_bytes(const share *s, int threads);

/* Inverts as ease__invert_tiles does, from step c->step on, and saves checkpoints when
 * they are due. Fails with EASE_E_NOT_POSDEF, err->where being the item. */
ease_status engine_invert(const share *s, int threads, checkpoint *c, ease_error *err);
#endif
