/* Progress, cancelling and failures of a call whose work several threads share. */
#ifndef EASE_SCORE_COURSE_H
#define EASE_SCORE_COURSE_H

#include <stdatomic.h>

#include "core/container.h"

/* Shared by the threads of the call. Starts as {.hooks, .parts}. */
typedef struct ease__course {
    const ease_hooks *hooks;
    int64_t parts; /* of the work, about equal */
    atomic_llong done;
    atomic_bool over; /* cancelled, or failed: what is left need not be done */
    ease__failure failure;
} ease__course;

static inline bool ease__course_over(ease__course *c)
{
    return atomic_load_explicit(&c->over, memory_order_relaxed);
}

/* Counts a part as done. The caller's thread reports the progress of all threads. */
void ease__course_advance(ease__course *c);
/* Records that a part has failed: the other threads stop. */
void ease__course_fail(ease__course *c, ease_status status, const ease_error *err);
/* Returns the status of the whole call, after all threads: the first failure,
 * EASE_E_CANCELLED, or an error if `file` has changed meanwhile. */
ease_status ease__course_end(ease__course *c, const ease__container *file,
                             ease_error *err);

#endif
