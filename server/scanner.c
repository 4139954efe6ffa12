#include "scanner.h"

#include <string.h>

static void refuse(scanner *s, problem_code code, const char *why)
{
    s->state = SCAN_BROKEN;
    s->code = code;
    s->why = why;
}

static void malformed(scanner *s, const char *why)
{
    refuse(s, PROBLEM_bad_request, why);
}

/* libmicrohttpd keeps each header, parameter and cookie in memory of its own, which a
 * short header can exhaust; it then answers in its own words, or not at all. */
static void count_part(scanner *s)
{
    if (++s->parts > SCAN_PARTS)
        refuse(s, PROBLEM_header_too_large,
               "a request has at most 128 headers, parameters and cookies in all");
}

/* What methods and the names of headers consist of (RFC 9110, token). */
static bool in_token(unsigned char c)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr(others, c));
}

/* ---- the first line -------------------------------------------------------------- */

static void take_method(scanner *s, unsigned char c)
{
    if (c == ' ' && s->length) {
        s->state = SCAN_TARGET;
        s->length = 0;
    } else if (in_token(c)) {
        s->length++;
    } else {
        malformed(s, "the request does not begin with a method and a space");
    }
}

static void take_target(scanner *s, unsigned char c)
{
    if (c == ' ' && s->length) {
        s->state = SCAN_VERSION;
        s->length = 0;
    } else if (c > ' ' && c < 0x7F) {
        s->length++;
        if (c == '&')
            count_part(s);
    } else {
        malformed(s, "the address contains bytes that must be written as %XX, or the "
                     "version of HTTP is missing");
    }
}

static void take_version(scanner *s, unsigned char c)
{
    static const unsigned char version[] = "HTTP/1.";

    if (s->length < 7 ? c == version[s->length]
                      : s->length == 7 && (c == '0' || c == '1'))
        s->length++;
    else if (c == '\r' && s->length == 8)
        s->state = SCAN_LINE_END;
    else
        malformed(s, "the version of HTTP must be 1.1 or 1.0");
}

/* ---- headers --------------------------------------------------------------------- */

static bool is_named(const scanner *s, const char *name)
{
    return s->length == strlen(name) && memcmp(s->name, name, s->length) == 0;
}

static void end_name(scanner *s)
{
    s->hosts += is_named(s, "host");
    s->encodings += is_named(s, "transfer-encoding");
    s->lengths += is_named(s, "content-length");
    s->digits = 0;
    s->number = 0;
    s->state = SCAN_VALUE;
    count_part(s);
}

static void take_name(scanner *s, unsigned char c)
{
    if (c == '\r' && s->length == 0) {
        s->state = SCAN_HEADER_END;
    } else if (c == ':' && s->length) {
        end_name(s);
    } else if (in_token(c)) {
        if (s->length < SCAN_NAME_BYTES)
            s->name[s->length] = (char)(c >= 'A' && c <= 'Z' ? c + 0x20 : c);
        s->length++;
    } else {
        malformed(s, "the name of a header contains characters that no name has, or is "
                     "missing");
    }
}

/* Blanks may stand before the number. libmicrohttpd takes those behind it for a part of
 * it. */
static void take_length(scanner *s, unsigned char c)
{
    bool blank = c == ' ' || c == '\t';

    if (blank && s->digits > 0)
        malformed(s, "nothing may follow the number of bytes in Content-Length, not "
                     "even a blank");
    else if (!blank && (c < '0' || c > '9' || s->digits >= 18))
        malformed(s, "Content-Length must be a number of bytes");
    else if (!blank) {
        s->digits++;
        s->number = 10 * s->number + (c - '0');
    }
}

static void end_value(scanner *s)
{
    s->state = SCAN_LINE_END;
    if (!is_named(s, "content-length"))
        return;
    if (s->digits == 0)
        malformed(s, "Content-Length must be a number of bytes");
    s->body = s->number;
}

static void take_value(scanner *s, unsigned char c)
{
    if (c == '\r')
        end_value(s);
    else if ((c < ' ' && c != '\t') || c == 0x7F)
        malformed(s, "the value of a header contains control characters");
    else if (is_named(s, "content-length"))
        take_length(s, c);
    else if (c == ';' && is_named(s, "cookie"))
        count_part(s);
}

static void end_line(scanner *s, unsigned char c)
{
    if (c != '\n')
        malformed(s, "a line of the header does not end with CR LF");
    else
        s->state = SCAN_NAME;
    s->length = 0;
}

static void end_header(scanner *s, unsigned char c)
{
    s->state = s->body ? SCAN_BODY : SCAN_START;
    if (c != '\n')
        malformed(s, "a line of the header does not end with CR LF");
    else if (s->hosts != 1)
        malformed(s, "a request must have one header Host");
    else if (s->lengths > 1)
        malformed(s, "Content-Length is repeated");
    else if (s->lengths && s->encodings)
        malformed(s, "a request has either Content-Length or Transfer-Encoding");
    else if (s->encodings)
        refuse(s, PROBLEM_length_required,
               "Transfer-Encoding is not supported: send Content-Length");
}

/* ---- all ------------------------------------------------------------------------- */

static void begin(scanner *s)
{
    *s = (scanner){.limit = s->limit, .state = SCAN_METHOD};
}

static void take(scanner *s, unsigned char c)
{
    switch (s->state) {
    case SCAN_START:
    case SCAN_METHOD:
        take_method(s, c);
        break;
    case SCAN_TARGET:
        take_target(s, c);
        break;
    case SCAN_VERSION:
        take_version(s, c);
        break;
    case SCAN_NAME:
        take_name(s, c);
        break;
    case SCAN_VALUE:
        take_value(s, c);
        break;
    case SCAN_LINE_END:
        end_line(s, c);
        break;
    case SCAN_HEADER_END:
        end_header(s, c);
        break;
    case SCAN_BODY:
    case SCAN_BROKEN:
        break;
    }
    if (++s->bytes > s->limit && s->state != SCAN_BROKEN)
        refuse(s, PROBLEM_header_too_large, "address and headers are too large");
}

size_t scanner_feed(scanner *s, const char *data, size_t count)
{
    size_t begun = 0; /* where the request of this byte began */

    for (size_t i = 0; i < count;) {
        if (s->state == SCAN_BODY) {
            size_t part = s->body < count - i ? (size_t)s->body : count - i;

            s->body -= part;
            i += part;
            if (s->body == 0)
                s->state = SCAN_START;
            continue;
        }
        if (s->state == SCAN_START) {
            begin(s);
            begun = i;
        }
        take(s, (unsigned char)data[i++]);
        if (s->state == SCAN_BROKEN)
            return begun;
    }
    return count;
}
