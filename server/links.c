#include "links.h"

#include <arpa/inet.h>
#include <limits.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bytes.h"
#include "intake.h"
#include "json.h"
#include "scanner.h"

enum { BUCKETS = 4096, ADDRESS_BYTES = 16, MOST_DESCRIPTORS = 1 << 20, STATES = 8 };

/* The state of a connection and its deadline in one word, so that the thread that
 * watches never sees a state with the deadline of another one: microseconds times
 * STATES, plus the state. */
static const unsigned long long NO_DEADLINE = ULLONG_MAX / STATES;
static const double MOST_SECONDS = 1e12; /* of a deadline; beyond it is none */
static const double TELL_SECONDS = 1;    /* to tell a client that it is late */

struct link_entry {
    link_entry *previous, *next;               /* of all connections */
    link_entry *bucket_previous, *bucket_next; /* of addresses with the same hash */
    unsigned char address[ADDRESS_BYTES];
    char name[INET6_ADDRSTRLEN];
    int fd, thread;
    unsigned bucket;
    bool counted; /* by its address */
    link_excess excess;
    atomic_ullong waits; /* state and deadline */
    bool closed;         /* by us, under the lock */
    double told;         /* when `late` was set; under the lock; 0: it was not */
    atomic_bool late;    /* the thread of the connection shall end it */
    scanner scanner;
    atomic_bool begun; /* the scanner is within a request */
    bool refused;      /* an error was sent, and nothing follows */
};

struct links {
    links_limits limits;
    links_ended *ended;
    void *user;
    size_t descriptors; /* most that the process can have */
    _Atomic(link_entry *) *by_descriptor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool stopping;
    int count, threads;
    int *of_thread; /* connections of each */
    link_entry *first;
    link_entry *bucket[BUCKETS];
};

double links_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- addresses ------------------------------------------------------------------- */

/* IPv4 addresses as those of IPv6 that stand for them. */
static void take_address(link_entry *e, const struct sockaddr *a)
{
    static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};

    if (a && a->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)a;

        memcpy(e->address, mapped, sizeof(mapped));
        memcpy(e->address + 12, &in->sin_addr, 4);
        inet_ntop(AF_INET, &in->sin_addr, e->name, sizeof(e->name));
        e->counted = ntohl(in->sin_addr.s_addr) >> 24 != 127;
    } else if (a && a->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)a;

        memcpy(e->address, &in->sin6_addr, ADDRESS_BYTES);
        inet_ntop(AF_INET6, &in->sin6_addr, e->name, sizeof(e->name));
        e->counted = !IN6_IS_ADDR_LOOPBACK(&in->sin6_addr) &&
                     !(memcmp(e->address, mapped, sizeof(mapped)) == 0 &&
                       e->address[12] == 127);
    }
}

static unsigned hash_address(const unsigned char *address)
{
    unsigned hash = 2166136261u;

    for (int i = 0; i < ADDRESS_BYTES; i++)
        hash = (hash ^ address[i]) * 16777619u;
    return hash % BUCKETS;
}

/* The number of other connections of the address. */
static int count_address(const links *l, const link_entry *e)
{
    int count = 0;

    for (const link_entry *o = l->bucket[e->bucket]; o; o = o->bucket_next)
        count += memcmp(o->address, e->address, ADDRESS_BYTES) == 0;
    return count;
}

/* ---- the list -------------------------------------------------------------------- */

static void put_in_lists(links *l, link_entry *e)
{
    e->next = l->first;
    if (l->first)
        l->first->previous = e;
    l->first = e;
    l->count++;
    l->of_thread[e->thread]++;
    if (!e->counted)
        return;
    e->bucket_next = l->bucket[e->bucket];
    if (e->bucket_next)
        e->bucket_next->bucket_previous = e;
    l->bucket[e->bucket] = e;
}

static int find_thread(const links *l)
{
    int best = 0;

    for (int i = 1; i < l->threads; i++)
        if (l->of_thread[i] < l->of_thread[best])
            best = i;
    return best;
}

/* libmicrohttpd says nothing of a connection that it closes before its thread knows it,
 * for lack of memory. The entry is found here when its descriptor comes again. */
