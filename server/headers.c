#include "headers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct collection {
    headers *headers;
    int origins, authorizations, types;
} collection;

static enum MHD_Result take(void *data, enum MHD_ValueKind kind, const char *key,
                            size_t key_length, const char *value, size_t value_length)
{
    collection *c = data;
    headers *h = c->headers;

    (void)kind;
    (void)key_length;
    (void)value_length;
    value = value ? value : "";
    if (strcasecmp(key, "Host") == 0)
        h->host = value;
    else if (strcasecmp(key, "Origin") == 0)
        h->origin = value, c->origins++;
    else if (strcasecmp(key, "Authorization") == 0)
        h->authorization = value, c->authorizations++;
    else if (strcasecmp(key, "Content-Type") == 0)
        h->content_type = value, c->types++;
    else if (strcasecmp(key, "Content-Length") == 0)
        h->length = strtoll(value, NULL, 10);
    return MHD_YES;
}

bool headers_read(struct MHD_Connection *connection, headers *out, problem *p)
{
    collection c = {.headers = out};

    *out = (headers){.length = -1};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, take, &c);
    if (!out->host)
        return problem_note(p, PROBLEM_bad_request,
                            "a request must have one header Host");
    if (c.origins > 1 || c.authorizations > 1 || c.types > 1)
        return problem_note(p, PROBLEM_bad_request,
                            "a header that a request may have once is repeated");
    return true;
}

/* ---- names of hosts -------------------------------------------------------------- */

/* The length of the name without its port; 0: malformed. */
static size_t name_length(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : host + strcspn(host, ":");
    const char *port;

    if (!end)
        return 0;
    if (host[0] == '[')
        end++;
    port = *end == ':' ? end + 1 : end;
    return port[strspn(port, "0123456789")] ? 0 : (size_t)(end - host);
}

/* 127.0.0.0/8, as four numbers */
static bool is_local_address(const char *host, size_t length)
{
    int dots = 0, digits = 0;

    if (strncmp(host, "127.", 4) != 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool dot = host[i] == '.';

        if ((dot && digits == 0) || (!dot && (host[i] < '0' || host[i] > '9')))
            return false;
        dots += dot;
        digits = dot ? 0 : digits + 1;
        if (digits > 3)
            return false;
    }
    return dots == 3 && digits > 0;
}

bool headers_host_is_local(const char *host)
{
    size_t length = name_length(host);

    return (length == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           (length == 5 && memcmp(host, "[::1]", 5) == 0) ||
           is_local_address(host, length);
}

bool headers_origin_is_own(const char *origin, const char *host)
{
    if (strncasecmp(origin, "http://", 7) == 0)
        return strcasecmp(origin + 7, host) == 0;
    return strncasecmp(origin, "https://", 8) == 0 && strcasecmp(origin + 8, host) == 0;
}

bool headers_is_json(const char *content_type)
{
    static const char json[] = "application/json";
    size_t length = strlen(json);

    return content_type && strncasecmp(content_type, json, length) == 0 &&
           strchr(" \t;", content_type[length]); /* or its end */
}
