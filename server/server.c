/* The program ease-serve: start, signals and end. Its options are those of
 * `ease serve`. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "listening.h"
#include "log.h"
#include "service.h"
#include "serving.h"

enum { QUEUE_LENGTH = 1024 };

/* All that is started, in this order, and ended in the opposite one. */
typedef struct running {
    console *console;
    const serve_args *args;
    listening socket;
    tokens *tokens;
    service service;
    http_options http;
    reloader_options reloading;
    identity opened; /* the file of the model that is updated */
    double ended_at; /* when the grace period began */
} running;

/* ---- failing --------------------------------------------------------------------- */

static int fail_problem(console *c, const problem *p)
{
    bool usage = p->code == PROBLEM_bad_value;

    return fail(c, usage ? EXIT_USAGE : EXIT_FAILED, "%s", p->text);
}

/* ---- signals --------------------------------------------------------------------- */

/* The signals that the program waits for in one place; no thread has a handler. */
static sigset_t awaited(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Weights that are mapped from a file that someone truncates: the library handles
 * it. */
static void catch_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (ease_handle_fault(info->si_addr))
        return;
    signal(number, SIG_DFL);
    raise(number);
}

static void install_signals(void)
{
    struct sigaction fault = {.sa_sigaction = catch_fault, .sa_flags = SA_SIGINFO};
    sigset_t set = awaited();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&fault.sa_mask);
    sigaction(SIGBUS, &fault, NULL);
}

/* The progress hook of work before the server answers: a signal ends it. */
static int ended_early(void *user, const char *stage, double fraction)
{
    sigset_t pending;

    (void)user;
    (void)stage;
    (void)fraction;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* ---- systemd --------------------------------------------------------------------- */

/* Tells the service manager, if there is one, about the state. */
static void notify(const char *state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    int fd;

    if (length < 2 || length >= sizeof(a.sun_path))
        return;
    memcpy(a.sun_path, path, length);
    if (a.sun_path[0] == '@')
        a.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&a,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

/* ---- sockets and trust ----------------------------------------------------------- */

static bool open_socket(running *r, problem *p)
{
    const serve_args *a = r->args;

    if (!listening_inherited(&r->socket, p))
        return false;
    if (r->socket.fd >= 0)
        return true;
    return a->socket ? listening_unix(a->socket, &r->socket, p)
                     : listening_address(a->listen, &r->socket, p);
}

static int check_trust(running *r)
{
    const serve_args *a = r->args;
    problem p = {.code = PROBLEM_NONE};

    if (a->tokens && a->no_auth)
        return usage_error(r->console, &verb_serve,
                           "--token-file and --no-auth exclude each other");
    if (!r->socket.local && !a->tokens && !a->no_auth)
        return usage_error(
            r->console, &verb_serve,
            "%s can be reached from other machines: --token-file FILE is "
            "required, or --no-auth to serve everybody",
            r->socket.name);
    if (a->tokens && !(r->tokens = tokens_open(a->tokens, &p)))
        return fail_problem(r->console, &p);
    return EXIT_DONE;
}

/* Descriptors for all connections, as far as the limit may be raised. */
static void raise_limit(int64_t connections)
{
    struct rlimit l;
    rlim_t want = (rlim_t)connections + 256;

    if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur >= want)
        return;
    l.rlim_cur = want < l.rlim_max ? want : l.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur < want)
        log_line(LOG_WARNING,
                 "%lld descriptors are allowed (ulimit -n), fewer than connections "
                 "(--max-connections %lld)",
                 (long long)l.rlim_cur, (long long)connections);
}

/* ---- models ------------------------------------------------------------ */

static void free_view(void *view)
{
    users_view_free(view);
}

/* Makes a snapshot able to read the histories of known users. */
static ease_status add_view(void *user, snapshot *s, ease_error *err)
{
    const service *v = user;
    users_view *view = NULL;
    ease_status status;

    if (!v->users)
        return EASE_OK;
    status = users_view_new(v->users, s->model, &view, err);
    s->extra = view;
    s->free_extra = free_view;
    return status;
}

static void add_station(running *r, const char *name, const char *path)
{
    station *t = &r->service.stations[r->service.station_count++];

    *t = (station){.name = name,
                   .path = path,
                   .titles = r->args->titles,
                   .mapped = r->args->mapped,
                   .threads = (int)r->args->common.threads,
                   .complete = add_view,
                   .user = &r->service};
    station_init(t);
}

static int load_models(running *r)
{
    ease_error err;

    for (int i = r->service.live != NULL; i < r->service.station_count; i++)
        if (station_load(&r->service.stations[i], &err))
            return fail_with(r->console, &err);
    return EXIT_DONE;
}

/* ---- live updates ---------------------------------------------------------------- */

