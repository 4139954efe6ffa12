/* Replaces a file in one step, unless somebody else has replaced it meanwhile. */
#ifndef EASE_SERVER_REPLACING_H
#define EASE_SERVER_REPLACING_H

#include "ease.h"
#include "identity.h"

typedef struct replacement {
    const char *path; /* as given; borrowed */
    char *target;     /* the file that `path` names, links resolved */
    char *sibling;    /* the new file, beside the target; NULL: it has been renamed */
    int fd;           /* holds a lock on the empty sibling; -1: none */
} replacement;

/* Makes an empty sibling of the file at `path`, with its owner, group and permissions
 * as far as the process is permitted; the caller writes the sibling. Fails with
 * EASE_E_IO if the file is not the one of `expected`, which sets *foreign, if it is
 * gone, or if it cannot be replaced; and with EASE_E_NOMEM. Needs replacing_end, also
 * on failure. */
ease_status replacing_begin(const char *path, const identity *expected,
                            replacement *out, bool *foreign, ease_error *err);
/* Renames the sibling, if the file at the path is still the one of `expected`, which
 * then becomes the identity of the new file. Fails as replacing_begin does. */
ease_status replacing_commit(replacement *r, identity *expected, bool *foreign,
                             ease_error *err);
/* Removes a sibling that was not renamed, and frees all. */
void replacing_end(replacement *r);

#endif
