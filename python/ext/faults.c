/* SIGBUS from a model file that was truncated: the call that reads it fails, and the
 * process continues. */
#include <signal.h>

#include "ext.h"

static struct sigaction before;

/* Passes the signal to the previous handler. If that is the default action, the process
 * ends when the instruction faults again. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        signal(number, SIG_DFL);
}

static void catch_fault(int number, siginfo_t *info, void *context)
{
    if (!ease_handle_fault(info->si_addr))
        pass_on(number, info, context);
}

void faults_install(void)
{
    struct sigaction action = {.sa_sigaction = catch_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    static bool installed; /* the interpreter's lock is held */

    if (installed)
        return;
    sigemptyset(&action.sa_mask);
    installed = sigaction(SIGBUS, &action, &before) == 0;
}