link_entry *links_add(links *l, int fd, const struct sockaddr *address)
{
    link_entry *e;

    if ((size_t)fd >= l->descriptors)
        return NULL;
    links_remove(l, links_find(l, fd));
    e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->fd = fd;
    e->scanner.limit = l->limits.header_bytes;
    take_address(e, address);
    e->bucket = hash_address(e->address);
    link_enter(l, e, LINK_HEADER);
    pthread_mutex_lock(&l->lock);
    if (l->count >= l->limits.most)
        e->excess = LINK_TOO_MANY;
    else if (e->counted && count_address(l, e) >= l->limits.most_of_address)
        e->excess = LINK_TOO_MANY_OF_ADDRESS;
    e->thread = find_thread(l);
    put_in_lists(l, e);
    pthread_mutex_unlock(&l->lock);
    atomic_store(&l->by_descriptor[fd], e);
    return e;
}

link_entry *links_find(links *l, int fd)
{
    return (size_t)fd < l->descriptors ? atomic_load(&l->by_descriptor[fd]) : NULL;
}

void links_remove(links *l, link_entry *e)
{
    if (!e)
        return;
    atomic_store(&l->by_descriptor[e->fd], NULL);
    pthread_mutex_lock(&l->lock);
    if (e->previous)
        e->previous->next = e->next;
    else
        l->first = e->next;
    if (e->next)
        e->next->previous = e->previous;
    if (e->bucket_previous)
        e->bucket_previous->bucket_next = e->bucket_next;
    else if (e->counted)
        l->bucket[e->bucket] = e->bucket_next;
    if (e->bucket_next)
        e->bucket_next->bucket_previous = e->bucket_previous;
    l->count--;
    l->of_thread[e->thread]--;
    pthread_mutex_unlock(&l->lock);
    free(e);
}

link_excess link_check(const link_entry *e)
{
    return e->excess;
}

int link_thread(const link_entry *e)
{
    return e->thread;
}

const char *link_address(const link_entry *e)
{
    return e->name;
}

void link_enter(const links *l, link_entry *e, link_state state)
{
    const double limit[] = {[LINK_HEADER] = l->limits.header,
                            [LINK_IDLE] = l->limits.idle,
                            [LINK_BODY] = l->limits.body,
                            [LINK_WORKING] = INFINITY,
                            [LINK_SENDING] = l->limits.send};

    unsigned long long end = NO_DEADLINE;

    if (limit[state] <= MOST_SECONDS)
        end = (unsigned long long)((links_now() + limit[state]) * 1e6);
    atomic_store_explicit(&e->waits, end * STATES + (unsigned)state,
                          memory_order_relaxed);
}

static link_state state_in(unsigned long long waits)
{
    return (link_state)(waits % STATES);
}

static bool is_over(unsigned long long waits, double now)
{
    unsigned long long end = waits / STATES;

    return end != NO_DEADLINE && now * 1e6 > (double)end;
}

static link_state state_of(const link_entry *e)
{
    return state_in(atomic_load(&e->waits));
}

/* Whether a request has arrived in part. */
static bool awaits_rest(const link_entry *e, link_state state)
{
    return state == LINK_BODY || (state == LINK_HEADER && atomic_load(&e->begun));
}

int links_count(links *l)
{
    int count;

    pthread_mutex_lock(&l->lock);
    count = l->count;
    pthread_mutex_unlock(&l->lock);
    return count;
}

int links_count_of_thread(links *l, int thread)
{
    int count;

    pthread_mutex_lock(&l->lock);
    count = l->of_thread[thread];
    pthread_mutex_unlock(&l->lock);
    return count;
}

/* ---- closing --------------------------------------------------------------------- */

/* The connection belongs to libmicrohttpd, which notices that it was shut down, and
 * closes it. */
static void shut_down(link_entry *e)
{
    e->closed = true;
    (void)shutdown(e->fd, SHUT_RDWR);
}

/* Sends an error, as the last bytes of a connection to which libmicrohttpd writes
 * nothing now. */
