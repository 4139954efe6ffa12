#include "workers.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct job {
    void (*run)(void *data);
    void *data;
} job;

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *thread;
    int threads;
    job *queue; /* a ring */
    int most, first, count;
    bool stopping;
};

static void *work(void *data)
{
    workers *w = data;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        job next;

        while (w->count == 0 && !w->stopping)
            pthread_cond_wait(&w->changed, &w->lock);
        if (w->count == 0)
            break;
        next = w->queue[w->first];
        w->first = (w->first + 1) % w->most;
        w->count--;
        pthread_mutex_unlock(&w->lock);
        next.run(next.data);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

workers *workers_start(int threads, int most)
{
    workers *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->most = most;
    w->queue = calloc((size_t)most, sizeof(*w->queue));
    w->thread = calloc((size_t)threads, sizeof(*w->thread));
    while (w->queue && w->thread && w->threads < threads &&
           pthread_create(&w->thread[w->threads], NULL, work, w) == 0)
        w->threads++;
    if (w->threads == threads)
        return w;
    workers_stop(w);
    return NULL;
}

bool workers_put(workers *w, void (*run)(void *data), void *data)
{
    bool put;

    pthread_mutex_lock(&w->lock);
    put = !w->stopping && w->count < w->most;
    if (put) {
        w->queue[(w->first + w->count++) % w->most] = (job){run, data};
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return put;
}

int workers_waiting(workers *w)
{
    int count;

    pthread_mutex_lock(&w->lock);
    count = w->count;
    pthread_mutex_unlock(&w->lock);
    return count;
}

void workers_stop(workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->threads; i++)
        pthread_join(w->thread[i], NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w->queue);
    free(w->thread);
    free(w);
}
