/* Trials that tune has printed as CSV or JSON, as `plot lambda` reads and draws
 * them. */
#include "trials.h"

#include <math.h>

#include "fuzz_input.h"

/* What trials.c has of the program: messages, which are not printed here. */
int fail(console *c, int code, const char *fmt, ...)
{
    (void)c;
    (void)fmt;
    return code;
}

int fail_no_memory(console *c)
{
    (void)c;
    return EXIT_MEMORY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static trials t;
    int fd, code = trials_read(NULL, fuzz_path(data, size, &fd), &t);

    close(fd);
    if (code && code != EXIT_DATA)
        abort();
    if (code)
        return 0;
    if (t.count < 1 || t.count > MOST_TRIALS || !memchr(t.metric, '\0', METRIC_CHARS))
        abort();
    for (int i = 0; i < t.count; i++)
        if (isnan(t.lambda[i]) || isnan(t.mean[i]))
            abort();
    (void)!ease_plot_lambda(t.lambda, t.mean, t.error, t.count, t.metric, "/dev/null",
                            NULL);
    return 0;
}