static ease_status serve_rows(void *user, ease_model *rows, const live_update *u,
                              ease_error *err)
{
    service *s = user;
    ease_status status = station_serve(&s->stations[0], rows, err);

    if (status || u->generation == 0)
        return status;
    atomic_fetch_add(&s->gauges.reloads, 1);
    log_line(LOG_NOTE,
             "update %lld: %lld users, %d new items, up to event %llu, residual %.2g, "
             "%.2f s",
             (long long)u->generation, (long long)u->users, (int)u->new_items,
             (unsigned long long)u->sequence, u->residual, u->seconds);
    return EASE_OK;
}

static void note_failure(void *user, const ease_error *err, int for_good)
{
    service *s = user;

    atomic_fetch_add(&s->gauges.reload_failures, 1);
    log_line(LOG_ERROR, "%s; %s", err->text,
             for_good ? "the model is not updated any more, and has to be trained again"
                      : "the update is tried again");
}

static void note_saved(void *user, uint64_t sequence, double seconds,
                       const ease_error *err)
{
    const service *s = user;
    const char *path = s->stations[0].path;

    if (!err)
        log_line(LOG_NOTE, "saved %s, up to event %llu, %.2f s", path,
                 (unsigned long long)sequence, seconds);
    else if (err->status == EASE_E_CANCELLED)
        log_line(LOG_WARNING,
                 "%s: there was no time to save the updated model; the next start "
                 "applies the events since it was last saved",
                 path);
    else
        log_line(LOG_ERROR, "%s; the updated model is not saved", err->text);
}

/* Sets `info` to what the journal has; nothing, if its directory is empty or will be
 * created. */
static ease_status read_journal(const char *path, journal_info *info, ease_error *err)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ease_status status;

    *info = (journal_info){.segments = 0};
    if (dir < 0 && errno == ENOENT)
        return EASE_OK;
    if (dir < 0)
        return journal_fail(err, EASE_E_IO, errno, "%s: cannot open the journal", path);
    status = journal_scan(dir, path, NULL, NULL, info, NULL, err);
    close(dir);
    return status;
}

/* Opens the model that is updated, and finds the event up to which its data go. */
static int open_living(running *r, ease_model **out, uint64_t *included)
{
    const serve_args *a = r->args;
    const ease_hooks hooks = {.progress = ended_early};
    journal_info info;
    ease_open_options o;
    ease_error err;

    ease_open_options_init(&o);
    o.verify = EASE_VERIFY_OPEN;
    o.in_memory = 1;
    o.hooks = &hooks;
    r->opened = identity_of(r->service.stations[0].path);
    if (ease_model_open(r->service.stations[0].path, &o, out, &err) ||
        (a->titles && ease_model_read_titles(*out, a->titles, NULL, &err)) ||
        read_journal(a->journal, &info, &err) ||
        live_position(*out, &info, included, &err))
        return fail_with(r->console, &err);
    return EXIT_DONE;
}

/* Starts updates of the model, which is taken over in any case. */
static int start_living(running *r, ease_model *m)
{
    live_options o = {.every = r->args->update_every,
                      .threads = (int)r->args->common.threads,
                      .journal = journal_id(r->service.journal),
                      .serve = serve_rows,
                      .failed = note_failure,
                      .user = &r->service,
                      .path = r->args->save_every > 0 ? r->service.stations[0].path
                                                      : NULL,
                      .opened = r->opened,
                      .save_every = r->args->save_every,
                      .saved = note_saved};
    ease_error err;

    if (live_start(m, r->service.users, &o, &r->service.live, &err) == EASE_OK)
        return EXIT_DONE;
    ease_model_free(m);
    return fail_with(r->console, &err);
}

/* ---- users and their journal ----------------------------------------------------- */

static int open_users(running *r, uint64_t included)
{
    const serve_args *a = r->args;
    const ease_hooks hooks = {.progress = ended_early};
    ease_read_options o = reading_options_of(r->console, &a->common, &a->reading);
    users_options options = {.weights = reading_is_weighted(&a->reading),
                             .included = included};
    ease_interactions *x = NULL;
    ease_interactions_info info = {.size = sizeof(info)};
    ease_error err;

    if (!a->users && !a->journal)
        return EXIT_DONE;
    o.hooks = &hooks;
    if (a->users && ease_interactions_read(a->users, &o, &x, &err))
        return fail_with(r->console, &err);
    ease_interactions_describe(x, &info);
    if (a->users && users_new(x, &options, &r->service.users, &err) == EASE_OK) {
        log_line(LOG_NOTE, "%s: %lld users, %lld interactions", a->users,
                 (long long)info.users, (long long)info.interactions);
        return EXIT_DONE;
    }
    if (!a->users && users_new(NULL, &options, &r->service.users, &err) == EASE_OK)
        return EXIT_DONE;
    ease_interactions_free(x);
    return fail_with(r->console, &err);
}

