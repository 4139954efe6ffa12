/* Checks a plugin by the suite: run_backend_suite /absolute/path/plugin.so */
#include <dlfcn.h>

#include "backend_suite.h"

int main(int argc, char **argv)
{
    enum { SKIPPED = 77 };
    ease_backend_entry *entry;
    const ease_backend *b;
    void *object;
    int failed;

    if (argc != 2) {
        fprintf(stderr, "usage: run_backend_suite /absolute/path/plugin.so\n");
        return 2;
    }
    object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&entry = dlsym(object, EASE_BACKEND_ENTRY);
    if (!entry || entry(EASE_BACKEND_ABI + 1) || !(b = entry(EASE_BACKEND_ABI))) {
        fprintf(stderr, "%s: no " EASE_BACKEND_ENTRY " for ABI %u, or one for any\n",
                argv[1], EASE_BACKEND_ABI);
        return 1;
    }
    failed = backend_suite(b, stderr);
    if (failed == BACKEND_SUITE_UNAVAILABLE) {
        printf("skipped  the suite on backend %s\n0 passed, 0 failed, 1 skipped\n",
               b->name);
        return SKIPPED;
    }
    printf("backend %s: %d checks failed\n", b->name, failed);
    printf("%d passed, %d failed, 0 skipped\n", failed == 0, failed != 0);
    return failed ? 1 : 0;
}
