#include "core/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16, NUMBER_CHARS = 40 };

void ease__csv_open(ease__csv *w, const char *path, ease_error *err)
{
    *w = (ease__csv){.out = EASE__OUTPUT_NONE, .err = err};
    w->buffer = ease__alloc_array(BUFFER_BYTES, 1);
    w->status = w->buffer ? ease__output_open(path, 0, &w->out, err)
                          : ease__fail(err, EASE_E_NOMEM, "writing %s", path);
}

static void put(ease__csv *w, const char *text, size_t length)
{
    while (length && !w->status) {
        size_t part = BUFFER_BYTES - w->used;

        if (part > length)
            part = length;
        memcpy(w->buffer + w->used, text, part);
        w->used += part;
        text += part;
        length -= part;
        if (w->used < BUFFER_BYTES)
            continue;
        w->status = ease__output_write(&w->out, w->buffer, w->used, w->err);
        w->used = 0;
    }
}

static void begin_field(ease__csv *w)
{
    if (w->within)
        put(w, ",", 1);
    w->within = true;
}

void ease__csv_text(ease__csv *w, const char *field)
{
    begin_field(w);
    if (!strpbrk(field, ",\"\r\n")) {
        put(w, field, strlen(field));
        return;
    }
    put(w, "\"", 1);
    for (const char *quote; (quote = strchr(field, '"')); field = quote + 1) {
        put(w, field, (size_t)(quote - field));
        put(w, "\"\"", 2);
    }
    put(w, field, strlen(field));
    put(w, "\"", 1);
}

void ease__csv_real(ease__csv *w, double value)
{
    static const char plain[] = "0123456789+-einfa";
    char text[NUMBER_CHARS];
    size_t before;

    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    begin_field(w);
    before = strspn(text, plain);
    put(w, text, before);
    if (!text[before])
        return;
    put(w, ".", 1);
    before += strcspn(text + before, plain);
    put(w, text + before, strlen(text + before));
}

void ease__csv_end_row(ease__csv *w)
{
    put(w, "\n", 1);
    w->within = false;
}

ease_status ease__csv_close(ease__csv *w)
{
    if (!w->status)
        w->status = ease__output_write(&w->out, w->buffer, w->used, w->err);
    if (!w->status)
        w->status = ease__output_commit(&w->out, w->err);
    ease__output_discard(&w->out);
    ease__free(w->buffer);
    return w->status;
}
