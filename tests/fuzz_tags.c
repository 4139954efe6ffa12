#include <math.h>
#include <string.h>

#include "fuzz_input.h"

/* The rows ascend, and every number is in range. */
static void check_tags(const ease_tags *t)
{
    ease_tags_info info = {.size = sizeof(info)};
    int64_t pairs = 0;

    ease_tags_describe(t, &info);
    if (info.items < 1 || info.tags < 1)
        abort();
    for (int32_t i = 0; i < info.items; i++) {
        ease_row row = ease_tags_row(t, i);

        if (row.count < 1 || !ease_tags_item_id(t, i)[0])
            abort();
        for (int32_t k = 0; k < row.count; k++) {
            if (row.items[k] < 0 || row.items[k] >= info.tags ||
                (k && row.items[k] <= row.items[k - 1]) ||
                (row.weights && !(row.weights[k] > 0 && isfinite(row.weights[k]))) ||
                !strchr(ease_tags_name(t, row.items[k]), '='))
                abort();
        }
        pairs += row.count;
    }
    if (pairs != info.pairs)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const columns[] = {NULL, "1,3", "2,1", "item,tag"};
    static const char *const splits[] = {NULL, "|", ", ", "||"};
    int fd;
    const char *path = fuzz_path(data, size, &fd);

    for (int i = 0; i < 4; i++) {
        ease_tag_options o;
        ease_tags *t = NULL;

        ease_tag_options_init(&o);
        o.columns = columns[i];
        o.split = splits[i];
        o.header = i - 1;
        if (o.header > 1)
            o.header = -1;
        if (ease_tags_read(path, &o, &t, NULL) == EASE_OK)
            check_tags(t);
        ease_tags_free(t);
    }
    close(fd);
    return 0;
}
