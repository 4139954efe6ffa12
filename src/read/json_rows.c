#include "read/json_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- lines of the known shape ---------------------------------------------- */

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (uint64_t)(unsigned char)(c))

/* The first quote, backslash or control character from p on. */
static inline const char *find_string_end(const char *p)
{
    for (;; p += 8) {
        uint64_t w, quote, slash, hit;

        memcpy(&w, p, sizeof(w));
        quote = w ^ EACH_BYTE('"');
        slash = w ^ EACH_BYTE('\\');
        /* The top bit of a byte: the byte is zero, or below 0x20. Bytes above the
         * lowest hit may be marked wrongly. */
        hit = ((quote - EACH_BYTE(1)) & ~quote) | ((slash - EACH_BYTE(1)) & ~slash) |
              ((w - EACH_BYTE(0x20)) & ~w);
        hit &= EACH_BYTE(0x80);
        if (hit)
            return p + __builtin_ctzll(hit) / 8;
    }
}

/* The end of a number or a word at p; NULL: it is neither, or null. */
static inline const char *find_scalar_end(const char *p, const char *end)
{
    const char *q = p;

    if (*p >= '1' && *p <= '9') {
        do
            q++;
        while (*q >= '0' && *q <= '9'); /* the line has an end */
        if (*q != '.' && *q != 'e' && *q != 'E')
            return q;
    }
    if (*p == 't' && end - p > 4 && memcmp(p, "true", 4) == 0)
        return p + 4;
    if (*p == 'f' && end - p > 5 && memcmp(p, "false", 5) == 0)
        return p + 5;
    return ease__json_number_end(p, end);
}

/* False: the line has another shape. It may still be right. */
static bool match_shape(const ease__json_shape *s, const char **at, const char *end,
                        ease__name found[EASE__JSON_FIELDS])
{
    const char *p = *at;

    for (int i = 0; i < s->values; i++) {
        const ease__json_gap *g = &s->gaps[i];
        const char *start;

        if ((size_t)(end - p) <= g->length || memcmp(p, g->text, g->length) != 0)
            return false;
        start = p + g->length;
        p = g->string ? find_string_end(start) : find_scalar_end(start, end);
        while (g->string && *p == '\\' && g->field < 0 &&
               (p = ease__json_escape_end(p, end)))
            p = find_string_end(p);
        if (!p || (g->string && *p != '"'))
            return false;
        if (g->field >= 0)
            found[g->field] = (ease__name){start, (size_t)(p - start)};
        p += g->string;
    }
    if ((size_t)(end - p) < s->end.length || memcmp(p, s->end.text, s->end.length) != 0)
        return false;
    *at = p + s->end.length;
    return true;
}

/* ---- all lines ------------------------------------------------------------- */

typedef struct row {
    const ease__json_fields *fields;
    ease__name *found;
    ease__json_shape shape; /* of this line */
    const char *passed;     /* what was read of the line so far */
    bool shaped;            /* the shape can be told by `shape` */
} row;

static int find_field(const ease__json_fields *f, const ease__json_value *v)
{
    for (int i = 0; i < EASE__JSON_FIELDS; i++)
        if (f->path[i] && strncmp(f->path[i], v->path, v->path_length) == 0 &&
            !f->path[i][v->path_length])
            return i;
    return -1;
}

static void add_gap(row *r, const ease__json_value *v, int field)
{
    ease__json_shape *s = &r->shape;

    r->shaped = r->shaped && s->values < EASE__JSON_SHAPE && v->kind != EASE__JSON_NULL;
    if (!r->shaped)
        return;
    s->gaps[s->values++] = (ease__json_gap){.text = r->passed,
                                            .length = (size_t)(v->text - r->passed),
                                            .field = field,
                                            .string = v->kind == EASE__JSON_STRING};
    r->passed = v->text + v->length + (v->kind == EASE__JSON_STRING);
}

static bool take_value(void *to, const ease__json_value *v, char *what)
{
    row *r = to;
    int field = find_field(r->fields, v);
    ease__name value = {v->text, v->length};

    if (v->kind == EASE__JSON_OBJECT || v->kind == EASE__JSON_ARRAY) {
        if (field < 0)
            return true;
        snprintf(what, EASE__JSON_WHAT,
                 v->kind == EASE__JSON_OBJECT
                     ? "'%.60s' is an object: name a field of it, as in %.20s.id"
                     : "'%.60s' is an array, where one value is wanted",
                 r->fields->path[field], r->fields->path[field]);
        return false;
    }
    add_gap(r, v, field);
    if (field < 0)
        return true;
    if (v->kind == EASE__JSON_NULL)
        value = (ease__name){NULL, 0};
    if (v->escaped) {
        int64_t length = ease__json_unescape((char *)v->text, v->length);

        if (length < 0) {
            snprintf(what, EASE__JSON_WHAT, "an escape that is no character");
            return false;
        }
        value.length = (size_t)length;
    }
    r->found[field] = value;
    return true;
}

bool ease__json_row(const ease__json_fields *fields, ease__json_shape *shape,
                    const char **at, const char *end,
                    ease__name found[EASE__JSON_FIELDS], char what[EASE__JSON_WHAT])
{
    row r = {.fields = fields, .found = found, .passed = *at, .shaped = true};

    memset(found, 0, EASE__JSON_FIELDS * sizeof(*found));
    if (shape->values && match_shape(shape, at, end, found))
        return true;
    memset(found, 0, EASE__JSON_FIELDS * sizeof(*found));
    if (!ease__json_line(at, end, take_value, &r, what))
        return false;
    if (r.shaped) {
        r.shape.end = (ease__name){r.passed, (size_t)(*at - r.passed)};
        *shape = r.shape;
    }
    return true;
}
