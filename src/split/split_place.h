/* Atomic replacement of a split's directory, the target.
 *
 * A new split is written into a temporary directory, the part, which lies beside the
 * target under a unique name (".NAME.XXXXXX.part"). The part is then renamed to the
 * target's name, or exchanged with the target (RENAME_EXCHANGE) if a split is already
 * there: a reader sees the old split or the new one, also after a kill.
 *
 * Some targets cannot be exchanged: the file system does not support it; the target is
 * a mount point, or the working directory, which a shell in it would lose; or the
 * process may not create anything beside it. Then the files are moved one by one. Until
 * the last one is moved the record says that the split is unfinished, so that it cannot
 * be opened.
 *
 * A process holds a lock (flock) on its part. A part without a lock was left by a
 * killed process, and the next split into the same target removes it. */
#ifndef EASE_SPLIT_SPLIT_PLACE_H
#define EASE_SPLIT_SPLIT_PLACE_H

#include <limits.h>

#include "core/core.h"

typedef struct ease__place {
    const char *dir;          /* the target as it was given, for messages */
    char *target, *directory; /* real paths of the target and of its parent directory */
    const char *name;         /* the last component of `target` */
    char *part;               /* path of the directory to write into */
    char part_name[NAME_MAX + 1];
    int part_fd;
    int parent;    /* descriptor of the target's parent directory */
    int target_fd; /* -1: the target does not exist */
    bool inside;   /* the part is in the target, not beside it */
    bool made;     /* the directory of the part exists */
} ease__place;

#define EASE__PLACE_NONE ((ease__place){.part_fd = -1, .parent = -1, .target_fd = -1})

/* Creates a part for the target `dir`, which may be missing, be empty or contain a
 * split. `dir` is borrowed. Fails with EASE_E_IO, also for any other target, or
 * EASE_E_NOMEM. Call ease__place_close afterwards, also on failure. */
ease_status ease__place_open(const char *dir, ease__place *p, ease_error *err);
/* Puts the part, whose files are complete and synced, in the place of the target. It
 * keeps the permissions of what it replaces, and owner and group as far as the process
 * is permitted. */
ease_status ease__place_commit(ease__place *p, ease_error *err);
/* Removes the part, unless it was committed. Allocates no memory. */
void ease__place_close(ease__place *p);

#endif
