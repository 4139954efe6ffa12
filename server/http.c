#include "http.h"

#include <limits.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acceptor.h"
#include "headers.h"
#include "json.h"
#include "log.h"

enum {
    POOL_BYTES = 64 << 10, /* of memory of a connection: its header and its answer's */
    DISCARDED_BYTES = 16 << 20,
    SPARE_CONNECTIONS = 64 /* beyond the limit, to tell clients about the limit */
};

struct http {
    const http_options *o;
    links *links;
    struct MHD_Daemon **daemon; /* of each thread */
    acceptor *acceptor;
    atomic_bool draining;
    atomic_bool closed; /* no request is begun any more */
    atomic_int busy;
};

typedef enum stage {
    STAGE_HEADER, /* the handler has not been called */
    STAGE_BODY,
    STAGE_WAITING, /* suspended, until http_finish */
    STAGE_DONE     /* the answer is complete */
} stage;

/* A request with what the server needs for it. */
typedef struct exchange {
    request r; /* first: http_finish gets it */
    http *http;
    struct MHD_Connection *connection;
    link_entry *link;
    stage stage;
    int route;                          /* -1: none */
    bool counted, close, head, discard; /* discard: the body is not needed */
    char *raw;                          /* the target */
    char *buffer;                       /* for the body */
    size_t announced;
    const char *method, *origin; /* origin: an allowed one, for CORS */
} exchange;

/* ---- answers --------------------------------------------------------------------- */

void request_add_header(request *r, const char *name, const char *value)
{
    if (r->headers < REQUEST_HEADERS) {
        r->header[r->headers][0] = name;
        r->header[r->headers++][1] = value;
    }
}

