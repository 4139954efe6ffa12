#include <signal.h>
#include <stddef.h>

#include "console.h"

/* A handler can reach nothing but this. */
static volatile sig_atomic_t caught;

static void catch_signal(int number)
{
    caught = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* One that was ignored when we began (nohup, a background job) stays ignored. */
static void install(int number, void (*handler)(int))
{
    struct sigaction old, action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void signals_install(void)
{
    install(SIGINT, catch_signal);
    install(SIGTERM, catch_signal);
    /* Past the file size limit a write then fails as on a full disk. */
    install(SIGXFSZ, SIG_IGN);
}

int signals_caught(void)
{
    return (int)caught;
}

void signals_forget(void)
{
    caught = 0;
    signals_install();
}
