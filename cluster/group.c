#include "group.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void group_begin(int *argc, char ***argv, group *g)
{
    int level, length;

    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "ease-cluster: this MPI cannot be called by several threads\n");
        exit(1);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &g->all);
    MPI_Comm_rank(g->all, &g->rank);
    MPI_Comm_size(g->all, &g->size);
    MPI_Comm_split_type(g->all, MPI_COMM_TYPE_SHARED, g->rank, MPI_INFO_NULL,
                        &g->machine);
    MPI_Comm_size(g->machine, &g->neighbours);
    MPI_Get_processor_name(g->host, &length);
}

void group_end(group *g)
{
    MPI_Comm_free(&g->machine);
    MPI_Comm_free(&g->all);
    MPI_Finalize();
}

ease_status group_agree(const group *g, ease_status mine, ease_error *err)
{
    int first = mine ? g->rank : INT_MAX;
    ease_error e = *err;

    e.status = mine;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, g->all);
    if (first == INT_MAX)
        return EASE_OK;
    MPI_Bcast(&e, sizeof(e), MPI_BYTE, first, g->all);
    *err = e;
    return e.status;
}

void group_join(const group *g, void *words, size_t count)
{
    const size_t most = 1 << 24;
    uint64_t *at = words;

    while (count > 0) {
        size_t part = count < most ? count : most;

        MPI_Allreduce(MPI_IN_PLACE, at, (int)part, MPI_UINT64_T, MPI_BOR, g->all);
        at += part;
        count -= part;
    }
}

enum { MOST_BYTES = 1 << 30 }; /* of a message */

static size_t part_of(size_t count)
{
    return count < MOST_BYTES ? count : MOST_BYTES;
}

void group_share(const group *g, void *bytes, size_t count)
{
    for (char *at = bytes; count > 0; at += MOST_BYTES) {
        MPI_Bcast(at, (int)part_of(count), MPI_BYTE, 0, g->all);
        count -= part_of(count);
    }
}

void group_send(const group *g, const void *bytes, size_t count, int to)
{
    for (const char *at = bytes; count > 0; at += MOST_BYTES) {
        MPI_Send(at, (int)part_of(count), MPI_BYTE, to, 0, g->all);
        count -= part_of(count);
    }
}

void group_receive(const group *g, void *bytes, size_t count, int from)
{
    for (char *at = bytes; count > 0; at += MOST_BYTES) {
        MPI_Recv(at, (int)part_of(count), MPI_BYTE, from, 0, g->all, MPI_STATUS_IGNORE);
        count -= part_of(count);
    }
}

double group_sum(const group *g, double mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, g->all);
    return mine;
}

int64_t group_least(const group *g, int64_t mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MIN, g->all);
    return mine;
}

int64_t group_most(const group *g, int64_t mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MAX, g->all);
    return mine;
}

/* ---- traffic --------------------------------------------------------------------- */

static _Atomic uint64_t sent;

uint64_t group_sent(void)
{
    return atomic_load_explicit(&sent, memory_order_relaxed);
}

/* MPI's interface for profiling: calls of StarPU come here first. */
__attribute__((visibility("default"))) int MPI_Isend(const void *buffer, int count,
                                                     MPI_Datatype type, int to, int tag,
                                                     MPI_Comm comm,
                                                     MPI_Request *request)
{
    int size;

    PMPI_Type_size(type, &size);
    atomic_fetch_add_explicit(&sent, (uint64_t)count * (uint64_t)size,
                              memory_order_relaxed);
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
