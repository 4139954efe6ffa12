#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

static struct {
    bool json;
    log_level most;
} setup = {.most = LOG_NOTE};

static const char *const names[] = {"error", "warning", "note", "debug"};

void log_setup(bool json, log_level most)
{
    setup.json = json;
    setup.most = most;
}

/* 2026-07-01T12:00:00.123Z */
static const char *time_now(char *to, size_t size)
{
    struct timespec now;
    struct tm parts;
    char text[24];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(to, size, "%s.%03dZ", text, (int)(now.tv_nsec / 1000000));
    return to;
}

static void write_line(bytes *line)
{
    bytes_put(line, "\n", 1);
    if (!line->failed)
        (void)!write(STDERR_FILENO, line->at, line->length);
    bytes_free(line);
}

/* Begins a line of JSON with its time and level. */
static json_writer begin(bytes *line, log_level level)
{
    json_writer w = {.to = line};
    char now[40];

    put_open(&w, NULL, '{');
    put_text(&w, "time", time_now(now, sizeof(now)));
    put_text(&w, "level", names[level]);
    return w;
}

static void put_safe(bytes *to, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        bytes_put(to, c < 0x20 || c == 0x7F ? "?" : text, 1);
    }
}

void log_line(log_level level, const char *fmt, ...)
{
    char text[1024];
    bytes line = {0};
    va_list args;

    if (level > setup.most)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (setup.json) {
        json_writer w = begin(&line, level);

        put_text(&w, "message", text);
        put_close(&w, '}');
    } else {
        bytes_text(&line, "ease: ");
        if (level < LOG_NOTE)
            bytes_format(&line, "%s: ", names[level]);
        put_safe(&line, text);
    }
    write_line(&line);
}

void log_answered(const log_request *r)
{
    bytes line = {0};
    char now[40];

    if (setup.json) {
        json_writer w = begin(&line, LOG_NOTE);

        put_text(&w, "address", r->address);
        put_text(&w, "method", r->method);
        put_text(&w, "target", r->target);
        put_count(&w, "status", r->status);
        put_count(&w, "bytes", (int64_t)r->bytes);
        put_number(&w, "seconds", (double)(int64_t)(r->seconds * 1e6) / 1e6);
        put_close(&w, '}');
    } else {
        bytes_format(&line, "%s %s ", time_now(now, sizeof(now)),
                     r->address ? r->address : "-");
        put_safe(&line, r->method);
        bytes_text(&line, " ");
        put_safe(&line, r->target);
        bytes_format(&line, " %d, %zu bytes, %.2f ms", r->status, r->bytes,
                     r->seconds * 1e3);
    }
    write_line(&line);
}
