/* Gram matrices made elsewhere. The first byte: whether the items are given, and where
 * the list of items ends; then that list, then the table or array. A byte 30 divides two
 * shards. */
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ease_gram_options o;
    ease_gram *g = NULL;
    char items[FUZZ_PATH], matrix[FUZZ_PATH], second[FUZZ_PATH];
    const char *paths[] = {matrix, second};
    const uint8_t *start, *divide;
    size_t cut, left;
    int a, b, c;

    if (size < 1)
        return 0;
    cut = (size_t)(data[0] & 127) < size - 1 ? data[0] & 127 : size - 1;
    a = fuzz_file(data + 1, cut, items);
    start = data + 1 + cut;
    left = size - 1 - cut;
    divide = left ? memchr(start, 30, left) : NULL;
    b = fuzz_file(start, divide ? (size_t)(divide - start) : left, matrix);
    c = divide ? fuzz_file(divide + 1, left - 1 - (size_t)(divide - start), second)
               : -1;
    ease_gram_options_init(&o);
    o.memory_limit = 1 << 24;
    o.threads = 1; /* more would be started for each input */
    if (ease_gram_import(paths, divide ? 2 : 1, data[0] & 128 ? items : NULL, -1, &o,
                         &g, NULL) == EASE_OK) {
        ease_gram_info info = gram_info(g);

        for (int32_t i = 0; i < info.items; i++)
            if (!(ease_gram_at(g, i, i) >= 0))
                abort();
        ease_gram_free(g);
    }
    close(a);
    close(b);
    if (c >= 0)
        close(c);
    return 0;
}
