/* The second pool of threads: for what takes long or waits. */
#ifndef EASE_SERVER_WORKERS_H
#define EASE_SERVER_WORKERS_H

#include <stdbool.h>

typedef struct workers workers;

/* Starts `threads` threads, with a queue of `most` jobs. NULL: no memory, or no
 * threads. */
workers *workers_start(int threads, int most);
/* Queues a call of job(data). False: the queue is full, or the pool is stopping. */
bool workers_put(workers *w, void (*job)(void *data), void *data);
int workers_waiting(workers *w); /* jobs in the queue */
/* Runs the jobs that are queued, and ends the threads. NULL is allowed. */
void workers_stop(workers *w);

#endif
