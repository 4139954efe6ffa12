/* A text that grows: the body of an answer. */
#ifndef EASE_SERVER_BYTES_H
#define EASE_SERVER_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bytes {
    char *at; /* not terminated */
    size_t length, capacity;
    bool failed; /* there was no memory: the contents are incomplete */
} bytes;

void bytes_put(bytes *b, const char *from, size_t length);
void bytes_text(bytes *b, const char *text);
void bytes_format(bytes *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bytes_free(bytes *b);

#endif
