/* The options of serve, which two programs parse: `ease serve` starts `ease-serve` with
 * the same arguments, since only the latter links the libraries of a server. */
#ifndef EASE_CLI_SHARED_SERVING_H
#define EASE_CLI_SHARED_SERVING_H

#include "files.h"

typedef struct serve_args {
    common_args common;
    reading_args reading; /* of --users */
    const char *listen, *socket, *compare, *titles, *users, *tokens, *journal;
    text_list origins;
    int no_auth, mapped, live, log_requests, log; /* log: 0 auto, 1 text, 2 json */
    double update_every, save_every, grace, shutdown_delay;
    int64_t most_k, most_batch, most_ids, most_events, connections, of_address;
    double header_seconds, body_seconds, idle_seconds, request_seconds;
    size_t header_bytes, body_bytes, answer_bytes;
} serve_args;

/* The verb, whose function is serve_run. */
extern const verb verb_serve;

/* Defined once in each of the two programs: in `ease` it executes ease-serve, which
 * serves. Returns the exit code. */
int serve_run(console *c, void *args);

#endif
