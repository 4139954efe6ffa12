#include "intake.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static intake_filter *set_filter;
static void *set_user;

void intake_set(intake_filter *filter, void *user)
{
    set_filter = filter;
    set_user = user;
}

/* The linker exports the function since a shared library that is linked calls it: the
 * program's comes before that of libc. */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *data, size_t count,
                                                    int flags)
{
    ssize_t got = syscall(SYS_recvfrom, fd, data, count, flags, NULL, NULL);

    return got >= 0 && set_filter && !(flags & MSG_PEEK)
               ? (ssize_t)set_filter(set_user, fd, data, (size_t)got)
               : got;
}
