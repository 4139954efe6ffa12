/* The HTTP server: connections, limits, malformed requests, trust, and sending answers.
 * It knows no route: a table of routes is looked up by a function of its user.
 *
 * A request runs through these steps, each of which may end it with a problem:
 * headers that must not be let through (400, the connection is closed); limits (431,
 * 413, 411, 503); trust (403, 401); the route (404, 405); the body; the route's
 * function. */
#ifndef EASE_SERVER_HTTP_H
#define EASE_SERVER_HTTP_H

#include "arena.h"
#include "bytes.h"
#include "gauges.h"
#include "links.h"
#include "problem.h"
#include "target.h"
#include "tokens.h"
#include "workers.h"

typedef struct request request;

typedef struct http_route {
    const char *method; /* "GET", which answers HEAD too, or "POST", which takes JSON */
    const char *path;   /* "/v1/items/{id}": for metrics */
    bool open;          /* needs no token */
    /* Makes the answer, or notes a problem. Returns true when it is complete; false, if
     * http_finish will be called later, which only a route that waits may do. */
    bool (*answer)(request *r);
    /* True if making the answer takes long or waits: it is then called in a thread of
     * the second pool. NULL: never. */
    bool (*waits)(const request *r);
} http_route;

enum { REQUEST_HEADERS = 6 };

struct request {
    void *service; /* of http_options */
    const http_route *route;
    target target;
    const char *body; /* not terminated */
    size_t length;
    arena memory; /* freed when the request has ended */
    double began, expires;
    bool quick; /* the thread is one of the pool, and must not be held: see `later` */
    /* Set by a handler, instead of an answer or a problem, to be called again in a
     * thread of the second pool; what it has written so far is dropped. */
    bool later;
    /* The answer: */
    problem problem;   /* replaces all of the following */
    bytes answer;      /* the body */
    const char *fixed; /* or a body that is not freed, of fixed_length bytes */
    size_t fixed_length;
    int status;                             /* default 200 */
    const char *type;                       /* default application/json */
    const char *header[REQUEST_HEADERS][2]; /* more headers: name, value */
    int headers;
};

void request_add_header(request *r, const char *name, const char *value);
/* The value of a header of the request, or NULL; in the pool's threads only. */
const char *request_header(const request *r, const char *name);
/* True if the time for the request is over; notes a problem then. */
bool request_is_late(request *r);

/* Sends the answer of a route that waits. Any thread. */
void http_finish(request *r);

typedef struct http_options {
    int socket;  /* that listens; stays open */
    int threads; /* of the pool: 1 or more */
    links_limits links;
    size_t body_bytes;
    double request_seconds;
    tokens *tokens;       /* NULL: no token is needed */
    bool any_host;        /* Host may have any value */
    const char **origins; /* that are allowed beside the own one */
    size_t origin_count;
    bool log_requests;
    gauges *gauges;
    workers *workers;
    /* The route for a target, by its number in gauges; -1 after noting not_found, or
     * method_not_allowed with *allow set to the methods there are. */
    int (*find)(const target *t, const char *method, const char **allow, problem *p);
    const http_route *routes;
    void *service;
} http_options;

typedef struct http http;

/* Starts the pool, whose handlers are called after http_accept. NULL after a message in
 * `p`. The options must live as long. */
http *http_start(const http_options *o, problem *p);
/* Begins to accept connections; once. */
bool http_accept(http *h, problem *p);
int http_connections(http *h);
int http_threads(const http *h);                     /* of the pool */
int http_connections_of_thread(http *h, int thread); /* 0 to http_threads - 1 */
int http_busy(http *h); /* requests that are being answered */
/* The end: clients are told to close their connections; then no more are accepted,
 * while the socket stays open; then each is closed when its request is answered. The
 * last returns when all are, and calls no handler any more, or returns false after
 * `seconds`. Each implies the steps before it. */
void http_announce_end(http *h);
void http_refuse(http *h);
bool http_drain(http *h, double seconds);
/* To be called when the threads that call http_finish have ended. NULL is allowed. */
void http_stop(http *h);

#endif