const char *request_header(const request *r, const char *name)
{
    const exchange *x = (const void *)r;

    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

bool request_is_late(request *r)
{
    if (links_now() <= r->expires)
        return false;
    problem_note(
        &r->problem, PROBLEM_busy,
        "the request took longer than the server allows: ask for less at once, "
        "or later");
    return true;
}

static void write_problem(exchange *x)
{
    request *r = &x->r;
    json_writer w = {.to = &r->answer};

    r->answer.length = 0;
    r->fixed = NULL;
    r->type = NULL;
    r->status = problem_status(r->problem.code);
    put_open(&w, NULL, '{');
    put_problem(&w, &r->problem);
    put_close(&w, '}');
    bytes_put(&r->answer, "\n", 1);
    if (r->problem.code == PROBLEM_unauthorized)
        request_add_header(r, "WWW-Authenticate", "Bearer");
    if (r->status == 503)
        request_add_header(r, "Retry-After", "1");
}

static void add_headers(const exchange *x, struct MHD_Response *to)
{
    const request *r = &x->r;
    bool cached = false;

    MHD_add_response_header(to, "Content-Type", r->type ? r->type : "application/json");
    MHD_add_response_header(to, "X-Content-Type-Options", "nosniff");
    for (int i = 0; i < r->headers; i++) {
        MHD_add_response_header(to, r->header[i][0], r->header[i][1]);
        cached = cached || strcmp(r->header[i][0], "Cache-Control") == 0;
    }
    if (!cached)
        MHD_add_response_header(to, "Cache-Control", "no-store");
    if (x->origin) {
        MHD_add_response_header(to, "Access-Control-Allow-Origin", x->origin);
        MHD_add_response_header(to, "Vary", "Origin");
    }
    if (x->close || atomic_load(&x->http->draining))
        MHD_add_response_header(to, "Connection", "close");
}

/* The body passes to libmicrohttpd, which frees it. */
static struct MHD_Response *make_response(request *r)
{
    struct MHD_Response *made;

    if (r->fixed)
        return MHD_create_response_from_buffer(
            r->fixed_length, (void *)(uintptr_t)r->fixed, MHD_RESPMEM_PERSISTENT);
    made = MHD_create_response_from_buffer(r->answer.length, r->answer.at,
                                           MHD_RESPMEM_MUST_FREE);
    if (made)
        r->answer = (bytes){0};
    return made;
}

static void count_answer(const exchange *x, size_t length)
{
    const http_options *o = x->http->o;
    double seconds = links_now() - x->r.began;

    if (x->route >= 0)
        gauges_count(o->gauges, x->route, x->r.status, seconds);
    else
        atomic_fetch_add_explicit(&o->gauges->refused, 1, memory_order_relaxed);
    if (o->log_requests)
        log_answered(&(log_request){.address = link_address(x->link),
                                    .method = x->method,
                                    .target = x->raw,
                                    .status = x->r.status,
                                    .bytes = length,
                                    .seconds = seconds});
}

static enum MHD_Result send_answer(exchange *x)
{
    request *r = &x->r;
    struct MHD_Response *response;
    enum MHD_Result queued;
    size_t length;

    if (r->answer.failed)
        problem_note_memory(&r->problem);
    if (r->problem.code)
        write_problem(x);
    r->status = r->status ? r->status : 200;
    length = r->fixed ? r->fixed_length : r->answer.length;
    response = make_response(r);
    if (!response)
        return MHD_NO;
    add_headers(x, response);
    count_answer(x, length);
    link_enter(x->http->links, x->link, LINK_SENDING);
    queued = MHD_queue_response(x->connection, (unsigned)r->status, response);
    MHD_destroy_response(response);
    return queued;
}

void http_finish(request *r)
{
    exchange *x = (void *)r;

    x->stage = STAGE_DONE;
    MHD_resume_connection(x->connection);
}

static void work(void *data)
{
    exchange *x = data;

    if (request_is_late(&x->r) || x->r.route->answer(&x->r))
        http_finish(&x->r);
}

/* Calls the route's function here, unless it belongs in the second pool. Returns true
 * if the answer, or a problem, is there. */
static bool answer_here(request *r)
{
    if (r->problem.code)
        return true;
    if (r->route->waits && r->route->waits(r))
        return false;
    r->quick = true;
    r->route->answer(r);
    return !r->later;
}

/* Calls the route's function, here or in the second pool. */
static enum MHD_Result answer(exchange *x)
{
    request *r = &x->r;

    r->body = x->buffer ? x->buffer : "";
    if (answer_here(r)) {
        x->stage = STAGE_DONE;
        return send_answer(x);
    }
    r->quick = r->later = false;
    r->answer.length = 0;
    x->stage = STAGE_WAITING;
    MHD_suspend_connection(x->connection);
    if (!workers_put(x->http->o->workers, work, x)) {
        problem_note(&r->problem, PROBLEM_busy,
                     "too many long requests are waiting: try again later");
        http_finish(r);
    }
    return MHD_YES;
}

/* ---- the checks before the body ------------------------------------------------- */

static bool check_limits(exchange *x)
{
    const http_options *o = x->http->o;
    problem *p = &x->r.problem;
    link_excess excess = link_check(x->link);

    if (excess == LINK_TOO_MANY)
        return problem_note(p, PROBLEM_too_many_connections,
                            "the server has as many connections as it allows (%d): try "
                            "again later",
                            o->links.most);
    if (excess == LINK_TOO_MANY_OF_ADDRESS)
        return problem_note(p, PROBLEM_too_many_connections,
                            "your address has as many connections as the server allows "
                            "(%d): close some",
                            o->links.most_of_address);
    return true;
}

/* An origin that is allowed by an option gets the headers of CORS. */
static bool check_origin(exchange *x, const headers *h)
{
    const http_options *o = x->http->o;

    if (!h->origin)
        return true;
    for (size_t i = 0; i < o->origin_count; i++)
        if (strcmp(o->origins[i], h->origin) == 0) {
            x->origin = o->origins[i];
            return true;
        }
    if (headers_origin_is_own(h->origin, h->host))
        return true;
    return problem_note(&x->r.problem, PROBLEM_forbidden,
                        "pages of other sites may not use this server: --allow-origin "
                        "allows one");
}

static bool check_trust(exchange *x, const headers *h)
{
    const http_options *o = x->http->o;

    if (!o->any_host && !headers_host_is_local(h->host))
        return problem_note(&x->r.problem, PROBLEM_forbidden,
                            "the header Host is not a name of this machine's loopback "
                            "interface: use localhost, or serve with --token-file");
    return check_origin(x, h);
}

/* A browser asks what a page of another origin may do. */
static bool is_preflight(const exchange *x)
{
    return x->origin && strcmp(x->method, "OPTIONS") == 0;
}

static bool find_route(exchange *x)
{
    request *r = &x->r;
    const http_options *o = x->http->o;
    const char *allow = NULL;

    if (!target_read(x->raw, &r->memory, &r->target, &r->problem))
        return false;
    x->route = o->find(&r->target, x->head ? "GET" : x->method, &allow, &r->problem);
    if (allow)
        request_add_header(r, "Allow", allow);
    if (x->route >= 0)
        r->route = &o->routes[x->route];
    return x->route >= 0;
}

static bool check_token(exchange *x, const headers *h)
{
    const http_options *o = x->http->o;

    if (!o->tokens || x->r.route->open || tokens_allow(o->tokens, h->authorization))
        return true;
    return problem_note(&x->r.problem, PROBLEM_unauthorized,
                        h->authorization
                            ? "the token is not one of this server's"
                            : "this needs the header Authorization: Bearer TOKEN");
}

static bool check_body(exchange *x, const headers *h)
{
    problem *p = &x->r.problem;
    bool post = strcmp(x->r.route->method, "POST") == 0;

    if (h->length > (int64_t)x->http->o->body_bytes)
        return problem_note(
            p, PROBLEM_too_large,
            "the body has %lld bytes, and at most %zu are allowed: send "
            "less at once",
            (long long)h->length, x->http->o->body_bytes);
    if (!post && h->length > 0)
        return problem_note(p, PROBLEM_bad_request, "GET has no body");
    if (post && !headers_is_json(h->content_type))
        return problem_note(
            p, PROBLEM_unsupported_media_type,
            "send JSON, with the header Content-Type: application/json");
    return true;
}

static void answer_preflight(exchange *x)
{
    x->r.status = 204;
    request_add_header(&x->r, "Access-Control-Allow-Methods", "GET, POST");
    request_add_header(&x->r, "Access-Control-Allow-Headers",
                       "Authorization, Content-Type");
    request_add_header(&x->r, "Access-Control-Max-Age", "600");
}

/* Runs all checks; x->close is set if the connection cannot be used any more. */
static void check(exchange *x, const headers *h)
{
    x->close = !check_limits(x);
    if (x->close || !check_trust(x, h))
        return;
    if (is_preflight(x)) { /* it needs no token: nothing of it is kept */
        if (h->length > 0)
            problem_note(&x->r.problem, PROBLEM_bad_request, "OPTIONS has no body");
        return;
    }
    if (find_route(x) && check_token(x, h))
        check_body(x, h);
}

/* A client that sends a body without asking reads no answer before it has sent all, and
 * gets none if the connection is closed: so the body of a request that is refused is
 * received and dropped, unless it is very long. */
static bool can_discard(const exchange *x)
{
    return x->announced <= DISCARDED_BYTES &&
           !MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Expect");
}

/* The first call for a request: its header is complete. */
static enum MHD_Result begin(exchange *x, const char *method)
{
    request *r = &x->r;
    headers h;

    atomic_fetch_add(&x->http->busy, 1); /* before `closed` is read: see http_drain */
    x->counted = true;
    x->stage = STAGE_BODY;
    x->method = method;
    x->head = strcmp(method, "HEAD") == 0;
    r->began = links_now();
    r->expires = r->began + x->http->o->request_seconds;
    if (!x->raw || !x->link || atomic_load(&x->http->closed))
        return MHD_NO;
    link_enter(x->http->links, x->link, LINK_WORKING);
    if (headers_read(x->connection, &h, &r->problem))
        check(x, &h);
    else
        x->close = true;
    x->announced = h.length > 0 ? (size_t)h.length : 0;
    x->discard = r->problem.code != PROBLEM_NONE;
    if (x->close || (x->discard && !can_discard(x))) {
        x->close = true;
        x->stage = STAGE_DONE;
        return send_answer(x);
    }
    if (x->announced && !x->discard && !(x->buffer = malloc(x->announced)))
        return MHD_NO;
    if (x->announced)
        link_enter(x->http->links, x->link, LINK_BODY);
    return MHD_YES;
}

static enum MHD_Result take_body(exchange *x, const char *data, size_t *size)
{
    if (*size > x->announced - x->r.length)
        return MHD_NO;
    if (!x->discard)
        memcpy(x->buffer + x->r.length, data, *size);
    x->r.length += *size;
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result finish(exchange *x)
{
    if (is_preflight(x) && !x->r.problem.code) {
        answer_preflight(x);
        x->stage = STAGE_DONE;
        return send_answer(x);
    }
    link_enter(x->http->links, x->link, LINK_WORKING);
    return answer(x);
}

static enum MHD_Result handle(void *data, struct MHD_Connection *connection,
                              const char *url, const char *method, const char *version,
                              const char *upload, size_t *size, void **state)
{
    exchange *x = *state;

    (void)data;
    (void)url; /* decoded, and cut at the first NUL */
    (void)version;
    if (!x)
        return MHD_NO;
    x->connection = connection;
    switch (x->stage) {
    case STAGE_HEADER:
        return begin(x, method);
    case STAGE_BODY:
        return *size ? take_body(x, upload, size) : finish(x);
    case STAGE_DONE:
        return send_answer(x);
    case STAGE_WAITING:
        break;
    }
    return MHD_YES;
}

/* ---- what libmicrohttpd calls ---------------------------------------------------- */

static link_entry *link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* The only place where the raw target can be had. */
static void *begin_exchange(void *data, const char *raw,
                            struct MHD_Connection *connection)
{
    exchange *x = calloc(1, sizeof(*x));

    if (!x)
        return NULL;
    x->http = data;
    x->route = -1;
    x->r.service = x->http->o->service;
    x->connection = connection;
    x->link = link_of(connection);
    x->raw = strdup(raw);
    return x;
}

static void end_exchange(void *data, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    exchange *x = *state;

    (void)data;
    (void)connection;
    (void)why;
    if (!x)
        return;
    if (x->link)
        link_enter(x->http->links, x->link, LINK_IDLE);
    if (x->counted)
        atomic_fetch_sub(&x->http->busy, 1);
    bytes_free(&x->r.answer);
    arena_free(&x->r.memory);
    free(x->buffer);
    free(x->raw);
    free(x);
    *state = NULL;
}

static void note_connection(void *data, struct MHD_Connection *connection,
                            void **context, enum MHD_ConnectionNotificationCode what)
{
    http *h = data;
    const union MHD_ConnectionInfo *info;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        links_remove(h->links, *context);
        *context = NULL;
        return;
    }
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = info ? links_find(h->links, info->connect_fd) : NULL;
}

static void log_message(void *data, const char *fmt, va_list args)
{
    char text[512];

    (void)data;
    vsnprintf(text, sizeof(text), fmt, args);
    text[strcspn(text, "\r\n")] = '\0';
    log_line(LOG_DEBUG, "%s", text);
}

/* Targets are decoded after they were split. */
static size_t leave_escaped(void *data, struct MHD_Connection *connection, char *text)
{
    (void)data;
    (void)connection;
    return strlen(text);
}

static void count_end(void *data, link_end why)
{
    const http *h = data;
    gauges *g = h->o->gauges;

    atomic_fetch_add_explicit(why == LINK_LATE ? &g->late : &g->refused, 1,
                              memory_order_relaxed);
}

/* ---- start and end --------------------------------------------------------------- */

/* One thread of the pool. libmicrohttpd has pools too, but chooses the thread of a
 * connection by its descriptor. The acceptor knows the limit on connections. */
static struct MHD_Daemon *start_daemon(http *h)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET |
            MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, handle, h, MHD_OPTION_EXTERNAL_LOGGER, log_message, h,
        MHD_OPTION_CONNECTION_LIMIT, UINT_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, h,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, h, MHD_OPTION_NOTIFY_COMPLETED,
        end_exchange, h, MHD_OPTION_NOTIFY_CONNECTION, note_connection, h,
        MHD_OPTION_END);
}