static void send_last(const link_entry *e, problem_code code, const char *text)
{
    problem p = {.code = PROBLEM_NONE};
    bytes body = {0}, all = {0};
    json_writer w = {.to = &body};

    problem_note(&p, code, "%s", text);
    put_open(&w, NULL, '{');
    put_problem(&w, &p);
    put_close(&w, '}');
    bytes_put(&body, "\n", 1);
    bytes_format(&all,
                 "HTTP/1.1 %d %s\r\nConnection: close\r\n"
                 "Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n"
                 "Cache-Control: no-store\r\nContent-Length: %zu\r\n\r\n",
                 problem_status(code), problem_name(code), body.length);
    bytes_put(&all, body.at, body.length);
    if (!all.failed && !body.failed)
        (void)!send(e->fd, all.at, all.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    bytes_free(&all);
    bytes_free(&body);
}

/* A client that has begun a request is told that it is late, by the thread of its
 * connection alone, which may be answering just now: that thread learns of it as it
 * reads what arrives, or the end of it. */
static void end_late(links *l, link_entry *e, link_state state, double now)
{
    bool told = e->told > 0;

    if (!told)
        l->ended(l->user, LINK_LATE);
    if (told || !awaits_rest(e, state)) {
        shut_down(e);
        return;
    }
    e->told = now;
    atomic_store(&e->late, true);
    (void)shutdown(e->fd, SHUT_RD);
}

static void close_late(links *l, double now)
{
    for (link_entry *e = l->first; e; e = e->next) {
        unsigned long long waits = atomic_load_explicit(&e->waits,
                                                        memory_order_relaxed);

        if (!e->closed && is_over(waits, now) && now > e->told + TELL_SECONDS)
            end_late(l, e, state_in(waits), now);
    }
}

/* ---- what arrives ---------------------------------------------------------------- */

/* Sends an error, after which nothing of what arrives is passed on. */
static size_t refuse(link_entry *e, problem_code code, const char *why)
{
    if (!e->refused)
        send_last(e, code, why);
    e->refused = true;
    return 0;
}

/* Whether the time for a request is over. Bytes may still arrive: the socket, shut down
 * for reading, passes them on, and libmicrohttpd reads its end only if none are
 * left. */
static bool is_late(const link_entry *e)
{
    return e->scanner.state != SCAN_BROKEN && atomic_load(&e->late) &&
           awaits_rest(e, state_of(e));
}

/* The connection is that of the calling thread. Its own deadlines begin with the first
 * byte of a request. */
static size_t receive(void *user, int fd, const char *data, size_t count)
{
    links *l = user;
    link_entry *e = links_find(l, fd);
    bool between = e && e->scanner.state == SCAN_START;
    size_t passed;

    if (!e)
        return count;
    if (is_late(e))
        return refuse(e, PROBLEM_timeout, "the request did not arrive within its time");
    passed = scanner_feed(&e->scanner, data, count);
    atomic_store_explicit(&e->begun, e->scanner.state != SCAN_START,
                          memory_order_relaxed);
    if (between && count && state_of(e) == LINK_IDLE)
        link_enter(l, e, LINK_HEADER);
    if (e->scanner.state != SCAN_BROKEN)
        return passed;
    if (passed) { /* it is refused when libmicrohttpd, told of an end, reads again */
        (void)shutdown(fd, SHUT_RD);
        return passed;
    }
    if (!e->refused)
        l->ended(l->user, LINK_REFUSED);
    return refuse(e, e->scanner.code, e->scanner.why);
}

static void *watch(void *data)
{
    links *l = data;

    pthread_mutex_lock(&l->lock);
    while (!l->stopping) {
        struct timespec next;

        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_nsec += 200000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&l->changed, &l->lock, &next);
        close_late(l, links_now());
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

int links_close_idle(links *l)
{
    int others = 0;

    pthread_mutex_lock(&l->lock);
    for (link_entry *e = l->first; e; e = e->next) {
        link_state state = state_of(e);

        if (state != LINK_HEADER && state != LINK_IDLE)
            others++;
        else if (!e->closed)
            shut_down(e);
    }
    pthread_mutex_unlock(&l->lock);
    return others;
}

static size_t most_descriptors(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur > MOST_DESCRIPTORS)
        return MOST_DESCRIPTORS;
    return (size_t)r.rlim_cur;
}

static void free_all(links *l)
{
    while (l->first)
        links_remove(l, l->first);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l->by_descriptor);
    free(l->of_thread);
    free(l);
}

links *links_start(const links_limits *limits, int threads, links_ended *ended,
                   void *user)
{
    links *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->limits = *limits;
    l->ended = ended;
    l->user = user;
    l->descriptors = most_descriptors();
    l->by_descriptor = calloc(l->descriptors, sizeof(*l->by_descriptor));
    l->threads = threads;
    l->of_thread = calloc((size_t)threads, sizeof(*l->of_thread));
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    intake_set(receive, l);
    if (l->by_descriptor && l->of_thread &&
        pthread_create(&l->thread, NULL, watch, l) == 0)
        return l;
    intake_set(NULL, NULL);
    free_all(l);
    return NULL;
}

void links_stop(links *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    intake_set(NULL, NULL);
    free_all(l);
}
