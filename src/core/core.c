#include "core/core.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <time.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *ease_version(void)
{
    return TEXT(EASE_VERSION_MAJOR) "." TEXT(EASE_VERSION_MINOR) "." TEXT(
        EASE_VERSION_PATCH);
}

int ease_version_number(void)
{
    return EASE_VERSION_NUMBER;
}

const char *ease_status_name(ease_status s)
{
    switch (s) {
#define X(name, value, text) \
    case name:               \
        return #name;
        EASE_STATUS_LIST(X)
#undef X
    }
    return "unknown";
}

const char *ease_status_text(ease_status s)
{
    switch (s) {
#define X(name, value, text) \
    case name:               \
        return text;
        EASE_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

/* ---- errors ------------------------------------------------------------------- */

static void fill(ease_error *err, ease_status status, int sys, int64_t where,
                 const char *fmt, va_list args)
{
    err->status = status;
    err->sys_errno = sys;
    err->where = where;
    vsnprintf(err->text, sizeof(err->text), fmt, args);
}

void ease__note_error(ease_error *err, ease_status status, int64_t where,
                      const char *fmt, ...)
{
    va_list args;

    if (!err)
        return;
    va_start(args, fmt);
    fill(err, status, 0, where, fmt, args);
    va_end(args);
}

void ease__note_empty(ease_error *err, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return;
    va_start(args, fmt);
    fill(err, EASE_E_DATA, ENODATA, -1, fmt, args);
    va_end(args);
}

void ease__note_errno(ease_error *err, const char *fmt, ...)
{
    int sys = errno;
    char text[96];
    size_t used;
    va_list args;

    if (!err)
        return;
    va_start(args, fmt);
    fill(err, EASE_E_IO, sys, -1, fmt, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s",
             strerror_r(sys, text, sizeof(text)));
}

void ease__list_names(const char *(*name)(int), char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; name(i) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 name(i));
}

/* ---- allocation --------------------------------------------------------------- */

size_t ease__size_mul(size_t a, size_t b)
{
    size_t r;

    return __builtin_mul_overflow(a, b, &r) ? SIZE_MAX : r;
}

size_t ease__size_add(size_t a, size_t b)
{
    size_t r;

    return __builtin_add_overflow(a, b, &r) ? SIZE_MAX : r;
}

void *ease__alloc_array(size_t count, size_t size)
{
    size_t bytes = ease__size_mul(count, size);

    if (bytes == SIZE_MAX)
        return NULL;
    return malloc(bytes ? bytes : 1);
}

void *ease__alloc_zero(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *ease__realloc_array(void *p, size_t count, size_t size)
{
    size_t bytes = ease__size_mul(count, size);

    if (bytes == SIZE_MAX)
        return NULL;
    return realloc(p, bytes ? bytes : 1);
}

void ease__free(void *p)
{
    free(p);
}

char *ease__copy_string(const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = ease__alloc_array(bytes, 1);

    if (copy)
        memcpy(copy, s, bytes);
    return copy;
}

void *ease__alloc_pages(size_t bytes)
{
    void *p;

    if (bytes == SIZE_MAX)
        return NULL;
    p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    (void)madvise(p, bytes, MADV_HUGEPAGE); /* a hint, which may fail */
    return p;
}

void ease__free_pages(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes ? bytes : 1);
}

/* ---- hashing ------------------------------------------------------------------ */

uint64_t ease__hash_seed(void)
{
    uint64_t seed = 0;

    (void)!getrandom(&seed, sizeof(seed), 0); /* 0 if the kernel does not provide it */
    return seed;
}

/* ---- sizes as text ------------------------------------------------------------ */

const char *ease__size_text(size_t bytes, char to[EASE__SIZE_CHARS])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    int unit = 0;

    for (; value >= 999.5; unit++)
        value /= 1000.0;
    snprintf(to, EASE__SIZE_CHARS, "%.3g %s", value, units[unit]);
    return to;
}

/* ---- threads and hooks ------------------------------------------------------- */

ease_status ease__threads_check(int requested, ease_error *err)
{
    enum { MOST = 1024 };

    if (requested >= 0 && requested <= MOST)
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG, "threads must be 0 .. %d, not %d", (int)MOST,
                      requested);
}

/* `bereft`: this thread has come through a fork() of a process with several threads.
 * The threads that OpenMP kept for it are gone, and a parallel region would wait for
 * them for ever; a region of one thread needs none. Threads started later are not
 * affected. */
static _Thread_local bool bereft, forking_with_threads;

static void before_fork(void)
{
    forking_with_threads = !__libc_single_threaded;
}

static void in_child(void)
{
    bereft = bereft || forking_with_threads;
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, NULL, in_child);
}

int ease__threads(int requested)
{
    if (bereft)
        return 1;
    return requested > 0 ? requested : omp_get_num_procs();
}

void ease__failure_note(ease__failure *f, ease_status status, const ease_error *err)
{
    if (atomic_exchange(&f->noted, true))
        return;
    f->status = status;
    f->error = *err;
}

ease_status ease__failure_take(const ease__failure *f, ease_error *err)
{
    if (f->status && err)
        *err = f->error;
    return f->status;
}

bool ease__progress(const ease_hooks *hooks, const char *stage, double fraction)
{
    return hooks && hooks->progress && hooks->progress(hooks->user, stage, fraction);
}

bool ease__is_due(int64_t done, double *told)
{
    const double most = 0.05; /* seconds */
    double now = ease__seconds();

    if (done % 16 != 0 && now - *told < most)
        return false;
    *told = now;
    return true;
}

void ease__log(const ease_hooks *hooks, int level, const char *fmt, ...)
{
    char text[480];
    va_list args;

    if (!hooks || !hooks->log)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    hooks->log(hooks->user, level, text);
}

double ease__seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
