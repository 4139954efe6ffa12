/* Checks a plugin by the suite: run_backend_suite /absolute/path/plugin.so
 * [BYTES | larger], with at most so many bytes of a device's memory, or with matrices of up
 * to 3,000 items, which backends with a device get anyway. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backend_suite.h"

enum { SKIPPED = 77 };

static const ease_backend *backend_of(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const ease_backend *b = NULL;
    ease_backend_entry *entry;

    if (!object) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    *(void **)&entry = dlsym(object, EASE_BACKEND_ENTRY);
    if (!entry || entry(EASE_BACKEND_ABI + 1) || !(b = entry(EASE_BACKEND_ABI)))
        fprintf(stderr, "%s: no " EASE_BACKEND_ENTRY " for ABI %u, or one for any\n",
                path, EASE_BACKEND_ABI);
    return b;
}

static int suite(const ease_backend *b, const char *how)
{
    if (!how)
        return backend_suite(b, stderr);
    return backend_suite_larger(
        b, strcmp(how, "larger") == 0 ? 0 : strtoull(how, NULL, 10), stderr);
}

int main(int argc, char **argv)
{
    const ease_backend *b;
    int failed;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: run_backend_suite /absolute/path/plugin.so "
                        "[BYTES | larger]\n");
        return 2;
    }
    b = backend_of(argv[1]);
    if (!b)
        return 1;
    failed = suite(b, argc > 2 ? argv[2] : NULL);
    if (failed == BACKEND_SUITE_UNAVAILABLE) {
        printf("skipped  the suite on backend %s\n0 passed, 0 failed, 1 skipped\n",
               b->name);
        return SKIPPED;
    }
    printf("backend %s: %d checks failed\n", b->name, failed);
    printf("%d passed, %d failed, 0 skipped\n", failed == 0, failed != 0);
    return failed ? 1 : 0;
}
