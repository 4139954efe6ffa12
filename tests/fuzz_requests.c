/* The bytes of a connection: the scanner finds the same in them however they are
 * divided, and what it passes on has one meaning; and the targets of requests. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scanner.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 4096 };

static void check_divided(const char *data, size_t size, size_t part)
{
    scanner whole = {.limit = HEADER_BYTES}, divided = {.limit = HEADER_BYTES};
    size_t passed = scanner_feed(&whole, data, size);

    for (size_t at = 0; at < size && divided.state != SCAN_BROKEN; at += part)
        (void)scanner_feed(&divided, data + at, size - at < part ? size - at : part);
    if (whole.state != divided.state || whole.code != divided.code ||
        whole.body != divided.body || whole.bytes != divided.bytes)
        abort();
    if (whole.state == SCAN_BROKEN ? passed == size && size > 0 : passed != size)
        abort();
    if (whole.state == SCAN_BROKEN && (!whole.why || !whole.code))
        abort();
}

/* What is passed on has no line feed without a carriage return, and no NUL. */
static void check_passed(const char *data, size_t size)
{
    scanner s = {.limit = HEADER_BYTES};

    for (size_t i = 0; i < size; i++) {
        bool body = s.state == SCAN_BODY;

        (void)scanner_feed(&s, data + i, 1);
        if (s.state == SCAN_BROKEN)
            return;
        if (!body && (!data[i] || (data[i] == '\n' && (i == 0 || data[i - 1] != '\r'))))
            abort();
    }
}

static void read_target(const char *data, size_t size)
{
    arena a = {.last = NULL};
    problem p = {.code = PROBLEM_NONE};
    target t;
    int64_t k = 0;
    char *raw = arena_copy(&a, data, size);

    if (!raw)
        abort();
    if (target_read(raw, &a, &t, &p)) {
        if (t.segments < 1 || t.segments > TARGET_SEGMENTS)
            abort();
        (void)target_take_count(&t, "k", 1, 10, &k, &p);
        if (k < 0 || k > 10)
            abort();
    } else if (!p.code || !p.text[0]) {
        abort();
    }
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    for (size_t part = 1; part < 9; part += 3)
        check_divided(text, size, part);
    check_passed(text, size);
    read_target(text, size);
    return 0;
}
