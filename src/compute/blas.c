#include "compute/blas.h"

#include <cblas.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t gate;
static int buffers; /* free for our calls */

/* Locked during fork(), when no thread may be inside BLAS: the child does not have
 * the other threads, so that their buffers and locks would never be released there. */
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER;

static void close_gate(void)
{
    (void)pthread_mutex_lock(&forking); /* two that collect would deadlock */
    for (int i = 0; i < buffers; i++)
        ease__blas_begin();
}

static void open_gate(void)
{
    for (int i = 0; i < buffers; i++)
        ease__blas_end();
    (void)pthread_mutex_unlock(&forking);
}

static void find_buffers(void)
{
    static const char name[] = "MAX_THREADS=";
    const char *most = strstr(openblas_get_config(), name);
    int kept = openblas_get_num_threads();

    buffers = (most ? 2 * (int)strtol(most + sizeof(name) - 1, NULL, 10) : 0) - kept;
    if (buffers < kept) /* OpenBLAS has at least as many as it reserves */
        buffers = kept;
    (void)sem_init(&gate, 0, (unsigned)buffers);
    (void)pthread_atfork(close_gate, open_gate, open_gate);
}

int ease__blas_threads(int requested, const ease_hooks *hooks)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    int threads = ease__threads(requested);

    (void)pthread_once(&once, find_buffers);
    if (threads <= buffers)
        return threads;
    if (hooks && hooks->log && !atomic_flag_test_and_set(&told))
        ease__log(hooks, 1,
                  "OpenBLAS has buffers for %d threads at once: where it is called, %d "
                  "of %d threads are not used",
                  buffers, threads - buffers, threads);
    return buffers;
}

ease_status ease__blas_check_memory(int threads, ease_error *err)
{
    /* Each thread, and the caller, needs 128 MB of mapped memory, little of which is
     * used, and a stack. */
    const size_t each = (size_t)160 << 20;
    size_t count = (size_t)threads + 1, got = 0;
    void **blocks = ease__alloc_array(count, sizeof(*blocks));
    bool enough = blocks != NULL;

    while (enough && got < count) {
        blocks[got] = ease__alloc_pages(each);
        if (blocks[got])
            got++;
        else
            enough = false;
    }
    while (got > 0)
        ease__free_pages(blocks[--got], each);
    ease__free(blocks);
    return enough ? EASE_OK
                  : ease__fail(err, EASE_E_NOMEM,
                               "%zu MB of address space for the buffers of %d threads",
                               count * (each >> 20), threads);
}

void ease__blas_begin(void)
{
    (void)pthread_once(&once, find_buffers);
    while (sem_wait(&gate) && errno == EINTR)
        ;
}

void ease__blas_end(void)
{
    (void)sem_post(&gate);
}
