/* Trials that tune has printed as CSV or JSON, as `plot lambda` and `plot settings`
 * read and draw them. */
#include "trials.h"

#include <math.h>

#include "fuzz_input.h"
#include "plotting.h"

/* What the two files have of the program: messages, which are not printed here. */
int fail(console *c, int code, const char *fmt, ...)
{
    (void)c;
    (void)fmt;
    return code;
}

int fail_with(console *c, const ease_error *err)
{
    (void)c;
    return err->status == EASE_E_ARG ? EXIT_USAGE : EXIT_FAILED;
}

void warn(console *c, const char *fmt, ...)
{
    (void)c;
    (void)fmt;
}

int fail_no_memory(console *c)
{
    (void)c;
    return EXIT_MEMORY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static trials t;
    const char *settings[MOST_TRIALS];
    int fd, code = trials_read(NULL, fuzz_path(data, size, &fd), &t);

    close(fd);
    if (code && code != EXIT_DATA)
        abort();
    if (code)
        return 0;
    if (t.count < 1 || t.count > MOST_TRIALS || !memchr(t.metric, '\0', METRIC_CHARS))
        abort();
    for (int i = 0; i < t.count; i++) {
        settings[i] = t.settings[i];
        if (!memchr(settings[i], '\0', TRIAL_CHARS) || isnan(t.mean[i]))
            abort();
    }
    if (trials_have_lambda(&t))
        (void)!ease_plot_lambda(t.lambda, t.mean, t.error, t.count, t.metric,
                                "/dev/null", NULL);
    code = plot_settings_of(NULL, t.lambda, settings, t.mean, t.error, t.count,
                            trials_best(&t), t.metric, "/dev/null");
    if (code && code != EXIT_DATA && code != EXIT_USAGE)
        abort();
    return 0;
}
