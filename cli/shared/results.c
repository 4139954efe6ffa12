#include "results.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio_ext.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- numbers as text ---------------------------------------------------------- */

const char *format_count(char *to, size_t size, int64_t n)
{
    char digits[NUMBER_CHARS];
    size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, n);
    size_t put = 0;

    for (size_t i = 0; i < length && put + 1 < size; i++) {
        if (i && (length - i) % 3 == 0 && digits[i - 1] != '-' && put + 2 < size)
            to[put++] = ',';
        to[put++] = digits[i];
    }
    to[put] = '\0';
    return to;
}

const char *format_bytes(char *to, size_t size, size_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    int unit = 0;

    while (value >= 999.5) {
        value /= 1000.0;
        unit++;
    }
    snprintf(to, size, "%.*f %s", unit == 0 || value >= 99.95 ? 0 : 1, value,
             units[unit]);
    return to;
}

const char *format_seconds(char *to, size_t size, double s)
{
    int64_t whole = s < 9e15 ? (int64_t)(s + 0.5) : INT64_C(9000000000000000);

    if (!(s >= 0.0))
        snprintf(to, size, "?");
    else if (s < 0.0095)
        snprintf(to, size, "%.1g s", s);
    else if (s < 9.95)
        snprintf(to, size, s < 0.995 ? "%.2f s" : "%.1f s", s);
    else if (whole < 100)
        snprintf(to, size, "%d s", (int)whole);
    else if (whole < 6000)
        snprintf(to, size, "%d min %d s", (int)(whole / 60), (int)(whole % 60));
    else
        snprintf(to, size, "%" PRId64 " h %d min", whole / 3600,
                 (int)(whole % 3600 / 60));
    return to;
}

const char *format_time(char *to, size_t size, double seconds)
{
    double whole = floor(seconds);
    time_t t = fabs(whole) < 1e12 ? (time_t)whole : 0;
    struct tm date;

    if (!(fabs(whole) < 1e12) || !gmtime_r(&t, &date)) {
        snprintf(to, size, "%.15g", seconds);
        return to;
    }
    snprintf(to, size,
             date.tm_hour || date.tm_min || date.tm_sec
                 ? "%04d-%02d-%02dT%02d:%02d:%02dZ"
                 : "%04d-%02d-%02d",
             date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, date.tm_hour,
             date.tm_min, date.tm_sec);
    return to;
}

/* ---- UTF-8 --------------------------------------------------------------------- */

/* Decodes the code point at *s and moves *s past it. Returns -1 for a byte that
 * begins none: overlong forms, surrogates and values above U+10FFFF are not code
 * points. */
