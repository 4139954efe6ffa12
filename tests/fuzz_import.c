/* Fuzzes the import of Gram matrices. The first byte says whether there is a list of
 * items and where it ends; the list and then the table or array follow. A byte 30
 * separates shards. */
#include "fuzz_file.h"
#include "read/blocks.h"

enum { THREADS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hash of the triplets in their order. */
static ease_status take(void *user, const uint32_t *records, size_t count, size_t *bad,
                        char what[EASE__BLOCK_WHAT])
{
    uint64_t *hash = user;

    (void)bad;
    (void)what;
    for (size_t k = 0; k < count * EASE__TRIPLET_WORDS; k++)
        *hash = (*hash ^ records[k]) * 0x9e3779b97f4a7c15u;
    return EASE_OK;
}

static ease_status read_triplets(const char *path, size_t block_bytes, int threads,
                                 uint64_t *hash, ease_error *err)
{
    ease__ids ids = {0};
    ease__triplets triplets = {.ids = &ids, .take = take, .user = hash};
    ease__splitter comma;
    ease__input *in = NULL;
    ease_read_options o;
    ease_status status = ease__splitter_make(",", &comma, err);

    ease_read_options_init(&o);
    o.threads = threads;
    if (!status)
        status = ease__input_open(path, NULL, &in, err);
    if (!status)
        status = ease__triplets_read(in, &comma, block_bytes, &o, &triplets, err);
    ease__input_close(in);
    ease__ids_free(&ids);
    return status;
}

/* By one thread in one block and by several in small ones it must be the same. */
static void compare_triplets(const char *path, size_t size)
{
    uint64_t alone = 0, together = 0;
    ease_error first = {0}, second = {0};
    ease_status status = read_triplets(path, 0, 1, &alone, &first);

    if (read_triplets(path, 1 + size % 40, THREADS, &together, &second) != status ||
        strcmp(first.text, second.text) != 0 || (!status && alone != together))
        abort();
}

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
    o.threads = THREADS;
    if (ease_gram_import(paths, divide ? 2 : 1, data[0] & 128 ? items : NULL, -1, &o,
                         &g, NULL) == EASE_OK) {
        ease_gram_info info = gram_info(g);

        for (int32_t i = 0; i < info.items; i++)
            if (!(ease_gram_at(g, i, i) >= 0))
                abort();
        ease_gram_free(g);
    }
    compare_triplets(matrix, size);
    close(a);
    close(b);
    if (c >= 0)
        close(c);
    return 0;
}
