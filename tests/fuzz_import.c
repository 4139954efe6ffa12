/* Gram matrices made elsewhere. The first byte: whether the items are given, and where
 * the list of items ends; then that list, then the table or array. */
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ease_train_options o;
    ease_gram *g = NULL;
    char items[FUZZ_PATH], matrix[FUZZ_PATH];
    size_t cut;
    int a, b;

    if (size < 1)
        return 0;
    cut = (size_t)(data[0] & 127) < size - 1 ? data[0] & 127 : size - 1;
    a = fuzz_file(data + 1, cut, items);
    b = fuzz_file(data + 1 + cut, size - 1 - cut, matrix);
    ease_train_options_init(&o);
    o.memory_limit = 1 << 24;
    if (ease_gram_import(matrix, data[0] & 128 ? items : NULL, -1, &o, &g, NULL) ==
        EASE_OK) {
        ease_gram_info info = ease_gram_describe(g);

        for (int32_t i = 0; i < info.items; i++)
            if (!(ease_gram_at(g, i, i) >= 0))
                abort();
        ease_gram_free(g);
    }
    close(a);
    close(b);
    return 0;
}
