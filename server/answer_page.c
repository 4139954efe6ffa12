/* GET / and the page's files, and GET /openapi.json. */
#include <string.h>

#include "page.h"
#include "service.h"

const page_file *page_find(const char *name)
{
    if (!*name)
        name = "index.html";
    for (const page_file *f = page_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* The page loads nothing from elsewhere, runs no inline code, and stays out of
 * frames. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'";

/* True if a client has the file. The header is a list of tags; a proxy that compresses
 * puts W/ before ours. */
static bool is_known(const request *r, const page_file *f)
{
    const char *known = request_header(r, "If-None-Match");

    return known && (strcmp(known, "*") == 0 || strstr(known, f->tag) != NULL);
}

static bool answer_file(request *r, const page_file *f)
{
    request_add_header(r, "Content-Security-Policy", policy);
    request_add_header(r, "Referrer-Policy", "same-origin");
    request_add_header(r, "Cache-Control", "no-cache");
    request_add_header(r, "ETag", f->tag);
    r->type = f->type;
    r->fixed = (const char *)f->bytes;
    r->fixed_length = f->length;
    if (is_known(r, f)) {
        r->status = 304;
        r->fixed_length = 0;
    }
    return true;
}

bool answer_page(request *r)
{
    return answer_file(r, page_find(r->target.segment[0]));
}

bool answer_openapi(request *r)
{
    return answer_file(r, &page_openapi);
}
