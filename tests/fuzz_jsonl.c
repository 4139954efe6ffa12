#include "fuzz_input.h"

/* JSON lines with fields that are recognized, or named user, item.id, rating and ts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path;
    ease_read_options o;
    int fd;

    ease_read_options_init(&o);
    o.format = "jsonl";
    if (size % 2)
        o.columns = "user,item.id,rating,ts";
    o.weights = size / 2 % 2;
    if (size / 4 % 2)
        o.half_life = 30.0;
    o.memory_limit = (size_t)1 << 24;
    path = fuzz_path(data, size, &fd);
    fuzz_read(path, size, &o);
    close(fd);
    return 0;
}
