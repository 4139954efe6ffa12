/* Structures of the caller that begin with their size.
 *
 * A program may have been compiled with an older or a newer header than the library:
 * its structures are then shorter or longer than the library's, and agree in all that
 * both have, as members are only ever added at the end. */
#ifndef EASE_CORE_SIZED_H
#define EASE_CORE_SIZED_H

#include "core/core.h"

/* ---- options: from the caller ----------------------------------------------------- */

/* Sets *out, an ease_X_options of the library, to the defaults and then to what is
 * `given` (may be NULL): members that the caller does not have keep their defaults.
 * EASE_E_ARG if the size was never set, or if a member that the library does not have
 * is not 0. */
#define EASE__OPTIONS_TAKE(type, out, given, err) \
    (type##_init(out), ease__options_take((out), sizeof(type), (given), #type, (err)))
ease_status ease__options_take(void *out, size_t known, const void *given,
                               const char *type, ease_error *err);

/* Sets the members that the caller has to those of `defaults`; what the library does
 * not have becomes 0. */
void ease__options_defaults(void *o, const void *defaults, size_t known);

/* ---- descriptions: to the caller --------------------------------------------------- */

/* Copies `info`, of `known` bytes, as far as *out reaches, and zeros the rest of *out.
 * The size of *out stays. Does nothing if `out` is NULL or its size was never set. */
void ease__info_give(void *out, const void *info, size_t known);
/* EASE_E_ARG if `out` is NULL or its size was never set. */
ease_status ease__info_check(const void *out, const char *type, ease_error *err);

#endif
