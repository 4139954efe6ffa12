/* A thread of every process that tells the others it is alive, how much it has done,
 * and which pivot has failed. A process that hears nothing ends itself, since MPI may
 * wait for ever for a machine that cannot be reached. */
#ifndef EASE_CLUSTER_PULSE_H
#define EASE_CLUSTER_PULSE_H

#include "group.h"

/* Starts the thread, and handles SIGINT and SIGTERM: the process removes what
 * pulse_remove_at_end() has named and exits with 128 + the number of the signal. */
void pulse_start(const group *g, bool quiet);
/* Ends the thread; all processes call it. */
void pulse_end(void);

/* A file to remove if the process is ended early; NULL: none (any more). */
void pulse_remove_at_end(const char *path);

/* The work that follows: its name and the cost in all, of all processes. */
void pulse_stage(const char *name, double whole);
void pulse_did(double cost);

/* Item whose pivot has failed: tasks return at once from then on, in all processes. */
void pulse_fail(int64_t item);
/* The least such item that this process knows of; -1: none. */
int64_t pulse_failed(void);
/* A solve has ended; all processes call this before the next one. */
void pulse_forget_failure(void);

#endif
