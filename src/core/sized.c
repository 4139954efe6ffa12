#include "core/sized.h"

#include <string.h>

/* Far above any structure of any version: what is above is memory that nobody set. */
enum { LARGEST = 65536 };

static size_t size_of(const void *structure)
{
    size_t size;

    memcpy(&size, structure, sizeof(size));
    return size >= sizeof(size) && size <= LARGEST ? size : 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* From `from` to *to but for the size, which both begin with. */
static void copy_members(void *to, const void *from, size_t bytes)
{
    size_t begin = sizeof(size_t);

    memcpy((char *)to + begin, (const char *)from + begin, bytes - begin);
}

static void fill(void *out, size_t size, const void *from, size_t known)
{
    copy_members(out, from, smaller(size, known));
    if (size > known)
        memset((char *)out + known, 0, size - known);
}

ease_status ease__options_take(void *out, size_t known, const void *given,
                               const char *type, ease_error *err)
{
    const char *bytes = given;
    size_t size;

    if (!given)
        return EASE_OK;
    size = size_of(given);
    if (!size)
        return ease__fail(err, EASE_E_ARG, "call %s_init first", type);
    for (size_t i = known; i < size; i++)
        if (bytes[i])
            return ease__fail(err, EASE_E_ARG,
                              "%s has members for a newer ease than %s", type,
                              ease_version());
    copy_members(out, given, smaller(size, known));
    return EASE_OK;
}

void ease__options_defaults(void *o, const void *defaults, size_t known)
{
    if (o && size_of(o))
        fill(o, size_of(o), defaults, known);
}

void ease__info_give(void *out, const void *info, size_t known)
{
    if (out && size_of(out))
        fill(out, size_of(out), info, known);
}

ease_status ease__info_check(const void *out, const char *type, ease_error *err)
{
    if (out && size_of(out))
        return EASE_OK;
    return ease__fail(err, EASE_E_ARG,
                      "a place for the result is required: %s x = {.size = sizeof(x)}",
                      type);
}
