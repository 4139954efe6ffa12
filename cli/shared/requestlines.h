/* Lines of standard input, each as soon as it is there. */
#ifndef EASE_CLI_SHARED_REQUESTLINES_H
#define EASE_CLI_SHARED_REQUESTLINES_H

#include <stdbool.h>

#include "console.h"

enum { LINE_MOST_BYTES = 4 << 20 };

/* Starts as {0}. */
typedef struct request_lines {
    char *bytes;
    size_t at, used, capacity;
    bool ended;
    bool skipping; /* the rest of a line that is too long */
} request_lines;

typedef struct request_line {
    char *text; /* followed by a NUL; may be changed; NULL: there are no more lines */
    size_t length;
    bool too_long; /* of more than LINE_MOST_BYTES bytes, which are skipped */
} request_line;

/* Waits for the next line; the last one may lack its line end. Returns 0, or the exit
 * code after a message: a signal, a failed read, no memory. */
int request_line_next(console *c, request_lines *s, request_line *out);
void request_lines_free(request_lines *s);

#endif
