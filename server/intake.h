/* The function recv() of this program: libmicrohttpd calls it for the bytes of its
 * connections, which the scanner examines first. Of a request that is refused,
 * libmicrohttpd sees at most the beginning and then the end of the connection; the
 * client gets its answer from here. All other sockets are not affected. */
#ifndef EASE_SERVER_INTAKE_H
#define EASE_SERVER_INTAKE_H

#include <stddef.h>
#include <sys/types.h>

/* What to do with bytes that have arrived at a descriptor. Returns how many of them the
 * caller of recv() gets; 0: the connection ends. `count` is 0 at its end. */
typedef size_t intake_filter(void *user, int fd, const char *data, size_t count);

/* Sets the filter for all descriptors; NULL: none. Before threads are started and after
 * they have ended. */
void intake_set(intake_filter *filter, void *user);

#endif
