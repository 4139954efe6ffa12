/* The directory of checkpoints, which all machines share and one run uses at a time.
 * Generation G has the files ease-cluster.G.tiles.RANK and ease-cluster.G.checkpoint,
 * its manifest. */
#ifndef EASE_CLUSTER_WORKDIR_H
#define EASE_CLUSTER_WORKDIR_H

#include <limits.h>

#include "group.h"

#define WORKDIR_NAMES "ease-cluster."

typedef struct workdir {
    const group *group;
    const char *path; /* borrowed; NULL: there is none */
    int lock;         /* of process 0; -1: none */
} workdir;

/* Locks the directory; all processes call it. w->group and path are set. Fails with
 * EASE_E_IO if the directory cannot be used, is used by another run, or is not the
 * same on all machines. Free with workdir_release(), also after a failure. */
ease_status workdir_take(workdir *w, ease_error *err);
void workdir_release(workdir *w);

void workdir_manifest(const workdir *w, int generation, char path[PATH_MAX]);
void workdir_tiles(const workdir *w, int generation, int rank, char path[PATH_MAX]);

/* Makes the names of files durable. */
ease_status workdir_sync(const workdir *w, ease_error *err);
/* Removes the files of a generation, if there are any. */
ease_status workdir_remove(const workdir *w, int generation, ease_error *err);
/* The disk space that they take. */
size_t workdir_bytes(const workdir *w, int generation);

#endif
