/* The thread that loads models again: when their file was replaced, after SIGHUP, and
 * when a request asks for it. */
#ifndef EASE_SERVER_RELOAD_H
#define EASE_SERVER_RELOAD_H

#include "gauges.h"
#include "problem.h"
#include "snapshot.h"
#include "tokens.h"

enum { MOST_STATIONS = 2 };

typedef struct reloader reloader;

typedef struct reloader_options {
    station *stations[MOST_STATIONS]; /* that have been loaded once, and may be again */
    int count;
    tokens *tokens; /* read again after SIGHUP; NULL: none */
    gauges *gauges;
} reloader_options;

/* Called when the files were loaded again, or could not be: `p` says why. */
typedef void reload_done(void *data, const problem *p);

/* Starts the thread. NULL: no memory, threads or descriptors. */
reloader *reloader_start(const reloader_options *o);
/* Loads all files again; `done` is called by the thread. False: no memory. */
bool reloader_ask(reloader *r, reload_done *done, void *data);
/* The same after SIGHUP, with the tokens. Async-signal-safe. */
void reloader_wake(reloader *r);
/* Ends the thread, after the loading that is under way. Requests that wait are told
 * that the server is stopping. NULL is allowed. */
void reloader_stop(reloader *r);

#endif