static bool start_daemons(http *h)
{
    h->daemon = calloc((size_t)h->o->threads, sizeof(struct MHD_Daemon *));
    for (int i = 0; h->daemon && i < h->o->threads; i++)
        if (!(h->daemon[i] = start_daemon(h)))
            return false;
    return h->daemon != NULL;
}

static bool hand_over(void *data, int thread, int fd, const struct sockaddr *address,
                      socklen_t size)
{
    const http *h = data;

    return MHD_add_connection(h->daemon[thread], fd, address, size) == MHD_YES;
}

static bool fail_to_start(problem *p)
{
    return problem_note(p, PROBLEM_internal,
                        "cannot start the threads of the server: memory, threads or "
                        "descriptors (ulimit -n) are short");
}

http *http_start(const http_options *o, problem *p)
{
    http *h = calloc(1, sizeof(*h));

    if (h) {
        h->o = o;
        h->links = links_start(&o->links, o->threads, count_end, h);
    }
    if (h && h->links && start_daemons(h))
        return h;
    fail_to_start(p);
    http_stop(h);
    return NULL;
}

bool http_accept(http *h, problem *p)
{
    const acceptor_options accepting = {.socket = h->o->socket,
                                        .most = h->o->links.most + SPARE_CONNECTIONS,
                                        .links = h->links,
                                        .hand_over = hand_over,
                                        .user = h};

    h->acceptor = acceptor_start(&accepting);
    return h->acceptor ? true : fail_to_start(p);
}

