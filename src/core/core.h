/* Functions that every folder uses: errors, allocation, sizes, threads, hooks. */
#ifndef EASE_CORE_CORE_H
#define EASE_CORE_CORE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ease.h"

#define EASE__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* ---- errors: write the message where the facts are, return the status --------- */

/* Fill in `err` (may be NULL) and evaluate to the status, so that it can be
 * returned. They are macros so that static analysis sees that the value is a
 * failure. `where` is a line, an item or a byte offset. */
#define ease__fail(err, status, ...) \
    (ease__note_error((err), (status), -1, __VA_ARGS__), (status))
#define ease__fail_at(err, status, where, ...) \
    (ease__note_error((err), (status), (where), __VA_ARGS__), (status))
/* Fails with EASE_E_DATA because data are empty, which sys_errno ENODATA tells from
 * other reasons. */
#define ease__fail_empty(err, ...) (ease__note_empty((err), __VA_ARGS__), EASE_E_DATA)
/* Fails with EASE_E_IO; the message ends with the text of errno: "path: cannot open:
 * No such file or directory". */
#define ease__fail_errno(err, ...) (ease__note_errno((err), __VA_ARGS__), EASE_E_IO)

/* Writes name(0), name(1), ... up to NULL as "a, b, c", cut to `size` bytes. */
void ease__list_names(const char *(*name)(int), char *out, size_t size);

void ease__note_error(ease_error *err, ease_status status, int64_t where,
                      const char *fmt, ...) EASE__PRINTF(4, 5);
void ease__note_empty(ease_error *err, const char *fmt, ...) EASE__PRINTF(2, 3);
void ease__note_errno(ease_error *err, const char *fmt, ...) EASE__PRINTF(2, 3);

/* ---- allocation: sizes are checked for overflow; NULL means no memory --------- */

void *ease__alloc_array(size_t count, size_t size); /* not cleared */
void *ease__alloc_zero(size_t count, size_t size);
void *ease__realloc_array(void *p, size_t count, size_t size);
void ease__free(void *p);
char *ease__copy_string(const char *s);

/* Allocates zeroed pages for a large array and requests huge pages: the first access
 * to ordinary pages costs more than the arithmetic on them. */
void *ease__alloc_pages(size_t bytes);
void ease__free_pages(void *p, size_t bytes);

/* A random seed, different in each call. For hash tables of untrusted keys; no
 * result may depend on it. */
uint64_t ease__hash_seed(void);

/* a * b and a + b; SIZE_MAX on overflow. */
size_t ease__size_mul(size_t a, size_t b);
size_t ease__size_add(size_t a, size_t b);

/* Writes a size for messages: "312 kB", "1.5 GB". Returns `to`. */
enum { EASE__SIZE_CHARS = 32 };
const char *ease__size_text(size_t bytes, char to[EASE__SIZE_CHARS]);

/* ---- threads and hooks ------------------------------------------------------ */

/* The number of threads of a parallel region: `requested`, or one for each processor
 * that this process may use if that is 0 or less. It is 1 on a thread that has come
 * through a fork(), since the threads that OpenMP kept for it are gone. Every parallel
 * region must use it. */
int ease__threads(int requested);
/* Fails with EASE_E_ARG unless `requested` is 0 to 1,024: the OpenMP runtime would
 * end the process if it could not start the threads. */
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

/* Reports progress. Returns true if the caller must end with EASE_E_CANCELLED.
 * `hooks` may be NULL. To be called only by the thread that called the library. */
bool ease__progress(const ease_hooks *hooks, const char *stage, double fraction);
/* For loops over parts of very different lengths: true if progress should be reported
 * after part `done`, which is every 16th one, and at least 20 times a second. *told is
 * the time of the last report; to be called by one thread. */
bool ease__is_due(int64_t done, double *told);
void ease__log(const ease_hooks *hooks, int level, const char *fmt, ...)
    EASE__PRINTF(3, 4);
static inline ease_status ease__cancelled(ease_error *err)
{
    return ease__fail(err, EASE_E_CANCELLED, "cancelled");
}

/* Seconds of a monotonic clock. */
double ease__seconds(void);

#endif
