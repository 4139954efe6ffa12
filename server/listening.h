/* The socket that the server listens on. */
#ifndef EASE_SERVER_LISTENING_H
#define EASE_SERVER_LISTENING_H

#include <sys/types.h>

#include "problem.h"

typedef struct listening {
    int fd;
    bool local; /* only this machine can connect */
    /* "http://127.0.0.1:8080/" or "unix:PATH" */
    char name[200];
    const char *path; /* of a Unix socket of our own, to be removed; else NULL */
    dev_t device;     /* of the path */
    ino_t inode;
    bool passed; /* other processes may use it */
} listening;

/* Binds a socket to "HOST:PORT", "[IPV6]:PORT" or ":PORT" (all addresses); connections
 * are accepted after listening_begin. */
bool listening_address(const char *address, listening *out, problem *p);
/* Binds a Unix socket that its owner and group may connect to. A socket at `path` that
 * nobody listens on is replaced. From then on a client that connects waits for
 * listening_begin, or is refused (EAGAIN) while another one waits. */
bool listening_unix(const char *path, listening *out, problem *p);
/* Takes the socket that systemd or another parent passes (LISTEN_FDS); out->fd is -1 if
 * there is none. */
bool listening_inherited(listening *out, problem *p);

bool listening_begin(listening *l, problem *p);
/* From now on connections are refused, and not queued until the socket is closed; a
 * passed socket stays as it is, and its owner may have them served later. */
void listening_refuse(listening *l);
/* Closes the socket; one with a path is removed. */
void listening_end(listening *l);

#endif
