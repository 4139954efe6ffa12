/* The one shape of errors: a status of HTTP, a code for programs, and a message that
 * says what to do. */
#ifndef EASE_SERVER_PROBLEM_H
#define EASE_SERVER_PROBLEM_H

#include <stdbool.h>

#include "ease.h"

/* The codes, each with its usual status. */
#define PROBLEMS(X)                \
    X(bad_request, 400)            \
    X(bad_json, 400)               \
    X(bad_value, 400)              \
    X(unauthorized, 401)           \
    X(forbidden, 403)              \
    X(not_found, 404)              \
    X(unknown_item, 404)           \
    X(unknown_user, 404)           \
    X(unknown_model, 404)          \
    X(method_not_allowed, 405)     \
    X(timeout, 408)                \
    X(length_required, 411)        \
    X(too_large, 413)              \
    X(unsupported_media_type, 415) \
    X(bad_id, 422)                 \
    X(no_tags, 422)                \
    X(not_possible, 422)           \
    X(header_too_large, 431)       \
    X(internal, 500)               \
    X(no_journal, 404)             \
    X(busy, 503)                   \
    X(too_many_connections, 503)   \
    X(journal_failed, 503)         \
    X(reload_failed, 503)          \
    X(disk_full, 507)

typedef enum problem_code {
    PROBLEM_NONE,
#define X(name, status) PROBLEM_##name,
    PROBLEMS(X)
#undef X
} problem_code;

typedef struct problem {
    problem_code code; /* PROBLEM_NONE: there is none */
    char text[600];
} problem;

/* Notes a problem, unless one was noted before; `p` may be NULL. Returns false. */
bool problem_note(problem *p, problem_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes an error of the library. Returns false. */
bool problem_note_error(problem *p, const ease_error *err);
bool problem_note_memory(problem *p);

int problem_status(problem_code code);
const char *problem_name(problem_code code); /* "bad_json" */

#endif
