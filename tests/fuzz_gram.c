/* Fuzzes Gram files; the checksums are corrected, except in every third input. */
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* `path` and `copy` have the same bytes. */
static void use_gram(ease_gram *g, const char *path, const char *copy)
{
    const char *paths[2] = {path, copy};
    ease_gram_info info = gram_info(g);
    ease_gram *sum = NULL;
    ease_model *m = NULL;
    ease_train_options o;

    for (int32_t i = 0; i < info.items; i++) {
        if (!ease_gram_item_id(g, i))
            abort();
        (void)ease_gram_at(g, i, info.items - 1);
    }
    if (ease_gram_merge(paths, 2, NULL, &sum, NULL) == EASE_OK)
        ease_gram_free(sum);
    ease_train_options_init(&o);
    o.lambda = 3;
    o.threads = 1;
    o.kind = (ease_gram_kind)(info.items % 3);
    if (ease_gram_solve(&g, &o, &m, NULL) == EASE_OK)
        ease_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size + 1);
    ease_gram_options o;
    ease_gram *g = NULL;
    char path[FUZZ_PATH], second[FUZZ_PATH];
    int fd, again;

    memcpy(copy, data, size);
    if (size % 3 != 1)
        fuzz_fix_checksums(copy, size);
    fd = fuzz_file(copy, size, path);
    again = fuzz_file(copy, size, second);
    ease_gram_options_init(&o);
    o.memory_limit = 1 << 24;
    if (ease_gram_open(path, &o, &g, NULL) == EASE_OK)
        use_gram(g, path, second);
    close(fd);
    close(again);
    free(copy);
    return 0;
}
