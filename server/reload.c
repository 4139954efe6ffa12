#include "reload.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

enum { POLL_MS = 1000, MOST_PAUSE = 60 };

typedef struct watched {
    station *station;
    char *name; /* of the file in its directory */
    int watch;  /* of inotify; -1: polled only */
    identity loaded, seen;
    int pause;       /* seconds until a file that could not be read is tried again; 0:
                        it is not */
    double retry_at; /* when that is */
    bool complete;   /* inotify says that the file was closed or renamed */
} watched;

typedef struct asked {
    struct asked *next;
    reload_done *done;
    void *data;
} asked;

struct reloader {
    const reloader_options *o;
    watched file[MOST_STATIONS];
    int inotify, event;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    asked *first; /* in no particular order */
    atomic_bool stopping, hangup;
};

/* ---- files ----------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What has nothing to do with the contents of the file, and may pass by itself. */
static bool is_transient(ease_status status)
{
    return status == EASE_E_NOMEM || status == EASE_E_MEMORY_LIMIT ||
           status == EASE_E_IO;
}

/* Decides when a file that could not be loaded is tried again. */
static void plan_retry(watched *f, ease_status status)
{
    if (!is_transient(status) || !f->loaded.exists)
        f->pause = 0;
    else
        f->pause = f->pause ? 2 * f->pause : 1;
    if (f->pause > MOST_PAUSE)
        f->pause = MOST_PAUSE;
    f->retry_at = seconds_now() + f->pause;
}

static void log_failure(const watched *f, const ease_error *err)
{
    if (f->pause)
        log_line(LOG_ERROR,
                 "%s; the model that was served before stays, and the file is tried "
                 "again in %d s",
                 err->text, f->pause);
    else
        log_line(LOG_ERROR, "%s; the model that was served before stays", err->text);
}

static bool load(reloader *r, watched *f, problem *p)
{
    ease_error err = {0};
    ease_status status = station_load(f->station, &err);

    f->loaded = f->seen = f->station->opened;
    f->complete = false;
    plan_retry(f, status);
    if (status == EASE_OK) {
        atomic_fetch_add(&r->o->gauges->reloads, 1);
        log_line(LOG_NOTE, "serving %s again, generation %lld", f->station->path,
                 (long long)f->station->generations);
        return true;
    }
    atomic_fetch_add(&r->o->gauges->reload_failures, 1);
    log_failure(f, &err);
    return problem_note(p, PROBLEM_reload_failed, "%s; the old model is still served",
                        err.text);
}

/* Loads a file that was replaced, or that could not be read. A file that is being
 * written in place is loaded when it is closed, or has not changed for one poll. */
static void look(reloader *r, watched *f)
{
    identity now = identity_of(f->station->path);
    bool settled = f->complete || identity_same(&now, &f->seen);
    bool same = identity_same(&now, &f->loaded);
    bool again = f->pause && now.exists && seconds_now() >= f->retry_at;
    problem p = {.code = PROBLEM_NONE};

    f->seen = now;
    f->complete = false;
    if ((same && !again) || !settled)
        return;
    if (!same)
        f->pause = 0;
    if (now.exists) {
        load(r, f, &p);
        return;
    }
    f->loaded = now;
    log_line(LOG_WARNING, "%s: is gone; its model is still served", f->station->path);
}

/* Watches the directory: a file that replaces another one has another inode. */
static void start_watching(reloader *r, watched *f, station *t)
{
    const char *slash = strrchr(t->path, '/');
    char dir[PATH_MAX];

    f->station = t;
    f->loaded = f->seen = t->opened; /* maybe long ago */
    f->name = strdup(slash ? slash + 1 : t->path);
    if (!slash)
        strcpy(dir, ".");
    else if ((size_t)(slash - t->path) < sizeof(dir) - 1)
        snprintf(dir, sizeof(dir), "%.*s", (int)(slash - t->path) + 1, t->path);
    f->watch = r->inotify < 0
                   ? -1
                   : inotify_add_watch(r->inotify, dir, IN_MOVED_TO | IN_CLOSE_WRITE);
}

