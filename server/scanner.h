/* A strict examination of the bytes of requests, before libmicrohttpd parses them.
 *
 * libmicrohttpd 0.9.75 is lenient: of two differing lengths it takes the first, it
 * ignores a length beside chunks or on a folded line, ends a header at a line without a
 * name, cuts values at a NUL and accepts bare line feeds. A server in front of this one
 * that reads such bytes differently would let one client's request be answered to
 * another (request smuggling). So only requests that have one meaning are passed on. */
#ifndef EASE_SERVER_SCANNER_H
#define EASE_SERVER_SCANNER_H

#include <stdint.h>

#include "problem.h"

typedef enum scan_state {
    SCAN_START, /* between requests */
    SCAN_METHOD,
    SCAN_TARGET,
    SCAN_VERSION,
    SCAN_NAME,
    SCAN_VALUE,
    SCAN_LINE_END,   /* a line feed must follow */
    SCAN_HEADER_END, /* the line feed of the empty line must follow */
    SCAN_BODY,
    SCAN_BROKEN /* a problem was found: nothing more is passed on */
} scan_state;

enum { SCAN_NAME_BYTES = 20, SCAN_PARTS = 128 };

/* The state of a connection; starts as {.limit = most bytes of a header}. */
typedef struct scanner {
    size_t limit, bytes; /* of the header */
    scan_state state;
    unsigned hosts, lengths, encodings;
    unsigned parts;             /* headers; '&' in the target, ';' in cookies */
    char name[SCAN_NAME_BYTES]; /* the beginning, in lower case */
    size_t length;              /* of a method, a target, a version or a name */
    int digits;                 /* of Content-Length */
    uint64_t number, body;      /* Content-Length; bytes of the body that are left */
    const char *why;            /* the message, when broken */
    problem_code code;
} scanner;

/* Examines bytes in the order in which they arrive. Returns how many of them may be
 * passed on: all, or when the state becomes SCAN_BROKEN those of the complete requests
 * before. */
size_t scanner_feed(scanner *s, const char *data, size_t count);

#endif
