/* The HTTP server with routes of the test: how it ends, who writes to a connection,
 * and who makes an answer. A request is held in the function that finds its route, which a thread of
 * the pool calls when the header is complete and no answer has begun. */
#include "http.h"

#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

/* ---- a server -------------------------------------------------------------------- */

typedef struct server {
    gauges gauges;
    http_options o;
    http *http;
    struct sockaddr_in address;
    sem_t found, go; /* a route is looked for; go on */
    int late;        /* connections that were closed at a deadline */
} server;

static server *held; /* `find` gets no user */

static bool answer_fine(request *r)
{
    bytes_text(&r->answer, "{}\n");
    return true;
}

static bool always(const request *r)
{
    (void)r;
    return true;
}

static pthread_t pool_thread, other_thread;

/* Finds out that it takes long. */
static bool answer_later(request *r)
{
    if (r->quick) {
        pool_thread = pthread_self();
        bytes_text(&r->answer, "dropped");
        r->later = true;
        return true;
    }
    other_thread = pthread_self();
    return answer_fine(r);
}

static const http_route routes[] = {
    {"POST", "/slow", .open = true, .answer = answer_fine, .waits = always},
    {"POST", "/later", .open = true, .answer = answer_later},
    {.method = NULL}};

/* Waits until the test says so; "/none" is then refused. */
static int find(const target *t, const char *method, const char **allow, problem *p)
{
    (void)method;
    (void)allow;
    sem_post(&held->found);
    sem_wait(&held->go);
    for (int i = 0; routes[i].method; i++)
        if (strcmp(t->segment[0], routes[i].path + 1) == 0)
            return i;
    problem_note(p, PROBLEM_not_found, "there is nothing here");
    return -1;
}

static void listen_anywhere(server *s)
{
    socklen_t size = sizeof(s->address);

    s->address = (struct sockaddr_in){.sin_family = AF_INET,
                                      .sin_addr = {htonl(INADDR_LOOPBACK)}};
    s->o.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(s->o.socket, (const void *)&s->address, size) != 0 ||
        getsockname(s->o.socket, (struct sockaddr *)&s->address, &size) != 0 ||
        listen(s->o.socket, 16) != 0)
        abort();
}

static void start(server *s, double header_seconds)
{
    problem p = {.code = PROBLEM_NONE};

    *s = (server){.gauges = {.route = {{.name = "/slow", .method = "POST"},
                                       {.name = "/later", .method = "POST"}}}};
    held = s;
    sem_init(&s->found, 0, 0);
    sem_init(&s->go, 0, 0);
    s->o = (http_options){.threads = 1,
                          .links = {.most = 16,
                                    .most_of_address = 16,
                                    .header_bytes = 4096,
                                    .header = header_seconds,
                                    .idle = 600,
                                    .body = 600,
                                    .send = 600},
                          .body_bytes = 4096,
                          .request_seconds = 600,
                          .gauges = &s->gauges,
                          .workers = workers_start(1, 4),
                          .find = find,
                          .routes = routes};
    listen_anywhere(s);
    s->http = http_start(&s->o, &p);
    if (!s->o.workers || !s->http || !http_accept(s->http, &p))
        abort();
}

static void stop(server *s)
{
    workers_stop(s->o.workers);
    http_stop(s->http);
    close(s->o.socket);
    sem_destroy(&s->found);
    sem_destroy(&s->go);
}

static int connect_to(const server *s)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (const void *)&s->address, sizeof(s->address)) != 0)
        abort();
    return fd;
}

static void send_text(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
        abort();
}

/* Sends bytes, and waits until a route is looked for. */
static int ask(server *s, const char *text)
{
    int fd = connect_to(s);

    send_text(fd, text);
    sem_wait(&s->found);
    return fd;
}

/* All that the server sends until it closes the connection. */
static void read_all(int fd, char *to, size_t size)
{
    size_t used = 0;
    ssize_t got;

    while (used + 1 < size && (got = recv(fd, to + used, size - 1 - used, 0)) > 0)
        used += (size_t)got;
    to[used] = '\0';
    close(fd);
}

static void pause_for(double seconds)
{
    const struct timespec t = {(time_t)seconds,
                               (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

/* ---- tests ----------------------------------------------------------------------- */

typedef struct draining {
    http *http;
    atomic_bool ended;
    bool complete;
} draining;

static void *drain(void *data)
{
    draining *d = data;

    d->complete = http_drain(d->http, 600);
    atomic_store(&d->ended, true);
    return NULL;
}

static void draining_waits_for_a_request_whose_header_has_just_arrived(test *t)
{
    server s;
    draining d = {.complete = false};
    pthread_t thread;
    int fd;

    start(&s, 600);
    d.http = s.http;
    fd = ask(&s, "POST /slow HTTP/1.1\r\nHost: localhost\r\n"
                 "Content-Type: application/json\r\nContent-Length: 0\r\n\r\n");
    if (pthread_create(&thread, NULL, drain, &d) != 0)
        abort();
    pause_for(0.5); /* draining takes 0.1 s if nothing is under way */
    check(t, !atomic_load(&d.ended));
    sem_post(&s.go);
    pthread_join(thread, NULL);
    check(t, d.complete);
    check_int(t, http_busy(s.http), 0);
    close(fd);
    stop(&s);
}

static void only_the_thread_of_a_connection_writes_to_it(test *t)
{
    char answer[4096];
    server s;
    int fd;

    start(&s, 0.2);
    fd = ask(&s, "POST /none HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                 "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n");
    pause_for(0.8); /* its time for the header ends, and it is looked for each 0.2 s */
    sem_post(&s.go);
    read_all(fd, answer, sizeof(answer));
    check_contains(t, answer, "HTTP/1.1 404 ");
    check(t, strstr(answer, " 408 ") == NULL);
    stop(&s);
}

static void what_takes_long_is_made_by_another_thread(test *t)
{
    char answer[4096];
    server s;
    int fd;

    start(&s, 600);
    sem_post(&s.go);
    fd = ask(&s, "POST /later HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 "Content-Type: application/json\r\nContent-Length: 0\r\n\r\n");
    read_all(fd, answer, sizeof(answer));
    check_contains(t, answer, "\r\n\r\n{}\n");
    stop(&s); /* its threads have ended */
    check(t, !pthread_equal(pool_thread, other_thread));
}

/* A deadline is kept in microseconds, of which there are not that many. */
static void a_time_limit_of_any_length_ends_no_connection(test *t)
{
    static const double limits[] = {3e12, 1e18, 1e300};
    char answer[4096];

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        server s;
        int fd;

        start(&s, limits[i]);
        sem_post(&s.go);
        fd = connect_to(&s);
        pause_for(0.8); /* deadlines are looked for each 0.2 s */
        send_text(fd, "GET /none HTTP/1.1\r\nHost: localhost\r\n"
                      "Connection: close\r\n\r\n");
        read_all(fd, answer, sizeof(answer));
        check_contains(t, answer, "HTTP/1.1 404 ");
        stop(&s);
    }
}

static const test_case cases[] = {
    TEST(a_time_limit_of_any_length_ends_no_connection),
    TEST(what_takes_long_is_made_by_another_thread),
    TEST(draining_waits_for_a_request_whose_header_has_just_arrived),
    TEST(only_the_thread_of_a_connection_writes_to_it),
};

TEST_MAIN(cases)
