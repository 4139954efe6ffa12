/* The log, on standard error: one JSON object a line, or text on a terminal. */
#ifndef EASE_SERVER_LOG_H
#define EASE_SERVER_LOG_H

#include <stdbool.h>
#include <stddef.h>

typedef enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE, LOG_DEBUG } log_level;

/* To be called before there are threads; LOG_NOTE and text until then. */
void log_setup(bool json, log_level most);

/* Writes a line in one call: lines of several threads do not mix. Control characters
 * and bytes that are not UTF-8 are replaced. */
void log_line(log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The line of a request. `address` may be NULL. */
typedef struct log_request {
    const char *address, *method, *target;
    int status;
    size_t bytes;
    double seconds;
} log_request;

void log_answered(const log_request *r);

#endif
