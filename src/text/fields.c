#include "text/fields.h"

#include <string.h>

ease_status ease__splitter_make(const char *separator, ease__splitter *out,
                                ease_error *err)
{
    ease__splitter s = {0};

    if (strcmp(separator, "\\t") == 0)
        separator = "\t";
    s.length = strlen(separator);
    if (s.length == 0 || s.length >= sizeof(s.text) || strpbrk(separator, "\"\r\n"))
        return ease__fail(err, EASE_E_ARG, "'%.40s' cannot be a separator", separator);
    memcpy(s.text, separator, s.length);
    s.kind = strcmp(separator, " ") == 0 ? EASE__SPLIT_BLANKS
             : s.length == 1             ? EASE__SPLIT_BYTE
                                         : EASE__SPLIT_TEXT;
    s.quotes = strcmp(separator, ",") == 0 || strcmp(separator, ";") == 0;
    *out = s;
    return EASE_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

static bool separates(const ease__splitter *s, const char *p, const char *end)
{
    if (s->kind == EASE__SPLIT_BLANKS)
        return is_blank(*p);
    return (size_t)(end - p) >= s->length && memcmp(p, s->text, s->length) == 0;
}

/* Classifies the bytes at p, where a field has ended. */
static ease__field_stop stop_at(const ease__splitter *s, const char *p, const char *end,
                                const char **at)
{
    if (s->kind == EASE__SPLIT_BLANKS)
        p = skip_blanks(p, end);
    *at = p;
    if (p == end)
        return EASE__FIELD_CUT;
    *at = p + 1;
    if (*p == '\n')
        return EASE__FIELD_LAST;
    if (s->kind != EASE__SPLIT_BLANKS)
        *at = p + s->length;
    else
        *at = p;
    return EASE__FIELD_MORE;
}

static ease__field_stop quoted_field(const ease__splitter *s, const char **at,
                                     const char *end, ease__field *out)
{
    const char *p = *at + 1;

    out->text = p;
    out->quoted = true;
    for (;;) {
        p = memchr(p, '"', (size_t)(end - p));
        if (!p) {
            out->length = (size_t)(end - out->text);
            *at = end;
            return EASE__FIELD_OPEN;
        }
        if (p + 1 == end || p[1] != '"')
            break;
        out->doubled = true;
        p += 2;
    }
    out->length = (size_t)(p - out->text);
    p++;
    if (p < end && *p == '\r' && (p + 1 == end || p[1] == '\n'))
        p++;
    if (p < end && *p != '\n' && !separates(s, p, end))
        return EASE__FIELD_JUNK;
    return stop_at(s, p, end, at);
}

ease__field_stop ease__field_next(const ease__splitter *s, const char **at,
                                  const char *end, ease__field *out)
{
    const char *p = *at;
    ease__field_stop stop;

    *out = (ease__field){0};
    if (s->kind == EASE__SPLIT_BLANKS)
        p = skip_blanks(p, end);
    if (s->quotes && p < end && *p == '"')
        return quoted_field(s, at, end, out);
    out->text = p;
    while (p < end && *p != '\n' && !separates(s, p, end))
        p++;
    out->length = (size_t)(p - out->text);
    stop = stop_at(s, p, end, at);
    /* The line may end with "\r\n". If the text ends here instead, either the line
     * ends with it or the record will be read again. */
    if (stop != EASE__FIELD_MORE && out->length && p[-1] == '\r')
        out->length--;
    return stop;
}

size_t ease__undouble(char *text, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        text[used++] = text[i];
        if (text[i] == '"')
            i++;
    }
    return used;
}

static bool add_field(ease__record *r, ease__field f)
{
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 16;
        ease__field *grown = ease__realloc_array(r->fields, capacity, sizeof(*grown));

        if (!grown)
            return false;
        r->fields = grown;
        r->capacity = capacity;
    }
    r->fields[r->count++] = f;
    return true;
}

ease__record_stop ease__record_next(const ease__splitter *s, const char **at,
                                    const char *end, bool last, ease__record *r)
{
    const char *p = *at;
    ease__field_stop stop;
    ease__field f;

    r->count = 0;
    do {
        stop = ease__field_next(s, &p, end, &f);
        if (!add_field(r, f))
            return EASE__RECORD_NOMEM;
    } while (stop == EASE__FIELD_MORE);
    if (stop == EASE__FIELD_JUNK)
        return EASE__RECORD_JUNK;
    if (stop == EASE__FIELD_OPEN && last)
        return EASE__RECORD_OPEN;
    if (stop != EASE__FIELD_LAST && (!last || p == *at))
        return EASE__RECORD_CUT;
    *at = p;
    if (r->count == 1 && f.length == 0 && !f.quoted)
        return EASE__RECORD_BLANK;
    return EASE__RECORD_WHOLE;
}

const char *ease__excerpt(const char *text, size_t length, char to[EASE__EXCERPT_CHARS])
{
    size_t capacity = EASE__EXCERPT_CHARS - 4,
           used = length < capacity ? length : capacity;

    for (size_t i = 0; i < used; i++) {
        bool control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;

        to[i] = text[i];
        if (control)
            to[i] = '?';
    }
    strcpy(to + used, used < length ? "..." : "");
    return to;
}
