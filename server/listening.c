#include "listening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, FIRST_PASSED = 3 };

/* ---- names ----------------------------------------------------------------------- */

static bool is_local(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
                   24 ==
               127;
    if (a->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
    return a->sa_family == AF_UNIX;
}

/* Describes the socket by the address that it is bound to. */
static void describe(listening *l)
{
    struct sockaddr_storage address = {0};
    const struct sockaddr *a = (const void *)&address;
    socklen_t size = sizeof(address);
    char host[INET6_ADDRSTRLEN + 20], port[16];

    if (getsockname(l->fd, (struct sockaddr *)&address, &size) != 0)
        return;
    l->local = is_local(a);
    if (a->sa_family == AF_UNIX)
        snprintf(l->name, sizeof(l->name), "unix:%.108s",
                 ((const struct sockaddr_un *)(const void *)a)->sun_path);
    else if (getnameinfo(a, size, host, sizeof(host), port, sizeof(port),
                         NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(l->name, sizeof(l->name),
                 strchr(host, ':') ? "http://[%s]:%s/" : "http://%s:%s/", host, port);
}

/* ---- addresses ------------------------------------------------------------------- */

static bool split_address(const char *address, char *host, size_t size,
                          const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : 0;

    if (!colon || length >= size || !colon[1] ||
        colon[1 + strspn(colon + 1, "0123456789")])
        return false;
    if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
        address++;
        length -= 2;
    } else if (memchr(address, ':', length)) {
        return false;
    }
    memcpy(host, address, length);
    host[length] = '\0';
    *port = colon + 1;
    return true;
}

static int bind_first(const struct addrinfo *list)
{
    int error = EADDRNOTAVAIL;

    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                        a->ai_protocol);
        int on = 1;

        if (fd >= 0)
            (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        error = errno;
        if (fd >= 0)
            close(fd);
    }
    errno = error;
    return -1;
}

bool listening_address(const char *address, listening *out, problem *p)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char host[256];
    const char *port = NULL;
    int code;

    *out = (listening){.fd = -1};
    if (!split_address(address, host, sizeof(host), &port))
        return problem_note(
            p, PROBLEM_bad_value,
            "--listen %s: expected HOST:PORT, such as 127.0.0.1:8080 or "
            "[::1]:8080",
            address);
    code = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);
    if (code)
        return problem_note(p, PROBLEM_bad_value, "--listen %s: %s", address,
                            gai_strerror(code));
    out->fd = bind_first(list);
    code = errno;
    freeaddrinfo(list);
    if (out->fd < 0)
        return problem_note(
            p, PROBLEM_internal, "--listen %s: %s%s", address, strerror(code),
            code == EADDRINUSE ? ": another program listens there" : "");
    describe(out);
    return true;
}

/* ---- Unix sockets ---------------------------------------------------------------- */

/* Removes a socket that nobody listens on any more. */
static bool remove_stale(const struct sockaddr_un *a, problem *p)
{
    struct stat st;
    int fd, error = 0;

    if (lstat(a->sun_path, &st) != 0)
        return true;
    if (!S_ISSOCK(st.st_mode))
        return problem_note(p, PROBLEM_bad_value, "--unix %s: is not a socket",
                            a->sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof(*a)) != 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    if (error != ECONNREFUSED)
        return problem_note(p, PROBLEM_internal,
                            "--unix %s: another program listens there", a->sun_path);
    unlink(a->sun_path);
    return true;
}

/* Whether the path is still that of the socket that was bound. */
static bool is_ours(const listening *l)
{
    struct stat st;

    return lstat(l->path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode;
}

/* Listens at once: others can tell the socket from one that was left behind. Until
 * connections are accepted, hardly any can wait. */
static bool claim(listening *l, const char *path)
{
    struct stat st;

    if (listen(l->fd, 0) != 0 || lstat(path, &st) != 0)
        return false;
    l->path = path;
    l->device = st.st_dev;
    l->inode = st.st_ino;
    return true;
}

bool listening_unix(const char *path, listening *out, problem *p)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    mode_t mask;
    int bound = -1;

    *out = (listening){.fd = -1};
    if (strlen(path) >= sizeof(a.sun_path))
        return problem_note(p, PROBLEM_bad_value,
                            "--unix %s: a path of a socket has at most %zu bytes", path,
                            sizeof(a.sun_path) - 1);
    strcpy(a.sun_path, path);
    if (!remove_stale(&a, p))
        return false;
    out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mask = umask(0117);
    if (out->fd >= 0)
        bound = bind(out->fd, (const struct sockaddr *)&a, sizeof(a));
    umask(mask);
    if (bound != 0 || !claim(out, path))
        return problem_note(p, PROBLEM_internal, "--unix %s: %s", path,
                            strerror(errno));
    describe(out);
    return true;
}

/* ---- passed sockets -------------------------------------------------------------- */

static int number_of(const char *name)
{
    const char *text = getenv(name);

    return text ? (int)strtol(text, NULL, 10) : 0;
}

bool listening_inherited(listening *out, problem *p)
{
    int count = number_of("LISTEN_PID") == (int)getpid() ? number_of("LISTEN_FDS") : 0;
    int listens = 0;
    socklen_t size = sizeof(listens);

    *out = (listening){.fd = -1};
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (count <= 0)
        return true;
    if (count > 1)
        return problem_note(
            p, PROBLEM_bad_value,
            "%d sockets were passed (LISTEN_FDS), and one can be served", count);
    if (getsockopt(FIRST_PASSED, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        !listens)
        return problem_note(p, PROBLEM_bad_value,
                            "descriptor 3, which was passed (LISTEN_FDS), is not a "
                            "socket that listens");
    out->fd = FIRST_PASSED;
    out->passed = true;
    (void)fcntl(out->fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(out->fd, F_SETFL, fcntl(out->fd, F_GETFL) | O_NONBLOCK);
    describe(out);
    return true;
}

bool listening_begin(listening *l, problem *p)
{
    if (listen(l->fd, BACKLOG) == 0)
        return true;
    return problem_note(p, PROBLEM_internal, "cannot listen: %s", strerror(errno));
}

/* Another server may bind the path of a socket from now on: it is removed once. */
void listening_refuse(listening *l)
{
    if (l->path && is_ours(l))
        unlink(l->path);
    l->path = NULL;
    if (l->fd >= 0 && !l->passed)
        (void)shutdown(l->fd, SHUT_RDWR);
}

void listening_end(listening *l)
{
    listening_refuse(l);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}
