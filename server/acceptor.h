/* Accepts connections in a thread of its own, and deals them out to the threads of the
 * pool: each goes to the one that has the fewest. Threads that accept for themselves
 * take as many as wait when they look, so that one of them may get all connections that
 * are opened at once, and does the work of all from then on. */
#ifndef EASE_SERVER_ACCEPTOR_H
#define EASE_SERVER_ACCEPTOR_H

#include "links.h"

typedef struct acceptor acceptor;

typedef struct acceptor_options {
    int socket; /* that listens; stays open */
    int most;   /* connections at a time; more wait until one of them is closed */
    links *links;
    /* Hands a connection over to a thread of the pool, by its number. Returns false if
     * the thread cannot take it; the descriptor belongs to the function in any case. */
    bool (*hand_over)(void *user, int thread, int fd, const struct sockaddr *address,
                      socklen_t size);
    void *user;
} acceptor_options;

/* Starts the thread. NULL: no memory, no descriptor or no thread. */
acceptor *acceptor_start(const acceptor_options *o);
/* Accepts no more; those that are not accepted stay in the socket's queue. NULL is
 * allowed. */
void acceptor_stop(acceptor *a);

#endif
