/* Memory of the process, and the speed of the disk. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benching.h"

double bench_memory(const char *key)
{
    FILE *f = fopen("/proc/self/status", "re");
    size_t length = strlen(key);
    double found = NAN;
    char line[200];

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, length) == 0)
            found = 1024.0 * strtod(line + length, NULL);
    if (f)
        fclose(f);
    return found;
}

bool bench_forget_peak(void)
{
#ifdef __GLIBC__
    malloc_trim(0); /* freed memory would count as resident */
#endif
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, "5", 1) == 1;

    if (fd >= 0)
        close(fd);
    return done;
}

int bench_write_raw(const bench *b, const char *path, size_t bytes, double *seconds)
{
    enum { BLOCK = 8 << 20 };
    char *block = malloc(BLOCK);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = block && fd >= 0;
    double began;

    if (block)
        memset(block, 1, BLOCK);
    began = seconds_now();
    while (good && bytes > 0 && !signals_caught()) {
        ssize_t wrote = write(fd, block, bytes < BLOCK ? bytes : BLOCK);

        good = wrote > 0;
        bytes -= good ? (size_t)wrote : 0;
    }
    good = good && fsync(fd) == 0;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    free(block);
    *seconds = seconds_now() - began;
    phase_end(b->console, "writing raw bytes");
    if (signals_caught())
        return fail_interrupted(b->console);
    return good ? EXIT_DONE
                : fail(b->console, EXIT_FAILED, "%s: cannot write: %s", path,
                       strerror(errno));
}
