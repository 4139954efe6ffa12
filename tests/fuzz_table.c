/* Delimited text of any kind: the first byte chooses the options. */
#include "fuzz_input.h"

static void choose(uint8_t byte, ease_read_options *o)
{
    static const char *const formats[] = {NULL, "netflix", "table", "adjacency"};
    static const char *const separators[] = {NULL, NULL, "::", " "};

    ease_read_options_init(o);
    o->memory_limit = (size_t)1 << 28;
    o->format = formats[byte & 3];
    o->separator = separators[byte >> 2 & 3];
    o->weights = byte >> 4 & 1;
    o->repeat = (ease_repeat)(byte >> 5 & 3);
    o->min_user = byte >> 7;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ease_read_options o;
    int fd;

    if (size == 0)
        return 0;
    choose(data[0], &o);
    fuzz_read(fuzz_path(data + 1, size - 1, &fd), size, &o);
    close(fd);
    return 0;
}