static int32_t utf8_next(const unsigned char **s)
{
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = *s;
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

/* True for characters that control a terminal: C0, DEL, C1, line and paragraph
 * separators, and those that change the direction of text. */
static bool drives_terminal(int32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||
           (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

static int code_width(int32_t code)
{
    if ((code >= 0x0300 && code <= 0x036F) || (code >= 0x200B && code <= 0x200D) ||
        (code >= 0xFE00 && code <= 0xFE0F))
        return 0;
    if ((code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
        (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
        (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
        (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1FAFF) ||
        (code >= 0x20000 && code <= 0x3FFFD))
        return 2;
    return 1;
}

size_t text_make_safe(char *to, size_t size, const char *from)
{
    const unsigned char *at = (const unsigned char *)from;
    size_t put = 0;

    while (*at) {
        const unsigned char *begin = at;
        int32_t code = utf8_next(&at);
        size_t bytes = drives_terminal(code) ? 1 : (size_t)(at - begin);

        if (put + bytes >= size)
            break;
        if (drives_terminal(code))
            to[put] = '?';
        else
            memcpy(to + put, begin, bytes);
        put += bytes;
    }
    to[put] = '\0';
    return put;
}

void text_put(FILE *to, const char *s)
{
    const unsigned char *at = (const unsigned char *)s;

    while (*at) {
        const unsigned char *begin = at;

        if (drives_terminal(utf8_next(&at)))
            fputc('?', to);
        else
            fwrite(begin, 1, (size_t)(at - begin), to);
    }
}

int text_width(const char *s)
{
    const unsigned char *at = (const unsigned char *)s;
    int width = 0;

    while (*at) {
        int32_t code = utf8_next(&at);

        width += drives_terminal(code) ? 1 : code_width(code);
    }
    return width;
}

void text_pad(FILE *to, int columns)
{
    if (columns > 0)
        fprintf(to, "%*s", columns, "");
}

/* ---- CSV and JSON -------------------------------------------------------------- */

void csv_put(FILE *to, const char *field)
{
    if (!strpbrk(field, ",\"\r\n") && field[0] != ' ' &&
        (!*field || field[strlen(field) - 1] != ' ')) {
        fputs(field, to);
        return;
    }
    fputc('"', to);
    for (; *field; field++) {
        if (*field == '"')
            fputc('"', to);
        fputc(*field, to);
    }
    fputc('"', to);
}

static void put_json_string(FILE *to, const char *s)
{
    const unsigned char *at = (const unsigned char *)s;

    fputc('"', to);
    while (*at) {
        const unsigned char *begin = at;
        int32_t code = utf8_next(&at);

        if (code < 0)
            fputs("\\ufffd", to);
        else if (code == '"' || code == '\\')
            fprintf(to, "\\%c", (int)code);
        else if (code < 0x20 || code == 0x7F)
            fprintf(to, "\\u%04x", (unsigned)code);
        else
            fwrite(begin, 1, (size_t)(at - begin), to);
    }
    fputc('"', to);
}

static void json_key(json *j, const char *key)
{
    if (j->comma)
        fputs(", ", j->to);
    j->comma = true;
    if (!key)
        return;
    put_json_string(j->to, key);
    fputs(": ", j->to);
}

void json_open(json *j, const char *key, char bracket)
{
    json_key(j, key);
    fputc(bracket, j->to);
    j->comma = false;
}

void json_close(json *j, char bracket)
{
    fputc(bracket, j->to);
    j->comma = true;
}

void json_text(json *j, const char *key, const char *value)
{
    json_key(j, key);
    if (value)
        put_json_string(j->to, value);
    else
        fputs("null", j->to);
}

static bool is_utf8(const char *s)
{
    const unsigned char *at = (const unsigned char *)s;

    while (*at)
        if (utf8_next(&at) < 0)
            return false;
    return true;
}

static void put_base64(FILE *to, const char *s)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)s;

    for (size_t left = strlen(s); left; at += 3) {
        size_t count = left < 3 ? left : 3;
        unsigned bits = (unsigned)at[0] << 16;

        if (count > 1)
            bits |= (unsigned)at[1] << 8;
        if (count > 2)
            bits |= at[2];
        for (size_t i = 0; i < 4; i++)
            fputc(i <= count ? digits[bits >> (18 - 6 * i) & 63] : '=', to);
        left -= count;
    }
}

void json_id(json *j, const char *key, const char *id)
{
    char coded[40];

    if (!key && !is_utf8(id)) {
        json_open(j, NULL, '{');
        json_id(j, "id", id);
        json_close(j, '}');
        return;
    }
    if (is_utf8(id)) {
        json_text(j, key, id);
        return;
    }
    snprintf(coded, sizeof(coded), "%s_base64", key);
    json_key(j, coded);
    fputc('"', j->to);
    put_base64(j->to, id);
    fputc('"', j->to);
}

void json_count(json *j, const char *key, int64_t value)
{
    json_key(j, key);
    fprintf(j->to, "%" PRId64, value);
}

static void put_json_number(json *j, const char *key, double value, int digits)
{
    json_key(j, key);
    if (isfinite(value))
        fprintf(j->to, "%.*g", digits, value);
    else
        fputs("null", j->to);
}

void json_real(json *j, const char *key, double value)
{
    put_json_number(j, key, value, 12);
}

void json_float(json *j, const char *key, float value)
{
    put_json_number(j, key, (double)value, 9);
}

void json_bool(json *j, const char *key, bool value)
{
    json_key(j, key);
    fputs(value ? "true" : "false", j->to);
}

/* ---- facts --------------------------------------------------------------------- */

enum { LABEL_WIDTH = 16 };

report report_begin(output_format format)
{
    report r = {.format = format, .json = {.to = stdout}};

    if (format == OUTPUT_JSON)
        json_open(&r.json, NULL, '{');
    else if (format == OUTPUT_CSV)
        fputs("fact,value\n", stdout);
    return r;
}

/* Prints a line of text or CSV; for values that are not quoted in JSON. */
static void put_fact(const report *r, const char *key, const char *label,
                     const char *text, const char *raw)
{
    if (r->format == OUTPUT_CSV) {
        csv_put(stdout, key);
        fputc(',', stdout);
        csv_put(stdout, raw);
    } else {
        fputs(label, stdout);
        text_pad(stdout, LABEL_WIDTH - (int)strlen(label));
        text_put(stdout, text);
    }
    fputc('\n', stdout);
}

void report_text(report *r, const char *key, const char *label, const char *value)
{
    if (r->format == OUTPUT_JSON)
        json_text(&r->json, key, value);
    else
        put_fact(r, key, label, value, value);
}

void report_count(report *r, const char *key, const char *label, int64_t value)
{
    char text[NUMBER_CHARS], raw[NUMBER_CHARS];

    if (value < 0) {
        if (r->format == OUTPUT_JSON)
            json_text(&r->json, key, NULL);
        else
            put_fact(r, key, label, "unknown", "");
        return;
    }
    if (r->format == OUTPUT_JSON) {
        json_count(&r->json, key, value);
        return;
    }
    snprintf(raw, sizeof(raw), "%" PRId64, value);
    put_fact(r, key, label, format_count(text, sizeof(text), value), raw);
}

void report_bytes(report *r, const char *key, const char *label, size_t value)
{
    char text[NUMBER_CHARS], raw[NUMBER_CHARS];

    if (r->format == OUTPUT_JSON) {
        json_count(&r->json, key, (int64_t)value);
        return;
    }
    snprintf(raw, sizeof(raw), "%zu", value);
    put_fact(r, key, label, format_bytes(text, sizeof(text), value), raw);
}

void report_seconds(report *r, const char *key, const char *label, double value)
{
    char text[NUMBER_CHARS], raw[NUMBER_CHARS];

    if (r->format == OUTPUT_JSON) {
        json_real(&r->json, key, value);
        return;
    }
    snprintf(raw, sizeof(raw), "%.12g", value);
    put_fact(r, key, label, format_seconds(text, sizeof(text), value), raw);
}

void report_real(report *r, const char *key, const char *label, double value)
{
    char text[NUMBER_CHARS], raw[NUMBER_CHARS];

    if (r->format == OUTPUT_JSON) {
        json_real(&r->json, key, value);
        return;
    }
    snprintf(raw, sizeof(raw), "%.12g", value);
    snprintf(text, sizeof(text), "%.4g", value);
    put_fact(r, key, label, text, raw);
}

void report_bool(report *r, const char *key, const char *label, bool value)
{
    if (r->format == OUTPUT_JSON)
        json_bool(&r->json, key, value);
    else
        put_fact(r, key, label, value ? "yes" : "no", value ? "true" : "false");
}

void report_phases(report *r, const console *c)
{
    char key[64];

    if (r->format == OUTPUT_JSON)
        json_open(&r->json, "phases", '{');
    for (int i = 0; i < c->phase_count; i++) {
        const phase *p = &c->phases[i];

        snprintf(key, sizeof(key), "phases_%s", p->name);
        report_seconds(r, r->format == OUTPUT_JSON ? p->name : key, p->name,
                       p->seconds);
    }
    if (r->format == OUTPUT_JSON)
        json_close(&r->json, '}');
}

static void put_item(report *r, const char *key, const char *label, size_t rank,
                     const report_item *item)
{
    char name[64], number[NUMBER_CHARS];

    if (r->format == OUTPUT_JSON) {
        json_open(&r->json, NULL, '{');
        json_text(&r->json, "id", item->id);
        if (item->title)
            json_text(&r->json, "title", item->title);
        json_real(&r->json, "count", item->count);
        json_close(&r->json, '}');
    } else if (r->format == OUTPUT_CSV) {
        snprintf(name, sizeof(name), "%s_%zu", key, rank);
        put_fact(r, name, name, item->id, item->id);
    } else {
        fputs(rank == 1 ? label : "", stdout);
        text_pad(stdout, LABEL_WIDTH - (rank == 1 ? (int)strlen(label) : 0));
        if (item->count == floor(item->count) && fabs(item->count) < 1e15)
            format_count(number, sizeof(number), (int64_t)item->count);
        else
            snprintf(number, sizeof(number), "%.6g", item->count);
        printf("%-11s ", number);
        text_put(stdout, item->id);
        if (item->title) {
            fputs("  ", stdout);
            text_put(stdout, item->title);
        }
        fputc('\n', stdout);
    }
}

void report_items(report *r, const char *key, const char *label,
                  const report_item *items, size_t count)
{
    if (r->format == OUTPUT_JSON)
        json_open(&r->json, key, '[');
    for (size_t i = 0; i < count; i++)
        put_item(r, key, label, i + 1, &items[i]);
    if (r->format == OUTPUT_JSON)
        json_close(&r->json, ']');
}

void report_end(report *r)
{
    if (r->format != OUTPUT_JSON)
        return;
    json_close(&r->json, '}');
    fputc('\n', stdout);
}

/* ---- end of output ------------------------------------------------------------ */

bool output_stopped(void)
{
    return signals_caught() || ferror(stdout);
}

int output_flush(console *c)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_DONE;
    if (signals_caught())
        return fail_interrupted(c);
    return fail(c, EXIT_FAILED, "standard output: cannot write: %s",
                errno ? strerror(errno) : "an earlier write failed");
}

int output_close(console *c)
{
    int code = output_flush(c);

    if (close(STDOUT_FILENO) != 0 && !code)
        code = fail(c, EXIT_FAILED, "standard output: cannot close: %s",
                    strerror(errno));
    return code;
}

void output_drop(void)
{
    __fpurge(stdout);
}
