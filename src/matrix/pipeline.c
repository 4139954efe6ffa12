/* OpenMP threads do the work, since OpenBLAS does not start threads inside a
 * parallel region. A few further threads read and write; they mostly wait for the
 * disk. */
#include "matrix/pipeline.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "compute/subnormals.h"

enum { MOVERS = 4 }; /* threads that read and write */

/* The state of a run, guarded by the lock. A strip is identified by its number; each
 * queue can hold all strips. */
typedef struct run {
    const ease__pipeline *pipeline;
    const ease__pass *pass;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char **idle;    /* free slots of the ring */
    size_t *ready;  /* strips that were read */
    size_t *worked; /* strips to be written */
    size_t idle_count, taken, ready_begin, ready_end, worked_begin, worked_end, done;
    bool stop;
    ease_status status;
    ease_error error;
} run;

int ease__pipeline_slots(int threads)
{
    return 2 * threads + MOVERS;
}

/* ---- reading and writing ------------------------------------------------------ */

static ease_status move_strip(const run *r, const ease__strip *s, bool write,
                              ease_error *err)
{
    const ease__tilefile *f = r->pipeline->file;
    int32_t steps = r->pass->down ? r->pass->length : 1;
    size_t count = r->pass->down ? 1 : (size_t)r->pass->length;
    ease_status status = EASE_OK;

    for (int32_t k = 0; !status && k < steps; k++) {
        char *at = s->at + (size_t)k * ease__tile_bytes(&f->shape);

        status = write ? ease__tilefile_write(f, s->i + k, s->j, count, at, err)
                       : ease__tilefile_read(f, s->i + k, s->j, count, at, err);
    }
    return status;
}

/* Reads or writes a strip; the lock is released meanwhile. */
static void move_unlocked(run *r, size_t strip, bool write)
{
    ease_error found = {0};
    ease_status status;

    pthread_mutex_unlock(&r->lock);
    status = move_strip(r, &r->pass->strips[strip], write, &found);
    pthread_mutex_lock(&r->lock);
    if (status && !r->status) {
        r->status = status;
        r->error = found;
        r->stop = true;
    }
}

static void finish(run *r, size_t strip)
{
    if (!r->pass->resident)
        r->idle[r->idle_count++] = r->pass->strips[strip].at;
    r->done++;
}

static bool may_read(const run *r)
{
    return r->pass->read && r->taken < r->pass->count &&
           (r->pass->resident || r->idle_count > 0);
}

/* A thread that reads and writes strips; it writes first, since that frees slots. */
static void *move_strips(void *user)
{
    run *r = user;

    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->done < r->pass->count) {
        if (r->worked_begin < r->worked_end) {
            size_t strip = r->worked[r->worked_begin++];

            move_unlocked(r, strip, true);
            finish(r, strip);
        } else if (may_read(r)) {
            size_t strip = r->taken++;

            if (!r->pass->resident)
                r->pass->strips[strip].at = r->idle[--r->idle_count];
            move_unlocked(r, strip, false);
            r->ready[r->ready_end++] = strip;
        } else {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- working ------------------------------------------------------------------ */

static void wait_shortly(run *r)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 50000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&r->changed, &r->lock, &until);
}

/* Calls `stopped` with the lock released, because it may call the user. */
static void ask_whether_to_stop(run *r)
{
    bool stop;

    pthread_mutex_unlock(&r->lock);
    stop = r->pipeline->stopped(r->pipeline->user);
    pthread_mutex_lock(&r->lock);
    if (stop) {
        r->stop = true;
        pthread_cond_broadcast(&r->changed);
    }
}

static void work_on(run *r, size_t strip)
{
    pthread_mutex_unlock(&r->lock);
    r->pass->work(r->pipeline->user, &r->pass->strips[strip]);
    pthread_mutex_lock(&r->lock);
    if (r->pass->write)
        r->worked[r->worked_end++] = strip;
    else
        finish(r, strip);
    pthread_cond_broadcast(&r->changed);
}

/* Works on strips until all have been started; the caller's thread, until all are
 * done. */
static void work(run *r)
{
    bool caller = omp_get_thread_num() == 0;

    pthread_mutex_lock(&r->lock);
    while (!r->stop && (caller ? r->done : r->ready_begin) < r->pass->count) {
        if (r->ready_begin < r->ready_end) {
            size_t strip = r->ready[r->ready_begin++];

            ask_whether_to_stop(r);
            if (!r->stop)
                work_on(r, strip);
        } else if (caller) {
            wait_shortly(r);
            ask_whether_to_stop(r);
        } else {
            pthread_cond_wait(&r->changed, &r->lock);
        }
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---- running ------------------------------------------------------------------ */

/* Starts the threads that read and write, with all signals blocked: signals are for
 * the caller's thread. */
static int start_movers(run *r, pthread_t *movers)
{
    sigset_t all, before;
    int started = 0;

    if (!r->pass->read && !r->pass->write)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < MOVERS &&
           pthread_create(&movers[started], NULL, move_strips, r) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started == 0) {
        r->status = ease__fail(&r->error, EASE_E_NOMEM, "a thread for the work file");
        r->stop = true;
    }
    return started;
}

static void run_all(run *r)
{
    pthread_t movers[MOVERS];
    int started = start_movers(r, movers);

#pragma omp parallel num_threads(r->pipeline->threads)
    {
        unsigned mode = ease__flush_begin();

        omp_set_num_threads(1); /* for OpenBLAS: see src/solve/graph.c */
        work(r);
        ease__flush_end(mode);
    }
    while (started > 0)
        pthread_join(movers[--started], NULL);
}

static void fill_queues(run *r)
{
    for (int s = 0; s < r->pipeline->slots; s++)
        r->idle[r->idle_count++] =
            r->pipeline->ring + (size_t)s * ease__tile_bytes(&r->pipeline->file->shape);
    if (!r->pass->read)
        while (r->ready_end < r->pass->count) {
            r->ready[r->ready_end] = r->ready_end;
            r->ready_end++;
        }
}

ease_status ease__pipeline_run(const ease__pipeline *p, const ease__pass *pass,
                               ease_error *err)
{
    run r = {.pipeline = p, .pass = pass};
    pthread_condattr_t clock;

    r.idle = ease__alloc_array((size_t)p->slots, sizeof(*r.idle));
    r.ready = ease__alloc_array(pass->count, sizeof(*r.ready));
    r.worked = ease__alloc_array(pass->count, sizeof(*r.worked));
    if (!r.idle || !r.ready || !r.worked) {
        r.status = ease__fail(&r.error, EASE_E_NOMEM, "queues of %zu tiles",
                              pass->count);
    } else {
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_cond_init(&r.changed, &clock);
        pthread_condattr_destroy(&clock);
        pthread_mutex_init(&r.lock, NULL);
        fill_queues(&r);
        run_all(&r);
        pthread_cond_destroy(&r.changed);
        pthread_mutex_destroy(&r.lock);
    }
    ease__free(r.idle);
    ease__free(r.ready);
    ease__free(r.worked);
    if (r.status && err)
        *err = r.error;
    return r.status;
}
