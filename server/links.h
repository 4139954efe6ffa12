/* Connections: how many there are, and until when each may wait. libmicrohttpd's own
 * time limit counts inactivity, which a client that sends a byte a second never
 * reaches; the deadlines here are absolute, and a thread enforces them. The bytes that
 * arrive are examined here too (scanner.h). */
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

/* Starts the thread, and receives what arrives at all connections. NULL: no memory, or
 * no thread. Only one can be started at a time. */
links *links_start(const links_limits *limits, links_ended *ended, void *user);

/* Registers a connection. Returns NULL if there is no memory. */
link_entry *links_add(links *l, int fd, const struct sockaddr *address);
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
/* Closes the connections that await a request; to be repeated. Returns the number of
 * all others. */
int links_close_idle(links *l);
void links_stop(links *l); /* after the last connection; NULL is allowed */

double links_now(void); /* monotonic, in seconds */

#endif
