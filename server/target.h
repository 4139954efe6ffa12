/* The target of a request, taken from its raw bytes: split at '/', '&' and '=' before
 * anything is decoded, so that ids may consist of any bytes. */
#ifndef EASE_SERVER_TARGET_H
#define EASE_SERVER_TARGET_H

#include "arena.h"
#include "problem.h"

enum { TARGET_SEGMENTS = 8, TARGET_PARAMETERS = 16 };

typedef struct parameter {
    const char *name, *value;
} parameter;

typedef struct target {
    const char *segment[TARGET_SEGMENTS]; /* decoded; "/" has one empty segment */
    int segments;
    parameter parameter[TARGET_PARAMETERS];
    int parameters;
} target;

/* Splits and decodes "/v1/items/a%2Fb?k=3". Fails with bad_request for a target that
 * does not begin with '/', a wrong percent escape or a NUL, and with not_found for more
 * segments than any route has. */
bool target_read(const char *raw, arena *a, target *out, problem *p);

/* The value of a parameter; NULL: it is absent. */
const char *target_find(const target *t, const char *name);
/* Takes a parameter that is a whole number. */
bool target_take_count(const target *t, const char *name, int64_t least, int64_t most,
                       int64_t *value, problem *p);
/* Checks that there are only these parameters, each at most once; ends with NULL. */
bool target_check(const target *t, const char *const *names, problem *p);

#endif
