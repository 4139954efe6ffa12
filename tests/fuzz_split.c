/* Directories of splits. The first two bytes say which files are there, the rest are
 * the files in the order of ease__split_file, divided by bytes 30. */
#include <fcntl.h>

#include "fuzz_input.h"
#include "read/split_files.h"

enum { HEAD_BYTES = 2, DIVIDER = 30 };

static char dir[] = "/tmp/fuzz_split.XXXXXX";

static void remove_directory(void)
{
    for (int i = 0; i < EASE__SPLIT_FILES; i++) {
        char path[80];

        snprintf(path, sizeof(path), "%s/%s", dir, ease__split_file(i));
        unlink(path);
    }
    rmdir(dir);
}

static void start(void)
{
    static bool started;

    if (started)
        return;
    if (!mkdtemp(dir) || atexit(remove_directory))
        abort();
    started = true;
}

static void put_file(int file, bool there, const uint8_t *data, size_t size)
{
    char path[80];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, ease__split_file(file));
    if (!there) {
        unlink(path);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
}

static void put_files(const uint8_t *data, size_t size)
{
    unsigned there = data[0] | (unsigned)data[1] << 8;

    data += HEAD_BYTES;
    size -= HEAD_BYTES;
    for (int i = 0; i < EASE__SPLIT_FILES; i++) {
        const uint8_t *end = size ? memchr(data, DIVIDER, size) : NULL;
        size_t bytes = end ? (size_t)(end - data) : size;

        put_file(i, there >> i & 1, data, bytes);
        size -= bytes + (end != NULL);
        data += bytes + (end != NULL);
    }
}

/* What tables have in common with what they were divided from. */
static void look_at_split(const ease_split_parts *p)
{
    const ease_interactions *parts[] = {
        p->train,      p->validation_train, p->validation_input, p->validation_target,
        p->test_input, p->test_target};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!parts[i] && i != EASE__TABLE_VALIDATION_TRAIN)
            abort();
        if (parts[i])
            fuzz_look(parts[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ease_split_parts parts = {.size = sizeof(parts)};
    ease_read_options o;
    ease_error err = {0};
    char path[80];

    if (size < HEAD_BYTES)
        return 0;
    start();
    put_files(data, size);
    if (ease_split_open(dir, &parts, &err) == EASE_OK) {
        look_at_split(&parts);
        ease_split_close(&parts);
    } else if (!err.text[0]) {
        abort();
    }
    ease_read_options_init(&o);
    o.memory_limit = (size_t)1 << 26;
    snprintf(path, sizeof(path), "%s/%s", dir, ease__split_file(data[0] % 6));
    fuzz_read(path, size, &o);
    return 0;
}
