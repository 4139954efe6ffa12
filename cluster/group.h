/* The processes of a run: who they are, and what they decide together. */
#ifndef EASE_CLUSTER_GROUP_H
#define EASE_CLUSTER_GROUP_H

#include <mpi.h>

#include "core/core.h"

typedef struct group {
    int rank, size;
    int neighbours;   /* processes on this machine, this one included */
    MPI_Comm all;     /* for collective calls, which the main threads make in order */
    MPI_Comm machine; /* the processes of this machine */
    char host[MPI_MAX_PROCESSOR_NAME];
} group;

/* Starts MPI, which may read the arguments. Ends the process if MPI cannot be called by
 * several threads. */
void group_begin(int *argc, char ***argv, group *g);
void group_end(group *g);

/* All processes call this with their own status, and get the failure of the first one
 * that has failed, with its message. */
ease_status group_agree(const group *g, ease_status mine, ease_error *err);

/* Arrays of which every process has set some of the entries, and zeroed the others:
 * afterwards every process has all of them, with their bits. */
void group_join(const group *g, void *words, size_t count); /* of 8 bytes */
/* Bytes of any number, which MPI's counts are too small for: from process 0 to all, and
 * from one process to another. */
void group_share(const group *g, void *bytes, size_t count);
void group_send(const group *g, const void *bytes, size_t count, int to);
void group_receive(const group *g, void *bytes, size_t count, int from);
double group_sum(const group *g, double mine);
int64_t group_least(const group *g, int64_t mine);
int64_t group_most(const group *g, int64_t mine);

/* The bytes that this process has sent in messages between two processes. */
uint64_t group_sent(void);

#endif
