/* Delimited text of any kind: the first byte chooses the options. Read as one block
 * and as many, it must be the same. */
#include <string.h>

#include "data/interactions.h"
#include "fuzz_input.h"
#include "read/readers.h"

static void choose(uint8_t byte, ease_read_options *o)
{
    static const char *const formats[] = {NULL, "netflix", "table", "adjacency"};
    static const char *const separators[] = {NULL, NULL, "::", " "};

    ease_read_options_init(o);
    o->threads = 1;
    o->memory_limit = (size_t)1 << 28;
    o->format = formats[byte & 3];
    o->separator = separators[byte >> 2 & 3];
    o->weights = byte >> 4 & 1;
    o->repeat = (ease_repeat)(byte >> 5 & 3);
    o->min_user = byte >> 7;
}

static void check_same(const ease_interactions *a, const ease_interactions *b)
{
    if (a->users != b->users || a->items != b->items || a->nnz != b->nnz ||
        memcmp(a->cols, b->cols, (size_t)a->nnz * sizeof(*a->cols)) != 0)
        abort();
    for (int64_t u = 0; u < a->users; u++)
        if (strcmp(ease_interactions_user_id(a, u), ease_interactions_user_id(b, u)))
            abort();
    if (!a->doubt != !b->doubt || (a->doubt && strcmp(a->doubt, b->doubt) != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ease_interactions *x = NULL, *y = NULL;
    ease_error first = {0}, second = {0};
    ease_read_options o;
    const char *path;
    ease_status status;
    int fd;

    if (size == 0)
        return 0;
    choose(data[0], &o);
    path = fuzz_path(data + 1, size - 1, &fd);
    status = ease__interactions_read(path, &o, 0, &x, &first);
    if (ease__interactions_read(path, &o, 16, &y, &second) != status ||
        strcmp(first.text, second.text) != 0)
        abort();
    if (!status) {
        fuzz_look(x);
        check_same(x, y);
    }
    ease_interactions_free(x);
    ease_interactions_free(y);
    close(fd);
    return 0;
}
