/* Delimited text of any kind: the first two bytes choose the options. */
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

/* Encodings, bounds of times and weights by age. */
static void choose_more(uint8_t byte, ease_read_options *o)
{
    static const char *const encodings[] = {NULL, "utf-8", "utf-16", "latin-1"};

    o->encoding = encodings[byte & 3];
    if (byte >> 2 & 1)
        o->since = 1.0e9;
    if (byte >> 3 & 1)
        o->until = 1.7e9;
    if (byte >> 4 & 1)
        o->half_life = 30.0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ease_read_options o;
    int fd;

    if (size < 2)
        return 0;
    choose(data[0], &o);
    choose_more(data[1], &o);
    fuzz_read(fuzz_path(data + 2, size - 2, &fd), size, &o);
    close(fd);
    return 0;
}
