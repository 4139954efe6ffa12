/* What a method can be told beside lambda: named numbers, as text "rank=64,alpha=10". */
#ifndef EASE_SETTINGS_H
#define EASE_SETTINGS_H

#include "core/core.h"

enum { EASE__MOST_SETTINGS = 16, EASE__SETTINGS_ROOM = 400 };

/* values has a number for each entry of the table, which ends with a NULL name: the
 * given ones, else the defaults. EASE_E_ARG for a name that is not there, given twice,
 * or a value out of range; `method` is for the message. text may be NULL. */
ease_status ease__settings_parse(const ease_setting *table, const char *method,
                                 const char *text, double *values, ease_error *err);

/* All of them, as they can be parsed again. */
void ease__settings_print(const ease_setting *table, const double *values,
                          char to[EASE__SETTINGS_ROOM]);

#endif
