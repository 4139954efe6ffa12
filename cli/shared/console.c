#include "console.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results.h"

void console_configure(console *c, bool quiet, bool no_progress)
{
    const char *term = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    bool able = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;

    c->started = c->marked = seconds_now();
    c->quiet = quiet;
    c->bar = able && !quiet && !no_progress;
    c->colour = able && !(no_colour && *no_colour);
}

/* Writes a line in one call, so that lines of several programs do not mix. */
static void say(console *c, const char *prefix, const char *fmt, va_list args)
{
    char text[2048], line[4096];
    size_t length;

    console_clear(c);
    vsnprintf(text, sizeof(text), fmt, args);
    length = (size_t)snprintf(line, sizeof(line), "%s", prefix);
    length += text_make_safe(line + length, sizeof(line) - length - 2, text);
    line[length++] = '\n';
    fwrite(line, 1, length, stderr);
}

int fail(console *c, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(c, "ease: ", fmt, args);
    va_end(args);
    return code;
}

int fail_interrupted(console *c)
{
    int number = signals_caught();

    return fail(c, 128 + (number ? number : 2), "%s",
                number == 15 ? "terminated" : "interrupted");
}

static int exit_code_of(ease_status status)
{
    switch (status) {
    case EASE_OK:
        return EXIT_DONE;
    case EASE_E_ARG:
        return EXIT_USAGE;
    case EASE_E_PARSE:
    case EASE_E_FORMAT:
    case EASE_E_VERSION:
    case EASE_E_DATA:
        return EXIT_DATA;
    case EASE_E_NOMEM:
    case EASE_E_TOO_LARGE:
    case EASE_E_MEMORY_LIMIT:
        return EXIT_MEMORY;
    case EASE_E_NOT_POSDEF:
    case EASE_E_ACCURACY:
        return EXIT_NUMERICAL;
    case EASE_E_IO:
    case EASE_E_BACKEND:
    case EASE_E_CANCELLED:
        break;
    }
    return EXIT_FAILED;
}

int fail_with(console *c, const ease_error *err)
{
    if (err->status == EASE_E_CANCELLED)
        return fail_interrupted(c);
    return fail(c, exit_code_of(err->status), "%s%s",
                err->status == EASE_E_NOMEM ? "out of memory: " : "", err->text);
}

int fail_no_memory(console *c)
{
    return fail(c, EXIT_MEMORY, "out of memory");
}

void warn(console *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(c, "ease: warning: ", fmt, args);
    va_end(args);
}

void note(console *c, const char *fmt, ...)
{
    va_list args;

    if (c->quiet)
        return;
    va_start(args, fmt);
    say(c, "", fmt, args);
    va_end(args);
}