int http_connections(http *h)
{
    return links_count(h->links);
}

int http_threads(const http *h)
{
    return h->o->threads;
}

int http_connections_of_thread(http *h, int thread)
{
    return links_count_of_thread(h->links, thread);
}

int http_busy(http *h)
{
    return atomic_load(&h->busy);
}

static void pause_for(double seconds)
{
    const struct timespec t = {.tv_nsec = (long)(seconds * 1e9)};

    nanosleep(&t, NULL);
}

void http_announce_end(http *h)
{
    atomic_store(&h->draining, true);
}

void http_refuse(http *h)
{
    atomic_store(&h->draining, true);
    acceptor_stop(h->acceptor);
    h->acceptor = NULL;
}

/* A connection that is closed as idle may have a request that no thread has read yet.
 * Either its thread has counted it in `busy` before that is read here, or it sees
 * `closed`: so no handler runs any more when nothing is busy. */
static bool is_quiet(http *h)
{
    if (links_close_idle(h->links) > 0)
        return false;
    atomic_store(&h->closed, true);
    return atomic_load(&h->busy) == 0;
}

bool http_drain(http *h, double seconds)
{
    double end = links_now() + seconds;
    bool quiet;

    http_refuse(h);
    pause_for(0.1); /* for requests that are arriving */
    while (!(quiet = is_quiet(h)) && links_now() < end)
        pause_for(0.02);
    return quiet;
}

void http_stop(http *h)
{
    if (!h)
        return;
    acceptor_stop(h->acceptor);
    for (int i = 0; h->daemon && i < h->o->threads; i++)
        if (h->daemon[i])
            MHD_stop_daemon(h->daemon[i]);
    links_stop(h->links);
    free((void *)h->daemon);
    free(h);
}
