#include "requestlines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAKE_MILLISECONDS = 200 };

/* Makes space behind the bytes that are there, also for a NUL. */
static bool make_space(request_lines *s)
{
    size_t kept = s->used - s->at, capacity;
    char *grown;

    if (kept && s->bytes)
        memmove(s->bytes, s->bytes + s->at, kept);
    s->at = 0;
    s->used = kept;
    if (s->capacity - kept > 1 && s->capacity)
        return true;
    capacity = s->capacity ? 2 * s->capacity : 1 << 16;
    grown = realloc(s->bytes, capacity);
    if (!grown)
        return false;
    s->bytes = grown;
    s->capacity = capacity;
    return true;
}

/* Waits until there is input, or a signal was caught. A signal may come after the flag
 * was looked at, or be handled by another thread, so that it does not interrupt the
 * wait: the flag is looked at again from time to time. */
static void wait_for_input(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = 0;

    while (!signals_caught() && (ready == 0 || (ready < 0 && errno == EINTR)))
        ready = poll(&input, 1, WAKE_MILLISECONDS);
}

static int read_more(console *c, request_lines *s)
{
    ssize_t got;

    if (s->used - s->at > LINE_MOST_BYTES) {
        s->skipping = true;
        s->at = s->used = 0;
    }
    if (!make_space(s))
        return fail_no_memory(c);
    wait_for_input();
    if (signals_caught())
        return fail_interrupted(c);
    got = read(STDIN_FILENO, s->bytes + s->used, s->capacity - s->used - 1);
    if (got < 0 && errno != EINTR)
        return fail(c, EXIT_FAILED, "standard input: cannot read: %s", strerror(errno));
    s->ended = got == 0;
    s->used += got > 0 ? (size_t)got : 0;
    return EXIT_DONE;
}

/* Takes a line of `length` bytes, and `beyond` bytes of its end. */
static void take_line(request_lines *s, size_t length, size_t beyond, request_line *out)
{
    out->text = s->bytes + s->at;
    out->length = length;
    out->too_long = s->skipping || length > LINE_MOST_BYTES;
    out->text[length] = '\0';
    s->at += length + beyond;
    s->skipping = false;
}

int request_line_next(console *c, request_lines *s, request_line *out)
{
    size_t searched = 0;

    *out = (request_line){0};
    if (!s->bytes)
        make_space(s);
    if (!s->bytes)
        return fail_no_memory(c);
    for (;;) {
        size_t there = s->used - s->at;
        char *from = s->bytes + s->at;
        char *end = there > searched ? memchr(from + searched, '\n', there - searched)
                                     : NULL;
        int code;

        if (end) {
            take_line(s, (size_t)(end - from), 1, out);
            return EXIT_DONE;
        }
        if (s->ended) {
            if (there || s->skipping)
                take_line(s, there, 0, out);
            return EXIT_DONE;
        }
        searched = there > LINE_MOST_BYTES ? 0 : there;
        code = read_more(c, s);
        if (code)
            return code;
    }
}

void request_lines_free(request_lines *s)
{
    free(s->bytes);
    *s = (request_lines){0};
}
