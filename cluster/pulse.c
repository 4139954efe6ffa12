#include "pulse.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_MICROSECONDS = 50000, TAG = 1 };
static const double BEAT_SECONDS = 0.5;   /* between messages */
static const double SILENCE_SECONDS = 45; /* that end a process */
static const double REPORT_SECONDS = 5;   /* between lines of progress */

typedef struct beat {
    double done;    /* of this process; from process 0: nothing */
    int64_t failed; /* INT64_MAX: none */
    int64_t solve;  /* the solve that it failed in: a message may be late */
} beat;

static struct {
    MPI_Comm comm;
    const group *group;
    pthread_t thread;
    atomic_bool ending;
    bool quiet;
    _Atomic double done;
    _Atomic int64_t failed;
    pthread_mutex_t lock; /* of the members below, of the next solve's `failed` */
    int64_t solve;
    const char *stage;
    double whole, began, told;
    /* Of the thread, an entry for each process it hears. */
    double *heard, *done_by;
    beat *out;
    MPI_Request *sending;
} pulse = {.failed = INT64_MAX, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- ending early ---------------------------------------------------------------- */

static char to_remove[4096];

void pulse_remove_at_end(const char *path)
{
    if (path)
        snprintf(to_remove, sizeof(to_remove), "%s", path);
    else
        to_remove[0] = '\0';
}

static void interrupted(int number)
{
    static const char text[] = "ease-cluster: interrupted\n";

    if (to_remove[0])
        (void)unlink(to_remove);
    if (pulse.group->rank == 0)
        (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(128 + number);
}

static void check_silence(int from, double now)
{
    if (now - pulse.heard[from] < SILENCE_SECONDS)
        return;
    if (to_remove[0])
        (void)unlink(to_remove);
    fprintf(
        stderr,
        "ease-cluster: process %d on %s has heard nothing of process %d for %.0f s: "
        "it has ended, or its machine cannot be reached\n",
        pulse.group->rank, pulse.group->host, from, SILENCE_SECONDS);
    _exit(1);
}

/* ---- progress -------------------------------------------------------------------- */

void pulse_stage(const char *name, double whole)
{
    (void)pthread_mutex_lock(&pulse.lock);
    pulse.stage = name;
    pulse.whole = whole;
    pulse.began = pulse.told = ease__seconds();
    atomic_store(&pulse.done, 0);
    if (pulse.done_by)
        memset(pulse.done_by, 0, (size_t)pulse.group->size * sizeof(double));
    (void)pthread_mutex_unlock(&pulse.lock);
}

void pulse_did(double cost)
{
    double before = atomic_load_explicit(&pulse.done, memory_order_relaxed);

    while (!atomic_compare_exchange_weak(&pulse.done, &before, before + cost))
        ;
}

static void report(double now)
{
    double done = atomic_load(&pulse.done), share, spent;

    (void)pthread_mutex_lock(&pulse.lock);
    for (int r = 1; r < pulse.group->size; r++)
        done += pulse.done_by[r];
    share = pulse.whole > 0 ? fmin(done / pulse.whole, 1) : 0;
    spent = now - pulse.began;
    if (!pulse.quiet && pulse.stage && share > 0 && now - pulse.told > REPORT_SECONDS) {
        pulse.told = now;
        fprintf(stderr, "%s: %.0f %%, %.0f s left\n", pulse.stage, 100 * share,
                spent / share * (1 - share));
    }
    (void)pthread_mutex_unlock(&pulse.lock);
}

/* ---- failed pivots --------------------------------------------------------------- */

void pulse_fail(int64_t item)
{
    int64_t before = atomic_load(&pulse.failed);

    while (item < before && !atomic_compare_exchange_weak(&pulse.failed, &before, item))
        ;
}

int64_t pulse_failed(void)
{
    int64_t item = atomic_load_explicit(&pulse.failed, memory_order_relaxed);

    return item == INT64_MAX ? -1 : item;
}

void pulse_forget_failure(void)
{
    (void)pthread_mutex_lock(&pulse.lock);
    pulse.solve++;
    atomic_store(&pulse.failed, INT64_MAX);
    (void)pthread_mutex_unlock(&pulse.lock);
}

/* ---- the thread ------------------------------------------------------------------ */

static void receive(double now)
{
    MPI_Status status;
    int there = 1;

    for (;;) {
        beat b;

        MPI_Iprobe(MPI_ANY_SOURCE, TAG, pulse.comm, &there, &status);
        if (!there)
            return;
        MPI_Recv(&b, sizeof(b), MPI_BYTE, status.MPI_SOURCE, TAG, pulse.comm,
                 MPI_STATUS_IGNORE);
        pulse.heard[status.MPI_SOURCE] = now;
        (void)pthread_mutex_lock(&pulse.lock);
        pulse.done_by[status.MPI_SOURCE] = b.done;
        if (b.solve == pulse.solve)
            pulse_fail(b.failed);
        (void)pthread_mutex_unlock(&pulse.lock);
    }
}

/* A message that is still under way is not followed by another one. */
static void send_to(int to)
{
    int free = 1;

    MPI_Test(&pulse.sending[to], &free, MPI_STATUS_IGNORE);
    if (!free)
        return;
    (void)pthread_mutex_lock(&pulse.lock);
    pulse.out[to] = (beat){atomic_load(&pulse.done), atomic_load(&pulse.failed),
                           pulse.solve};
    (void)pthread_mutex_unlock(&pulse.lock);
    MPI_Isend(&pulse.out[to], sizeof(beat), MPI_BYTE, to, TAG, pulse.comm,
              &pulse.sending[to]);
}

/* Process 0 hears and tells all others, and these hear and tell process 0. */
static void *run(void *unused)
{
    int first = pulse.group->rank == 0 ? 1 : 0;
    int end = pulse.group->rank == 0 ? pulse.group->size : 1;
    double sent = 0;

    while (!atomic_load(&pulse.ending)) {
        double now = ease__seconds();

        receive(now);
        for (int r = first; r < end && r != pulse.group->rank; r++) {
            check_silence(r, now);
            if (now - sent >= BEAT_SECONDS)
                send_to(r);
        }
        if (now - sent >= BEAT_SECONDS)
            sent = now;
        if (pulse.group->rank == 0)
            report(now);
        usleep(POLL_MICROSECONDS);
    }
    return unused;
}

void pulse_start(const group *g, bool quiet)
{
    struct sigaction action = {.sa_handler = interrupted};
    size_t size = (size_t)g->size;
    double now = ease__seconds();

    pulse.group = g;
    pulse.quiet = quiet;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    MPI_Comm_dup(g->all, &pulse.comm);
    pulse.heard = ease__alloc_zero(size, sizeof(*pulse.heard));
    pulse.done_by = ease__alloc_zero(size, sizeof(*pulse.done_by));
    pulse.out = ease__alloc_zero(size, sizeof(*pulse.out));
    pulse.sending = ease__alloc_zero(size, sizeof(MPI_Request));
    if (!pulse.heard || !pulse.done_by || !pulse.out || !pulse.sending) {
        fprintf(stderr, "ease-cluster: out of memory\n");
        MPI_Abort(g->all, 4);
    }
    for (int r = 0; r < g->size; r++) {
        pulse.heard[r] = now;
        pulse.sending[r] = MPI_REQUEST_NULL;
    }
    if (pthread_create(&pulse.thread, NULL, run, NULL) != 0) {
        fprintf(stderr, "ease-cluster: cannot start a thread\n");
        MPI_Abort(g->all, 1);
    }
}

void pulse_end(void)
{
    MPI_Barrier(pulse.group->all);
    /* mpirun ends the others as soon as one process has ended with an error. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    atomic_store(&pulse.ending, true);
    (void)pthread_join(pulse.thread, NULL);
    MPI_Barrier(pulse.group->all); /* nobody sends any more */
    receive(ease__seconds());
    for (int r = 0; r < pulse.group->size; r++)
        MPI_Wait(&pulse.sending[r], MPI_STATUS_IGNORE);
    MPI_Barrier(pulse.group->all);
    receive(ease__seconds());
    MPI_Comm_free(&pulse.comm);
    ease__free(pulse.heard);
    ease__free(pulse.done_by);
    ease__free(pulse.out);
    ease__free(pulse.sending);
}
