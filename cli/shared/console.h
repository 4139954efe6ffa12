/* What the user sees on standard error: messages, notes, the progress bar; and the
 * signals that end the program. */
#ifndef EASE_CLI_SHARED_CONSOLE_H
#define EASE_CLI_SHARED_CONSOLE_H

#include <stdbool.h>

#include "ease.h"

/* Exit codes; with 128 + the signal's number when one ended the run. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_DATA = 3,
    EXIT_MEMORY = 4,
    EXIT_NUMERICAL = 5
};

enum { PHASES_MOST = 16 };

/* What one kind of work took, all in all. */
typedef struct phase {
    const char *name;
    double seconds;
} phase;

typedef struct console {
    bool quiet;
    bool bar;    /* a terminal that can redraw a line, and nobody said no */
    bool colour; /* the same, and NO_COLOR is not set */
    bool drawn;  /* a bar is on the screen */
    const char *stage;
    double began, drew;        /* seconds: the stage, the last drawing */
    phase phases[PHASES_MOST]; /* in the order in which they came */
    int phase_count;
    double started, marked;        /* seconds: the verb, the last phase's latest end */
    ease_hooks hooks, quiet_hooks; /* as console_hooks and its twin last gave them */
} console;

/* Everything as if --quiet: until console_configure knows the options. */
#define CONSOLE_START ((console){.quiet = true})
void console_configure(console *c, bool quiet, bool no_progress);

/* "ease: ..." on one line; control characters shown as '?'. Returns `code`. */
int fail(console *c, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same from an error of the library, with its exit code. */
int fail_with(console *c, const ease_error *err);
int fail_no_memory(console *c);
/* "ease: interrupted", after a signal. */
int fail_interrupted(console *c);

void warn(console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What is being done, in words; nothing with --quiet. */
void note(console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- progress ------------------------------------------------------------------ */

/* The library's hooks: a bar on a terminal, its log as notes and warnings, and an end
 * to the work after a signal. */
const ease_hooks *console_hooks(console *c);
/* Without a bar, for calls that are small parts of a longer work. */
const ease_hooks *console_quiet_hooks(console *c);
/* As the hook: nonzero after a signal. */
int console_progress(console *c, const char *stage, double fraction);
void console_clear(console *c);

double seconds_now(void);

/* ---- where the time goes --------------------------------------------------------- */

/* What passed since the last call, or the last report of progress, was this work. A
 * report of progress does the same with its stage, so that this is for what no hook
 * tells. A name lives as long as the program. */
void phase_end(console *c, const char *name);
/* A table of them, for --verbose. */
void phases_note(console *c);

/* ---- signals ------------------------------------------------------------------- */

/* Installs the signal handlers. The first SIGINT or SIGTERM is remembered, a second one
 * kills. A SIGBUS in a mapped model file makes the library call that reads it fail; any
 * other ends the program with a message and EXIT_DATA. */
void signals_install(void);
/* Its number, or 0. */
int signals_caught(void);
/* As if there had been none: for an end of one part of the work alone. */
void signals_forget(void);

#endif
