/* Structures of the caller that begin with their size.
 *
 * A program may have been compiled with an older or a newer header than the library:
 * its structures are then shorter or longer than the library's. The members that both
 * have are the same, as members are only added at the end. */
#ifndef EASE_CORE_SIZED_H
#define EASE_CORE_SIZED_H

#include "core/core.h"

/* ---- options: from the caller ---------------------------------------------------- */

/* Sets *out, an ease_X_options of the library, to the options of the caller, `given`;
 * NULL: the defaults. Members that the caller's structure lacks get their defaults.
 * Fails with EASE_E_ARG if given->size was never set, or if a member that the library
 * does not know is not 0. */
#define EASE__OPTIONS_TAKE(type, out, given, err) \
    (type##_init(out), ease__options_take((out), sizeof(type), (given), #type, (err)))
ease_status ease__options_take(void *out, size_t known, const void *given,
                               const char *type, ease_error *err);

/* Sets the members of the caller's structure to those of `defaults`, and members that
 * the library does not know to 0. */
void ease__options_defaults(void *o, const void *defaults, size_t known);

/* ---- descriptions: to the caller ------------------------------------------------- */

/* Copies `info`, of `known` bytes, to the caller's structure *out as far as it reaches,
 * and sets the rest of *out to 0.
 * The size of *out stays. Does nothing if `out` is NULL or its size was never set. */
void ease__info_give(void *out, const void *info, size_t known);
/* Fails with EASE_E_ARG if `out` is NULL or its size was never set. */
ease_status ease__info_check(const void *out, const char *type, ease_error *err);

#endif
