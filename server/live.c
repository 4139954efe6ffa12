#include "live.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "replacing.h"

static const double EVERY = 60;
enum { NICE = 19 };

struct live {
    live_options o;
    char *journal;
    users *u;
    pthread_t thread;
    bool started;

    pthread_mutex_t
        model_lock; /* held during an update; for the members up to `file` */
    ease_model *m;  /* packed */
    uint64_t included;
    int64_t generation, saved; /* saved: the generation in the file */
    bool ended;                /* no more updates */
    identity file;             /* that was opened, or saved last */

    double saved_at; /* the last time it was tried */

    pthread_mutex_t lock; /* for `stopping` */
    pthread_cond_t stop;
    bool stopping;
    atomic_bool cancelled;
};

/* ---- checks before the start ----------------------------------------------------- */

size_t live_bytes(int32_t items)
{
    return (size_t)items > SIZE_MAX / 8 / (size_t)items
               ? SIZE_MAX
               : 8 * (size_t)items * (size_t)items;
}

ease_status live_position(const ease_model *m, const journal_info *journal,
                          uint64_t *included, ease_error *err)
{
    uint64_t position = 0;
    const char *log = ease_model_position(m, &position);

    if (!m || !journal || !included)
        return journal_fail(err, EASE_E_ARG, 0, "a model and a journal are required");
    if (log && strcmp(log, journal->id) != 0)
        return journal_fail(
            err, EASE_E_DATA, 0,
            "the model has the events of another journal (%.40s, this one "
            "is %s): serve it with that one, or train it again",
            log, journal->id);
    if (log && position > journal->last)
        return journal_fail(
            err, EASE_E_DATA, 0,
            "the model has events up to number %llu, and the journal ends "
            "at %llu: events are missing",
            (unsigned long long)position, (unsigned long long)journal->last);
    if (log && position + 1 < journal->first)
        return journal_fail(err, EASE_E_DATA, 0,
                            "the model has events up to number %llu, and the journal "
                            "begins at %llu: segments are missing",
                            (unsigned long long)position,
                            (unsigned long long)journal->first);
    *included = position;
    return EASE_OK;
}

static ease_status check_memory(const live_options *o, int32_t items, ease_error *err)
{
    const double gigabyte = 1e9;
    size_t need = live_bytes(items);
    size_t have = o->memory_limit ? o->memory_limit : ease_memory_available();

    if (!have || need <= have)
        return EASE_OK;
    return journal_fail(
        err, EASE_E_MEMORY_LIMIT, 0,
        "live updates of %d items need %.1f GB of memory (8 n^2), %.1f GB "
        "are available: serve the model without live updates, or give the "
        "process more memory",
        (int)items, (double)need / gigabyte, (double)have / gigabyte);
}

static ease_status check_model(const ease_model *m, ease_error *err)
{
    ease_model_info info = {.size = sizeof(info)};

    ease_model_describe(m, &info);
    if (info.updatable && info.storage == EASE_STORE_PACKED)
        return EASE_OK;
    return journal_fail(err, EASE_E_ARG, 0,
                        "this model cannot be updated: train it with the option "
                        "updatable, and save it packed");
}

static ease_status check_data(const ease_model *m, const users *u, ease_error *err)
{
    ease_interactions *x = NULL;
    ease_status status = users_interactions(u, USERS_MODEL, &x, err);

    if (!status && !x)
        return journal_fail(err, EASE_E_DATA, 0,
                            "live updates need the data of the model, and there are no "
                            "users");
    if (!status)
        status = ease_model_check_data(m, x, err);
    ease_interactions_free(x);
    return status;
}

/* ---- an update ------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_cancelled(void *data, const char *stage, double fraction)
{
    (void)stage;
    (void)fraction;
    return atomic_load(&((live *)data)->cancelled);
}

/* Makes rows of the model, and passes them on. */
static ease_status serve(live *l, const ease_model *m, const live_update *done,
                         double began, const ease_hooks *hooks, ease_error *err)
{
    ease_model *rows = NULL;
    live_update u = *done;
    ease_status status = ease_model_convert(m, EASE_STORE_F16, hooks, &rows, err);

    if (status)
        return status;
    u.seconds = seconds_now() - began;
    status = l->o.serve(l->o.user, rows, &u, err);
    if (status)
        ease_model_free(rows);
    return status;
}

