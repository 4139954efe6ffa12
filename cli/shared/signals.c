#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "ease.h"

/* The only state that a handler may change. */
static volatile sig_atomic_t caught;

static void catch_signal(int number)
{
    caught = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* Installs a handler, unless the signal was ignored when the program started (nohup,
 * a background job). */
static void install(int number, void (*handler)(int))
{
    struct sigaction old, action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

/* SIGBUS: a mapped file was truncated, or its disk failed. In a model file the library
 * handles it, and the call that reads the file fails; otherwise the program ends. */
static void catch_fault(int number, siginfo_t *info, void *context)
{
    static const char text[] = "ease: a mapped file can no longer be read\n";

    (void)number;
    (void)context;
    if (ease_handle_fault(info->si_addr))
        return;
    (void)!write(STDERR_FILENO, text, strlen(text));
    _exit(EXIT_DATA);
}

static void install_fault_handler(void)
{
    struct sigaction action = {.sa_sigaction = catch_fault, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void signals_install(void)
{
    install(SIGINT, catch_signal);
    install(SIGTERM, catch_signal);
    /* A write beyond the file size limit then fails as on a full disk. */
    install(SIGXFSZ, SIG_IGN);
    install_fault_handler();
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
