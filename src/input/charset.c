#include "input/charset.h"

#include <string.h>

bool ease__charset_named(const char *name, ease__charset *out)
{
    static const struct {
        const char *name;
        ease__charset charset;
    } known[] = {{"utf-8", EASE__CHARSET_BYTES},
                 {"utf-16", EASE__CHARSET_UTF16LE},
                 {"latin-1", EASE__CHARSET_LATIN1}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(name, known[i].name) == 0) {
            *out = known[i].charset;
            return true;
        }
    return false;
}

static size_t put_code(uint32_t code, unsigned char *to)
{
    if (code < 0x80) {
        to[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (unsigned char)(0xc0 | code >> 6);
        to[1] = (unsigned char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (unsigned char)(0xe0 | code >> 12);
        to[1] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (unsigned char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (unsigned char)(0xf0 | code >> 18);
    to[1] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (unsigned char)(0x80 | (code & 0x3f));
    return 4;
}

/* Characters 0x80 to 0x9f of Windows-1252, as browsers read Latin-1. */
static uint32_t latin1_code(unsigned char byte)
{
    static const uint16_t codes[32] = {
        0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
        0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d,   0x017d, 0x8f,
        0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
        0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};

    return byte >= 0x80 && byte < 0xa0 ? codes[byte - 0x80] : byte;
}

static uint32_t unit_at(ease__charset c, const unsigned char *p)
{
    bool big = c == EASE__CHARSET_UTF16BE;

    return (uint32_t)p[big ? 1 : 0] | (uint32_t)p[big ? 0 : 1] << 8;
}

/* The bytes of the character at `from`, and its code; 0: it is cut, or wrong. */
static size_t take_code(ease__charset c, const unsigned char *from, size_t bytes,
                        uint32_t *code)
{
    uint32_t low;

    if (c == EASE__CHARSET_LATIN1) {
        *code = latin1_code(from[0]);
        return 1;
    }
    if (bytes < 2)
        return 0;
    *code = unit_at(c, from);
    if (*code < 0xd800 || *code > 0xdfff)
        return 2;
    if (*code > 0xdbff || bytes < 4)
        return 0;
    low = unit_at(c, from + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return 4;
}

size_t ease__charset_convert(ease__charset c, const unsigned char *from, size_t bytes,
                             size_t *used, unsigned char *to)
{
    size_t put = 0, taken = 1;
    uint32_t code = 0;

    for (*used = 0; *used < bytes && taken; *used += taken) {
        taken = take_code(c, from + *used, bytes - *used, &code);
        if (taken)
            put += put_code(code, to + put);
    }
    return put;
}
