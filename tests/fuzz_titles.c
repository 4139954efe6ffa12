#include "fuzz_input.h"
#include "read/titles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"1", "2", "a", "title"};
    ease__ids items = {0}, titles = {0};
    void *packed = NULL;
    size_t bytes = 0;
    int32_t matched = 0;
    int fd;

    for (int i = 0; i < 4; i++)
        if (ease__ids_add(&items, names[i], i < 3 ? 1 : 5) != i)
            abort();
    if (ease__titles_read(fuzz_path(data, size, &fd), &items, &packed, &bytes, &matched,
                          NULL) == EASE_OK &&
        (matched < 1 || matched > 4 ||
         ease__ids_borrow(&titles, packed, bytes, 4, false, "titles", NULL) != EASE_OK))
        abort();
    ease__ids_free(&titles);
    ease__ids_free(&items);
    ease__free(packed);
    close(fd);
    return 0;
}
