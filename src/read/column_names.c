#include "read/column_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "read/layout.h"
#include "text/number.h"

static bool same_name(const ease__field *f, const char *name, size_t length)
{
    const char *colon = ease__has_recbole_type(f) ? memchr(f->text, ':', f->length)
                                                  : NULL;
    size_t bare = colon ? (size_t)(colon - f->text) : f->length;

    return (f->length == length && strncasecmp(f->text, name, length) == 0) ||
           (bare == length && strncasecmp(f->text, name, length) == 0);
}

/* "userId, movieId, rating": for a message. */
static void list_names(const ease__field *header, size_t fields, char *to, size_t size)
{
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; i < fields && used < size; i++) {
        char shown[EASE__EXCERPT_CHARS];

        used += (size_t)snprintf(
            to + used, size - used, "%s%s", i ? ", " : "",
            ease__excerpt(header[i].text, header[i].length, shown));
    }
}

ease_status ease__find_column(const ease__field *header, size_t fields,
                              const char *input, const char *name, size_t length,
                              int *out, ease_error *err)
{
    char shown[EASE__EXCERPT_CHARS], names[256];
    int64_t number;

    ease__excerpt(name, length, shown);
    if (ease__parse_int(name, length, &number) == EASE__NUMBER_OK) {
        if (number < 1 || (uint64_t)number > fields)
            return ease__fail(err, EASE_E_ARG, "%s: no column %s: there are %zu", input,
                              shown, fields);
        *out = (int)number - 1;
        return EASE_OK;
    }
    for (size_t i = 0; header && i < fields; i++) {
        if (same_name(&header[i], name, length)) {
            *out = (int)i;
            return EASE_OK;
        }
    }
    if (!header)
        return ease__fail(err, EASE_E_ARG,
                          "%s: no column '%s': without a header, columns are numbers "
                          "from 1",
                          input, shown);
    list_names(header, fields, names, sizeof(names));
    return ease__fail(err, EASE_E_ARG, "%s: no column '%s' in the header: %s", input,
                      shown, names);
}

/* Is none of the columns there twice? */
static bool all_differ(const ease_columns *c)
{
    const int column[] = {c->user, c->item, c->value, c->time};

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            if (column[i] >= 0 && column[i] == column[j])
                return false;
    return true;
}

ease_status ease__find_columns(const ease__field *header, size_t fields,
                               const char *input, const char *columns, ease_columns *c,
                               ease_error *err)
{
    int *place[] = {&c->user, &c->item, &c->value, &c->time};
    int count = 0;
    const char *p = columns;

    for (;;) {
        size_t length = strcspn(p, ",");
        bool no_value = count == 2 && length == 0 && p[0];
        ease_status status = EASE_OK;

        if (count == 4 || (length == 0 && !no_value))
            return ease__fail(err, EASE_E_ARG,
                              "columns '%.80s': not USER,ITEM[,VALUE[,TIME]]", columns);
        if (!no_value)
            status = ease__find_column(header, fields, input, p, length, place[count],
                                       err);
        count++;
        if (status)
            return status;
        if (!p[length])
            break;
        p += length + 1;
    }
    if (count < 2 || !all_differ(c))
        return ease__fail(err, EASE_E_ARG,
                          "columns '%.80s': two to four different ones are needed",
                          columns);
    return EASE_OK;
}