static void note_event(reloader *r, const struct inotify_event *e)
{
    for (int i = 0; i < r->o->count; i++)
        if (e->len && r->file[i].watch == e->wd && r->file[i].name &&
            strcmp(e->name, r->file[i].name) == 0)
            r->file[i].complete = true;
}

static void read_events(reloader *r)
{
    _Alignas(struct inotify_event) char buffer[8192];
    ssize_t got = r->inotify < 0 ? 0 : read(r->inotify, buffer, sizeof(buffer));

    for (char *at = buffer; got > 0 && at < buffer + got;) {
        const struct inotify_event *e = (const void *)at;

        note_event(r, e);
        at += sizeof(*e) + e->len;
    }
}

/* ---- requests -------------------------------------------------------------------- */

static asked *take_asked(reloader *r)
{
    asked *first;

    pthread_mutex_lock(&r->lock);
    first = r->first;
    r->first = NULL;
    pthread_mutex_unlock(&r->lock);
    return first;
}

static void tell(asked *a, const problem *p)
{
    while (a) {
        asked *next = a->next;

        a->done(a->data, p);
        free(a);
        a = next;
    }
}

static void load_all(reloader *r, asked *a)
{
    problem p = {.code = PROBLEM_NONE};

    for (int i = 0; i < r->o->count; i++)
        load(r, &r->file[i], &p);
    tell(a, &p);
}

static void reload_tokens(reloader *r)
{
    problem p = {.code = PROBLEM_NONE};

    if (!r->o->tokens)
        return;
    if (tokens_reload(r->o->tokens, &p))
        log_line(LOG_NOTE, "read the tokens again");
    else
        log_line(LOG_ERROR, "%s; the tokens from before stay", p.text);
}

static void *watch(void *data)
{
    reloader *r = data;

    while (!atomic_load(&r->stopping)) {
        struct pollfd fds[2] = {{r->event, POLLIN, 0}, {r->inotify, POLLIN, 0}};
        uint64_t count;
        bool hangup;
        asked *a;

        (void)poll(fds, r->inotify < 0 ? 1 : 2, POLL_MS);
        (void)!read(r->event, &count, sizeof(count));
        read_events(r);
        hangup = atomic_exchange(&r->hangup, false);
        a = take_asked(r);
        if (hangup)
            reload_tokens(r);
        if (hangup || a)
            load_all(r, a);
        for (int i = 0; i < r->o->count; i++)
            look(r, &r->file[i]);
    }
    return NULL;
}

bool reloader_ask(reloader *r, reload_done *done, void *data)
{
    asked *a = malloc(sizeof(*a));
    const uint64_t one = 1;

    if (!a)
        return false;
    *a = (asked){.done = done, .data = data};
    pthread_mutex_lock(&r->lock);
    a->next = r->first;
    r->first = a;
    pthread_mutex_unlock(&r->lock);
    (void)!write(r->event, &one, sizeof(one));
    return true;
}

void reloader_wake(reloader *r)
{
    const uint64_t one = 1;

    atomic_store(&r->hangup, true);
    (void)!write(r->event, &one, sizeof(one));
}

reloader *reloader_start(const reloader_options *o)
{
    reloader *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->o = o;
    pthread_mutex_init(&r->lock, NULL);
    r->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    for (int i = 0; i < o->count; i++)
        start_watching(r, &r->file[i], o->stations[i]);
    r->started = r->event >= 0 && pthread_create(&r->thread, NULL, watch, r) == 0;
    if (r->started)
        return r;
    reloader_stop(r);
    return NULL;
}

void reloader_stop(reloader *r)
{
    static const problem stopping = {PROBLEM_busy, "the server is stopping"};

    if (!r)
        return;
    atomic_store(&r->stopping, true);
    if (r->started) {
        const uint64_t one = 1;

        (void)!write(r->event, &one, sizeof(one));
        pthread_join(r->thread, NULL);
    }
    tell(take_asked(r), &stopping);
    for (int i = 0; i < r->o->count; i++)
        free(r->file[i].name);
    if (r->event >= 0)
        close(r->event);
    if (r->inotify >= 0)
        close(r->inotify);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
