/* Starts the program that serves, which takes this one's place: same process, same
 * arguments. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serving.h"
#include "verbs.h"

static char server[] = "ease-serve";

/* The path of a program in the directory of this one, or "". */
static void find_beside(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash && (size_t)(slash + 1 - path) + sizeof(server) <= size)
        memcpy(slash + 1, server, sizeof(server));
    else
        path[0] = '\0';
}

int serve_run(console *c, void *args)
{
    const serve_args *a = args;
    const common_args *common = &a->common;
    char **argv = calloc((size_t)common->argc + 2, sizeof(*argv));
    char path[PATH_MAX];
    int error;

    if (!argv)
        return fail_no_memory(c);
    argv[0] = server;
    memcpy(argv + 1, common->argv, (size_t)common->argc * sizeof(*argv));
    find_beside(path, sizeof(path));
    if (path[0])
        execv(path, argv);
    execvp(server, argv);
    error = errno;
    free(argv);
    return fail(
        c, EXIT_FAILED,
        "%s cannot be started: %s; it belongs beside ease or on the PATH. Debian's "
        "package ease-server has it, wheels do not; from source it is built where "
        "libmicrohttpd and jansson are installed",
        server, strerror(error));
}