static int open_journal(running *r)
{
    const serve_args *a = r->args;
    journal_options o = {.apply = users_apply, .user = r->service.users};
    journal_info info;
    ease_error err;

    if (!a->journal)
        return EXIT_DONE;
    if (journal_open(a->journal, &o, &r->service.journal, &info, &err))
        return fail_with(r->console, &err);
    if (info.torn)
        log_line(LOG_WARNING,
                 "%s: cut off %zu bytes of an event that was not complete, and never "
                 "acknowledged",
                 info.torn_path, info.torn);
    log_line(LOG_NOTE, "%s: %lld events", a->journal,
             (long long)(info.last + 1 - info.first));
    return EXIT_DONE;
}

/* ---- start ----------------------------------------------------------------------- */

static int processors(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int threads_of(const serve_args *a)
{
    return a->common.threads ? (int)a->common.threads : processors();
}

static void set_options(running *r)
{
    const serve_args *a = r->args;
    service *s = &r->service;

    s->limits = (service_limits){.k = a->most_k,
                                 .batch = a->most_batch,
                                 .ids = a->most_ids,
                                 .events = a->most_events,
                                 .answer = a->answer_bytes};
    r->http = (http_options){.socket = r->socket.fd,
                             .threads = threads_of(a),
                             .links = {.most = (int)a->connections,
                                       .most_of_address = (int)a->of_address,
                                       .header_bytes = a->header_bytes,
                                       .header = a->header_seconds,
                                       .idle = a->idle_seconds,
                                       .body = a->body_seconds,
                                       .send = a->body_seconds},
                             .body_bytes = a->body_bytes,
                             .request_seconds = a->request_seconds,
                             .tokens = r->tokens,
                             .any_host = a->tokens || a->no_auth,
                             .origins = a->origins.at,
                             .origin_count = a->origins.count,
                             .log_requests = a->log_requests,
                             .gauges = &s->gauges,
                             .find = service_find,
                             .routes = service_routes,
                             .service = s};
    for (int i = 0; service_routes[i].method; i++) {
        s->gauges.route[i].name = service_routes[i].path;
        s->gauges.route[i].method = service_routes[i].method;
    }
}

/* Starts the threads; the order is that of who needs whom. */
static int start_threads(running *r)
{
    service *s = &r->service;
    problem p = {.code = PROBLEM_NONE};

    for (int i = service_first_reloaded(s); i < s->station_count; i++)
        r->reloading.stations[r->reloading.count++] = &s->stations[i];
    r->reloading.tokens = r->tokens;
    r->reloading.gauges = &s->gauges;
    s->workers = workers_start(r->http.threads > 1 ? r->http.threads : 2, QUEUE_LENGTH);
    s->reloader = s->workers ? reloader_start(&r->reloading) : NULL;
    if (!s->reloader)
        return fail(r->console, EXIT_FAILED, "cannot start threads");
    r->http.workers = s->workers;
    if (!listening_begin(&r->socket, &p))
        return fail_problem(r->console, &p);
    s->http = http_start(&r->http, &p);
    return s->http && http_accept(s->http, &p) ? EXIT_DONE
                                               : fail_problem(r->console, &p);
}

/* Opens users, journal and models. */
static int open_all(running *r)
{
    ease_model *living = NULL;
    uint64_t included = 0;
    int code = r->args->live ? open_living(r, &living, &included) : EXIT_DONE;

    if (!code)
        code = open_users(r, included);
    if (!code)
        code = open_journal(r);
    if (code)
        ease_model_free(living);
    else if (living)
        code = start_living(r, living);
    return code ? code : load_models(r);
}

static int start(running *r)
{
    const serve_args *a = r->args;
    problem p = {.code = PROBLEM_NONE};
    int code = open_socket(r, &p) ? check_trust(r) : fail_problem(r->console, &p);

    if (code)
        return code;
    raise_limit(a->connections);
    add_station(r, "main", a->common.operands[0]);
    if (a->compare)
        add_station(r, "compare", a->compare);
    set_options(r);
    code = open_all(r);
    return code ? code : start_threads(r);
}

/* ---- running and end ------------------------------------------------------------- */

static void announce(const running *r)
{
    const serve_args *a = r->args;
    snapshot *s = station_current((station *)&r->service.stations[0]);

    log_line(LOG_NOTE, "serving %s (%s, %d items) at %s", a->common.operands[0],
             s->info.method, (int)s->info.items, r->socket.name);
    snapshot_release(s);
    notify("READY=1");
}

/* Waits for the signal to end; SIGHUP loads files again. */
static int await_end(running *r)
{
    sigset_t set = awaited();
    int number = 0;

    while (sigwait(&set, &number) == 0 && number == SIGHUP) {
        log_line(LOG_NOTE, "SIGHUP: reading files again%s",
                 r->service.live ? ", but not that of the model, which is updated by "
                                   "feedback (--live)"
                                 : "");
        reloader_wake(r->service.reloader);
    }
    return number;
}

/* A second signal ends the program at once. */
static void allow_interrupts(void)
{
    sigset_t set = awaited();

    sigdelset(&set, SIGHUP);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void sleep_for(double seconds)
{
    struct timespec left = {(time_t)seconds,
                            (long)((seconds - (double)(time_t)seconds) * 1e9)};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* Load balancers that ask /readyz get time to turn to other servers. */
static void turn_away(running *r)
{
    service *s = &r->service;

    atomic_store(&s->draining, true);
    http_announce_end(s->http);
    if (r->args->shutdown_delay > 0) {
        log_line(LOG_NOTE, "not ready any more, going on for %g s",
                 r->args->shutdown_delay);
        sleep_for(r->args->shutdown_delay);
    }
    http_refuse(s->http);
    listening_refuse(&r->socket);
    r->ended_at = links_now();
}

static int stop(running *r, int number)
{
    service *s = &r->service;

    log_line(LOG_NOTE, "%s: answering what is under way",
             number == SIGINT ? "interrupted" : "terminated");
    notify("STOPPING=1");
    allow_interrupts();
    turn_away(r);
    if (http_drain(s->http, r->args->grace))
        return EXIT_DONE;
    log_line(LOG_WARNING, "%d requests were not answered within the grace period",
             http_busy(s->http));
    if (s->live && r->args->save_every > 0)
        log_line(LOG_WARNING,
                 "updates since the last save are not in %s: their events are in the "
                 "journal, and the next start applies them",
                 r->args->common.operands[0]);
    listening_end(&r->socket);
    _exit(EXIT_FAILED); /* threads are at work on what would be freed */
}

static int is_grace_over(void *user, const char *stage, double fraction)
{
    const running *r = user;

    (void)stage;
    (void)fraction;
    return links_now() > r->ended_at + r->args->grace;
}

/* If the server has not started, there is nothing to save. */
static void save_living(running *r)
{
    const ease_hooks hooks = {.progress = is_grace_over, .user = r};

    live_finish(r->service.live, &hooks);
}

static void free_all(running *r)
{
    service *s = &r->service;

    workers_stop(s->workers);
    reloader_stop(s->reloader);
    journal_close(s->journal);
    save_living(r);
    live_stop(s->live);
    http_stop(s->http);
    for (int i = 0; i < s->station_count; i++)
        station_close(&s->stations[i]);
    users_free(s->users);
    tokens_close(r->tokens);
    listening_end(&r->socket);
}

static int check_arguments(console *c, const serve_args *a)
{
    if (a->live && (!a->users || !a->journal))
        return usage_error(c, &verb_serve, "--live needs --users and --journal");
    if (a->save_every > 0 && !a->live)
        return usage_error(c, &verb_serve, "--save-every belongs to --live");
    if (a->header_bytes > 24 << 10)
        return usage_error(c, &verb_serve, "--max-header: at most 24KiB");
    if (!a->users && !a->journal && !reading_is_default(&a->reading))
        return usage_error(c, &verb_serve,
                           "options for reading DATA belong to --users");
    return EXIT_DONE;
}

static void set_log(const serve_args *a)
{
    bool as_json = a->log == 2 || (a->log == 0 && !isatty(STDERR_FILENO));

    log_setup(as_json, a->common.quiet     ? LOG_WARNING
                       : a->common.verbose ? LOG_DEBUG
                                           : LOG_NOTE);
}

static int run(running *r)
{
    int code;

    set_log(r->args);
    install_signals();
    code = start(r);
    if (!code) {
        announce(r);
        code = stop(r, await_end(r));
    }
    free_all(r);
    return code;
}

int serve_run(console *c, void *args)
{
    const serve_args *a = args;
    running *r = calloc(1, sizeof(*r));
    int code = r ? check_arguments(c, a) : fail_no_memory(c);

    if (r && !code) {
        *r = (running){.console = c, .args = a, .socket = {.fd = -1}};
        code = run(r);
    }
    free(r);
    return code;
}

int main(int argc, char **argv)
{
    console c = CONSOLE_START;
    void *args = NULL;
    int code = options_parse(&c, &verb_serve, argc - 1, argv + 1, &args);

    if (code)
        return code;
    if (((common_args *)args)->help)
        options_help(stdout, &verb_serve);
    else
        code = serve_run(&c, args);
    options_free(&verb_serve, args);
    return code;
}
