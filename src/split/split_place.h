/* The directory of a split in the making, and how it takes its place.
 *
 * A split is written into a directory of its own, the part: beside the target, under a
 * unique name (".NAME.XXXXXX.part"). It then takes the target's name by one rename, or
 * where a split is there already by an exchange of the two directories; a reader, or
 * who comes after a kill, sees the old split or the new one.
 *
 * Where directories cannot be exchanged (the file system does not know how; the target
 * is a mount point, or the working directory, which would be lost to the shell in it;
 * nothing may be made beside it), the files are moved one by one. Until the last one is
 * in its place the record says that the split is unfinished, so that it does not open.
 *
 * The part is locked (flock) by its process: parts without a lock are of killed ones,
 * and the next split into the same place removes them. */
#ifndef EASE_SPLIT_SPLIT_PLACE_H
#define EASE_SPLIT_SPLIT_PLACE_H

#include <limits.h>

#include "core/core.h"

typedef struct ease__place {
    const char *dir;          /* the target as it was given, for messages */
    char *target, *directory; /* its real path, and that of the directory it is in */
    const char *name;         /* the last part of `target` */
    char *part;               /* path of the directory to write into */
    char part_name[NAME_MAX + 1];
    int part_fd;
    int parent;    /* the directory that the target is in */
    int target_fd; /* -1: it is not there */
    bool inside;   /* the part is in the target, not beside it */
    bool made;     /* and has its name there */
} ease__place;

#define EASE__PLACE_NONE ((ease__place){.part_fd = -1, .parent = -1, .target_fd = -1})

/* Makes a part for the target `dir`, which may be missing, be empty or hold a split;
 * anything else is refused with EASE_E_IO. `dir` is borrowed. Fails with EASE_E_NOMEM
 * too. Close in any case. */
ease_status ease__place_open(const char *dir, ease__place *p, ease_error *err);
/* Puts the part, whose files are whole and synced, in the target's place. Permissions
 * of what is replaced are kept, owner and group where the process may. */
ease_status ease__place_commit(ease__place *p, ease_error *err);
/* Removes the part, unless it was committed. Needs no memory. */
void ease__place_close(ease__place *p);

#endif
