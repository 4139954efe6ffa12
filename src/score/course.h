/* How far a call is that makes many lists in several threads. */
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

/* A part is done. The caller's thread reports the progress of all threads. */
void ease__course_advance(ease__course *c);
/* A part has failed. */
void ease__course_fail(ease__course *c, ease_status status, const ease_error *err);
/* After all threads: what became of it. `file` must not have changed meanwhile. */
ease_status ease__course_end(ease__course *c, const ease__container *file,
                             ease_error *err);

#endif
