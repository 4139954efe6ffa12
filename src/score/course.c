#include "score/course.h"

#include <omp.h>

void ease__course_advance(ease__course *c)
{
    long long done = atomic_fetch_add_explicit(&c->done, 1, memory_order_relaxed) + 1;

    if (omp_get_thread_num() == 0 &&
        ease__progress(c->hooks, "recommending", (double)done / (double)c->parts))
        atomic_store(&c->over, true);
}

void ease__course_fail(ease__course *c, ease_status status, const ease_error *err)
{
    ease__failure_note(&c->failure, status, err);
    atomic_store(&c->over, true);
}

ease_status ease__course_end(ease__course *c, const ease__container *file,
                             ease_error *err)
{
    ease_status status = ease__failure_take(&c->failure, err);

    if (status)
        return status;
    /* The thread that reports progress may have had no part. */
    if (atomic_load(&c->over) || ease__progress(c->hooks, "recommending", 1))
        return ease__cancelled(err);
    return ease__container_unchanged(file, err);
}