/* Updates the model by changes, and serves it. */
static ease_status update_by(live *l, const users_changes *c, double began,
                             ease_error *err)
{
    const ease_hooks hooks = {.progress = is_cancelled, .user = l};
    ease_update_info info = {.size = sizeof(info)};
    ease_update_options o;
    live_update u = {
        .generation = l->generation + 1, .sequence = c->sequence, .users = c->users};
    ease_model *made = NULL;
    ease_status status;

    ease_update_options_init(&o);
    o.threads = l->o.threads;
    o.memory_limit = l->o.memory_limit;
    o.hooks = &hooks;
    status = ease_model_update(l->m, c->was, c->now, &o, &made, &info, err);
    if (!status)
        status = ease_model_set_position(made, l->journal, c->sequence, err);
    if (!status) {
        u.new_items = info.new_items;
        u.residual = info.residual;
        status = serve(l, made, &u, began, &hooks, err);
    }
    if (status) {
        ease_model_free(made);
        return status;
    }
    ease_model_free(l->m);
    l->m = made;
    l->generation++;
    return EASE_OK;
}

/* Whether a failure will be met again until the model is trained anew. */
static bool is_for_good(ease_status status)
{
    return status == EASE_E_DATA || status == EASE_E_ACCURACY || status == EASE_E_ARG ||
           status == EASE_E_FORMAT || status == EASE_E_IO;
}

/* Called with model_lock. */
static ease_status update(live *l, ease_error *err)
{
    double began = seconds_now();
    users_changes c = {0};
    ease_error found = {0};
    ease_status status = users_take(l->u, &c, &found);

    if (!status && (c.was || c.now))
        status = update_by(l, &c, began, &found);
    if (!status) {
        l->included = c.sequence > l->included ? c.sequence : l->included;
        users_keep(l->u, &c);
        return EASE_OK;
    }
    users_give_back(l->u, &c);
    l->ended = is_for_good(status);
    if (l->o.failed && status != EASE_E_CANCELLED)
        l->o.failed(l->o.user, &found, l->ended);
    if (err)
        *err = found;
    return status;
}

ease_status live_now(live *l, ease_error *err)
{
    ease_status status = EASE_OK;

    pthread_mutex_lock(&l->model_lock);
    if (l->ended)
        status = journal_fail(err, EASE_E_DATA, 0,
                              "updates have ended: train the model again");
    else
        status = update(l, err);
    pthread_mutex_unlock(&l->model_lock);
    return status;
}

/* ---- saving ---------------------------------------------------------------------- */

/* Called with model_lock. */
static ease_status save(live *l, const char *path, const ease_hooks *hooks,
                        ease_error *err)
{
    ease_status status = ease_model_set_position(l->m, l->journal, l->included, err);

    return status ? status : ease_model_save(l->m, path, EASE_STORE_PACKED, hooks, err);
}

ease_status live_save(live *l, const char *path, const ease_hooks *hooks,
                      ease_error *err)
{
    ease_status status;

    pthread_mutex_lock(&l->model_lock);
    status = save(l, path, hooks, err);
    pthread_mutex_unlock(&l->model_lock);
    return status;
}

/* Replaces the file of the model, which takes as long as writing it: somebody else may
 * put another file there meanwhile. Called with model_lock. */
static ease_status save_in_place(live *l, const ease_hooks *hooks, ease_error *err)
{
    replacement r;
    bool foreign = false;
    ease_status status = replacing_begin(l->o.path, &l->file, &r, &foreign, err);

    if (!status)
        status = save(l, r.sibling, hooks, err);
    if (!status)
        status = replacing_commit(&r, &l->file, &foreign, err);
    replacing_end(&r);
    if (foreign)
        l->o.path = NULL; /* for good */
    if (!status)
        l->saved = l->generation;
    return status;
}

/* Saves the model where the options say, if it was updated since. Unless it is the last
 * time, nobody needs to know that it was cancelled. */
