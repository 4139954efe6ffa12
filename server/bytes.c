#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(bytes *b, size_t more)
{
    size_t need = b->length + more, capacity = b->capacity ? b->capacity : 1024;
    char *grown;

    if (b->failed || need < more)
        return false;
    if (need <= b->capacity)
        return true;
    while (capacity < need)
        capacity *= 2;
    grown = realloc(b->at, capacity);
    if (!grown) {
        b->failed = true;
        return false;
    }
    b->at = grown;
    b->capacity = capacity;
    return true;
}

void bytes_put(bytes *b, const char *from, size_t length)
{
    if (length == 0 || !reserve(b, length))
        return;
    memcpy(b->at + b->length, from, length);
    b->length += length;
}

void bytes_text(bytes *b, const char *text)
{
    bytes_put(b, text, strlen(text));
}

void bytes_format(bytes *b, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    int length;

    va_start(args, fmt);
    length = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(text))
        b->failed = true;
    else
        bytes_put(b, text, (size_t)length);
}

void bytes_free(bytes *b)
{
    free(b->at);
    *b = (bytes){0};
}
