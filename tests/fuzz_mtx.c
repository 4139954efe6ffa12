#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path;
    ease_read_options o;
    int fd;

    ease_read_options_init(&o);
    o.format = "mtx";
    o.weights = size % 2;
    o.memory_limit = (size_t)1 << 24; /* claims are cheap, ids are not */
    path = fuzz_path(data, size, &fd);
    fuzz_read(path, size, &o);
    close(fd);
    return 0;
}
