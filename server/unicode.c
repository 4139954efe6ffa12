#include "unicode.h"

#include <string.h>

int32_t unicode_next(const char **s)
{
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*s;
    int extra = *at < 0x80 ? 0 : *at < 0xC2 ? -1 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : 3;
    int32_t code;

    (*s)++;
    if (extra < 0 || *at > 0xF4)
        return -1;
    if (extra == 0)
        return *at;
    code = *at & (0x3F >> extra);
    for (int i = 1; i <= extra; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return -1;
        code = code << 6 | (at[i] & 0x3F);
    }
    if (code < least[extra] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return -1;
    *s += extra;
    return code;
}

bool unicode_is_valid(const char *s)
{
    while (*s)
        if ((unsigned char)*s < 0x80)
            s++;
        else if (unicode_next(&s) < 0)
            return false;
    return true;
}

/* The letters that U+00C0 .. U+017F are without accents; '-': as it is. */
static const char plain_latin[] = "aaaaaa-ceeeeiiii-nooooo-ouuuuy--"  /* U+00C0 */
                                  "aaaaaa-ceeeeiiii-nooooo-ouuuuy-y"  /* U+00E0 */
                                  "aaaaaaccccccccddddeeeeeeeeeegggg"  /* U+0100 */
                                  "gggghhhhiiiiiiiiii--jjkk-lllllll"  /* U+0120 */
                                  "lllnnnnnnn--oooooo--rrrrrrssssss"  /* U+0140 */
                                  "ssttttttuuuuuuuuuuuuwwyyyzzzzzzs"; /* U+0160 */

int32_t unicode_fold(int32_t code)
{
    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + 0x20 : code;
    if (code >= 0xC0 && code < 0x180) {
        char letter = plain_latin[code - 0xC0];

        if (letter != '-')
            return letter;
        return (code >= 0xC0 && code <= 0xDE && code != 0xD7) ? code + 0x20 : code;
    }
    if (code >= 0x391 && code <= 0x3A9)
        return code + 0x20;
    if (code >= 0x410 && code <= 0x42F)
        return code + 0x20;
    if (code >= 0x400 && code <= 0x40F)
        return code + 0x50;
    return code;
}

size_t unicode_put(char *to, int32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xC0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xE0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

bool unicode_in_word(int32_t code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
           (code >= '0' && code <= '9') || (code >= 0xC0 && code < 0x2000) ||
           code >= 0x2C00;
}
