#include "acceptor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "log.h"

enum { PAUSE_MS = 20 };                /* when no connection can be accepted */
static const double TELL_SECONDS = 60; /* between two warnings */

struct acceptor {
    acceptor_options o;
    int end; /* readable when the thread shall end */
    atomic_bool stopping;
    double told; /* when a failure was logged; 0: never */
    pthread_t thread;
};

static void tell(acceptor *a, int error)
{
    double now = links_now();

    if (a->told > 0 && now < a->told + TELL_SECONDS)
        return;
    a->told = now;
    log_line(LOG_WARNING, "cannot accept connections: %s%s; trying again",
             strerror(error), error == EMFILE ? " (ulimit -n)" : "");
}

static void deal(acceptor *a, int fd, const struct sockaddr *address, socklen_t size)
{
    link_entry *e = links_add(a->o.links, fd, address);

    if (!e)
        close(fd);
    else if (!a->o.hand_over(a->o.user, link_thread(e), fd, address, size))
        links_remove(a->o.links, e);
}

/* Accepts the connections that wait. Returns false if others may wait that cannot be
 * accepted now: an error such as EMFILE leaves them in the queue, where poll() finds
 * them at once. */
static bool accept_waiting(acceptor *a)
{
    while (!atomic_load(&a->stopping) && links_count(a->o.links) < a->o.most) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof(address);
        int fd = accept4(a->o.socket, (struct sockaddr *)&address, &size,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            deal(a, fd, (const struct sockaddr *)&address, size);
        } else if (errno == EAGAIN) {
            return true;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            tell(a, errno);
            return false;
        }
    }
    return false;
}

static void *accept_all(void *data)
{
    acceptor *a = data;
    struct pollfd on[] = {{.fd = a->end, .events = POLLIN},
                          {.fd = a->o.socket, .events = POLLIN}};

    while (!atomic_load(&a->stopping))
        if (accept_waiting(a))
            (void)poll(on, 2, -1);
        else
            (void)poll(on, 1, PAUSE_MS);
    return NULL;
}

acceptor *acceptor_start(const acceptor_options *o)
{
    acceptor *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->o = *o;
    a->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->end >= 0 && pthread_create(&a->thread, NULL, accept_all, a) == 0)
        return a;
    if (a->end >= 0)
        close(a->end);
    free(a);
    return NULL;
}

void acceptor_stop(acceptor *a)
{
    if (!a)
        return;
    atomic_store(&a->stopping, true);
    (void)eventfd_write(a->end, 1);
    pthread_join(a->thread, NULL);
    close(a->end);
    free(a);
}