static void save_update(live *l, const ease_hooks *hooks, bool last)
{
    double began = seconds_now();
    ease_status status = EASE_OK;
    uint64_t sequence;
    ease_error err = {0};
    bool saves, tells;

    pthread_mutex_lock(&l->model_lock);
    saves = l->o.path && l->generation != l->saved;
    if (saves)
        status = save_in_place(l, hooks, &err);
    sequence = l->included;
    pthread_mutex_unlock(&l->model_lock);
    l->saved_at = seconds_now();
    tells = saves && l->o.saved && (last || status != EASE_E_CANCELLED);
    if (tells)
        l->o.saved(l->o.user, sequence, l->saved_at - began, status ? &err : NULL);
}

/* ---- the thread ------------------------------------------------------------------ */

/* Waits for the next update. Returns false if there will be none. */
static bool wait_for_next(live *l)
{
    struct timespec until;
    double every = l->o.every;
    bool stopping;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)every;
    until.tv_nsec += (long)((every - (double)(time_t)every) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&l->lock);
    while (!l->stopping && pthread_cond_timedwait(&l->stop, &l->lock, &until) == 0)
        continue;
    stopping = l->stopping;
    pthread_mutex_unlock(&l->lock);
    return !stopping;
}

static void *run(void *data)
{
    live *l = data;
    const ease_hooks hooks = {.progress = is_cancelled, .user = l};
    bool ended = false;

    /* Linux gives each thread its own priority, which threads of OpenMP inherit. */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    while (!ended && wait_for_next(l)) {
        pthread_mutex_lock(&l->model_lock);
        if (!l->ended)
            (void)update(l, NULL); /* l->o.failed reports it */
        ended = l->ended;
        pthread_mutex_unlock(&l->model_lock);
        if (ended || seconds_now() - l->saved_at >= l->o.save_every)
            save_update(l, &hooks, false);
    }
    return NULL;
}

static void make_locks(live *l)
{
    pthread_condattr_t clock;

    pthread_mutex_init(&l->model_lock, NULL);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&l->stop, &clock);
    pthread_condattr_destroy(&clock);
}

static ease_status start(live *l, ease_error *err)
{
    const live_update none = {.sequence = l->included};
    ease_status status = serve(l, l->m, &none, seconds_now(), NULL, err);
    int failed;

    if (status)
        return status;
    failed = pthread_create(&l->thread, NULL, run, l);
    if (failed)
        return journal_fail(err, EASE_E_NOMEM, failed, "starting live updates");
    l->started = true;
    return EASE_OK;
}

ease_status live_start(ease_model *m, users *u, const live_options *o, live **out,
                       ease_error *err)
{
    live *l;
    ease_status status;

    if (!m || !u || !o || !o->serve || !o->journal || !out)
        return journal_fail(err, EASE_E_ARG, 0,
                            "a model, users and options are required");
    status = check_model(m, err);
    if (!status)
        status = check_memory(o, ease_model_items(m), err);
    if (!status)
        status = check_data(m, u, err);
    if (status)
        return status;
    l = calloc(1, sizeof(*l));
    if (!l)
        return journal_fail(err, EASE_E_NOMEM, 0, "live updates");
    make_locks(l);
    l->o = *o;
    l->o.every = o->every > 0 ? o->every : EVERY;
    l->u = u;
    l->m = m;
    l->file = o->opened;
    l->saved_at = seconds_now();
    (void)ease_model_position(m, &l->included);
    l->journal = strdup(o->journal);
    status = l->journal ? start(l, err)
                        : journal_fail(err, EASE_E_NOMEM, 0, "live updates");
    if (status) {
        l->m = NULL; /* it stays with the caller */
        live_stop(l);
        return status;
    }
    *out = l;
    return EASE_OK;
}

static void end_thread(live *l)
{
    atomic_store(&l->cancelled, true);
    if (!l->started)
        return;
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_signal(&l->stop);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    l->started = false;
}

void live_finish(live *l, const ease_hooks *hooks)
{
    if (!l)
        return;
    end_thread(l);
    save_update(l, hooks, true);
}

void live_stop(live *l)
{
    if (!l)
        return;
    end_thread(l);
    ease_model_free(l->m);
    free(l->journal);
    pthread_mutex_destroy(&l->model_lock);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->stop);
    free(l);
}
