/* What every room uses: failing, allocating, threads, hooks. */
#ifndef EASE_CORE_CORE_H
#define EASE_CORE_CORE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ease.h"

#define EASE__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* ---- failing: write the message where the facts are, return the status ----- */

/* Each gives the status, so that it can be returned; macros, for what reads the code
 * to see that it is a failure. `where` is a line, item or byte offset. */
#define ease__fail(err, status, ...) \
    (ease__note_error((err), (status), -1, __VA_ARGS__), (status))
#define ease__fail_at(err, status, where, ...) \
    (ease__note_error((err), (status), (where), __VA_ARGS__), (status))
/* EASE_E_IO from the current errno, whose words are added: "path: cannot open: No such
 * file or directory". */
#define ease__fail_errno(err, ...) (ease__note_errno((err), __VA_ARGS__), EASE_E_IO)

/* "a, b, c" for messages: name(0), name(1), ... until NULL; cut to `room` bytes. */
void ease__list_names(const char *(*name)(int), char *out, size_t room);

void ease__note_error(ease_error *err, ease_status status, int64_t where,
                      const char *fmt, ...) EASE__PRINTF(4, 5);
void ease__note_errno(ease_error *err, const char *fmt, ...) EASE__PRINTF(2, 3);

/* ---- allocating: sizes are checked for overflow; NULL means no memory ------- */

void *ease__alloc_array(size_t count, size_t size); /* not cleared */
void *ease__alloc_zero(size_t count, size_t size);
void *ease__realloc_array(void *p, size_t count, size_t size);
void ease__free(void *p);
char *ease__copy_string(const char *s);

/* Zeroed whole pages for what is large, with huge pages asked for: first touch of
 * ordinary ones costs more than the arithmetic on them. */
void *ease__alloc_pages(size_t bytes);
void ease__free_pages(void *p, size_t bytes);

/* Differs from call to call. For hash tables that outsiders fill; no result may depend
 * on it. */
uint64_t ease__hash_seed(void);

/* a * b and a + b, or SIZE_MAX where that overflows. */
size_t ease__size_mul(size_t a, size_t b);
size_t ease__size_add(size_t a, size_t b);

/* A size for messages: "312 kB", "1.5 GB". Returns `to`. */
enum { EASE__SIZE_ROOM = 32 };
const char *ease__size_text(size_t bytes, char to[EASE__SIZE_ROOM]);

/* ---- threads and hooks ------------------------------------------------------ */

/* The number of threads of a parallel region: `requested`, or one for each processor
 * that this process may use if that is 0 or less. It is 1 on a thread that has come
 * through a fork(), since the threads that OpenMP kept for it are gone. Every parallel
 * region must use it. */
int ease__threads(int requested);
/* EASE_E_ARG below 0 or past 1,024: the OpenMP runtime would end the process where it
 * cannot start them. */
ease_status ease__threads_check(int requested, ease_error *err);

/* The first failure among several threads. Starts as {0}: none. It may be read once all
 * threads are done. */
typedef struct ease__failure {
    atomic_bool noted;
    ease_status status;
    ease_error error;
} ease__failure;

void ease__failure_note(ease__failure *f, ease_status status, const ease_error *err);
/* Returns the status of the failure, or EASE_OK, and copies its message to err. */
ease_status ease__failure_take(const ease__failure *f, ease_error *err);

/* True: the caller must end with EASE_E_CANCELLED. hooks may be NULL. Only from the
 * thread that called the library. */
bool ease__progress(const ease_hooks *hooks, const char *stage, double fraction);
void ease__log(const ease_hooks *hooks, int level, const char *fmt, ...)
    EASE__PRINTF(3, 4);
static inline ease_status ease__cancelled(ease_error *err)
{
    return ease__fail(err, EASE_E_CANCELLED, "cancelled");
}

/* Seconds of a clock that only goes forward. */
double ease__seconds(void);

#endif
