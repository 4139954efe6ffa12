#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ease_interactions *x = NULL;
    ease_read_options o;
    int fd;

    ease_read_options_init(&o);
    o.threads = 1;
    o.format = "mtx";
    o.weights = size % 2;
    o.memory_limit = (size_t)1 << 24; /* claims are cheap, ids are not */
    if (ease_interactions_read(fuzz_path(data, size, &fd), &o, &x, NULL) == EASE_OK)
        fuzz_look(x);
    ease_interactions_free(x);
    close(fd);
    return 0;
}
