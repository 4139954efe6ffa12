/* Standard error: messages, notes, the progress bar; and the signals that end the
 * program. */
#ifndef EASE_CLI_SHARED_CONSOLE_H
#define EASE_CLI_SHARED_CONSOLE_H

#include <stdbool.h>

#include "ease.h"

/* Exit codes; 128 + the number of the signal if one ended the run. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_DATA = 3,
    EXIT_MEMORY = 4,
    EXIT_NUMERICAL = 5
};

enum { PHASES_MOST = 16 };

/* The total time of one kind of work. */
typedef struct phase {
    const char *name;
    double seconds;
} phase;

typedef struct console {
    bool quiet;
    bool bar;    /* standard error is a terminal, and the bar is not disabled */
    bool colour; /* the same, and NO_COLOR is not set */
    bool drawn;  /* a bar is on the screen */
    const char *stage;
    double began, drew;        /* times: start of the stage, last drawing */
    phase phases[PHASES_MOST]; /* in the order of their first use */
    int phase_count;
    double started, marked;        /* times: start of the verb, end of the last phase */
    ease_hooks hooks, quiet_hooks; /* what console_hooks and its twin return */
} console;

/* A console as with --quiet, until console_configure knows the options. */
#define CONSOLE_START ((console){.quiet = true})
void console_configure(console *c, bool quiet, bool no_progress);

/* Prints "ease: ..." on one line, control characters as '?'. Returns `code`. */
int fail(console *c, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints an error of the library. Returns its exit code. */
int fail_with(console *c, const ease_error *err);
int fail_no_memory(console *c);
/* Prints "ease: interrupted", after a signal. Returns the exit code. */
int fail_interrupted(console *c);

void warn(console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a note about the work; nothing with --quiet. */
void note(console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- progress ------------------------------------------------------------------ */

/* The hooks for the library: a bar on a terminal, its log as notes and warnings, and
 * cancellation after a signal. */
const ease_hooks *console_hooks(console *c);
/* The hooks without a bar, for calls that are small parts of a longer work. */
const ease_hooks *console_quiet_hooks(console *c);
/* The progress hook: nonzero after a signal. */
int console_progress(console *c, const char *stage, double fraction);
void console_clear(console *c);

double seconds_now(void);

/* ---- where the time goes --------------------------------------------------------- */

/* Counts the time since the last call, or the last report of progress, as this
 * phase. Reports of progress do the same with their stage, so that this is needed
 * only for work without hooks. `name` must live as long as the program. */
void phase_end(console *c, const char *name);
/* Prints a table of the phases, for --verbose. */
void phases_note(console *c);

/* ---- signals ------------------------------------------------------------------- */

/* Installs the signal handlers. The first SIGINT or SIGTERM is recorded, a second
 * one kills. A SIGBUS in a mapped model file makes the library call that reads it
 * fail; any other SIGBUS ends the program with a message and EXIT_DATA. */
void signals_install(void);
/* The number of the signal that was caught, or 0. */
int signals_caught(void);
/* Forgets the signal: it ended only one part of the work. */
void signals_forget(void);

#endif
