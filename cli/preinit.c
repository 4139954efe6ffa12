/* A check that must run before OpenBLAS is initialized.
 *
 * OpenBLAS maps 128 MiB for each processor when it is loaded, and retries for ever if a
 * resource limit (ulimit -v, -d) does not allow that. Functions in .preinit_array run
 * before the initializers of all libraries; the C library is not initialized then
 * either, so that only system calls are made here. */
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "console.h"

/* With this in the environment OpenBLAS maps buffers for one processor only. The number
 * of threads that the program uses does not depend on it. */
static char one_thread[] = "OMP_NUM_THREADS=1";

enum { MOST_PROCESSORS = CPU_SETSIZE };

static int processors(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* True if `buffers` buffers can be mapped beside the memory that the program needs
 * to start. */
static bool fits(int buffers)
{
    const size_t each = (size_t)128 << 20, rest = (size_t)16 << 20;
    void *mapped[MOST_PROCESSORS + 1];
    int count = 0;
    bool enough;

    do {
        mapped[count] = mmap(NULL, count < buffers ? each : rest,
                             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                             0);
        enough = mapped[count] != MAP_FAILED;
    } while (enough && count++ < buffers);
    while (--count >= 0)
        munmap(mapped[count], count < buffers ? each : rest);
    return enough;
}

static char **find_threads(char **envp)
{
    const size_t name = strlen("OMP_NUM_THREADS=");

    while (*envp && strncmp(*envp, one_thread, name) != 0)
        envp++;
    return envp;
}

static size_t count_strings(char **list)
{
    size_t count = 0;

    while (list[count])
        count++;
    return count;
}

/* Runs the program again with one_thread in its environment. Returns only on
 * failure. */
static void start_again(char **argv, char **envp)
{
    size_t count = count_strings(envp);
    char *environment[count + 2];

    memcpy(environment, envp, count * sizeof(*envp));
    environment[count] = environment[count + 1] = NULL;
    *find_threads(environment) = one_thread;
    execve("/proc/self/exe", argv, environment);
}

static void check_address_space(int argc, char **argv, char **envp)
{
    static const char refused[] =
        "ease: OpenBLAS needs 128 MiB of address space to start, and ease 16 MiB more: "
        "'ulimit -v' or 'ulimit -d' does not allow that\n";
    const char *told = *find_threads(envp);
    bool one = told && strcmp(told, one_thread) == 0;

    (void)argc;
    if (fits(one ? 1 : processors()))
        return;
    if (!one && fits(1))
        start_again(argv, envp);
    (void)!write(STDERR_FILENO, refused, sizeof(refused) - 1);
    _exit(EXIT_MEMORY);
}

__attribute__((section(".preinit_array"),
               used)) static void (*first)(int, char **, char **) = check_address_space;
