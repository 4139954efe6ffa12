/* The headers of a request that matter here. The scanner has examined them before. */
#ifndef EASE_SERVER_HEADERS_H
#define EASE_SERVER_HEADERS_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

#include "problem.h"

typedef struct headers {
    const char *host, *origin, *authorization, *content_type; /* NULL: absent */
    int64_t length;                                           /* -1: none was given */
} headers;

/* Collects the headers. Fails with bad_request if one of them is repeated. */
bool headers_read(struct MHD_Connection *c, headers *out, problem *p);

/* True if Host is a name or an address of the loopback interface, with any port. */
bool headers_host_is_local(const char *host);
/* True if the origin, "http://HOST" or "https://HOST", is that of Host. */
bool headers_origin_is_own(const char *origin, const char *host);
/* True for application/json, with any parameters. */
bool headers_is_json(const char *content_type);

#endif
