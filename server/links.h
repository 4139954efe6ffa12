/* Connections: how many there are, in total, of an address and of a thread of the pool,
 * and until when each may wait. libmicrohttpd's own time limit counts inactivity, which
 * a client that sends a byte a second never reaches; the deadlines here are absolute,
 * and a thread enforces them. The bytes that arrive are examined here too
 * (scanner.h). */
#ifndef EASE_SERVER_LINKS_H
#define EASE_SERVER_LINKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

typedef enum link_state {
    LINK_HEADER,  /* the first header is awaited, or a later one has begun */
    LINK_IDLE,    /* a request is awaited, after an answer */
    LINK_BODY,    /* the body of a request is awaited */
    LINK_WORKING, /* an answer is being made: no deadline */
    LINK_SENDING  /* an answer is being sent */
} link_state;

typedef struct links_limits {
    int most, most_of_address;
    size_t header_bytes;             /* of a request */
    double header, idle, body, send; /* seconds */
} links_limits;

typedef struct links links;
typedef struct link_entry link_entry;

/* Called for each connection that is closed because its time is up, or because of what
 * it has sent. */
typedef enum link_end { LINK_LATE, LINK_REFUSED } link_end;
typedef void links_ended(void *user, link_end why);

/* Starts the thread that watches, and receives what arrives at all connections, which
 * belong to a pool of `threads`. NULL: no memory, or no thread. Only one can be started
 * at a time. */
links *links_start(const links_limits *limits, int threads, links_ended *ended,
                   void *user);

/* Registers a connection that was accepted, and gives it to the thread of the pool that
 * has the fewest. Returns NULL if there is no memory. To be called by one thread, the
 * only one that accepts connections. */
link_entry *links_add(links *l, int fd, const struct sockaddr *address);
/* The connection with this descriptor; NULL: none. */
link_entry *links_find(links *l, int fd);
/* The thread of a connection: 0 to threads - 1. */
int link_thread(const link_entry *e);
/* To be called before the descriptor is closed. */
void links_remove(links *l, link_entry *e);

/* What is wrong with the number of connections. */
typedef enum link_excess {
    LINK_FINE,
    LINK_TOO_MANY,
    LINK_TOO_MANY_OF_ADDRESS
} link_excess;
link_excess link_check(const link_entry *e);
/* The client's address as text; "" for a Unix socket. */
const char *link_address(const link_entry *e);
/* Sets the state of a connection, and with it the deadline. */
void link_enter(const links *l, link_entry *e, link_state state);

int links_count(links *l);
int links_count_of_thread(links *l, int thread);
/* Closes the connections that await a request; to be repeated. Returns the number of
 * all others. */
int links_close_idle(links *l);
void links_stop(links *l); /* when no connection is served any more; NULL is allowed */

double links_now(void); /* monotonic, in seconds */

#endif
