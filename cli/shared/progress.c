#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "console.h"
#include "results.h"

#define DRAW_EVERY 0.1 /* seconds */
#define CLEAR_LINE "\r\033[K"

enum { BAR_LEAST = 10, BAR_MOST = 40, LINE_MOST = 200 };

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void console_clear(console *c)
{
    if (!c->drawn)
        return;
    fputs(CLEAR_LINE, stderr);
    c->drawn = false;
}

static int screen_width(void)
{
    struct winsize w;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
        return 80;
    return w.ws_col < LINE_MOST ? w.ws_col : LINE_MOST;
}

/* Writes "12 s left", estimated from the pace so far; nothing if there is too little
 * to estimate from. */
static void time_left(char *to, size_t size, double elapsed, double fraction)
{
    char left[32];

    *to = '\0';
    if (elapsed < 1.0 || fraction < 0.01)
        return;
    format_seconds(left, sizeof(left), elapsed / fraction * (1.0 - fraction));
    snprintf(to, size, "  %s left", left);
}

/* Draws the bar. It is ASCII, so that a byte is a column; the last column stays
 * free, because terminals differ in wrapping there. */
static void draw(console *c, double fraction, double elapsed)
{
    char left[64], spent[32], line[LINE_MOST * 2], bar[BAR_MOST + 1];
    int width = screen_width() - 1, percent = (int)(fraction * 100.0), cells, full;
    const char *on = c->colour ? "\033[32m" : "", *off = c->colour ? "\033[m" : "";

    format_seconds(spent, sizeof(spent), elapsed);
    if (fraction < 0.0) {
        snprintf(line, sizeof(line), "%.*s  %s", width - 16 > 0 ? width - 16 : 1,
                 c->stage, spent);
        fprintf(stderr, CLEAR_LINE "%.*s", width, line);
        c->drawn = true;
        return;
    }
    time_left(left, sizeof(left), elapsed, fraction);
    cells = width - (int)strlen(c->stage) - (int)strlen(left) - 10;
    if (cells > BAR_MOST)
        cells = BAR_MOST;
    if (cells < BAR_LEAST) {
        snprintf(line, sizeof(line), "%s %d %%%s", c->stage, percent, left);
        fprintf(stderr, CLEAR_LINE "%.*s", width, line);
    } else {
        full = (int)(fraction * cells);
        memset(bar, '#', (size_t)full);
        memset(bar + full, '.', (size_t)(cells - full));
        fprintf(stderr, CLEAR_LINE "%s [%s%.*s%s%.*s] %3d %%%s", c->stage, on, full,
                bar, off, cells - full, bar + full, percent, left);
    }
    c->drawn = true;
}

int console_progress(console *c, const char *stage, double fraction)
{
    double now;

    phase_end(c, stage);
    if (signals_caught())
        return 1;
    if (!c->bar)
        return 0;
    now = c->marked;
    if (stage != c->stage) {
        c->stage = stage;
        c->began = now;
    } else if (now - c->drew < DRAW_EVERY) {
        return 0;
    }
    c->drew = now;
    draw(c, fraction > 1.0 ? 1.0 : fraction, now - c->began);
    return 0;
}

static int on_progress(void *user, const char *stage, double fraction)
{
    return console_progress(user, stage, fraction);
}

static int on_quiet_progress(void *user, const char *stage, double fraction)
{
    (void)fraction;
    phase_end(user, stage);
    return signals_caught();
}

static void on_log(void *user, int level, const char *text)
{
    console *c = user;

    if (level <= 1)
        warn(c, "%s", text);
    else if (level == 2)
        note(c, "ease: note: %s", text);
}

const ease_hooks *console_hooks(console *c)
{
    c->hooks = (ease_hooks){.log = on_log, .progress = on_progress, .user = c};
    return &c->hooks;
}

const ease_hooks *console_quiet_hooks(console *c)
{
    c->quiet_hooks = (ease_hooks){
        .log = on_log, .progress = on_quiet_progress, .user = c};
    return &c->quiet_hooks;
}
